"""What of a criterion is compared: pass shares or mean values, and which side is better."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from turnwise.schemas.comparison import ComparedMeasure
from turnwise.transforms.comparison.observed import Observed
from turnwise.transforms.criteria import CRITERIA
from turnwise.transforms.scoring.verdict import STATUS

_SHARES: dict[str | None, float] = {"PASS": 1.0, "FAIL": 0.0}


@dataclass(frozen=True, slots=True)
class CriterionMeasure:
    """What of a criterion is compared.

    Attributes:
        criterion: Its name.
        measure: `pass_rate` where there are outcomes, or all values are 0 or 1; else `mean`.
        scale: Lowest and highest value; None: open, or not known.
        unit: Unit of the values.
        better_is: Which side is better.
        has_outcomes: Whether outcomes say what passes; else values of 1 do.
        threshold: The threshold of all scores; None: there is none, or they differ.
    """

    criterion: str
    measure: ComparedMeasure
    scale: tuple[float, float] | None
    unit: str
    better_is: Literal["more", "less", "neither"]
    has_outcomes: bool
    threshold: float | None = None

    @property
    def span(self) -> float | None:
        """Width of the scale of what is compared; None: it is open."""
        if self.measure == "pass_rate":
            return 1.0
        return None if self.scale is None else self.scale[1] - self.scale[0]

    @property
    def has_more_values(self) -> bool:
        """Whether the values say more than the outcomes."""
        return self.measure == "mean" or (self.has_outcomes and self.criterion != STATUS)

    def applies(self, found: Observed) -> bool:
        """Returns whether a score counts at all; a value outside the scale (CES's -1: no claim) does not."""
        if found.value is None or found.outcome is not None or self.scale is None:
            return True
        return self.scale[0] <= found.value <= self.scale[1]

    def value(self, found: Observed) -> float | None:
        """Returns what is compared of a score; None: undecided."""
        return self.value_of(found.value, found.outcome)

    def value_of(self, value: float | None, outcome: str | None) -> float | None:
        """Returns what is compared of a value and its outcome; None: undecided."""
        if self.measure == "mean" or not self.has_outcomes:
            return value
        return _SHARES.get(outcome)

    def as_mean(self, better_is: Literal["more", "less", "neither"]) -> "CriterionMeasure":
        """Returns the measure of the criterion's values."""
        return CriterionMeasure(self.criterion, "mean", self.scale, self.unit, better_is, False)


def measure_of(criterion: str, found: Sequence[Observed], has_threshold: bool) -> CriterionMeasure:
    """Returns what of a criterion is compared.

    Args:
        criterion: Its name.
        found: What it gave the conversations of both sides, each at least once.
        has_threshold: Whether the config gives it a threshold.
    """
    kind = CRITERIA.get(criterion)
    scale = (0.0, 1.0) if criterion == STATUS else kind.scale if kind else None
    unit = kind.unit if kind else "score"
    has_outcomes = criterion == STATUS or has_threshold or any(own.outcome for own in found)
    is_share = has_outcomes or (unit == "score" and _is_binary(found))
    better = _better(criterion, has_outcomes)
    measure: ComparedMeasure = "pass_rate" if is_share else "mean"
    # A pass is better, whichever side of the threshold it lies on.
    side = "more" if has_outcomes else better
    thresholds = {own.threshold for own in found}
    threshold = thresholds.pop() if len(thresholds) == 1 else None
    return CriterionMeasure(criterion, measure, scale, unit, side, has_outcomes, threshold)


def _better(criterion: str, has_outcomes: bool) -> Literal["more", "less", "neither"]:
    kind = CRITERIA.get(criterion)
    if kind is None:
        return "more" if has_outcomes else "neither"
    return "more" if kind.gate == "at_least" else "less"


def value_direction(criterion: str) -> Literal["more", "less", "neither"]:
    """Returns which values of a criterion are better."""
    return _better(criterion, False)


def _is_binary(found: Sequence[Observed]) -> bool:
    values = {own.value for own in found if own.value is not None}
    return bool(values) and values <= {0.0, 1.0}
