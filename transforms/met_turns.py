"""The result of a turn in which all went as expected, made directly because most turns are such."""

from functools import lru_cache

from schemas.case import EvalCase
from schemas.conversation import ExpectedTurn, ToolCall, Turn
from schemas.values import JsonObject
from transforms import wire
from transforms.replay import tool_threshold


def met_turn(case: EvalCase, expected: ExpectedTurn, actual: Turn) -> JsonObject | None:
    """Returns what checking one by one would give for a turn with exactly the expected calls and one answer.

    Returns:
        The checks' part of a TurnReplayResult; None if the turn is not of that kind, or has CES expectations.
    """
    if case.dialect == "ces" or expected.expectations or actual.payloads:
        return None
    if actual.agent_messages and actual.agent_messages != [actual.agent]:
        return None
    wanted, made = expected.tool_calls or (), actual.tool_calls
    if len(wanted) != len(made) or (expected.response and not actual.agent):
        return None
    outcomes = []
    for want, call in zip(wanted, made, strict=True):
        if want.name != call.name or want.args != call.args or want.resource != call.resource:
            return None
        outcomes.append(_call_outcome(want, call))
    result = _tool_scores(case, expected) if outcomes else {}
    if expected.response:
        outcomes.append(_response_outcome(case, expected.response, actual.agent or ""))
    return {"expectationOutcome": outcomes, **result} if outcomes else {}


def _call_outcome(want: ToolCall, call: ToolCall) -> JsonObject:
    return {
        "expectation": {"toolCall": wire.tool_call(want)},
        "observedToolCall": wire.tool_call(call),
        "outcome": "PASS",
        "toolInvocationResult": _parameters(len(want.args or ())),
    }


@lru_cache(maxsize=256)
def _parameters(count: int) -> JsonObject:
    explanation = f"{count} of {count} parameters match." if count else "No parameters found."
    return {"parameterCorrectnessScore": 1.0, "outcome": "PASS", "explanation": explanation}


def _tool_scores(case: EvalCase, expected: ExpectedTurn) -> JsonObject:
    passed = tool_threshold(case, expected) <= 1.0
    outcome = {"outcome": "PASS" if passed else "FAIL"} if case.tool_correctness_enabled else {}
    return {
        "toolOrderedInvocationScore": 1.0,
        "overallToolInvocationResult": {"toolInvocationScore": 1.0, **outcome},
    }


def _response_outcome(case: EvalCase, response: str, said: str) -> JsonObject:
    outcome: JsonObject = {
        "expectation": {"agentResponse": wire.agent_message(response)},
        "observedAgentResponse": wire.agent_message(said),
    }
    if response == said:
        outcome["outcome"] = "PASS"
    elif not case.similarity_enabled:
        outcome["outcome"] = "SKIPPED"
    return outcome
