"""Scores a batch in several processes of this machine, and ends the run in this one."""

import json
import multiprocessing
import os
import pickle
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, MutableSequence, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import islice
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from signal import SIGKILL, Signals
from tempfile import TemporaryDirectory
from time import monotonic
from traceback import format_exception
from typing import Any, NamedTuple, TypeAlias

import apache_beam as beam
from apache_beam.coders import FastPrimitivesCoder
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.pvalue import TaggedOutput
from msgspec import Struct
from msgspec.structs import replace

from turnwise.pipeline.batch import execution
from turnwise.pipeline.batch.build import Scored, build_end, build_scoring
from turnwise.pipeline.batch.process import calm_collector
from turnwise.pipeline.io import sources
from turnwise.pipeline.io.files import listed_files
from turnwise.pipeline.io.records import SizedPath, file_records, named_as_lines
from turnwise.pipeline.io.run_writer import RunSink, Told, Written, gathered, name_full_disk
from turnwise.pipeline.io.terminal import complain, complain_at_length
from turnwise.pipeline.report.terminal import show_progress
from turnwise.pipeline.settings.options import is_bigquery
from turnwise.pipeline.settings.remote_workers import usable_cores
from turnwise.pipeline.settings.run import RunSettings
from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import is_local, is_sqlite_url, is_store_url
from turnwise.schemas.registry import error_text
from turnwise.schemas.run import PROGRESS
from turnwise.schemas.score import Failure
from turnwise.transforms.beam.steps import JUDGE_USAGE, OF_RUN, InspectedDoFn
from turnwise.transforms.formats.events import ConversationEvent, may_hold_events
from turnwise.transforms.formats.reading import LogReader, parse_record
from turnwise.transforms.formats.registry import AUTO
from turnwise.transforms.judging.backends.base import AuthenticationError
from turnwise.transforms.judging.limits import spent_on
from turnwise.transforms.judging.setup import WAITING, WORKER_PATIENCE_S, close_judges
from turnwise.transforms.judging.shared_places import NOTHING
from turnwise.transforms.metrics.state import packed, unpacked

ENDING = 2
_EVERY = 0.2
_KNOWN = (AuthenticationError, ConfigError, OSError, KeyboardInterrupt)
_LONGEST = 8_000
"""Characters of a text at most, so that a fault fits into a pipe that nobody reads yet."""


class Work(Struct, frozen=True):
    """What all worker processes of a run are told; all write tables into `folder` of the output directory."""

    settings: RunSettings
    options: PipelineOptions
    shards: sources.Shards
    cases: sources.Source | None
    folder: str | None
    directory: Path

    def handed(self, number: int) -> Path:
        """Returns the file in which a worker hands over what it has found."""
        return self.directory / f"{number}.handed"


class Links(NamedTuple):
    """What connects workers with the process that ends the run: shards, and why a worker failed.

    `progress` holds conversations and turns of all workers, in turn; `stop` is 1 if the workers shall end
    because one has met an event, `ENDING` if the run ends.
    """

    queue: Connection
    progress: MutableSequence[int]
    stop: MutableSequence[int]
    faults: Sequence[Connection]


