"""Keeps the summaries of the runs of a store, and reads sides of comparisons and figures of them."""

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from msgspec import MsgspecError
from sqlalchemy import Connection, select

from turnwise.pipeline.store.engine import Store
from turnwise.pipeline.store.figures import ResultGroup
from turnwise.pipeline.store.states import COUNTED
from turnwise.pipeline.store.tables import CURRENT, EXECUTIONS, RUN_SUMMARIES, upsert
from turnwise.pipeline.store_comparison.rows import ComparedRecord, SideKind
from turnwise.pipeline.store_comparison.run_summary import (
    StoredSummary,
    SummaryObserved,
    SummaryRecord,
    read_summary,
    summary_text,
)
from turnwise.transforms.comparison.columns import ConversationColumns
from turnwise.transforms.comparison.observed import Observed
from turnwise.transforms.scoring.verdict import STATUS

_NOTHING: frozenset[str] = frozenset()
_Made = dict[tuple[SummaryObserved, ...], dict[str, Observed]]


class RunKey(NamedTuple):
    """A run as it is at one time: its name, execution and the time of its last change."""

    name: str
    execution: int
    update_nanos: int


class UnsummarisedError(Exception):
    """A run has rows that a summary cannot tell."""


def counted_runs(connection: Connection, app: str) -> list[RunKey]:
    """Returns the runs of an app that count, by name."""
    columns = (EXECUTIONS.c[name] for name in RunKey._fields)
    is_read = CURRENT.c.name == EXECUTIONS.c.name, CURRENT.c.execution == EXECUTIONS.c.execution
    counts = EXECUTIONS.c.app == app, EXECUTIONS.c.state.in_(COUNTED)
    query = select(*columns).where(*is_read, *counts).order_by(EXECUTIONS.c.name)
    return [RunKey(*row) for row in connection.execute(query)]


def keep_summaries(store: Store, app: str, names: Collection[str] | None = None) -> None:
    """Writes the summaries of the runs of an app that have none, each in a transaction of its own.

    Args:
        store: The store.
        app: Name of the app.
        names: Names of the runs; None: all of the app.
    """
    for run in store.read(lambda connection: list(_without_summary(connection, app))):
        if names is None or run.name in names:
            _keep(store, app, run)


def _without_summary(connection: Connection, app: str) -> Iterator[RunKey]:
    columns = RUN_SUMMARIES.c.evaluation_run, RUN_SUMMARIES.c.execution, RUN_SUMMARIES.c.update_nanos
    kept = {RunKey(*row) for row in connection.execute(select(*columns).where(RUN_SUMMARIES.c.app == app))}
    return (run for run in counted_runs(connection, app) if run not in kept)


def _keep(store: Store, app: str, run: RunKey) -> None:
    text = store.read(lambda connection: summary_text(connection, app, run.name))
    row = {"name": f"{run.name}/summary", "app": app, "evaluation_run": run.name, "content": text}
    own = EXECUTIONS.c.name == run.name, EXECUTIONS.c.execution == run.execution

    def work(connection: Connection) -> None:
        query = select(EXECUTIONS.c.update_nanos).where(*own).with_for_update()
        # Of a run that was changed meanwhile, what was deleted must not come back.
        if connection.execute(query).scalar() == run.update_nanos:
            kept = {"execution": run.execution, "update_nanos": run.update_nanos}
            upsert(connection, RUN_SUMMARIES, [row | kept])

    store.write(work)


