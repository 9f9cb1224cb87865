"""OpenTelemetry's conventions for generative AI, in all their generations."""

from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.messages import spellings
from turnwise.transforms.formats.messages.kinds import AGENT, HIDDEN, TOOL, USER
from turnwise.transforms.formats.messages.parts import (
    HOSTED,
    PERHAPS_CHOICES,
    UNKNOWN,
    SpanMessage,
    call_arguments,
    is_spoken,
)
from turnwise.transforms.formats.messages.streams import as_object, key_set, stated
from turnwise.transforms.formats.traces.calls import add_result
from turnwise.transforms.formats.traces.dialect import (
    Kind,
    SpanDialect,
    SpanStep,
    json_messages_at,
    kind_at,
    messages_at,
    only_messages_at,
    register_dialect,
    text_at,
    usage_at,
    value_at,
    with_system,
)
from turnwise.transforms.formats.traces.span import SpanEvent, TraceSpan, loaded, numbered

_STANDARD_KINDS: dict[str, Kind] = {
    **dict.fromkeys(("chat", "generate_content", "text_completion", "completion"), "model"),
    **dict.fromkeys(("invoke_agent", "invoke_workflow", "invoke_graph", "invoke_swarm"), "agent"),
    **dict.fromkeys(("agent_step", "chain"), "chain"),
    **dict.fromkeys(("handoff", "agent_handoff"), "handoff"),
    **dict.fromkeys(("embeddings", "retrieval", "create_agent"), "other"),
    "execute_tool": "tool",
    "tool": "tool",
}
_NAMES = {
    "tool": ("gen_ai.tool.name",),
    "agent": ("gen_ai.agent.name",),
    "model": ("gen_ai.response.model", "gen_ai.request.model"),
}
_DETAILS = ("gen_ai.client.inference.operation.details", "gen_ai.client.operation.details")
_CHOICE, _PROMPT, _COMPLETION = "gen_ai.choice", "gen_ai.content.prompt", "gen_ai.content.completion"


def _read_standard(span: TraceSpan, step: SpanStep) -> None:
    held = span.attributes
    step.kind = kind_at(held.get("gen_ai.operation.name"), _STANDARD_KINDS)
    step.input = only_messages_at(held.get("gen_ai.input.messages"), USER)
    step.output = _first_choice(only_messages_at(held.get("gen_ai.output.messages"), AGENT))
    if "gen_ai.system_instructions" in held:
        step.input = with_system(held["gen_ai.system_instructions"], step.input)
    for event in span.events:
        _add_event(event, step)
    if step.kind in ("model", "agent"):
        step.input = messages_at(held.get("gen_ai.prompt"), USER) if step.input is None else step.input
        step.output = (
            messages_at(held.get("gen_ai.completion"), AGENT) if step.output is None else step.output
        )
    if (
        step.kind is None
        and span.is_log
        and any(
            event.name in (*_DETAILS, _CHOICE)
            or (event.name.startswith("gen_ai.") and event.name.endswith(".message"))
            for event in span.events
        )
    ):
        step.kind = "model"
    step.name = text_at(held, *_NAMES.get(step.kind or "model", ()))
    step.target = text_at(held, "gen_ai.handoff.to_agent")
    step.response_id = text_at(held, "gen_ai.response.id")
    reasons = loaded(held.get("gen_ai.response.finish_reasons", held.get("gen_ai.response.finish_reason")))
    reason = reasons[-1] if isinstance(reasons, list) and reasons else reasons
    step.finish = (reason.removeprefix("FinishReason.") if isinstance(reason, str) else None) or None
    if step.kind == "tool":
        _add_tool(held, step)
    elif step.kind != "agent":
        step.usage = usage_at(held, "gen_ai.usage.")


def _add_tool(held: JsonObject, step: SpanStep) -> None:
    step.call_id = text_at(held, "gen_ai.tool.call.id")
    step.args = value_at(held, "gen_ai.tool.call.arguments", "input", "gen_ai.prompt")
    if isinstance(step.args, dict) and "input_str" in step.args:
        step.args = call_arguments(step.args)
    result = value_at(held, "gen_ai.tool.call.result", "output", "gen_ai.completion")
    if step.input and step.args is None:
        call = next((call for message in step.input for call in message.calls), None)
        step.args = loaded(call.args if call else _first_content(step.input))
    if result is None and step.output:
        result = _first_content(step.output)
    add_result(step, result)
    if "error" in (held.get("gen_ai.tool.status"), held.get("tool.status")):
        step.error = True
    step.input = step.output = None


