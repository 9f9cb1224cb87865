"""JSON schemas as OpenAI's strict replies need them."""

from collections.abc import Mapping
from typing import Any

from turnwise.schemas.jsonio import JsonObject

_UNKNOWN = ("default", "maxLength", "minLength", "title", "uniqueItems")


def strict_schema(schema: JsonObject) -> JsonObject | None:
    """Returns a schema in which every object is closed and every property required.

    What strict replies do not know (lengths, defaults) is left out: the answer is checked by the whole schema
    afterwards.

    Args:
        schema: A JSON schema as pydantic makes it.

    Returns:
        The schema; None: it has objects with free keys, which strict replies cannot have.
    """
    try:
        strict: JsonObject = _strict(schema, schema.get("$defs", {}))
    except _OpenObject:
        return None
    return strict


class _OpenObject(Exception):
    """An object with free keys."""


def _strict(schema: Any, definitions: Mapping[str, Any]) -> Any:
    if isinstance(schema, list):
        return [_strict(each, definitions) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema and len(schema) > 1:  # a reference may have nothing beside it
        own = {name: value for name, value in schema.items() if name != "$ref"}
        return _strict({**definitions[schema["$ref"].rpartition("/")[2]], **own}, definitions)
    found = {
        name: _by_name(value, definitions) if name in ("properties", "$defs") else _strict(value, definitions)
        for name, value in schema.items()
        if name not in _UNKNOWN
    }
    if found.get("type") == "object":
        if "properties" not in found or found.get("additionalProperties"):
            raise _OpenObject
        found |= {"additionalProperties": False, "required": list(found["properties"])}
    return found


def _by_name(schemas: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _strict(each, definitions) for name, each in schemas.items()}
