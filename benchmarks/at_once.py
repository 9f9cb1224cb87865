"""Measures what the processors of a machine take from each other: one piece of work alone, then several."""

import statistics
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.children import Cost, measured
from benchmarks.data import write_turnwise
from benchmarks.figures import Table

_TURNS = 5_000


def times_at_once(place: Path, config: Path, processes: int, rounds: int) -> Table:
    """Returns the cost of a plain loop over 5,000 turns, alone and in so many processes at once."""
    logs = place / "piece.jsonl"
    write_turnwise(logs, _TURNS)
    costs: dict[int, list[Cost]] = {1: [], processes: []}
    for turn in range(rounds):
        for number, found in costs.items():
            outputs = [place / f"piece-{turn}-{number}-{i}" for i in range(number)]
            with ThreadPoolExecutor(number) as pool:
                found += pool.map(lambda output: _cost(logs, output, config), outputs)
    alone, together = (
        [statistics.median(figures) for figures in list(zip(*found, strict=True))[:2]]
        for found in costs.values()
    )
    ratios = [b / a for a, b in zip(alone, together, strict=True)]
    return Table(
        f"a plain loop over {_TURNS:,} turns, medians of {rounds} interleaved rounds",
        ("at once", "CPU s each", "seconds"),
        [(1, *alone), (processes, *together), ("ratio", *ratios)],
    )


def _cost(logs: Path, output: Path, config: Path) -> Cost:
    loop = [sys.executable, "-m", "benchmarks.plain_loop", str(logs), str(output), str(config), "one"]
    return measured(loop, output.with_suffix(".log"))
