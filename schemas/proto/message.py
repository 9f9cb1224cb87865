"""Protobuf messages as pydantic models that read and print proto3 JSON.

A message class lists its fields by their proto names, with types of `turnwise.schemas.proto.fields`:

    Text, Bool, Int32, Float32, ...   a scalar without presence: its default is not printed
    Implicit[SomeEnum]                the same for an enum
    X | None                          a message, a oneof member, an `optional` scalar: printed when set
    Repeated[X], Map[X]               printed unless empty
"""

import builtins
import json
from keyword import kwlist
from typing import Any, ClassVar, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    ModelWrapValidatorHandler,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic.alias_generators import to_camel
from pydantic_core import ErrorDetails

from turnwise.schemas.proto.fields import ParseState
from turnwise.schemas.proto.scalars import shown
from turnwise.schemas.proto.struct import MAX_DEPTH
from turnwise.schemas.values import JsonObject, JsonValue

_PYTHON_WORDS = frozenset((*kwlist, *dir(builtins), "ignore_unknown_fields"))
"""Names that Google's Python classes write with an appended underscore: `to_dict` writes `type_`."""


class WireError(ValueError):
    """Invalid proto3 JSON of a message; one line that begins with the path."""


def _repeated_pairs(pairs: list[tuple[str, JsonValue]]) -> JsonObject:
    unique = dict(pairs)
    if len(unique) != len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"duplicate key {next(key for key in keys if keys.count(key) > 1)!r}")
    return unique


def _refuse_constant(name: str) -> JsonValue:
    raise ValueError(f"{name} is not JSON (quote it)")


