"""Tables of a BigQuery dataset: a batch replaces its run in them, a stream appends its changes.

A stream appends by the Storage Write API, to the default stream of a table: a row may be there twice, if an
answer was lost. Views count it once.
"""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, date, datetime, timedelta
from tempfile import TemporaryFile
from threading import Event
from typing import Any, NamedTuple, cast
from uuid import uuid4

from apache_beam.io.filesystems import FileSystems
from google.api_core import exceptions
from google.api_core.exceptions import Aborted, Cancelled, GoogleAPIError, NotFound, ServerError
from google.api_core.retry import Retry, if_exception_type
from google.auth.exceptions import GoogleAuthError
from google.cloud import bigquery
from google.cloud.bigquery_storage_v1 import BigQueryWriteClient
from google.cloud.bigquery_storage_v1.services.big_query_write.transports import BigQueryWriteGrpcTransport
from google.cloud.bigquery_storage_v1.types import AppendRowsRequest
from pyarrow import RecordBatch
from pyarrow.parquet import ParquetFile, ParquetWriter, write_table

from turnwise.pipeline.io import bigquery_source, staging
from turnwise.pipeline.io.bigquery_source import Dataset, google_error, one_line, open_client, parse_dataset
from turnwise.pipeline.io.sinks import RefusedRow, StreamChange
from turnwise.pipeline.io.staging import StagedRows, staged_columns
from turnwise.pipeline.io.terminal import complain
from turnwise.pipeline.settings.options import SinkPlace, check_google
from turnwise.schemas import rows as tables
from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.rows import WAREHOUSE_TABLES, Column
from turnwise.schemas.score import Stage

# The tables of a BigQuery dataset: their schemas, and what must be true of them before a run.

BIGQUERY_TYPES = dict(string="STRING", long="INTEGER", double="FLOAT", boolean="BOOLEAN", date="DATE")
"""Kind of a column -> type of BigQuery."""
_SAME = {"INT64": "INTEGER", "FLOAT64": "FLOAT", "BOOL": "BOOLEAN"}
_CLUSTERED = (staging.VERSION, "criterion")
_TRIED_S = 20.0
"""How long a service that does not answer before the run is asked again, in seconds."""
_ROLES = "needed: BigQuery Data Editor on the dataset, and BigQuery Job User on the project"


def bigquery_schema(columns: tuple[Column, ...]) -> list[bigquery.SchemaField]:
    """Returns the schema of columns. All may be null, because no other columns can be added to a table."""
    return [
        bigquery.SchemaField(c.name, BIGQUERY_TYPES[c.kind], "REPEATED" if c.is_list else "NULLABLE")
        for c in columns
    ]


def _of_run(run_id: str) -> bigquery.QueryJobConfig:
    parameter = bigquery.ScalarQueryParameter("run_id", "STRING", run_id)
    return bigquery.QueryJobConfig(query_parameters=[parameter])


def prepare_tables(url: str, patience: float = _TRIED_S) -> None:
    """Makes the missing tables of a dataset within `patience` seconds; raises ConfigError."""
    dataset = parse_dataset(url)
    with refused(url):
        soon = _within(patience)
        client, location = _open_dataset(dataset, soon)
        for table in WAREHOUSE_TABLES:
            _prepare(client, dataset.table(table), staged_columns(table), soon)
        sql = f"DELETE FROM `{dataset.table(WAREHOUSE_TABLES[0])}` WHERE run_id = ''"
        tried = bigquery.QueryJobConfig(dry_run=True, use_query_cache=False)
        client.query(sql, tried, location=location, job_retry=None, **soon)


def _within(seconds: float) -> dict[str, Any]:
    return {"retry": bigquery_source.patient(seconds), "timeout": seconds}


def _open_dataset(dataset: Dataset, soon: dict[str, Any]) -> tuple[bigquery.Client, str]:
    """Returns a client, and the location of the dataset; raises ConfigError if it is not there."""
    client = open_client(dataset.project)
    try:
        return client, client.get_dataset(dataset.name, **soon).location
    except NotFound:
        raise ConfigError(f"there is no such dataset; make it with: bq mk {dataset.name}") from None


