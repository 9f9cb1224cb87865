"""Conversions: the registry of targets, and what a target does not hold of a conversation or case."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec
from msgspec import Struct, field

from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import Conversation, ExpectedOutcome, Turn
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.schemas.registry import Registry
from turnwise.schemas.rows import ScoreRow
from turnwise.transforms.matching.sample import contained_case, played_case, recorded_case, with_due_answers

T = TypeVar("T", Conversation, EvalCase)


class Codec(Struct, Generic[T], frozen=True, kw_only=True):
    """How one kind of thing is written as a record, and read back.

    Attributes:
        write: Returns the record; raises ValueError if the format cannot hold it.
        read: Returns what such a record holds.
        made: Fields that the record or its reader adds and that say nothing new (`turns.tool_calls.id`).

    >>> import turnwise
    >>> def write(log):
    ...     return {"call": log.conversation_id, "said": log.turns[0].user}
    >>> def read(record):
    ...     return turnwise.Conversation(record["call"], turns=[turnwise.Turn(user=record["said"])])
    >>> turnwise.Codec(write=write, read=read).read({"call": "c1", "said": "Hi"}).turns[0].user
    'Hi'
    """

    write: Callable[[T], JsonObject]
    read: Callable[[JsonObject], T]
    made: frozenset[str] = field(default_factory=frozenset)


class RunOfConversation(NamedTuple):
    """A conversation that was scored, with what was expected; scores have the turns of the conversation."""

    conversation: Conversation
    verdict: str | None
    scores: Sequence[ScoreRow]
    app_name: str


class Target(Struct, frozen=True, kw_only=True):
    """A format that conversations or eval cases can be written in.

    Attributes:
        name: Its name for `--to`; that of the input format that reads it.
        help: What it is, in one line.
        is_for_cases: Whether its files are read as eval cases, so that a conversation becomes one.
        conversation: How a conversation is written; None: as the case that expects what it holds.
        case: How an eval case is written; None: as the conversation in which it is met.
        scored: How a conversation of a finished run is written, with its scores; None: not at all.
        document: Returns the text before and after all records of a file, which commas separate, by the
            file's name and the first record ({}: not known yet); raises ValueError if the file cannot have
            that name. None: the file is JSON Lines.
        key: Key of a record by which a file has each once; None: there is none.

    >>> import turnwise
    >>> def write(log):
    ...     return {"call": log.conversation_id, "said": log.turns[0].user}
    >>> def read(record):
    ...     return turnwise.Conversation(record["call"], turns=[turnwise.Turn(user=record["said"])])
    >>> codec = turnwise.Codec(write=write, read=read)
    >>> turnwise.Target(name="call", help="calls", conversation=codec).is_for_cases
    False
    """

    name: str
    help: str
    is_for_cases: bool = False
    conversation: Codec[Conversation] | None = None
    case: Codec[EvalCase] | None = None
    scored: "Callable[[RunOfConversation], JsonObject] | None" = None
    document: Callable[[str, JsonObject], tuple[str, str]] | None = None
    key: str | None = None


def _fault(item: object) -> str | None:
    if not isinstance(item, Target):
        return "it is no Target"
    return None if item.conversation or item.case else "it writes neither conversations nor eval cases"


TARGETS: Registry[Target] = Registry(
    "target", "turnwise.targets", "turnwise.transforms.decisions.targets", _fault
)
"""Name -> target."""


def register_target(item: Target) -> Target:
    """Adds a target, for this process, and returns it.

    Raises:
        TypeError: It is no `Target`, writes nothing, or its name is taken.

    >>> import turnwise
    >>> def write(log):
    ...     return {"call": log.conversation_id, "said": log.turns[0].user}
    >>> def read(record):
    ...     return turnwise.Conversation(record["call"], turns=[turnwise.Turn(user=record["said"])])
    >>> codec = turnwise.Codec(write=write, read=read)
    >>> turnwise.register_target(turnwise.Target(name="call", help="calls", conversation=codec)).name
    'call'
    """
    return TARGETS.add(item)


# Converts conversations and eval cases, and finds what the target cannot hold by reading it back.


class Converted(NamedTuple):
    """A converted conversation or case.

    `not_held`: field -> how often the target lacks it or has it otherwise; `added`: or alone has it.
    """

    record: JsonObject
    not_held: Counter[str]
    added: Counter[str]


def converted(item: Conversation | EvalCase, target: Target) -> Converted:
    """Converts a conversation or an eval case.

    A conversation becomes a case that expects what its record expects of the turns or, where that expects
    nothing, what it holds itself, with `NO_ANSWER` for answers that are due and not in it. A golden case
    becomes the conversation in which it is met. Raises ValueError if the target cannot hold it; one line.
    """
    if isinstance(item, EvalCase):
        if target.case:
            record, case = _and_back(item, target.case)
            return _compared(record, item, case, target.case.made)
        if target.conversation is None or not item.turns:
            raise ValueError(f"the case {item.eval_id} has no turns, which {target.name} needs")
        record, seen = _and_back(played_case(item), target.conversation)
        return _compared(record, item, recorded_case(seen), target.conversation.made)
    case_inside = contained_case(item) if target.is_for_cases else None
    if target.conversation is not None and not (case_inside and case_inside.turns):
        written = with_due_answers(item) if target.is_for_cases else item
        record, seen = _and_back(written, target.conversation)
        return _compared(record, item, seen, target.conversation.made)
    if target.case is None:
        raise ValueError(f"{target.name} holds no eval cases")
    case = case_inside or recorded_case(with_due_answers(item))
    record, back = _and_back(case, target.case)
    return _compared(record, item, _expecting(back) if case_inside else played_case(back), target.case.made)


def scored(run: RunOfConversation, target: Target) -> Converted:
    """Converts a conversation of a run with its scores.

    Raises ValueError if the target holds no scores, or cannot hold the conversation; one line.
    """
    if target.scored is None or target.conversation is None:
        raise ValueError(f"{target.name} holds no scores")
    record = target.scored(run)
    return _compared(record, run.conversation, target.conversation.read(record), target.conversation.made)


def _and_back(item: T, codec: Codec[T]) -> tuple[JsonObject, T]:
    record = codec.write(item)
    try:
        return record, codec.read(record)
    except ValueError as error:
        raise ValueError(f"it cannot be read back: {error}") from None


def _compared(record: JsonObject, before: T, after: T, made: frozenset[str]) -> Converted:
    differences = Differences().compare(before, after)
    added = Counter({path: count for path, count in differences.added.items() if path not in made})
    return Converted(record, differences.not_held, added)


def _expecting(case: EvalCase) -> Conversation:
    """Returns a conversation that holds nothing but what a case expects."""
    alike = ("actions", "outputs", "user_actions", "final_session_state", "unread")
    stated = {name: getattr(case, name) for name in alike}
    outcome = ExpectedOutcome(**stated, rubric=[rubric.text for rubric in case.rubrics])
    return Conversation(
        conversation_id=case.eval_id,
        **{name: getattr(case, name) for name in ("eval_id", "eval_set_id", "language", "tags", "tools")},
        turns=[Turn(turn_index=i, user=turn.user, expected=turn) for i, turn in enumerate(case.turns)],
        expected=None if outcome == ExpectedOutcome() else outcome,
    )


# Names the fields in which two canonical objects differ.

BLANK = (None, "")
_OF_READING = frozenset(("adk_reads",))
"""Fields that say how an object was read, and hold nothing of it."""


class Differences:
    """Fields that differ, each with its number: the second object lacks it or has it otherwise, or alone."""

    def __init__(self) -> None:
        self.not_held: Counter[str] = Counter()
        self.added: Counter[str] = Counter()

    def compare(self, before: msgspec.Struct, after: msgspec.Struct, path: str = "") -> "Differences":
        """Adds the fields in which two objects of one class differ, and returns itself."""
        for name, required, default in _field_defaults(type(before)):
            left, right = getattr(before, name), getattr(after, name)
            if name in _OF_READING or left is right or _same(left, right):
                continue
            where, blanks = f"{path}{name}", BLANK if required else (*BLANK, default)
            left_blank, right_blank = (
                any(_same(value, blank) for blank in blanks) for value in (left, right)
            )
            if left_blank and right_blank:
                continue
            sizes = []  # how many objects each of them is a list of
            for value in (left, right):
                items = value if isinstance(value, list) else []
                sizes.append(len(items) if all(isinstance(item, msgspec.Struct) for item in items) else 0)
            if left_blank:
                self.added[where] += sizes[1] or 1
            elif isinstance(left, msgspec.Struct) and type(left) is type(right):
                self.compare(left, right, f"{where}.")
            elif sizes[0] and isinstance(right, list):
                for before_item, after_item in zip(left, right, strict=False):
                    self.compare(before_item, after_item, f"{where}.")
                if len(left) != len(right):
                    longer = self.not_held if len(left) > len(right) else self.added
                    longer[where] += abs(len(left) - len(right))
            else:
                self.not_held[where] += sizes[0] or 1
        return self


def _same(left: Any, right: Any) -> bool:
    """Returns whether two values are equal; true is not 1, and 1 is 1.0."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_same(item, right[key]) for key, item in left.items())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same, left, right))
    return bool(left == right)


