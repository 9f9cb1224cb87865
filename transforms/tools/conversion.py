"""Targets of conversions and their registry."""

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

from msgspec import Struct, field

from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import Conversation
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.registry import Registry
from turnwise.schemas.rows import ScoreRow

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
    """A conversation that was scored.

    Attributes:
        conversation: What was said and called, with what was expected of the turns.
        verdict: PASS or FAIL; None: not decided.
        scores: Rows of its scores; their turns are those of the conversation.
        app_name: Name of the agent.
    """

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
    "target", "turnwise.targets", "turnwise.transforms.tools.targets", _fault
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
