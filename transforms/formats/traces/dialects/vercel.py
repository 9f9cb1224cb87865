"""Vercel's AI SDK, versions 3 to 6."""

from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.formats.traces.dialect import (
    SpanDialect,
    json_messages_at,
    only_messages_at,
    register_dialect,
    text_at,
    usage_at,
    value_at,
)
from turnwise.transforms.formats.traces.message import AGENT, USER, SpanMessage
from turnwise.transforms.formats.traces.message_parts import add_calls
from turnwise.transforms.formats.traces.span import TraceSpan
from turnwise.transforms.formats.traces.step import Kind, SpanStep

_CALLS = (".doGenerate", ".doStream")
_TURNS = ("ai.generateText", "ai.streamText", "ai.generateObject", "ai.streamObject")
_OTHERS = ("ai.embed", "ai.rerank")
_USAGE = {
    "input_tokens": ("ai.usage.inputTokens", "ai.usage.promptTokens"),
    "output_tokens": ("ai.usage.outputTokens", "ai.usage.completionTokens"),
    "cached_tokens": ("ai.usage.cachedInputTokens",),
    "reasoning_tokens": ("ai.usage.reasoningTokens",),
}


def _kind(operation: str) -> Kind | None:
    if operation.endswith(_CALLS):
        return "model"
    if operation == "ai.toolCall":
        return "tool"
    if operation in _TURNS:
        return "agent"
    if operation.startswith(_OTHERS):
        return "other"
    return "chain" if operation.startswith("ai.") else None


def _read(span: TraceSpan, step: SpanStep) -> None:
    held = span.attributes
    operation = text_at(held, "ai.operationId") or ""
    step.kind = _kind(operation)
    if step.kind == "tool":
        step.name, step.call_id = text_at(held, "ai.toolCall.name"), text_at(held, "ai.toolCall.id")
        step.args = value_at(held, "ai.toolCall.args", "ai.toolCall.input")
        step.result = value_at(held, "ai.toolCall.result", "ai.toolCall.output")
        step.has_result = step.result is not None
    elif step.kind in ("model", "agent"):
        found = only_messages_at(held.get("ai.prompt.messages"), USER)
        if not found and "ai.prompt" in held:
            found = json_messages_at(held["ai.prompt"], USER)
        step.input = found
        step.output = _output(held)
        step.finish = text_at(held, "ai.response.finishReason", "ai.finishReason")
        names = ("ai.response.model", "ai.model.id") if step.kind == "model" else ("ai.telemetry.functionId",)
        step.name = text_at(held, *names)
        step.response_id = text_at(held, "ai.response.id")
        step.usage = usage_at(held, _USAGE) if step.kind == "model" else None


def _output(held: JsonObject) -> list[SpanMessage] | None:
    text = text_at(held, "ai.response.text", "ai.result.text", "ai.response.object", "ai.result.object")
    calls = value_at(held, "ai.response.toolCalls", "ai.result.toolCalls")
    found = SpanMessage(AGENT, [text] if text else [])
    add_calls(found, calls)
    return [found] if found.texts or found.calls or not found.is_read else None


register_dialect(SpanDialect(name="vercel_ai", prefixes=frozenset(("ai",)), read=_read, rank=50))
