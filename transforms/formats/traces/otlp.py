"""OTLP/JSON, the collector's files, and Tempo's exports."""

from collections.abc import Iterator

from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.spellings import as_text
from turnwise.transforms.formats.traces.span import SpanEvent, TraceSpan
from turnwise.transforms.formats.traces.values import any_value, as_id, as_nanos, dropped_count, key_values

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
            service = resource_attributes(resource.get("resource"))
            for scoped in _each(resource, _SCOPES):
                scope = next((name for key in _SCOPE if (name := _name(scoped.get(key)))), "")
                for span in _each(scoped, _SPANS):
                    yield _span(span, scope, service)


def resource_attributes(resource: JsonValue) -> JsonObject:
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
        span.events = [span_event(each) for each in events if isinstance(each, dict)]
    if status and isinstance(status, dict):
        span.error, span.message = is_error(status.get("code")), as_text(status.get("message")) or ""
    return span


def is_local(flags: JsonValue) -> bool:
    """Returns whether the flags of a span say that its parent is of the same process."""
    return isinstance(flags, int) and flags & _REMOTE_MASK == _HAS_REMOTE


def is_error(code: JsonValue) -> bool:
    """Returns whether the code of a status says that the span failed."""
    return isinstance(code, str | int) and code in _ERRORS


def span_event(held: JsonObject) -> SpanEvent:
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
