"""Measures what worker processes of one machine bring: the same batch with one process and with several.

Usage: python -m benchmarks.workers [--turns N] [--workers N] [--rounds N] [--json FILE]

The critical path is the CPU time of the command's own process and of the busiest worker: on a machine without
other work a run takes that long, and other work does not change it much. The second table says what the
processors take from each other, whatever they run.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.at_once import times_at_once
from benchmarks.checks import equal_tables
from benchmarks.children import ROOT
from benchmarks.data import write_turnwise
from benchmarks.figures import Check, Found, NotMeasured, Table, run_benchmark
from turnwise.pipeline.settings.remote_workers import usable_cores

_CRITERIA = {"tool_trajectory_avg_score": 1.0, "response_match_score": 0.8}
_TICKS = os.sysconf("SC_CLK_TCK")
_EVERY_S = 0.2
_MOST_CPU, _MOST_PATH, _MOST_MEMORY = 1.25, 0.65, 2.2
_LARGE = 100_000
_COLUMNS = ("workers", "seconds", "CPU s", "CPU s of the critical path", "peak MB")


class Run(NamedTuple):
    """Seconds on the clock, CPU seconds of all processes and of the critical path, and memory in MB.

    The memory is what all processes together hold at most, and counts what they share once.
    """

    wall: float
    cpu: float
    path: float
    memory: float


def measured(command: Sequence[str]) -> Run:
    """Runs a command and looks at its processes; exits if it fails."""
    start = time.perf_counter()
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    seconds: dict[int, float] = {}
    memory = 0.0
    while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        family = list(_family(process.pid))
        seconds.update({one: _seconds(one) for one in family})
        memory = max(memory, sum(map(_megabytes, family)))
        time.sleep(_EVERY_S)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{' '.join(command)}: failed")
    cpu = usage.ru_utime + usage.ru_stime
    own = seconds.pop(process.pid)
    path = cpu - sum(seconds.values()) + max(seconds.values()) if seconds else cpu
    return Run(time.perf_counter() - start, cpu, max(own, path), memory)


def _family(leader: int) -> Iterator[int]:
    yield leader
    for child in _words(leader, f"task/{leader}/children"):
        yield from _family(int(child))


def _seconds(process: int) -> float:
    words = _words(process, "stat")
    return (int(words[13]) + int(words[14])) / _TICKS if words else 0.0


def _megabytes(process: int) -> float:
    words = _words(process, "smaps_rollup")
    return int(words[words.index("Pss:") + 1]) / 1024 if "Pss:" in words else 0.0


def _words(process: int, name: str) -> list[str]:
    try:
        return Path(f"/proc/{process}/{name}").read_text().split()
    except OSError:  # it has ended
        return []


def measure(options: argparse.Namespace) -> Found:
    if sys.platform != "linux":
        raise NotMeasured("processes are looked at in /proc, which Linux has")
    if options.workers < 2:
        raise NotMeasured("several workers, because this machine has one processor")
    runs: dict[int, list[Run]] = {1: [], options.workers: []}
    with tempfile.TemporaryDirectory(prefix="turnwise-benchmark-") as directory:
        place = Path(directory)
        (place / "config.json").write_text(json.dumps({"criteria": _CRITERIA}))
        write_turnwise(place / "logs.jsonl", options.turns)
        for _ in range(options.rounds):
            for workers, found in runs.items():
                shutil.rmtree(place / str(workers), ignore_errors=True)
                found.append(measured(_command(place, workers)))
        rows, problems = equal_tables(place / "1", place / str(options.workers))
        machine = times_at_once(place, place / "config.json", options.workers, options.rounds)
    title = f"{options.turns:,} turns, medians of {options.rounds} rounds"
    medians = [[statistics.median(each) for each in zip(*found, strict=True)] for found in runs.values()]
    ratios = Run(*(b / a for a, b in zip(*medians, strict=True)))
    lines = [(1, *medians[0]), (options.workers, *medians[1]), ("ratio", *ratios)]
    is_equal = Check(f"rows are equal: {rows:,} compared", rows > 0 and not problems)
    return Found([Table(title, _COLUMNS, lines), machine], [is_equal, *_checks(options, ratios)])


def _command(place: Path, workers: int) -> list[str]:
    given = ["--input", str(place / "logs.jsonl"), "--config", str(place / "config.json"), "--run_id", "one"]
    output = ["--output", str(place / str(workers)), "--workers", str(workers)]
    return [sys.executable, "-m", "turnwise", "run", *given, *output]


def _checks(options: argparse.Namespace, ratios: Run) -> list[Check]:
    checks = [Check(f"all processes take at most {_MOST_CPU} of one's CPU time", ratios.cpu <= _MOST_CPU)]
    if options.workers == 2 and options.turns >= _LARGE:
        checks += [
            Check(f"the critical path is at most {_MOST_PATH} of one process", ratios.path <= _MOST_PATH),
            Check(f"they hold at most {_MOST_MEMORY} of one's memory", ratios.memory <= _MOST_MEMORY),
        ]
    return checks


def main(argv: Sequence[str]) -> int:
    """Returns 1 if rows differ, or several processes cost too much; 3 if there is nothing to measure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.workers", allow_abbrev=False)
    parser.add_argument("--turns", type=int, default=100_000, help="turns of the input (default: 100000)")
    parser.add_argument(
        "--workers", type=int, default=usable_cores(), metavar="N", help="workers (default: all processors)"
    )
    parser.add_argument("--rounds", type=int, default=3, help="rounds (default: 3)")
    return run_benchmark(parser, measure, argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
