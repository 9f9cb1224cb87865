"""skipped_rate: how often an answer engine gives a refusal in place of an answer."""

from typing import ClassVar, Literal

from turnwise.schemas.score import Score
from turnwise.transforms.criteria.base import MeasuredCriterion, RestsOn
from turnwise.transforms.matching.sample import Sample, TurnPair


class SkippedRate(MeasuredCriterion):
    """1.0 if an answer was skipped, else 0.0; its mean is the rate. As a gate, a threshold is an upper bound.

    The label is the first reason; all of them are in the details. Unscored where the record has neither a
    text nor a reason, as a session that was read without its answers. `metrics_by_slice` has the share of
    every reason.

    When to use: How often, and why, answers are skipped.
    """

    name: ClassVar[str] = "skipped_rate"
    rests_on: ClassVar[RestsOn] = ()
    gate: ClassVar[Literal["at_least", "at_most"]] = "at_most"

    def score(self, sample: Sample, pair: TurnPair) -> Score | None:
        """Looks for a reason; None if the turn is no engine's answer."""
        turn = pair.actual
        if turn is None or turn.grounded is None:
            return None
        reasons = list(dict.fromkeys(turn.grounded.skipped_reasons))
        if reasons:
            return Score(1.0, label=reasons[0], details={"reasons": reasons})
        return Score(0.0) if turn.agent else Score(None, reason="the record has neither a text nor a reason")
