"""Additive statistics: what the metrics are sums of."""

from dataclasses import dataclass
from math import ceil, copysign, sqrt
from typing import NamedTuple

from turnwise.schemas.score import Outcome
from turnwise.transforms.metrics.quantiles import Bins, add_bins, add_value, value_at

_Z95 = 1.959963984540054
_LIMIT = 1e15
_FLOAT_ONE = 2.0**100
ONE = 1 << 100
"""Values are summed as whole numbers of 2^-100: such sums are exact in any order, and can be taken back."""


class Interval(NamedTuple):
    """A lower and an upper bound."""

    low: float
    high: float


def wilson_interval(passes: float, count: int) -> Interval | None:
    """Returns the 95 % Wilson score interval of a pass rate; None without any trial."""
    if not count:
        return None
    rate, z2 = passes / count, _Z95**2
    centre = (rate + z2 / (2 * count)) / (1 + z2 / count)
    half = _Z95 / (1 + z2 / count) * sqrt(rate * (1 - rate) / count + z2 / (4 * count**2))
    return Interval(max(0.0, centre - half), min(1.0, centre + half))


def _whole(value: float) -> int:
    """Returns a value as a number of 2^-100, cut off there; beyond 1e15, as 1e15."""
    return int((value if -_LIMIT < value < _LIMIT else copysign(_LIMIT, value)) * _FLOAT_ONE)


@dataclass(slots=True)
class Tally:
    """Sums over the scores of one criterion; two tallies add up to the tally of all their scores.

    Attributes:
        scored: Scores with a value.
        unscored: Scores without one.
        errors: Times the criterion raised.
        total: Sum of the values, in 2^-100.
        squares: Sum of their squares, in 2^-200.
        passes: Outcomes PASS.
        fails: Outcomes FAIL.
        sketch: Counts of the values for quantiles, for latencies; None elsewhere.
    """

    scored: int = 0
    unscored: int = 0
    errors: int = 0
    total: int = 0
    squares: int = 0
    passes: int = 0
    fails: int = 0
    sketch: Bins | None = None

    def add(self, value: float | None, outcome: Outcome | None, with_quantiles: bool = False) -> None:
        """Counts one score."""
        if outcome == "PASS":
            self.passes += 1
        elif outcome == "FAIL":
            self.fails += 1
        if value is None:
            self.unscored += 1
            return
        whole = _whole(value)
        self.scored += 1
        self.total += whole
        self.squares += whole * whole
        if with_quantiles:
            if self.sketch is None:
                self.sketch = {}
            add_value(self.sketch, value)

    def merge(self, other: "Tally", sign: int = 1) -> None:
        """Adds another tally to this one, or takes it back (`sign` -1)."""
        self.scored += sign * other.scored
        self.unscored += sign * other.unscored
        self.errors += sign * other.errors
        self.total += sign * other.total
        self.squares += sign * other.squares
        self.passes += sign * other.passes
        self.fails += sign * other.fails
        if other.sketch is not None:
            bins = {} if self.sketch is None else self.sketch
            add_bins(bins, other.sketch, sign)
            self.sketch = bins or None

    @property
    def is_empty(self) -> bool:
        """Whether it says nothing, because nothing was added or all of it was taken back."""
        counts = self.scored or self.unscored or self.errors or self.passes or self.fails
        return not (counts or self.total or self.squares or self.sketch)

    @property
    def mean(self) -> float | None:
        """Mean of the values; None without any."""
        return self.total / (self.scored * ONE) if self.scored else None

    @property
    def variance(self) -> float | None:
        """Sample variance; None below two values."""
        count = self.scored
        if count < 2:
            return None
        return (count * self.squares - self.total**2) / (count * (count - 1) * ONE**2)

    @property
    def stddev(self) -> float | None:
        """Sample standard deviation; None below two values."""
        variance = self.variance
        return None if variance is None else sqrt(variance)

    def mean_if_unscored(self, value: float) -> float | None:
        """Mean if everything unscored had this value; None if there is nothing at all."""
        count = self.scored + self.unscored
        return (self.total + _whole(value) * self.unscored) / (count * ONE) if count else None

    def quantile(self, share: float) -> float | None:
        """Smallest value that at least `share` of the values do not exceed; None without a sketch."""
        if self.sketch is None:
            return None
        if self.scored == 1:
            return self.total / ONE
        return value_at(self.sketch, max(ceil(share * self.scored), 1) - 1)
