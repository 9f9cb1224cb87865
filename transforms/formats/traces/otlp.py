"""OTLP/JSON, the collector's files, and Tempo's exports."""

from collections.abc import Iterator

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType
from pydantic_core import from_json

from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.endings import as_text
from turnwise.transforms.formats.messages.parts import first_of
from turnwise.transforms.formats.messages.streams import stated
from turnwise.transforms.formats.traces.containers import dotted, kind_beside, unfolded
from turnwise.transforms.formats.traces.span import (
    SpanEvent,
    TraceSpan,
    any_value,
    as_id,
    as_nanos,
    dropped_count,
    key_values,
    loaded,
    number_value,
)

_RESOURCES = ("resourceSpans", "batches", "resource_spans", "resourceLogs", "resource_logs")
_SCOPES = ("scopeSpans", "instrumentationLibrarySpans", "scope_spans", "scopeLogs", "scope_logs")
_SPANS = ("spans", "logRecords", "log_records")
_SCOPE = ("scope", "instrumentationLibrary")
_WRAPPERS = ("trace", "result", "data")
_HAS_REMOTE, _REMOTE_MASK = 0x100, 0x300
_ERRORS = (2, "2", "STATUS_CODE_ERROR", "ERROR", "Error", "error")


def is_otlp(record: JsonObject) -> bool:
    """Returns whether a record holds resources with their spans or log records."""
    return any(isinstance(record.get(key), list) for key in _RESOURCES) or any(
        isinstance(inner := record.get(key), dict) and any(isinstance(inner.get(k), list) for k in _RESOURCES)
        for key in _WRAPPERS
    )


def otlp_spans(record: JsonObject) -> Iterator[TraceSpan]:
    """Yields the spans of an export; of log records, one each for the span that they name."""
    holders = (record, *(record.get(key) for key in _WRAPPERS))
    for holder in (each for each in holders if isinstance(each, dict)):
        for resource in _each(holder, _RESOURCES):
            service = _resource_attributes(resource.get("resource"))
            for scoped in _each(resource, _SCOPES):
                scope = next((name for key in _SCOPE if (name := _name(scoped.get(key)))), "")
                for span in _each(scoped, _SPANS):
                    yield _span(span, scope, service)


def _resource_attributes(resource: JsonValue) -> JsonObject:
    """Returns the attributes of a resource."""
    return key_values(resource.get("attributes")) if isinstance(resource, dict) else {}


def _each(holder: JsonObject, keys: tuple[str, ...]) -> Iterator[JsonObject]:
    for key in keys:
        found = holder.get(key)
        if isinstance(found, list):
            yield from (each for each in found if isinstance(each, dict))


def _name(scope: JsonValue) -> str:
    name = scope.get("name") if isinstance(scope, dict) else None
    return name if isinstance(name, str) else ""


def _span(held: JsonObject, scope: str, service: JsonObject) -> TraceSpan:
    get = held.get
    trace, own = as_id(get("traceId") or get("trace_id")), as_id(get("spanId") or get("span_id"))
    if "startTimeUnixNano" not in held and "start_time_unix_nano" not in held:
        return _log(held, trace, own, scope, service)
    span = TraceSpan(
        trace,
        own,
        as_id(get("parentSpanId") or get("parent_span_id")),
        as_text(get("name")) or "",
        as_nanos(get("startTimeUnixNano") or get("start_time_unix_nano")),
        as_nanos(get("endTimeUnixNano") or get("end_time_unix_nano")),
        key_values(get("attributes")),
        scope=scope,
        resource=service,
        dropped=dropped_count(held),
        is_local=is_local(get("flags")),
    )
    events, status = get("events"), get("status")
    if events and isinstance(events, list):
        span.events = [_span_event(each) for each in events if isinstance(each, dict)]
    if status and isinstance(status, dict):
        span.error, span.message = _is_error(status.get("code")), as_text(status.get("message")) or ""
    return span


def is_local(flags: JsonValue) -> bool:
    """Returns whether the flags of a span say that its parent is of the same process."""
    return isinstance(flags, int) and flags & _REMOTE_MASK == _HAS_REMOTE


def _is_error(code: JsonValue) -> bool:
    """Returns whether the code of a status says that the span failed."""
    return isinstance(code, str | int) and code in _ERRORS


def _span_event(held: JsonObject) -> SpanEvent:
    """Returns an event of a span."""
    time = as_nanos(held.get("timeUnixNano") or held.get("time_unix_nano"))
    return SpanEvent(as_text(held.get("name")) or "", time, key_values(held.get("attributes")))