def run_worker(given: Work | bytes, number: int, parent: int, links: Links) -> None:
    """Does the part of one worker process, counted from 0, and ends it with status 1 if that fails.

    A process that is started anew unpacks the work itself, so that it can say why it could not.
    """
    # Signals reach all processes of a terminal; the one that ends the run ends its workers.
    for stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop, signal.SIG_IGN)
    PROGRESS.conversations = PROGRESS.turns = 0
    threading.Thread(target=_accompany, args=(parent, number, links), daemon=True).start()
    try:
        work: Work = pickle.loads(given) if isinstance(given, bytes) else given
        tempfile.tempdir = str(work.directory)
        settings, judge = work.settings, work.settings.judge
        # A worker has its part of the calls in flight.
        judge = replace(judge, concurrency=judge.concurrency // settings.workers)
        settings = replace(settings, judge=judge)
        with execution.made_pipeline(work.options) as pipeline:
            given_sink = settings.output, settings.output_format, None, settings.places
            sink = RunSink(*given_sink, folder=work.folder, number=number)
            logs = sources.ShardSource(work.shards, links.queue.fileno())
            scored = build_scoring(pipeline, logs, work.cases, settings, sink, reports_cases=number == 0)
            hand_over(pipeline, scored, sink, work.handed(number))
            try:
                execution.run_to_the_end(pipeline, is_worker=True)
            except OSError as error:
                raise name_full_disk(error, settings.output) from None
        _tell(number, links)
    except BaseException as error:
        kind = next((kind.__name__ for kind in _KNOWN if isinstance(error, kind)), "")
        text = str(error) if kind else execution.cause_text(error)
        if isinstance(error, SystemExit | GeneratorExit):
            text = error_text(error)
        fault = kind, text[:_LONGEST], "".join(format_exception(error))[-_LONGEST // 2 :]
        links.faults[number].send_bytes(json.dumps(fault).encode())
        sys.exit(1)


def _accompany(parent: int, number: int, links: Links) -> None:
    """Tells the progress, and ends the process when the one that started it has ended, or ends the run."""
    is_ending = False
    while os.getppid() == parent:
        _tell(number, links)
        if links.stop[0] == ENDING and not is_ending:
            is_ending = True
            threading.Thread(target=_end, daemon=True).start()
        time.sleep(_EVERY)
    os._exit(1)


def _end() -> None:
    close_judges()
    os._exit(1)


def _tell(number: int, links: Links) -> None:
    """Tells the progress, and that all shall stop; learns it from others."""
    links.progress[2 * number : 2 * number + 2] = [PROGRESS.conversations, PROGRESS.turns]
    if sources.STOPPING.is_set():
        links.stop[0] = links.stop[0] or 1
    elif links.stop[0]:
        sources.STOPPING.set()


_PROCESSES_EVERY = 1.0


def run_in_workers(
    pipeline: beam.Pipeline,
    logs: sources.FileSource,
    cases: sources.Source | None,
    settings: RunSettings,
    sink: RunSink,
) -> None:
    """Runs a batch to its end: worker processes read and score, and this process does the rest.

    Raises RemoteRunError if a worker failed for a reason of its own, and the errors of `run_to_the_end`.
    """
    # Connections and threads must not outlive a fork.
    close_judges()
    if is_store_url(settings.store):
        from turnwise.pipeline.store.database import close_shared_stores

        close_shared_stores()
    calm_collector()
    shards = sources.Shards(logs, sources.divided_among(listed_files(logs.patterns), settings.workers))
    with TemporaryDirectory(prefix="turnwise-") as folder:
        work = Work(settings, pipeline.options, shards, cases, sink.folder_name, Path(folder))
        is_done = _work(work)
        files = [work.handed(number) for number in range(settings.workers)]
        if is_done:
            handed = pipeline | "Handed" >> beam.Create(list(map(str, files)), reshuffle=False)
            taken = handed | "TakeOver" >> beam.ParDo(_TakeOverFn()).with_outputs(_STATE, main=_TOLD)
            build_end(pipeline, Scored([taken[_STATE]], [taken[_TOLD]]), settings, sink)
        else:
            complain("several records are joined: the run starts again in one process (--workers 1)")
            judge, counts = settings.judge, Counter[str]()
            for file in files:
                for kind, value in _CODER.decode(file.read_bytes()):
                    if kind == _TOLD and isinstance(value, dict):
                        counts.update(value)
            # The judge has what the attempt left of its limits.
            usage = execution.judge_usage(counts)
            spent = NOTHING if judge.shares_budget else spent_on(usage, judge.config.prices)
            alone = replace(settings, workers=1, judge=replace(judge, workers=1, spent=spent))
            scored = build_scoring(pipeline, logs, cases, alone, sink)
            asked = {name: number for name, number in counts.items() if name.startswith(JUDGE_USAGE)}
            earlier = pipeline | "Earlier" >> beam.Create([(OF_RUN, asked)], reshuffle=False)
            build_end(pipeline, scored._replace(reports=[*scored.reports, earlier]), alone, sink)
        with show_progress():
            execution.run_to_the_end(pipeline)


def _work(work: Work) -> bool:
    """Runs the workers, raises why the first one failed; False: they met events, which one process joins."""
    count = work.settings.workers
    # A fork has all imports. It copies none of the threads, but the locks that they hold, and libraries of
    # macOS do not allow it: then processes are started anew.
    is_safe = sys.platform == "linux" and threading.active_count() == 1
    context = multiprocessing.get_context("fork") if is_safe else multiprocessing.get_context("spawn")
    queue, feed = context.Pipe(duplex=False)
    pipes = [context.Pipe(duplex=False) for _ in range(count)]
    faults = [sender for _, sender in pipes]
    links = Links(queue, context.RawArray("Q", 2 * count), context.RawArray("b", 1), faults)
    given = work if is_safe else pickle.dumps(work)
    arguments = [(given, number, os.getpid(), links) for number in range(count)]
    workers = [context.Process(target=run_worker, args=of_worker) for of_worker in arguments]
    with ThreadPoolExecutor(1) as feeder, _ending(workers, links, work):
        for worker in workers:
            worker.start()
        queue.close()
        waiting: dict[Any, int] = {worker.sentinel: number for number, worker in enumerate(workers)}
        before = PROGRESS.conversations, PROGRESS.turns
        with show_progress():
            fed = feeder.submit(sources.put_shards, feed.fileno(), work.shards, count)
            while waiting:
                for sentinel in wait(list(waiting), _PROCESSES_EVERY):
                    number = waiting.pop(sentinel)
                    workers[number].join()
                    status = workers[number].exitcode or 0
                    if status or not work.handed(number).exists():
                        raise _error(work, pipes[number][0], status)
                if fed.done():
                    fed.result()
                PROGRESS.conversations = before[0] + sum(links.progress[::2])
                PROGRESS.turns = before[1] + sum(links.progress[1::2])
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
            # The waiting is told once, unless the judge answers at once, or refuses.
            start, is_told = monotonic(), is_refused
            until = start + WORKER_PATIENCE_S + _PROCESSES_EVERY
            while (alive := [w.sentinel for w in workers if w.is_alive()]) and monotonic() < until:
                with suppress(KeyboardInterrupt):  # a second signal ends the process
                    wait(alive, _PROCESSES_EVERY)
                    if not is_told and monotonic() > start + _PROCESSES_EVERY:
                        is_told = True
                        complain(WAITING)
        for worker in workers:
            if worker.is_alive():
                worker.kill()
                worker.join()


def _error(work: Work, receiver: Connection, status: int) -> BaseException:
    if not receiver.poll():
        name = next((known.name for known in Signals if known == -status), f"signal {-status}")
        killed = f"was killed by {name}{' (out of memory?)' if -status == SIGKILL else ''}"
        how = f"ended early, with status {status}" if status >= 0 else killed
        return execution.RemoteRunError(f"a worker process {how}")
    kind, text, traceback = json.loads(receiver.recv_bytes())
    if work.options.get_all_options().get("verbose"):
        complain_at_length(traceback)
    known = next((error for error in _KNOWN if error.__name__ == kind), None)
    return known(text) if known else execution.RemoteRunError(f"a worker process failed: {text}")


Listed: TypeAlias = Sequence[SizedPath | Failure]
_LEAST_BYTES = 4 << 20
"""With so much to read each, two workers take 0.85 of the critical path of one process."""
_LOOKED_AT = 64
_LARGEST_LOOKED_AT = 8 << 20


def fit_processes(
    settings: RunSettings, stated: int | None, cores: Callable[[], int] = usable_cores
) -> RunSettings:
    """Returns settings with `stated` processes (None: as many as pay; 1: this one); raises ConfigError."""
    if stated is not None:
        if stated < 1:
            raise ConfigError(f"--workers must be 1 or more, not {stated}")
        if settings.judge.only_estimates and stated > 1:
            raise ConfigError("--workers cannot be used with --estimate")
        if settings.is_distributed:
            raise ConfigError("--workers is for DirectRunner; other runners start workers of their own")
    is_here = not (settings.is_distributed or settings.is_streaming)
    is_batch = settings.judge.batch_wait_s is not None
    if not is_here or is_batch or settings.judge.only_estimates or any(map(is_bigquery, settings.input)):
        return settings
    is_asking = bool(settings.judged and settings.judge.kind.connect)
    # Several processes would wait for a database, or ask a judge the same twice.
    is_alone = is_sqlite_url(settings.store) or (is_asking and not settings.judge.config.cache)
    # Files on other machines would be asked for their sizes before the run.
    paths = (*settings.input, *settings.eval_cases)
    is_alone = is_alone or any(not (is_local(path) or is_store_url(path)) for path in paths)
    most = (1 if is_alone else cores()) if stated is None else stated
    if is_asking:
        most = min(most, settings.judge.concurrency)
    if most == 1:
        return settings
    listed = _listed(settings.input)
    if stated is None:
        # Each worker reads all eval cases, and must have as much to read of the logs.
        cases = _listed([path for path in settings.eval_cases if not is_store_url(path)])
        of_logs, of_cases = (
            sum(file.size for file in part if isinstance(file, SizedPath)) for part in (listed, cases)
        )
        most = min(most, of_logs // max(_LEAST_BYTES, of_cases))
    most = min(most, len(sources.divided_among(listed, max(1, most))))
    return settings if most < 2 or _holds_events(settings, listed) else replace(settings, workers=most)


def _listed(paths: Sequence[str]) -> Listed:
    try:
        return listed_files(list(paths))
    except Exception:  # of a filesystem: the run itself says what is wrong
        return []


def _holds_events(settings: RunSettings, listed: Listed) -> bool:
    """Returns whether some files begin with events, which one process joins over all files."""
    if not may_hold_events(settings.input_format):
        return False
    if settings.input_format != AUTO:
        return True
    reader = LogReader(settings.input_format, settings.config)
    files = [file for file in listed if isinstance(file, SizedPath)]
    # The first record of the others is found by reading much.
    paths = [file.path for file in files if named_as_lines(file.path) or file.size <= _LARGEST_LOOKED_AT]
    for path in paths[:: len(paths) // _LOOKED_AT + 1]:
        for record in islice(file_records(path, settings.max_record_bytes), 1):
            contents = [] if isinstance(record, Failure) else parse_record(reader, record, Counter())
            if any(isinstance(file, ConversationEvent) for file in contents):
                return True
    return False


_STATE, _WRITTEN, _TOLD = "state", "written", "told"
_CODER = FastPrimitivesCoder()
"""Beam's own coder of what goes from one worker to another."""


def hand_over(root: beam.Pipeline, scored: Scored, sink: RunSink, folder: Path) -> None:
    """Adds the steps that write everything but the rows into one file."""
    pack = beam.Map(lambda entry: (OF_RUN, (entry[0], packed(entry[1]))))
    states = [part | f"Hand_State{i}" >> pack for i, part in enumerate(scored.states)]
    parts = [*scored.reports, *sink.written, sink.begun(root)]  # there may be nothing else
    over = gathered([*states, *parts], "Hand_Told", "Hand_Gather")
    _ = over | "Hand_Over" >> beam.ParDo(_HandOverFn(str(folder))).with_output_types(Any)


class _HandOverFn(InspectedDoFn):
    def __init__(self, folder: str) -> None:
        self._folder = folder

    def process(self, element: "tuple[str, Iterable[tuple[str, bytes] | Told]]") -> None:
        # Without types of turnwise, which Beam would pickle; a plain tuple is a version and its sums.
        handed: list[tuple[str, Any]] = []
        for value in element[1]:
            if isinstance(value, Written):
                handed.append((_WRITTEN, tuple(value)))
            else:
                handed.append((_STATE if isinstance(value, tuple) else _TOLD, value))
        Path(self._folder).write_bytes(_CODER.encode(handed))


class _TakeOverFn(InspectedDoFn):
    def process(self, folder: str) -> Iterator[Any]:
        for kind, value in _CODER.decode(Path(folder).read_bytes()):
            if kind == _STATE:
                yield TaggedOutput(_STATE, (value[0], unpacked(value[1])))
            else:
                yield OF_RUN, Written(*value) if kind == _WRITTEN else value
