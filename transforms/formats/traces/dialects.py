"""How writers spell model calls, tool calls and agents in the attributes of spans: one object a dialect."""

import re
from collections.abc import Callable
from functools import lru_cache

from turnwise.schemas.jsonio import JsonObject, JsonValue, dump_json
from turnwise.transforms.formats.messages import parts, spellings
from turnwise.transforms.formats.messages.kinds import (
    AGENT,
    HIDDEN,
    SYSTEM,
    TOOL,
    USER,
    as_object,
    first_of,
    key_set,
    objects_in,
    stated,
)
from turnwise.transforms.formats.messages.spellings import read_messages
from turnwise.transforms.formats.traces.dialect import (
    LABELLED,
    WORK,
    Kind,
    SpanDialect,
    SpanStep,
    add_result,
    json_messages_at,
    kind_at,
    messages_at,
    only_messages_at,
    tags_of,
    text_at,
    usage_at,
    value_at,
    with_system,
    words_of,
)
from turnwise.transforms.formats.traces.span import (
    ADK_EVENTS,
    CUT,
    NO_END,
    SpanEvent,
    TraceSpan,
    loaded,
    numbered,
)

_GEN_AI_NAMES = {
    "tool": ("gen_ai.tool.name",),
    "agent": ("gen_ai.agent.name",),
    "model": ("gen_ai.response.model", "gen_ai.request.model"),
}
_OF_MODEL = re.compile(r"gen_ai\.(choice|client(\.inference)?\.operation\.details|(.*\.)?message)", re.DOTALL)
_EVENT_BODY = "gen_ai.event.content"
"""Attribute in which Azure's SDKs hold the body of an event."""


def _read_standard(span: TraceSpan, step: SpanStep) -> None:
    held = span.attributes
    step.kind = kind_at(held.get("gen_ai.operation.name"))
    # Semantic Kernel had keys of its own until 1.37.
    given = first_of(held, ("gen_ai.input.messages", "gen_ai.agent.invocation_input"))
    back = first_of(held, ("gen_ai.output.messages", "gen_ai.agent.invocation_output"))
    step.input = only_messages_at(given, USER)
    step.output = _first_choice(only_messages_at(back, AGENT))
    if "gen_ai.system_instructions" in held:
        step.input = with_system(held["gen_ai.system_instructions"], step.input)
    if held.get("gen_ai.operation.name") == "conversation":
        # The messages of AG2's chats have the roles that they have for the agent that opened them.
        step.output = None
    step.user = text_at(held, "ag2.human_input.response")
    for event in span.events:
        _add_event(event, step)
    if step.kind in ("model", "agent"):
        if step.input is None:
            step.input = messages_at(held.get("gen_ai.prompt"), USER)
        if step.output is None:
            step.output = messages_at(held.get("gen_ai.completion"), AGENT)
    if step.kind is None and span.is_log and any(_OF_MODEL.fullmatch(event.name) for event in span.events):
        step.kind = "model"
    step.name = text_at(held, *_GEN_AI_NAMES.get(step.kind or "model", ()))
    step.target = text_at(held, "gen_ai.handoff.to_agent")
    step.response_id = text_at(held, "gen_ai.response.id")
    reasons = loaded(held.get("gen_ai.response.finish_reasons", held.get("gen_ai.response.finish_reason")))
    reason = reasons[-1] if isinstance(reasons, list) and reasons else reasons
    step.finish = (reason.removeprefix("FinishReason.") if isinstance(reason, str) else None) or None
    if step.kind == "tool":
        step.call_id = text_at(held, "gen_ai.tool.call.id")
        step.args = value_at(held, "gen_ai.tool.call.arguments", "input", "gen_ai.prompt")
        if isinstance(step.args, dict) and "input_str" in step.args:
            step.args = parts.call_arguments(step.args)
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
    elif step.kind != "agent":
        step.usage = usage_at(held, "gen_ai.usage.")


