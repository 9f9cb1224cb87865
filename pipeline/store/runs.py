"""The runs of a store: how they stand, how their executions write, count and delete rows, and reject."""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import ColumnElement, Connection, RowMapping, Table, select

from turnwise.pipeline.store.database import (
    CONVERSATION_ROWS,
    CONVERSATIONS,
    CURRENT,
    DELETED_TABLES,
    EVALUATIONS,
    EXECUTIONS,
    FAILURE_ROWS,
    FAILURES,
    HISTORY,
    LOCAL_APP,
    METRIC_ROWS,
    RESULT_ROWS,
    RESULTS,
    RUNS,
    SCORE_ROWS,
    Store,
    insert_new,
    key_text,
    plain_text,
    run_name,
    upsert,
)
from turnwise.pipeline.store.urls import COMPLETED, RUNNING, Broken, StoreError
from turnwise.schemas.ces.names import version_id
from turnwise.schemas.jsonio import JsonObject, dump_json, listed
from turnwise.schemas.proto.scalars import nanos_timestamp
from turnwise.schemas.run import scoring_settings, settings_digest
from turnwise.schemas.score import IncompleteReadError


class RunState(NamedTuple):
    """How a run stands, and the number of the execution that is read; times are nanoseconds since 1970.

    Attributes:
        create_nanos: Its start; 0: not known.
        update_nanos: When something of it was last written.
        home: Name of the run in its default app.
        repeat_state: State of a later execution, which is not read; None: there is none.
        repeat_nanos: When something of that was last written.
    """

    name: str
    run_id: str
    execution: int
    state: str
    create_nanos: int
    update_nanos: int
    home: str
    repeat_state: str | None
    repeat_nanos: int | None

    @classmethod
    def of(cls, row: RowMapping) -> "RunState":
        """Returns the state of a row of `evaluation_runs`."""
        return cls(*(row[name] for name in cls._fields))

    @property
    def is_counted(self) -> bool:
        """Whether figures and comparisons speak of it."""
        return self.state == COMPLETED

    @property
    def unread_nanos(self) -> int:
        """When something that is not read was last written; 0: all of it is read."""
        return max(0 if self.is_counted else self.update_nanos, self.repeat_nanos or 0)

    def sentence(self) -> str:
        """Returns what is said of a run that does not count, or of a later execution that is not read."""
        if not self.is_counted:
            return f"run {self.run_id} {_standing(self.state, self.create_nanos, self.update_nanos)}"
        standing = _standing(self.repeat_state or "", 0, self.repeat_nanos or 0)
        return f"run {self.run_id} was repeated, and the repetition {standing}: the earlier execution is read"


def _standing(state: str, start: int, end: int) -> str:
    if state != RUNNING:
        return f"broke off ({state} at {nanos_timestamp(end)})"
    since = f" since {nanos_timestamp(start)}" if start else f", it wrote last at {nanos_timestamp(end)}"
    return f"has not ended (RUNNING{since})"


def is_counted(table: Table) -> ColumnElement[bool]:
    """Returns the condition that a row of a table of runs, or its view, is read and of a run that counts."""
    is_its = EXECUTIONS.c.name == table.c.evaluation_run, EXECUTIONS.c.execution == table.c.execution
    is_read = CURRENT.c.name == EXECUTIONS.c.name, CURRENT.c.execution == EXECUTIONS.c.execution
    # PostgreSQL's planner makes a join of EXISTS and IN, sorts it, and reads all rows for the newest one.
    return select(EXECUTIONS.c.state == COMPLETED).where(*is_its, *is_read).correlate(table).scalar_subquery()


def run_states(connection: Connection, apps: Collection[str]) -> dict[str, RunState]:
    """Returns name -> state of the runs of apps."""
    columns = (RUNS.c[name] for name in RunState._fields)
    query = select(*columns).where(RUNS.c.app.in_(list(apps))).order_by(RUNS.c.name)
    return {row.name: RunState(*row) for row in connection.execute(query)}


