"""Containers of spans: OTLP, dumps of SDKs, and the exports of products for traces and logs."""

import re
from collections.abc import Iterator
from hashlib import blake2b

from turnwise.schemas.jsonio import JsonObject, JsonValue, dump_json
from turnwise.transforms.formats.endings import as_text
from turnwise.transforms.formats.identity import ANY, KEYS, OF_STATE, Places, stated_identity
from turnwise.transforms.formats.messages.kinds import as_object, first_of, objects_in, stated
from turnwise.transforms.formats.registry import OF_PRODUCTS
from turnwise.transforms.formats.traces.span import (
    ADK_EVENTS,
    AGENT_COLUMN,
    INVOCATION,
    NULL,
    RUNNING,
    SpanEvent,
    TraceSpan,
    any_value,
    as_count,
    as_id,
    as_nanos,
    as_number,
    dropped_count,
    key_values,
    loaded,
)
from turnwise.transforms.formats.traces.trace_parts import register_export

# OTLP/JSON, the collector's files, and Tempo's exports.

_RESOURCES = ("resourceSpans", "batches", "resource_spans", "resourceLogs", "resource_logs")
_SCOPES = ("scopeSpans", "instrumentationLibrarySpans", "scope_spans", "scopeLogs", "scope_logs")
_HAS_REMOTE, _REMOTE_MASK = 0x100, 0x300
_ERRORS = (2, "2", "STATUS_CODE_ERROR", "ERROR", "Error", "error")


def _holders(record: JsonObject) -> list[JsonObject]:
    return [record, *objects_in(list(map(record.get, ("trace", "result", "data"))))]


# For example {"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "1", "spanId": "2", ...}]}]}]}
@register_export(
    "otlp_export", 25, "OpenTelemetry export: OTLP/JSON, files of the collector, Tempo",
    lambda record: any(isinstance(h.get(key), list) for h in _holders(record) for key in _RESOURCES),
    ("resourceSpans",), ("resourceLogs",), ("batches",),
)  # fmt: skip
def otlp_spans(record: JsonObject) -> Iterator[TraceSpan]:
    """Yields the spans of an export; of log records, one each for the span that they name."""
    for resource in (held for holder in _holders(record) for held in _objects_at(holder, _RESOURCES)):
        about = resource.get("resource")
        service = key_values(about.get("attributes")) if isinstance(about, dict) else {}
        for scoped in _objects_at(resource, _SCOPES):
            scopes = (as_object(scoped.get(key)).get("name") for key in ("scope", "instrumentationLibrary"))
            scope = next((name for name in scopes if name and isinstance(name, str)), "")
            for span in _objects_at(scoped, ("spans", "logRecords", "log_records")):
                yield _span(span, scope, service)


def _objects_at(holder: JsonObject, keys: tuple[str, ...]) -> Iterator[JsonObject]:
    for key in keys:
        yield from objects_in(holder.get(key))


def _span(held: JsonObject, scope: str, service: JsonObject) -> TraceSpan:
    get = held.get
    trace, span_id = as_id(get("traceId") or get("trace_id")), as_id(get("spanId") or get("span_id"))
    if "startTimeUnixNano" not in held and "start_time_unix_nano" not in held:
        return _log(held, trace, span_id, scope, service)
    parent, name = as_id(get("parentSpanId") or get("parent_span_id")), as_text(get("name")) or ""
    start = as_nanos(get("startTimeUnixNano") or get("start_time_unix_nano"))
    end = as_nanos(get("endTimeUnixNano") or get("end_time_unix_nano"))
    span = TraceSpan(trace, span_id, parent, name, start, end, key_values(get("attributes")))
    span.scope, span.resource, span.dropped = scope, service, dropped_count(held)
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
    span = TraceSpan(trace, span_id, "", "", time, time, {}, [event], scope=scope, resource=service)
    span.is_log, span.dropped = True, dropped_count(held)
    return span


# Spans as SDKs dump them, MLflow's traces, and rows of Phoenix, ClickHouse and Logfire.

_TRACE_IDS = ("trace_id", "traceId", "traceID", "TraceId")
_SPAN_IDS = ("span_id", "spanId", "spanID", "id", "SpanId")
_PARENTS = ("parent_span_id", "parentSpanId", "parent_id", "parentId", "ParentSpanId")
_STARTS = ("start_time", "startTime", "start_time_unix_nano", "startTimeUnixNano", "Timestamp",
           "start_time_ns", "start_timestamp")  # fmt: skip
