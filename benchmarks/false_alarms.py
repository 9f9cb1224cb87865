"""How many streams and rows of nights without any change raise an alert about a drop.

By a fixed and by a sequential test: every pane of every window is tested against the window before, as alert
rules do. A night is a window of one pane.
"""

import argparse
import sys
from collections.abc import Sequence
from itertools import pairwise
from math import sqrt
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.figures import Found, Row, Table, run_benchmark
from turnwise.transforms.statistics.tests import (
    SampleMoments,
    always_valid_p,
    lower_mean,
    mean_evidence,
    share_evidence,
    upper_normal,
    wilson_interval,
)

CONVERSATIONS = 200
PANES = 20
NIGHTS = 365
ALPHA = 0.05
FEWEST = 20
Measure = Literal["pass_rate", "mean"]


class Alarms(NamedTuple):
    """Streams that raised an alert, of all."""

    fixed: int
    sequential: int


class _Looks(NamedTuple):
    fixed: bool
    sequential: bool


def alarmed_streams(
    measure: Measure, rate: float, streams: int, windows: int, drop: float = 0.0, panes: int = PANES
) -> Alarms:
    """Simulates streams and returns how many raise an alert.

    Args:
        measure: `pass_rate`, or `mean` of scores with a long lower tail.
        rate: Pass rate, or mean of the scores.
        streams: Number of streams.
        windows: Windows of a stream, of 200 conversations.
        drop: How much the last window is lower than the others.
        panes: Panes of a window.
    """
    generator = np.random.default_rng(0)
    found = [
        _stream(_values(generator, measure, rate, windows, drop), measure, CONVERSATIONS // panes)
        for _ in range(streams)
    ]
    return Alarms(sum(look.fixed for look in found), sum(look.sequential for look in found))


def _values(
    generator: np.random.Generator, measure: Measure, rate: float, windows: int, drop: float
) -> npt.NDArray[np.float64]:
    rates = np.full((windows, 1), rate)
    rates[-1] -= drop
    size = (windows, CONVERSATIONS)
    if measure == "pass_rate":
        return (generator.random(size) < rates).astype(float)
    return generator.beta(4 * rates, 4 * (1 - rates), size)


def _stream(values: npt.NDArray[np.float64], measure: Measure, step: int) -> _Looks:
    """Looks at every pane of every window."""
    fixed = sequential = False
    for number, (before, window) in enumerate(pairwise(values), 2):
        for seen in range(max(FEWEST, step), len(window) + 1, step):
            look = _look(window[:seen], before, measure, number)
            fixed, sequential = fixed or look.fixed, sequential or look.sequential
    return _Looks(fixed, sequential)


def _look(
    window: npt.NDArray[np.float64], before: npt.NDArray[np.float64], measure: Measure, number: int
) -> _Looks:
    if measure == "pass_rate":
        counts = int(window.sum()), len(window), int(before.sum()), len(before)
        p, evidence = lower_share(*counts), share_evidence(*counts)
    else:
        now, base = (SampleMoments(len(x), float(x.mean()), float(x.var(ddof=1))) for x in (window, before))
        p, evidence = lower_mean(now, base), mean_evidence(now, base)
    return _Looks(p <= ALPHA, always_valid_p(evidence, number) <= ALPHA)


def lower_share(passes: int, count: int, base_passes: int, base_count: int) -> float:
    """Returns the p-value of the one-sided two-proportion z test, which is valid for one look."""
    pooled = (passes + base_passes) / (count + base_count)
    spread = sqrt(pooled * (1 - pooled) * (1 / count + 1 / base_count))
    return upper_normal((base_passes / base_count - passes / count) / spread) if spread else 1.0


def measure(options: argparse.Namespace) -> Found:
    cases: list[tuple[Measure, float, float]] = [
        *(("pass_rate", rate, 0.0) for rate in (0.5, 0.8, 0.9, 0.97)),
        *(("mean", rate, 0.0) for rate in (0.5, 0.8)),
        *(("pass_rate", 0.9, drop) for drop in (0.1, 0.2, 0.3)),
    ]
    columns = ("measure", "value", "drop of the last window", "fixed test at every result, %")
    sequential = ("sequential test, %", "95 % interval from", "to")
    tables = []
    for what, windows, panes in (("windows", options.windows, PANES), ("nights", NIGHTS, 1)):
        rows = [_row(case, options.streams, windows, panes) for case in cases]
        text = f"{'streams' if panes > 1 else 'rows of nights'} with an alert, of {options.streams:,} of"
        tables.append(Table(f"{text} {windows} {what}", (*columns, *sequential), rows))
    return Found(tables)


def _row(case: tuple[Measure, float, float], streams: int, windows: int, panes: int) -> Row:
    found = alarmed_streams(*case[:2], streams, windows, case[2], panes)
    interval = wilson_interval(found.sequential, streams)
    bounds = [bound * 100 for bound in interval] if interval else [None, None]
    shares = [count / streams * 100 for count in found]
    return [case[0].replace("_", " "), f"{case[1]:g}", f"{case[2]:g}", *shares, *bounds]


def main(argv: Sequence[str]) -> int:
    """Simulates, and prints a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.false_alarms", allow_abbrev=False)
    parser.add_argument("--streams", type=int, default=1000)
    parser.add_argument("--windows", type=int, default=24)
    return run_benchmark(parser, measure, argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
