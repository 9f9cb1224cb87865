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
    SummaryRecord,
    read_summary,
    summary_text,
)
from turnwise.transforms.comparison.columns import ConversationColumns
from turnwise.transforms.comparison.observed import Observed
from turnwise.transforms.scoring.verdict import STATUS


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
        self._own: dict[str, tuple[str, SummaryRecord]] = {}

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
        last = self._last_revisions(stored)
        criteria, skipped, sampled_out = [], [], []
        traits: dict[str, set[int]] = {}
        for own in stored:
            run, record = self._own[own.name]
            traits.setdefault(run, set()).add(record.traits)
            is_last = not last or record.revision == last[own.key[1:]]
            parts = self._parts[run]
            criteria.append(parts.criteria(record.observed, is_last))
            skipped.append(parts.skipped[record.traits] if is_last else frozenset[str]())
            sampled_out.append(parts.sampled_out[record.traits])
        for run, places in traits.items():
            for criterion, ruler in (pair for n in places for pair in self._read[run].traits[n].rulers):
                rulers.setdefault(criterion, set()).add(ruler)
        nothing = [None] * len(stored)
        return ConversationColumns(
            [own.conversation for own in stored],
            [own.version or None for own in stored],
            [own.case or None for own in stored],
            tasks=[*nothing],
            case_digests=[own.digest for own in stored],
            languages=[*nothing],
            tags=[()] * len(stored),
            criteria=criteria,
            skipped=skipped,
            sampled_out=sampled_out,
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
        texts, conversations = summary.texts, summary.conversations
        self._parts.setdefault(run.name, _Parts(summary))
        for own in summary.records:
            if version is None or texts[own.version] == version:
                name = f"{texts[own.place]}/{own.name}"
                self._own[name] = run.name, own
                yield ComparedRecord(
                    name,
                    conversations[own.conversation],
                    texts[own.version],
                    run_id,
                    own.nanos,
                    texts[own.case],
                    texts[own.verdict],
                    digest=own.digest,
                    evaluation=texts[own.evaluation],
                    is_result=own.is_result,
                )

    def _last_revisions(self, stored: Sequence[ComparedRecord]) -> dict[tuple[str, ...], int]:
        """Returns conversation and version -> its last revision; empty: none was scored again."""
        if all(self._own[own.name][1].revision <= 0 for own in stored):
            return {}
        last: dict[tuple[str, ...], int] = {}
        for own in stored:
            last[own.key[1:]] = max(last.get(own.key[1:], -1), self._own[own.name][1].revision)
        return last


def _readable(text: str) -> StoredSummary | None:
    """Returns a stored summary; None: it was damaged, or the rows must be read."""
    try:
        return read_summary(text)
    except (MsgspecError, IndexError):
        return None


class _Parts:
    """Makes conversations of a summary; what several have in common is made once."""

    def __init__(self, summary: StoredSummary) -> None:
        self._summary = summary
        self._observed = [
            Observed(own.value, own.outcome, own.threshold, is_summed=own.is_summed)
            for own in summary.observed
        ]
        self._criteria: dict[tuple[int, ...], dict[str, Observed]] = {}
        self._verdicts: dict[tuple[int, ...], dict[str, Observed]] = {}
        self.skipped = [frozenset(own.skipped) for own in summary.traits]
        self.sampled_out = [frozenset(own.sampled_out) for own in summary.traits]

    def criteria(self, observed: tuple[int, ...], is_last: bool) -> dict[str, Observed]:
        """Returns what criteria gave; the verdict alone, if it was scored again in a later revision."""
        kept = self._criteria if is_last else self._verdicts
        if observed not in kept:
            names = [self._summary.observed[place].criterion for place in observed]
            found = zip(names, map(self._observed.__getitem__, observed), strict=True)
            kept[observed] = {name: own for name, own in found if is_last or name == STATUS}
        return kept[observed]