_END_TIMES = ("end_time", "endTime", "end_time_unix_nano", "endTimeUnixNano", "end_time_ns", "end_timestamp")
_ATTRIBUTES = ("attributes", "SpanAttributes", "span_attributes", "tags")
_EVENTS = ("span_events", "events", "logs", "Events", "otel_events")
_EVENT_NAMES = ("event_name", "name", "eventName")
_EVENT_TIMES = ("timestamp", "time", "timeUnixNano", "time_unix_nano", "event_timestamp")
_FLAT_SCOPES = ("scope", "instrumentationScope", "instrumentationLibrary", "instrumentation_scope",
                "ScopeName", "otel_scope_name")  # fmt: skip
_FLAT_RESOURCES = ("resource", "ResourceAttributes", "resource_attributes", "otel_resource_attributes")
_FLAT_NAMES = ("name", "SpanName", "span_name", "operationName")
_MESSAGES = ("description", "message", "StatusMessage", "status_message", "otel_status_message")
_KINDS = ("LLM", "TOOL", "AGENT", "CHAIN", "RETRIEVER", "EMBEDDING", "GUARDRAIL")


def _is_span(record: JsonObject) -> bool:
    record = _unfolded(record)
    holder = _context(record)
    has_ids = first_of(holder, _TRACE_IDS) is not None and first_of(holder, _SPAN_IDS) is not None
    attributes = loaded(first_of(record, _ATTRIBUTES))
    has_content = isinstance(attributes, dict | list) or first_of(record, _EVENTS) is not None
    is_named = first_of(record, (*_STARTS, *_FLAT_NAMES, *_EVENTS)) is not None
    is_foreign = any(keys <= record.keys() for keys in OF_PRODUCTS)
    return has_ids and not is_foreign and ((has_content and is_named) or _is_log(record))


def _is_log(record: JsonObject) -> bool:
    """Returns whether a record is a log record that stands alone, as CloudWatch keeps them beside spans."""
    return "body" in record and bool(record.keys() & {"timeUnixNano", "observedTimeUnixNano"})


def _listed(record: JsonObject) -> list[JsonObject]:
    """Returns the spans that a record lists; empty: none of them is a span."""
    # MLflow's traces have them under `data`, and its rows may hold the trace as a text; Logfire has rows.
    holder = as_object(loaded(record.get("trace"))) or record
    listed = objects_in(loaded(first_of(as_object(holder.get("data")) or holder, ("spans", "rows"))))
    return listed if any(map(_is_span, listed)) else []


# For example {"name": "chat", "context": {"trace_id": "0x1", "span_id": "0x2"}, "attributes": {...}}
@register_export(
    "otel_spans", 145, "OpenTelemetry spans as SDKs dump them, one object each or in a list",
    lambda record: _is_span(record) or bool(_listed(record)),
    ("trace_id", "span_id", "name", "start_time", "attributes"),
    ("name", "context", "span_kind", "attributes"),
    is_list=_is_span,
)  # fmt: skip
def _flat_spans(record: JsonObject) -> Iterator[TraceSpan]:
    shared = as_text(first_of(record, ("session_id", "sessionId")))
    # The head of an MLflow trace, or its row, names session, user, version and case; its tags may, too.
    info = record if "trace_metadata" in record else as_object(record.get("info"))
    metadata = first_of(info, ("trace_metadata", "request_metadata"))
    head = {**key_values(info.get("tags")), **key_values(metadata)}
    shared = shared or as_text(head.get("mlflow.trace.session"))
    named: JsonObject = {"session.id": shared} if shared else {}
    named |= {RUNNING: True} if first_of(info, ("state", "status")) == "IN_PROGRESS" else {}
    for held in _listed(record) or [record]:
        span = _flat_span(held)
        span.attributes = {**named, **({"metadata": head} if head else {}), **span.attributes}
        yield span
        head = {}


