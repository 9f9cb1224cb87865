"""Spans as SDKs dump them: one object a span, in an array, one a line, or in a list of spans."""

from collections.abc import Iterator

from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.messages.values import stated
from turnwise.transforms.formats.spellings import as_text
from turnwise.transforms.formats.traces.containers.columns import dotted, kind_beside, unfolded
from turnwise.transforms.formats.traces.message_parts import first_of
from turnwise.transforms.formats.traces.span import SpanEvent, TraceSpan
from turnwise.transforms.formats.traces.values import as_id, as_nanos, dropped_count, key_values, loaded

_TRACE, _ID = ("trace_id", "traceId", "traceID", "TraceId"), ("span_id", "spanId", "spanID", "id", "SpanId")
_PARENTS = ("parent_span_id", "parentSpanId", "parent_id", "parentId", "ParentSpanId")
_STARTS = ("start_time", "startTime", "start_time_unix_nano", "startTimeUnixNano", "Timestamp",
           "start_time_ns")  # fmt: skip
_ENDS = ("end_time", "endTime", "end_time_unix_nano", "endTimeUnixNano", "end_time_ns")
_ATTRIBUTES = ("attributes", "SpanAttributes", "span_attributes", "tags")
_EVENTS, _EVENT_NAMES = ("span_events", "events", "logs", "Events"), ("event_name", "name", "eventName")
_EVENT_TIMES = ("timestamp", "time", "timeUnixNano", "time_unix_nano")
_SCOPES = ("scope", "instrumentationScope", "instrumentationLibrary", "instrumentation_scope")
_RESOURCES = ("resource", "ResourceAttributes", "resource_attributes")
_NAMES = ("name", "SpanName", "span_name", "operationName")
_STATUSES = ("status", "StatusCode", "status_code")
_MESSAGES = ("description", "message", "StatusMessage", "status_message")
_CONTEXTS = ("context", "spanContext", "span_context")
_ERRORS = ("ERROR", "STATUS_CODE_ERROR", "STATUSCODE.ERROR")


def is_span(record: JsonObject) -> bool:
    """Returns whether a record is one span."""
    record = unfolded(record)
    holder = _context(record)
    has_ids = first_of(holder, _TRACE) is not None and first_of(holder, _ID) is not None
    attributes = loaded(first_of(record, _ATTRIBUTES))
    has_content = isinstance(attributes, dict | list) or first_of(record, _EVENTS) is not None
    return has_ids and has_content and first_of(record, (*_STARTS, *_NAMES, *_EVENTS)) is not None


def is_span_list(record: JsonObject) -> bool:
    """Returns whether a record lists spans beside what they share."""
    return any(isinstance(each, dict) and is_span(each) for each in _listed(record))


def _listed(record: JsonObject) -> list[JsonValue]:
    """Returns the listed spans, which MLflow's traces hold under `data`."""
    data = record.get("data")
    spans = data.get("spans") if isinstance(data, dict) else record.get("spans")
    return spans if isinstance(spans, list) else []


def flat_spans(record: JsonObject) -> Iterator[TraceSpan]:
    """Yields the spans of a record, which is one span or a list of them."""
    shared = as_text(first_of(record, ("session_id", "sessionId"))) or _session(record.get("info"))
    for each in _listed(record) if is_span_list(record) else [record]:
        if isinstance(each, dict):
            span = flat_span(each)
            if shared and "session.id" not in span.attributes:
                span.attributes = {**span.attributes, "session.id": shared}
            yield span


def _session(info: JsonValue) -> str | None:
    """Returns the session that the head of an MLflow trace names."""
    held = first_of(info, ("trace_metadata", "request_metadata")) if isinstance(info, dict) else None
    name = held.get("mlflow.trace.session") if isinstance(held, dict) else None
    return name if isinstance(name, str) else None


def flat_span(held: JsonObject) -> TraceSpan:
    """Returns one span."""
    held = unfolded(held)
    context = _context(held)
    status = loaded(first_of(held, _STATUSES))
    code = first_of(status, ("code", "status_code")) if isinstance(status, dict) else status
    said = first_of(status, _MESSAGES) if isinstance(status, dict) else first_of(held, _MESSAGES[2:])
    scope, resource = first_of(held, _SCOPES), loaded(first_of(held, _RESOURCES))
    parent = first_of(held, _PARENTS) or held.get("parentSpanContext")
    parent = first_of(parent, _ID) if isinstance(parent, dict) else parent
    start = as_nanos(first_of(held, _STARTS))
    events = loaded(first_of(held, _EVENTS))
    attributes = loaded(first_of(held, _ATTRIBUTES))
    inner = stated(resource).get("attributes", resource) if isinstance(resource, dict) else {}
    return TraceSpan(
        trace=as_id(first_of(context, _TRACE)),
        id=as_id(first_of(context, _ID)),
        parent=as_id(parent),
        name=as_text(first_of(held, _NAMES)) or "",
        start=start,
        end=as_nanos(first_of(held, _ENDS)) or _with_length(start, held.get("Duration")),
        attributes={**kind_beside(held), **dotted(attributes)},
        events=[_event(each) for each in events if isinstance(each, dict)]
        if isinstance(events, list)
        else [],
        error=code == 2 or str(code).upper() in _ERRORS,
        message=said if isinstance(said, str) else "",
        scope=as_text(scope.get("name")) or ""
        if isinstance(scope, dict)
        else as_text(held.get("ScopeName")) or "",
        resource=key_values(inner),
        dropped=dropped_count(held),
    )


def _with_length(start: int, length: JsonValue) -> int:
    """Returns the end by ClickHouse's duration in nanoseconds."""
    return start + length if start and isinstance(length, int) and length >= 0 else 0


def _context(held: JsonObject) -> JsonObject:
    inner = first_of(held, _CONTEXTS)
    return inner if isinstance(inner, dict) and first_of(held, _TRACE) is None else held


def _event(held: JsonObject) -> SpanEvent:
    attributes = key_values(loaded(held.get("attributes")))
    name = as_text(first_of(held, _EVENT_NAMES)) or as_text(attributes.get("event.name")) or ""
    return SpanEvent(name, as_nanos(first_of(held, _EVENT_TIMES)), attributes, held.get("body"))
