"""Exports of spans, as input formats."""

from collections.abc import Callable, Iterable, Iterator

from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.registry import (
    EventReader,
    Format,
    ReadSettings,
    SplitEvent,
    Splitter,
    Test,
    register_format,
)
from turnwise.transforms.formats.traces import part
from turnwise.transforms.formats.traces.containers import is_langfuse, langfuse_spans
from turnwise.transforms.formats.traces.containers.agent_events import agent_event_spans, is_agent_event
from turnwise.transforms.formats.traces.containers.attributes_only import attribute_spans, is_attributes
from turnwise.transforms.formats.traces.containers.flat import flat_spans, is_span, is_span_list
from turnwise.transforms.formats.traces.containers.jaeger import is_jaeger, jaeger_spans
from turnwise.transforms.formats.traces.containers.langsmith import is_langsmith, langsmith_spans
from turnwise.transforms.formats.traces.containers.openai_agents import agents_spans, is_agents_trace
from turnwise.transforms.formats.traces.containers.otlp_text import otlp_text_spans
from turnwise.transforms.formats.traces.otlp import is_otlp, otlp_spans
from turnwise.transforms.formats.traces.span import TraceSpan

_PARTS = "trace_part"


def register_export(
    name: str,
    rank: int,
    help: str,
    recognises: Test,
    spans: Callable[[JsonObject], Iterable[TraceSpan]],
    *keys: tuple[str, ...],
    is_list: Test | None = None,
    text_spans: Callable[[bytes], Iterable[TraceSpan] | None] | None = None,
) -> None:
    """Adds the format of an export of spans.

    Args:
        name: See `Format`, as for the others that are not described.
        rank: See `Format`.
        help: See `Format`.
        recognises: See `Format`.
        spans: Yields the spans of one of its objects.
        keys: Keys of its typical records.
        is_list: See `Format`.
        text_spans: Returns the spans of a record's text; None: it has to be parsed in general.
    """

    def split(value: JsonValue, settings: ReadSettings) -> list[SplitEvent | ValueError]:
        return part.trace_parts(_all(value, spans), settings.traces.app_version_attribute)

    def split_text(data: bytes, settings: ReadSettings) -> list[SplitEvent | ValueError] | None:
        found = text_spans(data) if text_spans else None
        return None if found is None else part.trace_parts(found, settings.traces.app_version_attribute)

    def last_time(value: JsonObject) -> float | None:
        return max((span.end or span.start for span in spans(value)), default=0) / 1e9 or None

    register_format(
        Format(
            name=name,
            help=help,
            rank=rank,
            recognises=recognises,
            keys=keys[0],
            other_keys=keys[1:],
            splitter=Splitter(into=_PARTS, split=split, split_text=split_text if text_spans else None),
            time=last_time,
            is_list=is_list,
            has_rubrics=False,
        )
    )


def _all(value: JsonValue, spans: Callable[[JsonObject], Iterable[TraceSpan]]) -> Iterator[TraceSpan]:
    for each in value if isinstance(value, list) else [value]:
        if not isinstance(each, dict):
            raise ValueError(f"a JSON object is needed, not {type(each).__name__}")
        yield from spans(each)


register_format(
    Format(
        name=_PARTS,
        help="turnwise's own part of a trace",
        rank=24,
        recognises=lambda record: part.KEY in record,
        events=EventReader(
            place=part.place, join=part.join_parts, is_end=part.has_root, group=part.group, lend=part.lend
        ),
        has_rubrics=False,
    )
)
register_export(
    "otlp_export", 25, "OpenTelemetry export: OTLP/JSON, files of the collector, Tempo",
    is_otlp, otlp_spans, ("resourceSpans",), ("resourceLogs",), ("batches",), text_spans=otlp_text_spans,
)  # fmt: skip
register_export(
    "jaeger_export", 26, "Jaeger's query API",
    is_jaeger, jaeger_spans,
    ("traceID", "spans", "processes"), ("data", "total", "limit", "offset", "errors"),
)  # fmt: skip
register_export(
    "langfuse_export", 27, "Langfuse: traces with observations, rows of blob exports",
    is_langfuse, langfuse_spans, ("trace", "observations"), ("id", "traceId", "parentObservationId", "type"),
)  # fmt: skip
register_export(
    "langsmith_runs", 28, "LangSmith runs",
    is_langsmith, langsmith_spans,
    ("id", "run_type", "dotted_order", "trace_id", "inputs", "outputs"), ("post", "patch"),
)  # fmt: skip
register_export(
    "openai_agents_trace", 29, "OpenAI Agents SDK's trace export",
    is_agents_trace, agents_spans,
    ("object", "trace_id", "span_data"), ("object", "workflow_name", "group_id"),
)  # fmt: skip
register_export(
    "adk_agent_events", 75, "rows of google-adk's BigQuery plugin",
    is_agent_event, agent_event_spans, ("event_type", "session_id", "invocation_id", "content"),
)  # fmt: skip
register_export(
    "otel_spans", 145, "OpenTelemetry spans as SDKs dump them, one object each or in a list",
    lambda record: is_span(record) or is_span_list(record), flat_spans,
    ("trace_id", "span_id", "name", "start_time", "attributes"),
    ("name", "context", "span_kind", "attributes"),
    is_list=is_span,
)  # fmt: skip
register_export(
    "otel_attributes", 146, "attributes of one OpenTelemetry span",
    is_attributes, attribute_spans, ("gen_ai.operation.name", "gen_ai.request.model"),
)  # fmt: skip
