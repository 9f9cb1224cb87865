"""OpenInference (Arize Phoenix)."""

from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.traces.dialect import (
    SpanDialect,
    json_messages_at,
    kind_at,
    messages_at,
    register_dialect,
    text_at,
    usage_at,
    value_at,
)
from turnwise.transforms.formats.traces.message import (
    AGENT,
    HIDDEN,
    HOSTED,
    PERHAPS_CHOICES,
    USER,
    SpanMessage,
)
from turnwise.transforms.formats.traces.message_parts import call_arguments
from turnwise.transforms.formats.traces.messages import first_of_several, only_messages, read_messages
from turnwise.transforms.formats.traces.numbered import numbered
from turnwise.transforms.formats.traces.span import TraceSpan
from turnwise.transforms.formats.traces.step import Kind, SpanStep
from turnwise.transforms.formats.traces.tool_results import tool_result

_KINDS: dict[str, Kind] = {
    **dict.fromkeys(("retriever", "embedding", "reranker", "guardrail", "evaluator", "prompt"), "other"),
    **{"llm": "model", "tool": "tool", "agent": "agent", "chain": "chain"},
}
_USAGE = {
    "input_tokens": ("llm.token_count.prompt",),
    "output_tokens": ("llm.token_count.completion",),
    "cached_tokens": ("llm.token_count.prompt_details.cache_read",),
    "reasoning_tokens": ("llm.token_count.completion_details.reasoning",),
}
_NAMES = {"model": ("llm.model_name",), "tool": ("tool.name",), "agent": ("agent.name", "graph.node.id")}
_PIECES = 5
_AUTOMATIC = "automatic_function_calling_history"
_NO_MODEL = frozenset(("openinference.span.kind", "input.value", "input.mime_type"))
"""Keys of a function that is marked as a model's, and states neither a model nor a reply."""


def _is_schema(value: JsonValue) -> bool:
    held = value if isinstance(value, dict) else {}
    return held.get("type") == "object" and isinstance(held.get("properties"), dict)


def _read(span: TraceSpan, step: SpanStep) -> None:
    held = span.attributes
    step.kind = kind_at(held.get("openinference.span.kind"), _KINDS)
    step.name = text_at(held, *_NAMES.get(step.kind or "", ("\0",)))
    if step.kind == "tool":
        step.name = step.name or span.name.removesuffix(".__call__")
        step.target = _target(step.name)
        _add_tool(held, step)
    elif step.kind == "model" and not span.error and held.keys() <= _NO_MODEL:
        step.kind = "other"
    elif step.kind == "model":
        step.input = _numbered(held, "llm.input_messages.", USER) or _value(held, "input", USER)
        step.output = _reply(held) or _value(held, "output", AGENT)
        step.usage = usage_at(held, _USAGE)
        if _AUTOMATIC in str(held.get("output.value")):
            # The tokens are those of the last of its requests alone.
            step.input, step.usage = _automatic(held) or step.input, None
        step.finish = text_at(held, "llm.finish_reason") or _finish(held)
    elif step.kind in ("agent", "chain"):
        step.input = _value(held, "input", USER)
        step.output = _reply(held) or _value(held, "output", AGENT)


def _add_tool(held: JsonObject, step: SpanStep) -> None:
    step.call_id = text_at(held, "tool.id", "tool_call.id", "tool.call_id")
    given, stated = value_at(held, "input.value"), value_at(held, "tool.parameters")
    if given is None and not _is_schema(stated):
        given = stated
    # The input of a hand-off is the agent that hands over.
    step.args = {} if step.target else call_arguments(given)
    value = value_at(held, "output.value")
    if value is not None:
        step.result, step.error = tool_result(value)
        step.has_result = True


def _value(held: JsonObject, name: str, role: str) -> list[SpanMessage] | None:
    is_json = held.get(f"{name}.mime_type") == "application/json"
    return (json_messages_at if is_json else messages_at)(held.get(f"{name}.value"), role)


def _finish(held: JsonObject) -> str | None:
    """Returns the finish reason in the reply itself, which the listed messages leave out."""
    return next((each.finish for each in reversed(_value(held, "output", AGENT) or ()) if each.finish), None)


def _reply(held: JsonObject) -> list[SpanMessage] | None:
    """Returns the reply; of a streamed one every piece is a message."""
    found = _numbered(held, "llm.output_messages.", AGENT)
    if found and len(found) == _choices(value_at(held, "output.value")):
        found = first_of_several(found)
    # Empty arguments are left out.
    stated = (
        _stated_hosted(held)
        if any(call.name in HOSTED for each in found or () for call in each.calls)
        else {}
    )
    is_hidden = any(
        isinstance(value, str) and value in HIDDEN
        for key, value in held.items()
        if key.endswith("function.arguments")
    )
    for each in found or ():
        for call in each.calls:
            call.is_hosted = call.name in HOSTED
            call.name = HOSTED.get(call.name or "", call.name)
            call.args = stated.get(call.id) if call.args is None and call.is_hosted else call.args
            if call.args is None and not is_hidden:
                call.args = {}
    if found and len(found) >= _PIECES and not any(each.calls for each in found):
        return [SpanMessage(AGENT, ["".join(each.text for each in found)])]
    is_divided = found is not None and len(found) > 1 and all(each.texts and not each.calls for each in found)
    if found and is_divided and "output.value" not in held:
        found[-1].parts.append(PERHAPS_CHOICES)
    return found


def _choices(reply: JsonValue) -> int:
    """Returns how many alternatives a model's reply holds."""
    held = (reply.get("choices") or reply.get("candidates")) if isinstance(reply, dict) else None
    return len(held) if isinstance(held, list) else 1


def _stated_hosted(held: JsonObject) -> dict[str | None, JsonValue]:
    """Returns the arguments of hosted tools by call, which stand in the reply alone."""
    messages = _value(held, "output", AGENT) or []
    return {call.id: call.args for each in messages for call in each.calls if call.is_hosted}


def _automatic(held: JsonObject) -> list[SpanMessage] | None:
    """Returns the messages up to the reply, with the calls that Google's SDK made by itself."""
    reply = value_at(held, "output.value")
    history = reply.get(_AUTOMATIC) if isinstance(reply, dict) else None
    return read_messages(history, USER) or None


def _numbered(held: JsonObject, prefix: str, role: str) -> list[SpanMessage] | None:
    return only_messages(numbered(held, prefix), role) or None


def _target(name: str) -> str | None:
    return name.removeprefix("handoff to ") if name.startswith("handoff to ") else None


register_dialect(
    SpanDialect(name="openinference", prefixes=frozenset(("openinference",)), read=_read, rank=20)
)