def _first_content(messages: list[parts.SpanMessage]) -> JsonValue:
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
    content = loaded(event.attributes.get(_EVENT_BODY))
    bodies = (loaded(event.attributes.get("body")), content, loaded(event.body))
    held = {key: item for body in bodies if isinstance(body, dict) for key, item in body.items()}
    held |= event.attributes
    if isinstance(content, dict):
        del held[_EVENT_BODY]
    if name in ("gen_ai.client.inference.operation.details", "gen_ai.client.operation.details"):
        given = only_messages_at(held.get("gen_ai.input.messages"), USER)
        given = with_system(held.get("gen_ai.system_instructions"), given)
        if step.input is None or (given and not parts.is_spoken(step.input)):
            step.input = [*(step.input or []), *given] if given else given
        output = only_messages_at(held.get("gen_ai.output.messages"), AGENT)
        step.output = step.output or _first_choice(output)
    elif name.endswith(".message") and (added := _message(name, held)):
        step.input = [*(step.input or []), *added]
    elif name == "gen_ai.choice" and not held.get("index"):
        added, before = _message(name, held), step.output or []
        if not added:
            # The last piece of a streamed reply may state nothing but why it ended.
            spellings.add_finish(before, held)
        elif len(before) != 1 or len(added) != 1 or before[0].finish:
            step.output = [*before, *added]
        else:
            # It is a piece of the reply while no finish reason was stated.
            begun, other = before[0], added[0]
            role = begun.role if begun.role == parts.UNKNOWN else other.role
            texts = ["".join((*begun.texts, *other.texts))] if begun.texts or other.texts else []
            whole = parts.SpanMessage(role, texts, finish=other.finish)
            whole.stated_role = begun.stated_role or other.stated_role
            for field in ("calls", "results", "parts", "keys"):
                setattr(whole, field, [*getattr(begun, field), *getattr(other, field)])
            step.output = [whole]
    elif name == "gen_ai.content.prompt":
        step.input = step.input or messages_at(held.get("gen_ai.prompt"), USER)
    elif name == "gen_ai.content.completion":
        step.output = step.output or messages_at(held.get("gen_ai.completion"), AGENT)


def _first_choice(messages: list[parts.SpanMessage] | None) -> list[parts.SpanMessage] | None:
    """Returns the first of several alternative replies; parts of one reply as they are."""
    # Alternatives have a text and a finish reason each. Some writers divide one reply into messages, too.
    if messages and all(message.finish and message.texts and not message.calls for message in messages):
        return spellings.first_of_several(messages)
    return messages


def _message(name: str, held: JsonObject) -> list[parts.SpanMessage]:
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

_NUMBERED = ("gen_ai.prompt.", "gen_ai.completion.")
_ENTITY_NAMES = ("gen_ai.agent.name", "gen_ai.tool.name", "traceloop.entity.name", "traceloop.workflow.name")


def _read_openllmetry(span: TraceSpan, step: SpanStep) -> None:
    held = span.attributes
    kind = held.get("traceloop.span.kind")
    step.kind = kind_at(held.get("llm.request.type") if kind is None else kind)
    if step.kind == "tool":
        step.name = text_at(held, *_ENTITY_NAMES[1:])
        step.args = parts.call_arguments(value_at(held, "traceloop.entity.input"))
        add_result(step, value_at(held, "traceloop.entity.output"))
    elif step.kind in ("agent", "chain"):
        step.name = text_at(held, *_ENTITY_NAMES)
        given = value_at(held, "traceloop.entity.input")
        if isinstance(given, dict) and given.keys() & {"args", "kwargs"} and "inputs" not in given:
            # Of the arguments of a function the only text, of which nothing else can be meant.
            placed = given.get("args")
            values = (*(placed if isinstance(placed, list) else ()), *as_object(given.get("kwargs")).values())
            texts = [item for item in values if isinstance(item, str)]
            given = texts[0] if len(texts) == 1 else None
            step.args = texts if len(texts) > 1 else None
        step.input = json_messages_at(given, USER)
        step.output = json_messages_at(value_at(held, "traceloop.entity.output"), AGENT)
    elif any(key.startswith(_NUMBERED) for key in held):
        asked, back = (numbered(held, prefix) for prefix in _NUMBERED)
        for message in objects_in([*asked, *back]):
            # A content may spell a list of parts, of any type; results may be any list.
            spelt = loaded(message.get("content")) if message.get("role") != TOOL else None
            if isinstance(spelt, list) and spelt and all(isinstance(p, dict) and "type" in p for p in spelt):
                message["content"] = spelt
        step.input = spellings.only_messages(asked, USER) or None
        step.output = _first_choice(spellings.only_messages(back, AGENT) or None)
        step.finish = text_at(held, "gen_ai.completion.0.finish_reason")


# OpenInference (Arize Phoenix).

_NAME_KEYS = {"model": ("llm.model_name",), "tool": ("tool.name",), "agent": ("agent.name", "graph.node.id")}
_AUTOMATIC = "automatic_function_calling_history"
_NO_MODEL = {"openinference.span.kind", "input.value", "input.mime_type"}  # states no model and no reply


