"""JSON texts."""

import orjson
from pydantic_core import to_json

from turnwise.schemas.values import JsonValue


def dump_json(value: JsonValue) -> bytes:
    """Returns a JSON text in UTF-8; integers of any size; a value that is not finite becomes null."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return to_json(value, inf_nan_mode="null")
