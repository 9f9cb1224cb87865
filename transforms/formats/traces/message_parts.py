"""Reads the parts of messages in the spellings of OpenTelemetry and of the model APIs."""

from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.chat.message import OF_PARTS
from turnwise.transforms.formats.messages.anthropic import BLOCK_KEYS
from turnwise.transforms.formats.messages.hosted_tools import HOSTED as HOSTED_ITEMS
from turnwise.transforms.formats.messages.values import stated
from turnwise.transforms.formats.spellings import as_text, failure_mark
from turnwise.transforms.formats.traces.message import (
    HIDDEN,
    HIDDEN_TEXT,
    MessageCall,
    MessageResult,
    SpanMessage,
)
from turnwise.transforms.formats.traces.values import loaded
from turnwise.transforms.formats.unread import is_work, may_hold_work

_TEXTS = ("text", "input_text", "output_text", "summary_text", "refusal")
_WORDS = ("text", "content", "refusal", "value")
_CALLS = ("tool_call", "tool_use", "tool-call", "function_call", "server_tool_call", "server_tool_use",
          "mcp_call", "custom_tool_call", "mcp_tool_use", "function", "toolCall")  # fmt: skip
_RESULTS = ("tool_call_response", "tool_result", "tool-result", "tool-error", "function_call_output",
            "toolResult", "server_tool_call_response", "custom_tool_call_output")  # fmt: skip
_HOSTED = ("server_tool_call", "server_tool_use", "mcp_call", "mcp_tool_use")
_THOUGHTS = ("thinking", "reasoning", "redacted_thinking", "reasoning_content", "thought", "reasoningContent",
             "step-start", "cachePoint")  # fmt: skip
KNOWN_PARTS = frozenset((*_TEXTS, *_CALLS, *_RESULTS, *_THOUGHTS, "image", "image_url", "input_image", "file",
                         "input_file", "document", "audio", "input_audio", "video", "media"))  # fmt: skip
"""Types of parts of a message's content."""
_OWN_CALLS = ("functionCall", "function_call", "toolUse")
_OWN_RESULTS = ("functionResponse", "function_response", "toolResult", "tool_call_result")
_THOUGHT_KEYS = frozenset(("thought", "thought_signature", "thoughtSignature", "reasoningContent",
                           "reasoning", "cachePoint", "text"))  # fmt: skip
_OTHER_TYPES = ("custom", "tool_call_chunk", "custom_tool_call", "tool-invocation")
"""Types of entries of `tool_calls`, beside those of parts."""
_ARGS = ("arguments", "args", "input", "kwargs", "parameters", "server_tool_call", "tool_kwargs")
_CALL_IDS = ("tool_call_id", "toolCallId", "tool_use_id", "toolUseId", "call_id", "callId", "id")
_NAMES = ("name", "toolName", "tool_name", "toolName")
_VALUES = ("response", "result", "output", "content", "json", "value", "server_tool_call_response",
           "tool_result", "tool_output")  # fmt: skip
_PART_KEYS = OF_PARTS | BLOCK_KEYS | frozenset((
    *_WORDS, *_ARGS, *_CALL_IDS, *_NAMES, *_VALUES, *_OWN_CALLS, *_OWN_RESULTS, *_THOUGHT_KEYS, "block_type",
    "message_content", "tool_call", "function", "toolInvocation", "origin", "custom", "extra", "extras",
    "providerOptions", "providerMetadata", "provider_details", "inlineData", "fileData", "file_data",
    "videoMetadata", "video_metadata", "partMetadata", "part_metadata", "is_error", "index",
))  # fmt: skip
"""Keys of parts; another that may hold calls or results is not read."""
_OF_CALLS = frozenset(("args", "kwargs", "sanitize_inputs_outputs"))
_OF_LANGCHAIN = frozenset(("input_str", "inputs", "tags", "metadata", "kwargs", "name", "color", "run_id"))
_OF_VERCEL = ("text", "json", "content", "error-text", "error-json")


def first_of(value: JsonObject, names: tuple[str, ...]) -> JsonValue:
    """Returns the first value of some keys that is not None."""
    for name in names:
        found = value.get(name)
        if found is not None:
            return found
    return None


def add_part(message: SpanMessage, part: JsonValue) -> None:
    """Adds a part of a message's content; of one that is not read, its type."""
    if isinstance(part, str):
        add_text(message, part)
    elif isinstance(part, dict):
        part = stated(part)
        kind = part.get("type", part.get("block_type"))
        inner = part.get("message_content")
        if isinstance(inner, dict):
            add_part(message, {**inner, "tool_call": part["tool_call"]} if "tool_call" in part else inner)
        elif not isinstance(kind, str):
            _add_untyped(message, part)
        elif kind in _TEXTS:
            _add_typed_text(message, part)
        elif kind in _CALLS:
            add_call(message, part)
        elif is_result(kind):
            message.results.append(result_of(part))
        elif kind not in _THOUGHTS and ("reasoning" not in kind.lower() or is_work(kind)):
            message.parts.append(kind)
        if not part.keys() <= _PART_KEYS:
            others = ((name, item) for name, item in part.items() if name not in _PART_KEYS)
            message.keys += [name for name, item in others if may_hold_work(name, item)]
    elif part is not None:
        message.parts.append(type(part).__name__)


def is_result(kind: str) -> bool:
    """Returns whether a type of parts is that of results: also of any tool that a service runs itself."""
    return kind in _RESULTS or kind.endswith("_tool_result")