def _read_openinference(span: TraceSpan, step: SpanStep) -> None:
    held = span.attributes
    step.kind = kind_at(held.get("openinference.span.kind"))
    step.name = text_at(held, *_NAME_KEYS.get(step.kind or "", ("\0",)))
    if step.kind == "tool":
        step.name = step.name or span.name.removesuffix(".__call__")
        step.target = step.name.removeprefix("handoff to ") if step.name.startswith("handoff to ") else None
        step.call_id = text_at(held, "tool.id", "tool_call.id", "tool.call_id")
        given, stated = value_at(held, "input.value"), value_at(held, "tool.parameters")
        schema = as_object(stated)
        is_schema = schema.get("type") == "object" and isinstance(schema.get("properties"), dict)
        made = parts.call_arguments(stated if given is None and not is_schema else given)
        step.args = {} if step.target else made  # the input of a hand-off is the agent that hands over
        add_result(step, value_at(held, "output.value"))
    elif step.kind == "model" and not span.error and held.keys() <= _NO_MODEL:
        step.kind = "other"
    elif step.kind == "model":
        given = numbered(held, "llm.input_messages.")
        step.input = spellings.only_messages(given, USER) or _value(held, "input", USER)
        left = _value(held, "output", AGENT)
        step.output = _reply(held) or left
        step.usage = usage_at(held, "llm.token_count.")
        if _AUTOMATIC in str(held.get("output.value")):
            # Google's SDK made calls by itself; the tokens are those of the last of its requests alone.
            history = as_object(value_at(held, "output.value")).get(_AUTOMATIC)
            step.input, step.usage = spellings.read_messages(history, USER) or step.input, None
        step.finish = text_at(held, "llm.finish_reason") or parts.finish_of(left or ())
    elif step.kind in ("agent", "chain"):
        step.input = _value(held, "input", USER)
        step.output = _reply(held) or _value(held, "output", AGENT)


def _value(held: JsonObject, name: str, role: str) -> list[parts.SpanMessage] | None:
    is_json = held.get(f"{name}.mime_type") == "application/json"
    return (json_messages_at if is_json else messages_at)(held.get(f"{name}.value"), role)


def _reply(held: JsonObject) -> list[parts.SpanMessage]:
    """Returns the reply; of a streamed one every piece is a message."""
    messages = spellings.only_messages(numbered(held, "llm.output_messages."), AGENT)
    reply = as_object(value_at(held, "output.value"))
    choices = reply.get("choices") or reply.get("candidates")
    if messages and len(messages) == (len(choices) if isinstance(choices, list) else 1):
        messages = spellings.first_of_several(messages)
    # Empty arguments are left out.
    calls = [call for message in messages for call in message.calls]
    is_hosted = any(call.name in spellings.HOSTED_ITEMS for call in calls)
    replies = (_value(held, "output", AGENT) or ()) if is_hosted else ()
    stated = {call.id: call.args for reply in replies for call in reply.calls if call.is_hosted}
    arguments = (item for key, item in held.items() if key.endswith("function.arguments"))
    is_hidden = any(isinstance(item, str) and item in HIDDEN for item in arguments)
    for call in calls:
        call.is_hosted = call.name in spellings.HOSTED_ITEMS
        call.name = call.name.removesuffix("_call") if call.name and call.is_hosted else call.name
        call.args = stated.get(call.id) if call.args is None and call.is_hosted else call.args
        if call.args is None and not is_hidden:
            call.args = {}
    if len(messages) >= 5 and not any(earlier.calls for earlier in messages):
        return [parts.SpanMessage(AGENT, ["".join(earlier.text for earlier in messages)])]
    is_divided = len(messages) > 1 and "output.value" not in held
    if is_divided and all(earlier.texts and not earlier.calls for earlier in messages):
        messages[-1].parts.append(parts.PERHAPS_CHOICES)
    return messages


# AWS Distro for OpenTelemetry: the messages of a span are cut out into one log record a span.
def _read_llo(span: TraceSpan, step: SpanStep) -> None:
    for event in span.events:
        body = event.body
        if not (isinstance(body, dict) and body and body.keys() <= {"input", "output"}):
            continue
        # What the record is, is told by the shape of its output.
        entered, left = (_content(body.get(side)) for side in ("input", "output"))
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
        if not span.is_log and not span.attributes.keys() <= {"event.name", "session.id"}:
            step.kind = None


