"""Canonical parts and golden turns as CES messages, in canonical proto3 JSON."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from turnwise.schemas.case import CaseThresholds
from turnwise.schemas.conversation import Expectation, TimedSpan, ToolCall, ToolResponse
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.proto.scalars import float32, nanos_duration, read_timestamp
from turnwise.schemas.score import Outcome, Score
from turnwise.transforms.criteria.base import Criterion
from turnwise.transforms.criteria.ces_conversations import Statement
from turnwise.transforms.criteria.ces_turns import LABELS
from turnwise.transforms.matching.calls import ParameterScore
from turnwise.transforms.matching.expectations import ExpectationOutcome


def tool_reference(name: str | None, resource: str | None) -> JsonObject:
    """Returns the member of the tool_identifier union: `toolsetTool` for a tool of a toolset, else `tool`."""
    if not resource:
        return {"tool": name or ""}
    toolset, _, tool_id = resource.partition("/tools/")
    if "/toolsets/" in toolset:
        return {"toolsetTool": {"toolset": toolset, "toolId": tool_id}}
    return {"tool": resource}


def tool_call(call: ToolCall) -> JsonObject:
    """Returns a ToolCall."""
    message: JsonObject = {"tool": call.name or ""}
    if call.resource:
        message = tool_reference(call.name, call.resource)
    if call.id:
        message["id"] = call.id
    if call.display_name:
        message["displayName"] = call.display_name
    if call.args is not None:
        message["args"] = call.args
    return message


def tool_response(response: ToolResponse) -> JsonObject:
    """Returns a ToolResponse; an answer that is no object stands under `output`."""
    message = tool_reference(response.name, response.resource)
    if response.id:
        message["id"] = response.id
    if response.display_name:
        message["displayName"] = response.display_name
    answer = response.response
    message["response"] = answer if isinstance(answer, dict) else {"output": answer}
    return message


def agent_message(text: str) -> JsonObject:
    """Returns a Message of the agent."""
    return {"role": "agent", "chunks": [{"text": text}]}


def golden_expectation(expectation: Expectation) -> JsonObject:
    """Returns a GoldenExpectation: the one that was read, or one made for a case of another format."""
    if expectation.wire is not None:
        return expectation.wire
    if expectation.tool_call is not None:
        return {"toolCall": tool_call(expectation.tool_call)}
    return {"agentResponse": agent_message(expectation.text or "")}


def scenario_expectation(expectation: Expectation) -> JsonObject:
    """Returns a ScenarioExpectation: the one that was read, or one made for a case of another format."""
    if expectation.wire is not None:
        return expectation.wire
    if expectation.tool_call is not None:
        return {"toolExpectation": {"expectedToolCall": tool_call(expectation.tool_call)}}
    return {"agentResponse": agent_message(expectation.text or "")}


def _transfer(agent: str) -> JsonObject:
    return {"targetAgent": agent}


def _payload(payload: JsonObject) -> JsonObject:
    return payload


_OBSERVED: dict[str, tuple[str, Any]] = {
    "tool_call": ("observedToolCall", tool_call),
    "tool_response": ("observedToolResponse", tool_response),
    "text": ("observedAgentResponse", agent_message),
    "agent": ("observedAgentTransfer", _transfer),
    "payload": ("observedPayload", _payload),
}


def golden_outcome(outcome: ExpectationOutcome) -> JsonObject:
    """Returns a GoldenExpectationOutcome."""
    message: JsonObject = {}
    expectation, parameters = outcome.expectation, outcome.parameters
    if expectation is not None:
        message["expectation"] = golden_expectation(expectation)
    if outcome.observed_as is not None:
        key, convert = _OBSERVED[outcome.observed_as]
        message[key] = convert(outcome.observed)
    if parameters is not None:
        is_called = outcome.observed is not None
        result = _parameter_result(parameters, outcome.parameter_outcome, is_called)
        if is_called and expectation is not None and expectation.wire is None:
            # The order of the keys is that of results written so far.
            message["toolInvocationResult"] = result
    if outcome.outcome:
        message["outcome"] = outcome.outcome
    if parameters is not None:
        message["toolInvocationResult"] = result
    return message


@lru_cache(maxsize=4096)
def _parameter_result(parameters: ParameterScore, outcome: Outcome | None, was_called: bool) -> JsonObject:
    message: JsonObject = {}
    if parameters.value is not None:
        message["parameterCorrectnessScore"] = float32(parameters.value)
    if outcome:
        message["outcome"] = outcome
    message["explanation"] = _explanation(parameters) if was_called else "The tool was not called."
    return message


def _explanation(parameters: ParameterScore) -> str:
    if not parameters.total:
        return "No parameters found."
    text = f"{parameters.matched} of {parameters.total} parameters match"
    if parameters.undecided:
        text += f", {parameters.undecided} need a judge"
    return text + (f"; wrong or missing: {', '.join(parameters.wrong)}." if parameters.wrong else ".")


@lru_cache(maxsize=4096)
def tool_scores(share: float, ordered: float, outcome: Outcome | None) -> JsonObject:
    """Returns the fields of a TurnReplayResult about its tools.

    Args:
        share: Expected tools that were called, 0..1.
        ordered: Those called in the expected order, 0..1.
        outcome: `share` against its gate.
    """
    overall: JsonObject = {"toolInvocationScore": float32(share)}
    if outcome:
        overall["outcome"] = outcome
    return {"toolOrderedInvocationScore": float32(ordered), "overallToolInvocationResult": overall}


def judgement(score: Score) -> JsonObject:
    """Returns a HallucinationResult or UserGoalSatisfactionResult; without a score where none was given."""
    if score.value is None:
        return {"explanation": f"not judged: {score.reason or 'an error'}"}
    return {"score": int(score.value), "label": score.label, **_explained(score)}


def _explained(score: Score) -> JsonObject:
    return {"explanation": score.explanation} if score.explanation else {}


def statement_result(statement: Statement) -> JsonObject:
    """Returns the EvaluationExpectationResult of an evaluation expectation."""
    message: JsonObject = {}
    if statement.expectation != statement.prompt:
        message["evaluationExpectation"] = statement.expectation
    if statement.prompt:
        message["prompt"] = statement.prompt
    if statement.score is not None:
        message["outcome"] = "PASS" if statement.score else "FAIL"
    return message | ({"explanation": statement.reason} if statement.reason else {})


def similarity(score: Score, outcome: Outcome) -> JsonObject:
    """Returns a SemanticSimilarityResult of a score with a value."""
    value = int(score.value or 0)
    return {"score": value, "label": LABELS[value], **_explained(score), "outcome": outcome}


def failed_gate(criterion: Criterion, score: Score) -> JsonObject:
    """Returns the gate of a criterion that a conversation misses as an EvaluationExpectationResult."""
    bound = "at least" if criterion.gate == "at_least" else "at most"
    prompt = f"{criterion.name}: {bound} {criterion.threshold:g}"
    return {"prompt": prompt, "outcome": "FAIL", "explanation": score.explanation or ""}


@lru_cache(maxsize=1024)
def case_thresholds(thresholds: CaseThresholds) -> JsonObject:
    """Returns an EvaluationMetricsThresholds."""
    return {
        "goldenEvaluationMetricsThresholds": {
            "turnLevelMetricsThresholds": {
                "semanticSimilaritySuccessThreshold": thresholds.semantic_similarity,
                "overallToolInvocationCorrectnessThreshold": float32(thresholds.tool_invocation),
            },
            "expectationLevelMetricsThresholds": {
                "toolInvocationParameterCorrectnessThreshold": float32(thresholds.parameter)
            },
            "toolMatchingSettings": {"extraToolCallBehavior": thresholds.extra_tool_calls},
        },
        "goldenHallucinationMetricBehavior": thresholds.golden_hallucination,
        "scenarioHallucinationMetricBehavior": thresholds.scenario_hallucination,
    }


# Timed steps of a turn: latencies as CES messages, and what they add to the sums.


def nanos(seconds: float) -> int:
    """Returns a length of time in nanoseconds, rounded."""
    return round(seconds * 1e9)


def add_spans(message: JsonObject, spans: Sequence[TimedSpan]) -> None:
    """Adds `toolCallLatencies` and `spanLatencies` to a message."""
    calls = [_tool_call_latency(span) for span in spans if span.type == "TOOL"]
    if calls:
        message["toolCallLatencies"] = calls
    message["spanLatencies"] = [_span_latency(span) for span in spans]


def _identifier(span: TimedSpan) -> str:
    return span.resource or span.name or ""


@lru_cache(maxsize=4096)
def _timestamp(text: str) -> str | None:
    """Returns a log's time as a canonical Timestamp, or None if it is none."""
    try:
        return read_timestamp(text)
    except ValueError:
        return None


def _span_times(span: TimedSpan) -> JsonObject:
    """Returns the fields that ToolCallLatency and SpanLatency share."""
    message: JsonObject = {"executionLatency": nanos_duration(nanos(span.seconds))}
    if span.name:
        message["displayName"] = span.name
    for name, text in (("startTime", span.start_time), ("endTime", span.end_time)):
        time = _timestamp(text) if text else None
        if time:
            message[name] = time
    return message


def _tool_call_latency(span: TimedSpan) -> JsonObject:
    return {"tool": _identifier(span), **_span_times(span)}


def _span_latency(span: TimedSpan) -> JsonObject:
    """Returns a SpanLatency; its identifier follows from its type."""
    message = {"type": span.type, **_span_times(span)}
    identifier = _identifier(span)
    if span.type == "LLM":
        message.pop("displayName", None)
        message["model"] = identifier
    elif span.type == "USER_CALLBACK":
        message.pop("displayName", None)
        message["callback"] = identifier
    elif span.type == "TOOL" and "/toolsets/" in identifier:
        toolset, _, tool_id = identifier.partition("/tools/")
        message["toolset"] = {"toolset": toolset, "toolId": tool_id}
    else:
        message["resource"] = identifier
    return message
