"""Keeps the summaries of the runs of a store, and reads sides of comparisons and figures of them."""

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace
from sqlalchemy import Connection, select

from turnwise.pipeline.store.database import CURRENT, EXECUTIONS, RUN_SUMMARIES, upsert
from turnwise.pipeline.store.engine import Store
from turnwise.pipeline.store.figures import RunFigures
from turnwise.pipeline.store.states import COMPLETED
from turnwise.pipeline.store_comparison.records import RecordColumns
from turnwise.pipeline.store_comparison.rows import SideKind
from turnwise.pipeline.store_comparison.run_summary import StoredSummary, SummaryCriterion, read_summary
from turnwise.pipeline.store_comparison.summarising import summary_text
from turnwise.transforms.decisions.comparison.sentences import Bools, Integers
from turnwise.transforms.decisions.comparison.sides import (
    CodedColumn,
    ConversationColumns,
    CriterionColumn,
    chosen,
    coded,
    constant,
    empty_column,
    stacked,
    stacked_criteria,
)
from turnwise.transforms.scoring.evaluate import STATUS


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
    counts = EXECUTIONS.c.app == app, EXECUTIONS.c.state == COMPLETED
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
        self._runs = {run.name.rsplit("/", 1)[-1]: run for run in counted_runs(connection, app)}
        self._read: dict[str, StoredSummary] = {}

    def figures(self) -> dict[str, RunFigures]:
        """Returns name of a run -> its results by evaluation and app version; raises UnsummarisedError."""
        return {self._runs[run].name: own.figures for run, own in self._numbered.items()}

    @cached_property
    def _numbered(self) -> dict[str, StoredSummary]:
        """The summaries of all runs; a conversation id has the same number in all of them."""
        runs = self._summaries(self._runs)
        values = [own.conversations.values for own in runs.values()]
        ids = coded(chain.from_iterable(values))
        found = {}
        for (run, own), numbers in zip(
            runs.items(), np.split(ids.places, np.cumsum([*map(len, values)])), strict=False
        ):
            conversations = CodedColumn(ids.values, numbers[own.conversations.places])
            figures = replace(own.figures, members=numbers[own.figures.members])
            found[run] = replace(own, conversations=conversations, figures=figures)
        return found

    def records(self, kind: SideKind, name: str) -> RecordColumns:
        """Returns what is of an app version (its id) or run (its name); raises UnsummarisedError."""
        if kind != "version":
            return _records(self._summaries(self._runs.keys() & {name.rsplit("/", 1)[-1]}))
        found = self._everything
        is_own = np.asarray([version == name for version in found.versions.values], np.bool_)
        return found.at(is_own[found.versions.places])

    @cached_property
    def _everything(self) -> RecordColumns:
        return _records(self._numbered)

    def conversations(self, stored: RecordColumns, rulers: dict[str, set[str]]) -> ConversationColumns:
        """Returns the conversations without turns, reasons, tags and languages."""
        rows = np.split(stored.places, np.cumsum(stored.runs.counts()))
        by_run = [
            (self._read[run], own) for run, own in zip(stored.runs.values, rows, strict=False) if len(own)
        ]
        is_old = _are_old(stored, stacked([own.revisions.at(rows) for own, rows in by_run]))
        traits = stacked([own.traits.at(rows) for own, rows in by_run])
        skipped = traits.recoded(frozenset(own.skipped) for own in traits.values)
        for criterion, ruler in {ruler for own in traits.used() for ruler in own.rulers}:
            rulers.setdefault(criterion, set()).add(ruler)
        return ConversationColumns(
            stored.conversations,
            stored.versions.recoded(version or None for version in stored.versions.values),
            stored.cases.recoded(case or None for case in stored.cases.values),
            tasks=constant(None, len(stored)),
            case_digests=stacked([own.digests.at(rows) for own, rows in by_run]),
            languages=constant(None, len(stored)),
            tags=constant((), len(stored)),
            criteria=_criteria(by_run, is_old),
            skipped=chosen(skipped, skipped.recoded(frozenset() for _ in skipped.values), is_old),
            sampled_out=traits.recoded(frozenset(own.sampled_out) for own in traits.values),
        )

    def _summaries(self, runs: Collection[str]) -> dict[str, StoredSummary]:
        """Returns id of a run -> its summary, by id; raises UnsummarisedError."""
        missing = {run: self._runs[run] for run in runs if run not in self._read}
        kept = self._kept(missing)
        for run, key in missing.items():
            text = kept.get(key)
            found = None if text is None else _readable(text)
            if found is None:
                text = summary_text(self._connection, self._app, key.name) if text != "" else ""
                found = read_summary(text) if text else None
            if found is None:
                raise UnsummarisedError(key.name)
            self._read[run] = found
        return {run: self._read[run] for run in sorted(runs)}

    def _kept(self, runs: dict[str, RunKey]) -> dict[RunKey, str]:
        """Returns the stored texts of summaries."""
        columns = RUN_SUMMARIES.c.evaluation_run, RUN_SUMMARIES.c.execution, RUN_SUMMARIES.c.update_nanos
        query = select(*columns, RUN_SUMMARIES.c.content).where(RUN_SUMMARIES.c.app == self._app)
        if len(runs) == 1:
            query = query.where(RUN_SUMMARIES.c.evaluation_run == next(iter(runs.values())).name)
        rows = self._connection.execute(query) if runs else ()
        return {RunKey(*key): text for *key, text in rows}