def _content(side: JsonValue) -> JsonValue:
    messages = as_object(side).get("messages")
    if isinstance(messages, list) and len(messages) == 1:
        return loaded(messages[0].get("content")) if isinstance(messages[0], dict) else messages[0]
    return (messages or []) if isinstance(messages, list | None) else loaded(messages)


# Spans without a word for what they are: by the keys of their content.

_MODEL = ("gen_ai.request.model", "gen_ai.response.model", "gen_ai.input.messages", "gen_ai.prompt.0.role",
          "gen_ai.prompt", "gen_ai.completion", "gen_ai.completion.0.role", "llm.model_name",
          "llm.input_messages.0.message.role")  # fmt: skip


def _read_content_keys(span: TraceSpan, step: SpanStep) -> None:
    held = span.attributes
    name, call_id = text_at(held, "gen_ai.tool.name"), text_at(held, "gen_ai.tool.call.id")
    if name or call_id:
        step.kind, step.name, step.call_id = "tool", name, call_id
        step.args = value_at(held, "gen_ai.tool.call.arguments")
        add_result(step, value_at(held, "gen_ai.tool.call.result"))
    elif any(key in held for key in _MODEL):
        step.kind = "model"
        step.name = text_at(held, "gen_ai.response.model", "gen_ai.request.model", "llm.model_name")
        step.input = messages_at(held.get("gen_ai.prompt"), USER)
        step.output = messages_at(held.get("gen_ai.completion"), AGENT)


# Exporters of products: LangSmith, Langfuse, MLflow and others.

_OF_LANGSMITH = "langsmith.span.kind"
"""Key of LangSmith's kinds. It wraps what a function returned, unless that is an object."""
_OF_LANGFUSE = "langfuse.observation.type"


def _reader(
    kind_key: str,
    given: tuple[str, ...],
    back: tuple[str, ...],
    names: tuple[str, ...],
    usage_key: str,
    messages: Callable[[JsonValue, str], list[parts.SpanMessage] | None] = json_messages_at,
) -> Callable[[TraceSpan, SpanStep], None]:
    """Returns the reader of an exporter that states kind, input and output under keys of its own."""

    def read(span: TraceSpan, step: SpanStep) -> None:
        held = span.attributes
        named_kind = value_at(held, kind_key)
        step.kind = kind_at(named_kind)
        if step.kind is None:
            if kind_key == _OF_LANGFUSE and named_kind and str(named_kind).lower() != "span":
                step.unread = f"observations of the type {str(named_kind)[:60]!r}"
            return
        step.name = text_at(held, *names)
        if step.kind != "model":
            # MLflow states the name apart for LlamaIndex; DSPy calls a span `Tool.NAME`.
            named = loaded(held.get("name")) if "mlflow.spanType" in held else None
            named = named if isinstance(named, str) and named else span.name.removeprefix("Tool.")
            step.name = text_at(held, "gen_ai.tool.name", "tool.name") or named or None
        entered, left = value_at(held, *given), value_at(held, *back)
        if entered == {"content": "role"}:
            # LangSmith's wrapper of the Claude Agent SDK writes it of all model calls but the first.
            entered, step.unread = None, "inputs in which the name of a key stands in place of a message"
        if step.kind == "tool":
            call, answer = _message_of(entered), _message_of(left)
            if call and len(call.calls) == 1:
                # The model's message stands in place of the arguments.
                step.name, step.call_id, entered = call.calls[0].name, call.calls[0].id, call.calls[0].args
            if answer and len(answer.results) == 1:
                step.call_id, left = answer.results[0].id or step.call_id, answer.results[0].response
            step.call_id = text_at(held, "langsmith.call_id", "gen_ai.tool.call.id") or step.call_id
            is_wrapped = kind_key == _OF_LANGSMITH and isinstance(left, dict) and left.keys() == {"output"}
            is_missing = left == {} and span.error
            only = value_at(entered, "input") if isinstance(entered, dict) and len(entered) == 1 else None
            step.args = parts.call_arguments(only if isinstance(only, dict) else entered)
            add_result(step, None if is_missing else left["output"] if is_wrapped else left)
        elif step.kind != "other":
            step.input, step.output = messages(entered, USER), messages(left, AGENT)
            step.usage = usage_at(value_at(held, usage_key)) if step.kind == "model" else None
        if kind_key == _OF_LANGFUSE and held.get("langfuse.observation.level") == "ERROR":
            step.error = text_at(held, "langfuse.observation.status_message") or "error"

    return read


