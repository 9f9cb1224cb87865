"""Holds a whole conversation against the expectations of a scenario."""

from collections.abc import Sequence

from schemas.case import EvalCase
from schemas.conversation import Conversation, Expectation, ToolCall
from schemas.score import Outcome
from transforms.arguments import parameter_score
from transforms.expectations import ExpectationOutcome, turn_texts
from transforms.tools import pair_calls


def scenario_outcomes(case: EvalCase, conversation: Conversation) -> list[ExpectationOutcome]:
    """Returns what became of every scenario expectation, in order.

    A tool expectation wants a call with the given parameters anywhere; an agent response wants its text
    inside something the agent said. Calls that nobody expected do not matter.
    """
    made = [call for turn in conversation.turns for call in turn.tool_calls]
    wanted = [e.tool_call for e in case.expectations if e.tool_call is not None]
    partners = iter(pair_calls(wanted, made))
    texts = [text for turn in conversation.turns for text in turn_texts(turn)]
    return [
        _text_outcome(expectation, texts)
        if expectation.tool_call is None
        else _call_outcome(case, expectation, expectation.tool_call, made, next(partners))
        for expectation in case.expectations
    ]


def _call_outcome(
    case: EvalCase, expectation: Expectation, wanted: ToolCall, made: Sequence[ToolCall], partner: int | None
) -> ExpectationOutcome:
    if partner is None:
        return ExpectationOutcome(expectation, "FAIL")
    parameters = parameter_score(wanted.args, made[partner].args)
    outcome: Outcome | None = "FAIL"
    if parameters.value is None:
        outcome = None
    elif parameters.value >= case.thresholds.parameter:
        outcome = "PASS"
    return ExpectationOutcome(expectation, outcome, made[partner], "tool_call", parameters, outcome)


def _text_outcome(expectation: Expectation, texts: Sequence[str]) -> ExpectationOutcome:
    match = next((text for text in texts if (expectation.text or "") in text), None)
    return ExpectationOutcome(
        expectation, "FAIL" if match is None else "PASS", match, None if match is None else "text"
    )