class Message(BaseModel):
    """Base of all protobuf messages.

    Attributes:
        ONEOFS: Groups of fields of which at most one may be set.
        NEEDS_ONE: Whether a request must set one of each group.
        REQUIRED: Fields that a request must hold.
        IDENTIFIER: The field that a request with a mask must hold; "": none.
        OUTPUT_ONLY: JSON names of the fields that only the service sets.
        DEPRECATED: Fields that have a successor.
        RANGES: Fields with the least and greatest value of a number, or length of a list (None: no limit).
        PROTO: Name inside its package, nested messages with dots; absent: the name of the class.
        PACKAGE: Protobuf package. A class that sets it is an abstract base of messages.
    """

    model_config = ConfigDict(
        extra="forbid",
        alias_generator=to_camel,
        validate_by_name=True,
        serialize_by_alias=True,
        protected_namespaces=(),
        defer_build=True,
    )

    ONEOFS: ClassVar[tuple[tuple[str, ...], ...]] = ()
    NEEDS_ONE: ClassVar[bool] = False
    REQUIRED: ClassVar[tuple[str, ...]] = ()
    IDENTIFIER: ClassVar[str] = ""
    OUTPUT_ONLY: ClassVar[frozenset[str]] = frozenset()
    DEPRECATED: ClassVar[frozenset[str]] = frozenset()
    RANGES: ClassVar[tuple[tuple[str, float, float | None], ...]] = ()
    PROTO: ClassVar[str] = ""
    PACKAGE: ClassVar[str] = "google.cloud.ces.v1beta"
    _names: ClassVar[dict[str, str]] = {}
    _json_names: ClassVar[frozenset[str]] = frozenset()
    _oneofs: ClassVar[tuple[frozenset[str], ...]] = ()

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Indexes the fields by both spellings, and registers the message for `Any`."""
        names = {name: to_camel(name) for name in cls.model_fields}
        in_python = {f"{name}_": json for name, json in names.items() if name in _PYTHON_WORDS}
        cls._names = names | {name: name for name in names.values()} | in_python
        cls._json_names = frozenset(names.values())
        cls._oneofs = tuple(frozenset(map(to_camel, members)) for members in cls.ONEOFS)
        if "PROTO" not in vars(cls):
            cls.PROTO = cls.__name__
        if "PACKAGE" not in vars(cls):
            MESSAGE_TYPES[f"{cls.PACKAGE}.{cls.PROTO}"] = cls

    @model_validator(mode="wrap")
    @classmethod
    def _read(cls, value: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo) -> Self:
        if not isinstance(value, dict):
            if isinstance(value, cls):
                return value
            raise ValueError(f"a message must be a JSON object, not {shown(value)}")
        state: ParseState | None = info.context
        if state is None:
            return handler(cls._fields_of(value, lenient=False))
        state.depth += 1
        try:
            if state.depth > MAX_DEPTH:
                raise ValueError(f"messages nest deeper than {MAX_DEPTH}")
            return handler(cls._fields_of(value, state.lenient))
        finally:
            state.depth -= 1

    @classmethod
    def _fields_of(cls, value: JsonObject, lenient: bool) -> JsonObject:
        """Returns the object by JSON names, without nulls (if lenient, also without unknown fields)."""
        clean = value.keys() <= cls._json_names and None not in value.values()
        fields = value if clean else cls._cleaned(value, lenient)
        for members in cls._oneofs:
            if len(members & fields.keys()) > 1:
                raise ValueError(f"at most one may be set of {', '.join(sorted(members))}")
        return fields

    @classmethod
    def _cleaned(cls, value: JsonObject, lenient: bool) -> JsonObject:
        names = cls._names
        fields = {names.get(key, key): item for key, item in value.items()}
        if lenient:
            if any(isinstance(key, str) and key[:1] == "[" and key[-1:] == "]" for key in fields):
                raise ValueError("a key in brackets names an extension; the message has none")
            return {key: item for key, item in fields.items() if key in names and item is not None}
        if len(fields) != len(value):
            raise ValueError("a field is given under both of its names")
        return {key: item for key, item in fields.items() if item is not None or key not in names}

    @classmethod
    def from_json(cls, text: str | bytes, *, lenient: bool = False) -> Self:
        """Returns the message of a JSON text.

        Args:
            text: One JSON object; bytes are UTF-8.
            lenient: Whether unknown fields are ignored, scalars are accepted as by Python's protobuf
                parser, and the later of two spellings of a field counts.

        Raises:
            WireError: It is not JSON, has a duplicate key or is invalid for this message.
        """
        try:
            value = json.loads(text, object_pairs_hook=_repeated_pairs, parse_constant=_refuse_constant)
        except RecursionError:
            raise WireError(f"{cls._label()}: messages nest deeper than {MAX_DEPTH}") from None
        except ValueError as error:
            raise WireError(f"{cls._label()}: {_one_line(error)}") from None
        return cls.from_value(value, lenient=lenient)

    @classmethod
    def from_value(cls, value: JsonValue, *, lenient: bool = False) -> Self:
        """Returns the message of a parsed JSON object, which is not modified.

        Raises:
            WireError: It is invalid for this message.
        """
        try:
            return cls.model_validate(value, context=ParseState(lenient))
        except ValidationError as error:
            raise WireError(describe_error(cls._label(), error)) from None

    def to_value(self) -> JsonObject:
        """Returns the message in canonical proto3 JSON, as Python values."""
        return self.model_dump(exclude_none=True)

    @classmethod
    def _label(cls) -> str:
        return cls.PROTO.rpartition(".")[2]


Message.__annotations__.clear()  # pydantic would evaluate them again for each message

MESSAGE_TYPES: dict[str, type[Message]] = {}
"""Every message class by its full protobuf name."""


def _one_line(error: object) -> str:
    return " ".join(str(error).split())


_COMPLAINTS = {
    "bool_type": "true or false is needed",
    "dict_type": "a map must be a JSON object",
    "extra_forbidden": "no such field",
    "list_type": "a repeated field must be a JSON array",
    "string_type": "a string is needed",
    "string_unicode": "an unpaired surrogate",
}


def describe_error(root: str, error: ValidationError) -> str:
    """Returns the first error in one line, its path below `root` in JSON names."""
    return describe_problem(root, error.errors(include_url=False)[0])


def describe_problem(root: str, problem: ErrorDetails) -> str:
    """Returns one error in one line, its path below `root` in JSON names."""
    cause = problem.get("ctx", {}).get("error", problem["msg"])
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in problem["loc"])
    return f"{root}{''.join(steps)}: {_one_line(_COMPLAINTS.get(problem['type'], cause))}"