def _message_of(value: JsonValue) -> parts.SpanMessage | None:
    is_one = isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict) and "role" in value[0]
    messages = json_messages_at(value, USER) if is_one else None
    return messages[0] if messages and len(messages) == 1 else None


_LANGSMITH = _reader(
    _OF_LANGSMITH, ("langsmith.inputs", "gen_ai.prompt"), ("langsmith.outputs", "gen_ai.completion"),
    ("gen_ai.response.model", "gen_ai.request.model"), "langsmith.usage",
)  # fmt: skip
_LANGFUSE = _reader(
    _OF_LANGFUSE, ("langfuse.observation.input", "input.value", "gen_ai.prompt"),
    ("langfuse.observation.output", "output.value", "gen_ai.completion"),
    ("langfuse.observation.model.name", "gen_ai.request.model"), "langfuse.observation.usage_details",
    messages_at,
)  # fmt: skip
_MLFLOW = _reader(
    "mlflow.spanType", ("mlflow.spanInputs",), ("mlflow.spanOutputs",), ("mlflow.llm.model",),
    "mlflow.chat.tokenUsage",
)  # fmt: skip


# Vercel's AI SDK, versions 3 to 6.
def _read_vercel(span: TraceSpan, step: SpanStep) -> None:
    held = span.attributes
    operation = text_at(held, "ai.operationId") or ""
    if operation.endswith((".doGenerate", ".doStream")):
        step.kind = "model"
    elif operation == "ai.toolCall":
        step.kind = "tool"
    elif operation in ("ai.generateText", "ai.streamText", "ai.generateObject", "ai.streamObject"):
        step.kind = "agent"
    elif operation.startswith("ai."):
        step.kind = "other" if operation.startswith(("ai.embed", "ai.rerank")) else "chain"
    if step.kind == "tool":
        step.name, step.call_id = text_at(held, "ai.toolCall.name"), text_at(held, "ai.toolCall.id")
        step.args = value_at(held, "ai.toolCall.args", "ai.toolCall.input")
        add_result(step, value_at(held, "ai.toolCall.result", "ai.toolCall.output"))
    elif step.kind in ("model", "agent"):
        step.input = only_messages_at(held.get("ai.prompt.messages"), USER)
        if not step.input and "ai.prompt" in held:
            step.input = json_messages_at(held["ai.prompt"], USER)
        text = text_at(held, "ai.response.text", "ai.result.text", "ai.response.object", "ai.result.object")
        reply = parts.SpanMessage(AGENT)
        parts.add_text(reply, text)
        parts.add_calls(reply, value_at(held, "ai.response.toolCalls", "ai.result.toolCalls"))
        step.output = [reply] if reply.texts or reply.calls or not reply.is_read else None
        step.finish = text_at(held, "ai.response.finishReason", "ai.finishReason")
        names = ("ai.response.model", "ai.model.id") if step.kind == "model" else ("ai.telemetry.functionId",)
        step.name = text_at(held, *names)
        step.response_id = text_at(held, "ai.response.id")
        step.usage = usage_at(held, "ai.usage.") if step.kind == "model" else None


# Pydantic AI and Logfire, beside what they write in OpenTelemetry's conventions.

_RUNS = ("pydantic_ai.all_messages", "all_messages_events", "all_messages_json", "all_messages")
_FIRST_WORDS = (
    "pydantic_ai agent_name events tool_arguments tool_response final_result request_data response_data "
    "all_messages_events all_messages_json all_messages"
)


def _read_pydantic_ai(span: TraceSpan, step: SpanStep) -> None:
    held = span.attributes
    run = value_at(held, *_RUNS)
    if run is not None or text_at(held, "agent_name"):
        step.kind, step.name = "agent", text_at(held, "agent_name", "gen_ai.agent.name")
        messages = json_messages_at(run, USER)
        # The messages of a run, up to the last that a user wrote.
        last = max((index for index, message in enumerate(messages or ()) if message.is_users), default=None)
        step.input = messages and (None if last is None else messages[: last + 1])
        answer = held.get("final_result")
        step.output = messages_at(answer, AGENT)
        if not step.output and answer not in (None, ""):
            # An answer that is JSON is its text.
            text = answer if isinstance(answer, str) else dump_json(answer).decode()
            step.output = [parts.SpanMessage(AGENT, [text])]
    elif "tool_arguments" in held or "tool_response" in held or span.name.startswith("running tool"):
        step.kind, step.name = "tool", text_at(held, "gen_ai.tool.name")
        step.args = value_at(held, "tool_arguments")
        add_result(step, value_at(held, "tool_response"))
        step.call_id = text_at(held, "gen_ai.tool.call.id")
    elif "events" in held:
        messages = only_messages_at(held["events"], USER)
        step.kind = "model"
        is_choice = [{}, *objects_in(value_at(held, "events"))][-1].get("event.name") == "gen_ai.choice"
        step.input, step.output = messages, None if messages else messages
        if is_choice and messages:
            step.input, step.output = messages[:-1] or None, messages[-1:]
    elif "request_data" in held:
        step.kind = "model"
        step.input = json_messages_at(held["request_data"], USER)
        step.output = json_messages_at(held.get("response_data"), AGENT)
        step.usage = usage_at(as_object(value_at(held, "response_data")).get("usage"))


