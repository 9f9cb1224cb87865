"""Measures judge calls: how many a second, and what turnwise's part of their CPU time is.

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

_SERVER = ROOT / "tests" / "gemini_server.py"
_KINDS = {
    "turnwise": "turnwise",
    "cached": "turnwise, cache written",
    "client": "google-genai, called alike",
    "plain_client": "google-genai, plainly called",
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


def summary(reports: Reports) -> str:
    """Returns the table: medians over the rounds, with the range of the CPU times."""
    rows = [f"{'':<30}{'in flight':>10}{'calls/s':>10}{'CPU ms/call':>13}{'of all rounds':>16}{'own':>9}"]
    for (kind, limit), each in reports.items():
        cpu = [report["cpu_ms"] for report in each]
        speed = median(report["calls_per_s"] for report in each)
        row = f"{_KINDS[kind]:<30}{limit:>10}{speed:>10.0f}{median(cpu):>13.3f}"
        row += f"{f'{min(cpu):.3f}..{max(cpu):.3f}':>16}"
        if kind in ("turnwise", "cached"):
            row += f"{_own(each, reports['client', limit]):>9.3f}"
        rows.append(row)
    return "\n".join(rows)


def _own(ours: Sequence[dict[str, float]], client: Sequence[dict[str, float]]) -> float:
    return median(a["cpu_ms"] - b["cpu_ms"] for a, b in zip(ours, client, strict=True))


def main(argv: Sequence[str]) -> None:
    """Prints the table."""
    options = _parser().parse_args(argv)
    before = yardstick()
    with server(options.delay_ms) as port:
        reports = measure(port, options.calls, options.concurrency, options.rounds)
    print(summary(reports))
    print(f"own: CPU ms/call beyond the client's, median of each round's difference ({options.calls} calls)")
    print(f"a fixed piece of work took {before:.3f} CPU s before and {yardstick():.3f} after")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.judge_calls", allow_abbrev=False)
    parser.add_argument("--calls", type=int, default=4_000, help="calls of each run (default: 4000)")
    parser.add_argument("--delay_ms", type=float, default=200.0, help="how long the server takes to answer")
    parser.add_argument("--concurrency", type=int, nargs="+", default=[64, 256], help="calls in flight")
    parser.add_argument("--rounds", type=int, default=3, help="rounds (default: 3)")
    return parser


if __name__ == "__main__":
    main(sys.argv[1:])
