"""Sums over the scores of one criterion."""

from math import copysign, sqrt

from msgspec import Struct

from turnwise.schemas.score import Outcome
from turnwise.transforms.metrics.quantiles import Bins, add_bins, add_value, rank_of, value_at

_LIMIT = 1e15
_FLOAT_ONE = 2.0**100
ONE = 1 << 100
"""Values are summed as whole numbers of 2^-100: such sums are exact in any order, and can be taken back."""


def _whole(value: float) -> int:
    """Returns a value as a number of 2^-100, cut off there; beyond 1e15, as 1e15."""
    return int((value if -_LIMIT < value < _LIMIT else copysign(_LIMIT, value)) * _FLOAT_ONE)


class Tally(Struct):
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
        voted: Verdicts of a judge with two votes or more.
        flipped: Those of them whose votes are not all the same.
    """

    scored: int = 0
    unscored: int = 0
    errors: int = 0
    total: int = 0
    squares: int = 0
    passes: int = 0
    fails: int = 0
    sketch: Bins | None = None
    voted: int = 0
    flipped: int = 0

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
        self.voted += sign * other.voted
        self.flipped += sign * other.flipped

    @property
    def is_empty(self) -> bool:
        """Whether it is empty, because nothing was added or everything was subtracted."""
        counts = self.scored or self.unscored or self.errors or self.passes or self.fails or self.voted
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
        return value_at(self.sketch, rank_of(share, self.scored))