def _flat_span(held: JsonObject) -> TraceSpan:
    held = _unfolded(held)
    context = _context(held)
    ids = as_id(first_of(context, _TRACE_IDS)), as_id(first_of(context, _SPAN_IDS))
    if _is_log(held):
        scope = as_text(as_object(held.get("scope")).get("name")) or ""
        return _log(held, *ids, scope, key_values(as_object(held.get("resource")).get("attributes")))
    status = loaded(first_of(held, ("status", "StatusCode", "status_code", "otel_status_code")))
    code = first_of(status, ("code", "status_code")) if isinstance(status, dict) else status
    message = first_of(status, _MESSAGES) if isinstance(status, dict) else first_of(held, _MESSAGES[2:])
    scope, resource = first_of(held, _FLAT_SCOPES), loaded(first_of(held, _FLAT_RESOURCES))
    scope_name = scope.get("name") if isinstance(scope, dict) else scope
    parent = first_of(held, _PARENTS) or held.get("parentSpanContext")
    parent = first_of(parent, _SPAN_IDS) if isinstance(parent, dict) else parent
    start, length = as_nanos(first_of(held, _STARTS)), held.get("Duration")  # of ClickHouse, in nanoseconds
    lasted = start + length if start and isinstance(length, int) and length >= 0 else 0
    events, attributes = loaded(first_of(held, _EVENTS)), loaded(first_of(held, _ATTRIBUTES))
    inner = stated(resource).get("attributes", resource) if isinstance(resource, dict) else {}
    name, kind = as_text(first_of(held, _FLAT_NAMES)) or "", held.get("span_kind")
    span = TraceSpan(*ids, as_id(parent), name, start, as_nanos(first_of(held, _END_TIMES)) or lasted)
    # Phoenix states the kind beside the attributes.
    span.attributes = {**({"openinference.span.kind": kind} if kind in _KINDS else {}), **_dotted(attributes)}
    span.events = list(map(_event, objects_in(events)))
    span.error = code == 2 or str(code).upper() in ("ERROR", "STATUS_CODE_ERROR", "STATUSCODE.ERROR")
    span.message = message if isinstance(message, str) else ""
    # Logfire states the version beside the resource, too.
    service = {"service.version": held["service_version"]} if held.get("service_version") else {}
    span.scope, span.resource = as_text(scope_name) or "", service | key_values(inner)
    span.dropped = dropped_count(held)
    return span


def _context(held: JsonObject) -> JsonObject:
    inner = first_of(held, ("context", "spanContext", "span_context"))
    return inner if isinstance(inner, dict) and first_of(held, _TRACE_IDS) is None else held


def _event(held: JsonObject) -> SpanEvent:
    attributes = key_values(loaded(held.get("attributes")))
    name = as_text(first_of(held, _EVENT_NAMES)) or as_text(attributes.get("event.name")) or ""
    return SpanEvent(name, as_nanos(first_of(held, _EVENT_TIMES)), attributes, held.get("body"))


# Langfuse: exported traces with their observations, and rows of blob exports.

_OBSERVATION = "langfuse.observation."
_FIELDS = {
    "type": ("type",),
    "input": ("input",),
    "output": ("output",),
    "model.name": ("model", "providedModelName", "provided_model_name", "model_id"),
    "usage_details": ("usageDetails", "usage_details", "usage"),
    "level": ("level",),
    "status_message": ("statusMessage", "status_message"),
}
_TRACE_FIELDS = {
    "session.id": ("sessionId", "session_id"),
    "user.id": ("userId", "user_id"),
    "langfuse.version": ("version",),
    "langfuse.release": ("release",),
    "langfuse.trace.tags": ("tags", "trace_tags"),
    "langfuse.trace.metadata": ("trace_metadata",),
}
_ROOT = "trace"
_TYPES = ("SPAN", "EVENT", "GENERATION", "AGENT", "TOOL", "CHAIN", "RETRIEVER", "EVALUATOR", "EMBEDDING",
          "GUARDRAIL")  # fmt: skip
"""Types of observations; the one without a parent may lack the key of its parent."""


