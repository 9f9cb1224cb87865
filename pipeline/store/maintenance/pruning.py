"""Deletes old runs, or all of their rows but the metrics."""

from functools import partial
from typing import NamedTuple

from sqlalchemy import Connection, and_, delete, func, select, update

from turnwise.pipeline.store.engine import Store
from turnwise.pipeline.store.executions import delete_forgotten, forget_run, lock_executions, runs_since
from turnwise.pipeline.store.lost import lost_of_runs
from turnwise.pipeline.store.maintenance.age import DAY_NANOS
from turnwise.pipeline.store.removed_rows import read_document
from turnwise.pipeline.store.run_counts import count_rows
from turnwise.pipeline.store.tables import (
    CURRENT,
    DELETED_TABLES,
    EXECUTIONS,
    METRIC_ROWS,
    PRUNED,
    RUN_TABLES,
    upsert,
)
from turnwise.schemas.jsonio import dump_json
from turnwise.schemas.values import JsonObject


class Pruning(NamedTuple):
    """What is to be deleted.

    Attributes:
        before: Runs that ended (or, if they did not, wrote last) before this time, nanoseconds since 1970.
        keep_metrics: Whether the row of a run and its metrics stay.
        actor: Who deletes.
        now: The time, nanoseconds since 1970.
    """

    before: int
    keep_metrics: bool
    actor: str
    now: int


class OldRun(NamedTuple):
    """A run that is to be pruned.

    Attributes:
        name: Name of the run in an app.
        state: State of the execution that wrote last.
        nanos: When it ended or wrote last.
    """

    name: str
    state: str
    nanos: int


def old_runs(connection: Connection, pruning: Pruning, name: str | None = None) -> list[OldRun]:
    """Returns the runs to prune, or one of them, the oldest first; one that may still be written is none."""
    ended = func.coalesce(EXECUTIONS.c.end_nanos, EXECUTIONS.c.update_nanos).label("nanos")
    query = select(EXECUTIONS.c.name, EXECUTIONS.c.home, EXECUTIONS.c.state, ended).order_by(ended)
    if name is not None:
        homes = select(EXECUTIONS.c.home).where(EXECUTIONS.c.name == name)
        query = query.where(EXECUTIONS.c.home.in_(homes))
    rows = connection.execute(query).all()
    newest = {row.home: row for row in rows}
    old = {row.name: newest[row.home] for row in rows if newest[row.home].nanos < pruning.before}
    done = _without_rows(connection) if pruning.keep_metrics else set()
    wanted = [run for run in old if run not in done and name in (None, run)]
    live = {run for run in wanted if runs_since(connection, run, pruning.now - DAY_NANOS)}
    found = (OldRun(run, old[run].state, old[run].nanos) for run in wanted if run not in live)
    # What names no app was lost in all apps of a run, and is in its home: that is the last of them.
    return sorted(found, key=lambda run: (run.nanos, run.name == old[run.name].home, run.name))


def pruned_runs(connection: Connection) -> set[str]:
    """Returns the runs that are read and of which only metrics are kept."""
    is_read = CURRENT.c.name == PRUNED.c.name, CURRENT.c.execution == PRUNED.c.execution
    return set(connection.execute(select(PRUNED.c.name).where(*is_read)).scalars())


def _without_rows(connection: Connection) -> set[str]:
    """Returns the pruned runs without the rows of a repetition that broke off."""
    is_other = EXECUTIONS.c.name == PRUNED.c.name, EXECUTIONS.c.execution != PRUNED.c.execution
    repeated = connection.execute(select(PRUNED.c.name).join(EXECUTIONS, and_(*is_other))).scalars()
    return pruned_runs(connection) - set(repeated)


def prune(store: Store, pruning: Pruning) -> list[OldRun]:
    """Prunes runs one after another, each in one step, and deletes rows that no run has; returns the runs."""
    done = []
    for run in store.read(lambda connection: old_runs(connection, pruning)):
        if store.write(partial(_prune, run=run, pruning=pruning)):
            delete_forgotten(store, run.name)
            done.append(run)
    delete_orphans(store)
    return done


def _prune(connection: Connection, run: OldRun, pruning: Pruning) -> bool:
    """Lets nothing read the rows of a run; returns False if it was written or deleted meanwhile."""
    lock_executions(connection)
    if run not in old_runs(connection, pruning, run.name):
        return False
    execution = connection.execute(select(CURRENT.c.execution).where(CURRENT.c.name == run.name)).scalar()
    if pruning.keep_metrics and execution is not None:
        _keep_metrics(connection, run.name, execution, pruning)
        return True
    forget_run(connection, run.name)
    return True


def _keep_metrics(connection: Connection, name: str, execution: int, pruning: Pruning) -> None:
    """Moves a run and its metrics to an execution number without other rows."""
    own, counts = execution + 1, _counts(connection, name, execution)
    others = EXECUTIONS.c.name == name, EXECUTIONS.c.execution != execution
    connection.execute(delete(EXECUTIONS).where(*others))
    content = connection.execute(select(EXECUTIONS.c.content).where(EXECUTIONS.c.name == name)).scalar()
    changed = update(EXECUTIONS).where(EXECUTIONS.c.name == name)
    connection.execute(changed.values(execution=own, content=_without_quotes(content), **counts))
    is_it = METRIC_ROWS.c.evaluation_run == name, METRIC_ROWS.c.execution == execution
    connection.execute(update(METRIC_ROWS).where(*is_it).values(execution=own))
    connection.execute(update(CURRENT).where(CURRENT.c.name == name).values(execution=own))
    row = {"name": name, "execution": own, "actor": pruning.actor, "nanos": pruning.now}
    upsert(connection, PRUNED, [row])


def _counts(connection: Connection, name: str, execution: int) -> JsonObject:
    """Returns the counts of a run that its rows, and those of its home, state no longer when it is pruned."""
    is_it = EXECUTIONS.c.name == name, EXECUTIONS.c.execution == execution
    app, results = connection.execute(select(EXECUTIONS.c.app, EXECUTIONS.c.results).where(*is_it)).one()
    counted = count_rows(connection, name, execution) if results is None else {}
    return counted | {"lost": lost_of_runs(connection, app, [name]).total()}


def _without_quotes(content: str | None) -> str | None:
    """Returns `run.json` without the conversations to read, which quote what was said; None: it is unread."""
    document = read_document(content)
    if document is None:
        return None
    return dump_json({name: value for name, value in document.items() if name != "to_read"}).decode()


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


def delete_orphans(store: Store) -> None:
    """Deletes rows that belong to no execution, which a killed deletion or an earlier version left."""
    for name in sorted(store.read(orphans)):
        delete_forgotten(store, name)
    own = EXECUTIONS.c.name == PRUNED.c.name, EXECUTIONS.c.execution == PRUNED.c.execution
    has_none = ~select(EXECUTIONS.c.name).where(*own).exists()
    store.write(lambda connection: connection.execute(delete(PRUNED).where(has_none)))


def count_rows_of(connection: Connection, runs: list[OldRun], keep_metrics: bool) -> dict[str, int]:
    """Returns table -> number of rows that pruning deletes."""
    tables = [table for table in RUN_TABLES if not (keep_metrics and table is METRIC_ROWS)]
    counts: dict[str, int] = {}
    for table in tables:
        each = (
            select(func.count()).select_from(table).where(table.c.evaluation_run == run.name) for run in runs
        )
        counts[table.name] = sum(connection.execute(query).scalar_one() for query in each)
    return counts
