"""Attributes of LangSmith's, Langfuse's and MLflow's own exporters."""

import re
from collections.abc import Callable

from turnwise.schemas.jsonio import JsonObject, JsonValue, dump_json
from turnwise.transforms.formats.messages.kinds import AGENT, USER
from turnwise.transforms.formats.messages.parts import SpanMessage, add_calls, call_arguments
from turnwise.transforms.formats.messages.spellings import read_messages
from turnwise.transforms.formats.messages.streams import as_object, first_of, key_set, objects_in
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
)
from turnwise.transforms.formats.traces.span import CUT, NO_END, TraceSpan, loaded

_OTHER = ("retriever", "embedding", "evaluator", "guardrail", "event", "prompt", "parser")
_KINDS: dict[str, Kind] = {
    **dict.fromkeys(("llm", "generation", "chat_model", "model"), "model"),
    **dict.fromkeys(_OTHER, "other"),
    **{"tool": "tool", "agent": "agent", "chain": "chain", "trace": "chain"},
}

_OF_LANGSMITH = "langsmith.span.kind"
"""Key of LangSmith's kinds. It wraps what a function returned, unless that is an object."""
_KEYS_ALONE: JsonObject = {"content": "role"}
_UNREAD = "inputs in which the name of a key stands in place of a message"
"""LangSmith's wrapper of the Claude Agent SDK writes such inputs of all model calls but the first."""


def _reader(
    kind_key: str,
    given: tuple[str, ...],
    back: tuple[str, ...],
    names: tuple[str, ...],
    usage_key: str,
    messages: Callable[[JsonValue, str], list[SpanMessage] | None] = json_messages_at,
) -> Callable[[TraceSpan, SpanStep], None]:
    """Returns the reader of an exporter that states kind, input and output under keys of its own."""

    def read(span: TraceSpan, step: SpanStep) -> None:
        held = span.attributes
        step.kind = kind_at(value_at(held, kind_key), _KINDS)
        if step.kind is None:
            return
        step.name = text_at(held, *names)
        if step.kind != "model":
            # MLflow states the name apart for LlamaIndex; DSPy calls a span `Tool.NAME`.
            named = loaded(held.get("name")) if "mlflow.spanType" in held else None
            named = named if isinstance(named, str) and named else span.name.removeprefix("Tool.")
            step.name = text_at(held, *_OF_TOOLS) or named or None
        entered, left = value_at(held, *given), value_at(held, *back)
        if entered == _KEYS_ALONE:
            entered, step.unread = None, _UNREAD
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
            step.args = call_arguments(only if isinstance(only, dict) else entered)
            add_result(step, None if is_missing else left["output"] if is_wrapped else left)
        elif step.kind != "other":
            step.input, step.output = messages(entered, USER), messages(left, AGENT)
            step.usage = usage_at(value_at(held, usage_key)) if step.kind == "model" else None

    return read


def _message_of(value: JsonValue) -> SpanMessage | None:
    """Returns the message that a list of one message holds."""
    is_one = isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict) and "role" in value[0]
    messages = json_messages_at(value, USER) if is_one else None
    return messages[0] if messages and len(messages) == 1 else None


_OF_TOOLS = ("gen_ai.tool.name", "tool.name")
_LANGSMITH = _reader(
    _OF_LANGSMITH,
    ("langsmith.inputs", "gen_ai.prompt"),
    ("langsmith.outputs", "gen_ai.completion"),
    ("gen_ai.response.model", "gen_ai.request.model"),
    "langsmith.usage",
)
_LANGFUSE = _reader(
    "langfuse.observation.type",
    ("langfuse.observation.input", "input.value", "gen_ai.prompt"),
    ("langfuse.observation.output", "output.value", "gen_ai.completion"),
    ("langfuse.observation.model.name", "gen_ai.request.model"),
    "langfuse.observation.usage_details",
    messages_at,
)
_MLFLOW = _reader(
    "mlflow.spanType",
    ("mlflow.spanInputs",),
    ("mlflow.spanOutputs",),
    ("mlflow.llm.model",),
    "mlflow.chat.tokenUsage",
)


def _langfuse(span: TraceSpan, step: SpanStep) -> None:
    _LANGFUSE(span, step)
    if step.kind is not None and span.attributes.get("langfuse.observation.level") == "ERROR":
        step.error = text_at(span.attributes, "langfuse.observation.status_message") or "error"


# Vercel's AI SDK, versions 3 to 6.

