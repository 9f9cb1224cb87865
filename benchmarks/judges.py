"""Measures judged criteria: turnwise and google-adk on the same cases, against the same server.

Usage: python -m benchmarks.judges [--conversations N] [--rounds N] [--adk_env DIR] [--no_sizes]
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.children import add_adk_option, adk_python, yardstick
from benchmarks.data import TURNS_EACH
from benchmarks.figures import Found, Table, run_benchmark
from benchmarks.judge_calls import server
from benchmarks.judge_runs import CANDIDATES, FIRST, SECOND, JudgeBench, JudgedRun
from benchmarks.judge_summary import BEST, USUAL, JudgedRuns, checks, tables

CONVERSATIONS = 40
DELAY_MS = 200.0
SIZES = (3_000, 6_000)
"""Above what a run compares versions of at its end, which holds the conversations."""
SIZES_DELAY_MS = 20.0
_SAMPLES = 5
_SCRATCH = "turnwise-benchmark-"


def compare(directory: Path, conversations: int, adk: str, rounds: int) -> tuple[JudgedRuns, list[Path]]:
    """Runs both sides; returns the runs and where turnwise wrote."""
    runs = JudgedRuns()
    with server(DELAY_MS) as port:
        bench = JudgeBench(directory, port, conversations)
        bench.prepare()
        for number in range(rounds):
            for kind in (FIRST, SECOND, CANDIDATES):
                runs.turnwise.setdefault(kind, []).append(bench.turnwise(kind))
            _tell(f"turnwise, round {number + 1} of {rounds}")
        runs.adk[USUAL] = bench.adk(adk, None, 1)
        _tell(f"google-adk, {USUAL}")
        runs.adk[BEST] = bench.adk(adk, conversations, _SAMPLES * TURNS_EACH)
        _tell(f"google-adk, {BEST}")
    return runs, [bench.output(kind) for kind in runs.turnwise]


def judge_many(conversations: int) -> JudgedRun:
    """Judges a larger number of conversations with turnwise, by a quicker server and in fewer calls."""
    with tempfile.TemporaryDirectory(prefix=_SCRATCH) as directory, server(SIZES_DELAY_MS) as port:
        bench = JudgeBench(Path(directory), port, conversations)
        bench.prepare()
        run = bench.turnwise(CANDIDATES)
    _tell(f"turnwise, {conversations:,} conversations")
    return run


def _tell(what: str) -> None:
    print(f"{what} done", file=sys.stderr)


def measure(options: argparse.Namespace) -> Found:
    before, adk = yardstick(), adk_python(options.adk_env)
    with tempfile.TemporaryDirectory(prefix=_SCRATCH) as directory:
        runs, outputs = compare(Path(directory), options.conversations, adk, options.rounds)
        if not options.no_sizes:
            runs.sizes = {size: judge_many(size) for size in SIZES}
        work = Table("CPU s of a fixed piece of work", ("before", "after"), [[before, yardstick()]])
        return Found([*tables(runs), work], checks(runs, outputs, options.conversations >= CONVERSATIONS))


def main(argv: Sequence[str]) -> int:
    """Returns 1 if a check fails."""
    return run_benchmark(_parser(), measure, argv)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.judges", allow_abbrev=False)
    parser.add_argument(
        "--conversations", type=int, default=CONVERSATIONS, help="conversations that both judge (default: 40)"
    )
    parser.add_argument("--rounds", type=int, default=3, help="rounds of turnwise (default: 3)")
    add_adk_option(parser)
    parser.add_argument("--no_sizes", action="store_true", help="leave the runs that show memory out")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
