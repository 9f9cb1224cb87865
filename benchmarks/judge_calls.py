"""Measures judge calls: how many a second, and their CPU time, against google-genai alone.

Usage: python -m benchmarks.judge_calls [--calls N] [--delay_ms N] [--concurrency N ...] [--rounds N]
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from benchmarks.children import ROOT, yardstick
from benchmarks.figures import Found, Row, Table, run_benchmark

_SERVER = ROOT / "tests" / "judge_server.py"
_KINDS = {
    "turnwise": "turnwise",
    "cached": "turnwise, cache written",
    "client": "google-genai alone, one session",
    "plain_client": "google-genai alone, as documented",
}
Reports = dict[tuple[str, int], list[dict[str, float]]]


@contextmanager
def server(delay_ms: float) -> Iterator[int]:
    """Runs the server that stands in for Gemini; yields its port."""
    command = [sys.executable, str(_SERVER), "--delay_ms", str(delay_ms)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield int(process.stdout.readline())
        finally:
            process.terminate()


def measure(port: int, calls: int, limits: Sequence[int], rounds: int) -> Reports:
    """Measures every kind with every limit, several rounds of it in turn, so that load affects all alike."""
    reports: Reports = {}
    for number in range(rounds):
        for limit in limits:
            for kind in _KINDS:
                reports.setdefault((kind, limit), []).append(_report(kind, port, calls, limit))
        print(f"round {number + 1} of {rounds} done", file=sys.stderr)
    return reports


def _report(kind: str, port: int, calls: int, limit: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="turnwise-benchmark-") as directory:
        arguments = [kind, str(port), str(calls), str(limit), str(Path(directory) / "replies.sqlite")]
        command = [sys.executable, "-m", "benchmarks.judge_child", *arguments]
        run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"{' '.join(command)}\n{run.stderr}")
    return json.loads(run.stdout)


def calls_table(reports: Reports) -> Table:
    """Returns medians over the rounds, with the range of the CPU times."""
    rows: list[Row] = []
    for (kind, limit), each in reports.items():
        cpu = [report["cpu_ms"] for report in each]
        speed = median(report["calls_per_s"] for report in each)
        rows.append([_KINDS[kind], limit, speed, median(cpu), min(cpu), max(cpu)])
    return Table("judge calls", ("", "in flight", "calls per s", "CPU ms per call", "least", "most"), rows)


def ratios_table(reports: Reports, limits: Sequence[int]) -> Table:
    """Returns medians over the ratios of each round."""
    rows: list[Row] = [
        [f"{_KINDS[other]} / turnwise", limit, _times(reports[other, limit], reports["turnwise", limit])]
        for limit in limits
        for other in ("client", "plain_client")
    ]
    return Table("CPU for one of turnwise's", ("", "in flight", "times"), rows)


def _times(others: Sequence[dict[str, float]], ours: Sequence[dict[str, float]]) -> float:
    return median(a["cpu_ms"] / b["cpu_ms"] for a, b in zip(others, ours, strict=True))


def measured_calls(options: argparse.Namespace) -> Found:
    before = yardstick()
    with server(options.delay_ms) as port:
        reports = measure(port, options.calls, options.concurrency, options.rounds)
    work = Table("CPU s of a fixed piece of work", ("before", "after"), [[before, yardstick()]])
    return Found([calls_table(reports), ratios_table(reports, options.concurrency), work])


def main(argv: Sequence[str]) -> int:
    """Measures, and prints tables."""
    return run_benchmark(_parser(), measured_calls, argv)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.judge_calls", allow_abbrev=False)
    parser.add_argument("--calls", type=int, default=4_000, help="calls of each run (default: 4000)")
    parser.add_argument("--delay_ms", type=float, default=200.0, help="how long the server takes to answer")
    parser.add_argument("--concurrency", type=int, nargs="+", default=[64, 256], help="calls in flight")
    parser.add_argument("--rounds", type=int, default=3, help="rounds (default: 3)")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
