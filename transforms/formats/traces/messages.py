"""Reads lists of messages, model requests and model replies in the spellings of many libraries."""

from collections.abc import Iterable

from msgspec.structs import replace

from turnwise.schemas.values import JsonObject, JsonValue
from turnwise.transforms.formats.endings import stated_reason
from turnwise.transforms.formats.messages.hosted_tools import HOSTED as HOSTED_ITEMS
from turnwise.transforms.formats.messages.langchain_kwargs import finish_reason
from turnwise.transforms.formats.traces.cut import CUT, is_cut
from turnwise.transforms.formats.traces.message import (
    AGENT,
    FURTHER_CHOICE,
    OBJECT,
    SYSTEM,
    TOOL,
    USER,
    MessageResult,
    SpanMessage,
)
from turnwise.transforms.formats.traces.message_parts import (
    KNOWN_PARTS,
    add_part,
    add_text,
    call_of,
    first_of,
    hosted_call,
    result_of,
)
from turnwise.transforms.formats.traces.message_repr import is_object
from turnwise.transforms.formats.traces.values import loaded

_EXECUTED, _THOUGHT, _SPOKEN = "ToolCallExecutionEvent", "ThoughtEvent", "TextMessage"
"""Types of messages of AutoGen: several results, a thought, and what `source` said."""
_ROLES = {
    **dict.fromkeys(("user", "human", "HumanMessage", "HumanMessageChunk", "UserMessage", _SPOKEN), USER),
    **dict.fromkeys(
        (
            *("assistant", "ai", "model", "AIMessage", "AIMessageChunk", "AssistantMessage", "agent"),
            *("tool-call", "ToolCallRequestEvent", "ToolCallSummaryMessage"),
        ),
        AGENT,
    ),
    **dict.fromkeys(
        (
            *("tool", "function", "ToolMessage", "FunctionMessage", "function_call_output", "tool-response"),
            _EXECUTED,
        ),
        TOOL,
    ),
    **dict.fromkeys(("system", "developer", "SystemMessage", "instructions"), SYSTEM),
}
_LISTS = ("messages", "contents", "input_messages", "new_messages", "generations", "choices", "candidates",
          "output", "message", "new_message", "input", "prompt", "question", "query", "user_input",
          "user_message", "task", "text", "response", "content", "parts", "result", "inputs", "outputs",
          "prompts", "input_args", "answer", "user_msg", "raw")  # fmt: skip
_GIVEN = frozenset(("input", "prompt", "question", "query", "user_input", "user_message", "task", "inputs",
                    "prompts", "input_args", "user_msg"))  # fmt: skip
"""Keys of what a model or agent was given, which its output may repeat."""
_BESIDE_TEXT = frozenset(("text", "type", "role", "id", "name", "model", "usage", "finish_reason", "index",
                          "stop_reason", "logprobs", "metadata", "annotations", "message", "generation_info",
                          "input", "question", "query", "chat_history", "history"))  # fmt: skip
"""Keys of a reply that is a text; an object with others is a structured answer."""
_ALTERNATIVES = ("choices", "candidates", "generations")
_REPLIED = ("content", "parts", "message", "output", "text")
"""Keys under which a reply holds its message, beside its finish reason."""
_EVENT = "event.name"
_OF_OTEL = frozenset(("role", "parts", "finish_reason"))
_ITEMS = ("function_call", "custom_tool_call", "mcp_call")
_OUTPUTS = ("function_call_output", "custom_tool_call_output")
_HOSTED = tuple(HOSTED_ITEMS)
_TYPED = (*_ITEMS, *_OUTPUTS, *_HOSTED, "message", "reasoning")
_UNTYPED = frozenset(("text", "toolUse", "toolResult", "functionCall", "function_call", "functionResponse",
                      "function_response", "toolCallId"))  # fmt: skip
_OF_MESSAGES = frozenset(("role", "lc", "message", "generation_info"))
_MOST_DEPTH = 6