def _readable(text: str) -> StoredSummary | None:
    """Returns a stored summary; None: it was damaged, or the rows must be read."""
    try:
        return read_summary(text)
    except ValueError:
        return None


def _records(runs: dict[str, StoredSummary]) -> RecordColumns:
    """Returns the records of several runs."""
    found = [*runs.values()]
    sizes = [len(own.nanos) for own in found]
    return RecordColumns(
        conversations=stacked([own.conversations for own in found]),
        versions=stacked([own.versions for own in found]),
        runs=CodedColumn([*runs], np.repeat(np.arange(len(found)), sizes)),
        cases=stacked([own.cases for own in found]),
        evaluations=stacked([own.evaluations for own in found]),
        nanos=_integers(stacked([own.nanos for own in found])),
        is_result=_integers(stacked([own.is_result for own in found])).astype(np.bool_),
        places=np.concatenate([np.arange(0), *map(np.arange, sizes)]),
    )


def _integers(column: CodedColumn[int] | CodedColumn[bool]) -> Integers:
    return np.asarray(column.values, np.int64)[column.places]


def _are_old(stored: RecordColumns, revisions: CodedColumn[int]) -> Bools:
    """Returns whether each conversation was scored again in a later revision."""
    own = _integers(revisions)
    if own.max(initial=0) <= 0:
        return np.zeros(len(own), np.bool_)
    key = stored.conversations.places * len(stored.versions.values) + stored.versions.places
    places = np.unique(key, return_inverse=True)[1]
    last = np.full(len(own), -1)
    np.maximum.at(last, places, own)
    return own < last[places]


def _criteria(by_run: Sequence[tuple[StoredSummary, Integers]], is_old: Bools) -> dict[str, CriterionColumn]:
    """Returns what criteria gave; of what was scored again later, the verdict alone."""
    by_name = [({own.criterion: own for own in run.criteria}, rows) for run, rows in by_run]
    found = {}
    for name in sorted({*chain.from_iterable(criteria for criteria, _ in by_name)}):
        parts = [_column(criteria.get(name), rows) for criteria, rows in by_name]
        own = stacked_criteria(parts)
        if name != STATUS:
            own = own.without(is_old)
        if own.is_given.any():
            found[name] = own
    return found


def _column(given: SummaryCriterion | None, rows: Integers) -> CriterionColumn:
    if given is None:
        return empty_column(len(rows))
    return CriterionColumn(given.values[given.places[rows]], given.kinds.at(rows))
