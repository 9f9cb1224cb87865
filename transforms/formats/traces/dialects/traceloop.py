"""OpenLLMetry (Traceloop), with the numbered keys of its older versions."""

from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.traces.dialect import (
    SpanDialect,
    json_messages_at,
    kind_at,
    register_dialect,
    text_at,
    value_at,
)
from turnwise.transforms.formats.traces.dialects.standard import first_choice
from turnwise.transforms.formats.traces.message import AGENT, USER, SpanMessage
from turnwise.transforms.formats.traces.message_parts import call_arguments
from turnwise.transforms.formats.traces.messages import only_messages
from turnwise.transforms.formats.traces.numbered import has_numbered, numbered
from turnwise.transforms.formats.traces.span import TraceSpan
from turnwise.transforms.formats.traces.step import Kind, SpanStep
from turnwise.transforms.formats.traces.tool_results import tool_result

_KINDS: dict[str, Kind] = {
    **{"workflow": "agent", "agent": "agent", "task": "chain", "tool": "tool", "handoff": "handoff"},
    **{"chat": "model", "completion": "model", "embedding": "other", "rerank": "other"},
}
_NUMBERED = ("gen_ai.prompt.", "gen_ai.completion.")
_ENTITY_NAMES = ("gen_ai.agent.name", "gen_ai.tool.name", "traceloop.entity.name", "traceloop.workflow.name")


def _read(span: TraceSpan, step: SpanStep) -> None:
    held = span.attributes
    kind = held.get("traceloop.span.kind")
    step.kind = kind_at(held.get("llm.request.type") if kind is None else kind, _KINDS)
    if step.kind == "tool":
        step.name = text_at(held, *_ENTITY_NAMES[1:])
        step.args = call_arguments(value_at(held, "traceloop.entity.input"))
        result = value_at(held, "traceloop.entity.output")
        if result is not None:
            step.result, step.error = tool_result(result)
            step.has_result = True
    elif step.kind in ("agent", "chain"):
        step.name = text_at(held, *_ENTITY_NAMES)
        step.input = json_messages_at(_inputs(value_at(held, "traceloop.entity.input")), USER)
        step.output = json_messages_at(value_at(held, "traceloop.entity.output"), AGENT)
    elif has_numbered(held, _NUMBERED):
        step.input = _numbered(held, "gen_ai.prompt.", USER)
        step.output = first_choice(_numbered(held, "gen_ai.completion.", AGENT))
        step.finish = text_at(held, "gen_ai.completion.0.finish_reason")


def _numbered(held: JsonObject, prefix: str, role: str) -> list[SpanMessage] | None:
    return only_messages(numbered(held, prefix), role) or None


def _inputs(value: JsonValue) -> JsonValue:
    """Returns what a function was given: of arguments the only text, of which nothing else can be meant."""
    if not isinstance(value, dict) or not value.keys() & {"args", "kwargs"} or "inputs" in value:
        return value
    placed, named = value.get("args"), value.get("kwargs")
    given = [
        *(placed if isinstance(placed, list) else ()),
        *(named.values() if isinstance(named, dict) else ()),
    ]
    texts = [each for each in given if isinstance(each, str)]
    return texts[0] if len(texts) == 1 else None


register_dialect(
    SpanDialect(name="openllmetry", prefixes=frozenset(("traceloop", "llm", "gen_ai")), read=_read, rank=40)
)