class Summaries:
    """Reads the summaries of the runs of an app."""

    def __init__(self, connection: Connection, app: str) -> None:
        self._connection, self._app = connection, app
        self._runs = counted_runs(connection, app)
        self._read: dict[str, StoredSummary] = {}
        self._parts: dict[str, _Parts] = {}
        self._found: list[SummaryRecord] = []
        self._made: _Made = {}

    def groups(self) -> dict[str, list[ResultGroup]]:
        """Returns name of a run -> its results by evaluation and app version; raises UnsummarisedError."""
        return {run.name: self._summary(run).groups for run in self._runs}

    def records(self, kind: SideKind, name: str) -> list[ComparedRecord]:
        """Returns what is of an app version (its id) or run (its name); raises UnsummarisedError."""
        found: list[ComparedRecord] = []
        for run in self._runs:
            if kind == "version" or run.name == name:
                found += self._records(run, name if kind == "version" else None)
        return found

    def conversations(
        self, stored: Sequence[ComparedRecord], rulers: dict[str, set[str]]
    ) -> ConversationColumns:
        """Returns the conversations without turns, reasons, tags and languages."""
        records = [self._found[own.place] for own in stored]
        parts = [self._parts[own.run] for own in stored]
        is_last = _are_last(stored, records)
        for run, place in {(own.run, record.traits) for own, record in zip(stored, records, strict=True)}:
            for criterion, ruler in self._parts[run].summary.traits[place].rulers:
                rulers.setdefault(criterion, set()).add(ruler)
        criteria = (own.criteria if last else own.verdicts for own, last in zip(parts, is_last, strict=True))
        skipped = (own.skipped[one.traits] for own, one in zip(parts, records, strict=True))
        nothing = [None] * len(stored)
        return ConversationColumns(
            [own.conversation for own in stored],
            [own.version or None for own in stored],
            [own.case or None for own in stored],
            tasks=[*nothing],
            case_digests=[own.digest for own in stored],
            languages=[*nothing],
            tags=[()] * len(stored),
            criteria=[own[one.observed] for own, one in zip(criteria, records, strict=True)],
            skipped=[own if last else _NOTHING for own, last in zip(skipped, is_last, strict=True)],
            sampled_out=[own.sampled_out[one.traits] for own, one in zip(parts, records, strict=True)],
        )

    def _summary(self, run: RunKey) -> StoredSummary:
        if run.name not in self._read:
            is_own = RUN_SUMMARIES.c.name == f"{run.name}/summary", RUN_SUMMARIES.c.execution == run.execution
            is_new = RUN_SUMMARIES.c.update_nanos == run.update_nanos
            query = select(RUN_SUMMARIES.c.content).where(*is_own, is_new)
            text = self._connection.execute(query).scalar()
            kept = None if text is None else _readable(text)
            if kept is None:
                text = summary_text(self._connection, self._app, run.name) if text != "" else ""
                kept = read_summary(text) if text else None
            if kept is None:
                raise UnsummarisedError(run.name)
            self._read[run.name] = kept
        return self._read[run.name]

    def _records(self, run: RunKey, version: str | None) -> Iterator[ComparedRecord]:
        summary, run_id = self._summary(run), run.name.rsplit("/", 1)[-1]
        texts, conversations, first = summary.texts, summary.conversations, len(self._found)
        self._parts.setdefault(run_id, _Parts(summary, self._made))
        self._found += summary.records
        for place, own in enumerate(summary.records, first):
            if version is None or texts[own.version] == version:
                yield ComparedRecord(
                    f"{texts[own.place]}/{own.name}",
                    conversations[own.conversation],
                    texts[own.version],
                    run_id,
                    own.nanos,
                    texts[own.case],
                    texts[own.verdict],
                    digest=own.digest,
                    evaluation=texts[own.evaluation],
                    is_result=own.is_result,
                    place=place,
                )


def _are_last(stored: Sequence[ComparedRecord], records: Sequence[SummaryRecord]) -> Sequence[bool]:
    """Returns whether each conversation is the last revision of it."""
    if max(record.revision for record in records) <= 0:
        return [True] * len(records)
    last: dict[tuple[str, ...], int] = {}
    for own, record in zip(stored, records, strict=True):
        last[own.key[1:]] = max(last.get(own.key[1:], -1), record.revision)
    return [record.revision == last[own.key[1:]] for own, record in zip(stored, records, strict=True)]


def _readable(text: str) -> StoredSummary | None:
    """Returns a stored summary; None: it was damaged, or the rows must be read."""
    try:
        return read_summary(text)
    except (MsgspecError, IndexError):
        return None


class _Criteria(dict[tuple[int, ...], dict[str, Observed]]):
    """Places in the list of a summary -> criterion -> what it gave; `made` holds what all runs share."""

    def __init__(self, observed: Sequence[SummaryObserved], made: _Made, only: str | None = None) -> None:
        super().__init__()
        self._observed, self._made, self._only = observed, made, only

    def __missing__(self, places: tuple[int, ...]) -> dict[str, Observed]:
        found = tuple(self._observed[place] for place in places)
        if self._only is not None:
            found = tuple(own for own in found if own.criterion == self._only)
        if found not in self._made:
            self._made[found] = {own.criterion: _observed(own) for own in found}
        self[places] = self._made[found]
        return self[places]


def _observed(own: SummaryObserved) -> Observed:
    return Observed(own.value, own.outcome, own.threshold, is_summed=own.is_summed)


class _Parts:
    """What conversations of a summary have in common; `verdicts` is of those that were scored again later."""

    def __init__(self, summary: StoredSummary, made: _Made) -> None:
        self.summary = summary
        self.criteria = _Criteria(summary.observed, made)
        self.verdicts = _Criteria(summary.observed, made, only=STATUS)
        self.skipped = [frozenset(own.skipped) for own in summary.traits]
        self.sampled_out = [frozenset(own.sampled_out) for own in summary.traits]
