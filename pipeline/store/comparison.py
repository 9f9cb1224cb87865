"""Reads the sides of a comparison from the rows of a store, with what their runs lost."""

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import chain
from operator import attrgetter
from typing import Any, Literal, NamedTuple, Protocol, cast

import msgspec
import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import ColumnElement, Connection, Table, case, select

from turnwise.pipeline.settings.extras import check_store
from turnwise.pipeline.store.database import (
    CONVERSATIONS,
    FAILURES,
    LOCAL_APP,
    RESULTS,
    RUNS,
    SCORES,
    UNASSIGNED,
    key_text,
    open_store,
    version_id,
)
from turnwise.pipeline.store.rows import COMPLETED
from turnwise.pipeline.store.runs import (
    REMOVED,
    REPLACED,
    RunLoss,
    is_counted,
    lost_records,
    read_document,
    run_key,
    runs_with_rows,
    unread_runs,
)
from turnwise.pipeline.store.urls import StoreError
from turnwise.schemas.ces.names import id_of
from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.rows import FailureRow, ScoreRow
from turnwise.transforms.decisions.comparison.collect import Summary, collect, raised_errors, ruler_of
from turnwise.transforms.decisions.comparison.sides import (
    Bools,
    CodedColumn,
    ComparedSide,
    ConversationColumns,
    Integers,
    chosen,
    coded,
    columns_of,
    distinct_pairs,
)

# Reads the conversations of an app version or run from the rows of a store, and results without one.

_COLUMNS = ("name", "conversation_id", "version_id", "evaluation_run", "update_nanos")
_RecordKey = tuple[str, str, str]
SideKind = Literal["version", "run", "either"]
"""What the name of a side names; `either`: an app version, or else a run."""


class ComparedRecord(msgspec.Struct, frozen=True, gc=False):
    """A stored conversation, or a result without one.

    Attributes:
        name: Its name in the store.
        conversation: Id of the conversation.
        version: Id of the app version; "": the draft.
        run: Id of the run.
        nanos: Time of writing, nanoseconds since 1970.
        case: What identifies its case; "": nothing.
        verdict: PASS, FAIL or another text.
        why: Why it should be read; "": no reason.
        digest: Digest of what is expected; "": nothing; None: not known.
        row: The row of a conversation without a verdict, as JSON; "": it has one, or is a result.
        evaluation: Name of its evaluation; "": not known.
        is_result: Whether it is a result without a conversation.
    """

    name: str
    conversation: str
    version: str
    run: str
    nanos: int
    case: str
    verdict: str
    why: str = ""
    digest: str | None = None
    row: str = ""
    evaluation: str = ""
    is_result: bool = False

    @property
    def key(self) -> _RecordKey:
        """What a conversation and its result have in common."""
        return self.run, self.conversation, self.version


def stored_records(connection: Connection, app: str, kind: SideKind, name: str) -> list[ComparedRecord]:
    """Returns the conversations of an app version (its id) or run (its name), and results without one.

    They are ordered by the id of the run, and in a run by name.
    """
    column = "version_id" if kind == "version" else "evaluation_run"
    found = _stored(connection, app, RESULTS.c[column] == name, CONVERSATIONS.c[column] == name)
    return sorted(found, key=attrgetter("run", "name"))


def _stored(
    connection: Connection, app: str, of_results: ColumnElement[bool], of_conversations: ColumnElement[bool]
) -> list[ComparedRecord]:
    results = list(_results(connection, app, of_results))
    evaluations: dict[_RecordKey, list[str]] = {}
    for own, _ in results:
        evaluations.setdefault(own.key, []).append(own.evaluation)
    found = [
        replace(own, evaluation=_evaluation(own.case, evaluations.get(own.key, ())))
        for own in _conversations(connection, app, of_conversations)
    ]
    with_row = {own.key for own in found}
    alone = (own for own, state in results if state == COMPLETED and own.key not in with_row)
    return [*found, *alone]


def _evaluation(case_id: str, names: Sequence[str]) -> str:
    """Returns the evaluation of a case among those of the conversations of one id."""
    ids = {case_id, id_of(case_id)}
    own = (
        name
        for name in sorted(names)
        if not ids.isdisjoint({name, _last(name), _last(name).rsplit("~", 1)[-1]})
    )
    return next(own, min(names, default=""))


