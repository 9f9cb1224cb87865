"""Converts errors of records to one line that names the place."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import msgspec
from pydantic import ValidationError
from pydantic_core import from_json, to_json

from turnwise.schemas.conversation import Conversation
from turnwise.schemas.jsonio import JsonObject, JsonValue, key_twice
from turnwise.schemas.proto.scalars import shown
from turnwise.schemas.score import RAISED
from turnwise.transforms.formats.messages.streams import key_set

T = TypeVar("T")
R = TypeVar("R")
_WITHOUT_TURNS = ("agent_error", "limit", "environment_error")
"""Ends of conversations that may have no turn."""
_MOST_TRIALS, _MOST_BYTES = 400, 8 << 20
_GONE = object()
# What a reader needs cannot be left out: then something empty takes its place.
_IN_PLACE: tuple[JsonValue, ...] = (_GONE, {}, [], "", 0)


def canonical(kind: type[T], value: JsonObject, what: str, *, strict: bool = False) -> T:
    """Converts a JSON object, which may contain model instances, to a canonical model.

    Unless `strict`, numbers may be texts. Raises ValueError of one line that begins with `what`.
    """
    try:
        return msgspec.convert(value, kind, strict=strict, from_attributes=True)
    except msgspec.ValidationError as error:
        message, _, path = str(error).partition(" - at `$")
        path_text = path.rstrip("`").replace("[", ".").replace("]", "").removeprefix(".")
        raise ValueError(f"{what}: {path_text}: {message}" if path_text else f"{what}: {message}") from None


def checked(conversation: Conversation, *, is_added: bool = False) -> Conversation:
    """Returns a conversation whose values have the types of its fields; raises ValueError, one line.

    Of an added format, the last text of a turn is its final response where it states none; built-in formats
    know turns that end without one.
    """
    made = canonical(Conversation, msgspec.to_builtins(conversation), "not a conversation")
    for turn in made.turns if is_added else ():
        if turn.agent is None and turn.agent_messages:
            turn.agent = turn.agent_messages[-1]
    return made


def with_turns(conversation: Conversation) -> Conversation:
    """Returns a conversation that has a turn, or ended with an error or a limit; raises ValueError else."""
    if not conversation.turns and conversation.ended not in _WITHOUT_TURNS:
        raise ValueError(f"conversation {conversation.conversation_id} has no turn")
    return conversation


def read_each(items: Iterable[T], read: Callable[[T], R]) -> list[R | ValueError]:
    """Returns what is read of each item, or the error in place of one that is bad."""
    results: list[R | ValueError] = []
    for item in items:
        try:
            results.append(read(item))
        except ValueError as error:
            results.append(error)
    return results


def problem(error: ValidationError) -> str:
    """Returns the first problem as `path: what is wrong`, and how many more there are."""
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    path = ".".join(str(step) for step in problems[0]["loc"])
    message = problems[0]["msg"].removeprefix("Value error, ")
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return f"{path}: {message}{more}" if path else message + more


def check_keys(data: bytes, value: JsonValue) -> None:
    """Raises ValueError if an object states a key twice with different values: a parser keeps the last."""
    key = key_twice(data, value)
    if key is not None:
        raise ValueError(f"the key {key[:60]!r} stands twice in one object, with different values")


@contextmanager
def one_line_problems(what: str) -> Iterator[None]:
    """Converts pydantic's errors; raises ValueError of one line that begins with `what`."""
    try:
        yield
    except ValidationError as error:
        raise ValueError(f"{what}: {problem(error)}") from None


_PYTHONS_OWN = re.compile(
    r"math (?:domain|range) error|could not convert|invalid literal|cannot convert|out of range|too large"
    r"|Exceeds the limit|not enough values|too many values|must be real number|null byte",
    re.IGNORECASE,
)


def is_foreseen(error: BaseException) -> bool:
    """Returns whether an error says for people what is wrong: a ValueError, and none of Python's own."""
    if not isinstance(error, Exception):  # a plug-in that ends the process
        return True
    return isinstance(error, ValueError) and not _PYTHONS_OWN.search(str(error))