_CALLS = (".doGenerate", ".doStream")
_TURNS = ("ai.generateText", "ai.streamText", "ai.generateObject", "ai.streamObject")
_OTHERS = ("ai.embed", "ai.rerank")


def _read_vercel(span: TraceSpan, step: SpanStep) -> None:
    held = span.attributes
    operation = text_at(held, "ai.operationId") or ""
    if operation.endswith(_CALLS):
        step.kind = "model"
    elif operation == "ai.toolCall":
        step.kind = "tool"
    elif operation in _TURNS:
        step.kind = "agent"
    elif operation.startswith("ai."):
        step.kind = "other" if operation.startswith(_OTHERS) else "chain"
    if step.kind == "tool":
        step.name, step.call_id = text_at(held, "ai.toolCall.name"), text_at(held, "ai.toolCall.id")
        step.args = value_at(held, "ai.toolCall.args", "ai.toolCall.input")
        add_result(step, value_at(held, "ai.toolCall.result", "ai.toolCall.output"))
    elif step.kind in ("model", "agent"):
        step.input = only_messages_at(held.get("ai.prompt.messages"), USER)
        if not step.input and "ai.prompt" in held:
            step.input = json_messages_at(held["ai.prompt"], USER)
        text = text_at(held, "ai.response.text", "ai.result.text", "ai.response.object", "ai.result.object")
        reply = SpanMessage(AGENT, [text] if text else [])
        add_calls(reply, value_at(held, "ai.response.toolCalls", "ai.result.toolCalls"))
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
_TOOL_NAMES = ("running tool: ", "running tool")


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
            step.output = [
                SpanMessage(AGENT, [answer if isinstance(answer, str) else dump_json(answer).decode()])
            ]
    elif "tool_arguments" in held or "tool_response" in held or span.name.startswith(_TOOL_NAMES):
        step.kind, step.name = "tool", text_at(held, "gen_ai.tool.name")
        step.args = value_at(held, "tool_arguments")
        add_result(step, value_at(held, "tool_response"))
        step.call_id = text_at(held, "gen_ai.tool.call.id")
    elif "events" in held:
        messages = only_messages_at(held["events"], USER)
        step.kind = "model"
        given = value_at(held, "events")
        last = given[-1] if isinstance(given, list) and given else None
        is_choice = isinstance(last, dict) and last.get("event.name") == "gen_ai.choice"
        step.input, step.output = messages, None if messages else messages
        if is_choice and messages:
            step.input, step.output = messages[:-1] or None, messages[-1:]
    elif "request_data" in held:
        step.kind = "model"
        step.input = json_messages_at(held["request_data"], USER)
        step.output = json_messages_at(held.get("response_data"), AGENT)
        step.usage = usage_at(as_object(value_at(held, "response_data")).get("usage"))


# Spans of the OpenAI Agents SDK's own export.

_OPENAI_AGENTS_KINDS: dict[str, Kind] = {
    **{"agent": "agent", "handoff": "handoff", "function": "tool"},
    **dict.fromkeys(("generation", "response"), "model"),
    **dict.fromkeys(("task", "turn", "custom"), "chain"),
    **dict.fromkeys(("guardrail", "mcp_tools", "transcription", "speech", "speech_group"), "other"),
}


def _read_openai_agents(span: TraceSpan, step: SpanStep) -> None:
    held: JsonObject = {key.removeprefix("openai_agents."): item for key, item in span.attributes.items()}
    step.kind = kind_at(held.get("type"), _OPENAI_AGENTS_KINDS)
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

_CALLED = ("tool", "backend")
_ENDS = ("success", "error")
_TOLD = "agent.react.update"


def _read_beeai(span: TraceSpan, step: SpanStep) -> None:
    held = span.attributes
    target = span.name.rpartition("-")[0]
    # A long reply of a model leaves no room for `target` among the attributes.
    if "beeai" not in span.scope and held.get("target", "") != target:
        return
    path, _, event = target.rpartition(".")
    if path.partition(".")[0] in _CALLED:
        if event != "start" and event not in _ENDS:
            step.kind = "other"
            return
        step.event = "start" if event == "start" else "end"
        if path.startswith("tool."):
            step.kind, step.name = "tool", path.rpartition(".")[2]
    elif target == _TOLD and "tool.name" in held and "output.value" in held:
        step.kind, step.name, step.event = "tool", text_at(held, "tool.name"), "told"
        step.args = call_arguments(value_at(held, "tool.parameters"))
        add_result(step, value_at(held, "output.value"))


# Rows of google-adk's BigQuery plugin, by span.