def _conversations(
    connection: Connection, app: str, is_chosen: ColumnElement[bool]
) -> Iterator[ComparedRecord]:
    columns = (*_COLUMNS, "eval_id", "verdict", "why", "case_digest")
    row = case((CONVERSATIONS.c.verdict == "", CONVERSATIONS.c.content), else_="")
    for found in _rows(connection, CONVERSATIONS, columns, app, is_chosen, row):
        own = ComparedRecord(*found)
        yield replace(own, run=_last(own.run))


def _results(
    connection: Connection, app: str, is_chosen: ColumnElement[bool]
) -> Iterator[tuple[ComparedRecord, str]]:
    """Yields results with their execution state."""
    columns = (*_COLUMNS, "evaluation", "evaluation_status", "execution_state")
    for found in _rows(connection, RESULTS, columns, app, is_chosen):
        own = ComparedRecord(*found[:-1])
        of_case = "" if _last(own.case) == UNASSIGNED else own.case
        yield replace(own, run=_last(own.run), case=of_case, evaluation=own.case, is_result=True), found[-1]


def _rows(
    connection: Connection,
    table: Table,
    columns: Sequence[str],
    app: str,
    is_chosen: ColumnElement[bool],
    *more: ColumnElement[str],
) -> Iterable[Any]:
    query = select(*(table.c[name] for name in columns), *more).where(
        table.c.app == app, is_chosen, is_counted(table)
    )
    return connection.execute(query)


def _last(name: str) -> str:
    return name.rsplit("/", 1)[-1]


# The stored conversations of a side as columns, and which of them are compared.


class RecordColumns(Struct, frozen=True):
    """Stored conversations, and results without one; see `ComparedRecord`.

    Attributes:
        places: Place of each among what its reader has read.
    """

    conversations: CodedColumn[str]
    versions: CodedColumn[str]
    runs: CodedColumn[str]
    cases: CodedColumn[str]
    evaluations: CodedColumn[str]
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
        return RecordColumns(
            conversations=self.conversations.at(rows),
            versions=self.versions.at(rows),
            runs=self.runs.at(rows),
            cases=self.cases.at(rows),
            evaluations=self.evaluations.at(rows),
            nanos=self.nanos[rows],
            is_result=self.is_result[rows],
            places=self.places[rows],
        )

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
        measured = self.at(again)._measured()
        order = np.lexsort((self.nanos[again], measured))
        # Equal values follow each other: the last one of each is the last one written.
        last = np.empty(measured.max() + 1, np.int64)
        last[measured[order]] = self.runs.places[again[order]]
        is_kept = np.ones(len(self), np.bool_)
        is_kept[again] = last[measured] == self.runs.places[again]
        return self.at(is_kept)

    def _measured(self) -> Integers:
        """Returns a number for each evaluation or else case, conversation and version that was measured."""
        has_none = np.asarray([not name for name in self.evaluations.values], np.bool_)
        cases = chosen(self.evaluations, self.cases, has_none[self.evaluations.places])
        found = cases.places
        for column in (self.conversations, self.versions):
            found = np.unique(found * len(column.values) + column.places, return_inverse=True)[1]
        return found


def columns_of_records(records: Sequence[ComparedRecord], start: int = 0) -> RecordColumns:
    """Returns records from one place on as columns."""
    rows = records[start:]
    return RecordColumns(
        conversations=coded(own.conversation for own in rows),
        versions=coded(own.version for own in rows),
        runs=coded(own.run for own in rows),
        cases=coded(own.case for own in rows),
        evaluations=coded(own.evaluation for own in rows),
        nanos=np.asarray([own.nanos for own in rows], np.int64),
        is_result=np.asarray([own.is_result for own in rows], np.bool_),
        places=np.arange(start, len(records)),
    )


def with_cases(sides: Sequence[RecordColumns]) -> list[RecordColumns]:
    """Names the case of results without a conversation as the last conversation of their evaluation does."""
    if not any(own.is_result.any() for own in sides):
        return [*sides]
    known = [own.at(~own.is_result) for own in sides]
    named = (pair for own in known for pair in zip(own.evaluations, own.cases, strict=True))
    cases = {evaluation: case for evaluation, case in named if evaluation}
    found = []
    for own in sides:
        of_conversations = own.cases.recoded(cases.get(name, name) for name in own.cases.values)
        found.append(replace(own, cases=chosen(own.cases, of_conversations, own.is_result)))
    return found