def unforeseen(error: BaseException, data: bytes, read: Callable[[bytes], object], is_added: bool) -> str:
    """Returns what is wrong with a JSON text whose reader raised an error that is not meant for people.

    The line has the path of the innermost value without which the rest can be read, if one is found; `read`
    reads such a text, and returns something empty if it holds nothing. The author of a reader that a plug-in
    added (`is_added`) needs the error itself, too.
    """
    added_error = f" ({type(error).__name__}: {error})" if is_added else ""
    whole: JsonValue = from_json(data)
    trials = min(_MOST_TRIALS, _MOST_BYTES // len(data))
    path: list[str | int] = []

    def is_read(steps: Sequence[str | int], spare: JsonValue) -> bool:
        nonlocal trials
        trials -= 1
        try:
            held = read(to_json(_without(whole, path, steps, spare), inf_nan_mode="constants"))
        except RAISED:
            return False
        return trials >= 0 and bool(held)

    held: JsonValue = whole
    while trials > 0 and (step := _faulty_step(held, is_read)) is not None:
        path.append(step)
        held = held[step]
    if not path and isinstance(whole, dict | list):
        return f"a value in the record has a type or a size that is not expected{added_error}"
    return f"{'.'.join(map(str, path)) or 'the record'}: {shown(held)} is not expected here{added_error}"


def _faulty_step(
    held: JsonValue, is_read: Callable[[Sequence[str | int], JsonValue], bool]
) -> str | int | None:
    """Returns the key or the place without which the rest can be read; None: no single one."""
    if not isinstance(held, dict | list):
        return None
    steps = list(held) if isinstance(held, dict) else list(range(len(held)))
    # A text is at fault less often than what it is the type of, which is not read without it either.
    steps.sort(key=lambda step: isinstance(held[step], str))
    for spare in _IN_PLACE:
        tried = steps
        while len(tried) > 1:  # of a long list, halves find it in few trials
            halves = tried[: len(tried) // 2], tried[len(tried) // 2 :]
            half = next((part for part in halves if is_read(part, spare)), None)
            if half is None:
                break
            tried = half
        faulty = next((step for step in tried if is_read([step], spare)), None)
        if faulty is not None:
            return faulty
    return None


def _without(
    value: JsonValue, path: Sequence[str | int], steps: Sequence[str | int], spare: JsonValue
) -> JsonValue:
    """Returns a value without some keys or elements of what is at a path, or with `spare` in their place."""
    inner = dict.fromkeys(steps, spare)
    if path:
        inner = {path[0]: _without(value[path[0]], path[1:], steps, spare)}
    if isinstance(value, dict):
        return {key: item for key, item in (value | inner).items() if item is not _GONE}
    items = (inner.get(index, held) for index, held in enumerate(value))
    return [item for item in items if item is not _GONE]


_NO_LETTER = re.compile(r"[^a-z]")
_END = re.compile(r"u?u?id$|key$")
_NAMES = key_set("conversation conv convo session thread chat dialog dialogue ticket genaiconversation")
_SHOWN = 60
_REMEDY = "messages of one list are one conversation; join the rows by a mapping in the config"


def check_one_conversation(messages: Sequence[JsonValue]) -> None:
    """Raises ValueError, which names the column and a step, if messages have ids of several conversations."""
    keys = dict.fromkeys(key for message in messages if isinstance(message, dict) for key in message)
    for key in keys:
        values = [message.get(key) for message in messages if isinstance(message, dict)]
        ids = list(dict.fromkeys(str(v) for v in values if isinstance(v, str | int) and v != ""))
        if len(ids) > 1 and _END.sub("", _NO_LETTER.sub("", key.lower())) in _NAMES:
            shown = ", ".join(repr(name[:_SHOWN]) for name in ids[:2])
            count = f"{len(ids)} conversations ({shown}{', ...' if len(ids) > 2 else ''})"
            raise ValueError(f"rows of {count}, by {key[:_SHOWN]!r}: {_REMEDY}: conversation_id, message")


def check_one_user(users: Iterable[str | None], name: str) -> None:
    """Raises ValueError, in one line, if records that name one conversation state several users."""
    stated = sorted({user for user in users if user})
    if len(stated) > 1:
        shown = f"{', '.join(stated[:2])}{', ...' if len(stated) > 2 else ''}"
        step = "put the user into its id, as CONCAT(user_id, '/', session_id) does in a query"
        raise ValueError(f"records of different users ({shown}) name one conversation, {name}: {step}")
