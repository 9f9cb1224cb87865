"""Runs the sample and generated conversations on every engine that can be started here."""

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path

from benchmarks.children import ROOT, Cost, measured
from benchmarks.data import write_turnwise
from benchmarks.engines.engines import ENGINES, Engine, Tools, find_tools
from benchmarks.engines.tables import differences, tables

_SAMPLE = ROOT / "pipeline/sample_data"
_JARS = Path.home() / ".cache/turnwise-benchmarks/jars"
_SAME_ID = ("--run_id", "engines")
Tables = Mapping[str, Counter[str]]


def main() -> int:
    """Prints a table; returns 1 if an engine's tables differ from DirectRunner's."""
    options = _parser().parse_args()
    tools = find_tools(options.jars)
    chosen = [engine for engine in ENGINES if options.engine is None or engine.name in options.engine]
    status = 0
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        print(f"{date.today()}; seconds on the clock, with start-up\n")
        print(f"| engine | sample | {options.turns} turns |\n|---|---|---|")
        jobs = [_sample_job(), _made_job(folder, options.turns)]
        expected = [_run("DirectRunner", job, (), folder)[1] for job in jobs]
        for engine in chosen:
            cells = [_cell(engine, tools, job, own, folder) for job, own in zip(jobs, expected, strict=True)]
            status |= any("differ" in cell for cell in cells)
            print(f"| {engine.name} | {' | '.join(cells)} |", flush=True)
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    names = [engine.name for engine in ENGINES]
    parser.add_argument("--engine", action="append", choices=names, help="may be repeated (default: all)")
    parser.add_argument("--turns", type=int, default=20_000, metavar="N", help="default: 20000")
    parser.add_argument(
        "--jars",
        type=Path,
        default=_JARS,
        metavar="DIR",
        help=f"jars of Beam's job servers, see pom.xml (default: {_JARS})",
    )
    return parser


def _sample_job() -> tuple[str, ...]:
    config = ("--config", f"{_SAMPLE}/config.json", "--judge", "local")
    return "--input", f"{_SAMPLE}/conversations", "--eval_cases", f"{_SAMPLE}/cases", *config


def _made_job(folder: Path, turns: int) -> tuple[str, ...]:
    write_turnwise(folder / "logs.jsonl", turns)
    return "--input", str(folder / "logs.jsonl"), "--judge", "none"


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
            *_SAME_ID,
            "--output",
            str(output),
            *options,
        ]
        cost = measured(command, Path(made) / f"{name}.log")
        return cost, tables(output)


if __name__ == "__main__":
    sys.exit(main())
