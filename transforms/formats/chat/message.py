"""Reads texts, calls and unread parts of one chat message."""

from turnwise.schemas.conversation import ToolCall, ToolResponse
from turnwise.schemas.jsonio import JsonObject, JsonValue, json_structure
from turnwise.transforms.formats.own_results import own_result
from turnwise.transforms.formats.problems import canonical
from turnwise.transforms.formats.spellings import call_fields
from turnwise.transforms.formats.unread import UNREAD, Unread

SKIPPED_ROLES = ("system", "developer")
TOOL_ROLES = ("tool", "function")
AGENT_ROLES = ("assistant", "agent", "model", "ai", "bot")
_TEXT_TYPES = ("text", "input_text", "output_text")
_HOLDERS = ("content", "tool_calls", "function_call", "refusal", "audio")
KEYS = frozenset(
    (*_HOLDERS, "role", "tool_call_id", "name", "id", "error", "requestor", "usage", "additional_kwargs")
)
_OF_INSTRUCTIONS = frozenset(("role", "content", "name", "id"))
_TEXT_KEYS = frozenset(("type", "text"))
OF_PARTS = frozenset(
    (
        *("type", "text", "refusal", "thinking", "signature", "data", "encrypted_content", "summary"),
        *("reasoning", "reasoningContent", "reasoning_content", "redactedContent", "image_url", "image"),
        *("input_audio", "audio", "video", "video_url", "file", "document", "source", "inlineData"),
        *("inline_data", "blob"),
    )
)


def by_user(message: JsonObject) -> bool:
    """Returns whether the user sent a message."""
    return message.get("role") == "user"


def is_answer(message: JsonObject) -> bool:
    """Returns whether a message is a tool response."""
    return message.get("role") in TOOL_ROLES or bool(message.get("tool_call_id"))


def words(message: JsonObject) -> str:
    """Returns the texts of a message, a refusal and the transcript of speech among them, one a line."""
    content = message.get("content") or message.get("refusal") or _transcript(message.get("audio"))
    if isinstance(content, list):
        return "\n".join(text for part in content if (text := _text(part)))
    return content if isinstance(content, str) else ""


def _transcript(audio: JsonValue) -> JsonValue:
    return audio.get("transcript") if isinstance(audio, dict) else None


def _text(part: JsonValue) -> str | None:
    """Returns the text that a part of a content is; None: it is something else."""
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return None
    kind = part.get("type")
    text = part.get("refusal") if kind == "refusal" else part.get("text")
    is_text = kind in (*_TEXT_TYPES, "refusal") or (kind is None and part.keys() == {"text"})
    return text if is_text and isinstance(text, str) else None


def message_calls(message: JsonObject) -> list[ToolCall]:
    """Returns the calls of a message.

    Raises:
        ValueError: They are no array.
    """
    older, given = message.get("function_call"), message.get("tool_calls") or []
    if not isinstance(given, list):
        raise ValueError(f"not a chat: tool_calls: a JSON array is needed, not {type(given).__name__}")
    calls = [
        canonical(ToolCall, call_fields(call), f"not a chat: tool_calls.{place}")
        for place, call in enumerate(given)
        if not _is_other(call)
    ]
    if older:
        call = canonical(ToolCall, call_fields(older), "not a chat: function_call")
        if all((call.name, call.args) != (made.name, made.args) for made in calls):
            calls.append(call)
    return calls


def call_results(message: JsonObject) -> list[ToolResponse | None]:
    """Returns what each of the calls of a message holds as its result, in the order of `message_calls`."""
    given = [own_result(call) for call in message.get("tool_calls") or [] if not _is_other(call)]
    older = message.get("function_call")
    is_read = bool(older) and len(message_calls(message)) > len(given)
    return [*given, own_result(older)] if is_read else given


def _is_other(call: JsonValue) -> bool:
    """Returns whether an entry of `tool_calls` is of a type that is not read."""
    return isinstance(call, dict) and call.get("type") not in (None, "function", "tool_call", "custom")


def answer_value(message: JsonObject) -> JsonValue:
    """Returns the response of a tool: an object, or the value of its JSON text, or the text."""
    content = message.get("content")
    return content if isinstance(content, dict) else _decoded(words(message))


def _decoded(text: str) -> JsonValue:
    """Returns the object or array of a JSON text, or else the text, because a number may be an id."""
    found = json_structure(text, allow_nan=False)
    return text if found is None else found


def unread_of(message: JsonObject, unread: Unread) -> None:
    """Adds the unread parts of a message."""
    role = message.get("role")
    is_agents = not (by_user(message) or is_answer(message))
    if is_agents and role not in AGENT_ROLES:
        unread.role(role)
    # What is nothing but a role says nothing; other keys may hold what was said.
    if message.keys().isdisjoint(_HOLDERS) and not (is_answer(message) or message.keys() <= KEYS):
        shown = ", ".join(list(message)[:8])
        unread.add(UNREAD, f"a message without content (keys {shown})", calls=True, words=is_agents)
    unread.keys(message, KEYS, is_agents)
    calls = message.get("tool_calls") or ()
    for call in filter(_is_other, calls):
        unread.add(UNREAD, f"a call of the type {str(call['type'])[:60]!r} is not read", calls=True)
    kwargs = message.get("additional_kwargs")
    if kwargs:
        _unread_kwargs(kwargs, message, unread)
    if message.get("audio") and not words(message):
        unread.part("audio", is_agents)
    _unread_content(message, unread, is_agents)


def unread_instructions(message: JsonObject, unread: Unread) -> None:
    """Adds the unread parts of a system or developer message."""
    unread.keys(message, _OF_INSTRUCTIONS, False)
    _unread_content(message, unread, False)


def _unread_kwargs(kwargs: JsonValue, message: JsonObject, unread: Unread) -> None:
    """Adds LangChain's additional data of a message, unless it repeats the message's calls."""
    if not isinstance(kwargs, dict):
        unread.keys({"additional_kwargs": kwargs}, frozenset())
        return
    own = {call.name for call in message_calls(message)}
    repeated = {call.name for call in message_calls(kwargs)} <= own
    unread.keys(kwargs, frozenset(("tool_calls", "function_call")) if repeated else frozenset())


def _unread_content(message: JsonObject, unread: Unread, is_agents: bool) -> None:
    content = message.get("content")
    if content is None or isinstance(content, str) or (isinstance(content, dict) and is_answer(message)):
        return
    for part in content if isinstance(content, list) else [content]:
        if _text(part) is None:
            unread.part(_type_of(part), is_agents)
        if isinstance(part, dict) and not part.keys() <= _TEXT_KEYS:
            unread.keys(part, OF_PARTS, is_agents)


def _type_of(part: JsonValue) -> str:
    """Returns the type of a part: the one it names, else its first key."""
    if not isinstance(part, dict):
        return type(part).__name__
    return str(part.get("type") or next(iter(part), "an empty object"))
