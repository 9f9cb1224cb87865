"""Writes results, conversations, scores and failures of a run to a store, in addition to files."""

from collections.abc import Callable, Sequence
from time import time_ns
from typing import Any

import apache_beam as beam
from apache_beam.pvalue import PCollection
from sqlalchemy import Connection

from turnwise.pipeline.io.terminal import printable
from turnwise.pipeline.settings.outputs import SinkPlace
from turnwise.pipeline.store.conversations import (
    conversation_columns,
    score_columns,
    write_conversations,
    write_scores,
)
from turnwise.pipeline.store.engine import open_store, shared_store, try_store
from turnwise.pipeline.store.failures import failure_columns, write_replaced
from turnwise.pipeline.store.naming import LOCAL_APP, app_of_row, full_result
from turnwise.pipeline.store.results import result_columns, write_results
from turnwise.pipeline.store.run_rows import count_results_since, count_run_rows
from turnwise.pipeline.store.tables import FAILURES, upsert
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


def _score(row: Any, app: str, nanos: int) -> JsonObject:
    return score_columns(row, app, nanos)


def _conversation(row: Any, app: str, nanos: int) -> JsonObject:
    return conversation_columns(row, app, nanos)


def _write_failures(connection: Connection, rows: list[JsonObject], *_: object) -> None:
    upsert(connection, FAILURES, rows)


def _write_scores(connection: Connection, rows: list[JsonObject], *_: object) -> None:
    write_scores(connection, rows)


def _write_conversations(connection: Connection, rows: list[JsonObject], since: int, app: str) -> None:
    write_conversations(connection, rows, since)


_TABLES: dict[
    str,
    tuple[Callable[[Any, str, int], JsonObject], Callable[[Connection, list[JsonObject], int, str], None]],
] = {
    "results": (_result, write_results),
    "failures": (_failure, _write_failures),
    "scores": (_score, _write_scores),
    "conversations": (_conversation, _write_conversations),
}


class _StoreFn(beam.DoFn):
    """Writes rows in batches. Writes are idempotent, so that a bundle can be repeated."""

    def __init__(self, url: str, app: str, table: str, since: int) -> None:
        self._url, self._app, self._table, self._since = url, app, table, since

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
    """Writes the tables of a run to the store."""

    def __init__(self, url: str, app: str, since: int) -> None:
        """Creates the sink; `since` is the start of the run, in nanoseconds since 1970."""
        self._url, self._app, self._since = url, app, since

    def write_table(self, rows: "PCollection[Any]", table: str, part: str = "") -> "PCollection[Any] | None":
        """Adds the steps that write lists of rows."""
        if table not in _TABLES:
            return None
        write = _StoreFn(self._url, self._app, table, self._since)
        written: PCollection[Any] = rows | f"Store_{table}{part}" >> beam.ParDo(write)
        return written


def open_sink(place: SinkPlace) -> StoreSink:
    """Returns the sink of a run; raises ConfigError if the store cannot be opened."""
    try_store("--store", place.url).close()
    return StoreSink(place.url, place.app or LOCAL_APP, timestamp_nanos(place.create_time))


def left_in_store(place: SinkPlace) -> str:
    """Describes an interrupted run's rows in its store, as part of a sentence; threads may still write."""
    try:
        store = open_store(place.url, read_only=True)
        try:
            count = store.read(lambda connection: count_run_rows(connection, place.run_id))
        finally:
            store.close()
    except (ConfigError, StoreError):
        count = 0
    holds = f"holds at least {count}" if count else "may hold"
    return f"the store {holds} rows of run {printable(place.run_id)}"


def replaced_in_store(place: SinkPlace, results: int) -> int | None:
    """Returns how many of a run's results another result of the same run replaced, and writes it there.

    Args:
        place: The run and its store.
        results: Number of the run's results.

    Returns:
        The number; None: unknown.
    """
    since, app = timestamp_nanos(place.create_time), place.app or LOCAL_APP

    def work(connection: Connection) -> int | None:
        kept = count_results_since(connection, place.run_id, since)
        replaced = None if kept is None else max(0, results - kept)
        if replaced is not None:
            write_replaced(connection, place.run_id, app, replaced, time_ns())
        return replaced

    try:
        return shared_store(place.url).write(work)
    except (ConfigError, StoreError):
        return None
