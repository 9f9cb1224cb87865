"""Decodes arguments of tool calls from the spellings that logs use."""

from pydantic_core import from_json

from turnwise.schemas.values import JsonObject, JsonValue

RAW = "raw"


def decoded_arguments(value: JsonValue) -> JsonObject | None:
    """Returns a call's arguments as an object.

    Args:
        value: An object, its JSON text, or any other value of a log.

    Returns:
        None if none are stated; `{}` for an empty text; `{"raw": value}` for any value that is not a JSON
        object, so that it never equals a call without arguments.
    """
    if value is None or isinstance(value, dict):
        return value
    if not isinstance(value, str):
        return {RAW: value}
    if not value.strip():
        return {}
    try:
        decoded = from_json(value)
    except ValueError:
        return {RAW: value}
    return decoded if isinstance(decoded, dict) else {RAW: value}
