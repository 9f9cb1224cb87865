"""Converts validation errors of records to one line."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

import msgspec
from pydantic import ValidationError

from turnwise.schemas.conversation import Conversation
from turnwise.schemas.jsonio import key_twice
from turnwise.schemas.values import JsonObject, JsonValue

T = TypeVar("T")
_WITHOUT_TURNS = ("agent_error", "limit", "environment_error")
"""Ends of conversations that may have no turn."""


def canonical(kind: type[T], value: JsonObject, what: str, *, strict: bool = False) -> T:
    """Converts a JSON object, which may contain model instances, to a canonical model.

    Unless `strict`, numbers may be texts.

    Raises:
        ValueError: A value has the wrong type; one line that begins with `what`.
    """
    try:
        return msgspec.convert(value, kind, strict=strict, from_attributes=True)
    except msgspec.ValidationError as error:
        said, _, path = str(error).partition(" - at `$")
        place = path.rstrip("`").replace("[", ".").replace("]", "").removeprefix(".")
        raise ValueError(f"{what}: {place}: {said}" if place else f"{what}: {said}") from None


def checked(conversation: Conversation) -> Conversation:
    """Returns a conversation whose values have the types of its fields; raises ValueError, one line."""
    return canonical(Conversation, msgspec.to_builtins(conversation), "not a conversation")


def with_turns(conversation: Conversation) -> Conversation:
    """Returns a conversation that has a turn, or that ended with an error or a limit.

    Raises:
        ValueError: It has no turn, so that there is nothing to score; one line.
    """
    if not conversation.turns and conversation.ended not in _WITHOUT_TURNS:
        raise ValueError(f"conversation {conversation.conversation_id} has no turn")
    return conversation


def problem(error: ValidationError) -> str:
    """Returns the first problem as `path: what is wrong`, and how many more there are."""
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    path = ".".join(str(step) for step in problems[0]["loc"])
    said = problems[0]["msg"].removeprefix("Value error, ")
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return f"{path}: {said}{more}" if path else said + more


def check_keys(data: bytes, value: JsonValue) -> None:
    """Checks that no object of a record states one key twice.

    Raises:
        ValueError: One does, with different values; a parser would keep only the last one.
    """
    key = key_twice(data, value)
    if key is not None:
        raise ValueError(f"the key {key[:60]!r} stands twice in one object, with different values")


@contextmanager
def one_line_problems(what: str) -> Iterator[None]:
    """Converts pydantic's errors.

    Raises:
        ValueError: One line that begins with `what`.
    """
    try:
        yield
    except ValidationError as error:
        raise ValueError(f"{what}: {problem(error)}") from None
