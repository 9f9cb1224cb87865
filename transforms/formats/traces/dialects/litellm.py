"""LiteLLM's own callback: what was sent to the provider and what came back, under the provider's name."""

from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.formats.traces.dialect import SpanDialect, register_dialect, text_at, usage_at
from turnwise.transforms.formats.traces.message import AGENT, USER
from turnwise.transforms.formats.traces.messages import read_messages
from turnwise.transforms.formats.traces.span import TraceSpan
from turnwise.transforms.formats.traces.step import SpanStep
from turnwise.transforms.formats.traces.values import loaded

_NAME = "raw_gen_ai_request"
_DEPTH = 2
_USAGE = {
    "input_tokens": ("prompt_tokens", "input_tokens"),
    "output_tokens": ("completion_tokens", "output_tokens"),
}


def _read(span: TraceSpan, step: SpanStep) -> None:
    held = _of_provider(span.attributes)
    if span.name != _NAME or not held:
        return
    step.kind = "model"
    step.name, step.response_id = text_at(held, "model"), text_at(held, "id")
    step.input = read_messages(held.get("messages") or held.get("contents"), USER) or None
    reply = held.get("choices") or held.get("candidates")
    step.output = (
        read_messages(reply or {"role": AGENT, "content": loaded(held.get("content"))}, AGENT) or None
    )
    step.finish = next((each.finish for each in step.output or () if each.finish), None)
    usage = loaded(held.get("usage"))
    step.usage = usage_at(usage, _USAGE) if isinstance(usage, dict) else None


def _of_provider(attributes: JsonObject) -> JsonObject:
    """Returns the attributes `llm.PROVIDER.KEY` by their keys."""
    parts = ((key.split(".", _DEPTH), value) for key, value in attributes.items() if key.startswith("llm."))
    return {path[_DEPTH]: value for path, value in parts if len(path) > _DEPTH}


register_dialect(SpanDialect(name="litellm", prefixes=frozenset(), names=(_NAME,), read=_read, rank=60))
