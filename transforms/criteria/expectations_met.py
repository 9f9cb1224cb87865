"""expectations_met: the expectations of a case that can be checked without a judge."""

from typing import ClassVar

from schemas.conversation import Expectation
from schemas.score import Score
from transforms.conversation_case import ConversationCase, TurnPair
from transforms.criteria.base import MeasuredCriterion
from transforms.expectations import ExpectationOutcome, turn_texts

_CHECKED_ELSEWHERE = ("tool_call", "mock_tool_response")


class ExpectationsMet(MeasuredCriterion):
    """Share of a CES case's checkable expectations that were met, 0..1.

    Of a golden turn: agent transfers, updated variables, tool responses, `noToolCalls`, and agent responses
    compared by EQUALS or CONTAINS. Of a scenario: its expected tool calls and agent responses, anywhere in
    the conversation. Of any case: the texts (`outputs`) that must have been said by the end. A comparison of
    meaning is not counted.
    """

    name: ClassVar[str] = "expectations_met"

    threshold: float | None = 1.0

    def score(self, case: ConversationCase, pair: TurnPair) -> Score | None:
        """Checks a golden turn; None if it has nothing to check."""
        if pair.expected is None or not pair.expected.expectations:
            return None
        return _share([o for o in case.replay(pair).outcomes if _is_checked(o)], pair.label)

    def score_conversation(self, case: ConversationCase) -> Score | None:
        """Checks a scenario's expectations and the texts that must have been said; None if there are none."""
        return _share([*case.scenario_outcomes, *_outputs_said(case)], None)


def _outputs_said(case: ConversationCase) -> list[ExpectationOutcome]:
    """Looks for a case's outputs in everything the agent said, without regard to letter case."""
    said = "\n".join(text for turn in case.conversation.turns for text in turn_texts(turn)).casefold()
    wanted = case.case.outputs if case.case else []
    return [
        ExpectationOutcome(
            Expectation("agent_response", text=text), "PASS" if text.casefold() in said else "FAIL"
        )
        for text in wanted
    ]


def _is_checked(outcome: ExpectationOutcome) -> bool:
    expectation = outcome.expectation
    if expectation is None or outcome.outcome == "SKIPPED" or expectation.kind in _CHECKED_ELSEWHERE:
        return False
    return expectation.kind != "agent_response" or expectation.comparison != "SEMANTIC_SIMILARITY"


def _share(outcomes: list[ExpectationOutcome], label: str | None) -> Score | None:
    if not outcomes:
        return None
    undecided = sum(outcome.outcome is None for outcome in outcomes)
    checks = [{"kind": o.expectation.kind, "outcome": o.outcome} for o in outcomes if o.expectation]
    if undecided:
        return Score(
            None,
            reason=f"{undecided} of {len(outcomes)} expectations need a judge",
            details={"checks": checks},
        )
    met = sum(outcome.outcome == "PASS" for outcome in outcomes)
    return Score(met / len(outcomes), label=label, details={"checks": checks})
