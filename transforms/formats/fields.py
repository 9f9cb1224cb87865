"""The fields of canonical models in JSON: which are given, and which keys are no field."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from typing import Any, NamedTuple

import msgspec

from turnwise.schemas.conversation import Problem, Turn
from turnwise.schemas.jsonio import JsonObject, JsonValue, did_you_mean
from turnwise.transforms.formats.messages.kinds import THOUGHT, is_work, part_kind, snake
from turnwise.transforms.formats.messages.streams import key_set

Extra = Mapping[type[msgspec.Struct], Mapping[str, Any]]
"""Keys that count as known beside a model's fields, with the type of what they hold (None: anything)."""

_NONE: Extra = {}


class UnknownField(NamedTuple):
    """A key that is no field of its model.

    Attributes:
        path: Path with the key itself.
        value: Value of the key.
        fields: Known keys at this path.
    """

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
    model, inner = _model(kind), _element(kind)
    if isinstance(value, list) and inner is not None:
        for i, item in enumerate(value):
            yield from unknown_fields(item, inner, f"{path}{i}.", extra)
    if model is None or not isinstance(value, dict):
        return
    fields = {**_fields(model), **extra.get(model, {})}
    for name, item in value.items():
        if name in fields:
            yield from unknown_fields(item, fields[name], f"{path}{name}.", extra)
        else:
            yield UnknownField(f"{path}{name}", item, tuple(fields))


def known_fields(value: JsonValue, kind: Any, extra: Extra = _NONE) -> JsonValue:
    """Returns JSON of a model, or of a list of models, without unknown keys and without null fields."""
    model, inner = _model(kind), _element(kind)
    if isinstance(value, list) and inner is not None:
        return [known_fields(item, inner, extra) for item in value]
    if model is None or not isinstance(value, dict):
        return value
    fields = {**_fields(model), **extra.get(model, {})}
    given = ((name, item) for name, item in value.items() if item is not None and name in fields)
    return {name: known_fields(item, fields[name], extra) for name, item in given}


@cache
def _fields(model: type[msgspec.Struct]) -> dict[str, Any]:
    return {field.name: field.type for field in msgspec.structs.fields(model)}


@cache
def _model(kind: Any) -> type[msgspec.Struct] | None:
    """Returns the model that a type stands for, if any; None stands beside it at most."""
    choices = getattr(kind, "__args__", (kind,)) if not isinstance(kind, type) else (kind,)
    models = [c for c in choices if isinstance(c, type) and issubclass(c, msgspec.Struct)]
    return models[0] if models else None


@cache
def _element(kind: Any) -> Any:
    choices = (kind, *getattr(kind, "__args__", ()))
    inner = [c.__args__[0] for c in choices if getattr(c, "__origin__", None) is list]
    return inner[0] if inner and _model(inner[0]) else None


UNREAD = "UnreadPart"
OPEN_CALL = "CallWithoutResult"
NO_ANSWER = "NoAnswer"
AGENT_ERROR = "AgentError"
MISSING = "MissingTurn"
LONGEST_NAME = 60
_MEDIA = re.compile(
    r"(input_|output_)?(image|audio|video|media|file|document|blob|pdf|inline_data)s?"
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
    """Unread parts of one turn.

    Attributes:
        calls: Why calls, results or hand-offs may be missing; None: all are there.
        words: Why words of the agent may be missing; None: all are there.
    """

    def __init__(self) -> None:
        self._messages: dict[str, list[str]] = {}
        self.calls: str | None = None
        self.words: str | None = None

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
