"""Protobuf messages as pydantic models that read and print proto3 JSON.

A message class lists its fields by their proto names, `name: Text = field("What it is.")`, with these types:

    Text, Int32, SomeEnum, ...        a field without presence: its default is not printed
    X | None                          a message, an `optional` scalar: printed when set
    OneOf[X]                          the same; of all such fields of a message at most one may be set
    list[X], dict[Text, X]            printed unless empty
"""

import builtins
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from enum import IntEnum
from functools import partial
from keyword import kwlist
from math import isfinite
from operator import not_
from types import NoneType
from typing import Annotated, Any, ClassVar, NamedTuple, Self, TypeVar, get_args, get_origin

import msgspec
import pydantic
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema, ErrorDetails, core_schema

from turnwise.schemas.jsonio import JsonObject, JsonValue, no_items, shown, unique_pairs
from turnwise.schemas.proto import scalars
from turnwise.schemas.proto.scalars import read_double

_PYTHON_WORDS = frozenset((*kwlist, *dir(builtins), "ignore_unknown_fields"))
"""Names that Google's Python classes write with an appended underscore: `to_dict` writes `type_`."""


class WireError(ValueError):
    """Invalid proto3 JSON of a message; one line that begins with the path."""


def _refuse_constant(name: str) -> JsonValue:
    raise ValueError(f"{name} is not JSON (quote it)")


class Declared(NamedTuple):
    """What is declared of a field; `bounds`: of a number, or of the length of a list, None: no limit."""

    description: str = ""
    required: bool = False  # in requests
    output_only: bool = False  # only the service sets it
    deprecated: bool = False  # it has a successor
    bounds: tuple[float | None, float | None] = (None, None)


field: Any = Declared
"""Declares a field of a message; its default follows from its type."""


