"""Runs the command on the sample and on generated conversations, in processes of their own."""

import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from subprocess import Popen
from tempfile import mkdtemp
from typing import NamedTuple

from benchmarks.children import ROOT
from benchmarks.data import write_turnwise
from benchmarks.engines.processes import process
from benchmarks.engines.tables import differences

SAMPLE = ROOT / "pipeline/sample_data"
PATIENCE_S = 900
Tables = Mapping[str, Counter[str]]


class CaseError(Exception):
    """A case did not end as it must; the message says how."""


class Ended(NamedTuple):
    """A command that ended: its status, and what it printed."""

    status: int
    text: str


class Started(NamedTuple):
    """A command that runs.

    Attributes:
        process: Its process.
        log: What it printed.
    """

    process: "Popen[bytes]"
    log: Path

    @property
    def text(self) -> str:
        """What it printed so far."""
        return self.log.read_text(errors="replace")

    def wait(self) -> Ended:
        """Waits for its end."""
        return Ended(self.process.wait(PATIENCE_S), self.text)


@contextmanager
def started(
    arguments: Sequence[str], folder: Path, environ: Mapping[str, str] | None = None
) -> Iterator[Started]:
    """Starts `turnwise run`; what it started and did not end is killed in the end.

    Args:
        arguments: Arguments of `turnwise run`.
        folder: For what it prints.
        environ: Variables of its environment besides this process's.
    """
    command = [sys.executable, "-m", "turnwise", "run", *arguments]
    log = Path(mkdtemp(dir=folder)) / "log"
    with process(command, log, ROOT, {**os.environ, **(environ or {})}) as one:
        yield Started(one, log)


def finished(arguments: Sequence[str], folder: Path, environ: Mapping[str, str] | None = None) -> Ended:
    """Runs `turnwise run` to its end; see `started`."""
    with started(arguments, folder, environ) as one:
        return one.wait()


def succeeded(arguments: Sequence[str], folder: Path, environ: Mapping[str, str] | None = None) -> None:
    """Runs `turnwise run` to its end.

    Raises:
        CaseError: Its exit status is not 0.
    """
    ended = finished(arguments, folder, environ)
    check(ended.status == 0, f"exit status {ended.status}: {ended.text[-3000:]}")


def sample_job(logs: str = f"{SAMPLE}/conversations", cases: str = f"{SAMPLE}/cases") -> tuple[str, ...]:
    """Returns the arguments of a run on the sample, or on a copy of it."""
    config = ("--config", f"{SAMPLE}/config.json", "--judge", "local")
    return "--input", logs, "--eval_cases", cases, *config, "--run_id", "engines"


def made_logs(folder: Path, turns: int) -> Path:
    """Returns a file of generated conversations."""
    path = folder / "logs.jsonl"
    write_turnwise(path, turns)
    return path


def made_job(logs: Path | str) -> tuple[str, ...]:
    """Returns the arguments of a run on generated conversations."""
    return "--input", str(logs), "--judge", "none", "--run_id", "engines"


def check(is_so: object, text: str) -> None:
    """Raises CaseError with a text unless something is so."""
    if not is_so:
        raise CaseError(text)


def check_equal(expected: Tables, found: Tables) -> None:
    """Raises CaseError unless two runs have the same rows."""
    unequal = differences(expected, found)
    check(not unequal, "tables differ: " + "; ".join(unequal)[:1500])
