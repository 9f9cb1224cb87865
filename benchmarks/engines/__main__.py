"""Runs the sample and generated conversations on every engine that can be started here."""

import argparse
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from benchmarks.children import Cost, measured
from benchmarks.engines.cases import Case
from benchmarks.engines.engines import CACHE, ENGINES, Engine, Tools, find_tools
from benchmarks.engines.every_case import CASES
from benchmarks.engines.runs import CaseError, Tables, made_job, made_logs, sample_job
from benchmarks.engines.tables import differences, tables


def main() -> int:
    """Prints two tables; returns 1 if an engine's tables differ from DirectRunner's, or a case failed."""
    options = _parser().parse_args()
    # What was started is ended as after Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    tools = find_tools(options.jars)
    print(f"{date.today()}; seconds on the clock, with start-up\n")
    with tempfile.TemporaryDirectory(prefix="turnwise-engines-") as made:
        engines = [one for one in ENGINES if _is_chosen(one.name, options.engine, options.case)]
        cases = [one for one in CASES if _is_chosen(one.name, options.case, options.engine)]
        is_right = not engines or _compare(engines, tools, options.turns, Path(made))
        return not (_run_cases(cases, tools, options.turns, Path(made)) and is_right)


def _is_chosen(name: str, chosen: Sequence[str] | None, others: Sequence[str] | None) -> bool:
    return any(part in name for part in chosen) if chosen else not others


def _compare(engines: Sequence[Engine], tools: Tools, turns: int, folder: Path) -> bool:
    print(f"| engine | sample | {turns} turns |\n|---|---|---|")
    jobs = [sample_job(), made_job(made_logs(folder, turns))]
    expected = [_run("DirectRunner", job, (), folder)[1] for job in jobs]
    is_right = True
    for engine in engines:
        cells = [_cell(engine, tools, job, own, folder) for job, own in zip(jobs, expected, strict=True)]
        is_right &= not any("differ" in cell for cell in cells)
        print(f"| {engine.name} | {' | '.join(cells)} |", flush=True)
    return is_right


def _run_cases(cases: Sequence[Case], tools: Tools, turns: int, folder: Path) -> bool:
    print("\n| case | result |\n|---|---|")
    is_right = True
    for case in cases:
        start = time.monotonic()
        lack = case.lacks(tools)
        try:
            with tempfile.TemporaryDirectory(dir=folder) as own:
                found = f"not run: no {lack}" if lack else case.run(tools, Path(own), turns)
        except (CaseError, RuntimeError, OSError, subprocess.TimeoutExpired) as error:
            print(f"{case.name}: {error}", file=sys.stderr)
            found, is_right = "failed", False
        print(f"| {case.name} | {found}, {time.monotonic() - start:.0f} s |", flush=True)
    return is_right


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--engine", action="append", metavar="TEXT", help="compare engines with this in their names"
    )
    parser.add_argument("--case", action="append", metavar="TEXT", help="cases with this in their name")
    parser.add_argument("--turns", type=int, default=20_000, metavar="N", help="default: 20000")
    parser.add_argument(
        "--jars",
        type=Path,
        default=CACHE / "jars",
        metavar="DIR",
        help=f"jars of Beam's job servers and Kafka, see pom.xml (default: {CACHE / 'jars'})",
    )
    return parser


def _cell(engine: Engine, tools: Tools, job: Sequence[str], expected: Tables, folder: Path) -> str:
    lack = engine.lacks(tools)
    if lack:
        return f"not run: no {lack}"
    with tempfile.TemporaryDirectory(dir=folder) as own, engine.started(tools, Path(own)) as options:
        cost, found = _run(engine.name, job, options, folder)
    for line in (unequal := differences(expected, found)):
        print(f"{engine.name}: {line}", file=sys.stderr)
    return f"{'tables differ' if unequal else 'same tables'}, {cost.wall:.0f} s"


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
    sys.exit(main())