def _prepare(client: bigquery.Client, name: str, columns: tuple[Column, ...], soon: dict[str, Any]) -> None:
    wanted = bigquery.Table(name, bigquery_schema(columns))
    wanted.time_partitioning = bigquery.TimePartitioning(field=tables.DATE.name)
    names = {column.name for column in columns}
    wanted.clustering_fields = [name for name in _CLUSTERED if name in names] or None
    client.create_table(wanted, exists_ok=True, **soon)
    table = client.get_table(name, **soon)
    # It may have further columns that may be null.
    faults, known = [], {field.name.lower(): field for field in table.schema}
    for field in wanted.schema:
        present = known.pop(field.name.lower(), None)
        kind = f"{field.field_type} {field.mode}"
        if present is None:
            faults.append(f"lacks the column {field.name} ({kind}): add it with ALTER TABLE")
            continue
        mode = present.mode if present.mode == "REPEATED" else "NULLABLE"
        present_kind = f"{_SAME.get(present.field_type, present.field_type)} {mode}"
        if present_kind != kind:
            faults.append(f"has the column {field.name} as {present_kind}, not {kind}")
    required = [column for column, field in known.items() if field.mode == "REQUIRED"]
    faults += [f"has the column {column}, which is required and unknown here" for column in required]
    if table.table_type != "TABLE":
        faults = [f"is a {table.table_type.lower()}"]
    if faults:
        raise ConfigError(f"the table {wanted.table_id} {'; '.join(faults)}")


@contextmanager
def refused(url: str) -> Iterator[None]:
    """Converts errors of Google's libraries; raises ConfigError if there was one."""
    check_google(f"--store {url}")
    with one_line(f"--store {url}", ConfigError, _ROLES):
        try:
            yield
        except ConfigError as error:
            raise ConfigError(f"--store {url}: {error}") from None


_FAILURES = "failures"
_STAGE: Stage = "write"
_LARGEST = 8_000_000
_REQUEST_S = 60.0
_PATIENCE_S = 600.0
_TOLD_AFTER_S = 5.0
_SHORTEST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 15.0
_AFTER_STOP_S = 5.0
_VALUES = ("conversation_id", "criterion", "app_version")
_PASSING = (ServerError, Aborted, exceptions.TooManyRequests, Cancelled, NotFound)
"""Errors of requests that may succeed later. A table that was just made is not found for a moment."""


class _Lost(NamedTuple):
    table: str
    row: JsonObject
    reason: str


