"""Maintenance of a store: deletes runs, says what is wrong, lists runs, and copies a SQLite store."""

import json
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Connection, RowMapping, func, or_, select

from turnwise.pipeline.store.database import (
    CURRENT,
    DELETED_TABLES,
    EXECUTIONS,
    RUN_TABLES,
    RUNS,
    Store,
    key_text,
)
from turnwise.pipeline.store.lost import lost_of_runs
from turnwise.pipeline.store.runs import (
    RECENT_NANOS,
    REMOVED,
    count_rows,
    delete_forgotten,
    forget_run,
    lock_executions,
    read_document,
    runs_since,
)
from turnwise.pipeline.store.urls import COMPLETED, StoreError
from turnwise.schemas.config import ConfigError
from turnwise.schemas.proto.scalars import nanos_timestamp


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


# Says what is wrong with a store.

_CHECKING_COUNTS = ("conversations", "results", "passes", "fails", "undecided", "failures", "lost")


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
        for name in _CHECKING_COUNTS:
            total = there[name] + document.get(REMOVED, {}).get(name, 0)
            if row[name] != total:
                yield f"{row['name']}: counted {row[name]} {name}, but {total} are there or were deleted"


# Lists the runs of a store for a person.

_COUNTS = ("conversations", "results", "passes", "fails", "undecided", "failures")


class ListedRun(NamedTuple):
    """A run of an app, as `evaluation_runs` has it.

    Attributes:
        update_time: When something of it was last written.
        cost: Cost of the judge over all apps; None: not known.
    """

    name: str
    app: str
    run_id: str
    state: str
    day: str | None
    update_time: str
    app_versions: list[str]
    conversations: int
    results: int
    passes: int
    fails: int
    undecided: int
    failures: int
    lost: int
    cost: float | None
    exit_status: int | None
    error: str | None


def listed_runs(connection: Connection, app: str) -> list[ListedRun]:
    """Returns the runs of an app ("": of all apps), by app, the newest first."""
    query = select(RUNS).order_by(RUNS.c.app, RUNS.c.create_nanos.desc(), RUNS.c.name)
    query = query.where(RUNS.c.app == app) if app else query
    rows = connection.execute(query).mappings().all()
    found = []
    for own, of_app in groupby(rows, lambda row: row["app"]):
        of_own = list(of_app)
        lost = lost_of_runs(connection, own, [row["name"] for row in of_own])
        found += [_listed(connection, row, lost[row["name"].rsplit("/", 1)[-1]]) for row in of_own]
    return found


def _listed(connection: Connection, row: RowMapping, lost: int) -> ListedRun:
    # A run that has not ended has the counts of its rows as they are now.
    counts = row if row["results"] is not None else count_rows(connection, row["name"], row["execution"])
    return ListedRun(
        **{name: row[name] for name in ("name", "app", "run_id", "state", "cost", "exit_status", "error")},
        **{name: counts[name] for name in _COUNTS},
        lost=lost,
        day=row["day"],
        update_time=nanos_timestamp(row["update_nanos"]),
        app_versions=json.loads(counts["app_versions"]),
    )


def back_up(store: Store, path: str) -> int:
    """Writes a copy of a store as it is at one time; the file is there when it is whole and was checked.

    Returns:
        Its size in bytes.

    Raises:
        ConfigError: The file exists, or its directory does not.
        StoreError: The copy is damaged, or could not be made.
    """
    if Path(path).exists():
        raise ConfigError(f"{path}: exists already")
    if not Path(path).absolute().parent.is_dir():
        raise ConfigError(f"{path}: no such directory")
    partial = Path(f"{path}.part")
    partial.unlink(missing_ok=True)
    try:
        store.read(lambda connection: _copy(connection, partial))
        with open(partial, "rb") as file:
            os.fsync(file.fileno())
        # Unlike a renaming, a link does not replace what another process made meanwhile.
        os.link(partial, path)
    except FileExistsError:
        raise ConfigError(f"{path}: exists already") from None
    except sqlite3.Error as error:
        raise StoreError(f"{path}: {error}") from None
    finally:
        partial.unlink(missing_ok=True)
    return Path(path).stat().st_size


def _copy(connection: Connection, partial: Path) -> None:
    source = connection.connection.driver_connection
    assert isinstance(source, sqlite3.Connection)
    with closing(sqlite3.connect(partial)) as target:
        # All pages in one step: they are of one time, whatever is written meanwhile.
        source.backup(target)
        # A copy in one file, without those of the write-ahead log.
        target.execute("PRAGMA journal_mode = DELETE")
        found = target.execute("PRAGMA integrity_check").fetchone()[0]
    if found != "ok":
        raise StoreError(f"the copy is damaged: {found}")
