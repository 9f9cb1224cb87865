"""Decodes arguments of tool calls from the spellings that logs use."""

from pydantic_core import from_json

from turnwise.schemas.values import JsonObject, JsonValue

RAW = "raw"


def decoded_arguments(value: JsonValue) -> JsonObject | None:
    """Returns a call's arguments as an object.

    Args:
        value: An object, its JSON text, or any other value of a log.

    Returns:
        None if none are stated; `{}` for an empty text or list (PHP's empty object), and for the text `null`;
        `{"raw": value}` for any other value that is not a JSON object, so that it never equals a call without
        arguments.
    """
    if value is None or isinstance(value, dict):
        return value
    decoded = value
    if isinstance(value, str):
        try:
            decoded = from_json(value) if value.strip() else None
        except ValueError:
            return {RAW: value}
    if isinstance(decoded, dict):
        return decoded
    return {} if decoded is None or decoded == [] else {RAW: value}