class BigQueryChanges:
    """Writes changes: first their rows, then what makes them count, so that no part of one is ever seen.

    A row that a table does not take is a row of `failures` in its change.
    """

    def __init__(self, sink_place: SinkPlace, patience: float = _PATIENCE_S) -> None:
        self.stop = Event()
        self._url, self._patience = sink_place.url, patience
        self._dataset = parse_dataset(sink_place.url)
        self._client = BigQueryWriteClient(**bigquery_source.storage_options(BigQueryWriteGrpcTransport))
        self._columns = stream_tables()

    def write(self, changes: Sequence[StreamChange]) -> list[RefusedRow]:
        """Writes changes; returns the rows that are not taken, and raises OSError if it fails for good."""
        lost: list[_Lost] = []
        now = datetime.now(UTC)
        for table in WAREHOUSE_TABLES:
            if table != _FAILURES:
                lost += self._append(table, table_rows(changes, table, now))
        failed = [_failure_row(row) for row in lost]
        refused_rows = self._append(_FAILURES, table_rows(changes, _FAILURES, now) + failed)
        lost += (refusal for refusal in refused_rows if refusal.row["change_row"] >= 0)
        # A value of the row, such as an id, may be what is refused: it is left out in the end.
        refused_rows = self._append(_FAILURES, [_failure_row(refusal) for refusal in refused_rows])
        bare = []
        for row in (refusal.row for refusal in refused_rows):
            fault = row["message"].partition(": ")[0]
            message = f"{fault}, nor can its values be told here"
            bare.append({**row, **dict.fromkeys(_VALUES), "message": message})
        self._append(_FAILURES, bare)
        if self._append(_CHANGES, change_rows(changes, now)):
            raise OSError(f"--store {self._url}: rows of {CHANGES} are not taken")
        return [RefusedRow(row.row["change_id"], f"--store {self._url}: {_lost_text(row)}") for row in lost]

    def _append(self, table: str, rows: Sequence[JsonObject]) -> list[_Lost]:
        """Appends rows; returns those that are not taken, with the reasons."""
        if not rows:
            return []
        name = stream_table(table)
        content, lost = tables.arrow_rows(rows, tables.arrow_schema(self._columns[name]))
        for batch in content.combine_chunks().to_batches():
            lost += self._append_batch(name, batch)
        return [_Lost(table, *refusal) for refusal in lost]

    def _append_batch(self, name: str, batch: RecordBatch) -> Iterator[tuple[JsonObject, str]]:
        """Appends rows, in parts that a request may hold, without those that are refused."""
        if batch.nbytes > _LARGEST and batch.num_rows == 1:
            yield batch.to_pylist()[0], f"it has {batch.nbytes} bytes"
        elif batch.nbytes > _LARGEST:
            half = batch.num_rows // 2
            for part in (batch.slice(0, half), batch.slice(half)):
                yield from self._append_batch(name, part)
        elif batch.num_rows:
            request = AppendRowsRequest(write_stream=_stream_name(self._dataset, name), trace_id="turnwise")
            request.arrow_rows.writer_schema.serialized_schema = batch.schema.serialize().to_pybytes()
            request.arrow_rows.rows.serialized_record_batch = batch.serialize().to_pybytes()
            refused_rows = self._send(request)
            yield from ((batch.slice(i, 1).to_pylist()[0], why) for i, why in refused_rows.items())
            kept = [i for i in range(batch.num_rows) if i not in refused_rows]
            if refused_rows and kept:
                yield from self._append_batch(name, batch.take(kept))

    def _send(self, request: AppendRowsRequest) -> dict[int, str]:
        """Sends a request until it is answered; raises OSError if it is refused, or not for a long time.

        Returns number of a row -> why it is refused; if there is one, no row was appended.
        """
        what = f"--store {self._url}: {request.write_stream.split('/')[5]}"
        # The service finds the region of the dataset by this header.
        route = [("x-goog-request-params", f"write_stream={request.write_stream}")]
        options: dict[str, Any] = {"metadata": route, "retry": None, "timeout": _REQUEST_S}
        start, since = time.monotonic(), datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        deadline, pause, is_told = start + self._patience, _SHORTEST_PAUSE_S, False
        while True:
            try:
                answer = next(iter(self._client.append_rows(iter([request]), **options)), None)
                if answer is None:
                    raise exceptions.ServiceUnavailable("the connection was closed without an answer")
                if answer.error.code and not answer.row_errors:
                    raise exceptions.from_grpc_status(answer.error.code, answer.error.message)
            except (GoogleAPIError, GoogleAuthError) as error:
                reason = google_error(error)
                if not isinstance(error, _PASSING) and not getattr(error, "retryable", False):
                    raise OSError(f"{what}: {reason}") from None
            else:
                if is_told:
                    complain(f"{what} answers again")
                return {error.index: " ".join(error.message.split()) for error in answer.row_errors}
            now = time.monotonic()
            if self.stop.is_set():
                deadline = min(deadline, now + _AFTER_STOP_S)
            if now > deadline:
                hint = "nothing is lost: the same command goes on"
                raise OSError(f"{what}: {reason}; no answer since {since}; {hint}")
            if now > start + _TOLD_AFTER_S and not is_told:
                is_told = True
                complain(f"{what} has not answered since {since}, and is asked again: {reason}")
            seconds = pause * random.uniform(0.5, 1)
            if self.stop.is_set():
                time.sleep(min(seconds, 1.0))
            else:
                self.stop.wait(seconds)
            pause = min(2 * pause, _LONGEST_PAUSE_S)


