"""Reads google.protobuf.Struct: any JSON object, with numbers as doubles."""

import re

from turnwise.schemas.proto.scalars import read_double, shown
from turnwise.schemas.values import JsonObject, JsonValue

MAX_DEPTH = 100
"""Maximum nesting depth of messages; a `Struct`, its lists and its values count as messages."""

_SURROGATE = re.compile("[\ud800-\udfff]")


def read_struct(value: JsonValue, depth: int = 1) -> JsonObject:
    """Returns a copy of a JSON object with its numbers as doubles.

    Args:
        value: The object; nulls inside it are preserved.
        depth: Nesting depth of the object.

    Raises:
        ValueError: It is no object, holds a value that is no JSON, or nests deeper than 100 messages.
    """
    if not isinstance(value, dict):
        raise ValueError(f"{shown(value)} is not a JSON object")
    _check_depth(depth)
    return {_unicode(key): _struct_value(item, depth + 1) for key, item in value.items()}


def _struct_value(value: JsonValue, depth: int) -> JsonValue:
    _check_depth(depth)
    if isinstance(value, str):
        return value if value.isascii() else _unicode(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return read_double(value)
    if isinstance(value, list):
        _check_depth(depth + 1)
        return [_struct_value(item, depth + 2) for item in value]
    return read_struct(value, depth + 1)


def _check_depth(depth: int) -> None:
    if depth > MAX_DEPTH:
        raise ValueError(f"messages nest deeper than {MAX_DEPTH}")


def _unicode(text: JsonValue) -> str:
    if not isinstance(text, str):
        raise ValueError(f"{shown(text)} is not a string")
    if not text.isascii() and _SURROGATE.search(text):
        raise ValueError(f"{shown(text)} holds an unpaired surrogate")
    return text
