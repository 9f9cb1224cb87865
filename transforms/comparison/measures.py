"""What of a criterion is compared: pass shares or mean values, and which side is better."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from msgspec import Struct

from turnwise.schemas.comparison import ComparedMeasure
from turnwise.transforms.comparison.criterion_column import CriterionColumn, are_binary
from turnwise.transforms.comparison.runs import Bools
from turnwise.transforms.criteria.base import CRITERIA
from turnwise.transforms.scoring.evaluate import STATUS
from turnwise.transforms.statistics.resampling import Numbers

_SHARES: dict[str | None, float] = {"PASS": 1.0, "FAIL": 0.0}


class CriterionMeasure(Struct, frozen=True):
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

    @property
    def is_of_values(self) -> bool:
        """Whether values are compared; else outcomes are."""
        return self.measure == "mean" or not self.has_outcomes

    def value_of(self, value: float | None, outcome: str | None) -> float | None:
        """Returns what is compared of one score; None: it is undecided, or a value outside the scale."""
        if not self.is_of_values:
            return _SHARES.get(outcome)
        scale = (0.0, 1.0) if self.measure == "pass_rate" else self.scale
        return value if value is None or scale is None or scale[0] <= value <= scale[1] else None

    def applies(self, found: CriterionColumn) -> Bools:
        """Returns which scores count at all.

        A value outside the scale (CES's -1: no claim) does not. Where outcomes are compared, one that only
        informs does not either.
        """
        always = found.where(lambda kind: kind.outcome is not None or not kind.has_value)
        if self.is_of_values:
            return always | found.is_within(self.scale)
        return always | (found.where(lambda kind: kind.threshold is not None) & found.is_within(self.scale))

    def values_of(self, found: CriterionColumn) -> Numbers:
        """Returns what is compared of every score; NaN: undecided."""
        if self.is_of_values:
            return np.where(found.has_value, found.values, np.nan)
        outcomes = (None if kind is None else kind.outcome for kind in found.kinds.values)
        shares = [_SHARES.get(outcome, np.nan) for outcome in outcomes]
        return np.asarray(shares, np.float64)[found.kinds.places]

    def as_mean(self, better_is: Literal["more", "less", "neither"]) -> "CriterionMeasure":
        """Returns the measure of the criterion's values."""
        return CriterionMeasure(self.criterion, "mean", self.scale, self.unit, better_is, False)


def measure_of(criterion: str, found: Sequence[CriterionColumn], has_threshold: bool) -> CriterionMeasure:
    """Returns what of a criterion is compared.

    Args:
        criterion: Its name.
        found: What it gave the conversations of both sides.
        has_threshold: Whether the config gives it a threshold.
    """
    kind = CRITERIA.get(criterion)
    scale = (0.0, 1.0) if criterion == STATUS else kind.scale if kind else None
    unit = kind.unit if kind else "score"
    kinds = {kind for own in found for kind in own.kinds.used() if kind is not None}
    # A criterion may only inform in all conversations although the config gives it a threshold.
    has_values = [kind for kind in kinds if kind.has_value]
    only_informs = bool(has_values) and all(kind.threshold is None for kind in has_values)
    has_outcomes = (
        criterion == STATUS or any(kind.outcome for kind in kinds) or (has_threshold and not only_informs)
    )
    is_share = has_outcomes or (unit == "score" and _is_binary(found))
    better = _better(criterion, has_outcomes)
    measure: ComparedMeasure = "pass_rate" if is_share else "mean"
    # A pass is better, whichever side of the threshold it lies on.
    side = "more" if has_outcomes else better
    thresholds = {kind.threshold for kind in kinds}
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


def _is_binary(found: Sequence[CriterionColumn]) -> bool:
    values = np.concatenate([own.values[own.has_value] for own in found])
    return bool(len(values)) and are_binary(values)