def read_messages(value: JsonValue, role: str, depth: int = 0) -> list[SpanMessage]:
    """Returns the messages that a value holds: a list, a request, a reply, JSON of them, or a plain text.

    Args:
        value: The value.
        role: The role of what states none.
        depth: How deep the value stands.
    """
    value = loaded(value)
    if depth > _MOST_DEPTH or value is None or value == "":
        return []
    if isinstance(value, str):
        return [_spoken(role, [value])]
    if isinstance(value, list):
        if value and all(map(_is_otel, value)):
            return _given([_of_otel(each) for each in value])
        if value and not any(isinstance(each, dict | list) for each in value):
            texts = [each for each in value if isinstance(each, str)]
            pair = _ROLES.get(texts[0]) if len(texts) == len(value) == 2 else None
            return [_spoken(pair, texts[1:]) if pair else _spoken(role, texts)]
        if value and all(map(_is_part, value)):
            return _given([read_message({"parts": value}, role)])
        return [found for each in value for found in read_messages(each, role, depth + 1)]
    if not isinstance(value, dict) or value.get("type") == _THOUGHT:
        return []
    if _is_message(value):
        return _given([read_message(value, role)])
    names = (name for name in _LISTS if role != AGENT or name not in _GIVEN)
    key = next((name for name in names if value.get(name) not in (None, "", [], {})), None)
    if key is None or (key == "text" and role == AGENT and not value.keys() <= _BESIDE_TEXT):
        return []
    found = read_messages(value[key], role, depth + 1)
    _add_finish(found, value if key in _REPLIED else {})
    return [*_system_of(value), *(first_of_several(found) if key in _ALTERNATIVES else found)]


def first_of_several(messages: list[SpanMessage]) -> list[SpanMessage]:
    """Returns the first of several alternative replies, marked; one reply as it is."""
    if len(messages) < 2:
        return messages
    first = messages[0]
    return [replace(first, parts=[*first.parts, FURTHER_CHOICE])]


def _spoken(role: str, texts: list[str]) -> SpanMessage:
    """Returns a message of texts, of which those of Python objects are nobody's words."""
    words = [text for text in texts if not is_object(text)]
    return SpanMessage(role, words, parts=[OBJECT] if len(words) < len(texts) else [])


def read_message(value: JsonObject, role: str) -> SpanMessage:
    """Returns one message of any spelling."""
    outer, value = value, _inner(value)
    found = SpanMessage(_role(value, outer, role))
    found.finish = _finish({**outer, **value})
    kind = value.get("type")
    if kind in _ITEMS or kind in _HOSTED:
        found.role = AGENT
        found.calls.append(call_of(value) if kind in _ITEMS else hosted_call(value))
    elif kind in _OUTPUTS:
        found.role = TOOL
        found.results.append(result_of({**value, "id": None}))
    elif kind == _EXECUTED and isinstance(value.get("content"), list):
        found.results += [result_of(each) for each in value["content"] if isinstance(each, dict)]
    elif found.role == TOOL and not isinstance(value.get("parts"), list) and not _has_results(value):
        found.results.append(_tool_result(value))
    else:
        _add_content(found, value)
    return found


def _finish(holder: JsonObject) -> str | None:
    """Returns the finish reason that a message or its wrapper states, or the metadata of the reply."""
    info = holder.get("generation_info")
    given = stated_reason(holder) or finish_reason(holder)
    found = given or (stated_reason(info) if isinstance(info, dict) else None)
    return found if isinstance(found, str) else None


def _add_finish(found: list[SpanMessage], reply: JsonObject) -> None:
    """Adds the finish reason of a reply to its last message, if that states none."""
    if found and not found[-1].finish:
        found[-1].finish = _finish(reply)


def _is_otel(value: JsonValue) -> bool:
    if not isinstance(value, dict) or not value.keys() <= _OF_OTEL:
        return False
    role = value.get("role")
    return isinstance(role, str) and role in _ROLES and isinstance(value.get("parts"), list)


def _of_otel(value: JsonObject) -> SpanMessage:
    """Returns a message in OpenTelemetry's spelling, as `read_message` does, without looking for others."""
    finish = value.get("finish_reason")
    found = SpanMessage(_ROLES[value["role"]], finish=finish if isinstance(finish, str) and finish else None)
    for part in value["parts"]:
        add_part(found, part)
    if found.results and found.role == USER and not found.texts:
        found.role = TOOL
    return found