# Reads which conversations and results of a store belong to a side of a comparison.

_SHOWN = 10


class SideName(NamedTuple):
    """What is compared: an app version or a run, by name or id."""

    name: str
    kind: SideKind = "either"


class SideReader(Protocol):
    """Reads what sides of comparisons consist of, of one app."""

    def records(self, kind: SideKind, name: str) -> RecordColumns:
        """Returns the conversations of an app version (its id) or run (its name), and results without one.

        They are ordered by the id of the run, and in a run by name.
        """

    def conversations(self, stored: RecordColumns, rulers: dict[str, set[str]]) -> ConversationColumns:
        """Returns what criteria gave conversations, and adds to `rulers` which judges did."""


def read_records(
    connection: Connection,
    app: str,
    names: Sequence[SideName],
    evaluations: Collection[str] | None,
    reader: SideReader,
) -> list[RecordColumns]:
    """Returns the conversations of each side, and the results that have none; each in its last run only.

    Args:
        connection: Connection to the store.
        app: Name of the app.
        names: App version or run of each side.
        evaluations: Names of the evaluations that count; None: all.
        reader: Reads the records.

    Raises:
        ConfigError: A side has neither conversations nor results.
    """
    return with_cases([_side(connection, app, name, evaluations, reader) for name in names])


def _side(
    connection: Connection, app: str, side: SideName, evaluations: Collection[str] | None, reader: SideReader
) -> RecordColumns:
    """Returns what is of an app version or else of a run; raises ConfigError if there is nothing."""
    name, kind = side
    choices: dict[SideKind, str] = {"version": key_text(version_id(name)), "run": run_key(app, name)}
    for tried in choices if kind == "either" else (kind,):
        found = reader.records(tried, choices[tried])
        if evaluations is not None:
            found = found.of_evaluations(evaluations)
        if len(found):
            return found.last_runs()
    raise ConfigError(
        f"--versions {name}: no result of this version or run"
        f"{_uncounted(connection, app, name)}{_lost(connection, app, name)} "
        f"({_known(connection, app)})"
    )


def _uncounted(connection: Connection, app: str, name: str) -> str:
    """Returns what is said of runs that do not count."""
    named = key_text(version_id(name))
    told = [state.told() for state in unread_runs(connection, app, named, named)]
    return f"; {'; '.join(told[:_SHOWN])}" if told else ""


def _lost(connection: Connection, app: str, name: str) -> str:
    """Returns what is said of the failures of a version or run without a result."""
    version = key_text(version_id(name))
    lost = [own for own in lost_records(connection, app) if version in (own.version, own.run)]
    runs = ", ".join(sorted({own.run for own in lost})[:_SHOWN])
    return f", which lost all of its {len(lost)} records or conversations (run {runs})" if lost else ""


def _known(connection: Connection, app: str) -> str:
    """Lists the app versions and runs of an app."""
    shown = []
    for column, kind in (("version_id", "versions"), ("evaluation_run", "runs")):
        found = {
            name.rsplit("/", 1)[-1]
            for table in (RESULTS, CONVERSATIONS)
            for name in connection.execute(
                select(table.c[column]).where(table.c.app == app).distinct()
            ).scalars()
        }
        shown.append(f"{kind}: {', '.join(sorted(found - {''})[:_SHOWN]) or 'none'}")
    return "; ".join(shown)


_AT_ONCE = 2_000
_SCORE_CONTENT = {"judge", "revision"}
_SCORE_COLUMNS = (
    "turn_index",
    "criterion",
    "value",
    "outcome",
    "threshold",
    "label",
    "reason",
    "explanation",
    "language",
)


def sides_of_store(url: str, app: str | None, names: Sequence[str]) -> tuple[ComparedSide, ComparedSide]:
    """Returns base and candidate.

    Args:
        url: URL of the store.
        app: Name of the app; None: the only one with results.
        names: App version or run of A and of B.

    Raises:
        ConfigError: The store cannot be read, or holds no result of an app, version or run.
    """
    check_store("--store", url)
    if names[0] == names[1]:
        raise ConfigError(f"--versions {names[0]} {names[1]}: A and B are the same; nothing to compare")
    sides = [SideName(name) for name in names]
    try:
        with closing(open_store(url, read_only=True)) as store:
            return store.read(
                lambda connection: read_sides(connection, _app(connection, app), sides, store.url)
            )
    except StoreError as error:
        raise ConfigError(str(error)) from None


