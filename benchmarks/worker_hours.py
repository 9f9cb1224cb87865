"""Measures the worker hours of a million turns: in one process, and on Prism with a worker of its own.

Usage: python -m benchmarks.worker_hours [--turns N] [--json FILE]
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.children import measured
from benchmarks.data import write_turnwise
from benchmarks.engines.engines import LOOPBACK, find_tools
from benchmarks.figures import Found, Row, Table, run_benchmark


def measure(options: argparse.Namespace) -> Found:
    prism = find_tools().prism
    places: dict[str, tuple[str, ...]] = {"one process": ()}
    if prism:
        places["Prism"] = ("--runner=PrismRunner", f"--prism_location={prism}", LOOPBACK)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        write_turnwise(folder / "logs.jsonl", options.turns)
        command = [sys.executable, "-m", "turnwise", "run", "--judge=none"]
        for number, (name, more) in enumerate(places.items()):
            paths = [f"--input={folder / 'logs.jsonl'}", f"--output={folder / str(number)}"]
            cpu = measured([*command, *paths, *more], folder / "log").cpu
            rows.append([name, options.turns, cpu, cpu / options.turns * 1e6 / 3600])
    columns = ("where", "turns", "CPU s", "worker hours per million turns")
    missing = [] if prism else ["Prism, which is not here"]
    return Found([Table("worker hours", columns, rows)], missing=missing)


def main(argv: Sequence[str]) -> int:
    """Measures, and prints a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.worker_hours", allow_abbrev=False)
    parser.add_argument("--turns", type=int, default=100_000, metavar="N", help="default: 100000")
    return run_benchmark(parser, measure, argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
