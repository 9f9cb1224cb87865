"""A worker process of a run on this machine: it reads and scores shards."""

import json
import os
import pickle
import signal
import sys
import tempfile
import threading
import time
from collections.abc import MutableSequence, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from traceback import format_exception
from typing import NamedTuple

from apache_beam.options.pipeline_options import PipelineOptions
from msgspec import Struct
from msgspec.structs import replace

from turnwise.pipeline.batch.build import build_scoring
from turnwise.pipeline.batch.execution import run_to_the_end
from turnwise.pipeline.batch.handing_over import hand_over
from turnwise.pipeline.batch.pipelines import made_pipeline
from turnwise.pipeline.batch.remote import RemoteRunError, cause_text
from turnwise.pipeline.io.run_files import ShardSink
from turnwise.pipeline.io.run_writer import name_full_disk
from turnwise.pipeline.io.shards import STOPPING, Shards, ShardSource
from turnwise.pipeline.io.sinks.base import completes, open_service
from turnwise.pipeline.io.sources import Source
from turnwise.pipeline.settings.run import RunSettings
from turnwise.schemas.config import ConfigError
from turnwise.schemas.registry import error_text
from turnwise.schemas.run import PROGRESS
from turnwise.transforms.judging.backends.base import AuthenticationError
from turnwise.transforms.judging.setup import close_judges

ENDING = 2
_EVERY = 0.2
_KNOWN = (AuthenticationError, ConfigError, OSError, KeyboardInterrupt)
_LONGEST = 8_000
"""Characters of a text at most, so that a fault fits into a pipe that nobody reads yet."""


class Work(Struct, frozen=True):
    """What all worker processes of a run are told.

    Attributes:
        settings: Settings of the run.
        options: Beam's options.
        shards: The logs.
        cases: Source of eval cases; None: there are none.
        folder: Name of the folder in the output directory that all write tables into.
        place: A temporary directory of the run.
    """

    settings: RunSettings
    options: PipelineOptions
    shards: Shards
    cases: Source | None
    folder: str | None
    place: Path

    def handed(self, number: int) -> Path:
        """Returns the file in which a worker hands over what it has found."""
        return self.place / f"{number}.handed"


class Sealed:
    """Work that a process which is started anew unpacks itself, so that it can say why it could not."""

    def __init__(self, work: Work) -> None:
        self._work: Work | bytes = work

    def __getstate__(self) -> bytes:
        return pickle.dumps(self._work)

    def __setstate__(self, packed: bytes) -> None:
        self._work = packed

    def opened(self) -> Work:
        """Returns the work."""
        work: Work = pickle.loads(self._work) if isinstance(self._work, bytes) else self._work
        return work


class Links(NamedTuple):
    """What connects workers with the process that ends the run.

    Attributes:
        queue: Pipe with the shards.
        progress: Conversations and turns of all workers, in turn.
        stop: 1: the workers shall end because one has met an event; `ENDING`: because the run ends.
        faults: A pipe for each worker, in which it says why it failed.
    """

    queue: Connection
    progress: MutableSequence[int]
    stop: MutableSequence[int]
    faults: Sequence[Connection]


class WorkerFault(NamedTuple):
    """Why a worker failed: the kind of error, its text in one line, and the traceback."""

    kind: str
    text: str
    traceback: str

    def error(self) -> BaseException:
        """Returns the error that ends the run."""
        for kind in _KNOWN:
            if kind.__name__ == self.kind:
                return kind(self.text)
        return RemoteRunError(f"a worker process failed: {self.text}")


def run_worker(sealed: Sealed, number: int, parent: int, links: Links) -> None:
    """Does the part of one worker process, and ends it with status 1 if that fails.

    Args:
        sealed: What is to be done.
        number: Number of the worker, from 0.
        parent: The process that ends the run.
        links: What connects the worker with it.
    """
    # Signals reach all processes of a terminal; the one that ends the run ends its workers.
    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, signal.SIG_IGN)
    PROGRESS.conversations = PROGRESS.turns = 0
    threading.Thread(target=_accompany, args=(parent, number, links), daemon=True).start()
    try:
        work = sealed.opened()
        tempfile.tempdir = str(work.place)
        _score(work, number, links.queue.fileno())
        _tell(number, links)
    except BaseException as error:
        links.faults[number].send_bytes(json.dumps(_fault(error)).encode())
        sys.exit(1)


def _fault(error: BaseException) -> WorkerFault:
    kind = next((kind.__name__ for kind in _KNOWN if isinstance(error, kind)), "")
    text = str(error) if kind else cause_text(error)
    if isinstance(error, SystemExit | GeneratorExit):
        text = error_text(error)
    return WorkerFault(kind, text[:_LONGEST], "".join(format_exception(error))[-_LONGEST // 2 :])


def _score(work: Work, number: int, queue: int) -> None:
    settings, place = _of_one(work.settings), work.settings.place
    with made_pipeline(work.options) as pipeline:
        sink = ShardSink(
            settings.output,
            settings.output_format,
            open_service(place) if place else None,
            folder=work.folder,
            number=number,
            keeps_stored=completes(place),
        )
        logs = ShardSource(work.shards, queue)
        scored = build_scoring(pipeline, logs, work.cases, settings, sink, reports_cases=number == 0)
        hand_over(pipeline, scored, sink, work.handed(number))
        try:
            run_to_the_end(pipeline)
        except OSError as error:
            raise name_full_disk(error, settings.output) from None


def _of_one(settings: RunSettings) -> RunSettings:
    """Returns the settings of one worker: it has its part of the calls in flight."""
    judge = settings.judge
    return replace(settings, judge=replace(judge, concurrency=judge.concurrency // settings.workers))


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
    if STOPPING.is_asked:
        links.stop[0] = links.stop[0] or 1
    elif links.stop[0]:
        STOPPING.is_asked = True
