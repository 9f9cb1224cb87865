"""Writes executions of runs: their rows, how they stand, and which one of a run is read.

Each execution of a run writes rows of its own. The first one is read at once; a later one when it is
complete, instead of the earlier one, in one transaction.
"""

import json
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, Delete, Table, delete, select, tuple_, update

from turnwise.pipeline.store.database import (
    CURRENT,
    DELETED_TABLES,
    EXECUTIONS,
    RUNS,
    insert_new,
    key_text,
    plain_text,
    upsert,
)
from turnwise.pipeline.store.engine import Store
from turnwise.pipeline.store.naming import run_name
from turnwise.pipeline.store.only_app import place_in_only_app
from turnwise.pipeline.store.run_counts import count_rows
from turnwise.pipeline.store.states import COMPLETED, RUNNING, Broken
from turnwise.pipeline.store.urls import StoreError
from turnwise.schemas.jsonio import JsonObject, dump_json

_PIECE = 2_000
_SECOND = 10**9
RECENT_NANOS = 24 * 3600 * _SECOND
"""A run that wrote within this time, and has not ended, may still write."""


class Execution(NamedTuple):
    """One execution of a run.

    Attributes:
        run_id: Id of the run.
        number: Its start, nanoseconds since 1970: the same for all of its workers, another one for each
            execution of the run.
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
    """Writes rows of an execution; each replaces one of the same name, if it wrote one.

    Args:
        connection: Connection to the store.
        execution: The execution.
        table: One of `RUN_TABLES`.
        rows: The rows, without their execution.
        nanos: Time of writing, nanoseconds since 1970.
    """
    _add_places(connection, execution, {(row["evaluation_run"], row["app"]) for row in rows}, nanos)
    upsert(connection, table, [{**row, "execution": execution.number} for row in rows])


def touch(connection: Connection, execution: Execution, nanos: int) -> None:
    """Writes when an execution that runs wrote last, at most once a second."""
    is_running = *_is_own(execution), EXECUTIONS.c.state == RUNNING
    is_due = EXECUTIONS.c.update_nanos < nanos - _SECOND
    connection.execute(update(EXECUTIONS).where(*is_running, is_due).values(update_nanos=nanos))


def complete(connection: Connection, execution: Execution, document: JsonObject, nanos: int) -> None:
    """Writes how an execution ended, and lets it be read instead of earlier ones, in every app of those.

    Args:
        connection: Connection to the store.
        execution: The execution.
        document: Its `run.json`.
        nanos: Its end, nanoseconds since 1970.

    Raises:
        StoreError: A later execution of the run was complete before.
    """
    places = {(execution.home, execution.app), *_earlier_places(connection, execution)}
    _add_places(connection, execution, places, nanos)
    place_in_only_app(connection, execution.home, execution.number)
    ended = {"state": COMPLETED, "error": None, "update_nanos": nanos, "end_nanos": nanos}
    for name in own_names(connection, execution):
        counts = count_rows(connection, name, execution.number)
        is_it = EXECUTIONS.c.name == name, EXECUTIONS.c.execution == execution.number
        connection.execute(
            update(EXECUTIONS).where(*is_it).values(**ended, **stated_columns(document), **counts)
        )
        _make_current(connection, name, execution)


def break_off(connection: Connection, execution: Execution, state: Broken, why: str, nanos: int) -> None:
    """Writes that an execution broke off; one that is complete stays so: it alone has rows to read.

    Args:
        connection: Connection to the store.
        execution: The execution.
        state: ERROR or CANCELLED.
        why: The reason, in one line.
        nanos: Its end, nanoseconds since 1970.
    """
    is_it = *_is_own(execution), EXECUTIONS.c.state == RUNNING
    ended = {"state": state, "error": plain_text(why), "update_nanos": nanos, "end_nanos": nanos}
    connection.execute(update(EXECUTIONS).where(*is_it).values(**ended))


def delete_superseded(store: Store, execution: Execution) -> None:
    """Deletes the rows of earlier executions of a complete one, which nothing reads."""
    names = store.read(lambda connection: own_names(connection, execution))
    for name in names:
        delete_rows(store, name, execution.number)
    old = delete(EXECUTIONS).where(EXECUTIONS.c.name.in_(names), EXECUTIONS.c.execution < execution.number)
    store.write(lambda connection: connection.execute(old))


def delete_unread(store: Store, execution: Execution) -> None:
    """Deletes the rows of an execution of a run of which a later one is read: nothing will read them."""
    names = store.read(lambda connection: own_names(connection, execution))
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
    connection.execute(delete(CURRENT).where(CURRENT.c.name == name))
    connection.execute(delete(EXECUTIONS).where(EXECUTIONS.c.name == name))


def delete_forgotten(store: Store, name: str) -> None:
    """Deletes the rows of a run that was forgotten; those of an execution that began since stay."""
    known = select(EXECUTIONS.c.execution).where(EXECUTIONS.c.name == name)
    for table in DELETED_TABLES:
        _delete_rows(store, table, name, table.c.execution.not_in(known))


def delete_rows(store: Store, name: str, before: int) -> None:
    """Deletes rows of a run that nothing reads.

    Args:
        store: The store.
        name: Name of the run.
        before: Delete the rows of executions with a smaller number.
    """
    for table in DELETED_TABLES:
        _delete_rows(store, table, name, table.c.execution < before)


def _delete_rows(store: Store, table: Table, name: str, is_old: ColumnElement[bool]) -> None:
    """Deletes rows in small pieces."""
    keys = select(table.c.name, table.c.execution).where(table.c.evaluation_run == name, is_old)
    piece = tuple_(table.c.name, table.c.execution).in_(keys.limit(_PIECE))
    _delete_all(store, delete(table).where(piece))


def _delete_all(store: Store, piece: Delete) -> None:
    while store.write(lambda connection: connection.execute(piece).rowcount):
        pass


def own_names(connection: Connection, execution: Execution) -> list[str]:
    """Returns the names of an execution's run: one in every app that it wrote rows of or was complete in."""
    query = select(EXECUTIONS.c.name).where(*_is_own(execution)).order_by(EXECUTIONS.c.name)
    return list(connection.execute(query).scalars())


