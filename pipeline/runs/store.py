"""Reads finished runs of a store: the sides of comparisons as columns, and whole runs for reports."""

import json
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from functools import cached_property
from itertools import chain
from operator import itemgetter
from typing import Any, Literal, NamedTuple, TypeVar

import msgspec
import numpy as np
from msgspec import Struct
from msgspec.structs import astuple, replace
from sqlalchemy import ColumnElement, Connection, func, select, union

from turnwise.pipeline.runs.directory import stated_rows, versions_named
from turnwise.pipeline.store import runs as stored_runs
from turnwise.pipeline.store import summaries
from turnwise.pipeline.store.database import (
    CONVERSATIONS,
    FAILURES,
    LOCAL_APP,
    METRICS,
    RESULTS,
    RUNS,
    SCORES,
    key_text,
    open_store,
)
from turnwise.pipeline.store.urls import COMPLETED, StoreError
from turnwise.schemas.ces.names import version_id
from turnwise.schemas.comparison import NO_VERSION
from turnwise.schemas.config import STATUS, ConfigError
from turnwise.schemas.jsonio import JsonObject, counted, grouped, shown_url
from turnwise.schemas.proto.scalars import timestamp_nanos
from turnwise.schemas.rows import ConversationRow, FailureRow
from turnwise.schemas.run import RunDocument, scoring_settings
from turnwise.transforms.decisions.comparison.sides import (
    Bools,
    CodedColumn,
    ComparedSide,
    ConversationColumns,
    CriterionColumn,
    Integers,
    chosen,
    coded,
    distinct_pairs,
    empty_column,
    stacked,
    stacked_criteria,
)
from turnwise.transforms.decisions.comparison.words import in_table_order
from turnwise.transforms.decisions.first_page import count_destructive
from turnwise.transforms.decisions.run import Run

SideKind = Literal["version", "run", "either"]
"""What the name of a side names; `either`: an app version, or else a run."""

_SHOWN = 10


class StoredSides(NamedTuple):
    """Baseline and candidate of a store, their stored conversations, and what a first page needs beside.

    Attributes:
        config: Config of the candidate's last run; {}: not known.
        to_read: Conversations of the candidate in which something is wrong (without details: which have no
            verdict), without transcripts.
    """

    baseline: ComparedSide
    candidate: ComparedSide
    config: JsonObject
    to_read: Sequence[ConversationRow]
    records: "Sequence[RecordColumns]"

    @property
    def primary(self) -> Sequence[str]:
        """Criteria that the config calls primary."""
        return (self.config.get("gate") or {}).get("primary") or ()


def sides_of_store(url: str, app: str | None, names: Sequence[str]) -> StoredSides:
    """Returns baseline and candidate: app versions or runs of an app (None: of the only one with results).

    Raises ConfigError if the store cannot be read, or holds no result of an app, version or run.
    """
    if names[0] == names[1]:
        raise ConfigError(f"--baseline {names[0]}: is the candidate, too; nothing to compare")

    def work(connection: Connection) -> StoredSides:
        apps = sorted({name for name, _ in stored_runs.runs_with_rows(connection)})
        chosen_app = apps[0] if app is None and len(apps) == 1 else app
        if chosen_app is None or chosen_app not in apps:
            known = ", ".join(apps[:_SHOWN]) or "none"
            wrong = "--store: --app names the app" if app is None else f"--app {app}: has no result"
            raise ConfigError(f"{wrong} (apps with results: {known})")
        return StoredRuns(connection, chosen_app, with_details=True).sides(names, shown_url(url))

    return _read_store(url, work, read_only=True)


