"""What a LangChain message is, in each of its spellings."""

from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.messages.dialogue import Dialogue
from turnwise.transforms.formats.messages.values import objects, stated

_ALL = "__remove_all__"

ROLES = {
    **dict.fromkeys(("human", "user"), "user"),
    **dict.fromkeys(("ai", "assistant"), "agent"),
    **dict.fromkeys(("tool", "function"), "tool"),
    **dict.fromkeys(("system", "developer"), "system"),
    "remove": "remove",
}


def unwrapped(message: JsonObject) -> JsonObject:
    """Returns the fields of a message in any of the three spellings, with its type."""
    if isinstance(message.get("kwargs"), dict) and "lc" in message:
        names = message.get("id")
        name = str(names[-1]) if isinstance(names, list) and names else ""
        return {"type": name, **stated(message["kwargs"])}
    data = message.get("data")
    return {**data, "type": message.get("type")} if isinstance(data, dict) else message


def plain_type(kind: str) -> str:
    """Returns a type without what class names add: `AIMessageChunk` is `ai`."""
    return kind.lower().removesuffix("chunk").removesuffix("message").rstrip("_")


def role_of(message: JsonObject) -> str:
    """Returns whose a message is: of a class's name, its type, or the role of a plain message."""
    kind = plain_type(str(message.get("type") or ""))
    if kind not in ROLES:
        kind = str(message.get("role") or kind)
    return ROLES.get(kind, kind)


def joined_chunks(messages: list[JsonObject]) -> list[JsonObject]:
    """Returns messages with the chunks of each streamed one joined: they follow each other, with one id."""
    found: list[JsonObject] = []
    for message in messages:
        last = found[-1] if found else {}
        if _is_chunk(message) and _is_chunk(last) and message.get("id") in (None, last.get("id")):
            found[-1] = _joined(last, message)
        else:
            found.append(message)
    return found


def _is_chunk(message: JsonObject) -> bool:
    return str(message.get("type")).lower() == "aimessagechunk"


def _joined(one: JsonObject, other: JsonObject) -> JsonObject:
    """Returns two chunks as one: texts and arguments continued, other keys of the later one."""
    pieces = [each for message in (one, other) for each in objects(message.get("tool_call_chunks"), "chunks")]
    stated = {key: value for key, value in other.items() if value not in (None, "", [], {})}
    content = [*_parts(one.get("content")), *_parts(other.get("content"))]
    return {**one, **stated, "content": content, "tool_call_chunks": pieces, "tool_calls": _calls(pieces)}


def _parts(content: JsonValue) -> list[JsonValue]:
    return content if isinstance(content, list) else [content] if content else []


def _calls(pieces: list[JsonObject]) -> list[JsonValue]:
    """Returns the calls whose names, ids and JSON texts come in pieces, by the index of each."""
    calls: dict[JsonValue, dict[str, str]] = {}
    for piece in pieces:
        call = calls.setdefault(piece.get("index"), {"name": "", "id": "", "args": ""})
        for key in call:
            call[key] += piece[key] if isinstance(piece.get(key), str) else ""
    return [dict(call) for call in calls.values()]


def kept_messages(messages: list[JsonObject], log: Dialogue) -> list[JsonObject]:
    """Returns the messages that no `remove` names, and says how many there are."""
    found: list[JsonObject] = []
    removed = 0
    for message in messages:
        if role_of(message) == "remove":
            before = len(found)
            found = [m for m in found if message.get("id") not in (_ALL, m.get("id"))]
            removed += before - len(found)
        else:
            found.append(message)
    if removed:
        log.general.add("UndoneTurns", f"{removed} messages were removed from the state", calls=True)
    return found