def _is_langfuse(record: JsonObject) -> bool:
    """Returns whether a record is a trace with its observations, an observation, or a row of a trace."""
    is_trace = isinstance(record.get("trace"), dict) or record.keys() & {"projectId", "htmlPath", "html_path"}
    if isinstance(record.get("observations"), list) and is_trace:
        return True
    if record.keys() >= {"id", "timestamp", "bookmarked"}:
        return True
    listed = record.get("data")
    if isinstance(listed, list) and listed and isinstance(listed[0], dict) and "data" not in listed[0]:
        return _is_langfuse(listed[0])
    keys = ({"traceId", "parentObservationId"}, {"trace_id", "parent_observation_id"})
    is_root = record.get("type") in _TYPES and first_of(record, ("startTime", "start_time")) is not None
    is_child = "type" in record and any(record.keys() >= key for key in keys)
    return is_child or (is_root and _is_observation(record))


def _is_observation(record: JsonObject) -> bool:
    """Returns whether a row is an observation; in newer exports it has `bookmarked` as a trace has."""
    return "type" in record and first_of(record, ("traceId", "trace_id")) is not None


# For example {"trace": {"id": "1"}, "observations": [{"id": "2", "type": "GENERATION", "input": [...]}]}
@register_export(
    "langfuse_export", 27, "Langfuse: traces with observations, rows of blob exports",
    _is_langfuse, ("trace", "observations"), ("id", "traceId", "parentObservationId", "type"),
)  # fmt: skip
def _langfuse_spans(record: JsonObject) -> Iterator[TraceSpan]:
    """Yields the observations of a record as spans; what its trace states is a span above them."""
    listed = record.get("data")
    if isinstance(listed, list) and "type" not in record:
        rows, meta = objects_in(listed), as_object(record.get("meta"))
        page, pages = as_count(meta.get("page")), as_count(meta.get("totalPages"))
        spans = [span for row in rows for span in _langfuse_spans(row)]
        if page is not None and pages is not None and rows and _is_observation(rows[0]):
            # A trace at the edge of a page may go on on the page beside it.
            for span in spans:
                span.page = f"page {page}"
            if page > 1:
                spans[0].listed = [f"page {page - 1}"]
            if page < pages:
                spans[-1].listed = [*spans[-1].listed, f"page {page + 1}"]
        yield from spans
        return
    inner = record.get("trace")
    trace = inner if isinstance(inner, dict) else record
    observations = record.get("observations")
    if not isinstance(observations, list):
        yield _observation_span(record, "") if _is_observation(record) else _root(record)
    elif any(isinstance(item, str) for item in observations):
        root = _root(record)
        root.listed = [as_id(item) for item in observations]
        yield root
    else:
        root = _root(trace)
        yield root
        for held in objects_in(observations):
            yield _observation_span(held, root.trace)


def _root(trace: JsonObject) -> TraceSpan:
    """Returns what a trace states, as a span above its observations."""
    attributes = {**_named(trace, _TRACE_FIELDS), f"{_OBSERVATION}type": "trace"}
    attributes |= {f"{_OBSERVATION}{side}": loaded(trace.get(side)) for side in ("input", "output")}
    attributes["langfuse.trace.metadata"] = loaded(trace.get("metadata"))
    name, trace_id = as_text(trace.get("name")) or "", as_id(trace.get("id"))
    start, latency = as_nanos(trace.get("timestamp")), as_number(trace.get("latency"))
    end = start + round(latency * 1e9) if latency is not None and 0 <= latency < 1e9 and start else 0
    resource = _environment(trace)
    return TraceSpan(trace_id, _ROOT, "", name, start, end, attributes, resource=resource, is_log=True)


def _observation_span(held: JsonObject, trace: str) -> TraceSpan:
    metadata = loaded(held.get("metadata"))
    metadata = metadata if isinstance(metadata, dict) else {}
    trace = as_id(first_of(held, ("traceId", "trace_id"))) or trace
    parent = as_id(first_of(held, ("parentObservationId", "parent_observation_id"))) or _ROOT
    start, end = (as_nanos(first_of(held, (f"{at}Time", f"{at}_time"))) for at in ("start", "end"))
    fields = {f"{_OBSERVATION}{key}": item for key, item in _named(held, _FIELDS).items()}
    span = TraceSpan(trace, as_id(held.get("id")), parent, as_text(held.get("name")) or "", start, end)
    span.attributes = {**_named(held, _TRACE_FIELDS), **fields, "metadata": metadata}
    span.attributes |= key_values(loaded(metadata.get("attributes")))
    message = first_of(held, _FIELDS["status_message"])
    span.error, span.message = held.get("level") == "ERROR", message if isinstance(message, str) else ""
    span.scope = as_text(as_object(metadata.get("scope")).get("name")) or ""
    span.resource = {**_environment(held), **key_values(loaded(metadata.get("resourceAttributes")))}
    return span


