"""Generates JSON Schemas of proto3 JSON messages for MCP tools."""

from collections import deque
from collections.abc import Mapping
from functools import cache, partial
from typing import Any, Literal, get_args, get_origin, get_type_hints

from pydantic.alias_generators import to_camel

from turnwise.schemas.jsonio import JsonObject, dump_json
from turnwise.schemas.proto import message as proto_fields
from turnwise.schemas.proto.masks import mask_fields
from turnwise.schemas.proto.message import AnyMessage, Message, OpenEnum

SchemaUse = Literal["answer", "request", "update"]
"""What a message is for. Only requests have required fields.

With a mask, an update may leave out every field that the mask can name, thus all but those inside lists.
"""

_NUMBER: JsonObject = {"anyOf": [{"type": "number"}, {"enum": ["NaN", "Infinity", "-Infinity"]}]}
# Validators of clients warn of formats that JSON Schema does not have, such as int32 and google-duration.
_SCALARS: list[tuple[Any, JsonObject]] = [
    (proto_fields.Text, {"type": "string"}),
    (proto_fields.Bool, {"type": "boolean"}),
    (proto_fields.Int32, {"type": "integer"}),
    (proto_fields.Int64, {"type": "string", "pattern": "^-?[0-9]+$"}),
    (proto_fields.Float32, {"$ref": "#/$defs/Number"}),
    (proto_fields.Double, {"$ref": "#/$defs/Number"}),
    (proto_fields.Bytes, {"type": "string", "contentEncoding": "base64"}),
    (proto_fields.Timestamp, {"type": "string", "format": "date-time"}),
    (proto_fields.Duration, {"type": "string", "pattern": "^-?[0-9]+(\\.[0-9]{1,9})?s$"}),
    (proto_fields.FieldMask, {"type": "string"}),
    (proto_fields.Struct, {"type": "object"}),
    (AnyMessage, {"type": "object"}),
]
_OBJECT: JsonObject = {"type": "object"}
_NOTHING: JsonObject = {"not": {}}
"""A field that must not be there; several clients read no `false` in place of a schema."""


def message_schema(
    message: type[Message], use: SchemaUse = "answer", elsewhere: Mapping[type[Message], str] | None = None
) -> JsonObject:
    """Returns the schema of a message; what it refers to stands under `$defs`.

    In a request, the content of output-only fields is not described. `elsewhere`: messages inside an answer
    that are not described, and the tool whose answer does so.
    """
    writer = _SchemaWriter(use, elsewhere or {})
    root, defs = writer.of_message(message, False, use == "update"), writer.defs
    while writer.waiting:
        current, is_partial = writer.waiting.popleft()
        if current.PROTO not in defs:
            defs[current.PROTO] = writer.of_message(current, is_partial, is_partial)
    text = dump_json([root, *defs.values()]).decode()
    numbers = {"Number": _NUMBER} if '"#/$defs/Number"' in text else {}
    parts = dict(sorted({**numbers, **defs}.items()))
    return {**root, "$defs": parts} if parts else root


class _SchemaWriter:
    def __init__(self, use: SchemaUse, elsewhere: Mapping[type[Message], str]) -> None:
        self.defs: dict[str, JsonObject] = {}
        self.waiting: deque[tuple[type[Message], bool]] = deque()
        self._use = use
        self._elsewhere = elsewhere

    def of_message(self, message: type[Message], is_partial: bool, are_fields_partial: bool) -> JsonObject:
        hints, declared = _hints(message), message.FIELDS.items()
        fields = {
            to_camel(name): self._property(message, name, hints[name], are_fields_partial)
            for name in message.model_fields
        }
        required = [message.IDENTIFIER] if is_partial else [name for name, item in declared if item.required]
        schema = {**_OBJECT, "properties": fields, "additionalProperties": False}
        # Of the fields of a oneof at most one may be set.
        needs_one = self._use != "answer" and not is_partial and message.NEEDS_ONE
        names = list(map(to_camel, message.ONEOF))
        if tuple(message.model_fields) == message.ONEOF:
            schema |= {"maxProperties": 1, **({"minProperties": 1} if needs_one else {})}
        elif names:
            nothing: JsonObject = {"properties": dict.fromkeys(names, _NOTHING)}
            schema["oneOf"] = [*({"required": [name]} for name in names), *(() if needs_one else (nothing,))]
        if self._use != "answer" and any(required):
            schema["required"] = list(map(to_camel, required))
        return schema

    def _property(self, message: type[Message], name: str, hint: Any, is_partial: bool) -> JsonObject:
        declared, inner = message.FIELDS[name], mask_fields(message)[name].message
        text = declared.description
        is_hidden = declared.output_only and self._use != "answer"
        if inner is not None and inner in self._elsewhere:
            is_hidden, text = True, f"{text} Its fields: see the answer of {self._elsewhere[inner]}."
        schema = self._field(hint, is_partial, is_hidden)
        if declared.bounds != (None, None):
            schema = {"type": "number"} if "$ref" in schema else schema  # NaN lies in no bounds
            keys = ("minItems", "maxItems") if schema["type"] == "array" else ("minimum", "maximum")
            bounds = zip(keys, declared.bounds, strict=True)
            schema = {**schema, **{key: bound for key, bound in bounds if bound is not None}}
        return {
            "description": text,
            **schema,
            **({"readOnly": True} if declared.output_only else {}),
            **({"deprecated": True} if declared.deprecated else {}),
        }

    def _field(self, hint: Any, is_partial: bool, is_hidden: bool) -> JsonObject:
        """Returns the schema of a field, whose own fields a mask can name, or are not described."""
        known = next((schema for kind, schema in _SCALARS if kind == hint), None)
        if known is not None:
            return known
        if get_origin(hint) is list:
            return {"type": "array", "items": self._field(get_args(hint)[0], False, is_hidden)}
        if get_origin(hint) is dict:
            return {**_OBJECT, "additionalProperties": self._field(get_args(hint)[1], False, is_hidden)}
        is_class = isinstance(hint, type) and get_origin(hint) is None
        if not is_class:
            return self._field(get_args(hint)[0], is_partial, is_hidden)
        if issubclass(hint, OpenEnum):
            # Values of a newer API version are printed as numbers.
            self.defs[hint.__name__] = {"anyOf": [{"enum": list(hint.__members__)}, {"type": "integer"}]}
            return {"$ref": f"#/$defs/{hint.__name__}"}
        if is_hidden:
            return _OBJECT
        # A message that is also reached through a list is described as what a mask can name.
        add = self.waiting.appendleft if is_partial else self.waiting.append
        add((hint, is_partial))
        # Clients that follow no references read by the type what an argument must be.
        return {**_OBJECT, "$ref": f"#/$defs/{hint.PROTO}"}


_hints = cache(partial(get_type_hints, include_extras=True))