class StoredRuns:
    """The runs of an app that count, as columns: each conversation is compared in its last run."""

    def __init__(self, connection: Connection, app: str, *, with_details: bool = False) -> None:
        """Creates a reader; `with_details` reads reasons, turns and votes, too."""
        self._connection, self._app, self._with_details = connection, app, with_details
        self._runs = {run.name.rsplit("/", 1)[-1]: run for run in summaries.counted_runs(connection, app)}
        self._columns: dict[str, summaries.RunColumns] = {}
        self._details: dict[str, summaries.RunDetails] = {}

    def sides(
        self,
        names: Sequence[str],
        source: str,
        evaluations: Collection[str] | None = None,
        kind: SideKind = "either",
    ) -> StoredSides:
        """Returns baseline and candidate: app versions or runs by name, of some evaluations (None: all).

        `source` is the address of the store, without password. Raises ConfigError if a side has no result.
        """
        versions, records = zip(*(self._records(name, kind, evaluations) for name in names), strict=True)
        if versions[0] is not None and versions[0] == versions[1]:
            raise ConfigError(f"{names[0]} and {names[1]} are the same version; nothing to compare")
        stored = with_cases(records)
        sides = []
        for name, version, of_side, is_b in zip(names, versions, stored, (False, True), strict=True):
            sides.append(_Side(self._side(name, source, of_side), of_side, version, is_b))
        for side in sides:
            for add in (_add_losses, _add_missing):
                add(self._connection, self._app, side)
        documents = [[*self._documents(records, 1)] for records in stored]
        for side, newest in zip(sides, documents, strict=True):
            side.side.thresholds = {name for document in newest for name in document.thresholds}
            criteria = side.side.conversations.criteria
            ordered = in_table_order(criteria, chain.from_iterable(documents))
            side.side.conversations.criteria = {name: criteria[name] for name in ordered}
        configs = [document.config for document in documents[1]]
        if self._with_details:
            of_sides = [[*self._rows(run, CONVERSATIONS.c.severity_score > 0)] for run in stored]
            for side, rows in zip(sides, of_sides, strict=True):
                side.side.destructive = count_destructive(rows)
            to_read = of_sides[1]
        else:
            to_read = [*self._rows(stored[1], CONVERSATIONS.c.verdict == "")]
        return StoredSides(sides[0].side, sides[1].side, configs[0] if configs else {}, to_read, stored)

    def compared_runs(self, sides: StoredSides, most: int) -> list[Run]:
        """Returns the rows of the two sides, for a report: one if both are of the same runs, else one a side.

        What other versions of the app did in these runs is left out. Raises ConfigError if there are more
        conversations than `most`.
        """
        number = sum(int((~records.is_result).sum()) for records in sides.records)
        if number > most:
            many = f"a report of more than {most:,} is not made here: use turnwise compare --store"
            raise ConfigError(f"{number:,} conversations are compared, and {many}")
        if sides.baseline.run_ids == sides.candidate.run_ids:
            return [self._run(sides.records, "")]
        names = sides.baseline.name, sides.candidate.name
        return [self._run([records], name) for records, name in zip(sides.records, names, strict=True)]

    def _run(self, records: "Sequence[RecordColumns]", side: str) -> Run:
        """Returns the rows of some records as one run, which is called by its side ("": both) and runs."""
        documents = [document for record in records for document in self._documents(record)]
        if not documents:
            raise ConfigError("the runs have no run.json in the store: use turnwise compare --store")
        by_id = {document.run_id: document for document in documents}
        document = documents[0]
        name = f"{side} (run {document.run_id})" if side else ""
        if len(by_id) > 1:
            counts = Counter[str]()
            name = f"{side} ({len(by_id)} runs)" if side else f"These {len(by_id)} runs"
            for stored_run in by_id.values():
                counts.update({name: n for name, n in stored_run.counts.items() if isinstance(n, int)})
            failed = [stored_run for stored_run in by_id.values() if stored_run.exit_status]
            reasons = ((run.run_id, why) for run in failed for why in run.problems or ["no reason"])
            problems = [f"{run_id}: {why}" for run_id, why in reasons]
            document = replace(document, counts=counts, exit_status=1 if failed else 0, problems=problems)
        document = replace(document, run_id=name or document.run_id)
        ids = [name for record in records for name in record.run_ids]
        names = [self._runs[run].name for run in dict.fromkeys(ids)]
        wanted = {record for side in records for record in _ids(side)}
        versions = {version for record in records for version in record.versions.used()}
        alone = sum(int(record.is_result.sum()) for record in records)
        gaps = [f"Results without a stored conversation, in the figures alone: {alone:,}."] if alone else []
        run = _read(self._connection, document.run_id, document, names)

        def rows(table: str) -> Iterator[Any]:
            for row in run.rows(table):
                version = key_text(version_id(row["app_version"] or "")) or None
                if table not in ("conversations", "scores"):
                    is_own = version is None or version in versions
                else:
                    run_id = stored_runs.run_key(self._app, row["run_id"]).rsplit("/", 1)[-1]
                    is_own = (run_id, key_text(row["conversation_id"]), version) in wanted
                if is_own and table == "metrics_by_app_version":
                    # Those intervals are of whole runs, and not of these rows.
                    yield {**row, "pass_rate_low": None, "pass_rate_high": None}
                elif is_own:
                    yield row

        return Run(document.run_id, document, lambda table: [*rows(table)], gaps=gaps, name=name)

    def _documents(self, records: "RecordColumns", most: int | None = None) -> list[RunDocument]:
        """Returns the documents of the newest runs of some records (None: of all), the newest one first."""
        names = [self._runs[run].name for run in records.run_ids]
        query = select(RUNS.c.content).where(RUNS.c.name.in_(names), RUNS.c.content != "")
        newest = query.order_by(RUNS.c.create_nanos.desc(), RUNS.c.name.desc()).limit(most)
        contents = self._connection.execute(newest).scalars()
        documents = []
        for content in contents:
            with suppress(msgspec.ValidationError):  # of another version of turnwise
                documents.append(msgspec.convert(json.loads(content), RunDocument))
        return documents

    def _rows(self, records: "RecordColumns", *conditions: ColumnElement[bool]) -> Iterator[ConversationRow]:
        """Yields the rows of conversations, without transcripts."""
        wanted, held = {*_ids(records)}, CONVERSATIONS.c
        names = [self._runs[run].name for run in records.run_ids]
        query = select(held.evaluation_run, held.conversation_id, held.version_id, held.content)
        query = query.where(held.evaluation_run.in_(names), held.content != "", *conditions)
        for run, conversation, version, content in self._connection.execute(query):
            if (run.rsplit("/", 1)[-1], conversation, version or None) in wanted:
                yield json.loads(content) | {"transcript": None}

    def _records(
        self, name: str, kind: SideKind, evaluations: Collection[str] | None
    ) -> tuple[str | None, "RecordColumns"]:
        """Returns what is of an app version, with its id, or else of a run.

        Raises ConfigError if there is nothing, or the name means several versions.
        """
        for tried in ("version", "run") if kind == "either" else (kind,):
            if tried == "run":
                run = stored_runs.run_key(self._app, name).rsplit("/", 1)[-1]
                version, records = None, _records(self._read({run} & self._runs.keys()))
            else:
                records = self._everything
                meant = versions_named(version_key(name), records.versions.used())
                if len(meant) > 1:
                    several = ", ".join(sorted(filter(None, meant))[:_SHOWN])
                    raise ConfigError(f"{name}: names several app versions (there are: {several})")
                version = (meant[0] or "") if meant else None
                is_own = np.asarray([value in meant for value in records.versions.values], np.bool_)
                records = records.at(is_own[records.versions.places])
            if evaluations is not None:
                records = records.of_evaluations(evaluations)
            if len(records):
                return version, records.last_runs()
        # Why there is nothing: it does not count, or all is rejected.
        named = version_key(name)
        unread = stored_runs.unread_runs(self._connection, self._app, named, named)
        why = f"; {'; '.join(state.sentence() for state in unread[:_SHOWN])}" if unread else ""
        losses = stored_runs.rejected_records(self._connection, self._app)
        if rejected := [loss.run for loss in losses if named in (loss.version, loss.run)]:
            shown = ", ".join(sorted({*rejected})[:_SHOWN])
            number = counted(len(rejected), "record or conversation")
            why += f", which rejected all of its {number} (run {shown})"
        known = []
        for column, what in (("version_id", "versions"), ("evaluation_run", "runs")):
            tables = (RESULTS, CONVERSATIONS)
            queries = (select(table.c[column]).where(table.c.app == self._app) for table in tables)
            values = self._connection.execute(union(*queries)).scalars()
            stored = {value.rsplit("/", 1)[-1] if what == "runs" else value or NO_VERSION for value in values}
            known.append(f"{what}: {', '.join(sorted(stored)[:_SHOWN]) or 'none'}")
        raise ConfigError(f"{name}: no result of this version or run{why} ({'; '.join(known)})")

    @cached_property
    def _everything(self) -> "RecordColumns":
        """The records of all runs; a conversation id has the same number in all of them."""
        runs = self._read(self._runs.keys())
        values = [columns.conversations.conversation_ids.values for columns in runs.values()]
        ids = coded(chain.from_iterable(values))
        numbered = np.split(ids.places, np.cumsum([*map(len, values)]))
        renumbered = {}
        for (run, columns), numbers in zip(runs.items(), numbered, strict=False):
            names = CodedColumn(ids.values, numbers[columns.conversations.conversation_ids.places])
            conversations = replace(columns.conversations, conversation_ids=names)
            renumbered[run] = replace(columns, conversations=conversations)
        return _records(renumbered)

    def _side(self, name: str, source: str, stored: "RecordColumns") -> ComparedSide:
        """Returns a side with what criteria gave its conversations, which judges did, and what was raised."""
        places = np.split(stored.places, np.cumsum(stored.runs.counts()))
        by_run = [(run, rows) for run, rows in zip(stored.runs.values, places, strict=False) if len(rows)]
        columns = [(self._columns[run], rows) for run, rows in by_run]

        def column(name: str) -> CodedColumn[Any]:
            return stacked([getattr(of_run.conversations, name).at(rows) for of_run, rows in columns])

        judged = stacked([of_run.judges.at(rows) for of_run, rows in columns])
        given = grouped(judge for several in judged.used() for judge in several)
        judges = {criterion: {*of_criterion} for criterion, of_criterion in given.items()}
        # What was scored again in a later revision.
        revision = _integers(stacked([of_run.revisions.at(rows) for of_run, rows in columns]))
        codes = stored.conversations.places * len(stored.versions.values) + stored.versions.places
        measured = np.unique(codes, return_inverse=True)[1]
        last = np.full(len(revision), -1)
        np.maximum.at(last, measured, revision)
        is_old = revision < last[measured]
        skipped = column("skipped")
        if self._with_details:
            missing = {self._runs[run]: run for run, _ in by_run if run not in self._details}
            kept = summaries.kept(self._connection, missing, summaries.DETAILS)
            self._details |= {missing[key]: details for key, details in kept.items()}
            for run in (run for key, run in missing.items() if key not in kept):
                self._made(run)
        conversations = ConversationColumns(
            stored.conversations,
            stored.versions,
            stored.cases,
            **{part: column(part) for part in ("tasks", "case_digests", "languages", "tags", "sampled_out")},
            criteria=self._criteria(by_run, is_old),
            skipped=chosen(skipped, skipped.recoded(frozenset() for _ in skipped.values), is_old),
        )
        side = ComparedSide(name, source, conversations, stored.run_ids, judges=judges)
        # What criteria raised.
        runs = [f"{app}/evaluationRuns/{run}" for app in (self._app, LOCAL_APP) for run in side.run_ids]
        of_runs = select(FAILURES.c.content).where(FAILURES.c.evaluation_run.in_(runs))
        raised = of_runs.where(FAILURES.c.stage == "score", FAILURES.c.criterion != "")
        rows: list[FailureRow] = [*map(json.loads, self._connection.execute(raised).scalars())]
        for row in rows:
            row["conversation_id"] = key_text(row["conversation_id"] or "")
            row["app_version"] = key_text(version_id(row["app_version"] or "")) or None
        conversations.add_errors(rows)
        versions = {*conversations.app_versions.used()}
        side.errors = dict(Counter(row["criterion"] or "" for row in rows if row["app_version"] in versions))
        conversations.criteria = dict(sorted(conversations.criteria.items()))
        return side

    def _criteria(self, by_run: Sequence[tuple[str, Integers]], is_old: Bools) -> dict[str, CriterionColumn]:
        """Returns what criteria gave; of what was scored again later, the verdict alone."""
        given = [(run, self._columns[run].conversations.criteria, rows) for run, rows in by_run]
        columns = {}
        for name in sorted({*chain.from_iterable(criteria for _, criteria, _ in given)}):
            parts = []
            for run, criteria, rows in given:
                part = criteria.get(name)
                if part is not None and self._with_details:
                    part = replace(part, details=self._details[run][name])
                parts.append(empty_column(len(rows)) if part is None else part.at(rows))
            column = stacked_criteria(parts)
            if name != STATUS and is_old.any():
                column = column.without(is_old)
            if any(column.kinds.used()):
                columns[name] = column
        return columns

    def _read(self, runs: Collection[str]) -> dict[str, summaries.RunColumns]:
        """Returns id of a run -> its columns, by id."""
        missing = {self._runs[run]: run for run in runs if run not in self._columns}
        kept = summaries.kept(self._connection, missing, summaries.COLUMNS)
        for key, run in missing.items():
            self._columns[run] = kept.get(key) or self._made(run)
        return {run: self._columns[run] for run in sorted(runs)}

    def _made(self, run: str) -> summaries.RunColumns:
        """Returns the columns of a run, made of its rows, and keeps its details."""
        name = self._runs[run].name
        columns, self._details[run] = summaries.summarised(self._connection, self._app, name)
        return columns