def _add_content(found: SpanMessage, value: JsonObject) -> None:
    for key in ("content", "contents", "parts", "text", "blocks"):
        content = value.get(key)
        if key == "content" and isinstance(content, dict):
            content = content.get("parts", [content])
        if isinstance(content, str):
            content = _blocks(content)
        for part in content if isinstance(content, list) else ():
            add_part(found, part)
        if content:
            break
    extra = value.get("additional_kwargs")
    calls = value.get("tool_calls") or (extra.get("tool_calls") if isinstance(extra, dict) else None)
    known = {call.id for call in found.calls if call.id}
    for call in loaded(calls) if isinstance(loaded(calls), list) else ():
        if isinstance(call, dict) and (read := call_of(call)) and not (read.id and read.id in known):
            found.calls.append(read)
    legacy = value.get("function_call")
    if isinstance(legacy, dict) and not found.calls:
        found.calls.append(call_of(legacy))
    add_text(found, value.get("refusal"))
    if found.results and found.role == USER and not found.texts:
        found.role = TOOL


def _blocks(content: str) -> list[JsonValue]:
    """Returns the blocks that a text spells in JSON, or the text itself."""
    if content[:1] == "[" and ('"type"' in content or '"text"' in content or '"tool' in content):
        blocks = loaded(content)
        if blocks is content and is_cut(content):
            return [{"type": CUT}]
        if isinstance(blocks, list) and blocks and all(map(_is_block, blocks)):
            return blocks
    return [content]


def _is_block(value: JsonValue) -> bool:
    """Returns whether a value is a block of content, and not an object that a model wrote as its answer."""
    if not _is_part(value):
        return False
    return value["type"] in KNOWN_PARTS if "type" in value else len(value) == 1


def _tool_result(value: JsonObject) -> MessageResult:
    found = result_of({**value, "name": value.get("name")})
    name = value.get("name")
    return MessageResult(found.response, found.id, name if isinstance(name, str) else None, found.error)


def _has_results(value: JsonObject) -> bool:
    content = value.get("content")
    return isinstance(content, list) and any(
        isinstance(part, dict)
        and ("toolResult" in part or str(part.get("type")).endswith(("result", "response")))
        for part in content
    )


def _inner(value: JsonObject) -> JsonObject:
    """Returns what a wrapper of a message holds."""
    for key in ("message", "data", "kwargs", "body"):
        inner = value.get(key)
        if isinstance(inner, dict) and (key != "data" or "type" in value):
            return {"type": value.get("type"), **_inner(inner)} if key == "data" else _inner(inner)
    return value


def _role(value: JsonObject, outer: JsonObject, role: str) -> str:
    if value.get("type") == _SPOKEN and isinstance(value.get("source"), str):
        return USER if value["source"] == USER else AGENT
    names = [value.get("role"), value.get("type"), outer.get("role"), outer.get("type")]
    event, lc = outer.get(_EVENT), outer.get("id")
    if isinstance(event, str) and event.startswith("gen_ai."):
        names.append("assistant" if event == "gen_ai.choice" else event.split(".")[1])
    if outer.get("lc") and isinstance(lc, list) and lc:
        names.insert(0, lc[-1])
    words = (name for name in names if isinstance(name, str))
    return next((known for name in words if (known := _ROLES.get(name) or _ROLES.get(name.lower()))), role)


def _is_message(value: JsonObject) -> bool:
    if "role" in value or value.get("lc") or _EVENT in value or value.get("type") in _TYPED:
        return True
    kind = value.get("type")
    if isinstance(kind, str) and kind in _ROLES and value.keys() & {"content", "data"}:
        return True
    inner = next((value[key] for key in ("message", "kwargs") if isinstance(value.get(key), dict)), None)
    is_message = "tool_calls" in value and not isinstance(value.get("response"), dict)
    return is_message or (inner is not None and _is_message(inner))


def _is_part(value: JsonValue) -> bool:
    if (
        not isinstance(value, dict)
        or not _OF_MESSAGES.isdisjoint(value)
        or ("content" in value and "type" not in value)
    ):
        return False
    kind = value.get("type")
    if isinstance(kind, str):
        return kind not in _ROLES and kind not in _TYPED and "data" not in value
    return not _UNTYPED.isdisjoint(value)


def _system_of(value: JsonObject) -> list[SpanMessage]:
    config = value.get("config")
    inner = config.get("system_instruction") if isinstance(config, dict) else None
    said = inner or first_of(value, ("system", "instructions", "system_instruction"))
    return [SpanMessage(SYSTEM, [said])] if isinstance(said, str) and said else []


def _given(messages: Iterable[SpanMessage]) -> list[SpanMessage]:
    return [each for each in messages if each.texts or each.calls or each.results or each.parts]