def _named(held: JsonObject, names: dict[str, tuple[str, ...]]) -> JsonObject:
    stated = {key: first_of(held, spellings) for key, spellings in names.items()}
    return {key: item for key, item in stated.items() if item not in (None, "", [], {})}


def _environment(held: JsonObject) -> JsonObject:
    name: JsonValue = held.get("environment")
    return {"deployment.environment": name} if isinstance(name, str) and name not in ("", "default") else {}


# The trace export of the OpenAI Agents SDK.


def _data_of(record: JsonObject) -> list[JsonObject]:
    data = record.get("data")
    return objects_in(data) if isinstance(data, list) else [record]


# For example {"object": "trace.span", "trace_id": "1", "id": "2", "span_data": {"type": "function", ...}}
@register_export(
    "openai_agents_trace", 29, "OpenAI Agents SDK's trace export",
    lambda record: any(held.get("object") in ("trace", "trace.span") for held in _data_of(record)),
    ("object", "trace_id", "span_data"), ("object", "workflow_name", "group_id"),
)  # fmt: skip
def _agents_spans(record: JsonObject) -> Iterator[TraceSpan]:
    """Yields the spans of a batch; a trace lends its session and metadata to them."""
    for held in _data_of(record):
        if held.get("object") == "trace":
            attributes = _named(held, {"session.id": ("group_id",), "metadata": ("metadata",)})
            name = as_text(held.get("workflow_name")) or ""
            yield TraceSpan(as_id(held.get("id")), "trace", "", name, attributes=attributes, is_log=True)
        elif held.get("object") == "trace.span":
            data, error = as_object(held.get("span_data")), held.get("error")
            ids = as_id(held.get("trace_id")), as_id(held.get("id")), as_id(held.get("parent_id"))
            name = as_text(data.get("name")) or as_text(data.get("type")) or ""
            span = TraceSpan(*ids, name, as_nanos(held.get("started_at")), as_nanos(held.get("ended_at")))
            span.attributes = {f"openai_agents.{key}": item for key, item in data.items()}
            message = as_object(error).get("message")
            span.error, span.message = error is not None, message if isinstance(message, str) else ""
            yield span


# LangSmith runs: as its API lists them, as its SDK posts them, and as bulk exports hold them.
def _is_langsmith(record: JsonObject) -> bool:
    """Returns whether a record is a run, or the runs that an SDK posts at once."""
    if "run_type" in record and record.keys() & {"dotted_order", "trace_id", "parent_run_id"}:
        return True
    is_listed = any("run_type" in run for run in objects_in(record.get("runs")))
    return is_listed or (isinstance(record.get("post"), list) and isinstance(record.get("patch"), list))


