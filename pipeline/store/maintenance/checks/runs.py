"""Compares runs with their rows."""

from collections.abc import Iterator

from sqlalchemy import ColumnElement, Connection, Table, and_, func, select

from turnwise.pipeline.store.maintenance.age import DAY_NANOS
from turnwise.pipeline.store.maintenance.checks.check import first_of
from turnwise.pipeline.store.maintenance.pruning import old_runs, orphans
from turnwise.pipeline.store.maintenance.retention import read_retention
from turnwise.pipeline.store.removed_rows import REMOVED, read_document
from turnwise.pipeline.store.run_counts import count_rows
from turnwise.pipeline.store.states import COMPLETED, RUNNING
from turnwise.pipeline.store.tables import (
    CONVERSATION_ROWS,
    CURRENT,
    EXECUTIONS,
    PRUNED,
    SCORE_ROWS,
)
from turnwise.schemas.config import ConfigError

_COUNTS = ("conversations", "results", "passes", "fails", "undecided", "failures", "lost")

_METRICS = "the execution of the metrics"


def execution_problems(connection: Connection, _: int) -> Iterator[str]:
    """Yields which rows have no execution, and which executions are not read."""
    for run, count in orphans(connection).items():
        yield f"{run}: {count} rows belong to no execution; turnwise store prune deletes them"
    for table, what in ((CURRENT, "the execution that is read"), (PRUNED, _METRICS)):
        is_it = EXECUTIONS.c.name == table.c.name, EXECUTIONS.c.execution == table.c.execution
        lost = select(table.c.name).where(~select(EXECUTIONS.c.name).where(*is_it).exists())
        for name in connection.execute(lost).scalars():
            mend = "; turnwise store prune deletes this mark" if table is PRUNED else ""
            yield f"{name}: {what} is not there{mend}"
    own = select(CURRENT.c.name).where(CURRENT.c.name == EXECUTIONS.c.name).exists()
    for name in connection.execute(select(EXECUTIONS.c.name).where(~own).distinct()).scalars():
        yield f"{name}: no execution of it is read; an import may have broken off: repeat it"
    yield from first_of(
        _without_conversation(connection, SCORE_ROWS, "conversation"), _UNHELD.format(SCORE_ROWS.name)
    )


_UNHELD = "rows of {} are of a conversation that is not there"


def _without_conversation(connection: Connection, table: Table, column: str) -> Iterator[str]:
    """Yields the rows of executions that are complete and have no row of their conversation."""
    conversation = CONVERSATION_ROWS
    is_own = and_(conversation.c.name == table.c[column], conversation.c.execution == table.c.execution)
    is_complete = and_(
        EXECUTIONS.c.name == table.c.evaluation_run,
        EXECUTIONS.c.execution == table.c.execution,
        EXECUTIONS.c.state == COMPLETED,
    )
    query = select(table.c.name).where(
        ~select(conversation.c.name).where(is_own).exists(),
        select(EXECUTIONS.c.name).where(is_complete).exists(),
    )
    yield from connection.execute(query).scalars()


def count_problems(connection: Connection, _: int) -> Iterator[str]:
    """Yields which complete executions have other numbers of rows than they counted at their end."""
    for row in connection.execute(select(EXECUTIONS).where(_has_counts())).mappings().all():
        found = count_rows(connection, row["name"], row["execution"])
        document = read_document(row["content"] or "{}")
        if document is None:
            continue  # said by the check of contents
        removed = document.get(REMOVED, {})
        for name in _COUNTS:
            total = found[name] + removed.get(name, 0)
            if row[name] != total:
                yield f"{row['name']}: counted {row[name]} {name}, but {total} are there or were deleted"


def _has_counts() -> ColumnElement[bool]:
    is_pruned = and_(PRUNED.c.name == EXECUTIONS.c.name, PRUNED.c.execution == EXECUTIONS.c.execution)
    return and_(EXECUTIONS.c.state == COMPLETED, ~select(PRUNED.c.name).where(is_pruned).exists())


def progress_problems(connection: Connection, now: int) -> Iterator[str]:
    """Yields which runs seem to have been killed."""
    is_dead = EXECUTIONS.c.state == RUNNING, EXECUTIONS.c.update_nanos < now - DAY_NANOS
    for name in connection.execute(select(EXECUTIONS.c.name).where(*is_dead)).scalars():
        yield f"{name}: is RUNNING and wrote nothing for 24 hours; it may have been killed"


def retention_problems(connection: Connection, now: int) -> Iterator[str]:
    """Yields whether runs are older than the retention, or it cannot be read."""
    try:
        rule = read_retention(connection)
    except ConfigError as error:
        yield str(error)
        return
    runs = [] if rule is None else old_runs(connection, rule.pruning("", now))
    if runs:
        yield f"{len(runs)} runs are older than the retention; turnwise store prune deletes them"


def uncounted(connection: Connection) -> int:
    """Returns the number of executions whose counts cannot be compared with rows."""
    query = select(func.count()).select_from(EXECUTIONS).where(~_has_counts())
    return int(connection.execute(query).scalar_one())
