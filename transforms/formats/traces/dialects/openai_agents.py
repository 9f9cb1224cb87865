"""Spans of the OpenAI Agents SDK's own export."""

from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.formats.traces.dialect import (
    SpanDialect,
    kind_at,
    messages_at,
    register_dialect,
    text_at,
    usage_at,
    value_at,
)
from turnwise.transforms.formats.traces.message import AGENT, USER
from turnwise.transforms.formats.traces.span import TraceSpan
from turnwise.transforms.formats.traces.step import Kind, SpanStep

_KINDS: dict[str, Kind] = {
    **{
        "agent": "agent",
        "function": "tool",
        "handoff": "handoff",
        "generation": "model",
        "response": "model",
    },
    **dict.fromkeys(("guardrail", "mcp_tools", "transcription", "speech", "speech_group"), "other"),
    **{"task": "chain", "turn": "chain", "custom": "chain"},
}
_USAGE = {
    "input_tokens": ("input_tokens", "prompt_tokens"),
    "output_tokens": ("output_tokens", "completion_tokens"),
    "cached_tokens": ("cached_tokens",),
    "reasoning_tokens": ("reasoning_tokens",),
}


def _read(span: TraceSpan, step: SpanStep) -> None:
    held: JsonObject = {key.removeprefix("openai_agents."): item for key, item in span.attributes.items()}
    step.kind = kind_at(held.get("type"), _KINDS)
    if step.kind == "tool":
        step.name, step.args, step.result = (
            text_at(held, "name"),
            value_at(held, "input"),
            value_at(held, "output"),
        )
        step.has_result = step.result is not None
    elif step.kind == "handoff":
        step.target = text_at(held, "to_agent")
    elif step.kind == "agent":
        step.name = text_at(held, "name")
    elif step.kind == "model":
        response = value_at(held, "response")
        output = response if isinstance(response, dict) else {}
        step.input = messages_at(held.get("input"), USER)
        step.output = messages_at(held.get("output") or output.get("output"), AGENT)
        step.name, step.response_id = text_at(held, "model"), text_at(held, "response_id")
        usage = value_at(held, "usage") or output.get("usage")
        step.usage = usage_at(usage, _USAGE) if isinstance(usage, dict) else None


register_dialect(
    SpanDialect(name="openai_agents", prefixes=frozenset(("openai_agents",)), read=_read, rank=5)
)