# Canonical objects as JSON, without what is default.


def plain(item: msgspec.Struct) -> JsonObject:
    """Returns the fields of an object that are not their defaults."""
    stated: JsonObject = {}
    for name, required, default in _field_defaults(type(item)):
        value = getattr(item, name)
        if required or value != default:
            stated[name] = _plain(value)
    return stated


@cache
def _field_defaults(kind: type[msgspec.Struct]) -> list[tuple[str, bool, Any]]:
    return [
        (f.name, f.required, (f.default if f.default_factory is msgspec.NODEFAULT else f.default_factory()))
        for f in msgspec.structs.fields(kind)
    ]


def _plain(value: Any) -> JsonValue:
    if isinstance(value, msgspec.Struct):
        return plain(value)
    return [_plain(item) for item in value] if isinstance(value, list) else value


def earlier_texts(turn: Turn) -> list[str]:
    """Returns what the agent said before its final response; nothing if that is all its texts in one."""
    texts = turn.agent_messages
    if turn.agent == "\n".join(texts):
        return []
    return texts[:-1] if texts and texts[-1] == turn.agent else texts


def with_texts(turns: Iterable[Turn]) -> list[Turn]:
    """Returns turns whose final response is all that the agent said, unless they hold other texts."""
    kept = list(turns)
    for turn in kept:
        turn.agent_messages = turn.agent_messages or ([turn.agent] if turn.agent else [])
    return kept