def version_key(name: str) -> str:
    """Returns the id of the app version that options name; "": that of what states none."""
    return "" if name == NO_VERSION else key_text(version_id(name))


# Which stored conversations of a side are compared.


class RecordColumns(Struct, frozen=True):
    """Stored conversations, and results without one, by the ids of their runs; `places` are within a run."""

    conversations: CodedColumn[str]
    versions: CodedColumn[str | None]
    runs: CodedColumn[str]
    cases: CodedColumn[str | None]
    evaluations: CodedColumn[str | None]
    nanos: Integers
    is_result: Bools
    places: Integers

    def __len__(self) -> int:
        return len(self.nanos)

    @property
    def oldest(self) -> int:
        """Time of writing of the oldest one, nanoseconds since 1970; 0: there is none."""
        return int(self.nanos.min()) if len(self) else 0

    @property
    def run_ids(self) -> list[str]:
        """Ids of the runs."""
        return sorted(self.runs.used())

    def at(self, rows: Integers | Bools) -> "RecordColumns":
        """Returns some of them."""
        columns: list[Any] = [c.at(rows) if isinstance(c, CodedColumn) else c[rows] for c in astuple(self)]
        return RecordColumns(*columns)

    def of_evaluations(self, names: Collection[str]) -> "RecordColumns":
        """Returns those of some evaluations."""
        is_own = np.asarray([name in names for name in self.evaluations.values], np.bool_)
        return self.at(is_own[self.evaluations.places])

    def last_runs(self) -> "RecordColumns":
        """Returns each conversation in its last run only."""
        if self.conversations.counts().max(initial=0) <= 1:
            return self
        seen = [conversation for conversation, _ in distinct_pairs(self.conversations, self.runs)]
        again = np.flatnonzero(np.bincount(seen)[self.conversations.places] > 1)
        if not len(again):
            return self
        repeated = self.at(again)
        # A number for each evaluation or else case, conversation and version that was measured.
        has_none = np.asarray([not name for name in repeated.evaluations.values], np.bool_)
        measured = chosen(repeated.evaluations, repeated.cases, has_none[repeated.evaluations.places]).places
        for column in (repeated.conversations, repeated.versions):
            codes = measured * len(column.values) + column.places
            measured = np.unique(codes, return_inverse=True)[1]
        order = np.lexsort((self.nanos[again], measured))
        # Equal values follow each other: the last one of each is the last one written.
        last = np.empty(measured.max() + 1, np.int64)
        last[measured[order]] = self.runs.places[again[order]]
        is_kept = np.ones(len(self), np.bool_)
        is_kept[again] = last[measured] == self.runs.places[again]
        return self.at(is_kept)