class Message(pydantic.BaseModel):
    """Base of all protobuf messages.

    Attributes:
        NEEDS_ONE: Whether a request must set one of `ONEOF`.
        IDENTIFIER: The field that a request with a mask must hold; "": none.
        PROTO: Name inside its package, nested messages with dots.
        FIELDS: Name of a field -> what is declared of it.
        ONEOF: Fields of which at most one may be set.
        OUTPUT_ONLY: JSON names of the fields that only the service sets.
    """

    model_config = pydantic.ConfigDict(
        extra="forbid",
        alias_generator=to_camel,
        validate_by_name=True,
        serialize_by_alias=True,
        protected_namespaces=(),
        defer_build=True,
    )

    NEEDS_ONE: ClassVar[bool] = False
    IDENTIFIER: ClassVar[str] = ""
    PROTO: ClassVar[str] = ""
    FIELDS: ClassVar[dict[str, Declared]] = {}
    ONEOF: ClassVar[tuple[str, ...]] = ()
    OUTPUT_ONLY: ClassVar[frozenset[str]] = frozenset()
    _names: ClassVar[dict[str, str]] = {}
    _json_names: ClassVar[frozenset[str]] = frozenset()
    _oneof: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls, proto: str = "", inside: str = "", **kwargs: Any) -> None:
        """Gives pydantic the defaults; `proto`: name inside the package, `inside`: message that holds it."""
        super().__init_subclass__(**kwargs)
        cls.PROTO = f"{inside}.{cls.__name__}" if inside else proto or cls.__name__
        declared = {name: value for name, value in vars(cls).items() if isinstance(value, Declared)}
        cls.FIELDS = cls.FIELDS | declared
        cls.OUTPUT_ONLY = frozenset(to_camel(name) for name, item in cls.FIELDS.items() if item.output_only)
        for name in declared:
            setattr(cls, name, _default(cls.__annotations__[name]))

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Indexes the fields by both spellings."""
        names = {name: to_camel(name) for name in cls.model_fields}
        in_python = {f"{name}_": json for name, json in names.items() if name in _PYTHON_WORDS}
        cls._names = names | {name: name for name in names.values()} | in_python
        cls._json_names = frozenset(names.values())
        cls.ONEOF = tuple(name for name, info in cls.model_fields.items() if _MEMBER in info.metadata)
        cls._oneof = frozenset(map(to_camel, cls.ONEOF))

    @pydantic.model_validator(mode="wrap")
    @classmethod
    def _read(
        cls, value: Any, handler: pydantic.ModelWrapValidatorHandler[Self], info: pydantic.ValidationInfo
    ) -> Self:
        if not isinstance(value, dict):
            if isinstance(value, cls):
                return value
            raise ValueError(f"a message must be a JSON object, not {shown(value)}")
        state: ParseState = info.context or ParseState(lenient=False)
        if state.depth >= MAX_DEPTH:
            raise ValueError(f"messages nest deeper than {MAX_DEPTH}")
        fields, names, lenient = value, cls._names, state.lenient
        if not value.keys() <= cls._json_names or None in value.values():
            named = {names.get(key, key): item for key, item in value.items()}
            if lenient and any(isinstance(key, str) and key[:1] == "[" and key[-1:] == "]" for key in named):
                raise ValueError("a key in brackets names an extension; the message has none")
            if not lenient and len(named) != len(value):
                raise ValueError("a field is given under both of its names")
            # A null is absent; an unknown field is an error, or absent if the parse is lenient.
            fields = {
                key: item
                for key, item in named.items()
                if (item is not None if key in names else not lenient)
            }
        if cls._oneof and len(cls._oneof & fields.keys()) > 1:
            raise ValueError(f"at most one may be set of {', '.join(sorted(cls._oneof))}")
        state.depth += 1
        try:
            return handler(fields)
        finally:
            state.depth -= 1

    @classmethod
    def from_json(cls, text: str | bytes, *, lenient: bool = False) -> Self:
        """Reads one JSON object (bytes: UTF-8) as `from_value` does; raises WireError."""
        try:
            value = json.loads(text, object_pairs_hook=unique_pairs, parse_constant=_refuse_constant)
        except RecursionError:
            raise WireError(f"{cls._label()}: messages nest deeper than {MAX_DEPTH}") from None
        except ValueError as error:
            raise WireError(f"{cls._label()}: {' '.join(str(error).split())}") from None
        return cls.from_value(value, lenient=lenient)

    @classmethod
    def from_value(cls, value: JsonValue, *, lenient: bool = False) -> Self:
        """Returns the message of a parsed JSON object, which is not modified; raises WireError.

        If lenient, unknown fields are ignored, scalars are accepted as by Python's protobuf parser, and the
        later of two spellings of a field counts.
        """
        try:
            return cls.model_validate(value, context=ParseState(lenient))
        except pydantic.ValidationError as error:
            raise WireError(describe_problem(cls._label(), error.errors(include_url=False)[0])) from None

    def to_value(self) -> JsonObject:
        """Returns the message in canonical proto3 JSON, as Python values."""
        return self.model_dump(exclude_none=True)

    @classmethod
    def _label(cls) -> str:
        return cls.PROTO.rpartition(".")[2]


def _default(hint: Any) -> Any:
    """Returns what proto3 takes for a field that is not set, which is not printed."""
    bare = hint.__origin__ if get_origin(hint) is Annotated else hint
    if NoneType in get_args(bare):
        return None
    kind = get_origin(bare) or bare
    if kind in (list, dict):
        return pydantic.Field(default_factory=no_items if kind is list else dict, exclude_if=not_)
    if kind is float:
        return pydantic.Field(default=0.0, exclude_if=lambda value: repr(value) == "0.0")  # -0.0 is printed
    return pydantic.Field(default=kind(0) if issubclass(kind, int) else kind(), exclude_if=not_)


Message.__annotations__.clear()  # pydantic would evaluate them again for each message


_COMPLAINTS = {
    "bool_type": "true or false is needed",
    "dict_type": "a map must be a JSON object",
    "extra_forbidden": "no such field",
    "list_type": "a repeated field must be a JSON array",
    "string_type": "a string is needed",
    "string_unicode": "an unpaired surrogate",
}


def describe_problem(root: str, problem: ErrorDetails) -> str:
    """Returns one error in one line, its path below `root` in JSON names."""
    cause = problem.get("ctx", {}).get("error", problem["msg"])
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in problem["loc"])
    words = str(_COMPLAINTS.get(problem["type"], cause)).split()
    return f"{root}{''.join(steps)}: {' '.join(words)}"


M = TypeVar("M", bound=Message)

_ROUNDS = 20


class ReadProblems(NamedTuple):
    """Values that are left out or replaced, and unknown ones of enums, which are kept: one line each."""

    unreadable: list[str]
    unknown: list[str]


def read_lenient(
    kind: type[M], value: JsonValue, label: str, placeholders: Mapping[str, JsonValue]
) -> tuple[M, ReadProblems]:
    """Reads a message leniently; unreadable values count as absent, or are replaced by `placeholders`.

    A list element that is no message counts as an empty one, so that indexes into the list stay valid.
    Paths begin with `label`. Raises WireError for no object, or one that is invalid after 20 rounds.
    """
    unreadable: list[str] = []
    for _ in range(_ROUNDS):
        try:
            message = kind.model_validate(value, context=ParseState(lenient=True, keeps_names=True))
        except pydantic.ValidationError as error:
            problems = error.errors(include_url=False, include_input=False)
            if not isinstance(value, dict) or not all(problem["loc"] for problem in problems):
                raise WireError(describe_problem(label, problems[0])) from None
            value = deepcopy(value) if not unreadable else value
            unreadable += [describe_problem(label, problem) for problem in problems]
            _replace(value, problems, placeholders)
        else:
            return message, ReadProblems(unreadable, list(_unknown_values(message, label)))
    raise WireError(unreadable[-1])


def _replace(
    value: JsonObject, problems: Sequence[ErrorDetails], placeholders: Mapping[str, JsonValue]
) -> None:
    dropped: dict[int, tuple[list[JsonValue], set[int]]] = {}
    for problem in problems:
        # The container of the path's last existing step, and the key in it.
        holder: JsonValue = None
        key: JsonValue = None
        inner: JsonValue = value
        for step in problem["loc"]:
            keys: Iterable[JsonValue] = [step] if isinstance(inner, list) else ()
            if isinstance(inner, dict):  # the last of two spellings of a field
                plain = str(step).replace("_", "").lower()
                keys = [k for k in inner if isinstance(k, str) and k.replace("_", "").lower() == plain][-1:]
            spelled = next(iter(keys), None)
            if spelled is None:
                break
            holder, key, inner = inner, spelled, inner[spelled]
        if isinstance(holder, dict):
            name = str(problem["loc"][-1])
            if name in placeholders and holder.get(key) != placeholders[name]:
                holder[key] = placeholders[name]
            else:
                holder.pop(key, None)
        elif isinstance(key, int):
            is_message = isinstance(holder[key], dict) or "a message must be" in problem["msg"]
            if problem["type"] == "value_error" and holder[key] != {} and is_message:
                holder[key] = {}
            else:
                dropped.setdefault(id(holder), (holder, set()))[1].add(key)
    for items, indexes in dropped.values():
        items[:] = [item for i, item in enumerate(items) if i not in indexes]


def _unknown_values(value: object, path: str) -> Iterator[str]:
    if isinstance(value, Message):
        for name, info in type(value).model_fields.items():
            yield from _unknown_values(getattr(value, name), f"{path}.{info.alias or name}")
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from _unknown_values(item, f"{path}[{i}]")
    elif isinstance(value, OpenEnum) and value.name not in type(value).__members__:
        yield f"{path}: {value.name!r} is no value of {type(value).__name__}"


T = TypeVar("T")


class ParseState(msgspec.Struct):
    """State of a parse: is it lenient, as Python's parser; depth of messages; do unknown enum names stay."""

    lenient: bool
    depth: int = 0
    keeps_names: bool = False


