"""The fields of canonical models in JSON: which are given, which are none, and errors that name the place."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from functools import cache
from typing import Any, NamedTuple, TypeAlias, TypeVar

import msgspec
from pydantic import ValidationError
from pydantic_core import from_json, to_json

from turnwise.schemas.conversation import Conversation, Problem, Turn
from turnwise.schemas.jsonio import JsonObject, JsonValue, did_you_mean, fault_text, key_twice, shown
from turnwise.schemas.registry import raised_at
from turnwise.schemas.score import RAISED
from turnwise.transforms.formats.messages.kinds import THOUGHT, is_work, key_set, part_kind, snake

_Steps: TypeAlias = Sequence[str | int]
Extra = Mapping[type[msgspec.Struct], Mapping[str, Any]]
"""Keys that count as known beside a model's fields, with the type of what they hold (None: anything)."""

_NONE: Extra = {}


class UnknownField(NamedTuple):
    """A key, with its path and value, that is no field of its model, and the known keys at this path."""

    path: str
    value: JsonValue
    fields: tuple[str, ...]

    @property
    def name(self) -> str:
        """The key itself."""
        return self.path.rpartition(".")[2]

    def near(self, cutoff: float) -> str | None:
        """Returns the field that its name is like, by difflib's ratio (0..1); None: none is."""
        return next(iter(get_close_matches(snake(self.name), self.fields, n=1, cutoff=cutoff)), None)

    def problem(self, cutoff: float) -> str:
        """Returns the error in one line, with the most similar field."""
        return f"{self.path}: unknown field{did_you_mean(snake(self.name), self.fields, cutoff)}"


def unknown_fields(
    value: JsonValue, kind: Any, path: str = "", extra: Extra = _NONE
) -> Iterator[UnknownField]:
    """Yields the keys of a model's JSON, or of a list of models, that are no field, at every depth.

    `path` is that of the value, "" or ending in a dot.
    """
    model, known, inner = _shape(kind)
    if isinstance(value, list) and inner is not None:
        for i, item in enumerate(value):
            yield from unknown_fields(item, inner, f"{path}{i}.", extra)
    if model is None or not isinstance(value, dict):
        return
    fields = {**known, **extra.get(model, {})}
    for name, item in value.items():
        if name in fields:
            yield from unknown_fields(item, fields[name], f"{path}{name}.", extra)
        else:
            yield UnknownField(f"{path}{name}", item, tuple(fields))


def known_fields(value: JsonValue, kind: Any, extra: Extra = _NONE) -> JsonValue:
    """Returns JSON of a model, or of a list of models, without unknown keys and without null fields."""
    model, known, inner = _shape(kind)
    if isinstance(value, list) and inner is not None:
        return [known_fields(item, inner, extra) for item in value]
    if model is None or not isinstance(value, dict):
        return value
    fields = {**known, **extra.get(model, {})}
    given = ((name, item) for name, item in value.items() if item is not None and name in fields)
    return {name: known_fields(item, fields[name], extra) for name, item in given}


@cache
def _shape(kind: Any) -> tuple[type[msgspec.Struct] | None, dict[str, Any], Any]:
    """Returns the model that a type stands for, if any, its fields with their types, and a list's model.

    None stands beside them at most.
    """
    choices = (kind,) if isinstance(kind, type) else getattr(kind, "__args__", (kind,))
    models = [c for c in choices if isinstance(c, type) and issubclass(c, msgspec.Struct)]
    fields = {field.name: field.type for field in msgspec.structs.fields(models[0])} if models else {}
    lists = [c for c in (kind, *getattr(kind, "__args__", ())) if getattr(c, "__origin__", None) is list]
    inner = lists[0].__args__[0] if lists else None
    return models[0] if models else None, fields, inner if lists and _shape(inner)[0] else None


UNREAD = "UnreadPart"
OPEN_CALL = "CallWithoutResult"
NO_ANSWER = "NoAnswer"
AGENT_ERROR = "AgentError"
MISSING = "MissingTurn"
LONGEST_NAME = 60
_MEDIA = re.compile(
    r"(input_|output_)?(image|audio|video|media|file|document|blob|binary|uri|pdf|inline_data)s?"
    r"(_(url|uri|data|id|file|block))?"
)
_HARMLESS = key_set(
    "metadata meta custom_metadata response_metadata usage_metadata cache_metadata usage annotations "
    "logprobs labels tags citations scores feedback provider_specific_fields thinking_blocks "
    "reasoning_details raw_data cache_control"
)


def may_hold_work(name: str, item: JsonValue) -> bool:
    """Returns whether the value of an unread key may hold calls, results or words.

    Numbers, texts and what is empty hold none, unless a text is JSON or its key is named like calls.
    """
    if not item or not isinstance(item, dict | list | str):
        return False
    if snake(name) in _HARMLESS:
        inner = item.items() if isinstance(item, dict) else ()
        return any(is_work(n) and isinstance(i, dict | list) and bool(i) for n, i in inner)
    return not isinstance(item, str) or is_work(name) or item.lstrip().startswith(("{", "["))


