"""Writes JSON, and reads JSON in texts of logs."""

import json
from typing import Any

import orjson
from pydantic_core import from_json, to_json

from turnwise.schemas.values import JsonObject, JsonValue


def dump_json(value: JsonValue) -> bytes:
    """Returns UTF-8 JSON; supports integers of any size; non-finite numbers become null."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return to_json(value, inf_nan_mode="null")


def load_json(text: bytes) -> Any:
    """Parses UTF-8 JSON as `json.loads` does, in about half of its time on rows.

    Raises:
        ValueError: It is no JSON.
    """
    try:
        return from_json(text)
    except ValueError:  # unpaired surrogates, and what is nested deeply
        return json.loads(text)


def same_json(left: JsonValue, right: JsonValue) -> bool:
    """Returns whether two values are written as the same JSON; False also where that is not certain."""
    try:
        return orjson.dumps(left) == orjson.dumps(right)
    except TypeError:
        return False


def json_structure(text: str, *, allow_nan: bool = True) -> JsonObject | list[JsonValue] | None:
    """Returns the object or list that a text spells in JSON; None: it is any other text."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        found: JsonObject | list[JsonValue] = from_json(text, allow_inf_nan=allow_nan)
    except ValueError:
        return None
    return found


class _Twice(ValueError):
    pass


def key_twice(text: bytes, value: JsonValue) -> str | None:
    """Returns a key that an object of a JSON text states twice, with different values; None: there is none.

    Parsers keep the last one. The text is parsed again only if it has more colons than its value has.

    Args:
        text: UTF-8 JSON.
        value: What it was parsed into.
    """
    try:
        if text.count(b":") == dump_json(value).count(b":"):
            return None
        json.loads(text, object_pairs_hook=_distinct, parse_int=str, parse_float=str)
    except _Twice as error:
        return str(error)
    except (ValueError, RecursionError):
        pass
    return None


def _distinct(pairs: list[tuple[str, Any]]) -> JsonObject:
    found = dict(pairs)
    if len(found) < len(pairs):
        for key, item in pairs:
            if item != found[key]:
                raise _Twice(key)
    return found
