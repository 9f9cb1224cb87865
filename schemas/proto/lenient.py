"""Reads messages leniently and reports the unreadable values."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import NamedTuple, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from turnwise.schemas.proto.fields import OpenEnum, ParseState
from turnwise.schemas.proto.message import Message, WireError, describe_error, describe_problem
from turnwise.schemas.values import JsonObject, JsonValue

M = TypeVar("M", bound=Message)

_ROUNDS = 20


class ReadProblems(NamedTuple):
    """Problems of a message, one line each with the path.

    Attributes:
        unreadable: Values that are omitted or replaced.
        unknown: Unknown enum values; they are kept.
    """

    unreadable: list[str]
    unknown: list[str]


def read_lenient(
    kind: type[M], value: JsonValue, label: str, placeholders: Mapping[str, JsonValue]
) -> tuple[M, ReadProblems]:
    """Reads a message leniently; unreadable values count as absent.

    A list element that is no message counts as an empty one, so that indexes into the list stay valid.

    Args:
        kind: The message's class.
        value: Parsed JSON; it is not modified.
        label: First part of all paths.
        placeholders: JSON name of a field -> replacement for an unreadable value of that field.

    Raises:
        WireError: It is no object, or still invalid after 20 rounds of removing values.
    """
    unreadable: list[str] = []
    for _ in range(_ROUNDS):
        try:
            message = kind.model_validate(value, context=ParseState(lenient=True, keeps_names=True))
        except ValidationError as error:
            problems = error.errors(include_url=False, include_input=False)
            if not isinstance(value, dict) or not all(problem["loc"] for problem in problems):
                raise WireError(describe_error(label, error)) from None
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
        holder, key = _find(value, problem["loc"])
        if isinstance(holder, dict):
            name = str(problem["loc"][-1])
            if name in placeholders and holder.get(key) != placeholders[name]:
                holder[key] = placeholders[name]
            else:
                holder.pop(key, None)
        elif isinstance(key, int):
            if problem["type"] == "value_error" and holder[key] != {} and _holds_messages(holder, problem):
                holder[key] = {}
            else:
                dropped.setdefault(id(holder), (holder, set()))[1].add(key)
    for holder, keys in dropped.values():
        holder[:] = [item for i, item in enumerate(holder) if i not in keys]


def _holds_messages(holder: Sequence[JsonValue], problem: ErrorDetails) -> bool:
    """Returns whether the invalid list element is a message, not a scalar."""
    return isinstance(holder[int(problem["loc"][-1])], dict) or "a message must be" in problem["msg"]


def _find(value: JsonObject, path: Sequence[int | str]) -> tuple[JsonValue, JsonValue]:
    """Returns the container of a path's last existing step, and the key in it."""
    holder: JsonValue = None
    key: JsonValue = None
    inner: JsonValue = value
    for step in path:
        place = step if isinstance(inner, list) else _spelling(inner, str(step))
        if place is None:
            break
        holder, key, inner = inner, place, inner[place]
    return holder, key


def _spelling(value: JsonValue, name: str) -> str | None:
    """Returns the key of a field in an object, the last one of two spellings; None: it is absent."""
    keys: Iterable[JsonValue] = reversed(value) if isinstance(value, dict) else ()
    return next((key for key in keys if isinstance(key, str) and _camel(key) == _camel(name)), None)


def _camel(key: str) -> str:
    return key.replace("_", "").lower()


def _unknown_values(value: object, path: str) -> Iterator[str]:
    """Yields the unknown enum values below a path."""
    if isinstance(value, Message):
        for name, field in type(value).model_fields.items():
            yield from _unknown_values(getattr(value, name), f"{path}.{field.alias or name}")
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from _unknown_values(item, f"{path}[{i}]")
    elif isinstance(value, OpenEnum) and not value.is_known:
        yield f"{path}: {value.name!r} is no value of {type(value).__name__}"