def _ids(records: RecordColumns) -> Iterator[tuple[str, str, str | None]]:
    return zip(records.runs, records.conversations, records.versions, strict=True)


def _records(runs: Mapping[str, summaries.RunColumns]) -> RecordColumns:
    of_runs = [*runs.values()]
    sizes = [len(columns.nanos) for columns in of_runs]
    conversations = [columns.conversations for columns in of_runs]
    return RecordColumns(
        conversations=stacked([columns.conversation_ids for columns in conversations]),
        versions=stacked([columns.app_versions for columns in conversations]),
        runs=CodedColumn([*runs], np.repeat(np.arange(len(sizes)), sizes)),
        cases=stacked([columns.eval_ids for columns in conversations]),
        evaluations=stacked([columns.evaluations for columns in of_runs]),
        nanos=_integers(stacked([columns.nanos for columns in of_runs])),
        is_result=_integers(stacked([columns.is_result for columns in of_runs])).astype(np.bool_),
        places=np.concatenate([np.arange(0), *map(np.arange, sizes)]),
    )


def _integers(column: CodedColumn[int] | CodedColumn[bool]) -> Integers:
    return np.asarray(column.values, np.int64)[column.places]


def with_cases(sides: Sequence[RecordColumns]) -> list[RecordColumns]:
    """Names the case of results without a conversation as the last conversation of their evaluation does."""
    if not any(side.is_result.any() for side in sides):
        return [*sides]
    known = [side.at(~side.is_result) for side in sides]
    named = (pair for side in known for pair in zip(side.evaluations, side.cases, strict=True))
    cases: dict[str | None, str | None] = {evaluation: case for evaluation, case in named if evaluation}
    named_sides = []
    for side in sides:
        of_conversations = side.cases.recoded(cases.get(name, name) for name in side.cases.values)
        named_sides.append(replace(side, cases=chosen(side.cases, of_conversations, side.is_result)))
    return named_sides


