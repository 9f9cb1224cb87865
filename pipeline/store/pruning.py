"""Deletes runs of a store: old ones, or one by its id."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from sqlalchemy import Connection, func, or_, select

from turnwise.pipeline.store.database import DELETED_TABLES, EXECUTIONS, RUN_TABLES, key_text
from turnwise.pipeline.store.engine import Store
from turnwise.pipeline.store.executions import (
    RECENT_NANOS,
    delete_forgotten,
    forget_run,
    lock_executions,
    runs_since,
)
from turnwise.schemas.config import ConfigError


class OldRun(NamedTuple):
    """A run that is to be deleted.

    Attributes:
        name: Name of the run in an app.
        state: State of the execution that wrote last.
        nanos: When it ended or wrote last.
    """

    name: str
    state: str
    nanos: int


def old_runs(connection: Connection, before: int, now: int, name: str | None = None) -> list[OldRun]:
    """Returns the runs that ended or, if they did not, wrote last before a time, the oldest first.

    Args:
        connection: Connection to the store.
        before: The time, nanoseconds since 1970.
        now: The time it is: a run that may still be written is not old.
        name: The only run to look at; None: all.
    """
    ended = func.coalesce(EXECUTIONS.c.end_nanos, EXECUTIONS.c.update_nanos).label("nanos")
    query = select(EXECUTIONS.c.name, EXECUTIONS.c.home, EXECUTIONS.c.state, ended).order_by(ended)
    if name is not None:
        homes = select(EXECUTIONS.c.home).where(EXECUTIONS.c.name == name)
        query = query.where(EXECUTIONS.c.home.in_(homes))
    rows = connection.execute(query).all()
    newest = {row.home: row for row in rows}
    old = {row.name: newest[row.home] for row in rows if newest[row.home].nanos < before}
    found = [OldRun(run, own.state, own.nanos) for run, own in old.items() if name in (None, run)]
    done = [run for run in found if not runs_since(connection, run.name, now - RECENT_NANOS)]
    return sorted(done, key=lambda run: (run.nanos, run.name))


def prune(store: Store, before: int, now: int) -> list[OldRun]:
    """Deletes old runs, each in one step, and rows that no run has; returns the runs. See `old_runs`."""
    done = []
    for run in store.read(lambda connection: old_runs(connection, before, now)):
        if store.write(partial(_forget, run=run, before=before, now=now)):
            delete_forgotten(store, run.name)
            done.append(run)
    # A deletion that was killed leaves rows that nothing reads.
    for name in sorted(store.read(orphans)):
        delete_forgotten(store, name)
    return done


def _forget(connection: Connection, run: OldRun, before: int, now: int) -> bool:
    """Lets nothing read the rows of a run; returns False if it was written or deleted meanwhile."""
    lock_executions(connection)
    if run not in old_runs(connection, before, now, run.name):
        return False
    forget_run(connection, run.name)
    return True


def find_run(connection: Connection, run: str, app: str) -> list[str]:
    """Returns the names of a run, one in each app that it wrote rows of.

    Args:
        connection: Connection to the store.
        run: Its id, or one of its names.
        app: An app that it wrote rows of; "": any.

    Raises:
        ConfigError: Several runs have that id.
    """
    is_it = or_(EXECUTIONS.c.name == run, EXECUTIONS.c.run_id == key_text(run))
    query = select(EXECUTIONS.c.home).where(is_it, *([EXECUTIONS.c.app == app] if app else []))
    homes = sorted(set(connection.execute(query).scalars()))
    if len(homes) > 1:
        raise ConfigError(f"{len(homes)} runs have the id {run}: give the name of one: {', '.join(homes)}")
    names = select(EXECUTIONS.c.name).where(EXECUTIONS.c.home.in_(homes)).distinct()
    return sorted(connection.execute(names).scalars())


def delete_run(store: Store, names: Sequence[str], now: int) -> None:
    """Deletes a run with all of its rows.

    Args:
        store: The store.
        names: What `find_run` returns.
        now: The time it is, nanoseconds since 1970.

    Raises:
        ConfigError: It may still be written.
    """

    def forget(connection: Connection) -> None:
        lock_executions(connection)
        for name in names:
            if runs_since(connection, name, now - RECENT_NANOS):
                raise ConfigError(f"{name}: has not ended, and wrote within the last 24 hours")
        for name in names:
            forget_run(connection, name)

    store.write(forget)
    for name in names:
        delete_forgotten(store, name)


def orphans(connection: Connection) -> dict[str, int]:
    """Returns run -> number of rows that belong to no execution of it."""
    found: dict[str, int] = {}
    for table in DELETED_TABLES:
        own = EXECUTIONS.c.name == table.c.evaluation_run, EXECUTIONS.c.execution == table.c.execution
        has_none = ~select(EXECUTIONS.c.name).where(*own).exists()
        query = select(table.c.evaluation_run, func.count()).where(has_none).group_by(table.c.evaluation_run)
        for run, count in connection.execute(query):
            found[run] = found.get(run, 0) + count
    return found


def count_rows_of(connection: Connection, runs: Sequence[str]) -> dict[str, int]:
    """Returns table -> number of the rows of runs, by name."""
    counts: dict[str, int] = {}
    for table in RUN_TABLES:
        query = select(func.count()).select_from(table)
        each = (connection.execute(query.where(table.c.evaluation_run == run)).scalar_one() for run in runs)
        counts[table.name] = sum(each)
    return counts
