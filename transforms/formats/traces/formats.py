"""Exports of spans, as input formats."""

from collections.abc import Callable, Iterable, Iterator

from turnwise.schemas.values import JsonObject, JsonValue
from turnwise.transforms.formats.base import (
    EventReader,
    Format,
    ReadSettings,
    SplitEvent,
    Splitter,
    register_format,
)
from turnwise.transforms.formats.traces import part
from turnwise.transforms.formats.traces.containers.agent_events import agent_event_spans, is_agent_event
from turnwise.transforms.formats.traces.containers.attributes_only import attribute_spans, is_attributes
from turnwise.transforms.formats.traces.containers.flat import flat_spans, is_span, is_span_list
from turnwise.transforms.formats.traces.containers.jaeger import is_jaeger, jaeger_spans
from turnwise.transforms.formats.traces.containers.langfuse import is_langfuse, langfuse_spans
from turnwise.transforms.formats.traces.containers.langsmith import is_langsmith, langsmith_spans
from turnwise.transforms.formats.traces.containers.openai_agents import agents_spans, is_agents_trace
from turnwise.transforms.formats.traces.containers.otlp import is_otlp, otlp_spans
from turnwise.transforms.formats.traces.span import TraceSpan

_PARTS = "trace_part"


def span_splitter(spans: Callable[[JsonObject], Iterable[TraceSpan]]) -> Splitter:
    """Returns the splitter of an export by the function that yields the spans of one of its objects."""

    def split(value: JsonValue, settings: ReadSettings) -> list[SplitEvent | ValueError]:
        return part.trace_parts(_all(value, spans), settings.traces.app_version_attribute)

    return Splitter(into=_PARTS, split=split)


def last_time(spans: Callable[[JsonObject], Iterable[TraceSpan]]) -> Callable[[JsonObject], float | None]:
    """Returns the function that tells when the last span of a record ended."""

    def time(value: JsonObject) -> float | None:
        return max((span.end or span.start for span in spans(value)), default=0) / 1e9 or None

    return time


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
register_format(
    Format(
        name="otlp_export",
        keys=("resourceSpans",),
        help="OpenTelemetry export: OTLP/JSON, files of the collector, Tempo",
        rank=25,
        recognises=is_otlp,
        splitter=span_splitter(otlp_spans),
        time=last_time(otlp_spans),
        has_rubrics=False,
    )
)
register_format(
    Format(
        name="jaeger_export",
        help="Jaeger's query API",
        rank=26,
        recognises=is_jaeger,
        splitter=span_splitter(jaeger_spans),
        time=last_time(jaeger_spans),
        has_rubrics=False,
    )
)
register_format(
    Format(
        name="langfuse_export",
        keys=("trace", "observations"),
        help="Langfuse: traces with observations, rows of blob exports",
        rank=27,
        recognises=is_langfuse,
        splitter=span_splitter(langfuse_spans),
        time=last_time(langfuse_spans),
        has_rubrics=False,
    )
)
register_format(
    Format(
        name="langsmith_runs",
        keys=("id", "run_type", "dotted_order", "trace_id", "inputs", "outputs"),
        help="LangSmith runs",
        rank=28,
        recognises=is_langsmith,
        splitter=span_splitter(langsmith_spans),
        time=last_time(langsmith_spans),
        has_rubrics=False,
    )
)
register_format(
    Format(
        name="openai_agents_trace",
        keys=("object", "trace_id", "span_data"),
        help="OpenAI Agents SDK's trace export",
        rank=29,
        recognises=is_agents_trace,
        splitter=span_splitter(agents_spans),
        time=last_time(agents_spans),
        has_rubrics=False,
    )
)
register_format(
    Format(
        name="adk_agent_events",
        keys=("event_type", "session_id", "invocation_id", "content"),
        help="rows of google-adk's BigQuery plugin",
        rank=75,
        recognises=is_agent_event,
        splitter=span_splitter(agent_event_spans),
        time=last_time(agent_event_spans),
        has_rubrics=False,
    )
)
register_format(
    Format(
        name="otel_spans",
        keys=("trace_id", "span_id", "name", "start_time", "attributes"),
        help="OpenTelemetry spans as SDKs dump them, one object each or in a list",
        rank=145,
        recognises=lambda record: is_span(record) or is_span_list(record),
        splitter=span_splitter(flat_spans),
        time=last_time(flat_spans),
        is_list=is_span,
        has_rubrics=False,
    )
)
register_format(
    Format(
        name="otel_attributes",
        help="attributes of one OpenTelemetry span",
        rank=146,
        recognises=is_attributes,
        splitter=span_splitter(attribute_spans),
        time=last_time(attribute_spans),
        has_rubrics=False,
    )
)