def _log(held: JsonObject, trace: str, own: str, scope: str, service: JsonObject) -> TraceSpan:
    attributes = key_values(held.get("attributes"))
    stated = held.get("eventName") or held.get("event_name") or attributes.get("event.name")
    time = as_nanos(held.get("timeUnixNano") or held.get("observedTimeUnixNano"))
    event = SpanEvent(as_text(stated) or "", time, attributes, any_value(held.get("body")))
    span = TraceSpan(trace, own, "", "", time, time, {}, [event], scope=scope, resource=service, is_log=True)
    span.dropped = dropped_count(held)
    return span


_START = b'{"resourceSpans":'


class _Value(Struct, rename="camel", forbid_unknown_fields=True, gc=False):
    string_value: str | UnsetType | None = UNSET
    int_value: str | int | UnsetType = UNSET
    double_value: int | float | str | UnsetType = UNSET
    bool_value: bool | UnsetType = UNSET
    array_value: Raw | UnsetType = UNSET
    kvlist_value: Raw | UnsetType = UNSET


class _Attribute(Struct, forbid_unknown_fields=True, gc=False):
    key: str
    value: _Value


class _SpanStatus(Struct, forbid_unknown_fields=True, gc=False):
    code: str | int = 0
    message: str = ""


class _Span(Struct, rename="camel", forbid_unknown_fields=True, gc=False):
    trace_id: str
    span_id: str
    start_time_unix_nano: str | int
    end_time_unix_nano: str | int = 0
    parent_span_id: str = ""
    name: str = ""
    attributes: list[_Attribute] = []
    events: list[Raw] = []
    status: _SpanStatus | None = None
    kind: str | int = 0
    flags: int = 0
    trace_state: str = ""
    links: list[JsonValue] = []
    dropped_attributes_count: int = 0
    dropped_events_count: int = 0
    dropped_links_count: int = 0


class _Scope(Struct, frozen=True):
    name: str = ""


class _ScopeSpans(Struct, rename="camel", forbid_unknown_fields=True):
    spans: list[_Span]
    scope: _Scope = _Scope()
    schema_url: str = ""


class _ResourceSpans(Struct, rename="camel", forbid_unknown_fields=True):
    scope_spans: list[_ScopeSpans]
    resource: JsonObject = {}
    schema_url: str = ""


class _Export(Struct, rename="camel", forbid_unknown_fields=True):
    resource_spans: list[_ResourceSpans]


_DECODE = msgspec.json.Decoder(_Export).decode


def otlp_text_spans(data: bytes) -> list[TraceSpan] | None:
    """Returns the spans of an export's text as `otlp_spans` does; None: it has to be parsed in general."""
    if not data.startswith(_START):
        return None
    try:
        return _spans(_DECODE(data))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def _spans(export: _Export) -> list[TraceSpan]:
    found: list[TraceSpan] = []
    for resource in export.resource_spans:
        service = _resource_attributes(resource.resource)
        for scoped in resource.scope_spans:
            found += [_span_otlp_text(span, scoped.scope.name, service) for span in scoped.spans]
    return found


def _span_otlp_text(held: _Span, scope: str, service: JsonObject) -> TraceSpan:
    span = TraceSpan(
        as_id(held.trace_id),
        as_id(held.span_id),
        as_id(held.parent_span_id),
        held.name,
        as_nanos(held.start_time_unix_nano),
        as_nanos(held.end_time_unix_nano),
        {each.key: _value(each.value) for each in held.attributes},
        scope=scope,
        resource=service,
        dropped=held.dropped_attributes_count + held.dropped_events_count,
        is_local=is_local(held.flags),
    )
    if held.events:
        events = map(_parsed, held.events)
        span.events = [_span_event(each) for each in events if isinstance(each, dict)]
    if held.status is not None:
        span.error, span.message = _is_error(held.status.code), held.status.message
    return span


def _value(held: _Value) -> JsonValue:
    if held.string_value is not UNSET:
        return held.string_value
    number = held.int_value
    if number is not UNSET and held == _Value(int_value=number):
        return number_value(number)
    named = ((name, getattr(held, field)) for field, name in _NAMES)
    return any_value({name: _parsed(item) for name, item in named if item is not UNSET})


_NAMES = tuple(zip(_Value.__struct_fields__, _Value.__struct_encode_fields__, strict=True))


def _parsed(value: JsonValue) -> JsonValue:
    return from_json(bytes(value)) if isinstance(value, Raw) else value


_TRACE, _ID = ("trace_id", "traceId", "traceID", "TraceId"), ("span_id", "spanId", "spanID", "id", "SpanId")
_PARENTS = ("parent_span_id", "parentSpanId", "parent_id", "parentId", "ParentSpanId")
_STARTS = ("start_time", "startTime", "start_time_unix_nano", "startTimeUnixNano", "Timestamp",
           "start_time_ns")  # fmt: skip
