"""What a LangChain message is, in each of its spellings."""

from turnwise.schemas.values import JsonObject
from turnwise.transforms.formats.messages.dialogue import Dialogue

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
        return {"type": name, **message["kwargs"]}
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