class _Side(Struct):
    """A side with its stored conversations; `version`: id of the app version that it is (None: a run)."""

    side: ComparedSide
    stored: RecordColumns
    version: str | None
    is_b: bool


# Reads from a store what the runs of a side rejected, those without any result included.


def _add_losses(connection: Connection, app: str, compared: _Side) -> None:
    """Adds to a side what its runs rejected.

    The runs of an app version are also those whose results others have superseded, and those that rejected
    everything; a loss counts there unless the conversation (where none is known: all that is compared) was
    measured later. A run without any result whose records name no version counts for B.
    """
    side = compared.side
    all_rejected = list(stored_runs.rejected_records(connection, app, stored_runs.is_counted(FAILURES)))
    versions: dict[str, set[str]] = {}  # of the runs with results
    counts = Counter[str]()
    if all_rejected:
        for table in (RESULTS, CONVERSATIONS):
            query = select(table.c.evaluation_run, table.c.version_id).where(table.c.app == app).distinct()
            for run, version in connection.execute(query):
                versions.setdefault(run.rsplit("/", 1)[-1], set()).add(version)
        measured: dict[str, int] = {}
        for name, nanos in zip(compared.stored.conversations, compared.stored.nanos.tolist(), strict=True):
            measured[name] = max(nanos, measured.get(name, 0))
        oldest = min(measured.values(), default=0)

        def is_of_version(rejected: stored_runs.RunLoss) -> bool:
            if compared.version is None:
                return False
            if rejected.version:
                is_newest = rejected.nanos >= measured.get(rejected.conversation, 0)
                return rejected.version == compared.version and is_newest
            of_run = versions.get(rejected.run)
            may_be = compared.is_b if of_run is None else compared.version in of_run
            return may_be and rejected.nanos >= oldest

        # Of a conversation that several runs rejected, the last one counts; a run is compared alone.
        in_order = sorted(all_rejected, key=lambda loss: loss.nanos) if compared.version is not None else ()
        last = {(loss.conversation, loss.version): loss.run for loss in in_order if loss.conversation}
        for rejected in all_rejected:
            is_last = last.get((rejected.conversation, rejected.version), rejected.run) == rejected.run
            if is_last and (rejected.run in side.run_ids or is_of_version(rejected)):
                counts[rejected.run] += rejected.number
                side.cut_inputs += rejected.is_cut
    side.rejected = counts.total()
    for run in sorted(counts.keys() - {*side.run_ids}):
        nothing = "no result that is compared" if run in versions else "no result"
        what = counted(counts[run], "record or conversation")
        side.notes.append(f"{side.name}: run {run} has {nothing}, and rejected {what}")
    side.run_ids = sorted({*side.run_ids, *counts})
    # What other results of the same run replaced.
    names = [f"{home}/evaluationRuns/{run}" for home in (app, LOCAL_APP) for run in side.run_ids]
    is_theirs = FAILURES.c.evaluation_run.in_(names), FAILURES.c.error_type == stored_runs.REPLACED
    for content in connection.execute(select(FAILURES.c.content).where(*is_theirs)).scalars():
        row = json.loads(content)
        side.notes.append(f"{side.name}: run {row['run_id']}: {row['message']}")


