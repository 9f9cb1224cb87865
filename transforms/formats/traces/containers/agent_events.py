"""Rows of the table that google-adk's BigQuery plugin writes."""

from collections.abc import Iterator

from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.spellings import as_text
from turnwise.transforms.formats.traces.span import TraceSpan
from turnwise.transforms.formats.traces.values import as_id, as_nanos, as_number, loaded

PREFIX = "adk_events."
_ENDS = ("_COMPLETED", "_RESPONSE", "_ERROR")
_OF_TRACE = ("USER_MESSAGE_RECEIVED",)


def is_agent_event(record: JsonObject) -> bool:
    """Returns whether a record is a row of the table."""
    return "event_type" in record and bool(record.keys() & {"invocation_id", "session_id"})


def agent_event_spans(record: JsonObject) -> Iterator[TraceSpan]:
    """Yields the span that a row tells of; several rows tell of one."""
    kind = as_text(record.get("event_type")) or ""
    time = as_nanos(record.get("timestamp"))
    latency = loaded(record.get("latency_ms"))
    total = as_number(latency.get("total_ms") if isinstance(latency, dict) else latency)
    is_end = kind.endswith(_ENDS)
    length = round(total * 1e6) if is_end and total is not None and 0 <= total < 1e12 else 0
    invocation, session = as_id(record.get("invocation_id")), as_id(record.get("session_id"))
    message: JsonValue = record.get("error_message")
    yield TraceSpan(
        trace=invocation or as_id(record.get("trace_id")) or session,
        id=_id(record, kind, invocation or session),
        parent="" if kind.startswith("INVOCATION_") else as_id(record.get("parent_span_id")) or invocation,
        name=kind,
        start=max(time - length, 0),
        end=time if is_end else 0,
        attributes={
            f"{PREFIX}{kind}": {
                "content": loaded(record.get("content")),
                "parts": loaded(record.get("content_parts")),
                "attributes": loaded(record.get("attributes")),
                "agent": record.get("agent"),
                "is_truncated": is_truncated(record.get("is_truncated")),
                "has_latency": total is not None,
            },
            "session.id": record.get("session_id"),
        },
        error=record.get("status") == "ERROR" or kind.endswith("_ERROR"),
        message=message if isinstance(message, str) else "",
        dropped=int(is_truncated(record.get("is_truncated"))),
    )


def is_truncated(value: JsonValue) -> bool:
    """Returns whether a row says that its content was truncated."""
    return value in (True, 1) or (isinstance(value, str) and value.lower() == "true")


def _id(record: JsonObject, kind: str, group: str) -> str:
    """Returns the id of the span: one for an invocation, those of the rows for model and tool calls."""
    if kind.startswith("INVOCATION_") or kind in _OF_TRACE:
        return group
    own = (
        as_id(record.get("span_id"))
        or as_id(record.get("event_id"))
        or as_text(record.get("timestamp"))
        or kind
    )
    return f"{kind.partition('_')[0]}:{own}"
