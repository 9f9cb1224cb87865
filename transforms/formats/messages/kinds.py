"""Whose a message is and what its parts are, by the words of each provider; streamed blocks."""

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from typing import TypeAlias

from pydantic_core import from_json

from turnwise.schemas.jsonio import JsonObject, JsonValue, json_structure, shown

USER, AGENT, TOOL, SYSTEM = "user", "assistant", "tool", "system"
TEXT, CALL, HOSTED, RESULT, THOUGHT, MEDIA = "text", "call", "hosted", "result", "thought", "media"
"""Kinds of parts. The model's service runs a hosted call itself; a thought is no step, nor is a note."""
_ROLES = {
    USER: "user human",
    AGENT: "assistant ai model agent bot chatbot tool-call toolcallrequestevent toolcallsummary",
    TOOL: "tool function function_call_output tool-response toolcallexecutionevent functionexecutionresult",
    SYSTEM: "system developer instructions",
}
_BY_ROLE = {word: role for role, words in _ROLES.items() for word in words.split()}
PartKinds: TypeAlias = dict[str, str]
"""Kind -> types of parts, or keys that name a part, of one provider."""
RESPONSES_PARTS: PartKinds = {
    TEXT: "text input_text output_text summary_text refusal",
    CALL: "function_call custom_tool_call",
    HOSTED: "mcp_call",
    RESULT: "function_call_output custom_tool_call_output",
    THOUGHT: "reasoning mcp_list_tools additional_tools compaction compaction_trigger context_compaction "
    "compaction_summary mcp_approval_request mcp_approval_response agent_config_update",
    MEDIA: "input_image input_file input_audio output_audio audio_content image_content",
}
ANTHROPIC_PARTS: PartKinds = {
    TEXT: "text",
    CALL: "tool_use",
    HOSTED: "server_tool_use mcp_tool_use",
    RESULT: "tool_result",
    THOUGHT: "thinking redacted_thinking compaction fallback tool_addition tool_removal mid_conv_system "
    "container_upload",
    MEDIA: "image document",
}
GEMINI_PARTS: PartKinds = {
    CALL: "functionCall toolCall",
    HOSTED: "executableCode",
    RESULT: "functionResponse toolResponse codeExecutionResult",
    THOUGHT: "thought thoughtSignature videoMetadata partMetadata mediaResolution",
    MEDIA: "inlineData fileData",
}
VERCEL_PARTS: PartKinds = {
    TEXT: "text",
    CALL: "tool-call",
    RESULT: "tool-result tool-error",
    THOUGHT: "reasoning redacted-reasoning step-start source source-url source-document",
    MEDIA: "file image",
}
_OTHER_PARTS: PartKinds = {
    TEXT: "text output_text refusal",
    CALL: "function custom toolUse tool_use tool_call function_call",
    HOSTED: "server_tool_call",
    RESULT: "toolResult server_tool_result tool_call_response server_tool_call_response tool_call_result "
    "function_result",
    THOUGHT: "reasoningContent cachePoint cache toolAddition toolRemoval thinking redacted_thinking "
    "reasoning reasoning_content non_standard non_standard_annotation",
    MEDIA: "image_url input_audio audio file video media blob uri",
}
"""Of Chat Completions, Bedrock, LangChain, OpenTelemetry, Haystack, LlamaIndex and Microsoft's agents."""
_ALL = (RESPONSES_PARTS, ANTHROPIC_PARTS, GEMINI_PARTS, VERCEL_PARTS, _OTHER_PARTS)


