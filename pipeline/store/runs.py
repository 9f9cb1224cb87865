"""Reads how the runs of a store stand."""

from collections.abc import Collection
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, Table, exists, or_, select

from turnwise.pipeline.store.database import (
    CONVERSATION_ROWS,
    CONVERSATIONS,
    CURRENT,
    EXECUTIONS,
    RESULT_ROWS,
    RESULTS,
    RUNS,
    key_text,
)
from turnwise.pipeline.store.executions import run_key
from turnwise.pipeline.store.naming import LOCAL_APP
from turnwise.pipeline.store.states import COMPLETED, RUNNING
from turnwise.schemas.proto.scalars import nanos_timestamp


class RunState(NamedTuple):
    """How a run stands.

    Attributes:
        name: Name of the run.
        run_id: Its id.
        execution: Number of the execution that is read.
        state: RUNNING, COMPLETED, ERROR or CANCELLED.
        create_nanos: Its start, nanoseconds since 1970; 0: not known.
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

    @property
    def is_counted(self) -> bool:
        """Whether figures and comparisons speak of it."""
        return self.state == COMPLETED

    @property
    def unread_nanos(self) -> int:
        """When something that is not read was last written; 0: all of it is read."""
        own = 0 if self.is_counted else self.update_nanos
        return max(own, self.repeat_nanos or 0)

    def told(self) -> str:
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
    counts = select(EXECUTIONS.c.state == COMPLETED).where(*is_its, *is_read)
    return counts.correlate(table).scalar_subquery()


def run_states(connection: Connection, apps: Collection[str]) -> dict[str, RunState]:
    """Returns name -> state of the runs of apps."""
    columns = (RUNS.c[name] for name in RunState._fields)
    query = select(*columns).where(RUNS.c.app.in_(list(apps))).order_by(RUNS.c.name)
    return {row.name: RunState(*row) for row in connection.execute(query)}


def run_state(connection: Connection, name: str) -> str:
    """Returns the state of a run, "" if there is none; of one that lost all records, they may name no app."""
    names = key_text(name), run_key(LOCAL_APP, name.rsplit("/", 1)[-1])
    found = dict(connection.execute(select(RUNS.c.name, RUNS.c.state).where(RUNS.c.name.in_(names))).all())
    return next((found[name] for name in names if name in found), "")


def runs_with_rows(connection: Connection) -> list[tuple[str, str]]:
    """Returns app and name of the runs that have results or conversations."""
    has_rows = (exists().where(table.c.evaluation_run == RUNS.c.name) for table in (RESULTS, CONVERSATIONS))
    query = select(RUNS.c.app, RUNS.c.name).where(or_(*has_rows)).order_by(RUNS.c.name)
    return [(row.app, row.name) for row in connection.execute(query)]


def unread_runs(
    connection: Connection, app: str, version: str | None, run: str | None, *, and_unknown: bool = False
) -> list[RunState]:
    """Returns the runs of an app that are not read as they ran last.

    Args:
        connection: Connection to the store.
        app: Name of the app.
        version: Id of the app version that they have rows of; None: none in particular.
        run: Id of the run; None: none in particular.
        and_unknown: Also runs that may have been to measure the version: those that do not count, whatever
            versions their rows are of, and those without any row, of which not even the app is known.
    """
    found = []
    for state in run_states(connection, {app, LOCAL_APP}).values():
        if not state.unread_nanos:
            continue
        is_here = state.name.startswith(f"{app}/evaluationRuns/")
        is_named = is_here and state.run_id == run
        is_of_version = is_here and version is not None and _has_rows(connection, state.name, version)
        is_unknown = is_here and not state.is_counted
        if is_named or is_of_version or (and_unknown and (is_unknown or _is_empty(connection, state.name))):
            found.append(state)
    return found


def _has_rows(connection: Connection, name: str, version: str) -> bool:
    """Returns whether an execution of a run has results or conversations of an app version."""
    tables = RESULT_ROWS, CONVERSATION_ROWS
    has = (exists().where(own.c.evaluation_run == name, own.c.version_id == version) for own in tables)
    return bool(connection.execute(select(or_(*has))).scalar())


def _is_empty(connection: Connection, name: str) -> bool:
    """Returns whether no execution of a run has results or conversations, in any app."""
    return connection.execute(select(RUNS.c.name).where(RUNS.c.name == name, is_empty())).first() is not None


def is_empty() -> ColumnElement[bool]:
    """Returns the condition that no execution of a run has results or conversations, in any app."""
    names = select(EXECUTIONS.c.name).where(EXECUTIONS.c.home == RUNS.c.home).correlate(RUNS)
    has = (exists().where(own.c.evaluation_run.in_(names)) for own in (RESULT_ROWS, CONVERSATION_ROWS))
    return ~or_(*has)


RunsStamp = tuple[RunState, ...]
"""Changes when what figures and comparisons say changes."""


def runs_stamp(connection: Connection, apps: Collection[str]) -> RunsStamp:
    """Returns the stamp of apps."""
    return tuple(run_states(connection, apps).values())