# For example {"id": "2", "trace_id": "1", "run_type": "llm", "inputs": {"messages": [...]}, "outputs": {...}}
@register_export(
    "langsmith_runs", 28, "LangSmith runs",
    _is_langsmith, ("id", "run_type", "dotted_order", "trace_id", "inputs", "outputs"), ("post", "patch"),
)  # fmt: skip
def _langsmith_spans(record: JsonObject) -> Iterator[TraceSpan]:
    """Yields runs as spans; what was posted and what was patched later are two records of one."""
    keys = ("child_runs",) if "run_type" in record else ("runs", "post", "patch")
    if "run_type" in record:
        order = record.get("dotted_order")
        steps = order.split(".") if isinstance(order, str) else []
        ids = [step.rpartition("Z")[2] for step in steps]
        run_id, error = as_id(record.get("id")) or (ids[-1] if ids else ""), record.get("error")
        extra, outputs = as_object(loaded(record.get("extra"))), loaded(record.get("outputs"))
        named, inputs = as_object(loaded(extra.get("metadata"))), loaded(record.get("inputs"))
        texts = inputs["prompts"] if isinstance(inputs, dict) and inputs.keys() == {"prompts"} else None
        first = texts[0] if isinstance(texts, list) and texts else None
        if isinstance(first, str) and first.startswith(("Human: ", "System: ")):
            # A prompt spells a chat, whose messages its parent holds, as one text.
            is_short = first.startswith("Human: ") and "\n" not in first
            message = {"role": "user", "content": first.removeprefix("Human: ")}
            inputs = {"messages": [message]} if is_short else None
        stated = {
            "langsmith.span.kind": record.get("run_type"),
            "langsmith.inputs": inputs,
            "langsmith.outputs": outputs,
            "langsmith.usage": _usage(record, outputs),
            RUNNING: record.get("status") == "pending" or None,
            "langsmith.call_id": extra.get("tool_call_id"),
            "langsmith.span.tags": record.get("tags"),
            "langsmith.reference_example_id": record.get("reference_example_id"),
            "gen_ai.response.model": named.get("ls_model_name"),
            **{f"langsmith.metadata.{key}": item for key, item in named.items()},
        }
        trace = as_id(record.get("trace_id")) or (ids[0] if ids else run_id)
        parent = as_id(record.get("parent_run_id")) or (ids[-2] if len(ids) > 1 else "")
        times = as_nanos(record.get("start_time")), as_nanos(record.get("end_time"))
        span = TraceSpan(trace, run_id, parent, as_text(record.get("name")) or "", *times, is_local=True)
        span.attributes = {key: item for key, item in stated.items() if item not in (None, "", NULL, [], {})}
        span.error, span.message = bool(error), error if isinstance(error, str) else ""
        yield span
    # A run below another one may leave out its type.
    for run in (run for key in keys for run in objects_in(record.get(key))):
        yield from _langsmith_spans({"run_type": None, **run})


def _usage(run: JsonObject, outputs: JsonValue) -> JsonObject | None:
    holders: list[JsonValue] = [outputs]
    if isinstance(outputs, dict):
        message = outputs.get("generations")
        while isinstance(message, list) and message:
            message = message[0]
        inner = message.get("message") if isinstance(message, dict) else None
        kwargs = (inner.get("kwargs") or inner) if isinstance(inner, dict) else None
        holders += [outputs.get("llm_output"), kwargs, outputs.get("output"), outputs.get("message")]
    for holder in holders:
        usage = first_of(as_object(holder), ("usage_metadata", "usage", "token_usage"))
        if isinstance(usage, dict):
            details = (as_object(usage.get(f"{side}_token_details")) for side in ("input", "output"))
            return {**usage, **{key: count for counts in details for key, count in counts.items()}}
    named = {key: run.get(key) for key in ("prompt_tokens", "completion_tokens")}
    return named if any(named.values()) else None


# Jaeger's query API.
# For example {"data": [{"traceID": "1", "processes": {...}, "spans": [{"spanID": "2", "tags": [...]}]}]}
@register_export(
    "jaeger_export", 26, "Jaeger's query API",
    lambda record: any(trace.keys() >= {"spans", "traceID"} for trace in _data_of(record)),
    ("traceID", "spans", "processes"), ("data", "total", "limit", "offset", "errors"),
)  # fmt: skip
def _jaeger_spans(record: JsonObject) -> Iterator[TraceSpan]:
    pairs = ((trace, span) for trace in _data_of(record) for span in objects_in(trace.get("spans")))
    for whole, held in pairs:
        attributes, start = key_values(held.get("tags")), _nanos(held.get("startTime"))
        named = held.get("processID")
        process = as_object(whole.get("processes")).get(named) if isinstance(named, str) else None
        process = as_object(process or held.get("process"))
        references = objects_in(held.get("references"))
        parents = (as_id(r.get("spanID")) for r in references if r.get("refType") in (None, "CHILD_OF"))
        logs = ((key_values(log.get("fields")), log.get("timestamp")) for log in objects_in(held.get("logs")))
        ids = as_id(held.get("traceID") or whole.get("traceID")), as_id(held.get("spanID"))
        parent, end = next(parents, as_id(held.get("parentSpanID"))), start + _nanos(held.get("duration"))
        span = TraceSpan(*ids, parent, as_text(held.get("operationName")) or "", start, end, attributes)
        span.events = [SpanEvent(as_text(log.get("event")) or "", _nanos(time), log) for log, time in logs]
        is_error = attributes.get("error") in (True, "true")
        span.error = is_error or attributes.get("otel.status_code") == "ERROR"
        span.message = as_text(attributes.get("otel.status_description")) or ""
        span.scope, span.dropped = as_text(attributes.get("otel.scope.name")) or "", dropped_count(attributes)
        service = {"service.name": process.get("serviceName")} if process else {}
        span.resource = key_values(process.get("tags")) | service
        yield span