def _first_content(messages: list[SpanMessage]) -> JsonValue:
    for message in messages:
        if message.results:
            return message.results[0].response
        if message.texts:
            return loaded(message.text)
    return None


def _add_event(event: SpanEvent, step: SpanStep) -> None:
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
        step.output = step.output or _first_choice(stated)
    elif name.endswith(".message") and (added := _message(name, held)):
        step.input = [*(step.input or []), *added]
    elif name == _CHOICE and not held.get("index"):
        if added := _message(name, held):
            step.output = _with_choice(step.output or [], added)
        else:
            # The last piece of a streamed reply may state nothing but why it ended.
            spellings.add_finish(step.output or [], held)
    elif name == _PROMPT:
        step.input = step.input or messages_at(held.get("gen_ai.prompt"), USER)
    elif name == _COMPLETION:
        step.output = step.output or messages_at(held.get("gen_ai.completion"), AGENT)


def _with_choice(before: list[SpanMessage], added: list[SpanMessage]) -> list[SpanMessage]:
    """Returns a reply with one more event of its choice: a piece of it while no finish reason was stated."""
    if len(before) != 1 or len(added) != 1 or before[0].finish:
        return [*before, *added]
    begun, other = before[0], added[0]
    return [
        SpanMessage(
            begun.role if begun.role == UNKNOWN else other.role,
            ["".join((*begun.texts, *other.texts))] if begun.texts or other.texts else [],
            [*begun.calls, *other.calls],
            [*begun.results, *other.results],
            [*begun.parts, *other.parts],
            [*begun.keys, *other.keys],
            begun.stated_role or other.stated_role,
            other.finish,
        )
    ]


def _first_choice(messages: list[SpanMessage] | None) -> list[SpanMessage] | None:
    """Returns the first of several alternative replies; parts of one reply as they are.

    Alternatives have a text and a finish reason each. Some writers divide one reply into messages, too.
    """
    if not messages or not all(
        message.finish and message.texts and not message.calls for message in messages
    ):
        return messages
    return spellings.first_of_several(messages)


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
    return spellings.read_messages({**value, "event.name": name}, AGENT)


# OpenLLMetry (Traceloop), with the numbered keys of its older versions.

_KINDS: dict[str, Kind] = {
    **{"workflow": "agent", "agent": "agent", "task": "chain", "tool": "tool", "handoff": "handoff"},
    **{"chat": "model", "completion": "model", "embedding": "other", "rerank": "other"},
}
_NUMBERED = ("gen_ai.prompt.", "gen_ai.completion.")
_ENTITY_NAMES = ("gen_ai.agent.name", "gen_ai.tool.name", "traceloop.entity.name", "traceloop.workflow.name")


def _read_openllmetry(span: TraceSpan, step: SpanStep) -> None:
    held = span.attributes
    kind = held.get("traceloop.span.kind")
    step.kind = kind_at(held.get("llm.request.type") if kind is None else kind, _KINDS)
    if step.kind == "tool":
        step.name = text_at(held, *_ENTITY_NAMES[1:])
        step.args = call_arguments(value_at(held, "traceloop.entity.input"))
        add_result(step, value_at(held, "traceloop.entity.output"))
    elif step.kind in ("agent", "chain"):
        step.name = text_at(held, *_ENTITY_NAMES)
        step.input = json_messages_at(_inputs(value_at(held, "traceloop.entity.input")), USER)
        step.output = json_messages_at(value_at(held, "traceloop.entity.output"), AGENT)
    elif any(key.startswith(_NUMBERED) for key in held):
        given, back = (_with_parts(numbered(held, prefix)) for prefix in _NUMBERED)
        step.input = spellings.only_messages(given, USER) or None
        step.output = _first_choice(spellings.only_messages(back, AGENT) or None)
        step.finish = text_at(held, "gen_ai.completion.0.finish_reason")


def _with_parts(messages: list[JsonValue]) -> list[JsonValue]:
    """Replaces a content that spells a list of parts by the parts, of any type; results may be any list."""
    for message in messages:
        if isinstance(message, dict) and message.get("role") != TOOL:
            parts = loaded(message.get("content"))
            if isinstance(parts, list) and parts and all(isinstance(p, dict) and "type" in p for p in parts):
                message["content"] = parts
    return messages


