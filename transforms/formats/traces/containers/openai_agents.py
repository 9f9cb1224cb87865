"""The trace export of the OpenAI Agents SDK."""

from collections.abc import Iterator

from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.spellings import as_text
from turnwise.transforms.formats.traces.span import TraceSpan
from turnwise.transforms.formats.traces.values import as_id, as_nanos

_OBJECTS = ("trace", "trace.span")


def is_agents_trace(record: JsonObject) -> bool:
    """Returns whether a record is a trace, a span, or a batch of them."""
    data = record.get("data")
    spans = data if isinstance(data, list) else [record]
    return any(isinstance(each, dict) and each.get("object") in _OBJECTS for each in spans)


def agents_spans(record: JsonObject) -> Iterator[TraceSpan]:
    """Yields the spans of a batch; a trace lends its session and metadata to them."""
    data = record.get("data")
    for each in data if isinstance(data, list) else [record]:
        if isinstance(each, dict) and each.get("object") == "trace":
            yield _trace(each)
        elif isinstance(each, dict) and each.get("object") == "trace.span":
            yield _span(each)


def _trace(held: JsonObject) -> TraceSpan:
    stated = {"session.id": held.get("group_id"), "metadata": held.get("metadata")}
    attributes = {key: item for key, item in stated.items() if item}
    name = as_text(held.get("workflow_name")) or ""
    return TraceSpan(as_id(held.get("id")), "trace", "", name, attributes=attributes, is_log=True)


def _span(held: JsonObject) -> TraceSpan:
    data: JsonValue = held.get("span_data")
    data = data if isinstance(data, dict) else {}
    error = held.get("error")
    said = error.get("message") if isinstance(error, dict) else None
    return TraceSpan(
        trace=as_id(held.get("trace_id")),
        id=as_id(held.get("id")),
        parent=as_id(held.get("parent_id")),
        name=as_text(data.get("name")) or as_text(data.get("type")) or "",
        start=as_nanos(held.get("started_at")),
        end=as_nanos(held.get("ended_at")),
        attributes={f"openai_agents.{key}": item for key, item in data.items() if item is not None},
        error=error is not None,
        message=said if isinstance(said, str) else "",
    )
