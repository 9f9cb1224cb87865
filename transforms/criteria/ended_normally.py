"""ended_normally: end of the conversation."""

from typing import ClassVar

from turnwise.schemas.score import Score
from turnwise.transforms.criteria.base import MeasuredCriterion, RestsOn
from turnwise.transforms.matching.sample import Sample, TurnPair, end_text, end_unclear


class EndedNormally(MeasuredCriterion):
    """1.0 if the conversation ended normally or with a hand-off, else 0.0; the label says how it ended.

    Unscored if the log does not state the end, or if something other than the agent failed.

    When to use: Gate on how the conversation ended, or show it beside other scores.
    """

    name: ClassVar[str] = "ended_normally"
    rests_on: ClassVar[RestsOn] = ()
    needs_answers: ClassVar[bool] = False

    threshold: float | None = 1.0

    def score(self, sample: Sample, pair: TurnPair) -> Score | None:
        """Scores no single turn."""
        return None

    def score_conversation(self, sample: Sample) -> Score:
        """Scores how the conversation ended."""
        conversation = sample.conversation
        ended, text = conversation.ended, end_text(conversation)
        if ended is None or end_unclear(conversation):
            return Score(None, label=ended, reason=text)
        value = float(ended in ("normally", "hand_off"))
        return Score(value, label=ended, explanation=f"{text[0].upper()}{text[1:]}.")
