"""OTLP/JSON, the collector's files, and Tempo's exports."""

from collections.abc import Iterator

from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.endings import as_text
from turnwise.transforms.formats.messages.streams import as_object, first_of, objects_in, stated
from turnwise.transforms.formats.traces.containers import dotted, unfolded
from turnwise.transforms.formats.traces.span import (
    SpanEvent,
    TraceSpan,
    any_value,
    as_id,
    as_nanos,
    dropped_count,
    key_values,
    loaded,
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
    for holder in (held for held in holders if isinstance(held, dict)):
        for resource in _objects_at(holder, _RESOURCES):
            held = resource.get("resource")
            service = key_values(held.get("attributes")) if isinstance(held, dict) else {}
            for scoped in _objects_at(resource, _SCOPES):
                scopes = (as_object(scoped.get(key)).get("name") for key in _SCOPE)
                scope = next((name for name in scopes if name and isinstance(name, str)), "")
                for span in _objects_at(scoped, _SPANS):
                    yield _span(span, scope, service)


def _objects_at(holder: JsonObject, keys: tuple[str, ...]) -> Iterator[JsonObject]:
    for key in keys:
        yield from objects_in(holder.get(key))


def _span(held: JsonObject, scope: str, service: JsonObject) -> TraceSpan:
    get = held.get
    trace, span_id = as_id(get("traceId") or get("trace_id")), as_id(get("spanId") or get("span_id"))
    if "startTimeUnixNano" not in held and "start_time_unix_nano" not in held:
        return _log(held, trace, span_id, scope, service)
    span = TraceSpan(
        trace,
        span_id,
        as_id(get("parentSpanId") or get("parent_span_id")),
        as_text(get("name")) or "",
        as_nanos(get("startTimeUnixNano") or get("start_time_unix_nano")),
        as_nanos(get("endTimeUnixNano") or get("end_time_unix_nano")),
        key_values(get("attributes")),
        scope=scope,
        resource=service,
        dropped=dropped_count(held),
    )
    events, status, flags = get("events"), get("status"), get("flags")
    # The flags may say that the parent is of the same process.
    span.is_local = isinstance(flags, int) and flags & _REMOTE_MASK == _HAS_REMOTE
    if events:
        span.events = list(map(_event, objects_in(events)))
    if status and isinstance(status, dict):
        code = status.get("code")
        span.error = isinstance(code, str | int) and code in _ERRORS
        span.message = as_text(status.get("message")) or ""
    return span


def _log(held: JsonObject, trace: str, span_id: str, scope: str, service: JsonObject) -> TraceSpan:
    attributes = key_values(held.get("attributes"))
    stated = held.get("eventName") or held.get("event_name") or attributes.get("event.name")
    time = as_nanos(held.get("timeUnixNano") or held.get("observedTimeUnixNano"))
    event = SpanEvent(as_text(stated) or "", time, attributes, any_value(held.get("body")))
    span = TraceSpan(
        trace, span_id, "", "", time, time, {}, [event], scope=scope, resource=service, is_log=True
    )
    span.dropped = dropped_count(held)
    return span


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
_KIND = "openinference.span.kind"
_KINDS = ("LLM", "TOOL", "AGENT", "CHAIN", "RETRIEVER", "EMBEDDING", "GUARDRAIL")


def is_span(record: JsonObject) -> bool:
    """Returns whether a record is one span."""
    record = unfolded(record)
    holder = _context(record)
    has_ids = first_of(holder, _TRACE) is not None and first_of(holder, _ID) is not None
    attributes = loaded(first_of(record, _ATTRIBUTES))
    has_content = isinstance(attributes, dict | list) or first_of(record, _EVENTS) is not None
    is_named = first_of(record, (*_STARTS, *_FLAT_NAMES, *_EVENTS)) is not None
    return has_ids and ((has_content and is_named) or _is_log(record))


def _is_log(record: JsonObject) -> bool:
    """Returns whether a record is a log record that stands alone, as CloudWatch keeps them beside spans."""
    return "body" in record and bool(record.keys() & {"timeUnixNano", "observedTimeUnixNano"})


def is_span_list(record: JsonObject) -> bool:
    """Returns whether a record lists spans beside what they share."""
    return any(map(is_span, objects_in(_listed(record))))


def _listed(record: JsonObject) -> JsonValue:
    """Returns the listed spans, which MLflow's traces hold under `data`."""
    data = record.get("data")
    return data.get("spans") if isinstance(data, dict) else record.get("spans")


def flat_spans(record: JsonObject) -> Iterator[TraceSpan]:
    """Yields the spans of a record, which is one span or a list of them."""
    shared = as_text(first_of(record, ("session_id", "sessionId")))
    # The head of an MLflow trace names session, user, version and case; its tags may, too.
    info = as_object(record.get("info"))
    head = {
        **key_values(info.get("tags")),
        **key_values(first_of(info, ("trace_metadata", "request_metadata"))),
    }
    shared = shared or as_text(head.get("mlflow.trace.session"))
    named: JsonObject = {"session.id": shared} if shared else {}
    for held in objects_in(_listed(record)) if is_span_list(record) else [record]:
        span = _flat_span(held)
        span.attributes = {**named, **({"metadata": head} if head else {}), **span.attributes}
        yield span
        head = {}


def _flat_span(held: JsonObject) -> TraceSpan:
    held = unfolded(held)
    context = _context(held)
    if _is_log(held):
        resource = as_object(held.get("resource"))
        names = as_id(first_of(context, _TRACE)), as_id(first_of(context, _ID))
        scope = as_text(as_object(held.get("scope")).get("name")) or ""
        return _log(held, *names, scope, key_values(resource.get("attributes")))
    status = loaded(first_of(held, _STATUSES))
    code = first_of(status, ("code", "status_code")) if isinstance(status, dict) else status
    status_message = (
        first_of(status, _MESSAGES) if isinstance(status, dict) else first_of(held, _MESSAGES[2:])
    )
    scope, resource = first_of(held, _FLAT_SCOPES), loaded(first_of(held, _FLAT_RESOURCES))
    parent = first_of(held, _PARENTS) or held.get("parentSpanContext")
    parent = first_of(parent, _ID) if isinstance(parent, dict) else parent
    start, length = as_nanos(first_of(held, _STARTS)), held.get("Duration")  # of ClickHouse, in nanoseconds
    events = loaded(first_of(held, _EVENTS))
    attributes = loaded(first_of(held, _ATTRIBUTES))
    inner = stated(resource).get("attributes", resource) if isinstance(resource, dict) else {}
    kind = held.get("span_kind")
    return TraceSpan(
        trace=as_id(first_of(context, _TRACE)),
        id=as_id(first_of(context, _ID)),
        parent=as_id(parent),
        name=as_text(first_of(held, _FLAT_NAMES)) or "",
        start=start,
        end=as_nanos(first_of(held, _ENDS))
        or (start + length if start and isinstance(length, int) and length >= 0 else 0),
        # Phoenix states the kind beside the attributes.
        attributes={**({_KIND: kind} if kind in _KINDS else {}), **dotted(attributes)},
        events=list(map(_event, objects_in(events))),
        error=code == 2 or str(code).upper() in _FLAT_ERRORS,
        message=status_message if isinstance(status_message, str) else "",
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