def unknown_app(connection: Connection, app: str) -> str | None:
    """Returns that a store holds nothing of an app, but of others, which are named; None: it is not so."""
    held = sorted(connection.execute(sa.union(select(RUNS.c.app), select(EVALUATIONS.c.app))).scalars())
    is_case = sa.func.substr(HISTORY.c.evaluation, 1, len(app) + 1) == f"{app}/"  # all may be deleted
    if not held or app in held or connection.execute(select(sa.exists().where(is_case))).scalar():
        return None
    return f"{app} was not found; apps of the store: {listed(held)}"


def runs_with_rows(connection: Connection) -> list[tuple[str, str]]:
    """Returns app and name of the runs that have results or conversations."""
    runs_of = (table.c.evaluation_run for table in (RESULTS, CONVERSATIONS))
    has_rows = (sa.exists().where(run == RUNS.c.name) for run in runs_of)
    query = select(RUNS.c.app, RUNS.c.name).where(sa.or_(*has_rows)).order_by(RUNS.c.name)
    return [(row.app, row.name) for row in connection.execute(query)]


def unread_runs(
    connection: Connection, app: str, version: str | None, run: str | None, *, and_unknown: bool = False
) -> list[RunState]:
    """Returns the runs of an app that are not read as they ran last: of a version, or one of an id.

    With `and_unknown` also those that may have been to measure the version: those that do not count, whatever
    versions their rows are of, and those without any row, of which not even the app is known.
    """
    unread = []
    for state in run_states(connection, {app, LOCAL_APP}).values():
        if not state.unread_nanos:
            continue
        is_here = state.name.startswith(f"{app}/evaluationRuns/")
        is_wanted = is_here and (state.run_id == run or (and_unknown and not state.is_counted))
        if is_here and version is not None and not is_wanted:
            is_wanted = _has_rows(connection, evaluation_run=state.name, version_id=version)
        if and_unknown and not is_wanted:
            without_rows = select(RUNS.c.name).where(RUNS.c.name == state.name, is_empty())
            is_wanted = connection.execute(without_rows).first() is not None
        unread += [state] if is_wanted else []
    return unread


def is_empty() -> ColumnElement[bool]:
    """Returns the condition that no execution of a run has results, conversations or scores, in any app."""
    names = select(EXECUTIONS.c.name).where(EXECUTIONS.c.home == RUNS.c.home).correlate(RUNS)
    tables = (RESULT_ROWS, CONVERSATION_ROWS, SCORE_ROWS)
    return ~sa.or_(*(sa.exists().where(table.c.evaluation_run.in_(names)) for table in tables))


# Each execution of a run writes rows of its own. The first one is read at once; a later one when it is
# complete, instead of the earlier one, in one transaction.

_PIECE = 2_000
_SECOND = 10**9
RECENT_NANOS = 24 * 3600 * _SECOND
"""A run that wrote within this time, and has not ended, may still write."""


class Execution(NamedTuple):
    """One execution of a run.

    Attributes:
        number: Its start, nanoseconds since 1970: the same for all of its workers.
        app: App of what names none.
        day: Day of the run, as ISO text.
    """

    run_id: str
    number: int
    app: str
    day: str

    @property
    def home(self) -> str:
        """Name of the run in the app of what names none."""
        return run_key(self.app, self.run_id)


def run_key(app: str, run_id: str) -> str:
    """Returns the name of a run as the columns of all tables have it."""
    return key_text(run_name(app, run_id))


def begin(connection: Connection, execution: Execution, document: JsonObject, nanos: int) -> None:
    """Writes that an execution runs; `document` is what is known of its `run.json`."""
    stated = stated_columns(document) | {"create_nanos": execution.number}
    upsert(connection, EXECUTIONS, [_new(execution, nanos) | stated])
    insert_new(connection, CURRENT, [{"name": execution.home, "execution": execution.number}])


