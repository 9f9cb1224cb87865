"""What a gate is applied to: an app version of a run, and what was lost."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import NamedTuple

from turnwise.schemas.comparison import Comparison
from turnwise.schemas.conversation_row import ConversationRow
from turnwise.schemas.values import JsonObject
from turnwise.transforms.comparison.observed import ComparedConversation, Observed
from turnwise.transforms.criteria import CRITERIA
from turnwise.transforms.scoring.verdict import STATUS

_LOST_RECORDS = (
    ("lost_records", "records lost"),
    ("lost_conversations", "conversations lost"),
    ("unread_ends", "files not read to the end"),
)
_LOST_CASES = (
    ("lost_cases", "eval cases not read"),
    ("unused_cases", "eval cases without a recording"),
)


@dataclass(frozen=True)
class GatedVersion:
    """One app version of a run.

    Attributes:
        app_version: Version of the agent; None: the log does not state it.
        conversations: Its conversations with what every criterion gave them.
        rows: Its rows of the table `conversations`.
        comparison: Its comparison with the baseline; None: there is no baseline.
        run_id: Id of the run, which seeds random numbers.
    """

    app_version: str | None
    conversations: list[ComparedConversation]
    rows: list[ConversationRow]
    comparison: Comparison | None
    run_id: str


class GateEntry(NamedTuple):
    """What a criterion gave one conversation.

    Attributes:
        case: The case that it is a run of; without one, the conversation itself.
        name: Id of the conversation.
        found: Outcome and value.
    """

    case: str
    name: str
    found: Observed


class Lost(NamedTuple):
    """What was lost before it could be scored, of the run as a whole.

    Attributes:
        number: How much.
        text: What, in words.
        names: What is known of it by name: source and position of records, eval cases.
    """

    number: int
    text: str
    names: Sequence[str] = ()


def lost_of(counts: JsonObject, names: Sequence[str] = (), only_cases: bool = False) -> Lost:
    """Returns what the counts of `run.json` say was lost.

    Args:
        counts: The counts.
        names: What is known of it by name.
        only_cases: Whether only eval cases are looked at.
    """
    kinds = _LOST_CASES if only_cases else (*_LOST_RECORDS, *_LOST_CASES)
    found = [(counts.get(name) or 0, text) for name, text in kinds]
    number = sum(number for number, _ in found)
    return Lost(number, ", ".join(f"{n} {text}" for n, text in found if n), names if number else ())


def entries_of(version: GatedVersion, criterion: str) -> list[GateEntry]:
    """Returns what a criterion gave the conversations that it applies to."""
    return [
        GateEntry(
            one.eval_id or one.task or one.conversation_id, one.conversation_id, one.criteria[criterion]
        )
        for one in version.conversations
        if criterion in one.criteria
    ]


def add_errors(
    conversations: Iterable[ComparedConversation], raised: Mapping[str, Mapping[str, str]]
) -> None:
    """Makes undecided what raised an error and has no score of the conversation, unless a turn of it fails.

    Args:
        conversations: Changed in place.
        raised: Criterion -> conversation -> message of the error.
    """
    for one in conversations:
        for criterion, messages in raised.items():
            found = one.criteria.get(criterion)
            is_open = found is None or (found.is_summed and found.outcome != "FAIL")
            if is_open and one.conversation_id in messages:
                one.criteria[criterion] = Observed(why=f"raised an error: {messages[one.conversation_id]}")


def scale_of(criterion: str) -> tuple[float, float] | None:
    """Returns the lowest and highest value of a criterion; None: open-ended, or not known."""
    if criterion == STATUS:
        return (0.0, 1.0)
    return CRITERIA[criterion].scale if criterion in CRITERIA else None


def counted_values(entries: Iterable[GateEntry], criterion: str) -> Iterator[tuple[GateEntry, float | None]]:
    """Yields values, None where there is none; one below the scale (no claim) does not count."""
    scale = scale_of(criterion)
    for entry in entries:
        value = entry.found.value
        if value is None or not isfinite(value):
            yield entry, None
        elif scale is None or value >= scale[0]:
            yield entry, value


def passes(entries: Iterable[GateEntry]) -> Iterator[tuple[GateEntry, float | None]]:
    """Yields 1 for PASS, 0 for FAIL, None for what is undecided."""
    for entry in entries:
        yield entry, {"PASS": 1.0, "FAIL": 0.0}.get(entry.found.outcome or "")
