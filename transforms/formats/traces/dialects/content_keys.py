"""Spans without a word for what they are: by the keys of their content."""

from turnwise.transforms.formats.traces.dialect import (
    SpanDialect,
    messages_at,
    register_dialect,
    text_at,
    value_at,
)
from turnwise.transforms.formats.traces.message import AGENT, USER
from turnwise.transforms.formats.traces.span import TraceSpan
from turnwise.transforms.formats.traces.step import SpanStep

_MODEL = ("gen_ai.request.model", "gen_ai.response.model", "gen_ai.input.messages", "gen_ai.prompt.0.role",
          "gen_ai.completion.0.role", "llm.model_name", "llm.input_messages.0.message.role")  # fmt: skip
_TOOL = ("gen_ai.tool.name", "gen_ai.tool.call.id")


def _read(span: TraceSpan, step: SpanStep) -> None:
    held = span.attributes
    name = text_at(held, *_TOOL)
    if name:
        step.kind, step.name = "tool", text_at(held, "gen_ai.tool.name")
        step.call_id = text_at(held, "gen_ai.tool.call.id")
        step.args = value_at(held, "gen_ai.tool.call.arguments")
        step.result = value_at(held, "gen_ai.tool.call.result")
        step.has_result = step.result is not None
    elif any(key in held for key in _MODEL):
        step.kind = "model"
        step.name = text_at(held, "gen_ai.response.model", "gen_ai.request.model", "llm.model_name")
        step.input = messages_at(held.get("gen_ai.prompt"), USER)
        step.output = messages_at(held.get("gen_ai.completion"), AGENT)


register_dialect(
    SpanDialect(
        name="content_keys", prefixes=frozenset(("gen_ai", "llm")), read=_read, rank=90, is_guess=True
    )
)
