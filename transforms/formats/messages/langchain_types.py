"""What a LangChain message is, in each of its spellings."""

from turnwise.schemas.values import JsonObject

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