# Spans of the OpenAI Agents SDK's own export.
def _read_openai_agents(span: TraceSpan, step: SpanStep) -> None:
    held: JsonObject = {key.removeprefix("openai_agents."): item for key, item in span.attributes.items()}
    step.kind = kind_at(held.get("type"))
    if step.kind == "tool":
        step.name, step.args = text_at(held, "name"), value_at(held, "input")
        add_result(step, value_at(held, "output"))
    elif step.kind == "handoff":
        step.target = text_at(held, "to_agent")
    elif step.kind == "agent":
        step.name = text_at(held, "name")
    elif step.kind == "model":
        output = as_object(value_at(held, "response"))
        step.input = messages_at(held.get("input"), USER)
        step.output = messages_at(held.get("output") or output.get("output"), AGENT)
        step.name, step.response_id = text_at(held, "model"), text_at(held, "response_id")
        step.usage = usage_at(value_at(held, "usage") or output.get("usage"))


# LiteLLM's own callback: what was sent to the provider and what came back, under the provider's name.

_NAME = "raw_gen_ai_request"


def _read_litellm(span: TraceSpan, step: SpanStep) -> None:
    # The attributes are `llm.PROVIDER.KEY`.
    paths = ((key.split(".", 2), item) for key, item in span.attributes.items() if key.startswith("llm."))
    held = {path[2]: item for path, item in paths if len(path) > 2}
    if span.name != _NAME or not held:
        return
    step.kind = "model"
    step.name, step.response_id = text_at(held, "model"), text_at(held, "id")
    step.input = read_messages(held.get("messages") or held.get("contents"), USER) or None
    reply = held.get("choices") or held.get("candidates")
    reply = reply or {"role": AGENT, "content": loaded(held.get("content"))}
    step.output = read_messages(reply, AGENT) or None
    step.finish = next((message.finish for message in step.output or () if message.finish), None)
    step.usage = usage_at(loaded(held.get("usage")))


# BeeAI, whose every event is a span: the start of a call, how it ended, and what an agent was told of it.
def _read_beeai(span: TraceSpan, step: SpanStep) -> None:
    held = span.attributes
    target = span.name.rpartition("-")[0]
    # A long reply of a model leaves no room for `target` among the attributes.
    if "beeai" not in span.scope and held.get("target", "") != target:
        return
    path, _, event = target.rpartition(".")
    if path.partition(".")[0] in ("tool", "backend"):
        if event not in ("start", "success", "error"):
            step.kind = "other"
            return
        step.event = "start" if event == "start" else "end"
        if path.startswith("tool."):
            step.kind, step.name = "tool", path.rpartition(".")[2]
    elif target == "agent.react.update" and "tool.name" in held and "output.value" in held:
        step.kind, step.name, step.event = "tool", text_at(held, "tool.name"), "told"
        step.args = parts.call_arguments(value_at(held, "tool.parameters"))
        add_result(step, value_at(held, "output.value"))


# Rows of google-adk's BigQuery plugin, by span.

_ADK_EVENTS_KINDS: dict[str, Kind] = {
    "LLM_": "model", "AGENT_TRANSFER": "handoff", "TOOL_": "tool", "INVOCATION_": "agent",
    "USER_MESSAGE": "agent", "AGENT_RESPONSE": "agent", "AGENT_": "chain",
}  # fmt: skip
"""How types of its events begin -> the kind of step; the first that fits counts."""
_SAID = ("USER_MESSAGE_RECEIVED", "LLM_RESPONSE", "AGENT_RESPONSE")
_CALL = re.compile(r"(?:^|' \| )call: ")
_TEXT = re.compile(r"(?:^| \| )text: '(.*?)'(?= \| (?:text|call|resp|other)|$)", re.DOTALL)


