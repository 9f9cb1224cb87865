"""Measures what scoring costs: turnwise from file to files, a plain loop, and google-adk on the same cases.

Usage: python -m benchmarks.throughput [--turns N | --small] [--rounds N] [--adk_turns N] [--adk_env DIR]
    [--no_adk] [--json FILE]
"""

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.checks import equal_scores, equal_tables, output_mb
from benchmarks.children import Cost, add_adk_option, adk_python, adk_report, measured, yardstick
from benchmarks.data import write_adk, write_turnwise
from benchmarks.figures import Check, Found, NotMeasured, run_benchmark
from benchmarks.summary import START_UP, Measures, tables

SMALL = 10_000
CRITERIA = {"tool_trajectory_avg_score": 1.0, "response_match_score": 0.8}
_RUN_ID = "benchmark"


@dataclass
class Workbench:
    """A scratch directory and the commands that work in it."""

    directory: Path
    python: str = field(default=sys.executable)

    def logs(self, turns: int) -> Path:
        """Returns the input of so many turns."""
        return self.directory / f"logs-{turns}.jsonl"

    def output(self, kind: str, turns: int) -> Path:
        """Returns where the last run of a kind wrote."""
        return self.directory / f"{kind}-{turns}"

    def prepare(self, sizes: Sequence[int]) -> None:
        """Writes the config and the inputs."""
        (self.directory / "config.json").write_text(json.dumps({"criteria": CRITERIA}))
        for turns in sizes:
            write_turnwise(self.logs(turns), turns)

    def pipeline(self, turns: int) -> Cost:
        """Runs `turnwise run`."""
        command = [self.python, "-m", "turnwise", "run", "--workers", "1", "--input", str(self.logs(turns))]
        command += ["--output", str(self._fresh("pipeline", turns)), "--run_id", _RUN_ID]
        return self._measured([*command, "--config", str(self.directory / "config.json")])

    def plain_loop(self, turns: int) -> Cost:
        """Runs the plain loop."""
        command = [self.python, "-m", "benchmarks.plain_loop", str(self.logs(turns))]
        command += [str(self._fresh("plain", turns)), str(self.directory / "config.json"), _RUN_ID]
        return self._measured(command)

    def _fresh(self, kind: str, turns: int) -> Path:
        output = self.output(kind, turns)
        shutil.rmtree(output, ignore_errors=True)
        return output

    def _measured(self, command: Sequence[str]) -> Cost:
        return measured(command, self.directory / "child.log")


def run_all(bench: Workbench, sizes: Sequence[int], rounds: int, adk: tuple[str, Path] | None) -> Measures:
    """Runs everything in turns, several rounds of it in turn, so that load affects all alike."""
    measures = Measures()
    for number in range(rounds):
        for turns in (START_UP, *sizes, START_UP):
            measures.yardsticks.append(yardstick())
            measures.add("pipeline", turns, bench.pipeline(turns))
            measures.add("plain", turns, bench.plain_loop(turns))
        if adk:
            measures.adk.append(adk_report(*adk))
        print(f"round {number + 1} of {rounds} done", file=sys.stderr)
    return measures


def checks(bench: Workbench, turns: int, adk: Sequence[dict[str, Any]]) -> list[Check]:
    """Compares what was written."""
    rows, unequal = equal_tables(bench.output("pipeline", turns), bench.output("plain", turns))
    found = [_check(f"{rows:,} rows are equal to the plain loop's", unequal)]
    if adk:
        compared, unequal = equal_scores(bench.output("pipeline", turns), adk[0]["scores"])
        found.append(_check(f"{compared:,} scores are bit-equal to google-adk's", unequal))
    return found


def _check(text: str, unequal: Sequence[str]) -> Check:
    return Check("; ".join([text, *unequal[:10]]), not unequal)


def measure(options: argparse.Namespace) -> Found:
    sizes = [SMALL] if options.small else sorted({min(SMALL, options.turns), options.turns})
    adk, missing = None, ["google-adk, left out"] if options.no_adk else []
    with tempfile.TemporaryDirectory(prefix="turnwise-benchmark-") as directory:
        bench = Workbench(Path(directory))
        bench.prepare((START_UP, *sizes))
        try:
            adk = None if options.no_adk else (adk_python(options.adk_env), bench.directory / "adk.json")
        except NotMeasured as lack:
            missing.append(str(lack))
        if adk:
            write_adk(adk[1], min(options.adk_turns, sizes[0]))
        measures = run_all(bench, sizes, options.rounds, adk)
        written = {turns: output_mb(bench.output("pipeline", turns)) for turns in sizes}
        return Found(tables(measures, sizes, written), checks(bench, sizes[0], measures.adk), missing)


def main(argv: Sequence[str]) -> int:
    """Returns 1 if two sides that must agree do not."""
    return run_benchmark(_parser(), measure, argv)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.throughput", allow_abbrev=False)
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--turns", type=int, default=100_000, help="turns of the large run (default: 100000)")
    size.add_argument("--small", action="store_true", help=f"only {SMALL} turns, for a quick look")
    parser.add_argument("--rounds", type=int, default=3, help="rounds; medians are taken (default: 3)")
    parser.add_argument(
        "--adk_turns", type=int, default=2_000, help="turns that google-adk scores (default: 2000)"
    )
    add_adk_option(parser)
    parser.add_argument("--no_adk", action="store_true", help="leave google-adk out")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