def read_sides(
    connection: Connection,
    app: str,
    names: Sequence[SideName],
    source: str,
    evaluations: Collection[str] | None = None,
    reader: SideReader | None = None,
) -> tuple[ComparedSide, ComparedSide]:
    """Returns base and candidate.

    Args:
        connection: Connection to the store.
        app: Name of the app.
        names: App version or run of A and of B.
        source: Address of the store, without password.
        evaluations: Names of the evaluations that count; None: all.
        reader: Reads the sides; None: of the rows.

    Raises:
        ConfigError: The store holds no result of a version or run.
    """
    reader = reader or RowReader(connection, app)
    stored = read_records(connection, app, names, evaluations, reader)
    a, b = (
        _compared_side(connection, app, name.name, source, own, reader)
        for name, own in zip(names, stored, strict=True)
    )
    for side, name, records in zip((a, b), names, stored, strict=True):
        version = _version(name, records)
        add_losses(connection, app, side, records, version=version, is_b=side is b)
        add_unread(connection, app, side, records, version=version, is_b=side is b)
        add_deleted(connection, app, side, records, version=version)
    return a, b


def _version(side: SideName, stored: RecordColumns) -> str | None:
    """Returns the id of the app version that a side is; None: it is a run."""
    version = key_text(version_id(side.name))
    is_version = side.kind == "version" or (side.kind == "either" and stored.versions.used() == [version])
    return version if is_version else None


class RowReader:
    """Reads the rows of conversations, results and scores."""

    def __init__(self, connection: Connection, app: str) -> None:
        self._connection, self._app = connection, app
        self._found: list[ComparedRecord] = []

    def records(self, kind: SideKind, name: str) -> RecordColumns:
        """Returns what is of an app version or run."""
        start = len(self._found)
        self._found += stored_records(self._connection, self._app, kind, name)
        return columns_of_records(self._found, start)

    def conversations(self, stored: RecordColumns, rulers: dict[str, set[str]]) -> ConversationColumns:
        """Returns the conversations."""
        places = zip(stored.places.tolist(), stored.cases, strict=True)
        found = [replace(self._found[place], case=case) for place, case in places]
        scores = _scores(self._connection, self._app, found, rulers)
        return columns_of(collect(scores, map(record_summary, found)))


def _app(connection: Connection, app: str | None) -> str:
    apps = sorted({name for name, _ in runs_with_rows(connection)})
    if app is None and len(apps) == 1:
        return apps[0]
    if app is None or app not in apps:
        known = ", ".join(apps[:_SHOWN]) or "none"
        wrong = "--store: --app names the app" if app is None else f"--app {app}: has no result"
        raise ConfigError(f"{wrong} (apps with results: {known})")
    return app


def _compared_side(
    connection: Connection, app: str, name: str, source: str, stored: RecordColumns, reader: SideReader
) -> ComparedSide:
    rulers: dict[str, set[str]] = {}
    conversations = reader.conversations(stored, rulers)
    side = ComparedSide(name, source, conversations, stored.run_ids, rulers=rulers)
    _add_errors(connection, app, side)
    conversations.criteria = dict(sorted(conversations.criteria.items()))
    return side


def record_summary(own: ComparedRecord) -> Summary:
    """Returns the verdict of a conversation."""
    verdict = own.verdict if own.verdict in ("PASS", "FAIL") else None
    return Summary(
        own.conversation,
        own.version or None,
        verdict,
        own.why or None,
        own.case or None,
        case_digest=own.digest,
        sampled_out=(json.loads(own.row).get("sampled_out") or ()) if own.row else (),
    )


