"""recorded_reward: the rating that the log itself gives a conversation."""

from typing import ClassVar

from turnwise.schemas.jsonio import short_repr
from turnwise.schemas.score import Score
from turnwise.transforms.criteria.base import MeasuredCriterion, RestsOn
from turnwise.transforms.matching.sample import Sample, TurnPair

_LABEL = "reward"


class RecordedReward(MeasuredCriterion):
    """The reward in the log (`labels.reward`, or `reward` of a record of messages), 0 to 1.

    Does not apply to a conversation without a reward; unscored if there is a threshold. Unscored if the
    reward is no number from 0 to 1.

    When to use: Compare versions by the reward of a simulator or test bench, or by a user's rating.
    """

    name: ClassVar[str] = "recorded_reward"
    needs: ClassVar[str] = "a reward in the log"
    rests_on: ClassVar[RestsOn] = ()
    needs_answers: ClassVar[bool] = False
    applies_always: ClassVar[bool] = True

    def score(self, sample: Sample, pair: TurnPair) -> Score | None:
        """Scores no single turn."""
        return None

    def score_conversation(self, sample: Sample) -> Score | None:
        """Returns the reward as it stands in the log."""
        reward = (sample.conversation.labels or {}).get(_LABEL)
        if reward is None:
            return None
        if not isinstance(reward, int | float) or not 0 <= reward <= 1:
            return Score(None, reason=f"the reward of the log is no number from 0 to 1: {short_repr(reward)}")
        return Score(float(reward))