def snake(name: str) -> str:
    """Returns a name in small letters with underscores."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[-. ]", "_", name).lower()


_KINDS = {snake(name): kind for kinds in _ALL for kind, names in kinds.items() for name in names.split()}


@lru_cache(maxsize=1024)
def part_kind(name: str) -> str | None:
    """Returns the kind of a part by its type, or by the key that names it; None: no provider has it."""
    plain = snake(name)
    known = _KINDS.get(plain)
    if known is None and plain.endswith("_tool_result"):
        return RESULT  # of any tool that the model's service runs itself
    return known or (THOUGHT if "reasoning" in plain and not is_work(plain) else None)


def typed(part: JsonObject) -> JsonObject:
    """Returns a part with its type, which .NET's writers and Semantic Kernel state under other keys."""
    if "type" in part:
        return part
    kind, about = first_of(part, ("block_type", "$type")), part.get("content_type")  # or a MIME type
    kind = about if kind is None and isinstance(about, str) and part_kind(about) else kind
    return part if kind is None else {**part, "type": kind}


def part_types(parts: PartKinds, *kinds: str) -> tuple[str, ...]:
    """Returns the types of a provider's parts that are of some kinds."""
    return tuple(name for kind in kinds for name in parts.get(kind, "").split())


def role_of(name: JsonValue) -> str | None:
    """Returns whose a message is, by its role or the name of its class; None: it is nobody's."""
    return _role_named(name) if isinstance(name, str) else None


@lru_cache(maxsize=1024)
def _role_named(name: str) -> str | None:
    plain = name.rpartition(".")[2].lower()
    inner = plain.removesuffix("chunk").removesuffix("message").rstrip("_")
    return _BY_ROLE.get(plain) or _BY_ROLE.get(inner)


_WORK = re.compile(
    r"(^|_)(call|use|result|output|invocation|response|tool|function|action|transfer)s?$|^((executable|generated|source|python)_)?code$"
)


def is_work(name: str) -> bool:
    """Returns whether a key or type may hold calls or their results, by its name."""
    return bool(_WORK.search(snake(name)))


def code_failed(result: JsonObject) -> bool:
    """Returns whether the outcome of code that ran, as Gemini states it, is known to be no success."""
    outcome = str(result.get("outcome") or 0).removeprefix("Outcome.").removeprefix("OUTCOME_")
    return outcome not in ("OK", "1", "UNSPECIFIED", "0")


HIDDEN = frozenset(
    ("__REDACTED__", "<elided>", "readacted", "redacted", "<redacted>", "[REDACTED]", "<not specified>")
)
"""What writers put in the place of a content that they hide."""

_DATA = re.compile(r"^data:[ ]?(.*)$", re.MULTILINE)
_DECODER = json.JSONDecoder()


def events_of(text: JsonValue) -> list[JsonObject]:
    """Returns the events of a streamed reply; empty: it is none."""
    # It is server-sent events, JSON Lines, JSON objects in a row, AWS's binary stream as text, or a list.
    if isinstance(text, list):
        return objects_in(text)
    if not isinstance(text, str):
        return []
    if "event-type" in text:
        return objects_in([_value_at(text, match.end())[0] for match in re.finditer(r"event(?=\{)", text)])
    if lines := _DATA.findall(text):
        return objects_in([json_structure(line) for line in lines])
    events: list[JsonObject] = []
    index, text = 0, text.rstrip()
    while index < len(text):
        if text[index].isspace():
            index += 1
            continue
        value, index = _value_at(text, index)
        if not isinstance(value, dict):
            return []
        events.append(value)
    return events


def _value_at(text: str, index: int) -> tuple[JsonValue, int]:
    """Returns the JSON value that begins at a place of a text, and where it ends; None: there is none."""
    try:
        return _DECODER.raw_decode(text, index)
    except (ValueError, RecursionError):
        return None, index


