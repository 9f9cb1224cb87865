"""Attributes of LangSmith's, Langfuse's and MLflow's own exporters."""

import re
from collections.abc import Callable

from turnwise.schemas.conversation import Usage
from turnwise.schemas.jsonio import JsonObject, JsonValue, dump_json
from turnwise.transforms.formats.messages.kinds import AGENT, USER
from turnwise.transforms.formats.messages.parts import SpanMessage, add_calls, call_arguments
from turnwise.transforms.formats.messages.spellings import read_messages
from turnwise.transforms.formats.traces.calls import tool_result
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
from turnwise.transforms.formats.traces.span import CUT, TraceSpan, loaded

_KINDS: dict[str, Kind] = {
    **dict.fromkeys(("llm", "generation", "chat_model", "model"), "model"),
    **dict.fromkeys(
        ("retriever", "embedding", "evaluator", "guardrail", "event", "prompt", "parser"), "other"
    ),
    **{"tool": "tool", "agent": "agent", "chain": "chain", "trace": "chain"},
}
_TOKENS = {
    "input_tokens": ("input", "input_tokens", "prompt_tokens"),
    "output_tokens": ("output", "output_tokens", "completion_tokens"),
    "cached_tokens": ("input_cache_read", "prompt_details.cache_read", "input_cached_tokens", "cache_read"),
    "reasoning_tokens": ("output_reasoning", "completion_details.reasoning", "output_reasoning_tokens"),
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
        step.name = text_at(held, *names) if step.kind == "model" else _tool_name(held, span.name) or None
        entered, left = value_at(held, *given), value_at(held, *back)
        if entered == _KEYS_ALONE:
            entered, step.unread = None, _UNREAD
        if step.kind == "tool":
            step.call_id = text_at(held, "langsmith.call_id")
            is_wrapped = kind_key == _OF_LANGSMITH and isinstance(left, dict) and left.keys() == {"output"}
            is_missing = left == {} and span.error
            _add_tool(step, entered, None if is_missing else left["output"] if is_wrapped else left)
        elif step.kind != "other":
            step.input, step.output = messages(entered, USER), messages(left, AGENT)
            step.usage = _usage(value_at(held, usage_key)) if step.kind == "model" else None

    return read


def _tool_name(held: JsonObject, name: str) -> str:
    """Returns the name that MLflow states apart for LlamaIndex, or that of a span `Tool.NAME` of DSPy."""
    stated = loaded(held.get("name")) if "mlflow.spanType" in held else None
    return stated if isinstance(stated, str) and stated else name.removeprefix("Tool.")


def _add_tool(step: SpanStep, given: JsonValue, back: JsonValue) -> None:
    inner = value_at(given, "input") if isinstance(given, dict) and given.keys() == {"input"} else None
    step.args = call_arguments(inner if isinstance(inner, dict) else given)
    if back is not None:
        step.result, step.error = tool_result(back)
        step.has_result = True


def _usage(details: JsonValue) -> Usage | None:
    return usage_at(details, _TOKENS) if isinstance(details, dict) else None


_LANGSMITH = _reader(
    _OF_LANGSMITH,
    ("langsmith.inputs", "gen_ai.prompt"),
    ("langsmith.outputs", "gen_ai.completion"),
    ("gen_ai.response.model", "gen_ai.request.model"),
    "langsmith.usage",
)
_LANGFUSE = _reader(
    "langfuse.observation.type",
    ("langfuse.observation.input", "input.value"),
    ("langfuse.observation.output", "output.value"),
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


register_dialect(SpanDialect(name="langfuse", prefixes=frozenset(("langfuse",)), read=_langfuse, rank=85))
register_dialect(SpanDialect(name="langsmith", prefixes=frozenset(("langsmith",)), read=_LANGSMITH, rank=15))
register_dialect(SpanDialect(name="mlflow", prefixes=frozenset(("mlflow",)), read=_MLFLOW, rank=70))


# Vercel's AI SDK, versions 3 to 6.

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


# Pydantic AI and Logfire, beside what they write in OpenTelemetry's conventions.

_RUNS = ("pydantic_ai.all_messages", "all_messages_events", "all_messages_json", "all_messages")
_KEYS = ("events", "tool_arguments", "tool_response", "final_result", "request_data", "response_data", *_RUNS)
_PYDANTIC_AI_USAGE = {
    "input_tokens": ("input_tokens", "prompt_tokens"),
    "output_tokens": ("output_tokens", "completion_tokens"),
}
_TOOL_NAMES = ("running tool: ", "running tool")


def _read_pydantic_ai(span: TraceSpan, step: SpanStep) -> None:
    held = span.attributes
    run = value_at(held, *_RUNS)
    if run is not None or text_at(held, "agent_name"):
        step.kind, step.name = "agent", text_at(held, "agent_name", "gen_ai.agent.name")
        step.input = _all_but_answer(run, value_at(held, "pydantic_ai.new_message_index"))
        step.output = messages_at(held.get("final_result"), AGENT) or _structured(held.get("final_result"))
    elif "tool_arguments" in held or "tool_response" in held or span.name.startswith(_TOOL_NAMES):
        step.kind, step.name = "tool", text_at(held, "gen_ai.tool.name")
        step.args, step.result = value_at(held, "tool_arguments"), value_at(held, "tool_response")
        step.has_result = step.result is not None
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
        reply = value_at(held, "response_data")
        usage = reply.get("usage") if isinstance(reply, dict) else None
        step.usage = usage_at(usage, _PYDANTIC_AI_USAGE) if isinstance(usage, dict) else None


def _structured(value: JsonValue) -> list[SpanMessage] | None:
    """Returns an answer that is JSON, as its text; None: there is none."""
    if value is None or value == "":
        return None
    return [SpanMessage(AGENT, [value if isinstance(value, str) else dump_json(value).decode()])]


def _all_but_answer(run: JsonValue, new_index: JsonValue) -> list[SpanMessage] | None:
    """Returns a run's messages up to the last that a user wrote."""
    messages = json_messages_at(run, USER)
    if not messages:
        return messages
    last = next((place for place in reversed(range(len(messages))) if messages[place].is_users), None)
    return None if last is None else messages[: last + 1]


register_dialect(
    SpanDialect(
        name="pydantic_ai",
        prefixes=frozenset((*_KEYS, "pydantic_ai", "agent_name")),
        read=_read_pydantic_ai,
        rank=45,
    )
)


# Spans of the OpenAI Agents SDK's own export.

_OPENAI_AGENTS_KINDS: dict[str, Kind] = {
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
_OPENAI_AGENTS_USAGE = {
    "input_tokens": ("input_tokens", "prompt_tokens"),
    "output_tokens": ("output_tokens", "completion_tokens"),
    "cached_tokens": ("cached_tokens",),
    "reasoning_tokens": ("reasoning_tokens",),
}


def _read_openai_agents(span: TraceSpan, step: SpanStep) -> None:
    held: JsonObject = {key.removeprefix("openai_agents."): item for key, item in span.attributes.items()}
    step.kind = kind_at(held.get("type"), _OPENAI_AGENTS_KINDS)
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
        step.usage = usage_at(usage, _OPENAI_AGENTS_USAGE) if isinstance(usage, dict) else None


register_dialect(
    SpanDialect(
        name="openai_agents", prefixes=frozenset(("openai_agents",)), read=_read_openai_agents, rank=5
    )
)


# LiteLLM's own callback: what was sent to the provider and what came back, under the provider's name.

_NAME = "raw_gen_ai_request"
_DEPTH = 2
_LITELLM_USAGE = {
    "input_tokens": ("prompt_tokens", "input_tokens"),
    "output_tokens": ("completion_tokens", "output_tokens"),
}


def _read_litellm(span: TraceSpan, step: SpanStep) -> None:
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
    step.usage = usage_at(usage, _LITELLM_USAGE) if isinstance(usage, dict) else None


def _of_provider(attributes: JsonObject) -> JsonObject:
    """Returns the attributes `llm.PROVIDER.KEY` by their keys."""
    parts = ((key.split(".", _DEPTH), value) for key, value in attributes.items() if key.startswith("llm."))
    return {path[_DEPTH]: value for path, value in parts if len(path) > _DEPTH}


register_dialect(
    SpanDialect(name="litellm", prefixes=frozenset(), names=(_NAME,), read=_read_litellm, rank=60)
)


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
        step.result, step.has_result = value_at(held, "output.value"), True


register_dialect(SpanDialect(name="beeai", prefixes=frozenset(("openinference",)), read=_read_beeai, rank=15))


# Rows of google-adk's BigQuery plugin, by span.

_PREFIX = "adk_events."
_ADK_EVENTS_KINDS: tuple[tuple[str, Kind], ...] = (
    ("LLM_", "model"),
    ("AGENT_RESPONSE", "model"),
    ("AGENT_TRANSFER", "handoff"),
    ("TOOL_", "tool"),
    ("INVOCATION_", "agent"),
    ("USER_MESSAGE", "agent"),
    ("AGENT_", "chain"),
)
_SAID = ("USER_MESSAGE_RECEIVED", "LLM_RESPONSE", "AGENT_RESPONSE")
_HARMLESS = ("STATE_DELTA",)
_ADK_EVENTS_USAGE = {
    "input_tokens": ("prompt", "prompt_tokens", "prompt_token_count", "input_tokens"),
    "output_tokens": ("completion", "completion_tokens", "candidates_token_count", "output_tokens"),
    "cached_tokens": ("cached", "cached_content_token_count"),
    "reasoning_tokens": ("thoughts", "thoughts_token_count"),
}
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
    for name, row in rows.items():
        content = row.get("content")
        held = content if isinstance(content, dict) else {}
        _add(name, row, held, content, step)


def _add(name: str, row: JsonObject, held: JsonObject, content: JsonValue, step: SpanStep) -> None:
    if row.get("is_truncated") and name in _SAID:
        step.output = None if name == _SAID[0] else [SpanMessage(AGENT, parts=[CUT])]
    elif name == "USER_MESSAGE_RECEIVED":
        step.user = _user(row, held, content)
    elif name.startswith("TOOL_"):
        step.name = text_at(held, "tool") or step.name
        step.args = step.args if step.args is not None else value_at(held, "args")
        if name == "TOOL_COMPLETED" and "result" in held:
            step.result, step.has_result = value_at(held, "result"), True
    elif name in ("LLM_RESPONSE", "AGENT_RESPONSE"):
        texts = _texts(
            next((held[key] for key in ("response", "text") if held.get(key) is not None), content)
        )
        step.output = [SpanMessage(AGENT, texts)] if texts else step.output
        usage = held.get("usage")
        step.usage = usage_at(usage, _ADK_EVENTS_USAGE) if isinstance(usage, dict) else None
    elif name == "AGENT_TRANSFER":
        step.target = text_at(held, "to_agent", "target_agent", "agent_name")


def _user(row: JsonObject, held: JsonObject, content: JsonValue) -> str | None:
    parts = row.get("parts")
    texts = [
        part["text"]
        for part in (parts if isinstance(parts, list) else ())
        if isinstance(part, dict) and isinstance(part.get("text"), str) and part["text"]
    ]
    summary = text_at(held, "text_summary", "text") or (content if isinstance(content, str) else None)
    said = "\n".join(texts) or summary
    return None if said is None or said.startswith("Function response:") else said


def _texts(response: JsonValue) -> list[str]:
    if isinstance(response, dict):
        response = text_at(response, "text_summary", "text")
    if not isinstance(response, str) or not response:
        return []
    found = _TEXT.findall(response)
    return found or ([] if response.startswith("call: ") else [response])


register_dialect(
    SpanDialect(name="adk_events", prefixes=frozenset(("adk_events",)), read=_read_adk_events, rank=5)
)


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
_FIRST_WORDS = tuple(name.partition(" ")[0] for name, _ in _NAMES)
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


register_dialect(
    SpanDialect(
        name="adk",
        prefixes=frozenset(("gcp",)),
        read=_read_adk,
        rank=60,
        names=_FIRST_WORDS,
    )
)
