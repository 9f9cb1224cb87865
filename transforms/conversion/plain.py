"""Canonical objects as JSON, without what is default."""

from collections.abc import Iterable
from functools import cache
from typing import Any

import msgspec

from turnwise.schemas.conversation import Turn
from turnwise.schemas.jsonio import JsonObject, JsonValue


def plain(item: msgspec.Struct) -> JsonObject:
    """Returns the fields of an object that are not their defaults."""
    found: JsonObject = {}
    for name, required, default in field_defaults(type(item)):
        value = getattr(item, name)
        if required or value != default:
            found[name] = _plain(value)
    return found


@cache
def field_defaults(kind: type[msgspec.Struct]) -> list[tuple[str, bool, Any]]:
    """Returns the fields of a class: name, whether it must be given, default."""
    return [(f.name, f.required, _default(f)) for f in msgspec.structs.fields(kind)]


def _default(field: msgspec.structs.FieldInfo) -> Any:
    return field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()


def _plain(value: Any) -> JsonValue:
    if isinstance(value, msgspec.Struct):
        return plain(value)
    return [_plain(each) for each in value] if isinstance(value, list) else value


def earlier_texts(turn: Turn) -> list[str]:
    """Returns what the agent said before its final response; nothing if that is all its texts in one."""
    texts = turn.agent_messages
    if len(texts) > 1 and turn.agent == "\n".join(texts):
        return []
    return texts[:-1] if texts and texts[-1] == turn.agent else texts


def with_texts(turns: Iterable[Turn]) -> list[Turn]:
    """Returns turns whose final response is all that the agent said, unless they hold other texts."""
    found = list(turns)
    for turn in found:
        turn.agent_messages = turn.agent_messages or ([turn.agent] if turn.agent else [])
    return found
