"""Writes JSON."""

import orjson
from pydantic_core import to_json

from turnwise.schemas.values import JsonValue


def dump_json(value: JsonValue) -> bytes:
    """Returns UTF-8 JSON; supports integers of any size; non-finite numbers become null."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return to_json(value, inf_nan_mode="null")
