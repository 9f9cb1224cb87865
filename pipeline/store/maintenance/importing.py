"""Reads an export into a store."""

from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import NamedTuple

from sqlalchemy import Connection, Table, delete, insert, select, tuple_

from turnwise.pipeline.store.engine import ConflictError, Store
from turnwise.pipeline.store.maintenance.digests import ErasedIds
from turnwise.pipeline.store.maintenance.export_file import ExportFile
from turnwise.pipeline.store.maintenance.unerased import UnerasedRows
from turnwise.pipeline.store.tables import (
    CURRENT,
    DATASET_MEMBERS,
    ERASURES,
    EVALUATION_DATASETS,
    EVALUATION_EXPECTATIONS,
    EVALUATIONS,
    EXECUTIONS,
    HISTORY,
    PRUNED,
    RUN_SUMMARIES,
    RUN_TABLES,
    TAGS,
)
from turnwise.schemas.config import ConfigError
from turnwise.schemas.values import JsonObject

_PIECE = 500
_LAST = (
    *(EVALUATIONS, TAGS, HISTORY, EVALUATION_DATASETS, DATASET_MEMBERS, EVALUATION_EXPECTATIONS),
    *(CURRENT, PRUNED, ERASURES),
)
"""Tables that make the others be read: written in one step, when all else is there."""
_CHANGED_BY_ERASURE = ("content", "update_nanos")


class Imported(NamedTuple):
    """What an import did.

    Attributes:
        rows: Table -> number of its rows in the store, also of those that were there.
        erased: Number of rows that were left out, because what they are of was erased here.
    """

    rows: dict[str, int]
    erased: int


def import_store(store: Store, file: ExportFile) -> Imported:
    """Adds what an export holds; it is read when all of it is there, and can be repeated.

    Raises:
        ConfigError: The store holds something else under a name of the export; nothing was changed.
    """
    rows = UnerasedRows(file, store.read(ErasedIds))
    store.read(lambda connection: _check_conflicts(connection, rows))
    rows.left_out = 0
    counts: dict[str, int] = {}
    for table in (EXECUTIONS, *RUN_TABLES):
        counts[table.name] = 0
        for piece in _pieces(rows.of(table)):
            counts[table.name] += store.write(partial(_add, table=table, rows=piece))
    try:
        counts |= store.write(lambda connection: _finish(connection, rows))
    except ConflictError as error:
        raise ConfigError(
            f"an app of the store has an evaluation of the same display name: {error}"
        ) from None
    return Imported(counts, rows.left_out)


def _pieces(rows: Iterator[JsonObject]) -> Iterator[list[JsonObject]]:
    while piece := list(islice(rows, _PIECE)):
        yield piece


def _add(connection: Connection, table: Table, rows: list[JsonObject]) -> int:
    """Adds the rows whose keys are not there; returns the number of all."""
    there = _stored(connection, table, rows)
    new = [row for row in rows if _key(table, row) not in there]
    if new:
        connection.execute(insert(table), new)
    return len(rows)


def _finish(connection: Connection, rows: UnerasedRows) -> dict[str, int]:
    for piece in _pieces(rows.of(EXECUTIONS)):
        names = {row["name"] for row in piece}
        connection.execute(delete(RUN_SUMMARIES).where(RUN_SUMMARIES.c.evaluation_run.in_(names)))
    return {
        table.name: sum(_add(connection, table, piece) for piece in _pieces(rows.of(table)))
        for table in _LAST
    }


def _key(table: Table, row: JsonObject) -> tuple[object, ...]:
    return tuple(row[column.name] for column in table.primary_key)


def _stored(
    connection: Connection, table: Table, rows: list[JsonObject]
) -> dict[tuple[object, ...], JsonObject]:
    """Returns key -> row of those that are there."""
    keys = [_key(table, row) for row in rows]
    query = select(table).where(tuple_(*table.primary_key).in_(keys))
    return {_key(table, dict(row)): dict(row) for row in connection.execute(query).mappings()}


def _check_conflicts(connection: Connection, rows: UnerasedRows) -> None:
    for table in (EVALUATIONS, HISTORY, EVALUATION_DATASETS, EVALUATION_EXPECTATIONS, EXECUTIONS):
        for piece in _pieces(rows.of(table)):
            there = _stored(connection, table, piece)
            for row in piece:
                own = there.get(_key(table, row))
                if own is not None and _compared(table, own) != _compared(table, row):
                    raise ConfigError(f"{_shown(table, row)}: the store holds another one of that name")
            if table is EXECUTIONS:
                _check_executions(connection, piece)


def _check_executions(connection: Connection, rows: list[JsonObject]) -> None:
    """Checks that the store has no execution of a run that the export does not have beside it."""
    keys = {_key(EXECUTIONS, row) for row in rows}
    names = {row["name"] for row in rows}
    query = select(EXECUTIONS.c.name, EXECUTIONS.c.execution).where(EXECUTIONS.c.name.in_(names))
    for own in connection.execute(query):
        if tuple(own) not in keys:
            raise ConfigError(f"{own.name}: the store holds another execution of that run")


def _compared(table: Table, row: JsonObject) -> JsonObject:
    left_out = _CHANGED_BY_ERASURE if table is EXECUTIONS else ()
    return {name: value for name, value in row.items() if name not in left_out}


def _shown(table: Table, row: JsonObject) -> str:
    return str(row["evaluation" if table is HISTORY else "name"])
