"""Reads and writes long-running operations.

The server that works on an operation writes a time to it every few seconds. If it has not done so for a
minute, the operation has lapsed: it is done, with an error, and no server can go on with it.
"""

import json
from time import time_ns
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Row, delete, insert, or_, select, text, update

from turnwise.pipeline.store.executions import Execution, break_off
from turnwise.pipeline.store.states import Broken
from turnwise.pipeline.store.tables import OPERATIONS
from turnwise.schemas.jsonio import dump_json
from turnwise.schemas.values import JsonObject

CANCELLED, ABORTED = "CANCELLED", "ABORTED"
LAPSED = "the server that worked on it ended, or could not reach the store"
KEPT_DAYS = 30
"""Days for which an operation that is done is kept."""

_SECOND = 10**9
_LAPSE = 60 * _SECOND
_KEPT = KEPT_DAYS * 24 * 3600 * _SECOND
_CLOCK = "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT) * 1000"


class StoredOperation(NamedTuple):
    """An operation.

    Attributes:
        method: Name of the method that began it.
        run: The evaluation run that it writes; None: none. The number of its execution is `create_nanos`.
        metadata: What the method says of it.
        response: What the method answers; None: it is not done, or failed.
        error_status: Status of its error; None: it is not done, or succeeded.
        error: Message of the error.
        create_nanos: Nanoseconds since 1970, as all times.
        begin_nanos: None: it waits.
        end_nanos: None: it is not done.
        cancel_nanos: When it was asked to stop; None: it was not.
    """

    name: str
    app: str
    method: str
    run: str | None
    metadata: JsonObject
    response: JsonObject | None
    error_status: str | None
    error: str | None
    create_nanos: int
    begin_nanos: int | None
    update_nanos: int
    end_nanos: int | None
    cancel_nanos: int | None


COLUMNS = StoredOperation._fields


def database_nanos(connection: Connection) -> int:
    """Returns the time by a clock that all servers of a store share: that of the database, or the machine."""
    if connection.dialect.name == "sqlite":
        return time_ns()
    return int(connection.execute(text(_CLOCK)).scalar_one())


def stored_operation(row: Row[Any], now: int) -> StoredOperation:
    """Returns the operation of a row that has all of `COLUMNS`, by the time of the database."""
    fields: dict[str, Any] = {name: getattr(row, name) for name in COLUMNS}
    for name in ("metadata", "response"):
        fields[name] = fields[name] and json.loads(fields[name])
    if row.end_nanos is None and row.update_nanos < now - _LAPSE:
        fields |= {"end_nanos": row.update_nanos, "error_status": ABORTED, "error": LAPSED}
    return StoredOperation(**fields)


def add_operation(connection: Connection, operation: StoredOperation) -> None:
    """Adds an operation, and deletes those that have been done for long."""
    values = operation._asdict() | {"metadata": _text(operation.metadata), "response": None}
    place = operation.name.partition("/operations/")[0]
    connection.execute(insert(OPERATIONS).values(**values, place=place))
    old = database_nanos(connection) - _KEPT
    ended = or_(OPERATIONS.c.end_nanos < old, OPERATIONS.c.update_nanos < old)
    connection.execute(delete(OPERATIONS).where(ended))


def find_operation(connection: Connection, name: str) -> StoredOperation | None:
    """Returns an operation by its name, or None."""
    columns = [OPERATIONS.c[column] for column in COLUMNS]
    row = connection.execute(select(*columns).where(OPERATIONS.c.name == name)).first()
    return None if row is None else stored_operation(row, database_nanos(connection))


def is_going_on(now: int) -> ColumnElement[bool]:
    """Returns the condition that an operation is not done."""
    columns = OPERATIONS.c
    return columns.end_nanos.is_(None) & (columns.update_nanos >= now - _LAPSE)


def begin_operation(connection: Connection, name: str) -> bool:
    """Writes that the work on an operation begins; False: it is done, such as cancelled."""
    return _changed(connection, name, begin_nanos=database_nanos(connection))


def succeed(connection: Connection, name: str, response: JsonObject) -> bool:
    """Ends an operation with its response; False: it is done already."""
    return _changed(connection, name, response=_text(response), end_nanos=database_nanos(connection))


def fail(connection: Connection, name: str, status: str, why: str) -> bool:
    """Ends an operation with an error, and breaks off its run; False: it is done already."""
    now = database_nanos(connection)
    if not _changed(connection, name, error_status=status, error=why, end_nanos=now):
        return False
    _break_off(connection, name, "CANCELLED" if status == CANCELLED else "ERROR", why, now)
    return True


def _changed(connection: Connection, name: str, **values: Any) -> bool:
    is_it = OPERATIONS.c.name == name, is_going_on(database_nanos(connection))
    return bool(connection.execute(update(OPERATIONS).where(*is_it).values(**values)).rowcount)


def _break_off(connection: Connection, name: str, state: Broken, why: str, nanos: int) -> None:
    found = connection.execute(select(OPERATIONS).where(OPERATIONS.c.name == name)).one()
    if found.run is not None:
        run_id = found.run.rsplit("/", 1)[-1]
        execution = Execution(run_id, found.create_nanos, found.app, "")
        break_off(connection, execution, state, why, nanos)


def request_cancel(connection: Connection, name: str) -> None:
    """Asks an operation to stop; one that waits is ended, one that is done stays as it is."""
    now = database_nanos(connection)
    is_it = OPERATIONS.c.name == name, is_going_on(now), OPERATIONS.c.cancel_nanos.is_(None)
    connection.execute(update(OPERATIONS).where(*is_it).values(cancel_nanos=now))
    waits = select(OPERATIONS.c.name).where(OPERATIONS.c.name == name, OPERATIONS.c.begin_nanos.is_(None))
    if connection.execute(waits).first():
        fail(connection, name, CANCELLED, "it was cancelled before it began")


def forget_operation(connection: Connection, name: str) -> None:
    """Deletes an operation."""
    connection.execute(delete(OPERATIONS).where(OPERATIONS.c.name == name))


def beat(connection: Connection, names: list[str]) -> None:
    """Writes that a server works on operations; those that have lapsed stay so."""
    now = database_nanos(connection)
    is_own = OPERATIONS.c.name.in_(names), is_going_on(now)
    connection.execute(update(OPERATIONS).where(*is_own).values(update_nanos=now))


def lapsed_operations(connection: Connection) -> list[str]:
    """Returns the operations that have lapsed, and of which the store does not say so yet."""
    before = database_nanos(connection) - _LAPSE
    is_lapsed = OPERATIONS.c.end_nanos.is_(None), OPERATIONS.c.update_nanos < before
    return list(connection.execute(select(OPERATIONS.c.name).where(*is_lapsed)).scalars())


def end_lapsed(connection: Connection, names: list[str]) -> None:
    """Writes the end of operations that have lapsed, and breaks off their runs."""
    ended = {"end_nanos": OPERATIONS.c.update_nanos, "error_status": ABORTED, "error": LAPSED}
    for name in names:
        is_it = OPERATIONS.c.name == name, OPERATIONS.c.end_nanos.is_(None)
        connection.execute(update(OPERATIONS).where(*is_it).values(**ended))
        _break_off(connection, name, "ERROR", LAPSED, database_nanos(connection))


def _text(value: JsonObject) -> str:
    return dump_json(value).decode()
