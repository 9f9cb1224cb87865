"""The summary of a run: all that comparisons of its outcomes and figures read of it, in one text.

Where a summary is in force, no score and no result of its run has to be read.
"""

from collections.abc import Sequence
from itertools import groupby
from math import isfinite
from typing import Generic, TypeVar

import msgspec
from sqlalchemy import Connection

from turnwise.pipeline.store.figures import ResultGroup, result_groups
from turnwise.pipeline.store_comparison.rows import ComparedRecord, stored_records
from turnwise.pipeline.store_comparison.sides import record_scores, record_summary
from turnwise.schemas.rows import ScoreRow
from turnwise.transforms.comparison.collect import collect, ruler_of


class SummaryObserved(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What a criterion gave conversations; see `Observed`."""

    criterion: str
    value: float | None
    outcome: str | None
    threshold: float | None
    is_summed: bool


class SummaryTraits(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What conversations mostly have in common; see `ComparedConversation`.

    Attributes:
        rulers: Criterion and judge of the scores that a judge gave.
    """

    skipped: tuple[str, ...]
    sampled_out: tuple[str, ...]
    rulers: tuple[tuple[str, str], ...]


class SummaryRecord(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A conversation; see `ComparedRecord`. Numbers are places in the lists of the summary.

    Attributes:
        place: The name up to the last `/`, in `texts`.
        name: The rest of it.
        revision: The highest revision of its scores; -1: it has none.
        observed: What criteria gave it.
    """

    place: int
    name: str
    conversation: int
    version: int
    nanos: int
    case: int
    verdict: int
    digest: str | None
    evaluation: int
    is_result: bool
    revision: int
    traits: int
    observed: tuple[int, ...]


class StoredSummary(msgspec.Struct, frozen=True, array_like=True):
    """The summary of a run.

    Attributes:
        texts: Names, ids of app versions, verdicts.
        conversations: Ids of conversations.
        observed: What criteria gave.
        traits: What conversations have in common.
        records: Conversations, and results without one, by name.
        groups: Figures of the results of each evaluation and app version.
    """

    texts: list[str]
    conversations: list[str]
    observed: list[SummaryObserved]
    traits: list[SummaryTraits]
    records: list[SummaryRecord]
    groups: list[ResultGroup]


_Listed = TypeVar("_Listed")


class _Places(dict[_Listed, int], Generic[_Listed]):
    """The place of every value in a list of different ones."""

    def __missing__(self, value: _Listed) -> int:
        self[value] = len(self)
        return self[value]


_DECODER = msgspec.json.Decoder(StoredSummary)


def summary_text(connection: Connection, app: str, run: str) -> str:
    """Returns the summary of a run; "": it has rows that a summary cannot tell."""
    maker = _Maker()
    records = sorted(stored_records(connection, app, "run", run), key=lambda own: own.name)
    scored = groupby(record_scores(connection, app, records), key=lambda pair: pair[0])
    made = {own.name: maker.record(own, [row for _, row in rows]) for own, rows in scored}
    found = [made[own.name] if own.name in made else maker.record(own, ()) for own in records]
    kept = [own for own in found if own is not None]
    if len(kept) < len(found) or not all(isfinite(own.value or 0.0) for own in maker.observed):
        return ""
    groups = result_groups(connection, run)
    lists = [*maker.texts], [*maker.conversations], [*maker.observed], [*maker.traits]
    return msgspec.json.encode(StoredSummary(*lists, kept, groups)).decode()


def read_summary(text: str) -> StoredSummary:
    """Returns the summary of its text.

    Raises:
        msgspec.MsgspecError: It is none.
        IndexError: A place is outside of its list.
    """
    summary = _DECODER.decode(text)
    records = summary.records
    _check({place for places in {own.observed for own in records} for place in places}, summary.observed)
    _check({own.conversation for own in records}, summary.conversations)
    _check({own.traits for own in records}, summary.traits)
    _check({own.place for own in records}, summary.texts)
    _check({own.version for own in records}, summary.texts)
    _check({own.evaluation for own in records}, summary.texts)
    _check({own.case for own in records}, summary.texts)
    _check({own.verdict for own in records}, summary.texts)
    return summary


def _check(places: set[int], listed: Sequence[object]) -> None:
    if places and not 0 <= min(places) <= max(places) < len(listed):
        raise IndexError("a place in a summary is outside of its list")


def meaning_of(summary: StoredSummary) -> tuple[list[object], list[object]]:
    """Returns the records and groups without places in lists, in an order of their own."""
    texts = summary.texts
    records = [
        (
            *(texts[place] for place in (own.place, own.version, own.case, own.verdict, own.evaluation)),
            *(own.name, summary.conversations[own.conversation], own.nanos, own.digest),
            *(own.is_result, own.revision, summary.traits[own.traits]),
            {summary.observed[place].criterion: summary.observed[place] for place in own.observed},
        )
        for own in summary.records
    ]
    groups = [
        (
            *(own.evaluation, own.version, sorted(own.conversations), own.oldest, own.newest),
            *(own.completed, own.passes, own.fails, sorted(own.sums, key=repr)),
        )
        for own in summary.groups
    ]
    return sorted(records, key=repr), sorted(groups, key=repr)


class _Maker:
    """Makes the records of a summary."""

    def __init__(self) -> None:
        self.texts: _Places[str] = _Places()
        self.conversations: _Places[str] = _Places()
        self.observed: _Places[SummaryObserved] = _Places()
        self.traits: _Places[SummaryTraits] = _Places()

    def record(self, own: ComparedRecord, rows: Sequence[ScoreRow]) -> SummaryRecord | None:
        """Returns the record of a conversation; None: its scores are those of several."""
        found = collect(rows, [record_summary(own)])
        if len(found) != 1:
            return None
        (one,) = found
        observed = (
            SummaryObserved(name, seen.value, seen.outcome, seen.threshold, seen.is_summed)
            for name, seen in one.criteria.items()
        )
        rulers = {(row["criterion"], ruler) for row in rows if (ruler := ruler_of(row)) is not None}
        skipped, sampled_out = tuple(sorted(one.skipped)), tuple(sorted(one.sampled_out))
        traits = SummaryTraits(skipped, sampled_out, tuple(sorted(rulers)))
        place, _, name = own.name.rpartition("/")
        return SummaryRecord(
            place=self.texts[place],
            name=name,
            conversation=self.conversations[own.conversation],
            version=self.texts[own.version],
            nanos=own.nanos,
            case=self.texts[own.case],
            verdict=self.texts[own.verdict],
            digest=own.digest,
            evaluation=self.texts[own.evaluation],
            is_result=own.is_result,
            revision=max((row["revision"] for row in rows), default=-1),
            traits=self.traits[traits],
            observed=tuple(self.observed[each] for each in observed),
        )