def _inputs(value: JsonValue) -> JsonValue:
    """Returns what a function was given: of arguments the only text, of which nothing else can be meant."""
    if not isinstance(value, dict) or not value.keys() & {"args", "kwargs"} or "inputs" in value:
        return value
    placed, named = value.get("args"), value.get("kwargs")
    given = [
        *(placed if isinstance(placed, list) else ()),
        *(named.values() if isinstance(named, dict) else ()),
    ]
    texts = [item for item in given if isinstance(item, str)]
    return texts[0] if len(texts) == 1 else None


# OpenInference (Arize Phoenix).

_OPENINFERENCE_KINDS: dict[str, Kind] = {
    **dict.fromkeys(("retriever", "embedding", "reranker", "guardrail", "evaluator", "prompt"), "other"),
    **{"llm": "model", "tool": "tool", "agent": "agent", "chain": "chain"},
}
_OPENINFERENCE_NAMES = {
    "model": ("llm.model_name",),
    "tool": ("tool.name",),
    "agent": ("agent.name", "graph.node.id"),
}
_PIECES = 5
_AUTOMATIC = "automatic_function_calling_history"
_NO_MODEL = frozenset(("openinference.span.kind", "input.value", "input.mime_type"))
"""Keys of a function that is marked as a model's, and states neither a model nor a reply."""


def _read_openinference(span: TraceSpan, step: SpanStep) -> None:
    held = span.attributes
    step.kind = kind_at(held.get("openinference.span.kind"), _OPENINFERENCE_KINDS)
    step.name = text_at(held, *_OPENINFERENCE_NAMES.get(step.kind or "", ("\0",)))
    if step.kind == "tool":
        step.name = step.name or span.name.removesuffix(".__call__")
        step.target = step.name.removeprefix("handoff to ") if step.name.startswith("handoff to ") else None
        _add_tool_openinference(held, step)
    elif step.kind == "model" and not span.error and held.keys() <= _NO_MODEL:
        step.kind = "other"
    elif step.kind == "model":
        step.input = _numbered(held, "llm.input_messages.", USER) or _value(held, "input", USER)
        step.output = _reply(held) or _value(held, "output", AGENT)
        step.usage = usage_at(held, "llm.token_count.")
        if _AUTOMATIC in str(held.get("output.value")):
            # Google's SDK made calls by itself; the tokens are those of the last of its requests alone.
            history = as_object(value_at(held, "output.value")).get(_AUTOMATIC)
            step.input, step.usage = spellings.read_messages(history, USER) or step.input, None
        step.finish = text_at(held, "llm.finish_reason") or next(
            (message.finish for message in reversed(_value(held, "output", AGENT) or ()) if message.finish),
            None,
        )
    elif step.kind in ("agent", "chain"):
        step.input = _value(held, "input", USER)
        step.output = _reply(held) or _value(held, "output", AGENT)


def _add_tool_openinference(held: JsonObject, step: SpanStep) -> None:
    step.call_id = text_at(held, "tool.id", "tool_call.id", "tool.call_id")
    given, stated = value_at(held, "input.value"), value_at(held, "tool.parameters")
    schema = as_object(stated)
    if given is None and not (schema.get("type") == "object" and isinstance(schema.get("properties"), dict)):
        given = stated
    # The input of a hand-off is the agent that hands over.
    step.args = {} if step.target else call_arguments(given)
    add_result(step, value_at(held, "output.value"))


def _value(held: JsonObject, name: str, role: str) -> list[SpanMessage] | None:
    is_json = held.get(f"{name}.mime_type") == "application/json"
    return (json_messages_at if is_json else messages_at)(held.get(f"{name}.value"), role)