def _read_adk_events(span: TraceSpan, step: SpanStep) -> None:
    rows = {key[len(ADK_EVENTS) :]: row for key, row in span.attributes.items()
            if key.startswith(ADK_EVENTS) and isinstance(row, dict)}  # fmt: skip
    if span.start == span.end and not any(row.get("has_latency") for row in rows.values()):
        # The row of an end alone says when, and not how long.
        span.end = 0
    starts = (start for start in _ADK_EVENTS_KINDS if any(name.startswith(start) for name in rows))
    step.kind = _ADK_EVENTS_KINDS.get(next(starts, ""))
    unknown = next((name for name in rows if not name.startswith((*_ADK_EVENTS_KINDS, "STATE_DELTA"))), None)
    step.unread = unknown and f"events of the type {unknown!r}"
    # google-adk 2.13 logs a COMPLETED or an ERROR of every invocation, of a paused one too.
    if "INVOCATION_STARTING" in rows and rows.keys().isdisjoint(("INVOCATION_COMPLETED", "INVOCATION_ERROR")):
        step.error = span.message or NO_END
    for key, row in sorted(rows.items()):
        name, content = key.partition("@")[0], row.get("content")
        held = content if isinstance(content, dict) else {}
        if row.get("is_truncated") and name in _SAID:
            cut = [*(step.output or ()), parts.SpanMessage(AGENT, parts=[CUT])]
            step.output = None if name == _SAID[0] else cut
        elif name == "USER_MESSAGE_RECEIVED":
            given = [part.get("text") for part in objects_in(row.get("parts"))]
            summary = text_at(held, "text_summary", "text") or (content if isinstance(content, str) else None)
            text = "\n".join(words for words in given if isinstance(words, str) and words) or summary
            step.user = None if text is None or text.startswith("Function response:") else text
        elif name.startswith("TOOL_"):
            step.name = text_at(held, "tool") or step.name
            step.args = step.args if step.args is not None else value_at(held, "args")
            if name == "TOOL_COMPLETED" and "result" in held:
                step.result, step.has_result = value_at(held, "result"), True
        elif name in ("LLM_RESPONSE", "AGENT_RESPONSE"):
            response = first_of(held, ("response", "text"))
            response = content if response is None else response
            if isinstance(response, dict):
                response = text_at(response, "text_summary", "text")
            if isinstance(response, str) and response:
                step.asks_calls = step.asks_calls or _CALL.search(response) is not None
                texts = _TEXT.findall(response) or ([] if response.startswith("call: ") else [response])
                if texts:
                    step.output = [*(step.output or ()), parts.SpanMessage(AGENT, texts)]
            step.usage = step.usage or usage_at(held.get("usage"))
        elif name == "AGENT_TRANSFER":
            step.target = text_at(held, "to_agent", "target_agent", "agent_name")
    if step.kind == "tool" and len(rows) == 1:
        # After an AgentTool, the end of the call has another span than its start.
        step.event = "start" if "TOOL_STARTING" in rows else "end"


# google-adk's own spans.

_SCOPE = "gcp.vertex.agent"
_NAMES: dict[str, Kind] = {
    "invocation": "agent", "invoke_agent ": "agent", "invoke_workflow ": "agent", "agent_run ": "agent",
    "call_llm": "model", "execute_tool ": "tool",
}  # fmt: skip
_HIDDEN: tuple[JsonValue, ...] = ({}, {"result": "<not specified>"}, None)


def _read_adk(span: TraceSpan, step: SpanStep) -> None:
    held, name = span.attributes, span.name
    step.kind = next((kind for start, kind in _NAMES.items() if name.startswith(start)), None)
    is_adks = name == "invocation" or span.scope == _SCOPE
    if not (is_adks or any(key.startswith(_SCOPE) for key in held)):
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
    request, response = (loaded(held.get(f"{_SCOPE}.llm_{half}")) for half in ("request", "response"))
    step.input = None if request in _HIDDEN else only_messages_at(request, USER)
    if response not in _HIDDEN:
        step.output = json_messages_at(response, AGENT)
        step.finish = text_at(response, "finish_reason") if isinstance(response, dict) else None


