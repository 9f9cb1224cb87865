"""Jaeger's query API."""

from collections.abc import Iterator

from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.spellings import as_text
from turnwise.transforms.formats.traces.span import SpanEvent, TraceSpan
from turnwise.transforms.formats.traces.values import as_id, as_number, dropped_count

_MICRO = 1_000


def is_jaeger(record: JsonObject) -> bool:
    """Returns whether a record is an answer of the query API, or one trace of it."""
    data = record.get("data")
    traces = data if isinstance(data, list) else [record]
    return any(isinstance(each, dict) and each.keys() >= {"spans", "traceID"} for each in traces)


def jaeger_spans(record: JsonObject) -> Iterator[TraceSpan]:
    """Yields the spans of all traces."""
    data = record.get("data")
    for trace in data if isinstance(data, list) else [record]:
        processes = trace.get("processes") if isinstance(trace, dict) else None
        spans = trace.get("spans") if isinstance(trace, dict) else None
        for span in spans if isinstance(spans, list) else ():
            if isinstance(span, dict):
                yield _span(span, trace, processes if isinstance(processes, dict) else {})


def _span(held: JsonObject, trace: JsonObject, processes: JsonObject) -> TraceSpan:
    attributes = _tags(held.get("tags"))
    start = _nanos(held.get("startTime"))
    logs = held.get("logs")
    status = attributes.get("otel.status_code")
    return TraceSpan(
        trace=as_id(held.get("traceID") or trace.get("traceID")),
        id=as_id(held.get("spanID")),
        parent=_parent(held),
        name=as_text(held.get("operationName")) or "",
        start=start,
        end=start + _nanos(held.get("duration")),
        attributes=attributes,
        events=[_event(each) for each in logs if isinstance(each, dict)] if isinstance(logs, list) else [],
        error=status == "ERROR" or attributes.get("error") in (True, "true"),
        message=as_text(attributes.get("otel.status_description")) or "",
        scope=as_text(attributes.get("otel.scope.name")) or "",
        resource=_service(held, processes),
        dropped=dropped_count(attributes),
    )


def _service(held: JsonObject, processes: JsonObject) -> JsonObject:
    own = held.get("processID")
    process = (processes.get(own) if isinstance(own, str) else None) or held.get("process")
    if not isinstance(process, dict):
        return {}
    return {**_tags(process.get("tags")), "service.name": process.get("serviceName")}


def _parent(held: JsonObject) -> str:
    references = held.get("references")
    for each in references if isinstance(references, list) else ():
        if isinstance(each, dict) and each.get("refType") in (None, "CHILD_OF"):
            return as_id(each.get("spanID"))
    return as_id(held.get("parentSpanID"))


def _event(log: JsonObject) -> SpanEvent:
    fields = _tags(log.get("fields"))
    return SpanEvent(as_text(fields.get("event")) or "", _nanos(log.get("timestamp")), fields)


def _tags(tags: JsonValue) -> JsonObject:
    found = (tag for tag in tags if isinstance(tag, dict)) if isinstance(tags, list) else ()
    return {tag["key"]: tag.get("value") for tag in found if isinstance(tag.get("key"), str)}


def _nanos(value: JsonValue) -> int:
    number = as_number(value)
    return round(number * _MICRO) if number is not None and 0 < number < 1e17 else 0
