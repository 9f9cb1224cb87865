"""Writes the enum values of messages as numbers."""

from functools import cache
from typing import Any, get_args, get_origin

from pydantic.alias_generators import to_camel

from turnwise.schemas.proto.fields import OpenEnum
from turnwise.schemas.proto.json import Message
from turnwise.schemas.values import JsonObject, JsonValue


def with_enum_numbers(message: type[Message], value: JsonObject) -> JsonObject:
    """Returns a message in canonical proto3 JSON, with numbers in place of the names of enum values."""
    kinds = _kinds(message)
    return {name: _numbered(kinds[name], item) if name in kinds else item for name, item in value.items()}


def _numbered(kind: tuple[Any, bool], value: JsonValue) -> JsonValue:
    known, is_map = kind
    if is_map:
        return {key: _numbered((known, False), item) for key, item in value.items()}
    if isinstance(value, list):
        return [_numbered(kind, item) for item in value]
    if issubclass(known, OpenEnum):
        return int(known[value]) if isinstance(value, str) else value
    return with_enum_numbers(known, value)


@cache
def _kinds(message: type[Message]) -> dict[str, tuple[Any, bool]]:
    """Returns JSON name -> enum or message class, and whether the field is a map of it."""
    found = ((to_camel(name), info.annotation) for name, info in message.model_fields.items())
    return {
        name: (kind, get_origin(annotation) is dict)
        for name, annotation in found
        if (kind := _kind_in(annotation)) is not None
    }


def _kind_in(annotation: Any) -> type[Message] | type[OpenEnum] | None:
    if isinstance(annotation, type) and get_origin(annotation) is None:
        return annotation if issubclass(annotation, Message | OpenEnum) else None
    return next((kind for part in get_args(annotation) if (kind := _kind_in(part))), None)
