"""Runs the sample and generated conversations on every engine that can be started here."""

import argparse
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from benchmarks.children import Cost, measured
from benchmarks.engines.cases import Case
from benchmarks.engines.engines import CACHE, ENGINES, Engine, Tools, find_tools
from benchmarks.engines.every_case import CASES
from benchmarks.engines.runs import CaseError, Tables, made_job, made_logs, sample_job
from benchmarks.engines.tables import differences, tables
from benchmarks.figures import Check, Found, Table, run_benchmark

_NOT_RUN, _FAILED, _DIFFERENT = "not run", "failed", "tables differ"
_Named = TypeVar("_Named", Engine, Case)


def main(argv: Sequence[str]) -> int:
    """Prints two tables.

    Returns:
        0: all that was chosen ran and is right. 1: an engine's tables differ from DirectRunner's, or
        an engine or a case failed. 3: something could not be run here.
    """
    # What was started is ended as after Ctrl-C, also where a shell that started this ignores it for its jobs.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    parser = _parser()
    return run_benchmark(parser, partial(measure, parser), argv)


def measure(parser: argparse.ArgumentParser, options: argparse.Namespace) -> Found:
    engines = _chosen(parser, "--engine", ENGINES, options.engine, options.case)
    cases = _chosen(parser, "--case", CASES, options.case, options.engine)
    tools = find_tools(options.jars)
    with tempfile.TemporaryDirectory(prefix="turnwise-engines-") as made:
        compared = list(_compare(engines, tools, options.turns, Path(made)))
        found = list(run_cases(cases, tools, options.turns, Path(made)))
    tried = [(case.name, text) for case, text in zip(cases, found, strict=True)]
    tables = [
        Table("engines, seconds on the clock", ("engine", "sample", f"{options.turns:,} turns"), compared),
        Table("cases", ("case", "result"), tried),
    ]
    cells = [(name, text) for name, *texts in [*compared, *tried] for text in texts]
    return Found(
        [table for table in tables if table.rows],
        [Check(f"{name}: {text}", False) for name, text in cells if text.startswith((_FAILED, _DIFFERENT))],
        [f"{name}: {text}" for name, text in dict.fromkeys(cells) if text.startswith(_NOT_RUN)],
    )


def _chosen(
    parser: argparse.ArgumentParser,
    option: str,
    known: Sequence[_Named],
    chosen: Sequence[str] | None,
    others: Sequence[str] | None,
) -> list[_Named]:
    """Returns what an option chooses by parts of names; ends the command if there is none of a name."""
    for text in chosen or ():
        if not any(text.lower() in one.name.lower() for one in known):
            parser.error(f"{option} {text}: is in none of: {'; '.join(one.name for one in known)}")
    if not chosen:
        return [] if others else list(known)
    return [one for one in known if any(text.lower() in one.name.lower() for text in chosen)]


def _compare(
    engines: Sequence[Engine], tools: Tools, turns: int, folder: Path
) -> Iterator[tuple[str, str, str]]:
    """Yields each engine's name and what was found with the sample and with generated turns."""
    if not engines:
        return
    jobs = [sample_job(), made_job(made_logs(folder, turns))]
    can_run = any(not engine.lacks(tools) for engine in engines)
    expected = [_run("DirectRunner", job, (), folder)[1] if can_run else {} for job in jobs]
    for engine in engines:
        sample, made = (
            cell(engine, tools, job, own, folder) for job, own in zip(jobs, expected, strict=True)
        )
        print(f"{engine.name}: {sample}; {made}", file=sys.stderr)
        yield engine.name, sample, made


def run_cases(cases: Sequence[Case], tools: Tools, turns: int, folder: Path) -> Iterator[str]:
    """Yields what was found with each case."""
    for case in cases:
        start = time.monotonic()

        def run(case: Case = case) -> str:
            with tempfile.TemporaryDirectory(dir=folder) as own:
                return case.run(tools, Path(own), turns)

        found = _found(case.name, case.lacks(tools), run)
        print(f"{case.name}: {found}, {time.monotonic() - start:.0f} s", file=sys.stderr)
        yield found


def _found(name: str, lack: str, run: Callable[[], str]) -> str:
    """Returns what a run found; what it failed with is told, and ends no other run."""
    if lack:
        return f"{_NOT_RUN}: no {lack}"
    try:
        return run()
    except (CaseError, RuntimeError, OSError, subprocess.SubprocessError, SystemExit) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return _FAILED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--engine", action="append", metavar="TEXT", help="compare engines with this in their names"
    )
    parser.add_argument("--case", action="append", metavar="TEXT", help="cases with this in their name")
    parser.add_argument("--turns", type=_turns, default=20_000, metavar="N", help="default: 20000")
    parser.add_argument(
        "--jars",
        type=Path,
        default=CACHE / "jars",
        metavar="DIR",
        help=f"jars of Beam's job servers and Kafka, see pom.xml (default: {CACHE / 'jars'})",
    )
    return parser


def cell(engine: Engine, tools: Tools, job: Sequence[str], expected: Tables, folder: Path) -> str:
    """Runs a job on an engine and compares its tables; returns what was found."""

    def run() -> str:
        with tempfile.TemporaryDirectory(dir=folder) as own, engine.started(tools, Path(own)) as options:
            cost, found = _run(engine.name, job, options, folder)
        for line in (unequal := differences(expected, found)):
            print(f"{engine.name}: {line}", file=sys.stderr)
        return f"{_DIFFERENT if unequal else 'same tables'}, {cost.wall:.0f} s"

    return _found(engine.name, engine.lacks(tools), run)


def _turns(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a number of 1 or more, not {text}")
    return int(text)


def _run(name: str, job: Sequence[str], options: Sequence[str], folder: Path) -> tuple[Cost, Tables]:
    with tempfile.TemporaryDirectory(dir=folder) as made:
        output = Path(made) / "out"
        command = [
            sys.executable,
            "-m",
            "turnwise",
            "run",
            *job,
            "--output",
            str(output),
            *options,
        ]
        cost = measured(command, Path(made) / f"{name}.log")
        return cost, tables(output)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