def write_rows(
    connection: Connection, execution: Execution, table: Table, rows: Sequence[JsonObject], nanos: int
) -> None:
    """Writes rows of an execution; each replaces one of the same name, if it wrote one."""
    _add_places(connection, execution, {(row["evaluation_run"], row["app"]) for row in rows}, nanos)
    upsert(connection, table, [{**row, "execution": execution.number} for row in rows])


def touch(connection: Connection, execution: Execution, nanos: int) -> None:
    """Writes when an execution that runs wrote last, at most once a second."""
    is_running = *_is_own(execution), EXECUTIONS.c.state == RUNNING
    is_due = EXECUTIONS.c.update_nanos < nanos - _SECOND
    connection.execute(sa.update(EXECUTIONS).where(*is_running, is_due).values(update_nanos=nanos))


def complete(connection: Connection, execution: Execution, document: JsonObject, nanos: int) -> None:
    """Writes how an execution ended, and lets it be read instead of earlier ones, in every app of those.

    Raises StoreError if a later execution of the run was complete before.
    """
    was_read = RUNS.c.home == execution.home, RUNS.c.execution < execution.number
    earlier = connection.execute(select(RUNS.c.name, RUNS.c.app).where(*was_read))
    places = {(execution.home, execution.app), *((row.name, row.app) for row in earlier)}
    _add_places(connection, execution, places, nanos)
    # What names no app, metrics and failures, moves to the app that all conversations and results are of.
    with_apps = select(EXECUTIONS.c.name, EXECUTIONS.c.app).where(*_is_own(execution))
    apps = dict(connection.execute(with_apps).all())
    used = [run for run in apps if _has_rows(connection, evaluation_run=run, execution=execution.number)]
    if len(used) == 1 and execution.home in apps and used != [execution.home]:
        for table in (METRIC_ROWS, FAILURE_ROWS):
            moved_name = sa.func.replace(table.c.name, f"{execution.app}/", f"{apps[used[0]]}/")
            moved = {"app": apps[used[0]], "evaluation_run": used[0], "name": moved_name}
            is_unnamed = _rows_of(table, execution.home, execution.number)
            connection.execute(sa.update(table).where(*is_unnamed).values(moved))
    ended = {"state": COMPLETED, "error": None, "update_nanos": nanos, "end_nanos": nanos}
    for name in own_names(connection, execution):
        counts = count_rows(connection, name, execution.number)
        is_it = EXECUTIONS.c.name == name, EXECUTIONS.c.execution == execution.number
        stated = ended | stated_columns(document) | counts
        connection.execute(sa.update(EXECUTIONS).where(*is_it).values(**stated))
        is_earlier = CURRENT.c.name == name, CURRENT.c.execution <= execution.number
        changed = connection.execute(sa.update(CURRENT).where(*is_earlier).values(execution=execution.number))
        if not changed.rowcount:
            raise StoreError(
                f"run {execution.run_id} was started again later, and that execution is complete: "
                "the store keeps nothing of this one"
            )


def break_off(connection: Connection, execution: Execution, state: Broken, reason: str, nanos: int) -> None:
    """Writes that an execution broke off; one that is complete stays so: it alone has rows to read."""
    is_it = *_is_own(execution), EXECUTIONS.c.state == RUNNING
    ended = {"state": state, "error": plain_text(reason), "update_nanos": nanos, "end_nanos": nanos}
    connection.execute(sa.update(EXECUTIONS).where(*is_it).values(**ended))


def delete_superseded(store: Store, execution: Execution) -> None:
    """Deletes the rows of earlier executions of a complete one, which nothing reads."""
    names = store.read(lambda connection: own_names(connection, execution))
    for name in names:
        for table in DELETED_TABLES:
            _delete_rows(store, table, name, table.c.execution < execution.number)
    old = sa.delete(EXECUTIONS).where(EXECUTIONS.c.name.in_(names), EXECUTIONS.c.execution < execution.number)
    store.write(lambda connection: connection.execute(old))


