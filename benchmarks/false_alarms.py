"""How many streams without any change raise an alert about a drop, by a fixed and by a sequential test.

Every pane of every window is tested against the window before, as alert rules do.
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

PANES = 20
PER_PANE = 10
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


def alarmed_streams(measure: Measure, rate: float, streams: int, windows: int, drop: float = 0.0) -> Alarms:
    """Simulates streams and returns how many raise an alert.

    Args:
        measure: `pass_rate`, or `mean` of scores with a long lower tail.
        rate: Pass rate, or mean of the scores.
        streams: Number of streams.
        windows: Windows of a stream; each has 20 panes of 10 conversations.
        drop: How much the last window is lower than the others.
    """
    generator = np.random.default_rng(0)
    found = [_stream(_values(generator, measure, rate, windows, drop), measure) for _ in range(streams)]
    return Alarms(sum(look.fixed for look in found), sum(look.sequential for look in found))


def _values(
    generator: np.random.Generator, measure: Measure, rate: float, windows: int, drop: float
) -> npt.NDArray[np.float64]:
    rates = np.full((windows, 1), rate)
    rates[-1] -= drop
    size = (windows, PANES * PER_PANE)
    if measure == "pass_rate":
        return (generator.random(size) < rates).astype(float)
    return generator.beta(4 * rates, 4 * (1 - rates), size)


def _stream(values: npt.NDArray[np.float64], measure: Measure) -> _Looks:
    """Looks at every pane of every window."""
    fixed = sequential = False
    for number, (before, window) in enumerate(pairwise(values), 2):
        for seen in range(FEWEST, len(window) + 1, PER_PANE):
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
    rows: list[Row] = []
    for case in cases:
        found = alarmed_streams(*case[:2], options.streams, options.windows, case[2])
        interval = wilson_interval(found.sequential, options.streams)
        bounds = [bound * 100 for bound in interval] if interval else [None, None]
        shares = [count / options.streams * 100 for count in found]
        rows.append([case[0].replace("_", " "), f"{case[1]:g}", f"{case[2]:g}", *shares, *bounds])
    columns = ("measure", "value", "drop of the last window", "fixed test at every result, %")
    sequential = ("sequential test, %", "95 % interval from", "to")
    text = f"streams with an alert, of {options.streams:,} of {options.windows} windows"
    return Found([Table(text, (*columns, *sequential), rows)])


def main(argv: Sequence[str]) -> int:
    """Simulates, and prints a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.false_alarms", allow_abbrev=False)
    parser.add_argument("--streams", type=int, default=1000)
    parser.add_argument("--windows", type=int, default=24)
    return run_benchmark(parser, measure, argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
