"""Finds what a store holds otherwise than an export."""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from sqlalchemy import Connection, Table, func, select, tuple_

from turnwise.pipeline.store.tables import (
    EVALUATION_DATASETS,
    EVALUATION_EXPECTATIONS,
    EVALUATIONS,
    EXECUTIONS,
    HISTORY,
)
from turnwise.schemas.config import ConfigError
from turnwise.schemas.values import JsonObject

_PIECE = 500
_CHANGED_BY_ERASURE = ("content", "update_nanos")
_NAMED = (EVALUATIONS, EVALUATION_DATASETS, EVALUATION_EXPECTATIONS)

Rows = Callable[[Table], Iterator[JsonObject]]


def pieces(rows: Iterator[JsonObject]) -> Iterator[list[JsonObject]]:
    """Yields lists of some rows."""
    while piece := list(islice(rows, _PIECE)):
        yield piece


def check_conflicts(connection: Connection, rows_of: Rows) -> None:
    """Raises ConfigError if a store holds another evaluation, revision, dataset, expectation or run."""
    for table in (*_NAMED, HISTORY, EXECUTIONS):
        for piece in pieces(rows_of(table)):
            _check_equal(connection, table, piece)
            if table in _NAMED:
                _check_display_names(connection, table, piece)
            if table is EXECUTIONS:
                _check_executions(connection, piece)
    _check_revisions(connection, rows_of(HISTORY))


def _check_equal(connection: Connection, table: Table, piece: list[JsonObject]) -> None:
    there = stored_rows(connection, table, piece)
    for row in piece:
        own = there.get(key_of(table, row))
        if own is not None and _compared(table, own) != _compared(table, row):
            raise ConfigError(f"{_shown(table, row)}: the store holds another one of that name")


def _check_display_names(connection: Connection, table: Table, piece: list[JsonObject]) -> None:
    keys = [(row["app"], row["display_name"]) for row in piece]
    names = {key: row["name"] for key, row in zip(keys, piece, strict=True)}
    columns = table.c.app, table.c.display_name
    for app, title, name in connection.execute(
        select(*columns, table.c.name).where(tuple_(*columns).in_(keys))
    ):
        if names[app, title] != name:
            raise ConfigError(f"{names[app, title]}: the store has {name} of the same display name")


def _check_executions(connection: Connection, rows: list[JsonObject]) -> None:
    """Checks that the store has no execution of a run that the export does not have beside it."""
    keys = {key_of(EXECUTIONS, row) for row in rows}
    names = {row["name"] for row in rows}
    query = select(EXECUTIONS.c.name, EXECUTIONS.c.execution).where(EXECUTIONS.c.name.in_(names))
    for own in connection.execute(query):
        if tuple(own) not in keys:
            raise ConfigError(f"{own.name}: the store holds another execution of that run")


def _check_revisions(connection: Connection, history: Iterator[JsonObject]) -> None:
    """Checks that what the store has of a history ends where the export's does."""
    newest: dict[str, int] = {}
    for row in history:
        newest[row["evaluation"]] = max(row["revision"], newest.get(row["evaluation"], 0))
    query = select(HISTORY.c.evaluation, func.max(HISTORY.c.revision)).group_by(HISTORY.c.evaluation)
    for name, revision in connection.execute(query):
        if newest.get(name, revision) != revision:
            raise ConfigError(f"{name}: the store holds revision {revision}, the export {newest[name]}")


def key_of(table: Table, row: JsonObject) -> tuple[Any, ...]:
    """Returns the primary key of a row."""
    return tuple(row[column.name] for column in table.primary_key)


def stored_rows(
    connection: Connection, table: Table, rows: list[JsonObject]
) -> dict[tuple[Any, ...], JsonObject]:
    """Returns key -> row of those that are there."""
    keys = [key_of(table, row) for row in rows]
    query = select(table).where(tuple_(*table.primary_key).in_(keys))
    return {key_of(table, dict(row)): dict(row) for row in connection.execute(query).mappings()}


def _compared(table: Table, row: JsonObject) -> JsonObject:
    left_out = _CHANGED_BY_ERASURE if table is EXECUTIONS else ()
    return {name: value for name, value in row.items() if name not in left_out}


def _shown(table: Table, row: JsonObject) -> str:
    return str(row["evaluation" if table is HISTORY else "name"])
