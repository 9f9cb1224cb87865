"""Scores a batch in several processes of this machine, and ends the run in this one."""

import json
import multiprocessing
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing.connection import wait
from multiprocessing.context import ForkContext, SpawnContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from signal import Signals
from tempfile import TemporaryDirectory
from typing import Any

import apache_beam as beam

from turnwise.pipeline.batch.build import build, build_end
from turnwise.pipeline.batch.execution import calm_collector, run_to_the_end
from turnwise.pipeline.batch.handing_over import take_over
from turnwise.pipeline.batch.parse_and_join import EventFoundError
from turnwise.pipeline.batch.remote import RemoteRunError
from turnwise.pipeline.batch.worker import Work, WorkerFault, run_worker
from turnwise.pipeline.io.run_files import RunSink
from turnwise.pipeline.io.shards import find_shards, put_shards
from turnwise.pipeline.io.sources import FileSource, Source
from turnwise.pipeline.io.terminal import complain, complain_at_length
from turnwise.pipeline.report.live import show_progress
from turnwise.pipeline.settings.run import RunSettings
from turnwise.pipeline.store.urls import is_store_url
from turnwise.transforms.beam.progress import PROGRESS
from turnwise.transforms.judging.worker import close_judges

_EVERY = 1.0


def run_in_workers(
    pipeline: beam.Pipeline, logs: FileSource, cases: Source | None, settings: RunSettings, sink: RunSink
) -> None:
    """Runs a batch to its end: worker processes read and score, and this process does the rest.

    Args:
        pipeline: An empty pipeline.
        logs: Source of conversation logs.
        cases: Source of eval cases; None: there are none.
        settings: Settings of the run.
        sink: Sink for the tables, with a folder that is chosen.

    Raises:
        RemoteRunError: A worker was killed, or failed for a reason of its own.
        AuthenticationError: The judge was refused.
        ConfigError: A setting cannot be used.
        OSError: A disk or network failed.
        KeyboardInterrupt: A signal ended the run.
    """
    _close_shared(settings)
    calm_collector()
    shards = find_shards(logs, settings.workers)
    with TemporaryDirectory(prefix="turnwise-") as place:
        work = Work(settings, pipeline.options, shards, cases, sink.folder_name, Path(place), os.getpid())
        if _is_done(work):
            files = [work.handed(number) for number in range(settings.workers)]
            build_end(pipeline, take_over(pipeline, files), settings, sink)
        else:
            build(pipeline, logs, cases, replace(settings, workers=1), sink)
        with show_progress():
            run_to_the_end(pipeline)


def _is_done(work: Work) -> bool:
    """Lets workers do their part; returns False if only one process can."""
    try:
        _work(work)
    except EventFoundError:
        complain("records of several files are joined: the run starts again in one process (--workers 1)")
        return False
    return True


def _close_shared(settings: RunSettings) -> None:
    """Closes connections and threads that must not outlive a fork."""
    close_judges()
    if is_store_url(settings.store):
        from turnwise.pipeline.store.engine import close_shared_stores

        close_shared_stores()


def _work(work: Work) -> None:
    """Starts all workers and waits for them; raises what the first one to fail says."""
    count = work.settings.workers
    context = _context()
    queue, feed = context.Pipe(duplex=False)
    progress = context.RawArray("Q", 2 * count)
    workers = [
        context.Process(target=run_worker, args=(work, number, queue, progress)) for number in range(count)
    ]
    with ThreadPoolExecutor(1) as feeder, _ending(workers):
        for worker in workers:
            worker.start()
        queue.close()
        with show_progress():
            fed = feeder.submit(put_shards, feed.fileno(), work.shards, count)
            _wait(work, workers, progress, fed)


@contextmanager
def _ending(workers: Sequence[BaseProcess]) -> Iterator[None]:
    """Kills the workers that are left in the end: nothing of theirs is kept then."""
    try:
        yield
    finally:
        for worker in workers:
            if worker.is_alive():
                worker.kill()
                worker.join()


def _context() -> SpawnContext | ForkContext:
    """Returns how processes are started: by a fork, which has all imports, where it is safe.

    A fork copies none of the threads, but the locks that they hold. Libraries of macOS do not allow it.
    """
    is_safe = sys.platform == "linux" and threading.active_count() == 1
    return multiprocessing.get_context("fork") if is_safe else multiprocessing.get_context("spawn")


def _wait(work: Work, workers: Sequence[BaseProcess], progress: Sequence[int], fed: "Future[None]") -> None:
    waiting: dict[Any, int] = {worker.sentinel: number for number, worker in enumerate(workers)}
    before = PROGRESS.conversations, PROGRESS.turns
    while waiting:
        for sentinel in wait(list(waiting), _EVERY):
            number = waiting.pop(sentinel)
            workers[number].join()
            if workers[number].exitcode:
                raise _error(work, number, workers[number].exitcode or 0)
        if fed.done():
            fed.result()
        PROGRESS.conversations = before[0] + sum(progress[::2])
        PROGRESS.turns = before[1] + sum(progress[1::2])


def _error(work: Work, number: int, status: int) -> Exception:
    """Returns why a worker failed; with `--verbose`, its traceback is printed."""
    try:
        fault = WorkerFault(*json.loads(work.fault(number).read_text()))
    except (OSError, ValueError):
        how = f"was killed by {Signals(-status).name}" if status < 0 else f"ended with status {status}"
        return RemoteRunError(f"a worker process {how} (out of memory?); no file of this run was kept")
    if work.options.get_all_options().get("verbose"):
        complain_at_length(fault.traceback)
    return fault.error()