def delete_unread(store: Store, execution: Execution) -> None:
    """Deletes the rows of an execution of a run of which a later one is read: nothing will read them."""
    # In all apps of the run: the later one may have deleted that this one ran, while it still wrote rows.
    names = select(EXECUTIONS.c.name).where(EXECUTIONS.c.home == execution.home)
    later = select(CURRENT.c.name).where(CURRENT.c.name.in_(names), CURRENT.c.execution > execution.number)
    for name in store.read(lambda connection: list(connection.execute(later).scalars())):
        for table in DELETED_TABLES:
            _delete_rows(store, table, name, table.c.execution == execution.number)


def lock_executions(connection: Connection) -> None:
    """Lets no execution begin, write or end until the transaction ends, as SQLite always does."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"LOCK TABLE {EXECUTIONS.name} IN SHARE ROW EXCLUSIVE MODE")


def runs_since(connection: Connection, name: str, nanos: int) -> bool:
    """Returns whether an execution of a run, in any app, is RUNNING and wrote after a time."""
    homes = select(EXECUTIONS.c.home).where(EXECUTIONS.c.name == name)
    is_live = EXECUTIONS.c.state == RUNNING, EXECUTIONS.c.update_nanos > nanos
    query = select(EXECUTIONS.c.name).where(EXECUTIONS.c.home.in_(homes), *is_live).limit(1)
    return connection.execute(query).first() is not None


def forget_run(connection: Connection, name: str) -> None:
    """Removes a run, so that nothing reads its rows."""
    connection.execute(sa.delete(CURRENT).where(CURRENT.c.name == name))
    connection.execute(sa.delete(EXECUTIONS).where(EXECUTIONS.c.name == name))


def delete_forgotten(store: Store, name: str) -> None:
    """Deletes the rows of a run that was forgotten; those of an execution that began since stay."""
    known = select(EXECUTIONS.c.execution).where(EXECUTIONS.c.name == name)
    for table in DELETED_TABLES:
        _delete_rows(store, table, name, table.c.execution.not_in(known))


def _delete_rows(store: Store, table: Table, name: str, is_old: ColumnElement[bool]) -> None:
    keys = select(table.c.name, table.c.execution).where(table.c.evaluation_run == name, is_old)
    piece = sa.tuple_(table.c.name, table.c.execution).in_(keys.limit(_PIECE))
    while store.write(lambda connection: connection.execute(sa.delete(table).where(piece)).rowcount):
        pass


def own_names(connection: Connection, execution: Execution) -> list[str]:
    """Returns the names of an execution's run: one in every app that it wrote rows of or was complete in."""
    query = select(EXECUTIONS.c.name).where(*_is_own(execution)).order_by(EXECUTIONS.c.name)
    return list(connection.execute(query).scalars())


def _is_own(execution: Execution) -> tuple[ColumnElement[bool], ...]:
    return EXECUTIONS.c.home == execution.home, EXECUTIONS.c.execution == execution.number


def _add_places(
    connection: Connection, execution: Execution, places: Iterable[tuple[str, str]], nanos: int
) -> None:
    """Adds a row of the run in each app that has none yet: a copy of the one in its default app."""
    names = set(own_names(connection, execution))
    new = sorted({run_and_app for run_and_app in places if run_and_app[0] not in names})
    if not new:
        return
    query = select(EXECUTIONS).where(*_is_own(execution), EXECUTIONS.c.name == execution.home)
    begun = connection.execute(query).mappings().first()
    known = dict(begun) if begun else _new(execution, nanos)
    insert_new(connection, EXECUTIONS, [{**known, "name": name, "app": app} for name, app in new])
    insert_new(connection, CURRENT, [{"name": name, "execution": execution.number} for name, _ in new])


