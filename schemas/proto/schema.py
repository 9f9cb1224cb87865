"""Generates JSON Schemas of proto3 JSON messages for MCP tools."""

from functools import cache
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

from pydantic.alias_generators import to_camel

from turnwise.schemas.proto import fields as proto_fields
from turnwise.schemas.proto.any import AnyMessage
from turnwise.schemas.proto.fields import OpenEnum
from turnwise.schemas.proto.json import Message
from turnwise.schemas.values import JsonObject

_NON_FINITE: JsonObject = {"type": "string", "enum": ["NaN", "Infinity", "-Infinity"]}
_SCALARS: list[tuple[Any, JsonObject]] = [
    (proto_fields.Text, {"type": "string"}),
    (proto_fields.Bool, {"type": "boolean"}),
    (proto_fields.Int32, {"type": "integer", "format": "int32"}),
    (proto_fields.Int64, {"type": "string", "format": "int64"}),
    (proto_fields.Float32, {"anyOf": [{"type": "number", "format": "float"}, _NON_FINITE]}),
    (proto_fields.Double, {"anyOf": [{"type": "number", "format": "double"}, _NON_FINITE]}),
    (proto_fields.Bytes, {"type": "string", "format": "byte"}),
    (proto_fields.Timestamp, {"type": "string", "format": "date-time"}),
    (proto_fields.Duration, {"type": "string", "format": "google-duration"}),
    (proto_fields.FieldMask, {"type": "string", "format": "google-fieldmask"}),
    (proto_fields.Struct, {"type": "object", "additionalProperties": True}),
    (AnyMessage, {"type": "object", "additionalProperties": True}),
]


def message_schema(message: type[Message], *, writable_only: bool = False) -> JsonObject:
    """Returns the schema of a message, with nested messages by protobuf name under `$defs`.

    Args:
        message: Message class; its output-only fields are marked as `readOnly`.
        writable_only: Whether output-only fields are omitted.
    """
    found: dict[str, JsonObject] = {}
    waiting = [message]
    while waiting:
        current = waiting.pop()
        if current.PROTO not in found:
            found[current.PROTO], inner = _object(current, writable_only)
            waiting += inner
    root = found.pop(message.PROTO)
    return {**root, "$defs": dict(sorted(found.items()))} if found else root


@cache
def _object(message: type[Message], writable_only: bool) -> tuple[JsonObject, list[type[Message]]]:
    """Returns the schema of one message, and the messages that it refers to."""
    hints = get_type_hints(message, include_extras=True)
    inner: list[type[Message]] = []
    output_only = getattr(message, "OUTPUT_ONLY", ())
    properties: JsonObject = {}
    for name in message.model_fields:
        is_read_only = to_camel(name) in output_only
        if not (is_read_only and writable_only):
            mark = {"readOnly": True} if is_read_only else {}
            properties[to_camel(name)] = {**_field(hints[name], inner), **mark}
    return {"type": "object", "properties": properties, "additionalProperties": False}, inner


def _field(hint: Any, inner: list[type[Message]]) -> JsonObject:
    known = next((schema for kind, schema in _SCALARS if kind == hint), None)
    if known is not None:
        return known
    if isinstance(hint, type) and get_origin(hint) is None:
        return _named(hint, inner)
    first = get_args(hint)[0]
    if NoneType in get_args(hint):
        return _field(first, inner)
    if get_origin(hint) is list:
        return {"type": "array", "items": _field(first, inner)}
    if get_origin(hint) is dict:
        return {"type": "object", "additionalProperties": _field(get_args(hint)[1], inner)}
    return _field(first, inner)


def _named(kind: type[Any], inner: list[type[Message]]) -> JsonObject:
    if issubclass(kind, OpenEnum):
        # Values of a newer API version are printed as numbers.
        names: JsonObject = {"type": "string", "enum": list(kind.__members__)}
        return {"anyOf": [names, {"type": "integer", "format": "int32"}]}
    inner.append(kind)
    return {"$ref": f"#/$defs/{kind.PROTO}"}
