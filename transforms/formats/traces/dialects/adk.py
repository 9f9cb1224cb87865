"""google-adk's own spans."""

from turnwise.schemas.jsonio import JsonValue
from turnwise.transforms.formats.traces.dialect import (
    SpanDialect,
    json_messages_at,
    only_messages_at,
    register_dialect,
    text_at,
    value_at,
)
from turnwise.transforms.formats.traces.message import AGENT, USER
from turnwise.transforms.formats.traces.span import TraceSpan
from turnwise.transforms.formats.traces.step import Kind, SpanStep
from turnwise.transforms.formats.traces.values import loaded

_SCOPE = "gcp.vertex.agent"
_NAMES: tuple[tuple[str, Kind], ...] = (
    ("invocation", "agent"),
    ("invoke_agent ", "agent"),
    ("invoke_workflow ", "agent"),
    ("agent_run ", "agent"),
    ("call_llm", "model"),
    ("execute_tool ", "tool"),
)
_FIRST_WORDS = tuple(name.partition(" ")[0] for name, _ in _NAMES)
_HIDDEN: tuple[JsonValue, ...] = ({}, {"result": "<not specified>"}, None)


def _read(span: TraceSpan, step: SpanStep) -> None:
    held, name = span.attributes, span.name
    step.kind = next((kind for start, kind in _NAMES if name.startswith(start)), None)
    if name == "invocation" or f"{_SCOPE}.event_id" in held or span.scope == _SCOPE:
        pass
    elif not any(key.startswith(_SCOPE) for key in held):
        step.kind = None
        return
    if step.kind == "agent" and name != "invocation":
        step.name = name.partition(" ")[2].strip("[]") or None
    if step.kind == "tool":
        step.name = name.removeprefix("execute_tool ")
        step.call_id = text_at(held, f"{_SCOPE}.tool_call_id")
        step.args = value_at(held, f"{_SCOPE}.tool_call_args")
        result = value_at(held, f"{_SCOPE}.tool_response")
        if result is not None and result not in _HIDDEN:
            step.result, step.has_result = result, True
        return
    step.input = only_messages_at(_stated(held.get(f"{_SCOPE}.llm_request")), USER)
    response = _stated(held.get(f"{_SCOPE}.llm_response"))
    step.output = json_messages_at(response, AGENT)
    if isinstance(response, dict):
        step.finish = text_at(response, "finish_reason")


def _stated(value: JsonValue) -> JsonValue:
    """Returns what an attribute spells; None where its content was not captured."""
    value = loaded(value)
    return None if value in _HIDDEN else value


register_dialect(
    SpanDialect(
        name="adk",
        prefixes=frozenset(("gcp",)),
        read=_read,
        rank=60,
        names=_FIRST_WORDS,
    )
)
