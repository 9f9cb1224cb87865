"""OpenTelemetry's conventions for generative AI, in all their generations."""

from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.messages.values import stated
from turnwise.transforms.formats.traces.dialect import (
    SpanDialect,
    kind_at,
    messages_at,
    only_messages_at,
    register_dialect,
    text_at,
    usage_at,
    value_at,
    with_system,
)
from turnwise.transforms.formats.traces.message import AGENT, UNKNOWN, USER, SpanMessage, is_spoken
from turnwise.transforms.formats.traces.message_parts import call_arguments
from turnwise.transforms.formats.traces.messages import first_of_several, read_messages
from turnwise.transforms.formats.traces.span import SpanEvent, TraceSpan
from turnwise.transforms.formats.traces.step import Kind, SpanStep
from turnwise.transforms.formats.traces.tool_results import tool_result
from turnwise.transforms.formats.traces.values import loaded

_KINDS: dict[str, Kind] = {
    **dict.fromkeys(("chat", "generate_content", "text_completion", "completion"), "model"),
    **dict.fromkeys(("invoke_agent", "invoke_workflow", "invoke_graph", "invoke_swarm"), "agent"),
    **dict.fromkeys(("agent_step", "chain"), "chain"),
    **dict.fromkeys(("handoff", "agent_handoff"), "handoff"),
    **dict.fromkeys(("embeddings", "retrieval", "create_agent"), "other"),
    "execute_tool": "tool",
    "tool": "tool",
}
_USAGE = {
    "input_tokens": ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),
    "output_tokens": ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
    "cached_tokens": ("gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens",
                      "gen_ai.usage.details.cache_read_tokens"),
    "reasoning_tokens": ("gen_ai.usage.reasoning.output_tokens", "gen_ai.usage.reasoning_tokens",
                         "gen_ai.usage.details.reasoning_tokens"),
}  # fmt: skip
_NAMES = {
    "tool": ("gen_ai.tool.name",),
    "agent": ("gen_ai.agent.name",),
    "model": ("gen_ai.response.model", "gen_ai.request.model"),
}
_DETAILS = ("gen_ai.client.inference.operation.details", "gen_ai.client.operation.details")
_CHOICE, _PROMPT, _COMPLETION = "gen_ai.choice", "gen_ai.content.prompt", "gen_ai.content.completion"


def _read(span: TraceSpan, step: SpanStep) -> None:
    held = span.attributes
    step.kind = kind_at(held.get("gen_ai.operation.name"), _KINDS)
    step.input = only_messages_at(held.get("gen_ai.input.messages"), USER)
    step.output = first_choice(only_messages_at(held.get("gen_ai.output.messages"), AGENT))
    if "gen_ai.system_instructions" in held:
        step.input = with_system(held["gen_ai.system_instructions"], step.input)
    for event in span.events:
        _add_event(event, step)
    if step.kind == "model":
        step.input = messages_at(held.get("gen_ai.prompt"), USER) if step.input is None else step.input
        step.output = (
            messages_at(held.get("gen_ai.completion"), AGENT) if step.output is None else step.output
        )
    if step.kind is None and span.is_log and any(_is_of_call(event.name) for event in span.events):
        step.kind = "model"
    step.name = text_at(held, *_NAMES.get(step.kind or "model", ()))
    step.target = text_at(held, "gen_ai.handoff.to_agent")
    step.response_id = text_at(held, "gen_ai.response.id")
    step.finish = _finish(
        held.get("gen_ai.response.finish_reasons", held.get("gen_ai.response.finish_reason"))
    )
    if step.kind == "tool":
        _add_tool(held, step)
    elif step.kind != "agent":
        step.usage = usage_at(held, _USAGE)


def _is_of_call(name: str) -> bool:
    return name in (*_DETAILS, _CHOICE) or (name.startswith("gen_ai.") and name.endswith(".message"))


