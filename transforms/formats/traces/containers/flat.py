"""Spans as SDKs dump them: one object a span, in an array, one a line, or in a list of spans."""

from collections.abc import Iterator
from hashlib import blake2b

from turnwise.schemas.jsonio import dump_json
from turnwise.schemas.values import JsonObject, JsonValue
from turnwise.transforms.formats.spellings import as_text
from turnwise.transforms.formats.traces.message_parts import first_of
from turnwise.transforms.formats.traces.span import SpanEvent, TraceSpan
from turnwise.transforms.formats.traces.values import as_id, as_nanos, key_values, loaded, of_service

_TRACE, _ID = ("trace_id", "traceId", "traceID", "TraceId"), ("span_id", "spanId", "spanID", "id", "SpanId")
_PARENTS = ("parent_span_id", "parentSpanId", "parent_id", "parentId", "ParentSpanId")
_STARTS = (
    "start_time",
    "startTime",
    "start_time_unix_nano",
    "startTimeUnixNano",
    "Timestamp",
    "start_time_ns",
)
_ENDS = ("end_time", "endTime", "end_time_unix_nano", "endTimeUnixNano", "end_time_ns")
_ATTRIBUTES = ("attributes", "SpanAttributes", "span_attributes", "tags")
_EVENTS, _EVENT_NAMES = ("span_events", "events", "logs", "Events"), ("event_name", "name", "eventName")
_EVENT_TIMES = ("timestamp", "time", "timeUnixNano", "time_unix_nano")
_SCOPES = (
    "scope",
    "instrumentationScope",
    "instrumentationLibrary",
    "instrumentation_scope",
    "instrumentation_info",
)
_RESOURCES = ("resource", "ResourceAttributes", "resource_attributes")
_NAMES = ("name", "SpanName", "span_name", "operationName")
_STATUSES = ("status", "StatusCode", "status_code")
_MESSAGES = ("description", "message", "StatusMessage", "status_message")
_CONTEXTS = ("context", "spanContext", "span_context")
_NESTED = ("gen_ai", "llm", "openinference", "session", "gcp", "input", "output", "tool", "ai", "traceloop")
_OWN_KEYS = ("gen_ai.", "llm.", "openinference.", "ai.operationId", "traceloop.")
_ERRORS = ("ERROR", "STATUS_CODE_ERROR", "STATUSCODE.ERROR")


def is_span(record: JsonObject) -> bool:
    """Returns whether a record is one span."""
    holder = _context(record)
    has_ids = first_of(holder, _TRACE) is not None and first_of(holder, _ID) is not None
    return has_ids and (
        isinstance(first_of(record, _ATTRIBUTES), dict | list) or first_of(record, _EVENTS) is not None
    ) and first_of(record, (*_STARTS, *_NAMES, *_EVENTS)) is not None  # fmt: skip


def is_attributes(record: JsonObject) -> bool:
    """Returns whether a record is nothing but the attributes of one span."""
    return any(key.startswith(_OWN_KEYS) for key in record) and "trace_id" not in record


def attribute_spans(record: JsonObject) -> Iterator[TraceSpan]:
    """Yields the span that a record of attributes stands for; its content is its id."""
    digest = blake2b(dump_json(record), digest_size=16).hexdigest()
    yield TraceSpan(digest, digest[:16], attributes=record)


def is_span_list(record: JsonObject) -> bool:
    """Returns whether a record lists spans beside what they share."""
    spans = record.get("spans")
    return isinstance(spans, list) and any(isinstance(each, dict) and is_span(each) for each in spans)


def flat_spans(record: JsonObject) -> Iterator[TraceSpan]:
    """Yields the spans of a record, which is one span or a list of them."""
    shared = as_text(first_of(record, ("session_id", "sessionId")))
    for each in record["spans"] if is_span_list(record) else [record]:
        if isinstance(each, dict):
            span = flat_span(each)
            if shared and "session.id" not in span.attributes:
                span.attributes = {**span.attributes, "session.id": shared}
            yield span


def flat_span(held: JsonObject) -> TraceSpan:
    """Returns one span."""
    context = _context(held)
    status = first_of(held, _STATUSES)
    code = first_of(status, ("code", "status_code")) if isinstance(status, dict) else status
    said = first_of(status, _MESSAGES) if isinstance(status, dict) else first_of(held, _MESSAGES[2:])
    scope, resource = first_of(held, _SCOPES), first_of(held, _RESOURCES)
    parent = first_of(held, _PARENTS) or held.get("parentSpanContext")
    parent = first_of(parent, _ID) if isinstance(parent, dict) else parent
    start = as_nanos(first_of(held, _STARTS))
    events = loaded(first_of(held, _EVENTS))
    attributes = loaded(first_of(held, _ATTRIBUTES))
    inner = resource.get("attributes", resource) if isinstance(resource, dict) else {}
    return TraceSpan(
        trace=as_id(first_of(context, _TRACE)),
        id=as_id(first_of(context, _ID)),
        parent=as_id(parent),
        name=as_text(first_of(held, _NAMES)) or "",
        start=start,
        end=as_nanos(first_of(held, _ENDS)) or _with_length(start, held.get("Duration")),
        attributes=_flat(attributes),
        events=[_event(each) for each in events if isinstance(each, dict)]
        if isinstance(events, list)
        else [],
        error=code == 2 or str(code).upper() in _ERRORS,
        message=said if isinstance(said, str) else "",
        scope=as_text(scope.get("name")) or ""
        if isinstance(scope, dict)
        else as_text(held.get("ScopeName")) or "",
        resource=of_service(key_values(inner)),
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


def _flat(attributes: JsonValue) -> JsonObject:
    """Returns attributes with dotted keys, of which exports of tables nest some."""
    held = key_values(attributes)
    if not any(isinstance(value, dict) for value in held.values()):
        return held
    found: JsonObject = {}
    for key, value in held.items():
        is_nested = isinstance(value, dict) and key in _NESTED
        found |= dict(_leaves(key, value, 0)) if is_nested else {key: value}
    return found


def _leaves(path: str, value: JsonValue, depth: int) -> Iterator[tuple[str, JsonValue]]:
    if isinstance(value, dict) and value and depth < 12:
        for key, item in value.items():
            yield from _leaves(f"{path}.{key}", item, depth + 1)
    elif (
        isinstance(value, list)
        and value
        and isinstance(value[0], dict)
        and "message" in value[0]
        and depth < 12
    ):
        for place, item in enumerate(value):
            yield from _leaves(f"{path}.{place}", item, depth + 1)
    else:
        yield path, value
