"""Streams from a watched directory on other engines: their final rows are those of a batch."""

import json
import os
import shutil
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.engines.cases import Case
from benchmarks.engines.engines import Engine, Tools, find_engine
from benchmarks.engines.final_rows import Rows, check_same, final_rows
from benchmarks.engines.runs import (
    PATIENCE_S,
    SAMPLE,
    Started,
    check,
    made_job,
    made_logs,
    sample_job,
    started,
    succeeded,
)

_FILES = 20


class Watched(NamedTuple):
    """A directory that a stream watches.

    Attributes:
        logs: The directory.
        job: Arguments of a run on it.
        later: Files that appear in it while the stream runs.
    """

    logs: Path
    job: tuple[str, ...]
    later: Sequence[Path]


def _sample(folder: Path) -> Watched:
    logs, waiting = folder / "sample", folder / "sample-later"
    shutil.copytree(SAMPLE / "conversations", logs)
    waiting.mkdir()
    return Watched(logs, sample_job(f"{logs}/"), _taken(logs, waiting))


def _made(folder: Path, turns: int) -> Watched:
    logs, waiting = folder / "made", folder / "made-later"
    logs.mkdir()
    waiting.mkdir()
    lines = made_logs(folder, turns).read_bytes().splitlines(keepends=True)
    for number in range(_FILES):
        (logs / f"{number:02}.jsonl").write_bytes(b"".join(lines[number::_FILES]))
    return Watched(logs, made_job(f"{logs}/"), _taken(logs, waiting))


def _taken(logs: Path, waiting: Path) -> list[Path]:
    """Moves every second file to another place; returns where they are."""
    files = sorted(path for path in logs.rglob("*.json*") if path.is_file())[1::2]
    return [path.rename(waiting / path.name) for path in files if path.parent == logs]


def expected_rows(job: Sequence[str], folder: Path) -> Rows:
    """Returns the rows of a batch on DirectRunner."""
    succeeded([*job, "--output", str(folder / "batch"), "--overwrite"], folder)
    run = json.loads((folder / "batch/run.json").read_text())
    return final_rows(folder / "batch" / run["folder"])


def results(rows: Rows) -> int:
    """Returns the number of results."""
    return sum(key[0] == "results" for key in rows)


def wait_for_rows(run: Started, output: Path, is_enough: Callable[[Rows], object]) -> None:
    """Waits until a stream wrote enough; raises CaseError if it ends before, or takes too long."""
    deadline = time.monotonic() + PATIENCE_S
    while not is_enough(final_rows(output)):
        check(run.process.poll() is None, f"the stream ended: {run.text[-3000:]}")
        check(time.monotonic() < deadline, f"{len(final_rows(output))} rows came: {run.text[-1000:]}")
        time.sleep(2)


def _run(engine: Engine, tools: Tools, folder: Path, turns: int) -> str:
    with engine.started(tools, folder) as options:
        for watched in (_sample(folder), *([_made(folder, turns)] if turns else [])):
            output = folder / f"{watched.logs.name}-out"
            command = [*watched.job, "--streaming", "--output", str(output), *options]
            with started(command, folder) as run:
                wait_for_rows(run, output, results)
                for path in watched.later:
                    os.rename(path, watched.logs / path.name)
                expected = expected_rows(watched.job, folder)
                wait_for_rows(run, output, lambda rows, most=expected: len(rows) >= len(most))  # type: ignore[misc]
                run.process.send_signal(signal.SIGINT)
                run.wait()
            check_same(expected, final_rows(output))
    return "same final rows"


def _case(name: str) -> Case:
    engine = find_engine(name)
    return Case(
        f"{name}: stream from a directory",
        engine.lacks,
        lambda tools, folder, turns: _run(engine, tools, folder, turns),
    )


STREAMS = (_case("prism"), _case("flink"))
