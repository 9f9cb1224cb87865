"""expectations_met: the expectations of a case that can be checked without a judge."""

from typing import ClassVar

from schemas.score import Score
from transforms.conversation_case import ConversationCase, TurnPair
from transforms.criteria.base import Criterion
from transforms.expectations import ExpectationOutcome

_ELSEWHERE = ("tool_call", "mock_tool_response")


class ExpectationsMet(Criterion):
    """Share of a CES case's checkable expectations that were met, 0..1.

    Of a golden turn: agent transfers, updated variables, tool responses, `noToolCalls`, and agent responses
    compared by EQUALS or CONTAINS. Of a scenario: its expected tool calls and agent responses, anywhere in
    the conversation. A comparison of meaning is not counted.
    """

    name: ClassVar[str] = "expectations_met"

    threshold: float | None = 1.0

    def score(self, case: ConversationCase, pair: TurnPair) -> Score | None:
        """Checks a golden turn; None if it has nothing to check."""
        if pair.expected is None or not pair.expected.expectations:
            return None
        return _share([o for o in case.replay(pair).outcomes if _is_checked(o)], pair.label)

    def score_conversation(self, case: ConversationCase) -> Score | None:
        """Checks a scenario's expectations; None if it has none."""
        return _share(case.scenario_outcomes, None) if case.scenario_outcomes else None


def _is_checked(outcome: ExpectationOutcome) -> bool:
    expectation = outcome.expectation
    if expectation is None or outcome.outcome == "SKIPPED" or expectation.kind in _ELSEWHERE:
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