def try_stream(sink_place: SinkPlace) -> None:
    """Makes the tables to which streams append, and the views that show their present rows.

    Raises ConfigError if that fails, also because of a batch's tables or a stream with the run's id.
    """
    dataset = parse_dataset(sink_place.url)
    with refused(sink_place.url):
        soon = _within(_TRIED_S)
        client, location = _open_dataset(dataset, soon)
        known = {table.table_id for table in client.list_tables(dataset.name) if table.table_type == "TABLE"}
        if taken := known & set(WAREHOUSE_TABLES):
            names = ", ".join(sorted(taken))
            raise ConfigError(f"holds tables of batches ({names}): a stream needs a dataset of its own")
        for table, columns in stream_tables().items():
            _prepare(client, dataset.table(table), columns, soon)
        current = dataset.table(CURRENT)
        views = [_CURRENT_SQL.format(current=current, changes=dataset.table(CHANGES))]
        for table in WAREHOUSE_TABLES:
            names = ", ".join(column.name for column in staged_columns(table))
            flat = dataset.table(stream_table(table))
            named = {"columns": names, "table": flat, "current": current}
            views.append(_VIEW_SQL.format(view=dataset.table(table), **named))
        client.query(";\n".join([*views, ""]), location=location, **soon).result()
        # Revisions begin at 0, and of each thing the highest one counts: rows of an earlier stream
        # with this id would hide the new ones.
        sql = f"SELECT 1 AS found FROM `{dataset.table(CHANGES)}` WHERE run_id = @run_id LIMIT 1"
        query = {"job_config": _of_run(sink_place.run_id), "location": location, **soon}
        if sink_place.is_new and list(client.query(sql, **query).result()):
            step = f"name another --run_id, or delete its rows of {CHANGES}"
            raise ConfigError(f"holds a stream with the run id {sink_place.run_id} already: {step}")
        # A table that was just made is not found for a moment.
        retry = Retry(if_exception_type(NotFound, exceptions.ServiceUnavailable), timeout=60)
        writer = BigQueryWriteClient(**bigquery_source.storage_options(BigQueryWriteGrpcTransport))
        writer.get_write_stream(name=_stream_name(dataset, CHANGES), retry=retry, timeout=_REQUEST_S)


def _stream_name(dataset: Dataset, name: str) -> str:
    return f"projects/{dataset.project}/datasets/{dataset.name}/tables/{name}/streams/_default"


def _failure_row(lost: _Lost) -> JsonObject:
    """Returns the row of `failures`, of the same change, for a row that could not be written."""
    if lost.row["change_row"] < 0:
        return lost.row
    row: dict[str, Any] = dict.fromkeys(tables.FailureRow.__annotations__)
    row |= {name: lost.row[name] for name in ("run_id", "date", "change_id")}
    # The same number whenever the change is written, and one that no row of the change has.
    number, count = WAREHOUSE_TABLES.index(lost.table), len(WAREHOUSE_TABLES)
    row["change_row"] = -1 - number - count * lost.row["change_row"]
    for name in _VALUES:
        value = lost.row.get(name)
        row[name] = value[:200] if isinstance(value, str) else None
    return row | {"stage": _STAGE, "error_type": "UnfitRowError", "message": _lost_text(lost)[:1000]}


def _lost_text(lost: _Lost) -> str:
    return f"a row of {lost.table} was not written: {lost.reason}"


# Replaces a run in the tables of a BigQuery dataset.

_URIS_OF_A_JOB = 10_000
_KEPT = timedelta(days=1)
_TRIES = 6
_CONFLICTS = ("concurrent update", "Could not serialize access")


def try_tables(sink_place: SinkPlace) -> None:
    """Makes the tables; raises ConfigError if files cannot be written below `--output`, or not be loaded."""
    if sink_place.is_streaming:
        return try_stream(sink_place)
    prepare_tables(sink_place.url)
    folder = staging.staging_folder(sink_place)
    staging.make_folder(folder, f"--output {sink_place.output}")
    with refused(sink_place.url):
        # A file without rows is loaded in the way of all files, which tries permissions and locations.
        path, table = FileSystems.join(folder, "tried.parquet"), WAREHOUSE_TABLES[0]
        with FileSystems.create(path) as file:
            write_table(tables.arrow_schema(staged_columns(table)).empty_table(), file)
        with _loaded(parse_dataset(sink_place.url), [StagedRows(table, None, path, 0, ())]):
            pass


