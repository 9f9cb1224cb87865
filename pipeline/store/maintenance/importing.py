"""Reads an export into a store."""

from functools import partial
from typing import NamedTuple

from sqlalchemy import Connection, Delete, Table, delete, insert, select, update

from turnwise.pipeline.store.engine import ConflictError, Store
from turnwise.pipeline.store.executions import delete_forgotten
from turnwise.pipeline.store.maintenance.conflicts import check_conflicts, key_of, pieces, stored_rows
from turnwise.pipeline.store.maintenance.digests import ErasedIds, erasure_rows
from turnwise.pipeline.store.maintenance.erasure import EMPTIED, is_emptied
from turnwise.pipeline.store.maintenance.export_file import ExportFile
from turnwise.pipeline.store.maintenance.unerased import UnerasedRows
from turnwise.pipeline.store.removed_rows import ExecutionPlace
from turnwise.pipeline.store.tables import (
    CURRENT,
    DATASET_MEMBERS,
    ERASURES,
    EVALUATION_DATASETS,
    EVALUATION_EXPECTATIONS,
    EVALUATIONS,
    EXECUTIONS,
    FAILURE_ROWS,
    HISTORY,
    PRUNED,
    RUN_SUMMARIES,
    RUN_TABLES,
    TAGS,
)
from turnwise.schemas.config import ConfigError
from turnwise.schemas.values import JsonObject

_LAST = (
    *(EVALUATIONS, TAGS, HISTORY, EVALUATION_DATASETS, DATASET_MEMBERS, EVALUATION_EXPECTATIONS),
    *(CURRENT, PRUNED, ERASURES),
)
"""Tables that make the others be read: written in one step, when all else is there."""


class Imported(NamedTuple):
    """What an import did.

    Attributes:
        rows: Table -> number of its rows in the export, also of those that the store had, without those that
            were left out.
        left_out: Number of rows that were left out, because what they are of was erased.
        emptied: Number of failures, and of entries of `to_read`, that lost their texts for that reason.
        emptied_here: Number of failures of the store that were emptied, because they are in the export.
    """

    rows: dict[str, int]
    left_out: int
    emptied: int
    emptied_here: int


def import_store(store: Store, file: ExportFile) -> Imported:
    """Adds what an export holds, without what was erased here or in the store of the export.

    It is read when all of it is there. If it fails, what was added is deleted again.

    Raises:
        ConfigError: The store holds something else under a name of the export; nothing was changed.
        StoreError: The store does not answer, or does not take a row.
    """
    erased = ErasedIds([*store.read(erasure_rows), *file.rows_of(ERASURES)])
    rows = UnerasedRows(file, erased)
    store.read(lambda connection: check_conflicts(connection, rows.of))
    rows.left_out = rows.emptied = 0
    read, known = store.read(partial(_places, table=CURRENT)), store.read(partial(_places, table=EXECUTIONS))
    new: set[ExecutionPlace] = set()
    try:
        counts = _write(store, rows, read, new)
    except ConflictError as error:
        _undo(store, new - known)
        raise ConfigError(f"the store does not take a row of the export: {error}") from None
    except BaseException:
        _undo(store, new - known)
        raise
    emptied = store.write(lambda c: sum(_empty(c, piece) for piece in pieces(file.rows_of(FAILURE_ROWS))))
    return Imported(counts, rows.left_out, rows.emptied, emptied)


def _places(connection: Connection, table: Table) -> set[ExecutionPlace]:
    return {ExecutionPlace(*row) for row in connection.execute(select(table.c.name, table.c.execution))}


def _write(
    store: Store, rows: UnerasedRows, read: set[ExecutionPlace], new: set[ExecutionPlace]
) -> dict[str, int]:
    """Writes the rows; adds the executions whose rows are written to `new`.

    Rows of an execution that is read are not added: what is gone there was deleted.
    """
    counts: dict[str, int] = {}
    for table in (EXECUTIONS, *RUN_TABLES):
        counts[table.name] = 0
        run = "name" if table is EXECUTIONS else "evaluation_run"
        for piece in pieces(rows.of(table)):
            counts[table.name] += len(piece)
            missing = [row for row in piece if ExecutionPlace(row[run], row["execution"]) not in read]
            new.update(ExecutionPlace(row[run], row["execution"]) for row in missing)
            store.write(partial(_add, table=table, rows=missing))
    return counts | store.write(lambda connection: _finish(connection, rows, new))


def _undo(store: Store, new: set[ExecutionPlace]) -> None:
    """Deletes executions that the import added, with their rows."""
    for run, execution in sorted(new):
        own = EXECUTIONS.c.name == run, EXECUTIONS.c.execution == execution
        store.write(partial(_execute, statement=delete(EXECUTIONS).where(*own)))
        delete_forgotten(store, run)


def _execute(connection: Connection, statement: Delete) -> None:
    connection.execute(statement)


def _add(connection: Connection, table: Table, rows: list[JsonObject]) -> int:
    """Adds the rows whose keys are not there; returns the number of all."""
    there = stored_rows(connection, table, rows) if rows else {}
    new = [row for row in rows if key_of(table, row) not in there]
    if new:
        connection.execute(insert(table), new)
    return len(rows)


def _finish(connection: Connection, rows: UnerasedRows, new: set[ExecutionPlace]) -> dict[str, int]:
    for run in {run for run, _ in new}:
        connection.execute(delete(RUN_SUMMARIES).where(RUN_SUMMARIES.c.evaluation_run == run))
    return {
        table.name: sum(_add(connection, table, piece) for piece in pieces(rows.of(table))) for table in _LAST
    }


def _empty(connection: Connection, rows: list[JsonObject]) -> int:
    """Empties the failures that the export holds emptied and the store in full; returns their number."""
    emptied = [row for row in rows if is_emptied(row)]
    there = stored_rows(connection, FAILURE_ROWS, emptied) if emptied else {}
    done = 0
    for row in emptied:
        own = there.get(key := key_of(FAILURE_ROWS, row))
        if own is not None and not is_emptied(own):
            is_it = (column == value for column, value in zip(FAILURE_ROWS.primary_key, key, strict=True))
            values = {name: row[name] for name in EMPTIED}
            connection.execute(update(FAILURE_ROWS).where(*is_it).values(values))
            done += 1
    return done
