"""Scores a batch in several processes of this machine, and ends the run in this one."""

import json
import multiprocessing
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkContext, SpawnContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from signal import SIGKILL, Signals
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

import apache_beam as beam

from turnwise.pipeline.batch.build import build_end
from turnwise.pipeline.batch.collector import calm_collector
from turnwise.pipeline.batch.execution import run_to_the_end
from turnwise.pipeline.batch.handing_over import handed_counts, take_over
from turnwise.pipeline.batch.remote import RemoteRunError
from turnwise.pipeline.batch.second_attempt import build_again
from turnwise.pipeline.batch.worker import ENDING, Links, Sealed, Work, WorkerFault, run_worker
from turnwise.pipeline.io.run_files import RunSink
from turnwise.pipeline.io.shards import find_shards, put_shards
from turnwise.pipeline.io.sources import FileSource, Source
from turnwise.pipeline.io.terminal import complain, complain_at_length
from turnwise.pipeline.report.live import show_progress
from turnwise.pipeline.settings.run import RunSettings
from turnwise.schemas.jsonio import is_store_url
from turnwise.schemas.run import PROGRESS
from turnwise.transforms.judging.backends.base import AuthenticationError
from turnwise.transforms.judging.setup import WAITING, WORKER_PATIENCE_S, close_judges

_EVERY = 1.0
_AGAIN = "several records are joined: the run starts again in one process (--workers 1)"


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
        work = Work(settings, pipeline.options, shards, cases, sink.folder_name, Path(place))
        is_done = _work(work)
        files = [work.handed(number) for number in range(settings.workers)]
        if is_done:
            build_end(pipeline, take_over(pipeline, files), settings, sink)
        else:
            complain(_AGAIN)
            build_again(pipeline, logs, cases, settings, sink, handed_counts(files))
        with show_progress():
            run_to_the_end(pipeline)


def _close_shared(settings: RunSettings) -> None:
    """Closes connections and threads that must not outlive a fork."""
    close_judges()
    if is_store_url(settings.store):
        from turnwise.pipeline.store.engine import close_shared_stores

        close_shared_stores()


def _work(work: Work) -> bool:
    """Starts all workers and waits for them; raises what the first one to fail says.

    Returns:
        Whether they did their part; False: they stopped at records that only one process can join.
    """
    count = work.settings.workers
    context = _context()
    queue, feed = context.Pipe(duplex=False)
    pipes = [context.Pipe(duplex=False) for _ in range(count)]
    links = Links(
        queue, context.RawArray("Q", 2 * count), context.RawArray("b", 1), [told for _, told in pipes]
    )
    arguments = [(Sealed(work), number, os.getpid(), links) for number in range(count)]
    workers = [context.Process(target=run_worker, args=each) for each in arguments]
    with ThreadPoolExecutor(1) as feeder, _ending(workers, links, work):
        for worker in workers:
            worker.start()
        queue.close()
        with show_progress():
            fed = feeder.submit(put_shards, feed.fileno(), work.shards, count)
            _wait(work, workers, links.progress, fed, [fault for fault, _ in pipes])
    return not links.stop[0]


@contextmanager
def _ending(workers: Sequence[BaseProcess], links: Links, work: Work) -> Iterator[None]:
    """Ends the workers that are left in the end: of theirs, only the replies of the judge are kept then."""
    asks, is_refused = work.settings.judge.kind.connect is not None, False
    try:
        yield
    except AuthenticationError:
        is_refused = True
        raise
    finally:
        if asks and any(worker.is_alive() for worker in workers):
            links.stop[0] = ENDING
            _wait_for_replies(workers, is_told=is_refused)
        for worker in workers:
            if worker.is_alive():
                worker.kill()
                worker.join()


def _wait_for_replies(workers: Sequence[BaseProcess], is_told: bool) -> None:
    """Waits, and says so, unless that is told or need not be."""
    start = monotonic()
    while any(worker.is_alive() for worker in workers) and monotonic() < start + WORKER_PATIENCE_S + _EVERY:
        with suppress(KeyboardInterrupt):  # a second signal ends the process
            wait([worker.sentinel for worker in workers if worker.is_alive()], _EVERY)
            if not is_told and monotonic() > start + _EVERY:
                is_told = True
                complain(WAITING)


def _context() -> SpawnContext | ForkContext:
    """Returns how processes are started: by a fork, which has all imports, where it is safe.

    A fork copies none of the threads, but the locks that they hold. Libraries of macOS do not allow it.
    """
    is_safe = sys.platform == "linux" and threading.active_count() == 1
    return multiprocessing.get_context("fork") if is_safe else multiprocessing.get_context("spawn")


def _wait(
    work: Work,
    workers: Sequence[BaseProcess],
    progress: Sequence[int],
    fed: "Future[None]",
    faults: Sequence[Connection],
) -> None:
    waiting: dict[Any, int] = {worker.sentinel: number for number, worker in enumerate(workers)}
    before = PROGRESS.conversations, PROGRESS.turns
    while waiting:
        for sentinel in wait(list(waiting), _EVERY):
            number = waiting.pop(sentinel)
            workers[number].join()
            status = workers[number].exitcode or 0
            if status or not work.handed(number).exists():
                raise _error(work, faults[number], status)
        if fed.done():
            fed.result()
        PROGRESS.conversations = before[0] + sum(progress[::2])
        PROGRESS.turns = before[1] + sum(progress[1::2])


def _error(work: Work, told: Connection, status: int) -> BaseException:
    """Returns why a worker failed; with `--verbose`, its traceback is printed."""
    if not told.poll():
        return RemoteRunError(f"a worker process {_how_ended(status)}")
    fault = WorkerFault(*json.loads(told.recv_bytes()))
    if work.options.get_all_options().get("verbose"):
        complain_at_length(fault.traceback)
    return fault.error()


def _how_ended(status: int) -> str:
    if status >= 0:
        return f"ended early, with status {status}"
    known = [each.name for each in Signals if each == -status]
    name = known[0] if known else f"signal {-status}"
    return f"was killed by {name}{' (out of memory?)' if -status == SIGKILL else ''}"
