"""Measures the worker hours of a million turns: in one process, and on Prism with a worker of its own."""

import argparse
import sys
import tempfile
from datetime import date
from pathlib import Path

from benchmarks.children import measured
from benchmarks.data import write_turnwise
from benchmarks.engines.engines import LOOPBACK, find_tools


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=100_000, metavar="N", help="default: 100000")
    turns = parser.parse_args().turns
    prism = find_tools().prism
    places: dict[str, tuple[str, ...]] = {"one process": ()}
    if prism:
        places["Prism"] = ("--runner=PrismRunner", f"--prism_location={prism}", LOOPBACK)
    print(f"{date.today()}; {turns} turns without a judge, from file to files\n")
    print("| where | CPU s | worker hours per million turns |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        write_turnwise(folder / "logs.jsonl", turns)
        command = [
            sys.executable,
            "-m",
            "turnwise",
            "run",
            f"--input={folder / 'logs.jsonl'}",
            "--judge=none",
        ]
        for number, (name, options) in enumerate(places.items()):
            run = [*command, f"--output={folder / str(number)}", *options]
            cpu = measured(run, folder / "log").cpu
            print(f"| {name} | {cpu:.1f} | {cpu / turns * 1e6 / 3600:.2f} |", flush=True)


if __name__ == "__main__":
    main()