def _reply(held: JsonObject) -> list[SpanMessage] | None:
    """Returns the reply; of a streamed one every piece is a message."""
    messages = _numbered(held, "llm.output_messages.", AGENT)
    reply = as_object(value_at(held, "output.value"))
    choices = reply.get("choices") or reply.get("candidates")
    if messages and len(messages) == (len(choices) if isinstance(choices, list) else 1):
        messages = spellings.first_of_several(messages)
    # Empty arguments are left out.
    calls = [call for message in messages or () for call in message.calls]
    is_hosted = any(call.name in HOSTED for call in calls)
    replies = (_value(held, "output", AGENT) or ()) if is_hosted else ()
    stated = {call.id: call.args for reply in replies for call in reply.calls if call.is_hosted}
    arguments = (item for key, item in held.items() if key.endswith("function.arguments"))
    is_hidden = any(isinstance(item, str) and item in HIDDEN for item in arguments)
    for call in calls:
        call.is_hosted = call.name in HOSTED
        call.name = HOSTED.get(call.name or "", call.name)
        call.args = stated.get(call.id) if call.args is None and call.is_hosted else call.args
        if call.args is None and not is_hidden:
            call.args = {}
    if messages and len(messages) >= _PIECES and not any(earlier.calls for earlier in messages):
        return [SpanMessage(AGENT, ["".join(earlier.text for earlier in messages)])]
    is_divided = (
        messages is not None
        and len(messages) > 1
        and all(earlier.texts and not earlier.calls for earlier in messages)
    )
    if messages and is_divided and "output.value" not in held:
        messages[-1].parts.append(PERHAPS_CHOICES)
    return messages


def _numbered(held: JsonObject, prefix: str, role: str) -> list[SpanMessage] | None:
    return spellings.only_messages(numbered(held, prefix), role) or None


# AWS Distro for OpenTelemetry: the messages of a span are cut out into one log record a span.


def _read_llo(span: TraceSpan, step: SpanStep) -> None:
    for event in span.events:
        body = event.body
        if isinstance(body, dict) and body and body.keys() <= {"input", "output"}:
            _add(_content(body.get("input")), _content(body.get("output")), step)
            if not span.is_log and not span.attributes.keys() <= {"event.name", "session.id"}:
                step.kind = None


def _add(given: list[JsonValue], back: list[JsonValue], step: SpanStep) -> None:
    """Adds what a record says; what it is, is told by the shape of its output."""
    entered, left = given[0] if len(given) == 1 else given, back[0] if len(back) == 1 else back
    if isinstance(left, dict) and left.get("type") == "tool":
        step.kind, step.args = "tool", entered
        name, call_id = left.get("name"), left.get("tool_call_id")
        step.name = name if isinstance(name, str) else None
        step.call_id = call_id if isinstance(call_id, str) else None
        add_result(step, left)
    elif isinstance(left, dict) and "generations" in left:
        step.kind = "model"
        step.input, step.output = messages_at(entered, USER), messages_at(left["generations"], AGENT)
    elif left == "__end__" or (isinstance(entered, dict) and "remaining_steps" in entered):
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
    return [loaded(message.get("content")) if isinstance(message, dict) else message for message in messages]


# Spans without a word for what they are: by the keys of their content.

_MODEL = ("gen_ai.request.model", "gen_ai.response.model", "gen_ai.input.messages", "gen_ai.prompt.0.role",
          "gen_ai.prompt", "gen_ai.completion", "gen_ai.completion.0.role", "llm.model_name",
          "llm.input_messages.0.message.role")  # fmt: skip
_TOOL = ("gen_ai.tool.name", "gen_ai.tool.call.id")


def _read_content_keys(span: TraceSpan, step: SpanStep) -> None:
    held = span.attributes
    name = text_at(held, *_TOOL)
    if name:
        step.kind, step.name = "tool", text_at(held, "gen_ai.tool.name")
        step.call_id = text_at(held, "gen_ai.tool.call.id")
        step.args = value_at(held, "gen_ai.tool.call.arguments")
        add_result(step, value_at(held, "gen_ai.tool.call.result"))
    elif any(key in held for key in _MODEL):
        step.kind = "model"
        step.name = text_at(held, "gen_ai.response.model", "gen_ai.request.model", "llm.model_name")
        step.input = messages_at(held.get("gen_ai.prompt"), USER)
        step.output = messages_at(held.get("gen_ai.completion"), AGENT)


for name, rank, prefixes, read, is_guess in (
    ("openinference", 20, "openinference", _read_openinference, False),
    ("aws_distro", 25, "aws event openinference strands opentelemetry amazon session", _read_llo, False),
    ("gen_ai", 30, "gen_ai input output", _read_standard, False),
    ("openllmetry", 40, "traceloop llm gen_ai", _read_openllmetry, False),
    ("content_keys", 90, "gen_ai llm", _read_content_keys, True),
):
    register_dialect(
        SpanDialect(name=name, prefixes=key_set(prefixes), read=read, rank=rank, is_guess=is_guess)
    )
