"""Compares a whole conversation with the expectations of a scenario."""

from collections.abc import Sequence

from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import Conversation, Expectation, ToolCall, ToolResponse
from turnwise.transforms.matching.arguments import parameter_outcome, parameter_score
from turnwise.transforms.matching.calls import pair_calls
from turnwise.transforms.matching.expectations import ExpectationOutcome, turn_texts
from turnwise.transforms.matching.responses import pair_responses


def scenario_outcomes(case: EvalCase, conversation: Conversation) -> list[ExpectationOutcome]:
    """Returns what became of every scenario expectation, in order.

    A tool expectation is met by a call with the given parameters anywhere. An agent response is met by its
    text inside a message of the agent; in other words it is left undecided. Unexpected calls do not count.
    """
    made = [call for turn in conversation.turns for call in turn.tool_calls]
    wanted = [e.tool_call for e in case.expectations if e.tool_call is not None]
    partners = iter(pair_calls(wanted, made))
    texts = [text for turn in conversation.turns for text in turn_texts(turn)]
    outcomes = [
        _text_outcome(expectation, texts)
        if expectation.tool_call is None
        else _call_outcome(case, expectation, expectation.tool_call, made, next(partners))
        for expectation in case.expectations
    ]
    for outcome in outcomes:
        _leave_open(outcome, conversation)
    return outcomes


def _leave_open(outcome: ExpectationOutcome, conversation: Conversation) -> None:
    """Leaves undecided what calls or words that the log does not show could still meet."""
    is_call = outcome.expectation is not None and outcome.expectation.tool_call is not None
    turns = conversation.turns
    if outcome.outcome == "FAIL" and any(t.unknown_calls if is_call else t.unknown_words for t in turns):
        outcome.outcome = outcome.parameter_outcome = None


def _call_outcome(
    case: EvalCase, expectation: Expectation, wanted: ToolCall, made: Sequence[ToolCall], partner: int | None
) -> ExpectationOutcome:
    if partner is None:
        return ExpectationOutcome(expectation, "FAIL")
    parameters = parameter_score(wanted.args, made[partner].args)
    outcome = parameter_outcome(parameters, case.thresholds.parameter)
    return ExpectationOutcome(expectation, outcome, made[partner], "tool_call", parameters, outcome)


def _text_outcome(expectation: Expectation, texts: Sequence[str]) -> ExpectationOutcome:
    match = next((text for text in texts if (expectation.text or "") in text), None)
    if match is None:
        return ExpectationOutcome(expectation, None if texts else "FAIL")
    return ExpectationOutcome(expectation, "PASS", match, "text")


def responses_by_call(conversation: Conversation) -> dict[int, ToolResponse]:
    """Returns the response of every call that has one, by the `id()` of the call."""
    return {
        id(call): response
        for turn in conversation.turns
        for call, response in zip(
            turn.tool_calls, pair_responses(turn.tool_calls, turn.tool_responses), strict=True
        )
        if response is not None
    }
