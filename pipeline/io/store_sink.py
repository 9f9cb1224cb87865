"""Writes the results and failures of a run to a store, in addition to files."""

from collections.abc import Callable, Sequence
from time import time_ns
from typing import Any

import apache_beam as beam
from apache_beam.pvalue import PCollection
from sqlalchemy import Connection

from turnwise.pipeline.io.sinks import Sink
from turnwise.pipeline.io.terminal import printable
from turnwise.pipeline.settings.run import RunSettings
from turnwise.pipeline.store.engine import open_store, shared_store, try_store
from turnwise.pipeline.store.failures import failure_columns, write_failures
from turnwise.pipeline.store.naming import LOCAL_APP, app_of_row, full_result
from turnwise.pipeline.store.results import result_columns, write_results
from turnwise.pipeline.store.run_rows import count_results_since, count_run_rows
from turnwise.pipeline.store.urls import StoreError
from turnwise.schemas.config import ConfigError
from turnwise.schemas.proto.scalars import timestamp_nanos
from turnwise.schemas.values import JsonObject

_ROWS = 500
_BYTES = 8 * 1024 * 1024


def _result(row: Any, app: str, nanos: int) -> JsonObject:
    return result_columns(full_result(row, app), row["conversation_id"], nanos)


def _failure(row: Any, app: str, nanos: int) -> JsonObject:
    return failure_columns(row, app_of_row(row, app), nanos)


def _write_failures(connection: Connection, rows: list[JsonObject], *_: object) -> None:
    write_failures(connection, rows)


_TABLES: dict[
    str,
    tuple[Callable[[Any, str, int], JsonObject], Callable[[Connection, list[JsonObject], int, str], None]],
] = {
    "results": (_result, write_results),
    "failures": (_failure, _write_failures),
}


class _StoreFn(beam.DoFn):
    """Writes rows in batches; idempotent, so that a bundle can be repeated."""

    def __init__(self, url: str, app: str, table: str) -> None:
        self._url, self._app, self._table = url, app, table
        self._since = time_ns()

    def start_bundle(self) -> None:
        self._waiting: list[JsonObject] = []
        self._bytes = 0

    def process(self, rows: Sequence[JsonObject]) -> None:
        columns_of, _ = _TABLES[self._table]
        for row in rows:
            # Clocks of workers may be behind; no row is older than the run.
            columns = columns_of(row, self._app, max(time_ns(), self._since))
            self._waiting.append(columns)
            self._bytes += len(columns["content"])
            if len(self._waiting) >= _ROWS or self._bytes >= _BYTES:
                self._write()

    def finish_bundle(self) -> None:
        self._write()

    def _write(self) -> None:
        rows, self._waiting, self._bytes = self._waiting, [], 0
        if rows:
            write = _TABLES[self._table][1]
            shared_store(self._url).write(lambda connection: write(connection, rows, self._since, self._app))


class StoreSink:
    """Writes to another sink and to a store."""

    def __init__(self, sink: Sink, url: str, app: str) -> None:
        self._sink, self._url, self._app = sink, url, app

    def write_table(self, rows: "PCollection[Any]", table: str, part: str = "") -> None:
        """Adds the steps that write lists of rows."""
        self._sink.write_table(rows, table, part)
        if table in _TABLES:
            _ = rows | f"Store_{table}{part}" >> beam.ParDo(_StoreFn(self._url, self._app, table))

    def write_document(self, document: "PCollection[JsonObject]", name: str) -> None:
        """Adds the steps that write one JSON document to the other sink only."""
        self._sink.write_document(document, name)

    def finish(self, root: beam.Pipeline) -> None:
        """Adds the final steps of the other sink."""
        self._sink.finish(root)


def with_store(sink: Sink, settings: RunSettings) -> Sink:
    """Returns a sink that also writes to the run's store; raises ConfigError if it cannot be opened."""
    try_store("--store", settings.store).close()
    return StoreSink(sink, settings.store, settings.store_app or LOCAL_APP)


def left_in_store(settings: RunSettings) -> str:
    """Returns a clause about the rows of an interrupted run in its store; threads may still write."""
    run_id = settings.run.run_id
    try:
        store = open_store(settings.store, read_only=True)
        try:
            count = store.read(lambda connection: count_run_rows(connection, run_id))
        finally:
            store.close()
    except (ConfigError, StoreError):
        count = 0
    return f"the store {f'holds at least {count}' if count else 'may hold'} rows of run {printable(run_id)}"


def replaced_in_store(settings: RunSettings, results: int) -> int | None:
    """Returns how many results of a run were replaced by others of the same run; None if unknown."""
    run_id, since = settings.run.run_id, timestamp_nanos(settings.run.create_time)
    try:
        read = shared_store(settings.store).read
        kept = read(lambda connection: count_results_since(connection, run_id, since))
    except (ConfigError, StoreError):
        return None
    return None if kept is None else max(0, results - kept)