def _add_errors(connection: Connection, app: str, side: ComparedSide) -> None:
    """Adds what criteria raised."""
    runs = [f"{own}/evaluationRuns/{run}" for own in (app, LOCAL_APP) for run in side.run_ids]
    is_theirs = FAILURES.c.evaluation_run.in_(runs)
    raised = select(FAILURES.c.content).where(
        is_theirs, FAILURES.c.stage == "score", FAILURES.c.criterion != ""
    )
    rows: list[FailureRow] = [json.loads(content) for content in connection.execute(raised).scalars()]
    for row in rows:
        row["conversation_id"] = key_text(row["conversation_id"] or "")
        row["app_version"] = key_text(version_id(row["app_version"] or "")) or None
    if rows:
        side.conversations.add_errors(raised_errors(rows))
    own = {*side.conversations.app_versions.used()}
    side.errors = dict(Counter(row["criterion"] or "" for row in rows if row["app_version"] in own))


def _scores(
    connection: Connection, app: str, stored: Sequence[ComparedRecord], rulers: dict[str, set[str]]
) -> Iterator[ScoreRow]:
    """Returns the scores of conversations in their order, and adds to `rulers` which judges gave them."""
    scored: dict[str, list[ScoreRow]] = {}
    for own, score in record_scores(connection, app, stored):
        scored.setdefault(own.name, []).append(score)
        ruler = ruler_of(score)
        if ruler is not None:
            rulers.setdefault(score["criterion"], set()).add(ruler)
    return chain.from_iterable(scored.get(own.name, ()) for own in stored)


def _content(conversation: str, text: str) -> JsonObject:
    """Returns the JSON of a score; raises StoreError if it was damaged."""
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict) or not found.keys() >= _SCORE_CONTENT:
        raise StoreError(f"a score of {conversation} cannot be read; turnwise store check names it")
    return found


def record_scores(
    connection: Connection, app: str, stored: Sequence[ComparedRecord]
) -> Iterator[tuple[ComparedRecord, ScoreRow]]:
    """Yields conversations with their scores, those of one in a row."""
    wanted = {own.name: own for own in stored}
    columns = (*(SCORES.c[name] for name in ("conversation", *_SCORE_COLUMNS, "content")),)
    order = SCORES.c.conversation, SCORES.c.criterion, SCORES.c.turn_index.is_(None), SCORES.c.turn_index
    runs = {f"{app}/evaluationRuns/{own.run}" for own in stored}
    is_theirs = SCORES.c.app == app, SCORES.c.evaluation_run.in_(sorted(runs))
    query = select(*columns).where(*is_theirs).order_by(*order)
    found = connection.execute(query, execution_options={"yield_per": _AT_ONCE})
    for conversation, *values, content in found:
        own = wanted.get(conversation)
        if own is None:
            continue
        place = {"conversation_id": own.conversation, "app_version": own.version or None, "run_id": own.run}
        row = dict(zip(_SCORE_COLUMNS, values, strict=True)) | _content(conversation, content) | place
        yield own, cast(ScoreRow, {**row, "eval_id": own.case or None})


# Reads from a store what the runs of a side lost, those without any result included.


def add_losses(
    connection: Connection,
    app: str,
    side: ComparedSide,
    stored: RecordColumns,
    *,
    version: str | None,
    is_b: bool,
) -> None:
    """Adds to a side what its runs lost.

    The runs of an app version are also those whose results others have superseded, and those that lost
    everything; a loss counts there unless the conversation (where none is known: all that is compared) was
    measured later. A run without any result whose records name no version counts for B.

    Args:
        connection: Connection to the store.
        app: Name of the app.
        side: The side.
        stored: Its conversations.
        version: Id of the app version that the side is; None: it is a run.
        is_b: Whether it is the candidate.
    """
    all_lost = list(lost_records(connection, app, is_counted(FAILURES)))
    versions = _versions_of_runs(connection, app) if all_lost else {}
    counts = Counter[str]()
    if all_lost:
        is_of_version = _of_version(stored, versions, version, is_b)
        for lost in all_lost:
            if lost.run in side.run_ids or is_of_version(lost):
                counts[lost.run] += lost.number
    side.lost = counts.total()
    for run in sorted(counts.keys() - {*side.run_ids}):
        nothing = "no result that is compared" if run in versions else "no result"
        what = f"{counts[run]} records or conversations"
        side.notes.append(f"{side.name}: run {run} has {nothing}, and lost {what}")
    side.run_ids = sorted({*side.run_ids, *counts})
    _note_replaced(connection, app, side)


