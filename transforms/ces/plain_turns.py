"""The result of a turn that expects only calls and one answer, made directly because most turns are such."""

from functools import lru_cache

from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import ExpectedTurn, ToolCall, Turn
from turnwise.schemas.proto.scalars import float32
from turnwise.schemas.score import Outcome
from turnwise.schemas.values import JsonObject
from turnwise.transforms.ces import messages as wire
from turnwise.transforms.matching.arguments import (
    ParameterScore,
    parameter_outcome,
    parameter_score,
    same_value,
)
from turnwise.transforms.matching.calls import ordered_share, pair_calls
from turnwise.transforms.matching.replay import tool_outcome


def plain_turn(case: EvalCase, expected: ExpectedTurn, actual: Turn) -> JsonObject | None:
    """Returns what checking one by one would give for a turn of a case that is not CES's.

    Returns:
        The checks' part of a TurnReplayResult; None if the turn has CES expectations, payloads, several
        messages or gaps in the log, so that it must be checked one by one.
    """
    if case.dialect == "ces" or expected.expectations or actual.payloads:
        return None
    if actual.unknown_calls or actual.unknown_words:
        return None
    if actual.agent_messages and not (actual.agent and actual.agent_messages == [actual.agent]):
        return None
    wanted, made = expected.tool_calls or [], actual.tool_calls
    is_met = len(wanted) == len(made) and all(map(_is_met, wanted, made))
    partners = [*range(len(wanted))] if is_met else pair_calls(wanted, made)
    outcomes = [
        _missed_call(case, want) if j is None else _call_outcome(case, want, made[j], is_met)
        for want, j in zip(wanted, partners, strict=True)
    ]
    if expected.response:
        outcomes.append(_response_outcome(case, expected.response, actual.agent))
    if len(made) > len(partners) or None in partners:
        extra = (call for j, call in enumerate(made) if j not in partners)
        outcomes += [{"observedToolCall": wire.tool_call(call), "outcome": "SKIPPED"} for call in extra]
    result: JsonObject = {"expectationOutcome": outcomes} if outcomes else {}
    if wanted:
        share = (len(partners) - partners.count(None)) / len(partners)
        ordered = 1.0 if is_met else ordered_share(wanted, made)
        _add_tool_scores(result, share, ordered, tool_outcome(case, expected, share))
    return result


def _is_met(want: ToolCall, call: ToolCall) -> bool:
    is_same_tool = want.name == call.name and want.resource == call.resource
    return is_same_tool and same_value(want.args or {}, call.args or {})


def _call_outcome(case: EvalCase, want: ToolCall, call: ToolCall, is_met: bool) -> JsonObject:
    if is_met or same_value(want.args or {}, call.args or {}):
        gate, parameters = _met_parameters(len(want.args or ()), case.thresholds.parameter)
    else:
        score = parameter_score(want.args, call.args)
        gate = parameter_outcome(score, case.thresholds.parameter)
        parameters = wire.parameter_result(score, gate, True)
    outcome: JsonObject = {
        "expectation": {"toolCall": wire.tool_call(want)},
        "observedToolCall": wire.tool_call(call),
        "toolInvocationResult": parameters,
    }
    made = gate if case.step_tool_correctness_enabled else "PASS"
    if made:
        outcome["outcome"] = made
    return outcome


@lru_cache(maxsize=1024)
def _met_parameters(count: int, threshold: float) -> tuple[Outcome | None, JsonObject]:
    score = ParameterScore(count, count)
    gate = parameter_outcome(score, threshold)
    return gate, wire.parameter_result(score, gate, True)


def _missed_call(case: EvalCase, want: ToolCall) -> JsonObject:
    counts = case.tool_correctness_enabled or case.step_tool_correctness_enabled
    outcome: Outcome = "FAIL" if counts else "SKIPPED"
    missed = ParameterScore(0, max(1, len(want.args or ())))
    return {
        "expectation": {"toolCall": wire.tool_call(want)},
        "outcome": outcome,
        "toolInvocationResult": wire.parameter_result(missed, outcome, False),
    }


def _add_tool_scores(result: JsonObject, share: float, ordered: float, outcome: Outcome | None) -> None:
    result["toolOrderedInvocationScore"] = float32(ordered)
    overall: JsonObject = {"toolInvocationScore": float32(share)}
    if outcome:
        overall["outcome"] = outcome
    result["overallToolInvocationResult"] = overall


def _response_outcome(case: EvalCase, response: str, said: str | None) -> JsonObject:
    outcome: JsonObject = {"expectation": {"agentResponse": wire.agent_message(response)}}
    if said:
        outcome["observedAgentResponse"] = wire.agent_message(said)
    if response == said:
        outcome["outcome"] = "PASS"
    elif not case.similarity_enabled:
        outcome["outcome"] = "SKIPPED"
    elif not said:
        outcome["outcome"] = "FAIL"
    return outcome
