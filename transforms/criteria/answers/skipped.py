"""skipped_rate: share of refusals of the answer engine."""

from typing import ClassVar, Literal

from turnwise.schemas.score import CriterionHarm, Score
from turnwise.transforms.criteria.base import MeasuredCriterion, RestsOn
from turnwise.transforms.matching.sample import Sample, TurnPair


class SkippedRate(MeasuredCriterion):
    """1.0 if an answer was skipped, else 0.0; its mean is the rate. As a gate, a threshold is an upper bound.

    The label is the first reason; the details hold all reasons. Unscored if the record has neither a text nor
    a reason, such as a session without its answers. `metrics_by_slice` has the share of every reason.

    When to use: Measure how often, and why, answers are skipped.
    """

    name: ClassVar[str] = "skipped_rate"
    needs: ClassVar[str] = "answers of a search engine"
    harm: ClassVar[CriterionHarm] = "text"
    rests_on: ClassVar[RestsOn] = ()
    gate: ClassVar[Literal["at_least", "at_most"]] = "at_most"

    def score(self, sample: Sample, pair: TurnPair) -> Score | None:
        """Returns 1.0 if there is a reason; None if the turn holds no engine's answer."""
        turn = pair.actual
        if turn is None or turn.grounded is None:
            return None
        reasons = list(dict.fromkeys(turn.grounded.skipped_reasons))
        if reasons:
            return Score(1.0, label=reasons[0], details={"reasons": reasons})
        return Score(0.0) if turn.agent else Score(None, reason="the record has neither a text nor a reason")
