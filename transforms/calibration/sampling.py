"""Whether labels are of a random sample of all scores, and of which."""

from collections.abc import Sequence

from msgspec import Struct

from turnwise.schemas.calibration import LabelDraw
from turnwise.transforms.calibration.scores import JudgedScore
from turnwise.transforms.decisions.calibration.labels import LabelledScore, last_number

FEWEST_CASES = 30
"""Labelled cases that a correction needs: with fewer, intervals hold the truth in less than 94 %."""
FEWEST_EFFECTIVE = 20
"""The same of labels with unequal weights: how many with equal weights have to tell as much."""


class NoCorrectionError(ValueError):
    """Nothing can be corrected; the message is why, in one line."""


class RandomPart(Struct, frozen=True):
    """The scores that were drawn.

    Attributes:
        labels: Score -> what people say of it.
        missing: Drawn scores without a usable label.
        weights: Score -> sampling weight; None: all the same.
    """

    labels: dict[JudgedScore, float]
    missing: list[JudgedScore]
    weights: dict[JudgedScore, float] | None


def random_part(group: Sequence[LabelledScore], scores: Sequence[JudgedScore]) -> RandomPart:
    """Returns the random sample that labels are of.

    Args:
        group: The labelled scores of a criterion at a level.
        scores: All of its scores at that level.

    Raises:
        NoCorrectionError: There is none, or it is not whole.
    """
    drawn = [one for one in group if one.is_random]
    if not drawn:
        raise NoCorrectionError(
            "the labels are hand-picked; only labels of a random sample speak for all conversations"
        )
    last = last_number(drawn)
    draws = {one.draw for one in drawn if one.draw is not None}
    if len(draws) > 1:
        raise NoCorrectionError(f"the labels are of {len(draws)} random samples; give those of one")
    weights = {one.score: one.weight for one in drawn if one.weight is not None}
    if weights and len(weights) < len(drawn):
        raise NoCorrectionError(f"{len(drawn) - len(weights)} of {len(drawn)} labels have no sampling weight")
    if last is not None and all(one.number is not None for one in drawn):
        drawn = [one for one in drawn if (one.number or 0) <= last]
    else:
        last = None
    left_out = _check_draw(next(iter(draws)), drawn, scores, last) if draws else []
    missing = [one.score for one in drawn if not one.answers] + left_out
    labels = {one.score: one.mean for one in drawn if one.answers}
    return RandomPart(labels, missing, weights or None)


def _check_draw(
    draw: LabelDraw, drawn: Sequence[LabelledScore], scores: Sequence[JudgedScore], last: int | None
) -> list[JudgedScore]:
    """Returns drawn scores that have no line; raises NoCorrectionError if the sample is not of the run."""
    units = {_unit(draw, score) for score in scores}
    what = f"{draw.unit}s"
    if draw.of != len(units):
        raise NoCorrectionError(
            f"the sample was drawn from {draw.of} {what}, but the run has {len(units)} with this criterion"
        )
    wanted = draw.size if last is None else min(last, draw.size)
    seen = {_unit(draw, one.score) for one in drawn}
    if len(seen) != wanted:
        raise NoCorrectionError(
            f"the sample has {wanted} {what}, but the file has lines of {len(seen)} that fit the run; every "
            "drawn score needs a line, with the label null where it has none"
        )
    known = {one.score for one in drawn}
    return [score for score in scores if _unit(draw, score) in seen and score not in known]


def _unit(draw: LabelDraw, score: JudgedScore) -> object:
    return score if draw.unit == "score" else (score.conversation_id, score.app_version, score.case)
