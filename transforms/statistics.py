"""Additive statistics: what the metrics are sums of."""

from dataclasses import dataclass
from math import ceil, sqrt
from typing import NamedTuple

from ddsketch import DDSketch

from schemas.score import Outcome

_Z95 = 1.959963984540054
SKETCH_ACCURACY = 0.001


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


@dataclass(slots=True)
class Tally:
    """Sums over the scores of one criterion; two tallies add up to the tally of all their scores.

    Attributes:
        scored: Scores with a value.
        unscored: Scores without one.
        errors: Times the criterion raised.
        total: Sum of the values.
        squares: Sum of their squares.
        passes: Outcomes PASS.
        fails: Outcomes FAIL.
        sketch: Quantiles of the values within 0.1 % (DDSketch), for latencies; None elsewhere.
    """

    scored: int = 0
    unscored: int = 0
    errors: int = 0
    total: float = 0.0
    squares: float = 0.0
    passes: int = 0
    fails: int = 0
    sketch: DDSketch | None = None

    def add(self, value: float | None, outcome: Outcome | None, with_quantiles: bool = False) -> None:
        """Counts one score."""
        if outcome == "PASS":
            self.passes += 1
        elif outcome == "FAIL":
            self.fails += 1
        if value is None:
            self.unscored += 1
            return
        self.scored += 1
        self.total += value
        self.squares += value * value
        if with_quantiles:
            self.sketch = self.sketch or DDSketch(SKETCH_ACCURACY)
            self.sketch.add(value)

    def merge(self, other: "Tally") -> None:
        """Adds another tally to this one."""
        for name in ("scored", "unscored", "errors", "total", "squares", "passes", "fails"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        if other.sketch is not None:
            self.sketch = self.sketch or DDSketch(SKETCH_ACCURACY)
            self.sketch.merge(other.sketch)

    @property
    def mean(self) -> float | None:
        """Mean of the values; None without any."""
        return self.total / self.scored if self.scored else None

    @property
    def stddev(self) -> float | None:
        """Sample standard deviation; None below two values."""
        if self.scored < 2:
            return None
        return sqrt(max(0.0, (self.squares - self.total**2 / self.scored) / (self.scored - 1)))

    def mean_if_unscored(self, value: float) -> float | None:
        """Mean if everything unscored had this value; None if there is nothing at all."""
        count = self.scored + self.unscored
        return (self.total + value * self.unscored) / count if count else None

    def quantile(self, share: float) -> float | None:
        """Smallest value that at least `share` of the values do not exceed; None without a sketch."""
        if self.sketch is None:
            return None
        if self.scored == 1:
            return self.total
        rank = max(ceil(share * self.scored), 1) - 1
        return self.sketch.get_quantile_value(min(1.0, (rank + 0.25) / (self.scored - 1)))
