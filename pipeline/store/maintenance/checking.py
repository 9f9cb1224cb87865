"""Checks a store."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from sqlalchemy import Connection, and_, func, inspect, select, text

from turnwise.pipeline.store.maintenance.age import DAY_NANOS
from turnwise.pipeline.store.maintenance.digests import returned
from turnwise.pipeline.store.maintenance.pruning import old_runs, orphans
from turnwise.pipeline.store.maintenance.retention import read_retention
from turnwise.pipeline.store.migrations import MIGRATIONS, stored_version
from turnwise.pipeline.store.states import RUNNING
from turnwise.pipeline.store.tables import CURRENT, EVALUATIONS, EXECUTIONS, HISTORY, METADATA, TAGS, VIEWS

_VIEWS = {*VIEWS.tables, "latest_scores", "latest_results", "metrics_by_app_version"}
_TRIGGERS = {
    "sqlite": {f"evaluation_history_{event}" for event in ("insert", "update", "delete")},
    "postgresql": {"evaluation_history_refuse"},
}
_TRIGGER_NAMES = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'trigger'",
    "postgresql": "SELECT tgname FROM pg_trigger WHERE tgenabled <> 'D' "
    "AND tgrelid = 'evaluation_history'::regclass",
}


class Check(NamedTuple):
    """What is checked.

    Attributes:
        name: Its name.
        problems: Yields what is wrong at a time (nanoseconds since 1970), one line each.
    """

    name: str
    problems: Callable[[Connection, int], Iterator[str]]


def _version(connection: Connection, _: int) -> Iterator[str]:
    version = stored_version(connection)
    if version != len(MIGRATIONS):
        yield f"the store has version {version}, not {len(MIGRATIONS)}"


def _parts(connection: Connection, _: int) -> Iterator[str]:
    found = inspect(connection)
    dialect = connection.dialect.name
    triggers = set(connection.execute(text(_TRIGGER_NAMES[dialect])).scalars())
    for kind, wanted, there in (
        ("table", set(METADATA.tables), set(found.get_table_names())),
        ("view", _VIEWS, set(found.get_view_names())),
        ("trigger", _TRIGGERS[dialect], triggers),
    ):
        yield from (f"the {kind} {name} is missing" for name in sorted(wanted - there))


def _pages(connection: Connection, _: int) -> Iterator[str]:
    for line in connection.exec_driver_sql("PRAGMA integrity_check").scalars():
        if line != "ok":
            yield str(line)


def _references(connection: Connection, _: int) -> Iterator[str]:
    has_evaluation = select(EVALUATIONS.c.name).where(EVALUATIONS.c.name == TAGS.c.evaluation).exists()
    tags = connection.execute(select(func.count()).select_from(TAGS).where(~has_evaluation)).scalar_one()
    if tags:
        yield f"{tags} tags have no evaluation"
    is_newest = and_(HISTORY.c.evaluation == EVALUATIONS.c.name, HISTORY.c.revision == EVALUATIONS.c.revision)
    same = select(HISTORY.c.etag).where(is_newest, HISTORY.c.content == EVALUATIONS.c.content).exists()
    for name in connection.execute(select(EVALUATIONS.c.name).where(~same)).scalars():
        yield f"{name}: its newest revision is not in the history, or differs"


def _rows(connection: Connection, _: int) -> Iterator[str]:
    for run, count in orphans(connection).items():
        yield f"{run}: {count} rows belong to no execution; turnwise store prune deletes them"
    is_it = EXECUTIONS.c.name == CURRENT.c.name, EXECUTIONS.c.execution == CURRENT.c.execution
    lost = select(CURRENT.c.name).where(~select(EXECUTIONS.c.name).where(*is_it).exists())
    for name in connection.execute(lost).scalars():
        yield f"{name}: the execution that is read is not there"
    own = select(CURRENT.c.name).where(CURRENT.c.name == EXECUTIONS.c.name).exists()
    for name in connection.execute(select(EXECUTIONS.c.name).where(~own).distinct()).scalars():
        yield f"{name}: no execution of it is read; an import may have broken off: repeat it"


def _runs(connection: Connection, now: int) -> Iterator[str]:
    is_dead = EXECUTIONS.c.state == RUNNING, EXECUTIONS.c.update_nanos < now - DAY_NANOS
    for name in connection.execute(select(EXECUTIONS.c.name).where(*is_dead)).scalars():
        yield f"{name}: is RUNNING and wrote nothing for 24 hours; it may have been killed"


def _retained(connection: Connection, now: int) -> Iterator[str]:
    rule = read_retention(connection)
    runs = [] if rule is None else old_runs(connection, rule.pruning("", now))
    if runs:
        yield f"{len(runs)} runs are older than the retention; turnwise store prune deletes them"


def _erased(connection: Connection, _: int) -> Iterator[str]:
    found = returned(connection)
    if found:
        yield f"{len(found)} erased conversations are in the store again: " + ", ".join(
            sorted(key.conversation_id for key in found)[:3]
        )


_CHECKS = (
    Check("version", _version),
    Check("tables, views and triggers", _parts),
    Check("evaluations and their history", _references),
    Check("rows and executions", _rows),
    Check("runs in progress", _runs),
    Check("retention", _retained),
    Check("erasures", _erased),
)


def checks_of(is_sqlite: bool) -> tuple[Check, ...]:
    """Returns the checks of a store."""
    return (Check("pages of the file", _pages), *_CHECKS) if is_sqlite else _CHECKS