def complete_tables(sink_place: SinkPlace, staged: Sequence[StagedRows]) -> list[str]:
    """Loads the rows of a run into tables of their own, and puts them in place of an earlier run's at once.

    It can be repeated: the rows of the run are replaced again. Returns what was not written, one line each;
    raises OSError if nothing of the run was written.
    """
    dataset = parse_dataset(sink_place.url)
    try:
        with _loaded(dataset, staged) as (client, loaded):
            _replace_rows(client, dataset, loaded, sink_place.run_id)
    except (GoogleAPIError, GoogleAuthError, OSError) as error:
        rows = sum(part.rows for part in staged)
        why = google_error(error)
        raise OSError(f"--store {sink_place.url}: none of {rows} rows were written: {why}") from None
    finally:
        staging.remove_earlier(sink_place)
    return staging.lost_rows(sink_place, staged)


@contextmanager
def _loaded(dataset: Dataset, rows: Sequence[StagedRows]) -> Iterator[tuple[bigquery.Client, dict[str, str]]]:
    """Loads staged rows into tables that are removed in the end; yields the names of those by table."""
    client = open_client(dataset.project)
    client = open_client(dataset.project, client.get_dataset(dataset.name).location)
    suffix = f"_staging_{uuid4().hex}"
    loaded: dict[str, str] = {}
    try:
        for table in WAREHOUSE_TABLES:
            parts = [part for part in rows if part.table == table and part.path]
            if parts:
                loaded[table] = dataset.table(table + suffix)
                _load(client, loaded[table], table, parts)
        yield client, loaded
    finally:
        for name in loaded.values():
            with suppress(Exception):  # it expires
                client.delete_table(name, not_found_ok=True)


def _load(client: bigquery.Client, name: str, table: str, parts: Sequence[StagedRows]) -> None:
    """Loads files into a new table of their own, which BigQuery removes after a day if nobody does."""
    schema = bigquery_schema(staged_columns(table))
    made = bigquery.Table(name, schema)
    made.expires = datetime.now(UTC) + _KEPT
    client.create_table(made, exists_ok=True)
    options = bigquery.ParquetOptions()
    options.enable_list_inference = True
    kind = bigquery.SourceFormat.PARQUET
    config = bigquery.LoadJobConfig(source_format=kind, schema=schema, parquet_options=options)
    config.write_disposition = "WRITE_APPEND"
    jobs = list(_jobs(client, name, table, [part.path for part in parts], config))
    for job in jobs:
        try:
            job.result()
        except GoogleAPIError as error:  # it does not tell what else went wrong, such as other rows
            reasons = [reason["message"] for reason in job.errors or ()]
            raise OSError("; ".join(dict.fromkeys(reasons)) or google_error(error)) from None
    loaded = sum(job.output_rows or 0 for job in jobs)
    if loaded != (written := sum(part.rows for part in parts)):
        raise OSError(f"{loaded} instead of {written} rows of {table} were loaded")


def _jobs(
    client: bigquery.Client, name: str, table: str, paths: Sequence[str], config: bigquery.LoadJobConfig
) -> Iterator[bigquery.LoadJob]:
    """Starts the load jobs: of files in Cloud Storage by their addresses, of others in one upload."""
    options = {"destination": name, "job_config": config}
    if paths[0].startswith("gs://"):
        for start in range(0, len(paths), _URIS_OF_A_JOB):
            addresses = paths[start : start + _URIS_OF_A_JOB]
            yield _started(client, client.load_table_from_uri, addresses, **options)
        return
    schema = tables.arrow_schema(staged_columns(table))
    with TemporaryFile() as merged:
        with ParquetWriter(merged, schema, compression="zstd") as writer:
            for path in paths:
                with FileSystems.open(path) as staged:
                    for batch in ParquetFile(staged).iter_batches():
                        writer.write_batch(batch)
        merged.seek(0)
        yield _started(client, client.load_table_from_file, merged, **options)


def _started(
    client: bigquery.Client, start: Callable[..., bigquery.LoadJob], *given: Any, **options: Any
) -> bigquery.LoadJob:
    """Starts a job; one that is there already was started by a request whose answer was lost."""
    job_id = uuid4().hex
    try:
        return start(*given, job_id=job_id, **options)
    except exceptions.Conflict:
        return cast(bigquery.LoadJob, client.get_job(job_id))