def _is_own(execution: Execution) -> tuple[ColumnElement[bool], ...]:
    return EXECUTIONS.c.home == execution.home, EXECUTIONS.c.execution == execution.number


def _earlier_places(connection: Connection, execution: Execution) -> list[tuple[str, str]]:
    """Returns name and app of the run where an earlier execution of it is read."""
    is_earlier = RUNS.c.home == execution.home, RUNS.c.execution < execution.number
    query = select(RUNS.c.name, RUNS.c.app).where(*is_earlier)
    return [(row.name, row.app) for row in connection.execute(query)]


def _make_current(connection: Connection, name: str, execution: Execution) -> None:
    is_earlier = CURRENT.c.name == name, CURRENT.c.execution <= execution.number
    changed = connection.execute(update(CURRENT).where(*is_earlier).values(execution=execution.number))
    if not changed.rowcount:
        raise StoreError(
            f"run {execution.run_id} was started again later, and that execution is complete: "
            "the store keeps nothing of this one"
        )


def _add_places(
    connection: Connection, execution: Execution, places: Iterable[tuple[str, str]], nanos: int
) -> None:
    """Adds a row of the run in each app that has none yet: a copy of the one in its default app."""
    names = set(own_names(connection, execution))
    new = sorted({place for place in places if place[0] not in names})
    if not new:
        return
    query = select(EXECUTIONS).where(*_is_own(execution), EXECUTIONS.c.name == execution.home)
    begun = connection.execute(query).mappings().first()
    known = dict(begun) if begun else _new(execution, nanos)
    insert_new(connection, EXECUTIONS, [{**known, "name": name, "app": app} for name, app in new])
    insert_new(connection, CURRENT, [{"name": name, "execution": execution.number} for name, _ in new])


def _new(execution: Execution, nanos: int) -> JsonObject:
    empty: JsonObject = dict.fromkeys(EXECUTIONS.c.keys())
    return empty | {
        "name": execution.home,
        "execution": execution.number,
        "home": execution.home,
        "app": execution.app,
        "run_id": key_text(execution.run_id),
        "state": RUNNING,
        "day": execution.day,
        "create_nanos": execution.number,
        "update_nanos": nanos,
    }


def stated_columns(document: JsonObject) -> JsonObject:
    """Returns the columns that `run.json` states, as far as it is known."""
    judge = document["judge"]
    return {
        "config_digest": _config_digest(document["config"]),
        "judge": judge["backend"],
        "judge_model": judge.get("model"),
        "cost": judge.get("cost"),
        "criteria": dump_json(sorted(document["criteria"])).decode(),
        "exit_status": document.get("exit_status"),
        "content": dump_json(document).decode(),
    }


def _config_digest(config: JsonObject) -> str:
    """Returns 16 hexadecimal digits that are the same for equal configs; paths of caches do not count."""
    counted = {**config, "judge": {**config["judge"], "cache": None}}
    return sha256(json.dumps(counted, sort_keys=True).encode()).hexdigest()[:16]
