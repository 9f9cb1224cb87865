"""Field types of protobuf messages, as pydantic annotations."""

from collections.abc import Callable
from enum import IntEnum
from math import isfinite
from operator import not_
from typing import Annotated, Any, Self, TypeVar

import msgspec
from pydantic import Field, GetCoreSchemaHandler, Strict, StringConstraints, ValidationInfo
from pydantic_core import CoreSchema, core_schema

from turnwise.schemas.proto import scalars
from turnwise.schemas.proto.struct import read_struct
from turnwise.schemas.values import JsonObject, JsonValue

T = TypeVar("T")


class ParseState(msgspec.Struct):
    """State of one parse.

    Attributes:
        lenient: Whether values are accepted that only Python's protobuf parser accepts.
        depth: Nesting depth of messages.
        keeps_names: Whether unknown enum names are kept (up to 100 characters).
    """

    lenient: bool
    depth: int = 0
    keeps_names: bool = False


def _is_lenient(info: ValidationInfo) -> bool:
    return info.context is not None and info.context.lenient


class Reading(msgspec.Struct, frozen=True):
    """How pydantic reads a value, and prints it.

    `PlainValidator` and `PlainSerializer` do the same, and inspect their functions again for every field.

    Attributes:
        read: Returns the value that a JSON value stands for.
        write: Returns the JSON value; None: it is the value.
    """

    read: Callable[[JsonValue, ValidationInfo], Any]
    write: Callable[[Any], JsonValue] | None = None

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Returns the schema in place of that of the annotated type."""
        writing = self.write and core_schema.plain_serializer_function_ser_schema(self.write)
        return core_schema.with_info_plain_validator_function(self.read, serialization=writing)


def _reading(
    read: Callable[[JsonValue, bool], Any], write: Callable[[Any], JsonValue] | None = None
) -> Reading:
    return Reading(lambda value, info: read(value, _is_lenient(info)), write)


def _read_int(bits: int) -> Callable[[JsonValue, bool], int]:
    return lambda value, is_lenient: scalars.read_int(value, bits, is_lenient)


def _read_struct(value: JsonValue, info: ValidationInfo) -> JsonObject:
    return read_struct(value, info.context.depth + 1 if info.context else 1)


def _print_float(value: float) -> float | str:
    if isfinite(value):
        return value
    return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"


def _is_positive_zero(value: float) -> bool:
    return repr(value) == "0.0"


# The empty pattern makes pydantic decode the text, which refuses unpaired surrogates.
Text = Annotated[str, StringConstraints(strict=True, pattern=""), Field(exclude_if=not_)]
Bool = Annotated[bool, Strict(), Field(exclude_if=not_)]
Int32 = Annotated[int, _reading(_read_int(32)), Field(exclude_if=not_)]
Int64 = Annotated[int, _reading(_read_int(64), str), Field(exclude_if=not_)]
Double = Annotated[float, _reading(scalars.read_double, _print_float), Field(exclude_if=_is_positive_zero)]
Float32 = Annotated[float, _reading(scalars.read_float32, _print_float), Field(exclude_if=_is_positive_zero)]
"""A float32, stored as its shortest decimal."""
Bytes = Annotated[str, _reading(scalars.read_bytes), Field(exclude_if=not_)]
"""Bytes, stored as standard base64 text."""
Timestamp = Annotated[str, _reading(scalars.read_timestamp)]
Duration = Annotated[str, _reading(scalars.read_duration)]
FieldMask = Annotated[str, _reading(scalars.read_field_mask)]
Struct = Annotated[JsonObject, Reading(_read_struct)]
"""Any JSON object; its numbers are doubles."""
Implicit = Annotated[T, Field(exclude_if=not_)]
Repeated = Annotated[list[T], Field(exclude_if=not_)]
Map = Annotated[dict[Text, T], Field(exclude_if=not_)]

_NO_NUMBER = -(2**31)
_LONGEST_NAME = 100


class OpenEnum(IntEnum):
    """A proto3 enum: 0 is the default, and unknown numbers are preserved."""

    @classmethod
    def _missing_(cls, value: object) -> "OpenEnum | None":
        return cls._unknown(value, str(value)) if isinstance(value, int) else None

    @classmethod
    def _unknown(cls, number: int, name: str) -> Self:
        unknown = int.__new__(cls, number)
        unknown._name_ = name
        unknown._value_ = number
        return unknown

    @classmethod
    def _read(cls, value: JsonValue, info: ValidationInfo) -> Self:
        named = cls.__members__.get(value) if isinstance(value, str) else value
        if isinstance(named, cls):
            return named
        try:
            return cls(scalars.read_enum_number(value, _is_lenient(info)))
        except ValueError:
            if info.context is not None and info.context.keeps_names and isinstance(value, str):
                return cls._unknown(_NO_NUMBER, value[:_LONGEST_NAME])
            raise ValueError(f"{scalars.shown(value)} is no value of {cls.__name__}") from None

    @property
    def is_known(self) -> bool:
        """Whether the value is defined in the enum."""
        return self.name in type(self).__members__

    def _print(self) -> str | int:
        return int(self) if self.name == str(int(self)) else self.name

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Reads names, numbers and numeric strings; prints the name, or the number of an unknown value."""
        return core_schema.with_info_plain_validator_function(
            cls._read, serialization=core_schema.plain_serializer_function_ser_schema(cls._print)
        )
