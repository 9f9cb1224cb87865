"""A store as sink and source: writes the rows and the state of a run, and reads eval cases."""

import logging
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from time import time_ns
from typing import NamedTuple

import apache_beam as beam
from sqlalchemy import Connection

from turnwise.pipeline.io.sinks import StepSink, TableSink
from turnwise.pipeline.io.sources import ReadRecords, Source
from turnwise.pipeline.io.terminal import printable
from turnwise.pipeline.settings.options import SinkPlace
from turnwise.pipeline.settings.run import RunSettings
from turnwise.pipeline.store import database, runs
from turnwise.pipeline.store.rows import ROW_TABLES, store_records, write_replaced
from turnwise.pipeline.store.summaries import keep_summaries
from turnwise.pipeline.store.urls import Broken, StoreError
from turnwise.schemas.ces.names import app_of
from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import JsonObject, is_store_url
from turnwise.schemas.proto.scalars import timestamp_nanos

_LOG = logging.getLogger(__name__)
_ROWS = 500
_BYTES = 8 * 1024 * 1024


class _StoreFn(beam.DoFn):
    """Writes rows in batches. Writes are idempotent, so that a bundle can be repeated."""

    def __init__(self, url: str, execution: runs.Execution, table: str) -> None:
        self._url, self._execution, self._table = url, execution, table

    def start_bundle(self) -> None:
        self._waiting: list[JsonObject] = []
        self._bytes = 0

    def process(self, rows: Sequence[JsonObject]) -> None:
        _, columns_of = ROW_TABLES[self._table]
        for row in rows:
            # Clocks of workers may be behind; no row is older than the run.
            columns = columns_of(row, self._execution, max(time_ns(), self._execution.number))
            self._waiting.append(columns)
            self._bytes += len(columns.get("content", ""))
            if len(self._waiting) >= _ROWS or self._bytes >= _BYTES:
                self._write()

    def finish_bundle(self) -> None:
        self._write()

    def _write(self) -> None:
        rows, self._waiting, self._bytes = self._waiting, [], 0
        if rows:
            table, execution, now = ROW_TABLES[self._table][0], self._execution, time_ns()
            store = database.shared_store(self._url)
            store.write(lambda connection: runs.write_rows(connection, execution, table, rows, now))
            store.write(lambda connection: runs.touch(connection, execution, time_ns()))


def _execution(sink_place: SinkPlace) -> runs.Execution:
    number, app = timestamp_nanos(sink_place.create_time), sink_place.app or database.LOCAL_APP
    return runs.Execution(sink_place.run_id, number, app, sink_place.date)


def open_sink(sink_place: SinkPlace) -> TableSink:
    """Returns the sink of a run; raises ConfigError if the store cannot be opened."""
    database.try_store("--store", sink_place.url).close()
    return StepSink("Store", ROW_TABLES, partial(_StoreFn, sink_place.url, _execution(sink_place)))


def begin_run(sink_place: SinkPlace, document: JsonObject) -> None:
    """Writes that a run has begun, and what is known of its `run.json`; raises StoreError."""
    with closing(database.open_store(sink_place.url)) as store:
        store.write(lambda connection: runs.begin(connection, _execution(sink_place), document, time_ns()))


def complete_run(sink_place: SinkPlace, document: JsonObject) -> None:
    """Writes how a run ended, in place of its earlier executions; StoreError: a later one is complete."""
    store, execution = database.shared_store(sink_place.url), _execution(sink_place)
    try:
        store.write(lambda connection: runs.complete(connection, execution, document, time_ns()))
    except StoreError:
        runs.delete_unread(store, execution)
        raise
    runs.delete_superseded(store, execution)
    try:  # so that the first comparison does not have to read the rows
        names = store.read(lambda connection: runs.own_names(connection, execution))
        for app in {app_of(name) for name in names}:
            keep_summaries(store, app, names)
    except (ConfigError, StoreError) as error:
        _LOG.warning("the run was not summarised: %s", error)
    database.close_shared_stores()


def break_off_run(sink_place: SinkPlace, state: Broken, why: str) -> None:
    """Writes that a run broke off, unless it was complete; what cannot be written is logged."""
    execution = _execution(sink_place)
    try:
        with closing(database.open_store(sink_place.url)) as store:
            store.write(lambda connection: runs.break_off(connection, execution, state, why, time_ns()))
            runs.delete_unread(store, execution)
    except (ConfigError, StoreError) as error:
        _LOG.warning("the store still holds run %s as RUNNING: %s", printable(sink_place.run_id), error)
    database.close_shared_stores()


def left_in_store(sink_place: SinkPlace) -> str:
    """Describes an interrupted run's rows in its store, as part of a sentence; threads may still write."""
    execution, run = _execution(sink_place), printable(sink_place.run_id)
    try:
        with closing(database.open_store(sink_place.url, read_only=True)) as store:
            if not store.read(lambda connection: runs.is_current(connection, execution)):
                return f"the store keeps the earlier execution of run {run}"
            rows = database.RESULT_ROWS, database.FAILURE_ROWS
            count = store.read(lambda connection: runs.count_written(connection, execution, *rows))
    except (ConfigError, StoreError):
        count = 0
    holds = f"holds at least {count}" if count else "may hold"
    return f"the store {holds} rows of run {run}"


def replaced_in_store(sink_place: SinkPlace, results: int) -> int | None:
    """Returns how many of a run's results another one of it replaced, and writes it there; None: unknown."""
    execution = _execution(sink_place)

    def work(connection: Connection) -> int:
        replaced = max(0, results - runs.count_written(connection, execution, database.RESULT_ROWS))
        if replaced:
            write_replaced(connection, execution, replaced, time_ns())
        return replaced

    try:
        return database.shared_store(sink_place.url).write(work)
    except (ConfigError, StoreError):
        return None


class StoreSource(NamedTuple):
    """Reads the evaluations of an app ("": all) from stores, one transaction each, and another source."""

    urls: list[str]
    app: str
    other: Source | None

    def read(self, root: beam.Pipeline, name: str) -> ReadRecords:
        urls = root | f"{name}Stores" >> beam.Create(self.urls, reshuffle=False)
        records = urls | f"{name}ReadStores" >> beam.FlatMap(store_records, self.app)
        if self.other is None:
            nothing = [root | f"{name}No{what}" >> beam.Create([]) for what in ("Failures", "Counts")]
            return ReadRecords(records, *nothing)
        others = self.other.read(root, name)
        return others._replace(records=(records, others.records) | f"{name}OfAllKinds" >> beam.Flatten())


def with_stores(files: Source | None, settings: RunSettings) -> Source:
    """Returns the source of all eval cases of a run; raises ConfigError if a store cannot be opened."""
    urls = list(dict.fromkeys(path for path in settings.eval_cases if is_store_url(path)))
    for url in urls:
        database.try_store("--eval_cases", url, read_only=True).close()
    return StoreSource(urls, settings.store_app, files)