_ENDS = ("end_time", "endTime", "end_time_unix_nano", "endTimeUnixNano", "end_time_ns")
_ATTRIBUTES = ("attributes", "SpanAttributes", "span_attributes", "tags")
_EVENTS, _EVENT_NAMES = ("span_events", "events", "logs", "Events"), ("event_name", "name", "eventName")
_EVENT_TIMES = ("timestamp", "time", "timeUnixNano", "time_unix_nano")
_FLAT_SCOPES = ("scope", "instrumentationScope", "instrumentationLibrary", "instrumentation_scope")
_FLAT_RESOURCES = ("resource", "ResourceAttributes", "resource_attributes")
_FLAT_NAMES = ("name", "SpanName", "span_name", "operationName")
_STATUSES = ("status", "StatusCode", "status_code")
_MESSAGES = ("description", "message", "StatusMessage", "status_message")
_CONTEXTS = ("context", "spanContext", "span_context")
_FLAT_ERRORS = ("ERROR", "STATUS_CODE_ERROR", "STATUSCODE.ERROR")


def is_span(record: JsonObject) -> bool:
    """Returns whether a record is one span."""
    record = unfolded(record)
    holder = _context(record)
    has_ids = first_of(holder, _TRACE) is not None and first_of(holder, _ID) is not None
    attributes = loaded(first_of(record, _ATTRIBUTES))
    has_content = isinstance(attributes, dict | list) or first_of(record, _EVENTS) is not None
    return has_ids and has_content and first_of(record, (*_STARTS, *_FLAT_NAMES, *_EVENTS)) is not None


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
            span = _flat_span(each)
            if shared and "session.id" not in span.attributes:
                span.attributes = {**span.attributes, "session.id": shared}
            yield span


def _session(info: JsonValue) -> str | None:
    """Returns the session that the head of an MLflow trace names."""
    held = first_of(info, ("trace_metadata", "request_metadata")) if isinstance(info, dict) else None
    name = held.get("mlflow.trace.session") if isinstance(held, dict) else None
    return name if isinstance(name, str) else None


def _flat_span(held: JsonObject) -> TraceSpan:
    """Returns one span."""
    held = unfolded(held)
    context = _context(held)
    status = loaded(first_of(held, _STATUSES))
    code = first_of(status, ("code", "status_code")) if isinstance(status, dict) else status
    said = first_of(status, _MESSAGES) if isinstance(status, dict) else first_of(held, _MESSAGES[2:])
    scope, resource = first_of(held, _FLAT_SCOPES), loaded(first_of(held, _FLAT_RESOURCES))
    parent = first_of(held, _PARENTS) or held.get("parentSpanContext")
    parent = first_of(parent, _ID) if isinstance(parent, dict) else parent
    start, length = as_nanos(first_of(held, _STARTS)), held.get("Duration")  # of ClickHouse, in nanoseconds
    events = loaded(first_of(held, _EVENTS))
    attributes = loaded(first_of(held, _ATTRIBUTES))
    inner = stated(resource).get("attributes", resource) if isinstance(resource, dict) else {}
    return TraceSpan(
        trace=as_id(first_of(context, _TRACE)),
        id=as_id(first_of(context, _ID)),
        parent=as_id(parent),
        name=as_text(first_of(held, _FLAT_NAMES)) or "",
        start=start,
        end=as_nanos(first_of(held, _ENDS))
        or (start + length if start and isinstance(length, int) and length >= 0 else 0),
        attributes={**kind_beside(held), **dotted(attributes)},
        events=[_event(each) for each in events if isinstance(each, dict)]
        if isinstance(events, list)
        else [],
        error=code == 2 or str(code).upper() in _FLAT_ERRORS,
        message=said if isinstance(said, str) else "",
        scope=as_text(scope.get("name")) or ""
        if isinstance(scope, dict)
        else as_text(held.get("ScopeName")) or "",
        resource=key_values(inner),
        dropped=dropped_count(held),
    )


def _context(held: JsonObject) -> JsonObject:
    inner = first_of(held, _CONTEXTS)
    return inner if isinstance(inner, dict) and first_of(held, _TRACE) is None else held


def _event(held: JsonObject) -> SpanEvent:
    attributes = key_values(loaded(held.get("attributes")))
    name = as_text(first_of(held, _EVENT_NAMES)) or as_text(attributes.get("event.name")) or ""
    return SpanEvent(name, as_nanos(first_of(held, _EVENT_TIMES)), attributes, held.get("body"))
