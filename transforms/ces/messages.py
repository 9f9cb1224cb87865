"""Canonical parts as CES messages, in canonical proto3 JSON."""

from functools import lru_cache

from turnwise.schemas.conversation import Expectation, TimedSpan, ToolCall, ToolResponse
from turnwise.schemas.proto.scalars import float32, nanos_duration, read_timestamp
from turnwise.schemas.score import Outcome
from turnwise.schemas.values import JsonObject
from turnwise.transforms.matching.arguments import ParameterScore


def duration(seconds: float) -> str:
    """Returns a Duration, rounded to a nanosecond."""
    return nanos_duration(round(seconds * 1e9))


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
    message: JsonObject = (
        tool_reference(call.name, call.resource) if call.resource else {"tool": call.name or ""}
    )
    if call.id:
        message["id"] = call.id
    if call.args is not None:
        message["args"] = call.args
    return message


def tool_response(response: ToolResponse) -> JsonObject:
    """Returns a ToolResponse; an answer that is no object stands under `output`."""
    message = tool_reference(response.name, response.resource)
    if response.id:
        message["id"] = response.id
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


@lru_cache(maxsize=4096)
def _timestamp(text: str) -> str | None:
    """Returns a log's time as a canonical Timestamp, or None if it is none."""
    try:
        return read_timestamp(text)
    except ValueError:
        return None


def span_times(span: TimedSpan) -> JsonObject:
    """Returns the fields that ToolCallLatency and SpanLatency share."""
    message: JsonObject = {"executionLatency": duration(span.seconds)}
    if span.name:
        message["displayName"] = span.name
    for name, text in (("startTime", span.start_time), ("endTime", span.end_time)):
        time = _timestamp(text) if text else None
        if time:
            message[name] = time
    return message


def tool_call_latency(span: TimedSpan) -> JsonObject:
    """Returns a ToolCallLatency."""
    return {"tool": span.resource or span.name or "", **span_times(span)}


def span_latency(span: TimedSpan) -> JsonObject:
    """Returns a SpanLatency; its identifier follows from its type."""
    message = {"type": span.type, **span_times(span)}
    identifier = span.resource or span.name or ""
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


@lru_cache(maxsize=4096)
def parameter_result(parameters: ParameterScore, outcome: Outcome | None, was_called: bool) -> JsonObject:
    """Returns a call's ToolInvocationResult."""
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
