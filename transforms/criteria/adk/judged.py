"""Base class of google-adk's judged criteria."""

from turnwise.schemas.conversation import ExpectedTurn, Turn
from turnwise.transforms.criteria.base import JudgedCriterion


class AdkJudged(JudgedCriterion):
    """A judged criterion of google-adk.

    Attributes:
        include_intermediate_responses_in_final: Judge all messages of the agent in the turn as its answer.
    """

    threshold: float | None = 0.5
    include_intermediate_responses_in_final: bool = False

    def said(self, turn: Turn) -> str:
        """Returns the answer that is judged."""
        if self.include_intermediate_responses_in_final and turn.agent_messages:
            return "\n".join(turn.agent_messages)
        return turn.agent or ""

    def wanted(self, expected: ExpectedTurn) -> str:
        """Returns the expected answer."""
        final = expected.response or ""
        if not self.include_intermediate_responses_in_final:
            return final
        return "\n".join([*expected.intermediate_responses, final])