_STRICT = ParseState(lenient=False)


class Reading(msgspec.Struct, frozen=True):
    """How pydantic reads a value, and prints it; without `write`, as it is."""

    # `PlainValidator` and `PlainSerializer` do the same, and inspect their functions again for every field.

    read: Callable[[JsonValue, pydantic.ValidationInfo], Any]
    write: Callable[[Any], JsonValue] | None = None

    def __get_pydantic_core_schema__(self, source: Any, handler: pydantic.GetCoreSchemaHandler) -> CoreSchema:
        """Returns the schema in place of that of the annotated type."""
        writing = self.write and core_schema.plain_serializer_function_ser_schema(self.write)
        return core_schema.with_info_plain_validator_function(self.read, serialization=writing)


def _reading(
    read: Callable[[JsonValue, bool], Any], write: Callable[[Any], JsonValue] | None = None
) -> Reading:
    return Reading(lambda value, info: read(value, (info.context or _STRICT).lenient), write)


def _read_struct(value: JsonValue, info: pydantic.ValidationInfo) -> JsonObject:
    return read_struct(value, (info.context or _STRICT).depth + 1)


def _print_float(value: float) -> float | str:
    if isfinite(value):
        return value
    return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"


# The empty pattern makes pydantic decode the text, which refuses unpaired surrogates.
Text = Annotated[str, pydantic.StringConstraints(strict=True, pattern="")]
Bool = Annotated[bool, pydantic.Strict()]
Int32 = Annotated[int, _reading(scalars.read_int)]
Int64 = Annotated[int, _reading(partial(scalars.read_int, bits=64), str)]
Double = Annotated[float, _reading(read_double, _print_float)]
Float32 = Annotated[
    float, _reading(lambda value, lenient: scalars.float32(read_double(value, lenient)), _print_float)
]
"""A float32, stored as its shortest decimal."""
Bytes = Annotated[str, _reading(scalars.read_bytes)]
"""Bytes, stored as standard base64 text."""
Timestamp = Annotated[str, _reading(scalars.read_timestamp)]
Duration = Annotated[str, _reading(scalars.read_duration)]
FieldMask = Annotated[str, _reading(scalars.read_field_mask)]
Struct = Annotated[JsonObject, Reading(_read_struct)]
"""Any JSON object; its numbers are doubles."""
_MEMBER = "oneof member"
OneOf = Annotated[T | None, _MEMBER]

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
    def _read(cls, value: JsonValue, info: pydantic.ValidationInfo) -> Self:
        named = cls.__members__.get(value) if isinstance(value, str) else value
        if isinstance(named, cls):
            return named
        state: ParseState = info.context or _STRICT
        try:
            return cls(scalars.read_enum_number(value, state.lenient))
        except ValueError:
            if state.keeps_names and isinstance(value, str):
                return cls._unknown(_NO_NUMBER, value[:_LONGEST_NAME])
            raise ValueError(f"{shown(value)} is no value of {cls.__name__}") from None

    def _print(self) -> str | int:
        return int(self) if self.name == str(int(self)) else self.name

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: pydantic.GetCoreSchemaHandler) -> CoreSchema:
        """Reads names, numbers and numeric strings; prints the name, or the number of an unknown value."""
        return Reading(cls._read, cls._print).__get_pydantic_core_schema__(source, handler)