def block_stream(events: list[JsonObject]) -> JsonObject:
    """Returns the message that events of Anthropic's or Bedrock's streams make."""
    # Texts, thoughts and the JSON text of arguments come in pieces, by the index of their block.
    message: JsonObject = {"type": "message", "role": "assistant", "stop_reason": None, "usage": {}}
    blocks: dict[JsonValue, JsonObject] = {}
    is_ended = False
    for event in events:
        kind = event.get("type")
        if kind == "error":
            return {"type": "error", "error": event.get("error") or "error"}
        if kind == "message_start" and isinstance(event.get("message"), dict):
            message |= event["message"]
        elif kind == "content_block_start" and isinstance(event.get("content_block"), dict):
            blocks[event.get("index")] = dict(event["content_block"])
        elif kind == "content_block_delta" and isinstance(event.get("delta"), dict):
            block, delta = blocks.setdefault(event.get("index"), {"type": "text"}), event["delta"]
            for key in ("text", "thinking", "partial_json"):
                if isinstance(delta.get(key), str):
                    block[key] = (block.get(key) or "") + delta[key]
        elif kind == "message_delta":
            is_ended = True
            message |= as_object(event.get("delta"))
            message["usage"] = {**as_object(message.get("usage")), **as_object(event.get("usage"))}
    if not is_ended:
        # What the first event states is provisional.
        message["usage"] = {k: v for k, v in as_object(message.get("usage")).items() if k != "output_tokens"}
    for block in blocks.values():
        if spelt := block.pop("partial_json", None):
            block["input"] = spelt
            with suppress(ValueError):
                block["input"] = from_json(spelt)
    message["content"] = list(blocks.values())
    return message


def listed(value: JsonValue, path: str) -> list[JsonValue]:
    """Returns a list; None counts as an empty one; raises ValueError for anything else."""
    if value is not None and not isinstance(value, list):
        raise ValueError(f"{path}: a JSON array is needed, not {shown(value)}")
    return value or []


def stated(value: JsonObject) -> JsonObject:
    """Returns an object without the keys that hold null, which dumps write for what is not there."""
    if None in value.values():
        return {key: item for key, item in value.items() if item is not None}
    return value


def snaked(value: JsonObject) -> JsonObject:
    """Returns an object with its keys in snake_case, without those that hold null."""
    return {snake(key): item for key, item in value.items() if item is not None}


def without_nulls(value: JsonValue) -> JsonValue:
    """Returns a record, or a list of records, without the keys that hold null; deeper ones may be values."""
    if isinstance(value, list):
        return [stated(item) if isinstance(item, dict) else item for item in value]
    return stated(value) if isinstance(value, dict) else value


def objects(value: JsonValue, path: str) -> Iterator[JsonObject]:
    """Yields the objects of a list, without their keys that hold null; raises ValueError for others."""
    for index, item in enumerate(listed(value, path)):
        if not isinstance(item, dict):
            raise ValueError(f"{path}.{index}: a JSON object is needed, not {shown(item)}")
        yield stated(item)


def as_blocks(content: JsonValue) -> list[JsonObject]:
    """Returns the blocks of a content, which may be a text; raises ValueError for anything else."""
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return list(objects(blocks, "content"))


def objects_in(value: JsonValue) -> list[JsonObject]:
    """Returns the objects of a list, without what is none; an empty list in place of anything else."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def first_of(value: JsonObject, names: Iterable[str]) -> JsonValue:
    """Returns the first value of some keys that is not None."""
    for name in names:
        if (held := value.get(name)) is not None:
            return held
    return None


def decoded(value: JsonValue, allow_nan: bool = False) -> JsonValue:
    """Returns the object or array that a JSON text spells; any other value unchanged."""
    spelt = json_structure(value, allow_nan=allow_nan) if isinstance(value, str) else None
    return value if spelt is None else spelt


def key_set(text: str) -> frozenset[str]:
    """Returns the words of a text."""
    return frozenset(text.split())


def as_object(value: JsonValue) -> JsonObject:
    """Returns an object without its keys that hold null; an empty one in place of anything else."""
    return stated(value) if isinstance(value, dict) else {}


def kind_of(part: JsonObject) -> str:
    """Returns the type that a message or part names; "": it names none."""
    kind = part.get("type")
    return kind if isinstance(kind, str) else "" if kind is None else f"of the type {kind!r}"[:60]