def _add_tool(held: JsonObject, step: SpanStep) -> None:
    step.call_id = text_at(held, "gen_ai.tool.call.id")
    step.args = value_at(held, "gen_ai.tool.call.arguments", "input")
    if isinstance(step.args, dict) and "input_str" in step.args:
        step.args = call_arguments(step.args)
    result = value_at(held, "gen_ai.tool.call.result", "output")
    if step.input and step.args is None:
        call = next((call for message in step.input for call in message.calls), None)
        step.args = loaded(call.args if call else _first_content(step.input))
    if result is None and step.output:
        result = _first_content(step.output)
    if result is not None:
        is_wrapped = isinstance(result, dict) and result.keys() == {"output", "kwargs"}
        step.result, step.error = tool_result(result) if is_wrapped else (result, None)
        step.has_result = True
    if "error" in (held.get("gen_ai.tool.status"), held.get("tool.status")):
        step.error = True
    step.input = step.output = None


def _first_content(messages: list[SpanMessage]) -> JsonValue:
    """Returns the first result or text of some messages."""
    for message in messages:
        if message.results:
            return message.results[0].response
        if message.texts:
            return loaded(message.text)
    return None


def _add_event(event: SpanEvent, step: SpanStep) -> None:
    """Adds the messages of an event of a span, or of a log record."""
    name = event.name
    if not name.startswith("gen_ai."):
        return
    body = loaded(event.body)
    body = body if isinstance(body, dict) else {}
    stated = loaded(event.attributes.get("body"))
    held = {**(stated if isinstance(stated, dict) else {}), **body, **event.attributes}
    if name in _DETAILS:
        given = with_system(
            held.get("gen_ai.system_instructions"), only_messages_at(held.get("gen_ai.input.messages"), USER)
        )
        if step.input is None or (given and not is_spoken(step.input)):
            step.input = [*(step.input or []), *given] if given else given
        stated = only_messages_at(held.get("gen_ai.output.messages"), AGENT)
        step.output = step.output or first_choice(stated)
    elif name.endswith(".message") and (added := _message(name, held)):
        step.input = [*(step.input or []), *added]
    elif name == _CHOICE and not held.get("index") and (added := _message(name, held)):
        step.output = _with_choice(step.output or [], added)
    elif name == _PROMPT:
        step.input = step.input or messages_at(held.get("gen_ai.prompt"), USER)
    elif name == _COMPLETION:
        step.output = step.output or messages_at(held.get("gen_ai.completion"), AGENT)


def _with_choice(before: list[SpanMessage], added: list[SpanMessage]) -> list[SpanMessage]:
    """Returns a reply with one more event of its choice: a piece of it while no finish reason was stated."""
    if len(before) != 1 or len(added) != 1 or before[0].finish:
        return [*before, *added]
    one, other = before[0], added[0]
    return [
        SpanMessage(
            one.role if one.role == UNKNOWN else other.role,
            ["".join((*one.texts, *other.texts))] if one.texts or other.texts else [],
            [*one.calls, *other.calls],
            [*one.results, *other.results],
            [*one.parts, *other.parts],
            [*one.keys, *other.keys],
            one.stated_role or other.stated_role,
            other.finish,
        )
    ]


def first_choice(messages: list[SpanMessage] | None) -> list[SpanMessage] | None:
    """Returns the first of several alternative replies; parts of one reply as they are.

    Alternatives have a text and a finish reason each. Some writers divide one reply into messages, too.
    """
    if not messages or not all(each.finish and each.texts and not each.calls for each in messages):
        return messages
    return first_of_several(messages)


def _message(name: str, held: JsonObject) -> list[SpanMessage]:
    """Returns the message of an event: its content may be JSON, its role and calls may stand beside it."""
    inner = loaded(held.get("message"))
    value = {**held, **stated(inner)} if isinstance(inner, dict) else dict(held)
    if isinstance(inner, str | list):
        value["content"] = inner
    content = loaded(value.get("content"))
    value["content"] = content if isinstance(content, list) else value.get("content")
    value["tool_calls"] = loaded(value.get("tool_calls"))
    value.pop("message", None)
    return read_messages({**value, "event.name": name}, AGENT)


def _finish(value: JsonValue) -> str | None:
    value = loaded(value)
    last = value[-1] if isinstance(value, list) and value else value
    return last.removeprefix("FinishReason.") if isinstance(last, str) and last else None


register_dialect(
    SpanDialect(name="gen_ai", prefixes=frozenset(("gen_ai", "input", "output")), read=_read, rank=30)
)
