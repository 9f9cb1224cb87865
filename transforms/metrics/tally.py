"""Sums over the scores of one criterion."""

from collections import Counter
from math import ceil, copysign, log, log1p, sqrt
from typing import TypeAlias

from msgspec import Struct

from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.score import Outcome
from turnwise.transforms.criteria.base import JudgedCriterion
from turnwise.transforms.scoring.config import panel_summary, verdict_letters
from turnwise.transforms.scoring.evaluate import CriterionScores
from turnwise.transforms.scoring.selection import PANEL

# Quantiles within 0.1 % of the value, from counts in logarithmic bins that can be added and taken back.
#
# The bins, and the value that stands for each, are those of DDSketch: Masson, Rim and Lee, "DDSketch: a fast
# and fully-mergeable quantile sketch with relative-error guarantees", PVLDB 12(12), 2019.

ACCURACY = 0.001
SMALLEST, LARGEST = 1e-9, 1e9
_GROWTH = (1 + ACCURACY) / (1 - ACCURACY)
_PER_LOG = 1 / log1p(2 * ACCURACY / (1 - ACCURACY))
_SHIFT = ceil(log(LARGEST) * _PER_LOG) + 1

Bins = dict[int, int]
"""Bin -> how many values lie in it. Bins are numbered in the order of their values; 0 holds what is nearer to
0 than `SMALLEST`. Sizes beyond `LARGEST` count as that, so that there are 41,451 bins at most."""


def bin_of(value: float) -> int:
    """Returns the bin of a value."""
    size = abs(value)
    if size < SMALLEST:
        return 0
    place = ceil(log(min(size, LARGEST)) * _PER_LOG) + _SHIFT
    return place if value > 0 else -place


def bin_value(place: int) -> float:
    """Returns the value that stands for a bin: within 0.1 % of every value in it."""
    if not place:
        return 0.0
    size = 2 * _GROWTH ** (abs(place) - _SHIFT) / (1 + _GROWTH)
    return size if place > 0 else -size


def add_value(bins: Bins, value: float) -> None:
    """Counts a value, in place."""
    place = bin_of(value)
    bins[place] = bins.get(place, 0) + 1


def add_bins(bins: Bins, more: Bins, sign: int = 1) -> None:
    """Adds counts, in place, or takes them back (`sign` -1); a bin that falls to nothing goes."""
    for place, count in more.items():
        now = bins.get(place, 0) + sign * count
        if now:
            bins[place] = now
        else:
            bins.pop(place, None)


def rank_of(share: float, count: int) -> int:
    """Returns the 0-based rank of the smallest of some values that a share (0..1) of them does not exceed."""
    return max(ceil(share * count), 1) - 1


def value_at(bins: Bins, rank: int) -> float:
    """Returns the value of a 0-based rank, the smallest being 0; of a rank too high, the largest."""
    place, below = 0, 0
    for place in sorted(bins):
        below += bins[place]
        if below > rank:
            break
    return bin_value(place)


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


# Verdicts of panels of judges as counts, which add up over conversations.

PanelCounts: TypeAlias = dict[tuple[str, bool], Counter[str]]
"""(Criterion, whether of whole conversations) -> letters of the members' verdicts -> number of questions."""


def add_panel(counts: PanelCounts, entry: CriterionScores) -> None:
    """Counts the verdicts of a judged criterion's panel, if it has one, on one conversation, in place."""
    criterion = entry.criterion
    assert isinstance(criterion, JudgedCriterion)
    if not criterion.judge_model_options.panel:
        return
    scores = [(False, score) for _, score in entry.turns]
    for is_whole, score in [*scores, (True, entry.overall)] if entry.overall else scores:
        panel = (score.details or {}).get(PANEL)
        if panel:
            counts.setdefault((criterion.name, is_whole), Counter())[verdict_letters(panel)] += 1


def merge_panels(counts: PanelCounts, more: PanelCounts, sign: int) -> None:
    """Adds counts, in place, or takes them back (`sign` -1); what falls to nothing goes."""
    for key, own in more.items():
        mine = counts.setdefault(key, Counter())
        for letters, number in own.items():
            mine[letters] += sign * number
            if not mine[letters]:
                del mine[letters]
        if not mine:
            del counts[key]


def panel_column(counts: PanelCounts, criterion: str, level: str) -> JsonObject | None:
    """Returns what a row of metrics says of a panel; None: there was none."""
    found = counts.get((criterion, level == "conversation"))
    return panel_summary(found) if found else None