def _read_any(value: JsonValue, info: pydantic.ValidationInfo) -> JsonObject:
    # The fields stay as they stand: no part of a result is read from them.
    if not isinstance(value, dict):
        raise ValueError("an Any must be a JSON object")
    url = value.get("@type")
    if value and not isinstance(url, str):
        raise ValueError('"@type" is missing')
    name = str(url).rpartition("/")[2]
    if value and not name.startswith("google."):
        raise ValueError(f"unknown message type {name!r}")
    return _read_struct(value, info)


AnyMessage = Annotated[JsonObject, Reading(_read_any)]
"""Any message, as its JSON object."""


MAX_DEPTH = 100
"""Maximum nesting depth of messages; a `Struct`, its lists and its values count as messages."""

_SURROGATE = re.compile("[\ud800-\udfff]")


def read_struct(value: JsonValue, depth: int = 1) -> JsonObject:
    """Returns a copy of a JSON object with its numbers as doubles; nulls inside it are preserved.

    Raises ValueError if it is no object, holds a value that is no JSON, or nests deeper than 100 messages.
    """
    if not isinstance(value, dict):
        raise ValueError(f"{shown(value)} is not a JSON object")
    _check_depth(depth)
    return {_unicode(key): _struct_value(item, depth + 1) for key, item in value.items()}


def _struct_value(value: JsonValue, depth: int) -> JsonValue:
    _check_depth(depth)
    if isinstance(value, str):
        return value if value.isascii() else _unicode(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return read_double(value)
    if isinstance(value, list):
        _check_depth(depth + 1)
        return [_struct_value(item, depth + 2) for item in value]
    return read_struct(value, depth + 1)


def _check_depth(depth: int) -> None:
    if depth > MAX_DEPTH:
        raise ValueError(f"messages nest deeper than {MAX_DEPTH}")


def _unicode(text: JsonValue) -> str:
    if not isinstance(text, str):
        raise ValueError(f"{shown(text)} is not a string")
    if not text.isascii() and _SURROGATE.search(text):
        raise ValueError(f"{shown(text)} holds an unpaired surrogate")
    return text