def _new(execution: Execution, nanos: int) -> JsonObject:
    empty: JsonObject = dict.fromkeys(EXECUTIONS.c.keys())
    names = {"name": execution.home, "home": execution.home, "run_id": key_text(execution.run_id)}
    times = {"execution": execution.number, "create_nanos": execution.number, "update_nanos": nanos}
    return empty | names | times | {"app": execution.app, "state": RUNNING, "day": execution.day}


def stated_columns(document: JsonObject) -> JsonObject:
    """Returns the columns that `run.json` states, as far as it is known."""
    judge, config = document["judge"], document["config"]
    return {
        "config_digest": settings_digest(scoring_settings(config, document["criteria"], judge)),
        "judge": judge["backend"],
        "judge_model": judge.get("model"),
        "cost": judge.get("cost"),
        "criteria": dump_json([*document["criteria"]]).decode(),
        "exit_status": document.get("exit_status"),
        "content": dump_json(document).decode(),
    }


def is_current(connection: Connection, execution: Execution) -> bool:
    """Returns whether an execution is the one of its run that is read."""
    query = select(CURRENT.c.execution).where(CURRENT.c.name == execution.home)
    return connection.execute(query).scalar() == execution.number


def count_written(connection: Connection, execution: Execution, *tables: Table) -> int:
    """Returns the number of rows of an execution in some tables, in all apps."""
    names, number = own_names(connection, execution), execution.number
    is_its = ((t, t.c.evaluation_run.in_(names), t.c.execution == number) for t in tables)
    return sum(row_count(connection, *conditions) for conditions in is_its)


def row_count(connection: Connection, table: Table, *conditions: ColumnElement[bool]) -> int:
    """Returns the number of rows of a table that meet all conditions."""
    return int(connection.execute(select(sa.func.count()).select_from(table).where(*conditions)).scalar_one())


# Counts the rows of one execution of a run.

LOSING = ("read", "parse", "parse_case", "assemble", "match", "score")
"""Stages at which a failure without a criterion is a rejected record, case or conversation."""
REPLACED = "ReplacedResult"
"""Error type of the row that says how many results of a run others of the same run replaced."""
_FINDING = "check"
_BY_STATUS = {"PASS": "passes", "FAIL": "fails"}


def count_rows(connection: Connection, run: str, execution: int) -> JsonObject:
    """Returns the counts and app versions of an execution in one app, by column of `run_executions`."""
    columns = RESULT_ROWS.c.version_id, RESULT_ROWS.c.evaluation_status
    is_its = _rows_of(RESULT_ROWS, run, execution)
    results = select(*columns, sa.func.count()).where(*is_its).group_by(*columns)
    counts = Counter[str]()
    versions = set()
    for version, status, count in connection.execute(results):
        versions.add(version)
        counts[_BY_STATUS.get(status, "no_verdict")] += count
    failed, conversations = (_rows_of(table, run, execution) for table in (FAILURE_ROWS, CONVERSATION_ROWS))
    is_loss, replaced = _losses(FAILURE_ROWS)
    losses = select(replaced.label("told"), sa.func.count()).where(*failed, is_loss).group_by("told")
    return {
        "results": counts.total(),
        **{name: counts[name] for name in ("passes", "fails", "no_verdict")},
        "app_versions": json.dumps(sorted(versions), ensure_ascii=False),
        "conversations": row_count(connection, CONVERSATION_ROWS, *conversations),
        "failures": row_count(connection, FAILURE_ROWS, *failed, FAILURE_ROWS.c.stage != _FINDING),
        "rejected": sum(_lost(text) * count for text, count in connection.execute(losses)),
    }


def _rows_of(table: Table, run: str, execution: int) -> tuple[ColumnElement[bool], ...]:
    return table.c.evaluation_run == run, table.c.execution == execution


