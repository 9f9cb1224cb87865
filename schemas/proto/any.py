"""Reads google.protobuf.Any: messages that state their type."""

import importlib
from functools import cache
from typing import Annotated, Any

from pydantic import TypeAdapter, ValidationError, ValidationInfo

from turnwise.schemas.proto.fields import (
    Bool,
    Bytes,
    Double,
    Duration,
    FieldMask,
    Float32,
    Int32,
    Int64,
    Reading,
    Struct,
    Text,
    Timestamp,
)
from turnwise.schemas.proto.message import MESSAGE_TYPES, describe_error
from turnwise.schemas.values import JsonObject, JsonValue

_VALUES: dict[str, Any] = {
    "google.protobuf.BoolValue": Bool,
    "google.protobuf.BytesValue": Bytes,
    "google.protobuf.DoubleValue": Double,
    "google.protobuf.Duration": Duration,
    "google.protobuf.FieldMask": FieldMask,
    "google.protobuf.FloatValue": Float32,
    "google.protobuf.Int32Value": Int32,
    "google.protobuf.Int64Value": Int64,
    "google.protobuf.StringValue": Text,
    "google.protobuf.Struct": Struct,
    "google.protobuf.Timestamp": Timestamp,
}


@cache
def _adapter(name: str) -> TypeAdapter[Any]:
    return TypeAdapter(_VALUES[name])


def _read_any(value: JsonValue, info: ValidationInfo) -> JsonObject:
    """Returns `@type` with the message's fields, or with `value` for a well-known type."""
    if not isinstance(value, dict):
        raise ValueError("an Any must be a JSON object")
    if not value:
        return {}
    url = value.get("@type")
    if not isinstance(url, str):
        raise ValueError('"@type" is missing')
    try:
        return {"@type": url} | _read_content(url.rpartition("/")[2], value, info)
    except ValidationError as error:
        raise ValueError(describe_error(url, error)) from None


def _read_content(name: str, value: JsonObject, info: ValidationInfo) -> JsonObject:
    if name in _VALUES:
        adapter = _adapter(name)
        if value.keys() != {"@type", "value"}:
            raise ValueError(f'"@type" and "value" are needed for a {name}')
        return {"value": adapter.dump_python(adapter.validate_python(value["value"], context=info.context))}
    if name not in MESSAGE_TYPES:
        # Seldom needed, and 0.1 s of work: a module per part of the domain.
        importlib.import_module("turnwise.schemas.ces.messages")
    if name not in MESSAGE_TYPES:
        raise ValueError(f"unknown message type {name!r}")
    fields = {key: item for key, item in value.items() if key != "@type"}
    return MESSAGE_TYPES[name].model_validate(fields, context=info.context).to_value()


AnyMessage = Annotated[JsonObject, Reading(_read_any)]
"""Any message with a message class, as its canonical JSON object."""