def add_calls(message: SpanMessage, calls: JsonValue) -> None:
    """Adds the calls that stand beside the content of a message, unless the content holds them already."""
    calls = loaded(calls)
    if not isinstance(calls, list):
        message.keys += [] if calls in (None, "", {}) else ["tool_calls"]
        return
    known = {call.id for call in message.calls if call.id}
    for each in calls:
        kind = each.get("type") if isinstance(each, dict) else None
        if not isinstance(each, dict) or kind not in (None, *_CALLS, *_OTHER_TYPES):
            message.parts += [] if each is None else [f"tool_calls: {kind or type(each).__name__}"]
        elif (read := call_of(stated(each))) and not (read.id and read.id in known):
            message.calls.append(read)


def add_call(message: SpanMessage, part: JsonObject) -> None:
    """Adds a call; what stands before one that the model's service runs is no answer."""
    call = call_of(part)
    call.is_hosted = part.get("type") in _HOSTED or part.get("providerExecuted") is True
    if call.is_hosted:
        message.answer_from = len(message.texts)
    message.calls.append(call)


def _add_typed_text(message: SpanMessage, part: JsonObject) -> None:
    """Adds a part that is a text; one without any content was left out by the writer."""
    if part.keys().isdisjoint(_WORDS):
        message.parts.append(HIDDEN_TEXT)
    else:
        add_text(message, first_of(part, _WORDS))


def add_text(message: SpanMessage, text: JsonValue) -> None:
    """Adds a text that is not empty, or that the writer hid."""
    if isinstance(text, str) and text:
        (message.parts if text in HIDDEN else message.texts).append(HIDDEN_TEXT if text in HIDDEN else text)


def call_of(call: JsonObject) -> MessageCall:
    """Returns a call: flat, or nested under `function` or `tool_call`."""
    outer = call
    for key in ("tool_call", "function", "functionCall", "function_call", "custom"):
        inner = call.get(key)
        if isinstance(inner, dict):
            call = {**call, **stated(inner)}
        elif key == "function" and isinstance(inner, str):
            call = {"name": inner, **call}
    args = first_of(call, _ARGS)
    if args is None and call.get("type") == "custom_tool_call":
        args = outer.get("input")
    args = None if isinstance(args, str) and args in HIDDEN else args
    return MessageCall(
        as_text(first_of(call, _NAMES)), args, as_text(first_of(call, _CALL_IDS[::-1][:1] + _CALL_IDS))
    )


def hosted_call(item: JsonObject) -> MessageCall:
    """Returns a call to a tool that the model's service ran, as an item of the Responses API."""
    kind = str(item.get("type"))
    given = {key: item[key] for key in HOSTED_ITEMS[kind] if item.get(key) is not None}
    inner = next(iter(given.values()), None) if len(given) == 1 else None
    name = kind.removesuffix("_call")
    return MessageCall(name, inner if isinstance(inner, dict) else given, as_text(item.get("id")), True)


def call_arguments(value: JsonValue) -> JsonValue:
    """Returns the arguments in a recorded call of a Python function, or of a tool of LangChain or CrewAI."""
    if not isinstance(value, dict):
        return value
    is_langchain = "input_str" in value and value.keys() <= _OF_LANGCHAIN
    inner = value.get("inputs")
    if is_langchain and isinstance(inner, dict) and inner:
        return inner
    asked = value.get("calling")
    if "tool_string" in value and isinstance(asked, dict) and "arguments" in asked:
        return loaded(asked["arguments"])
    named, placed = value.get("kwargs"), value.get("args")
    if isinstance(named, dict) and value.keys() <= _OF_CALLS:
        return named if not placed else {**named, "args": placed}
    return value["input_str"] if is_langchain else value


def result_of(result: JsonObject) -> MessageResult:
    """Returns a result with its error mark."""
    origin = result.get("origin")
    result = {**origin, **result} if isinstance(origin, dict) else result
    value = first_of(result, _VALUES)
    found = _plain_result(value)
    bad = isinstance(value, dict) and str(value.get("type")).startswith("error-")
    name = as_text(first_of(result, _NAMES))
    error = True if bad or failure_mark(result) else None
    return MessageResult(found, as_text(first_of(result, _CALL_IDS)), name, error)


def _plain_result(value: JsonValue) -> JsonValue:
    """Returns the text of a result that is one block of text; structured results as they are."""
    value = loaded(value)
    if isinstance(value, str) and value in HIDDEN:
        return None
    if isinstance(value, dict) and value.keys() == {"type", "value"} and value["type"] in _OF_VERCEL:
        return value["value"]
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
        block = value[0]
        if block.keys() <= {"type", "text", "annotations"} and isinstance(block.get("text"), str):
            return loaded(block["text"])
        if block.keys() == {"json"}:
            return block["json"]
    return value


def _names_call(part: JsonObject) -> bool:
    return "toolCallId" in part or "tool_kwargs" in part or part.keys() >= {"name", "arguments"}


def _add_untyped(message: SpanMessage, part: JsonObject) -> None:
    """Adds a part that its keys name, as Gemini's, Bedrock's and Haystack's do."""
    calls = [part[key] for key in _OWN_CALLS if isinstance(part.get(key), dict)]
    results = [part[key] for key in _OWN_RESULTS if isinstance(part.get(key), dict)]
    message.calls += map(call_of, calls)
    message.results += map(result_of, results)
    if calls or results:
        return
    if isinstance(part.get("tool_call"), dict) or _names_call(part):
        add_call(message, part)
    elif part.get("thought") is not True and isinstance(part.get("text"), str):
        add_text(message, part["text"])
    elif "text" not in part and isinstance(part.get("content"), str):
        add_text(message, part["content"])
    elif part and not part.keys() & _THOUGHT_KEYS:
        message.parts.append(next(iter(part)))
