"""Reads how the runs of a store stand."""

from collections.abc import Collection
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, Table, exists, or_, select

from turnwise.pipeline.store.executions import run_key
from turnwise.pipeline.store.naming import LOCAL_APP
from turnwise.pipeline.store.states import COUNTED, RUNNING, UNKNOWN
from turnwise.pipeline.store.tables import CONVERSATIONS, RESULTS, RUNS, key_text
from turnwise.schemas.proto.scalars import nanos_timestamp


class RunState(NamedTuple):
    """How a run stands.

    Attributes:
        name: Name of the run.
        run_id: Its id.
        execution: Number of the execution that is read.
        state: RUNNING, COMPLETED, ERROR, CANCELLED or UNKNOWN.
        create_nanos: Its start, nanoseconds since 1970; 0: not known.
        update_nanos: When something of it was last written.
    """

    name: str
    run_id: str
    execution: int
    state: str
    create_nanos: int
    update_nanos: int

    @property
    def is_counted(self) -> bool:
        """Whether figures and comparisons speak of it."""
        return self.state in COUNTED

    def told(self) -> str:
        """Returns what is said of a run that does not count."""
        if self.state == RUNNING:
            since = nanos_timestamp(self.create_nanos)
            return f"run {self.run_id} has not ended (RUNNING since {since})"
        return f"run {self.run_id} broke off ({self.state} at {nanos_timestamp(self.update_nanos)})"


def is_counted(table: Table) -> ColumnElement[bool]:
    """Returns the condition that a row of a table is of a run that counts."""
    return table.c.evaluation_run.in_(select(RUNS.c.name).where(RUNS.c.state.in_(COUNTED)))


def run_states(connection: Connection, apps: Collection[str]) -> dict[str, RunState]:
    """Returns name -> state of the runs of apps."""
    columns = (RUNS.c[name] for name in RunState._fields)
    query = select(*columns).where(RUNS.c.app.in_(list(apps))).order_by(RUNS.c.name)
    return {row.name: RunState(*row) for row in connection.execute(query)}


def run_state(connection: Connection, name: str) -> str:
    """Returns the state of a run; of one that lost all records, they may name no app."""
    names = key_text(name), run_key(LOCAL_APP, name.rsplit("/", 1)[-1])
    found = dict(connection.execute(select(RUNS.c.name, RUNS.c.state).where(RUNS.c.name.in_(names))).all())
    return next((found[name] for name in names if name in found), UNKNOWN)


def runs_with_rows(connection: Connection) -> list[tuple[str, str]]:
    """Returns app and name of the runs that have results or conversations."""
    has_rows = (exists().where(table.c.evaluation_run == RUNS.c.name) for table in (RESULTS, CONVERSATIONS))
    query = select(RUNS.c.app, RUNS.c.name).where(or_(*has_rows)).order_by(RUNS.c.name)
    return [(row.app, row.name) for row in connection.execute(query)]


def uncounted_runs(connection: Connection, app: str, version_or_run: str) -> list[RunState]:
    """Returns the runs of an app version (its id), or those of an id, that do not count."""
    found = []
    for state in run_states(connection, [app]).values():
        own = RESULTS.c.evaluation_run == state.name, RESULTS.c.version_id == version_or_run
        is_of = state.run_id == version_or_run
        if not state.is_counted and (is_of or connection.execute(select(exists().where(*own))).scalar()):
            found.append(state)
    return found


RunsStamp = tuple[RunState, ...]
"""Changes when what figures and comparisons say changes: rows of a run that counts do not change."""


def runs_stamp(connection: Connection, apps: Collection[str]) -> RunsStamp:
    """Returns the stamp of apps."""
    states = run_states(connection, apps).values()
    return tuple(own if own.state != RUNNING else own._replace(update_nanos=0) for own in states)
