"""Runs all benchmarks, or some, and writes their figures as one Markdown page and one JSON file.

Usage: python -m benchmarks.all [--small] [--only NAME ...] [--output DIR] [--record]
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from benchmarks.children import ROOT
from benchmarks.every import BENCHMARKS, Benchmark
from benchmarks.figures import FAILED, NOT_MEASURED, Check, Found
from benchmarks.recorded import (
    Entry,
    all_markdown,
    fill_pages,
    new_entry,
    read_record,
    source_commit,
    write_record,
)


def run(benchmark: Benchmark, small: bool, commit: str) -> Entry:
    """Runs a benchmark as a process of its own; one that fails has a check that does not hold."""
    load, start = os.getloadavg()[0], time.monotonic()
    with tempfile.TemporaryDirectory(prefix="turnwise-benchmark-") as directory:
        values = Path(directory) / "figures.json"
        command = [sys.executable, "-m", f"benchmarks.{benchmark.name}", "--json", str(values)]
        status = subprocess.run([*command, *(benchmark.small if small else ())], cwd=ROOT).returncode
        found = read_found(values, status)
    return new_entry(found, commit, load, time.monotonic() - start)


def read_found(values: Path, status: int) -> Found:
    """Reads what a benchmark found; it has failed if its process ended in another way than that says."""
    if not values.exists():
        return Found(checks=[Check(f"it ends with figures (exit status {status})", False)])
    found = msgspec.json.decode(values.read_bytes(), type=Found)
    if status == found.status():
        return found
    unexpected = Check(f"its process ends as its figures say (exit status {status})", False)
    return msgspec.structs.replace(found, checks=[*found.checks, unexpected])


def main(argv: Sequence[str]) -> int:
    """Returns 1 if a benchmark failed or a check does not hold, 3 if something was not measured."""
    options = _parser().parse_args(argv)
    chosen = [one for one in BENCHMARKS if not options.only or one.name in options.only]
    entries, record, commit = {}, read_record(), source_commit()
    for number, benchmark in enumerate(chosen, 1):
        print(f"\n{benchmark.name} ({number} of {len(chosen)}; {benchmark.time})\n", flush=True)
        entry = entries[benchmark.name] = run(benchmark, options.small, commit)
        if options.record and entry.found.tables and entry.found.status() != FAILED:
            write_record(record := {**record, benchmark.name: entry})
            fill_pages()
    if options.output:
        options.output.mkdir(parents=True, exist_ok=True)
        write_record(entries, options.output / "figures.json")
        (options.output / "figures.md").write_text(all_markdown(entries, [one.name for one in chosen]))
    return _end({name: entry.found.status() for name, entry in entries.items()})


def _end(statuses: dict[str, int]) -> int:
    words = {0: "measured", FAILED: "FAILED", NOT_MEASURED: "NOT MEASURED, or not all of it"}
    print()
    for name, status in statuses.items():
        print(f"{name:20} {words[status]}")
    return next((status for status in (FAILED, NOT_MEASURED) if status in statuses.values()), 0)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.all", allow_abbrev=False)
    parser.add_argument("--only", nargs="+", choices=[one.name for one in BENCHMARKS], metavar="NAME")
    parser.add_argument("--output", type=Path, metavar="DIR", help="write figures.md and figures.json there")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--small", action="store_true", help="quick runs, which show that everything works")
    size.add_argument(
        "--record", action="store_true", help="keep figures in benchmarks/figures.json and docs/"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