class Unread:
    """Unread parts of one turn."""

    def __init__(self) -> None:
        self._messages: dict[str, list[str]] = {}
        self.calls: str | None = None  # why calls, results or hand-offs may be missing; None: all are there
        self.words: str | None = None  # why words of the agent may be missing; None: all are there

    @property
    def has_gaps(self) -> bool:
        """Whether calls, results, hand-offs or words may be missing."""
        return bool(self.calls or self.words)

    def add(self, kind: str, message: str, calls: bool = False, words: bool = False) -> None:
        """Adds a finding, one line; because of it calls, results or hand-offs, or words may be missing."""
        self._messages.setdefault(kind, []).append(message)
        if calls and self.calls is None:
            self.calls = message
        if words and self.words is None:
            self.words = message

    def part(self, kind: str, by_agent: bool = True) -> None:
        """Adds a part of a message that is not read, by its type or the key that names it.

        A thought is nothing that a reader misses. Only the agent's words are scored, so only its media and
        its unknown parts leave words unknown.
        """
        works, message = is_work(kind), f"a part of the type {kind[:LONGEST_NAME]!r} is not read"
        if part_kind(kind) == THOUGHT:
            return
        if _MEDIA.fullmatch(snake(kind)) and not works:
            self.add(UNREAD, message, words=by_agent)
        else:
            message += "; it may be a call or a result"
            self.add(UNREAD, message, calls=True, words=by_agent and not works)

    def keys(self, value: JsonObject, known: frozenset[str], by_agent: bool = True) -> "Unread":
        """Adds the keys of an object that are not known and may hold calls, their results or words.

        Known ones are read, or are harmless here. `by_agent`: the agent's words may be in it.
        """
        for name, item in () if value.keys() <= known else value.items():
            if name not in known and may_hold_work(name, item):
                self.key(name, by_agent)
        return self

    def key(self, name: str, by_agent: bool = True) -> None:
        """Adds a key that is not read and may hold calls, their results or words; see `keys`."""
        message = f"the key {name[:LONGEST_NAME]!r} is not read; it may hold calls or results"
        self.add(UNREAD, message, calls=True, words=by_agent and not is_work(name))

    def role(self, role: JsonValue, by_agent: bool = True) -> None:
        """Adds a message of which the role or type is unknown: it is nobody's, and may be the agent's."""
        these = "a message without a role" if role is None else f"messages of the role {str(role)[:60]!r}"
        self.add(UNREAD, f"{these}: nothing says whose they are", calls=True, words=by_agent)

    def add_to(self, turn: Turn, adk_ignores: bool = False) -> Turn:
        """Returns the turn, with its findings; `adk_ignores`: google-adk does not look at what is unread."""
        if self._messages:
            turn.adk_reads = turn.adk_reads and (adk_ignores or not self.has_gaps)
            made = (Problem.of(kind, messages) for kind, messages in self._messages.items())
            turn.findings = [*turn.findings, *(problem for problem in made if problem not in turn.findings)]
            turn.unknown_calls = turn.unknown_calls or self.calls
            turn.unknown_words = turn.unknown_words or self.words
        return turn

    def add_to_all(self, turns: Sequence[Turn]) -> None:
        """Adds the findings to the first turn, and the gaps to all turns."""
        if self._messages and turns:
            self.add_to(turns[0])
            for turn in turns[1:]:
                turn.adk_reads = turn.adk_reads and not self.has_gaps
                turn.unknown_calls = turn.unknown_calls or self.calls
                turn.unknown_words = turn.unknown_words or self.words


def gaps(kind: str, messages: Iterable[str], calls: bool = True, words: bool = True) -> Unread:
    """Returns findings of one kind; see `Unread.add`."""
    unread = Unread()
    for message in messages:
        unread.add(kind, message, calls, words)
    return unread


def add_leap(turn: Turn, before: int, index: int, first: int = 0) -> None:
    """Adds to a turn, numbered by its position already, that the log's own numbers leap before it.

    The log numbers the turn before it `before` (`first` - 1: there is none), and it `index`.
    """
    where = f"after turn {before}" if before >= first else f"where turn {first} should open"
    message = f"the log has turn {index} {where}, so that turns may be missing or twice or out of order"
    gaps(MISSING, [f"{message}; it is numbered by its place, {turn.turn_index}"]).add_to(turn)


# Errors of records as one line that names the place.

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


def check_keys(data: bytes, value: JsonValue) -> None:
    """Raises ValueError if an object states a key twice with different values: a parser keeps the last."""
    key = key_twice(data, value)
    if key is not None:
        raise ValueError(f"the key {key[:60]!r} stands twice in one object, with different values")


@contextmanager
def one_line_problems(what: str) -> Iterator[None]:
    """Converts pydantic's errors; raises ValueError, one line: `what`, and the first problem."""
    try:
        yield
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False)
        path = ".".join(map(str, problems[0]["loc"]))
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise ValueError(f"{what}: {path}{': ' if path else ''}{fault_text(problems[0])}{more}") from None


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


def unforeseen(
    error: BaseException, data: bytes, read: Callable[[bytes], object], modules: Collection[str] | None
) -> str:
    """Returns what is wrong with a JSON text whose reader raised an error that is not meant for people.

    The line has the path of the innermost value without which the rest can be read, if one is found; `read`
    reads such a text, and returns something empty if it holds nothing. The author of a reader that a plug-in
    added needs the error itself, too, and its line in `modules`; None: it is built in.
    """
    added_error = "" if modules is None else f" ({type(error).__name__}: {error}){raised_at(error, modules)}"
    whole: JsonValue = from_json(data)
    trials = min(_MOST_TRIALS, _MOST_BYTES // len(data))
    path: list[str | int] = []

    def is_read(steps: _Steps, spare: JsonValue) -> bool:
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


def _faulty_step(held: JsonValue, is_read: Callable[[_Steps, JsonValue], bool]) -> str | int | None:
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


def _without(value: JsonValue, path: _Steps, steps: _Steps, spare: JsonValue) -> JsonValue:
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