DIALECTS = [
    SpanDialect("openai_agents", key_set("openai_agents"), _read_openai_agents),
    SpanDialect("adk_events", key_set("adk_events"), _read_adk_events),
    SpanDialect("langsmith", key_set("langsmith"), _LANGSMITH),
    SpanDialect("beeai", key_set("openinference"), _read_beeai),
    SpanDialect("openinference", key_set("openinference"), _read_openinference),
    SpanDialect(
        "aws_distro", key_set("aws event openinference strands opentelemetry amazon session"), _read_llo
    ),
    SpanDialect("gen_ai", key_set("gen_ai input output"), _read_standard),
    SpanDialect("openllmetry", key_set("traceloop llm gen_ai"), _read_openllmetry),
    SpanDialect("pydantic_ai", key_set(_FIRST_WORDS), _read_pydantic_ai),
    SpanDialect("vercel_ai", key_set("ai"), _read_vercel),
    SpanDialect("litellm", key_set(""), _read_litellm, names=(_NAME,)),
    SpanDialect("adk", key_set("gcp"), _read_adk, names=tuple(start.strip() for start in _NAMES)),
    SpanDialect("mlflow", key_set("mlflow"), _MLFLOW),
    SpanDialect("langfuse", key_set("langfuse"), _LANGFUSE),
    SpanDialect("content_keys", key_set("gen_ai llm"), _read_content_keys, is_guess=True),
]
"""In the order in which they are asked."""
NAMES = [dialect.name for dialect in DIALECTS]
_UNREAD = WORK.difference(*(dialect.prefixes for dialect in DIALECTS))


def read_span(span: TraceSpan) -> SpanStep:
    """Returns what all dialects read in a span; where several state the same, the first counts."""
    words = words_of(span)
    step = _EMPTY
    for dialect in _asked(words, span.name.partition(" ")[0]):
        if dialect.is_guess and step.kind is not None:
            continue
        stated = SpanStep()
        dialect.read(span, stated)
        if stated != _EMPTY:
            stated.dialects = [dialect.name]
            if step is _EMPTY:
                step = stated
            else:
                step.fill(stated)
    unread = ", ".join(sorted(words & _UNREAD)) if step.kind is None else ""
    if unread or not words.isdisjoint(LABELLED):
        step = SpanStep() if step is _EMPTY else step
        step.tags = step.tags or tags_of(span, words)
        step.unread = f"spans of {unread}" if unread else step.unread
    if step.kind == "tool" and step.name in ("(merged tools)", "(merged)"):
        step.kind = "other"  # google-adk joins the results of parallel calls in it
    if step.kind == "model":
        output = step.output or []
        # A span that is marked as a model's is a function around it where its output is the request alone, or
        # where it is a private function without an output.
        is_helper = not output and span.name.rpartition(".")[2].startswith("_")
        if any(message.role == SYSTEM or message.is_users for message in output):
            # The output repeats the request.
            last = max(index for index, message in enumerate(output) if message.role != AGENT)
            step.output = output[last + 1 :] or None
            is_helper = step.output is None
        if is_helper and not (span.error or step.usage is not None or step.response_id):
            step.kind = None
    if step.usage is not None and not (step.usage.input_tokens or step.usage.output_tokens):
        # No request has no tokens: the writer did not know them.
        step.usage = None
    kind = text_at(span.attributes, "error.type")
    if (span.error or kind) and step.error is None and step.kind in ("tool", "agent", "model", "chain"):
        raised = (event.attributes for event in span.events if event.name == "exception")
        texts = [text_at(held, "exception.message", "exception.type") for held in raised]
        message = text_at(span.attributes, "error.message")
        step.error = next(filter(None, (span.message, *texts, message, kind)), "error")
    return step


_EMPTY = SpanStep()  # of all spans that say nothing: nobody may change it


@lru_cache(maxsize=4096)
def _asked(words: frozenset[str], name: str) -> tuple[SpanDialect, ...]:
    return tuple(d for d in DIALECTS if not words.isdisjoint(d.prefixes) or name in d.names)


def says_something(span: TraceSpan, words: frozenset[str]) -> bool:
    """Returns whether a dialect or a label may be read in a span with such first words of its keys."""
    return bool(_asked(words, span.name.partition(" ")[0])) or not words.isdisjoint(LABELLED)


def kind_of(span: TraceSpan) -> Kind | None:
    """Returns what a span is, without reading its long texts."""
    if not says_something(span, words_of(span)):
        return None
    attributes: JsonObject = {
        key: item if not isinstance(item, str) or len(item) <= 300 else ""
        for key, item in span.attributes.items()
    }
    events = [SpanEvent(event.name) if event.name.startswith("gen_ai.") else event for event in span.events]
    return read_span(TraceSpan(span.trace, span.id, span.parent, span.name, span.start, span.end, attributes,
                               events, scope=span.scope, is_log=span.is_log)).kind  # fmt: skip