def _has_rows(connection: Connection, **stated: Any) -> bool:
    """Returns whether a result or conversation has the stated values in its columns."""
    tables = (RESULT_ROWS, CONVERSATION_ROWS)
    has = (sa.exists().where(*(table.c[name] == value for name, value in stated.items())) for table in tables)
    return bool(connection.execute(select(sa.or_(*has))).scalar())


def counts_of_runs(
    connection: Connection, app: str, rows: Sequence[RowMapping]
) -> Iterator[tuple[RowMapping, JsonObject, int]]:
    """Yields runs of an app with their counts (of their end, else of their rows) and what they rejected."""
    rejected = rejected_of_runs(connection, app, [row["name"] for row in rows])
    for row in rows:
        is_known = row["results"] is not None
        counts = dict(row) if is_known else count_rows(connection, row["name"], row["execution"])
        yield row, counts, rejected[row["name"].rsplit("/", 1)[-1]]


def count_by_evaluation(connection: Connection, run: str, execution: int) -> dict[str, dict[str, int]]:
    """Returns evaluation -> counts of its results by verdict, by name in an EvaluationRunSummary."""
    columns = RESULT_ROWS.c.evaluation, RESULT_ROWS.c.evaluation_status
    query = select(*columns, sa.func.count()).where(*_rows_of(RESULT_ROWS, run, execution)).group_by(*columns)
    counts: dict[str, dict[str, int]] = {}
    for evaluation, status, count in connection.execute(query):
        name = {"PASS": "passedCount", "FAIL": "failedCount"}.get(status)
        counts.setdefault(evaluation, {}).update({name: count} if name else {})
    return counts


def _losses(table: Table) -> tuple[ColumnElement[bool], ColumnElement[str]]:
    """Returns which failures are a loss, of a record, case or conversation, or of results; and a text of it.

    The text is the JSON that says how many results were replaced; "": one is lost.
    """
    is_replaced = table.c.error_type == REPLACED
    is_loss = sa.or_(table.c.stage.in_(LOSING) & (table.c.criterion == ""), is_replaced)
    return is_loss, sa.case((is_replaced, table.c.content), else_="")


def _lost(text: str) -> int:
    return int(json.loads(text)["replaced"]) if text else 1


# Notes in the document of an execution how many rows, which its counts count, were deleted since its end.

REMOVED = "removed_rows"
"""Key of the document: column of `run_executions` -> number of rows."""

_KINDS = {"config": dict, REMOVED: dict, "to_read": list}


def read_document(text: str | None) -> JsonObject | None:
    """Returns the document of an execution, or another JSON object; None: it cannot be read, or is none."""
    try:
        document = json.loads(text or "")
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    return document if all(isinstance(document.get(k, v()), v) for k, v in _KINDS.items()) else None


def note_removed(connection: Connection, deleted: Mapping[Table, ColumnElement[bool]]) -> None:
    """Adds to the documents of executions, if these can be read, how many of their rows are deleted."""
    removed: dict[tuple[str, int], Counter[str]] = {}
    for table in (CONVERSATION_ROWS, RESULT_ROWS):
        status = [RESULT_ROWS.c.evaluation_status] if table is RESULT_ROWS else []
        columns = table.c.evaluation_run, table.c.execution, *status
        query = select(sa.func.count(), *columns).where(deleted[table]).group_by(*columns)
        for count, run, execution, *verdicts in connection.execute(query):
            names = ("results", _BY_STATUS.get(verdicts[0], "no_verdict")) if verdicts else ("conversations",)
            removed.setdefault((run, execution), Counter()).update(dict.fromkeys(names, count))
    for (run, execution), counts in removed.items():
        is_it = EXECUTIONS.c.name == run, EXECUTIONS.c.execution == execution
        document = read_document(connection.execute(select(EXECUTIONS.c.content).where(*is_it)).scalar())
        if document is not None:
            total = Counter(document.get(REMOVED, {})) + counts
            content = dump_json({**document, REMOVED: dict(sorted(total.items()))}).decode()
            connection.execute(sa.update(EXECUTIONS).where(*is_it).values(content=content))


