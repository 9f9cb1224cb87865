"""Writes JSON, and reads JSON in texts of logs."""

import orjson
from pydantic_core import from_json, to_json

from turnwise.schemas.values import JsonObject, JsonValue


def dump_json(value: JsonValue) -> bytes:
    """Returns UTF-8 JSON; supports integers of any size; non-finite numbers become null."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return to_json(value, inf_nan_mode="null")


def json_structure(text: str, *, allow_nan: bool = True) -> JsonObject | list[JsonValue] | None:
    """Returns the object or list that a text spells in JSON; None: it is any other text."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        found: JsonObject | list[JsonValue] = from_json(text, allow_inf_nan=allow_nan)
    except ValueError:
        return None
    return found