def _add_missing(connection: Connection, app: str, compared: _Side) -> None:
    """Adds what a side lacks: runs that have not ended or broke off, and rows that were deleted since.

    They are problems of the side unless all that is compared was measured later; older results may stand in
    the place of deleted rows. A run that has not ended or broke off counts for B whatever versions its rows
    are of: it may have been to measure B, too.
    """
    side, version, oldest = compared.side, compared.version, compared.stored.oldest
    named = key_text(side.name.rsplit("/", 1)[-1]) if version is None else None
    and_unknown = compared.is_b and version is not None
    for state in stored_runs.unread_runs(connection, app, version, named, and_unknown=and_unknown):
        text = state.sentence() if state.is_counted else f"{state.sentence()}, and is not compared"
        if state.unread_nanos < oldest:
            side.notes.append(f"{side.name}: {text}")
        else:
            side.problems = [*side.problems, text]
            side.run_ids = sorted({*side.run_ids, state.run_id})
    columns = RUNS.c.run_id, RUNS.c.app_versions, RUNS.c.end_nanos, RUNS.c.content
    has_note = RUNS.c.content.contains(f'"{stored_runs.REMOVED}"', autoescape=True)
    query = select(*columns).where(RUNS.c.app == app, has_note).order_by(RUNS.c.run_id)
    for run, versions, end, content in connection.execute(query):
        may_be_of_version = versions is None or version in json.loads(versions)
        is_of_version = may_be_of_version and (end or oldest) >= oldest
        if run in side.run_ids if version is None else is_of_version:
            removed = (stored_runs.read_document(content) or {}).get(stored_runs.REMOVED, {})
            what = "result" if removed.get("results") else "conversation"
            verb = "was" if (number := removed.get(f"{what}s", "?")) == 1 else "were"
            problem = f"{counted(number, what)} of run {run} {verb} deleted since it ended"
            side.problems = [*side.problems, problem]
            side.run_ids = sorted({*side.run_ids, run})


