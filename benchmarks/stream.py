"""Measures a stream from a watched directory: throughput, delay and growth of memory.

The exit status is 1 if a backlog of 10,000 turns takes over 1.3 times the CPU time of a batch, if one result
in a hundred comes later than after 0.5 s, or if the memory at the end is over 1.2 times that after 2 minutes.

Usage: python -m benchmarks.stream [--small | --minutes M --rounds N --backlog N] [--rate N] [--json FILE]
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles

from benchmarks.children import ROOT, Cost, measured
from benchmarks.data import TURNS_EACH, conversation, write_turnwise
from benchmarks.figures import Check, Found, NotMeasured, Row, Table, run_benchmark
from benchmarks.throughput import CRITERIA

_LOOK_EVERY = 0.01
_MEMORY_EVERY = 30.0
_MB = 1024 * 1024
SMALL = 10_000
_SMALL_MINUTES = 0.5
_MOST_OF_A_BATCH, _MOST_DELAY_S, _MOST_MEMORY = 1.3, 0.5, 1.2
_SETTLED_S = 120.0


class Results:
    """The growing results of a stream, read as they come."""

    def __init__(self, directory: Path) -> None:
        """Starts at the beginning of the first file."""
        self._path, self._read = directory / "results-00000.jsonl", 0

    def new(self) -> list[str]:
        """Returns the conversations of the lines that are whole by now."""
        if not self._path.exists():
            return []
        with self._path.open("rb") as file:
            file.seek(self._read)
            lines = file.read().split(b"\n")
        self._read += sum(len(line) + 1 for line in lines[:-1])
        return [json.loads(line)["displayName"].rsplit(" - ", 1)[-1] for line in lines[:-1]]


def command(directory: Path, *more: str) -> list[str]:
    """Returns the command that watches `in` and writes `out`."""
    paths = ["--input", str(directory / "in"), "--output", str(directory / "out")]
    config = ["--config", str(directory / "config.json")]
    return [sys.executable, "-m", "turnwise", "run", "--streaming", *paths, *config, *more]


@contextmanager
def scratch() -> Iterator[Path]:
    """Yields a directory with a config and an empty input."""
    with tempfile.TemporaryDirectory(prefix="turnwise-stream-") as name:
        directory = Path(name)
        (directory / "in").mkdir()
        (directory / "config.json").write_text(json.dumps({"criteria": CRITERIA}))
        yield directory


def backlog(turns: int, rounds: int) -> Found:
    """Measures the throughput of a stream over a backlog, and its cost against that of a batch in turns."""
    streams, batches = [], []
    with scratch() as directory:
        write_turnwise(directory / "in" / "logs.jsonl", turns)
        stream = command(directory, "--stop_after", str(turns // TURNS_EACH), "--overwrite")
        batch = command(directory, "--overwrite", "--workers", "1")
        batch.remove("--streaming")
        for _ in range(rounds):
            batches.append(measured(batch, directory / "log"))
            streams.append(measured(stream, directory / "log"))
    times = median(one.cpu for one in streams) / median(one.cpu for one in batches)
    cost = Cost(*(median(values) for values in zip(*streams, strict=True)))
    rates = ("turns per s", "turns per CPU s", "CPU s", "times the CPU of a batch", "peak MB")
    columns = ("turns", "rounds", *rates)
    row = [turns, rounds, turns / cost.wall, turns / cost.cpu, cost.cpu, times, cost.peak_mb]
    check = Check(f"{turns:,} turns take at most {_MOST_OF_A_BATCH} times a batch", times <= _MOST_OF_A_BATCH)
    table = Table("backlog, medians of the rounds", columns, [row])
    return Found([table], [check] if turns <= SMALL else [])


def steady(rate: float, minutes: float) -> Found:
    """Measures delays at a steady rate, from a line to its result, and the growth of memory."""
    with scratch() as directory, (directory / "log").open("wb") as log:
        stream = command(directory, "--pane_every", "10")
        process = subprocess.Popen(stream, cwd=ROOT, stdout=log, stderr=log)
        try:
            delays, grown = _produce(directory, process.pid, rate, minutes * 60)
        finally:
            process.send_signal(signal.SIGTERM)
            status = process.wait()
        if status:
            sys.exit((directory / "log").read_text(errors="replace"))
    marks = quantiles(delays, n=100)
    columns = ("conversations per s", "minutes", "results", "p50 s", "p90 s", "p99 s")
    row = [rate, minutes, len(delays), marks[49], marks[89], marks[98]]
    tables = [
        Table("delay from a line to its result", columns, [row]),
        Table("memory", ("after s", "MB", "cores"), grown),
    ]
    settled = [float(mb or 0) for after, mb, _ in grown if float(after or 0) >= _SETTLED_S]
    return Found(
        tables,
        [
            Check(f"99 of 100 results are there after {_MOST_DELAY_S} s", marks[98] <= _MOST_DELAY_S),
            *([_steady_memory(settled)] if len(settled) > 1 else []),
        ],
    )


def _steady_memory(settled: Sequence[float]) -> Check:
    text = f"the memory at the end is at most {_MOST_MEMORY} times that after {_SETTLED_S:.0f} s"
    return Check(text, settled[-1] <= _MOST_MEMORY * settled[0])


def _produce(directory: Path, pid: int, rate: float, seconds: float) -> tuple[list[float], list[Row]]:
    """Writes one conversation after another and waits for their results; returns delays and growth."""
    results, written, delays = Results(directory / "out"), dict[str, float](), []
    grown: list[Row] = []
    _warm_up(directory, results)
    start = looked = time.monotonic()
    count, cpu = 1, _cpu(pid)
    with (directory / "in" / "logs.jsonl").open("a") as file:
        while time.monotonic() - start < seconds or written:
            now = time.monotonic()
            while count - 1 < (now - start) * rate and now - start < seconds:
                entry = conversation(count)
                file.write(json.dumps(entry) + "\n")
                file.flush()
                written[entry["conversation_id"]] = time.monotonic()
                count += 1
            seen = time.monotonic()
            delays += [seen - written.pop(name) for name in results.new()]
            if now - looked >= _MEMORY_EVERY:
                used, looked = _cpu(pid) - cpu, now
                grown.append([round(now - start), _memory(pid), used / (now - start)])
            time.sleep(_LOOK_EVERY)
    return delays, grown


def _warm_up(directory: Path, results: Results) -> None:
    """Waits for the result of a first conversation: start-up is not measured."""
    (directory / "in" / "first.jsonl").write_text(json.dumps(conversation(0)) + "\n")
    while not results.new():
        time.sleep(_LOOK_EVERY)


def _memory(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / _MB


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(options: argparse.Namespace) -> Found:
    if not Path("/proc/self/statm").exists():
        raise NotMeasured("memory and CPU time of a stream, without /proc")
    minutes = _SMALL_MINUTES if options.small else options.minutes
    sizes, rounds = (
        ([SMALL], 1)
        if options.small
        else (sorted({min(SMALL, options.backlog), options.backlog}), options.rounds)
    )
    parts = [*(backlog(turns, rounds) for turns in sizes), steady(options.rate, minutes)]
    return Found(
        [table for part in parts for table in part.tables], [c for part in parts for c in part.checks]
    )


def main(argv: Sequence[str]) -> int:
    """Measures, and prints tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stream", allow_abbrev=False)
    parser.add_argument("--small", action="store_true", help=f"{SMALL:,} turns once, and half a minute")
    parser.add_argument("--rounds", type=int, default=3, help="of stream and batch in turns (default: 3)")
    parser.add_argument("--minutes", type=float, default=10.0, help="of the steady rate (default: 10)")
    parser.add_argument("--rate", type=float, default=50.0, help="conversations a second (default: 50)")
    parser.add_argument(
        "--backlog", type=int, default=40_000, help="turns that have piled up (default: 40,000)"
    )
    return run_benchmark(parser, measure, argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