def _of_version(
    stored: RecordColumns, versions: Mapping[str, set[str]], version: str | None, is_b: bool
) -> Callable[[RunLoss], bool]:
    """Returns whether what other runs lost counts for an app version; see `add_losses`."""
    measured: dict[str, int] = {}
    for name, nanos in zip(stored.conversations, stored.nanos.tolist(), strict=True):
        measured[name] = max(nanos, measured.get(name, 0))
    oldest = min(measured.values(), default=0)

    def is_of_version(lost: RunLoss) -> bool:
        if version is None:
            return False
        if lost.version:
            return lost.version == version and lost.nanos >= measured.get(lost.conversation, 0)
        own = versions.get(lost.run)
        return lost.nanos >= oldest and (is_b if own is None else version in own)

    return is_of_version


def add_unread(
    connection: Connection,
    app: str,
    side: ComparedSide,
    stored: RecordColumns,
    *,
    version: str | None,
    is_b: bool,
) -> None:
    """Adds the runs of a side that have not ended or broke off, and are not compared.

    They are problems of the side unless all that is compared was measured later. A run that has not ended or
    broke off counts for B whatever versions its rows are of: it may have been to measure B, too.

    Args:
        connection: Connection to the store.
        app: Name of the app.
        side: The side.
        stored: Its conversations.
        version: Id of the app version that the side is; None: it is a run.
        is_b: Whether it is the candidate.
    """
    oldest = stored.oldest
    run = key_text(side.name.rsplit("/", 1)[-1]) if version is None else None
    problems = []
    for state in unread_runs(connection, app, version, run, and_unknown=is_b and version is not None):
        told = f"{state.told()}, and is not compared" if not state.is_counted else state.told()
        if state.unread_nanos < oldest:
            side.notes.append(f"{side.name}: {told}")
            continue
        problems.append(told)
        side.run_ids = sorted({*side.run_ids, state.run_id})
    side.problems = [*side.problems, *problems]


def add_deleted(
    connection: Connection, app: str, side: ComparedSide, stored: RecordColumns, *, version: str | None
) -> None:
    """Adds as problems of a side how many rows of its runs were deleted since they ended.

    Older results may stand in their place. Of an app version, runs that ended before all that is compared
    was measured do not count.

    Args:
        connection: Connection to the store.
        app: Name of the app.
        side: The side.
        stored: Its conversations.
        version: Id of the app version that the side is; None: it is a run.
    """
    oldest = stored.oldest
    columns = RUNS.c.run_id, RUNS.c.app_versions, RUNS.c.end_nanos, RUNS.c.content
    query = select(*columns).where(
        RUNS.c.app == app, RUNS.c.content.contains(f'"{REMOVED}"', autoescape=True)
    )
    for run, versions, end, content in connection.execute(query.order_by(RUNS.c.run_id)):
        may_be_of_version = versions is None or version in json.loads(versions)
        is_of_version = may_be_of_version and (end or oldest) >= oldest
        if not (run in side.run_ids if version is None else is_of_version):
            continue
        removed = (read_document(content) or {}).get(REMOVED, {})
        what = "results" if removed.get("results") else "conversations"
        side.problems = [
            *side.problems,
            f"{removed.get(what, '?')} {what} of run {run} were deleted since it ended",
        ]
        side.run_ids = sorted({*side.run_ids, run})


def _versions_of_runs(connection: Connection, app: str) -> dict[str, set[str]]:
    """Returns id of a run with results -> ids of its app versions."""
    found: dict[str, set[str]] = {}
    for table in (RESULTS, CONVERSATIONS):
        query = select(table.c.evaluation_run, table.c.version_id).where(table.c.app == app).distinct()
        for run, version in connection.execute(query):
            found.setdefault(run.rsplit("/", 1)[-1], set()).add(version)
    return found


def _note_replaced(connection: Connection, app: str, side: ComparedSide) -> None:
    """Notes what other results of the same run replaced."""
    runs = [f"{own}/evaluationRuns/{run}" for own in (app, LOCAL_APP) for run in side.run_ids]
    query = select(FAILURES.c.content).where(
        FAILURES.c.evaluation_run.in_(runs), FAILURES.c.error_type == REPLACED
    )
    for content in connection.execute(query).scalars():
        row = json.loads(content)
        side.notes.append(f"{side.name}: run {row['run_id']}: {row['message']}")