# A whole run of a store, for a report.

_OF_CONVERSATION = ("run_id", "conversation_id", "eval_id", "app_version")


def read_stored_run(connection: Connection, name: str, most: int) -> Run:
    """Returns a run of a store by its name in one of its apps.

    Raises ConfigError if there is none, it is not complete, or it has more conversations than `most`.
    """
    query = select(RUNS.c.run_id, RUNS.c.home, RUNS.c.state, RUNS.c.content)
    if (row := connection.execute(query.where(RUNS.c.name == key_text(name))).first()) is None:
        raise ConfigError(f"there is no run {name}")
    if row.state != COMPLETED or not row.content:
        raise ConfigError(f"run {row.run_id} is {row.state}: there is a report of complete runs only")
    document = msgspec.convert(json.loads(row.content), RunDocument)
    names = select(RUNS.c.name).where(RUNS.c.home == row.home)
    number = stored_runs.row_count(connection, CONVERSATIONS, CONVERSATIONS.c.evaluation_run.in_(names))
    if number > most:
        step = "use turnwise report with the output directory of the run"
        many = f"a report of more than {most:,} is not made here: {step}"
        raise ConfigError(f"run {row.run_id} has {number:,} conversations, and {many}")
    return _read(connection, row.run_id, document, names)


def previous_run(url: str, app: str, document: JsonObject) -> str | None:
    """Returns the address (URL#NAME) of the run before a run: of the last earlier date, if the run has one.

    Of a run without a date, it is the one that ended last before it began. It is of the same app ("": the
    default app) and scoring settings; None: there is none. `document` is what is known of the run's
    `run.json`. Raises ConfigError if the store cannot be read.
    """
    began, home = timestamp_nanos(document["create_time"]), f"{app or LOCAL_APP}/evaluationRuns/"
    # LIKE takes apps that differ by the case of a letter for one in SQLite.
    is_wanted = RUNS.c.state == COMPLETED, func.substr(RUNS.c.home, 1, len(home)) == home
    is_other = RUNS.c.run_id != key_text(document["run_id"])
    query = select(RUNS.c.name, RUNS.c.content).where(*is_wanted, is_other)
    if document["date"] is None:
        query = query.where(RUNS.c.end_nanos <= began).order_by(RUNS.c.end_nanos.desc(), RUNS.c.name)
    else:  # a date that runs again ends later than the dates after it
        query = query.where(RUNS.c.day < document["date"])
        query = query.order_by(RUNS.c.day.desc(), RUNS.c.end_nanos.desc(), RUNS.c.name)
    wanted = scoring_settings(document["config"], document["criteria"], document["judge"])

    def find(connection: Connection) -> str | None:
        for row in connection.execute(query):
            known = json.loads(row.content) if row.content else None
            if known and scoring_settings(known["config"], known["criteria"], known["judge"]) == wanted:
                return f"{url}#{row.name}"
        return None

    return _read_store(url, find)


