"""The verdict of one judge on one question, so that those of several can be compared."""

from typing import Literal

from turnwise.schemas.score import Score
from turnwise.transforms.criteria.base import Criterion
from turnwise.transforms.criteria.returned import check_score

JudgeVerdict = Literal["PASS", "FAIL", "OTHER"]
"""OTHER: a value outside the scale, such as CES's -1 (no claim, unspecified)."""


def verdict_of(criterion: Criterion, score: Score | None) -> JudgeVerdict | None:
    """Decides a score and returns its verdict; None: it has none.

    It is the outcome by the threshold. Without a threshold a value passes from the middle of the scale
    upwards. A value that the criterion names as special is OTHER, whatever its outcome.

    Raises:
        TypeError: The value is no number, or the details hold what JSON cannot.
        ValueError: The value is outside the scale, or the outcome is impossible.
    """
    if score is None:
        return None
    check_score(criterion, score)
    criterion.gated(score)
    value = score.value
    if value is None:
        return "FAIL" if score.outcome == "FAIL" else None
    if value in criterion.special_values:
        return "OTHER"
    if score.outcome == "PASS" or score.outcome == "FAIL":
        return score.outcome
    if criterion.scale is None:
        return None
    is_high = value >= sum(criterion.scale) / 2
    return "PASS" if is_high == (criterion.gate == "at_least") else "FAIL"
