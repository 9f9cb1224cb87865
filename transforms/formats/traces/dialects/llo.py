"""AWS Distro for OpenTelemetry: the messages of a span are cut out into one log record a span."""

from turnwise.schemas.jsonio import JsonValue
from turnwise.transforms.formats.traces.dialect import SpanDialect, messages_at, register_dialect
from turnwise.transforms.formats.traces.message import AGENT, USER
from turnwise.transforms.formats.traces.span import TraceSpan
from turnwise.transforms.formats.traces.step import SpanStep
from turnwise.transforms.formats.traces.tool_results import tool_result
from turnwise.transforms.formats.traces.values import loaded

_NODES = ("__end__",)


def _read(span: TraceSpan, step: SpanStep) -> None:
    for event in span.events:
        body = event.body
        if isinstance(body, dict) and body and body.keys() <= {"input", "output"}:
            _add(_content(body.get("input")), _content(body.get("output")), step)
            if not span.is_log and not _is_record(span):
                step.kind = None


def _is_record(span: TraceSpan) -> bool:
    return span.attributes.keys() <= {"event.name", "session.id"}


def _add(given: list[JsonValue], back: list[JsonValue], step: SpanStep) -> None:
    """Adds what a record says; what it is, is told by the shape of its output."""
    entered, left = given[0] if len(given) == 1 else given, back[0] if len(back) == 1 else back
    if isinstance(left, dict) and left.get("type") == "tool":
        step.kind, step.args = "tool", entered
        name = left.get("name")
        step.name = name if isinstance(name, str) else None
        call_id = left.get("tool_call_id")
        step.call_id = call_id if isinstance(call_id, str) else None
        step.result, step.error = tool_result(left)
        step.has_result = True
    elif isinstance(left, dict) and "generations" in left:
        step.kind = "model"
        step.input, step.output = messages_at(entered, USER), messages_at(left["generations"], AGENT)
    elif left in _NODES or (isinstance(entered, dict) and "remaining_steps" in entered):
        step.kind = "other"
    else:
        step.kind = "chain"
        step.input, step.output = messages_at(entered, USER), messages_at(left, AGENT)


def _content(side: JsonValue) -> list[JsonValue]:
    messages = side.get("messages") if isinstance(side, dict) else None
    if not isinstance(messages, list):
        return [] if messages is None else [loaded(messages)]
    if len(messages) > 1:
        return [messages]
    return [loaded(each.get("content")) if isinstance(each, dict) else each for each in messages]


register_dialect(
    SpanDialect(
        name="aws_distro",
        prefixes=frozenset(
            ("aws", "event", "openinference", "strands", "opentelemetry", "amazon", "session")
        ),
        read=_read,
        rank=25,
    )
)