def _replace_rows(client: bigquery.Client, dataset: Dataset, loaded: dict[str, str], run_id: str) -> None:
    lines = ["BEGIN TRANSACTION"]
    for table in WAREHOUSE_TABLES:
        present = dataset.table(table)
        lines.append(f"DELETE FROM `{present}` WHERE run_id = @run_id")
        if table in loaded:
            names = ", ".join(f"`{column.name}`" for column in staged_columns(table))
            lines.append(f"INSERT INTO `{present}` ({names}) SELECT {names} FROM `{loaded[table]}`")
    for attempt in range(_TRIES):
        try:
            client.query(";\n".join([*lines, "COMMIT TRANSACTION", ""]), _of_run(run_id)).result()
            return
        except GoogleAPIError as error:
            if attempt == _TRIES - 1 or not any(words in str(error) for words in _CONFLICTS):
                raise
        time.sleep(2**attempt)


# The tables to which a stream appends, and the views that show the present rows.

_CHANGES = "changes"
CHANGES = f"stream_{_CHANGES}"
CURRENT = "stream_current"
_CHANGE_COLUMNS = (
    *(tables.DATE, Column("run_id", "string"), Column("thing", "string"), Column("revision", "long")),
    *(Column("change_id", "string"), Column("written", "string")),
)
_ROW_COLUMNS = (Column("change_id", "string"), Column("change_row", "long"))
_OLDEST = timedelta(days=9 * 365)
# A later revision may have another date, so that the newest one is sought among the changes of all dates.
_CURRENT_SQL = """CREATE OR REPLACE VIEW `{current}` AS
SELECT change_id, date FROM (
  SELECT change_id, date, ROW_NUMBER() OVER (
    PARTITION BY run_id, thing ORDER BY revision DESC, first_written DESC, change_id
  ) AS place
  FROM (
    SELECT run_id, thing, change_id, revision, MIN(written) AS first_written, MIN(date) AS date
    FROM `{changes}` GROUP BY run_id, thing, change_id, revision
  )
)
WHERE place = 1"""
# A filter by date passes a window that is divided by date, and so reaches the partitions of the rows.
_VIEW_SQL = """CREATE OR REPLACE VIEW `{view}` AS
SELECT {columns} FROM (
  SELECT written.*, ROW_NUMBER() OVER (
    PARTITION BY written.date, written.change_id, written.change_row
  ) AS copy
  FROM `{table}` AS written
  JOIN `{current}` AS newest ON written.change_id = newest.change_id AND written.date = newest.date
)
WHERE copy = 1"""


def stream_table(table: str) -> str:
    """Returns the name of the table to which the rows of a stream are appended."""
    return f"stream_{table}"


def stream_tables() -> dict[str, tuple[Column, ...]]:
    """Returns the columns of all tables by name."""
    flat = {stream_table(table): (*staged_columns(table), *_ROW_COLUMNS) for table in WAREHOUSE_TABLES}
    return {**flat, CHANGES: _CHANGE_COLUMNS}


def table_rows(changes: Sequence[StreamChange], table: str, now: datetime) -> list[JsonObject]:
    """Returns the rows of a flat table in changes, as they are appended."""
    texts = tables.json_columns(table)
    rows = []
    for change in changes:
        key = {"date": day_of(change, now), "change_id": change.change_id}
        for number, row in enumerate(change.rows.get(table, ())):
            rows.append(tables.with_json_texts(dict(row), texts) | key | {"change_row": number})
    return rows


def change_rows(changes: Sequence[StreamChange], now: datetime) -> list[JsonObject]:
    """Returns the rows that make changes count; they are appended last, with the dates of the other rows."""
    written = datetime.now(UTC).isoformat(timespec="microseconds")
    names = [column.name for column in _CHANGE_COLUMNS]
    values = ((day_of(c, now), c.run_id, c.thing, c.revision, c.change_id, written) for c in changes)
    return [dict(zip(names, row, strict=True)) for row in values]


def day_of(change: StreamChange, now: datetime) -> date:
    """Returns the UTC day of a thing, or today if it is unknown or one that BigQuery takes no rows of."""
    if change.time is None or not (now - _OLDEST).timestamp() < change.time < now.timestamp():
        return now.date()
    return datetime.fromtimestamp(change.time, UTC).date()