def _nanos(value: JsonValue) -> int:
    number = as_number(value)
    return round(number * 1_000) if number is not None and 0 < number < 1e17 else 0


# Attributes that exports of tables nest or spread over columns, as dotted keys again.

_COLUMNS = _OF_ATTRIBUTES, _OF_CONTEXT = "attributes.", "context."
_NESTED = ("gen_ai", "llm", "openinference", "session", "gcp", "input", "output", "tool", "ai", "traceloop")
_INDEXED = ("message", "message_content", "tool_call", "document")
_INDEXED_DOTTED = tuple(f"{name}." for name in (*_INDEXED, "tool"))


def _unfolded(held: JsonObject) -> JsonObject:
    """Returns a span whose attributes and ids stand in columns (a row of Phoenix's table) as one object."""
    if not any(key.startswith(_COLUMNS) for key in held):
        return held
    columns = {key for key in held if key.startswith(_OF_ATTRIBUTES)}
    plain = {key.removeprefix(_OF_CONTEXT): item for key, item in held.items() if key not in columns}
    attributes = {key.removeprefix(_OF_ATTRIBUTES): item for key, item in held.items() if key in columns}
    return {**plain, "attributes": attributes}


def _dotted(attributes: JsonValue) -> JsonObject:
    """Returns attributes with dotted keys, of which tables nest some; raises ValueError for another list."""
    held = stated(key_values(attributes))
    if isinstance(attributes, list) and attributes and not held:
        raise ValueError("attributes: none of its elements is a key with a value")
    if not any(isinstance(value, dict | list) for value in held.values()):
        return held
    leaves: JsonObject = {}
    for key, value in held.items():
        is_nested = any(map(_is_indexed, value)) if isinstance(value, list) else key in _NESTED
        leaves |= dict(_leaves(key, value, 0)) if is_nested else {key: value}
    return leaves


def _is_indexed(item: JsonValue) -> bool:
    """Returns whether an element of a list stands for numbered keys of OpenInference."""
    return isinstance(item, dict) and any(key in _INDEXED or key.startswith(_INDEXED_DOTTED) for key in item)


def _leaves(path: str, value: JsonValue, depth: int) -> Iterator[tuple[str, JsonValue]]:
    if isinstance(value, dict) and value and depth < 12:
        for key, item in value.items():
            yield from _leaves(f"{path}.{key}", item, depth + 1)
    elif isinstance(value, list) and depth < 12 and any(map(_is_indexed, value)):
        for index, item in enumerate(value):
            yield from _leaves(f"{path}.{index}", item, depth + 1)
    else:
        yield path, value


# Rows of Azure's Application Insights, whose attributes are the JSON text of `customDimensions`.
# For example {"operation_Id": "1", "id": "2", "name": "chat", "customDimensions": "{...}", "duration": 30}
@register_export(
    "app_insights", 76, "rows of Azure's Application Insights with steps of agents",
    lambda record: "gen_ai." in str(record.get("customDimensions")) and "operation_Id" in record,
    ("operation_Id", "operation_ParentId", "id", "customDimensions"),
)  # fmt: skip
def _insights_spans(record: JsonObject) -> Iterator[TraceSpan]:
    trace, parent = as_id(record.get("operation_Id")), as_id(record.get("operation_ParentId"))
    start, length = as_nanos(record.get("timestamp")), as_number(record.get("duration"))  # milliseconds
    attributes, version = loaded(record["customDimensions"]), record.get("application_Version")
    end = start + round(length * 1e6) if start and length is not None and 0 <= length < 1e12 else 0
    ids = trace, as_id(record.get("id")), "" if parent == trace else parent
    span = TraceSpan(*ids, as_text(record.get("name")) or "", start, end, key_values(attributes))
    span.error = str(record.get("success")).lower() == "false"
    span.resource = {"service.version": version} if version else {}
    yield span


# The attributes of one span, without the span.

_OWN_KEYS = ("gen_ai.", "llm.", "openinference.", "ai.operationId", "traceloop.")


