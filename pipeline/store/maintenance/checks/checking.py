"""Says what is wrong with a store."""

from collections.abc import Callable, Iterator

from sqlalchemy import Connection, select

from turnwise.pipeline.store.database import CURRENT, EXECUTIONS
from turnwise.pipeline.store.engine import Store
from turnwise.pipeline.store.pruning import orphans
from turnwise.pipeline.store.removed_rows import REMOVED, read_document
from turnwise.pipeline.store.run_counts import count_rows
from turnwise.pipeline.store.states import COMPLETED
from turnwise.pipeline.store.urls import StoreError

_COUNTS = ("conversations", "results", "passes", "fails", "undecided", "failures", "lost")


def problems_of(store: Store) -> dict[str, list[str]]:
    """Returns check -> what it found, one line each; a check that cannot be made says so."""
    checks = {"pages of the file": _pages} if store.is_sqlite else {}
    checks |= {"rows and their runs": _lost_rows, "counts of runs": _counts}
    return {name: _found(store, check) for name, check in checks.items()}


def _found(store: Store, check: Callable[[Connection], Iterator[str]]) -> list[str]:
    try:
        return store.read(lambda connection: list(check(connection)))
    except (StoreError, ValueError, TypeError, LookupError) as error:  # damage can put anything into a row
        return [f"could not be checked: {error}"]


def _pages(connection: Connection) -> Iterator[str]:
    for line in connection.exec_driver_sql("PRAGMA integrity_check").scalars():
        if line != "ok":
            yield str(line)
    for table, _row, parent, _key in connection.exec_driver_sql("PRAGMA foreign_key_check"):
        yield f"a row of {table} refers to a row of {parent} that is not there"


def _lost_rows(connection: Connection) -> Iterator[str]:
    for run, count in orphans(connection).items():
        yield f"{run}: {count} rows belong to no execution; turnwise store prune deletes them"
    is_it = EXECUTIONS.c.name == CURRENT.c.name, EXECUTIONS.c.execution == CURRENT.c.execution
    lost = select(CURRENT.c.name).where(~select(EXECUTIONS.c.name).where(*is_it).exists())
    for name in connection.execute(lost).scalars():
        yield f"{name}: the execution that is read is not there"


def _counts(connection: Connection) -> Iterator[str]:
    """Yields which complete executions have other numbers of rows than they counted at their end."""
    complete = select(EXECUTIONS).where(EXECUTIONS.c.state == COMPLETED)
    for row in connection.execute(complete).mappings().all():
        document = read_document(row["content"])
        if document is None:
            yield f"{row['name']}: its run.json cannot be read"
            continue
        there = count_rows(connection, row["name"], row["execution"])
        for name in _COUNTS:
            total = there[name] + document.get(REMOVED, {}).get(name, 0)
            if row[name] != total:
                yield f"{row['name']}: counted {row[name]} {name}, but {total} are there or were deleted"