def open_stored_run(url: str, name: str) -> Run:
    """Returns a run of a store by its name in one of its apps; raises ConfigError if there is none."""
    return _read_store(url, lambda connection: read_stored_run(connection, name, sys.maxsize))


_Read = TypeVar("_Read")


def _read_store(url: str, work: Callable[[Connection], _Read], *, read_only: bool = False) -> _Read:
    """Reads a store, whose tables are made if it has none (and may be); raises ConfigError."""
    try:
        with closing(open_store(url, create=not read_only, read_only=read_only)) as store:
            return store.read(work)
    except StoreError as error:
        raise ConfigError(str(error)) from None


def _read(connection: Connection, run_id: str, document: RunDocument, names: Any) -> Run:
    of_run = CONVERSATIONS.c.evaluation_run.in_(names)
    contents = connection.execute(select(CONVERSATIONS.c.name, CONVERSATIONS.c.content).where(of_run)).all()
    rows = [(name, json.loads(content)) for name, content in contents if content]
    # As their records stand in the logs.
    rows.sort(key=lambda named: (named[1]["source"] or "", named[1]["position"] or 0, named[0]))
    known: dict[str, ConversationRow] = dict(rows)
    # Conversations about which the judge was not asked, by version and criterion.
    named = ((row["app_version"] or "", row.get("sampled_out") or ()) for row in known.values())
    pairs = ((version, criterion) for version, criteria in named for criterion in criteria)
    left_out = Counter((key_text(version_id(version)), key_text(criterion)) for version, criterion in pairs)
    # Scores in the order of the conversations and of the run's criteria.
    first = {name: index for index, name in enumerate(known)}
    then = {name: index for index, name in enumerate(document.criteria)}
    scores: list[tuple[int, int, Any]] = []
    for conversation, score in summaries.stored_scores(connection, SCORES.c.evaluation_run.in_(names)):
        if (row := known.get(conversation)) is not None:
            score |= {name: row[name] for name in _OF_CONVERSATION}  # type: ignore[literal-required]
            scores.append((first[conversation], then.get(score["criterion"], len(then)), score))
    failures = select(FAILURES.c.content).where(FAILURES.c.evaluation_run.in_(names))
    metrics = select(METRICS).where(METRICS.c.evaluation_run.in_(names), METRICS.c.turn_index.is_(None))
    unstored = {"window_start": None, "revision": None}
    tables: dict[str, list[Any]] = {
        "conversations": list(known.values()),
        "scores": [score for *_, score in sorted(scores, key=itemgetter(0, 1))],
        "failures": [*map(json.loads, connection.execute(failures.order_by(FAILURES.c.name)).scalars())],
        "metrics_by_app_version": [
            {**row, **unstored, "app_version": row["version_id"],
             "sampled_out": left_out[row["version_id"], row["criterion"]]}
            for row in connection.execute(metrics.order_by(METRICS.c.name)).mappings()
        ],
    }  # fmt: skip
    gaps, stated = [], stated_rows(document.counts, "conversations")
    if len(known) < stated:
        gone = "the others were deleted, or replaced by others of the same id"
        held = f"The store holds {len(known):,} of {stated:,} conversations of {document.run_id}"
        gaps.append(f"{held}: {gone}. The figures are of those that it holds.")
    return Run(run_id, document, lambda table: tables.get(table, ()), gaps=gaps)