# For example {"gen_ai.operation.name": "chat", "gen_ai.input.messages": "[...]"}
@register_export(
    "otel_attributes", 146, "attributes of one OpenTelemetry span",
    lambda record: any(key.startswith(_OWN_KEYS) for key in record) and "trace_id" not in record,
    ("gen_ai.operation.name", "gen_ai.request.model"),
)  # fmt: skip
def _attribute_spans(record: JsonObject) -> Iterator[TraceSpan]:
    # Its content is its id.
    digest = blake2b(dump_json(record), digest_size=16).hexdigest()
    yield TraceSpan(digest, digest[:16], attributes=record)


# Rows of the table that google-adk's BigQuery plugin writes.

_OF_AGENT_EVENTS: Places = (
    ("attributes.custom_tags", ANY),
    ("attributes.session_metadata.state", OF_STATE),
    *((path, ANY) for path in ("labels", "attributes.labels", "attributes", "")),
)


# For example {"event_type": "TOOL_STARTING", "session_id": "7", "content": {"tool": "find", "args": {}}}
@register_export(
    "adk_agent_events", 75, "rows of google-adk's BigQuery plugin",
    lambda record: "event_type" in record and bool(record.keys() & {"invocation_id", "session_id"}),
    ("event_type", "session_id", "invocation_id", "content"),
    places=_OF_AGENT_EVENTS, source="spans (adk_events",
)  # fmt: skip
def _agent_event_spans(record: JsonObject) -> Iterator[TraceSpan]:
    """Yields the span that a row tells of; several rows tell of one."""
    kind = as_text(record.get("event_type")) or ""
    time = as_nanos(record.get("timestamp"))
    latency = loaded(record.get("latency_ms"))
    total = as_number(latency.get("total_ms") if isinstance(latency, dict) else latency)
    truncated, is_end = record.get("is_truncated"), kind.endswith(("_COMPLETED", "_RESPONSE", "_ERROR"))
    is_truncated = truncated in (True, 1) or (isinstance(truncated, str) and truncated.lower() == "true")
    length = round(total * 1e6) if is_end and total is not None and 0 <= total < 1e12 else 0
    invocation, session = as_id(record.get("invocation_id")), as_id(record.get("session_id"))
    trace, event_id = as_id(record.get("trace_id")), as_id(record.get("event_id"))
    # Words to the user are those of the invocation, which may say several things.
    suffix = f"@{time:020}{event_id}" if kind == "AGENT_RESPONSE" else ""
    span_id = as_id(record.get("span_id")) or event_id or as_text(record.get("timestamp")) or kind
    span_id = f"{kind.partition('_')[0]}:{span_id}"
    if kind.startswith("INVOCATION_") or kind in ("USER_MESSAGE_RECEIVED", "AGENT_RESPONSE"):
        # One span stands for an invocation; model and tool calls have those of their rows.
        span_id = invocation or session
    message, identity = record.get("error_message"), stated_identity(_OF_AGENT_EVENTS, record)
    columns = {"content": "content", "parts": "content_parts", "attributes": "attributes"}
    row = {key: loaded(record.get(column)) for key, column in columns.items()}
    row |= {"agent": record.get("agent"), "is_truncated": is_truncated, "has_latency": total is not None}
    attributes = {f"{ADK_EVENTS}{kind}{suffix}": row, AGENT_COLUMN: record.get("agent")}
    attributes[INVOCATION] = invocation or None
    attributes |= {"session.id": record.get("session_id"), "user.id": record.get("user_id")}
    attributes |= {key: text for key, text in zip(KEYS, identity, strict=True) if text}
    # An agent that another one calls as a tool has another session and invocation, and the same trace.
    trace = trace if re.fullmatch("[0-9a-f]{32}", trace) else invocation or trace or session
    # After an AgentTool, the end of its call names another parent than the start.
    parent = "" if kind.startswith("INVOCATION_") else invocation or as_id(record.get("parent_span_id"))
    times = max(time - length, 0), time if is_end else 0
    span = TraceSpan(trace, span_id, parent, kind, *times, attributes)
    span.error = record.get("status") == "ERROR" or kind.endswith("_ERROR")
    span.message, span.dropped = message if isinstance(message, str) else "", int(is_truncated)
    yield span
