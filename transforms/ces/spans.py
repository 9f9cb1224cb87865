"""Timed steps of a turn: latencies as CES messages, and what they add to the sums."""

from collections.abc import Sequence
from functools import lru_cache

from turnwise.schemas.conversation import TimedSpan
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.proto.scalars import nanos_duration, read_timestamp
from turnwise.transforms.metrics.state import SumPart


def nanos(seconds: float) -> int:
    """Returns a length of time in nanoseconds, rounded."""
    return round(seconds * 1e9)


def add_spans(message: JsonObject, spans: Sequence[TimedSpan]) -> None:
    """Adds `toolCallLatencies` and `spanLatencies` to a message."""
    calls = [_tool_call_latency(span) for span in spans if span.type == "TOOL"]
    if calls:
        message["toolCallLatencies"] = calls
    message["spanLatencies"] = [_span_latency(span) for span in spans]


def latency_parts(turn: int | None, spans: Sequence[TimedSpan]) -> list[SumPart]:
    """Returns what the tool calls among timed steps add to the sums.

    Args:
        turn: Index of their turn; None: they are of a whole scenario.
        spans: The steps.
    """
    tools = (span for span in spans if span.type == "TOOL")
    return [((turn, "tool_latency", _identifier(span)), 1, nanos(span.seconds)) for span in tools]


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
