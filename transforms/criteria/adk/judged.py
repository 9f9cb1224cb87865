"""Base class of google-adk's judged criteria."""

from pydantic import StrictBool

from turnwise.schemas.conversation import ExpectedTurn, Turn
from turnwise.transforms.criteria.base import JudgedCriterion


class AdkJudged(JudgedCriterion):
    """A judged criterion of google-adk.

    Attributes:
        include_intermediate_responses_in_final: Judge all messages of the agent in the turn as its answer.
        adk_compat: An unusable reply of the judge abstains, as in google-adk, and is not asked again.
    """

    threshold: float | None = 0.5
    include_intermediate_responses_in_final: bool = False
    adk_compat: StrictBool = False

    def said(self, turn: Turn) -> str:
        """Returns the answer that is judged."""
        return answer_text(turn, self.include_intermediate_responses_in_final)

    def wanted(self, expected: ExpectedTurn) -> str:
        """Returns the expected answer."""
        return expected_text(expected, self.include_intermediate_responses_in_final)


def answer_text(turn: Turn, all_messages: bool) -> str:
    """Returns the agent's final answer, or all its messages in the turn."""
    if all_messages and turn.agent_messages:
        return "\n".join(turn.agent_messages)
    return turn.agent or ""


def expected_text(expected: ExpectedTurn, all_messages: bool) -> str:
    """Returns the expected final answer, or all expected messages of the turn."""
    final = expected.response or ""
    return "\n".join([*expected.intermediate_responses, final]) if all_messages else final
