"""Langfuse: exported traces with their observations, and rows of blob exports."""

from collections.abc import Iterator

from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.spellings import as_text
from turnwise.transforms.formats.traces.message_parts import first_of
from turnwise.transforms.formats.traces.span import TraceSpan
from turnwise.transforms.formats.traces.values import as_count, as_id, as_nanos, as_number, key_values, loaded

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


def is_langfuse(record: JsonObject) -> bool:
    """Returns whether a record is a trace with its observations, an observation, or a row of a trace."""
    inner = record.get("trace")
    if isinstance(record.get("observations"), list) and (isinstance(inner, dict) or "projectId" in record):
        return True
    if record.keys() >= {"id", "timestamp", "bookmarked"}:
        return True
    listed = record.get("data")
    if isinstance(listed, list) and listed and isinstance(listed[0], dict) and "data" not in listed[0]:
        return is_langfuse(listed[0])
    keys = ({"traceId", "parentObservationId"}, {"trace_id", "parent_observation_id"})
    is_root = record.get("type") in _TYPES and first_of(record, ("startTime", "start_time")) is not None
    return (is_root and _is_observation(record)) or (
        "type" in record and any(record.keys() >= each for each in keys)
    )


def _is_observation(record: JsonObject) -> bool:
    """Returns whether a row is an observation; in newer exports it has `bookmarked` as a trace has."""
    return "type" in record and first_of(record, ("traceId", "trace_id")) is not None


def langfuse_spans(record: JsonObject) -> Iterator[TraceSpan]:
    """Yields the observations of a record as spans; what its trace states is a span above them."""
    listed = record.get("data")
    if isinstance(listed, list) and "type" not in record:
        yield from _page([each for each in listed if isinstance(each, dict)], record.get("meta"))
        return
    inner = record.get("trace")
    trace = inner if isinstance(inner, dict) else record
    observations = record.get("observations")
    if not isinstance(observations, list):
        yield _span(record, "") if _is_observation(record) else _root(record)
        return
    if any(isinstance(each, str) for each in observations):
        root = _root(record)
        root.listed = [as_id(each) for each in observations]
        yield root
        return
    root = _root(trace)
    yield root
    for each in observations:
        if isinstance(each, dict):
            yield _span(each, root.trace)


def _page(rows: list[JsonObject], meta: JsonValue) -> Iterator[TraceSpan]:
    """Yields the spans of a page of rows; a trace at its edge may go on on the page beside it."""
    held = meta if isinstance(meta, dict) else {}
    page, pages = as_count(held.get("page")), as_count(held.get("totalPages"))
    spans = [[*langfuse_spans(row)] for row in rows]
    if page is not None and pages is not None and rows and _is_observation(rows[0]):
        for span in (span for each in spans for span in each):
            span.page = f"page {page}"
        if page > 1:
            spans[0][0].listed = [f"page {page - 1}"]
        if page < pages:
            spans[-1][-1].listed = [*spans[-1][-1].listed, f"page {page + 1}"]
    for each in spans:
        yield from each


def _root(trace: JsonObject) -> TraceSpan:
    """Returns what a trace states, as a span above its observations."""
    metadata = loaded(trace.get("metadata"))
    attributes = {
        **_named(trace, _TRACE_FIELDS),
        f"{_OBSERVATION}type": "trace",
        f"{_OBSERVATION}input": loaded(trace.get("input")),
        f"{_OBSERVATION}output": loaded(trace.get("output")),
        "langfuse.trace.metadata": metadata,
    }
    name, own = as_text(trace.get("name")) or "", as_id(trace.get("id"))
    start, latency = as_nanos(trace.get("timestamp")), as_number(trace.get("latency"))
    end = start + round(latency * 1e9) if latency is not None and 0 <= latency < 1e9 and start else 0
    service = _environment(trace)
    return TraceSpan(own, _ROOT, "", name, start, end, attributes, resource=service, is_log=True)


def _span(held: JsonObject, trace: str) -> TraceSpan:
    metadata = loaded(held.get("metadata"))
    metadata = metadata if isinstance(metadata, dict) else {}
    attributes = key_values(loaded(metadata.get("attributes")))
    own = {f"{_OBSERVATION}{key}": item for key, item in _named(held, _FIELDS).items()}
    scope = metadata.get("scope")
    resource = key_values(loaded(metadata.get("resourceAttributes")))
    message = first_of(held, ("statusMessage", "status_message"))
    return TraceSpan(
        trace=as_id(first_of(held, ("traceId", "trace_id"))) or trace,
        id=as_id(held.get("id")),
        parent=as_id(first_of(held, ("parentObservationId", "parent_observation_id"))) or _ROOT,
        name=as_text(held.get("name")) or "",
        start=as_nanos(first_of(held, ("startTime", "start_time"))),
        end=as_nanos(first_of(held, ("endTime", "end_time"))),
        attributes={**_named(held, _TRACE_FIELDS), **own, "metadata": metadata, **attributes},
        error=held.get("level") == "ERROR",
        message=message if isinstance(message, str) else "",
        scope=as_text(scope.get("name")) or "" if isinstance(scope, dict) else "",
        resource={**_environment(held), **resource},
    )


def _named(held: JsonObject, names: dict[str, tuple[str, ...]]) -> JsonObject:
    found = {key: first_of(held, each) for key, each in names.items()}
    return {key: item for key, item in found.items() if item not in (None, "", [], {})}


def _environment(held: JsonObject) -> JsonObject:
    name: JsonValue = held.get("environment")
    return {"deployment.environment": name} if isinstance(name, str) and name not in ("", "default") else {}