_PREFIX = "adk_events."
_ADK_EVENTS_KINDS: tuple[tuple[str, Kind], ...] = (
    ("LLM_", "model"),
    ("AGENT_TRANSFER", "handoff"),
    ("TOOL_", "tool"),
    ("INVOCATION_", "agent"),
    ("USER_MESSAGE", "agent"),
    ("AGENT_RESPONSE", "agent"),
    ("AGENT_", "chain"),
)
_SAID = ("USER_MESSAGE_RECEIVED", "LLM_RESPONSE", "AGENT_RESPONSE")
_HARMLESS = ("STATE_DELTA",)
_CALL = re.compile(r"(?:^|' \| )call: ")
_TEXT = re.compile(r"(?:^| \| )text: '(.*?)'(?= \| (?:text|call|resp|other)|$)", re.DOTALL)


def _read_adk_events(span: TraceSpan, step: SpanStep) -> None:
    rows = {key[len(_PREFIX) :]: row for key, row in span.attributes.items()
            if key.startswith(_PREFIX) and isinstance(row, dict)}  # fmt: skip
    if span.start == span.end and not any(row.get("has_latency") for row in rows.values()):
        # The row of an end alone says when, and not how long.
        span.end = 0
    for start, kind in _ADK_EVENTS_KINDS:
        if step.kind is None and any(name.startswith(start) for name in rows):
            step.kind = kind
    known = (*(start for start, _ in _ADK_EVENTS_KINDS), *_HARMLESS)
    unknown = next((name for name in rows if not name.startswith(known)), None)
    step.unread = unknown and f"events of the type {unknown!r}"
    # google-adk 2.13 logs a COMPLETED or an ERROR of every invocation, of a paused one too.
    if "INVOCATION_STARTING" in rows and rows.keys().isdisjoint(("INVOCATION_COMPLETED", "INVOCATION_ERROR")):
        step.error = span.message or NO_END
    for name, row in sorted(rows.items()):
        _add_row(name.partition("@")[0], row, step)
    if step.kind == "tool" and len(rows) == 1:
        # After an AgentTool, the end of the call has another span than its start.
        step.event = "start" if "TOOL_STARTING" in rows else "end"


def _add_row(name: str, row: JsonObject, step: SpanStep) -> None:
    content = row.get("content")
    held = content if isinstance(content, dict) else {}
    if row.get("is_truncated") and name in _SAID:
        step.output = None if name == _SAID[0] else [*(step.output or ()), SpanMessage(AGENT, parts=[CUT])]
    elif name == "USER_MESSAGE_RECEIVED":
        texts = [part["text"] for part in objects_in(row.get("parts")) if part.get("text").__class__ is str]
        summary = text_at(held, "text_summary", "text") or (content if isinstance(content, str) else None)
        text = "\n".join(filter(None, texts)) or summary
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
            step.output = [*(step.output or ()), SpanMessage(AGENT, texts)] if texts else step.output
        step.usage = step.usage or usage_at(held.get("usage"))
    elif name == "AGENT_TRANSFER":
        step.target = text_at(held, "to_agent", "target_agent", "agent_name")


# google-adk's own spans.

_SCOPE = "gcp.vertex.agent"
_NAMES: tuple[tuple[str, Kind], ...] = (
    ("invocation", "agent"),
    ("invoke_agent ", "agent"),
    ("invoke_workflow ", "agent"),
    ("agent_run ", "agent"),
    ("call_llm", "model"),
    ("execute_tool ", "tool"),
)
_HIDDEN: tuple[JsonValue, ...] = ({}, {"result": "<not specified>"}, None)


def _read_adk(span: TraceSpan, step: SpanStep) -> None:
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


for name, rank, prefixes, read, names in (
    ("openai_agents", 5, "openai_agents", _read_openai_agents, ()),
    ("adk_events", 5, "adk_events", _read_adk_events, ()),
    ("langsmith", 15, "langsmith", _LANGSMITH, ()),
    ("beeai", 15, "openinference", _read_beeai, ()),
    ("pydantic_ai", 45, _FIRST_WORDS, _read_pydantic_ai, ()),
    ("vercel_ai", 50, "ai", _read_vercel, ()),
    ("litellm", 60, "", _read_litellm, (_NAME,)),
    ("adk", 60, "gcp", _read_adk, tuple(start.partition(" ")[0] for start, _ in _NAMES)),
    ("mlflow", 70, "mlflow", _MLFLOW, ()),
    ("langfuse", 85, "langfuse", _langfuse, ()),
):
    register_dialect(SpanDialect(name=name, prefixes=key_set(prefixes), read=read, rank=rank, names=names))
