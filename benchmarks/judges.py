"""Measures judged criteria: turnwise and google-adk on the same cases, against the same server.

Usage: python -m benchmarks.judges [--conversations N] [--adk_env DIR] [--no_sizes]
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.children import add_adk_option, adk_python, yardstick
from benchmarks.data import TURNS_EACH
from benchmarks.judge_calls import server
from benchmarks.judge_runs import CANDIDATES, FIRST, SECOND, JudgeBench, JudgedRun
from benchmarks.judge_summary import BEST, USUAL, JudgedRuns, checks, summary

ROUNDS = 3
DELAY_MS = 200.0
SIZES = (500, 2_000)
SIZES_DELAY_MS = 20.0
_SAMPLES = 5
_SCRATCH = "turnwise-benchmark-"


def compare(directory: Path, conversations: int, adk: str) -> tuple[JudgedRuns, list[Path]]:
    """Runs both sides; returns the runs and where turnwise wrote."""
    runs = JudgedRuns()
    with server(DELAY_MS) as port:
        bench = JudgeBench(directory, port, conversations)
        bench.prepare()
        for number in range(ROUNDS):
            for kind in (FIRST, SECOND, CANDIDATES):
                runs.turnwise.setdefault(kind, []).append(bench.turnwise(kind))
            _tell(f"turnwise, round {number + 1} of {ROUNDS}")
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


def main(argv: Sequence[str]) -> int:
    """Returns 1 if a check fails."""
    options = _parser().parse_args(argv)
    before, adk = yardstick(), adk_python(options.adk_env)
    with tempfile.TemporaryDirectory(prefix=_SCRATCH) as directory:
        runs, outputs = compare(Path(directory), options.conversations, adk)
        if not options.no_sizes:
            runs.sizes = {size: judge_many(size) for size in SIZES}
        print(summary(runs))
        print(f"a fixed piece of work took {before:.3f} CPU s before and {yardstick():.3f} after\n")
        found = checks(runs, outputs)
    for check in found:
        print(f"{'ok  ' if check.holds else 'MISS'} {check.text}")
    return 0 if all(check.holds for check in found) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.judges", allow_abbrev=False)
    parser.add_argument(
        "--conversations", type=int, default=40, help="conversations that both judge (default: 40)"
    )
    add_adk_option(parser)
    parser.add_argument("--no_sizes", action="store_true", help="leave the runs that show memory out")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