# Reads the records and conversations that runs rejected.


class RunLoss(NamedTuple):
    """A rejected record, case or conversation, or results that others of the same run replaced: their number.

    The ids of conversation and app version are "" if they are not known, `nanos` is the time of writing;
    `is_cut`: an input broke off there, so that an unknown number of records is missing.
    """

    run: str
    conversation: str
    version: str
    nanos: int
    number: int = 1
    is_cut: bool = False


def rejected_records(connection: Connection, app: str, *conditions: ColumnElement[bool]) -> Iterator[RunLoss]:
    """Yields what an app's runs rejected; of what names no app, that of runs that are not of others alone."""
    columns = ("app", "evaluation_run", "conversation_id", "app_version", "update_nanos")
    broke_off = FAILURES.c.error_type == IncompleteReadError.__name__
    is_loss, replaced = _losses(FAILURES)
    query = select(*(FAILURES.c[name] for name in columns), replaced, broke_off)
    # The names that the runs of the app have in their default app, where what names no app is.
    homes = select(EXECUTIONS.c.home).where(EXECUTIONS.c.app == app)
    is_near = sa.or_(FAILURES.c.app.in_((app, LOCAL_APP)), FAILURES.c.evaluation_run.in_(homes))
    rows: Sequence[Any] = connection.execute(query.where(is_loss, is_near, *conditions)).all()
    apps: dict[str, set[str]] = {}
    if any(row.app != app for row in rows):
        for row_app, run in runs_with_rows(connection):
            apps.setdefault(run.rsplit("/", 1)[-1], set()).add(row_app)
    for row_app, run, conversation, version, nanos, content, is_cut in rows:
        id_of_version, run_id = key_text(version_id(version)), run.rsplit("/", 1)[-1]
        rejected = RunLoss(run_id, conversation, id_of_version, nanos, _lost(content), bool(is_cut))
        if row_app == app or app in apps.get(rejected.run, {app}):
            yield rejected


def rejected_of_runs(
    connection: Connection, app: str, runs: Collection[str], version: str | None = None
) -> Counter[str]:
    """Returns end of the name of a run -> how many records it rejected; `version`: that may be of it."""
    names = [run_key(home, run.rsplit("/", 1)[-1]) for run in runs for home in (app, LOCAL_APP)]
    homes = select(EXECUTIONS.c.home).where(EXECUTIONS.c.app == app, EXECUTIONS.c.name.in_(list(runs)))
    is_theirs = sa.or_(FAILURES.c.evaluation_run.in_(names), FAILURES.c.evaluation_run.in_(homes))
    numbers = Counter[str]()
    for rejected in rejected_records(connection, app, is_theirs):
        if version is None or rejected.version in (version, ""):
            numbers[rejected.run] += rejected.number
    if version is None:  # what they counted when failures were there that are deleted now
        counted = select(RUNS.c.name, RUNS.c.rejected).where(RUNS.c.name.in_(list(runs)), RUNS.c.rejected > 0)
        for name, number in connection.execute(counted):
            run = name.rsplit("/", 1)[-1]
            numbers[run] = max(numbers[run], number)
    return numbers


def last_run(connection: Connection, app: str) -> str | None:
    """Returns the name of the run that was written last in an app, or None; all may be rejected."""
    newest = CONVERSATIONS.c.update_nanos.desc(), CONVERSATIONS.c.name.desc()
    query = select(CONVERSATIONS.c.evaluation_run, CONVERSATIONS.c.update_nanos)
    last_row = connection.execute(query.where(CONVERSATIONS.c.app == app).order_by(*newest).limit(1)).first()
    run, nanos = last_row or (None, -1)
    if rejected := list(rejected_records(connection, app, FAILURES.c.update_nanos > nanos)):
        last = max(rejected, key=lambda loss: loss.nanos)
        return f"{app}/evaluationRuns/{last.run}"
    return run
