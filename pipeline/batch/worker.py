"""A worker process of a run on this machine: it reads and scores shards."""

import json
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import MutableSequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from traceback import format_exception
from typing import NamedTuple

from apache_beam.options.pipeline_options import PipelineOptions

from turnwise.pipeline.batch.build import build_scoring
from turnwise.pipeline.batch.execution import run_to_the_end
from turnwise.pipeline.batch.handing_over import hand_over
from turnwise.pipeline.batch.parse_and_join import EventFoundError
from turnwise.pipeline.batch.pipelines import made_pipeline
from turnwise.pipeline.batch.remote import RemoteRunError, cause_text
from turnwise.pipeline.io.run_files import ShardSink
from turnwise.pipeline.io.shards import Shards, ShardSource
from turnwise.pipeline.io.sinks.base import completes, open_service
from turnwise.pipeline.io.sources import Source
from turnwise.pipeline.settings.run import RunSettings
from turnwise.schemas.config import ConfigError
from turnwise.transforms.beam.progress import PROGRESS
from turnwise.transforms.judging.backends.base import AuthenticationError

_EVERY = 1.0
_KNOWN = (EventFoundError, AuthenticationError, ConfigError, OSError)


@dataclass(frozen=True)
class Work:
    """What all worker processes of a run are told.

    Attributes:
        settings: Settings of the run.
        options: Beam's options.
        shards: The logs.
        cases: Source of eval cases; None: there are none.
        folder: Name of the folder in the output directory that all write tables into.
        place: A temporary directory of the run.
        parent: The process that ends the run.
    """

    settings: RunSettings
    options: PipelineOptions
    shards: Shards
    cases: Source | None
    folder: str | None
    place: Path
    parent: int

    def handed(self, number: int) -> Path:
        """Returns the file in which a worker hands over what it has found."""
        return self.place / f"{number}.handed"

    def fault(self, number: int) -> Path:
        """Returns the file in which a worker says why it failed."""
        return self.place / f"{number}.fault"


class WorkerFault(NamedTuple):
    """Why a worker failed: the kind of error, its text in one line, and the traceback."""

    kind: str
    text: str
    traceback: str

    def error(self) -> Exception:
        """Returns the error that ends the run."""
        for kind in _KNOWN:
            if kind.__name__ == self.kind:
                return kind(self.text)
        return RemoteRunError(f"a worker process failed: {self.text}")


def run_worker(work: Work, number: int, queue: Connection, progress: MutableSequence[int]) -> None:
    """Does the part of one worker process, and ends it with status 1 if that fails.

    Args:
        work: What is to be done.
        number: Number of the worker, from 0.
        queue: Pipe with the shards.
        progress: Conversations and turns of all workers, in turn.
    """
    # Signals reach all processes of a terminal; the one that ends the run ends its workers.
    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, signal.SIG_IGN)
    tempfile.tempdir = str(work.place)
    PROGRESS.conversations = PROGRESS.turns = 0
    threading.Thread(target=_accompany, args=(work.parent, number, progress), daemon=True).start()
    try:
        _score(work, number, queue.fileno())
        _tell_progress(number, progress)
    except BaseException as error:
        kind = next((kind.__name__ for kind in _KNOWN if isinstance(error, kind)), "")
        text = str(error) if kind else cause_text(error)
        fault = WorkerFault(kind, text, "".join(format_exception(error)))
        work.fault(number).write_text(json.dumps(fault))
        sys.exit(1)


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
        run_to_the_end(pipeline)


def _of_one(settings: RunSettings) -> RunSettings:
    """Returns the settings of one worker: it has its part of the calls in flight."""
    judge = settings.judge
    return replace(settings, judge=replace(judge, concurrency=judge.concurrency // settings.workers))


def _accompany(parent: int, number: int, progress: MutableSequence[int]) -> None:
    """Tells the progress, and ends the process when the one that started it has ended."""
    while os.getppid() == parent:
        _tell_progress(number, progress)
        time.sleep(_EVERY)
    os._exit(1)


def _tell_progress(number: int, progress: MutableSequence[int]) -> None:
    progress[2 * number : 2 * number + 2] = [PROGRESS.conversations, PROGRESS.turns]
