"""What a gate is applied to: an app version of a run, and what was lost."""

from collections.abc import Iterable, Iterator, Sequence
from math import isfinite
from typing import NamedTuple

from msgspec import Struct

from turnwise.schemas.calibration import Calibration
from turnwise.schemas.comparison import Comparison
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.rows import ConversationRow
from turnwise.transforms.comparison.columns import ConversationColumns
from turnwise.transforms.comparison.observed import ComparedConversation, Observed
from turnwise.transforms.criteria.base import CRITERIA
from turnwise.transforms.gating.words import counted
from turnwise.transforms.scoring.evaluate import STATUS

_LOST_RECORDS = (
    ("lost_records", "record", "lost"),
    ("lost_conversations", "conversation", "lost"),
    ("unread_ends", "file", "not read to the end"),
)
_LOST_CASES = (
    ("lost_cases", "eval case", "not read"),
    ("unused_cases", "eval case", "without a recording"),
)


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


class BaselineState(NamedTuple):
    """The baseline itself.

    Attributes:
        cases: Number of its cases.
        lost: What was lost of it.
        problems: Why it failed, one line each, but for rules of its own that it missed.
    """

    cases: int = 0
    lost: Lost = Lost(0, "")
    problems: Sequence[str] = ()


NO_BASELINE = BaselineState()


class GatedVersion(Struct, frozen=True):
    """One app version of a run.

    Attributes:
        app_version: Version of the agent; None: the log does not state it.
        conversations: Its conversations with what every criterion gave them.
        rows: Its rows of the table `conversations`.
        comparison: Its comparison with the baseline; None: there is no baseline.
        baseline: The baseline itself; empty if there is none.
        calibration: What human labels say of the run; None: it has no labels.
        unrecorded: Ids of the eval cases that other versions of the run alone have a recording of.
    """

    app_version: str | None
    conversations: list[ComparedConversation]
    rows: list[ConversationRow]
    comparison: Comparison | None
    baseline: BaselineState = NO_BASELINE
    calibration: Calibration | None = None
    unrecorded: Sequence[str] = ()


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


def lost_of(counts: JsonObject, names: Sequence[str] = (), only_cases: bool = False) -> Lost:
    """Returns what the counts of `run.json` say was lost.

    Args:
        counts: The counts.
        names: What is known of it by name.
        only_cases: Whether only eval cases are looked at.
    """
    kinds = _LOST_CASES if only_cases else (*_LOST_RECORDS, *_LOST_CASES)
    found = [(counts.get(name) or 0, noun, what) for name, noun, what in kinds]
    number = sum(number for number, _, _ in found)
    text = ", ".join(f"{counted(n, noun)} {what}" for n, noun, what in found if n)
    return Lost(number, text, names if number else ())


def lost_with(lost: Lost, versions: Iterable[GatedVersion]) -> Lost:
    """Adds to what a run lost the eval cases that some of its app versions have no recording of."""
    found = [one for one in versions if one.unrecorded]
    texts = [
        f"{counted(len(one.unrecorded), 'eval case')} without a recording in {one.app_version}"
        for one in found
    ]
    return Lost(
        lost.number + sum(len(one.unrecorded) for one in found),
        ", ".join(filter(None, (lost.text, *texts))),
        [*lost.names, *(f"eval case {name} ({one.app_version})" for one in found for name in one.unrecorded)],
    )


def baseline_state(
    conversations: ConversationColumns, counts: JsonObject, problems: Sequence[str]
) -> BaselineState:
    """Returns the state of a baseline.

    Eval cases without a recording do not count: a case may be newer than the baseline.

    Args:
        conversations: Its conversations.
        counts: The counts of its `run.json`.
        problems: Why it failed.
    """
    cases = len(conversations.own_cases().used())
    return BaselineState(cases, lost_of({**counts, "unused_cases": 0}), problems)


def entries_of(version: GatedVersion, criterion: str) -> list[GateEntry]:
    """Returns what a criterion gave the conversations that it applies to.

    Where it applies to all, one without a score is undecided: its log lacks what is measured.
    """
    kind = CRITERIA.get(criterion)
    missing = Observed(why="not in the log") if kind is not None and kind.applies_always else None
    found = ((one, one.criteria.get(criterion, missing)) for one in version.conversations)
    return [
        GateEntry(one.eval_id or one.task or one.conversation_id, one.conversation_id, own)
        for one, own in found
        if own is not None and criterion not in one.skipped | one.sampled_out
    ]


def count_sampled_out(version: GatedVersion, criterion: str) -> int:
    """Returns how many conversations a sample rate left out of a criterion."""
    return sum(criterion in one.sampled_out for one in version.conversations)


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
