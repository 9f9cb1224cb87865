"""Rows of BigQuery as records, by the Storage Read API: of a table, of one partition, or of a query's result.

A table is read as it lies there, so that no job runs and no result is bounded. The result of a query is a
table as well, of at most 10 GB.
"""

import json
import os
import re
from collections.abc import Callable, Iterator
from concurrent.futures import TimeoutError as WaitError
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from turnwise.pipeline.io.sinks import plain_row
from turnwise.pipeline.settings.options import PROJECT_ADDRESS, check_google, parse_address
from turnwise.schemas.config import ConfigError
from turnwise.schemas.conversation import Record
from turnwise.schemas.jsonio import dump_json
from turnwise.schemas.run import InputFile
from turnwise.schemas.score import KEPT_RECORD_BYTES, Failure, oversized_error, record_failure

if TYPE_CHECKING:
    from google.cloud.bigquery import Client
    from google.cloud.bigquery_storage_v1 import BigQueryReadClient
    from google.cloud.bigquery_storage_v1.types import ReadSession
    from pyarrow import Field


_IDS = {"HOUR": "%Y%m%d", "DAY": "%Y%m%d", "MONTH": "%Y%m", "YEAR": "%Y"}
_PARTITION = """
SELECT SUM(total_logical_bytes) AS bytes, MAX(last_modified_time) AS changed
FROM `{dataset}.INFORMATION_SCHEMA.PARTITIONS`
WHERE table_name = '{table}' AND STARTS_WITH(partition_id, '{start}')
"""


def table_state(path: str) -> list[InputFile] | None:
    """Returns name, bytes and time of change of a table or its partition; none if it is not there.

    None: a query, of which this is not known. Raises ConfigError if the table cannot be looked at.
    """
    from google.api_core.exceptions import NotFound

    address = parse_address(path)
    if not address.table:
        return None
    check_google(address.shown)
    with one_line(address.shown, ConfigError):
        client = open_client(address.project)
        try:
            table = client.get_table(address.table, retry=patient(PATIENCE), timeout=REQUEST_SECONDS)
        except NotFound:
            return []
        if address.partition is None:
            return [InputFile(path, table.num_bytes or 0, table.modified.isoformat())]
        partitioning = table.time_partitioning
        start = address.partition.strftime(_IDS[partitioning.type_ if partitioning else "DAY"])
        dataset, _, name = address.table.rpartition(".")
        sql = _PARTITION.format(dataset=dataset, table=name, start=start)
        job = client.query(sql, retry=patient(PATIENCE), timeout=REQUEST_SECONDS)
        [row] = job.result(retry=patient(PATIENCE))
        changed = row["changed"]
        return [InputFile(address.shown, row["bytes"] or 0, changed.isoformat())] if changed else []


_ADDRESS = re.compile(PROJECT_ADDRESS + r"/(?P<name>\w{1,1024})", re.ASCII)


class Dataset(NamedTuple):
    """A dataset of BigQuery."""

    project: str
    name: str

    def table(self, table: str) -> str:
        """Returns the full name of a table."""
        return f"{self.project}.{self.name}.{table}"


def parse_dataset(url: str) -> Dataset:
    """Returns the dataset of an address; raises ValueError if it has another form."""
    address = _ADDRESS.fullmatch(url)
    if not address:
        raise ValueError("its form is bigquery://PROJECT/DATASET")
    return Dataset(address["project"], address["name"])


PATIENCE = 60.0
"""Seconds for which a service that does not answer is asked again before the run."""
_DAYS = {"DATE": "DATE '{}'", "DATETIME": "DATETIME '{} 00:00:00'", "TIMESTAMP": "TIMESTAMP '{} 00:00:00+00'"}
"""Type of a partition column -> the start of a day."""
_TIB, _GIB = 1 << 40, 1 << 30
_SCANNED_USD, _READ_USD = 6.25, 1.1
"""List prices of a TiB in the US, 2026: scanned by a query, and read by the Storage Read API."""


class RowsQuery(NamedTuple):
    """What an address reads, as it was tried.

    Attributes:
        project: The project that pays.
        sql: A query, whose result is read; "": rows of the table projects/P/datasets/D/tables/T are.
        where: Condition of the rows of the table.
        size: Bytes that BigQuery bills: of a query at most, of a table as estimated.
        limit: Bytes that a query may scan; None: any number.
    """

    shown: str
    project: str
    sql: str = ""
    table: str = ""
    where: str = ""
    size: int = 0
    limit: int | None = None

    @property
    def plan(self) -> str:
        """What will be read, and its list price, in one line."""
        what, price = ("scans at most", _SCANNED_USD) if self.sql else ("reads about", _READ_USD)
        usd = self.size / _TIB * price
        cost = f"{usd:.2f} USD" if usd >= 0.01 or not self.size else "less than 0.01 USD"
        return f"{self.shown}: BigQuery {what} {self.size / _GIB:.3g} GiB (list price: {cost})"


def prepare_query(path: str, patience: float = PATIENCE) -> RowsQuery:
    """Returns what an address reads, and how many bytes, after a trial that reads no row and costs nothing.

    Raises ConfigError if the address, the SQL or the permissions are wrong, or the service does not answer.
    """
    address = parse_address(path)
    check_google(address.shown)
    from google.cloud.bigquery import QueryJobConfig

    sql, where = address.query, ""
    with one_line(address.shown, ConfigError):
        client = open_client(address.project)
        if not sql:
            table = client.get_table(address.table, retry=patient(patience), timeout=REQUEST_SECONDS)
            if day := address.partition:
                # The rows of that day (UTC).
                if (partitioning := table.time_partitioning) is None:
                    why = "is not partitioned by time; select the rows by ?query=SQL"
                    raise ConfigError(f"{table.reference}: {why}")
                column = partitioning.field or "_PARTITIONTIME"
                kinds = (field.field_type for field in table.schema if field.name == column)
                start_of = _DAYS[next(kinds, "TIMESTAMP")].format
                where = f"`{column}` >= {start_of(day)} AND `{column}` < {start_of(day + timedelta(1))}"
            if table.table_type == "TABLE":
                query = RowsQuery(address.shown, address.project, "", _resource(table.reference), where)
                session = _open_session(query, query.table, 1, patience)
                return query._replace(size=session.estimated_total_bytes_scanned)
            # Only tables can be read without a query.
            sql = f"SELECT * FROM `{address.table}`{f' WHERE {where}' if where else ''}"
        trial = QueryJobConfig(dry_run=True, use_query_cache=False)
        options = {"retry": patient(patience), "job_retry": None, "timeout": REQUEST_SECONDS}
        tried = client.query(sql, trial, **options)
        if tried.statement_type not in (None, "SELECT"):
            raise ConfigError(f"{address.shown}: is a statement {tried.statement_type}, not one SELECT")
        return RowsQuery(address.shown, address.project, sql, size=tried.total_bytes_processed or 0)


def bounded(queries: list[RowsQuery], limit_gb: float | None) -> list[RowsQuery]:
    """Returns what is read under a limit of GiB; raises ConfigError if it is more."""
    if limit_gb is None:
        return queries
    limit, size = int(limit_gb * _GIB), sum(query.size for query in queries)
    if size > limit:
        plans = "; ".join(query.plan for query in queries)
        raise ConfigError(f"{plans}: more than --max_bigquery_gb {limit_gb:g}")
    return [query._replace(limit=limit) for query in queries]


_PATIENCE = 600.0


class RowsPart(NamedTuple):
    """A stream of rows that one worker reads within some hours, and their columns in Arrow's form."""

    shown: str
    stream: str
    schema: bytes


def result_parts(query: RowsQuery, most: int = 0, patience: float = _PATIENCE) -> list[RowsPart]:
    """Runs a query, and divides its result or the table; raises OSError if that failed.

    `most`: number of parts at most; 0: what BigQuery chooses, which grows with the bytes, up to 1,000.
    """
    from google.cloud.bigquery import QueryJobConfig

    with one_line(query.shown, OSError):
        table = query.table
        if query.sql:
            client = open_client(query.project)
            config = QueryJobConfig(maximum_bytes_billed=query.limit)
            job = client.query(query.sql, config, retry=patient(patience), timeout=REQUEST_SECONDS)
            job.result(max_results=0, retry=patient(patience), timeout=None)
            table = _resource(job.destination)
        session = _open_session(query, table, most, patience)
    streams, schema = session.streams, session.arrow_schema.serialized_schema
    if len(streams) == 1:
        return [RowsPart(query.shown, streams[0].name, schema)]
    parts = ((f"{query.shown} part {i} of {len(streams)}", part.name) for i, part in enumerate(streams, 1))
    return [RowsPart(*part, schema) for part in parts]


def part_records(part: RowsPart, limit: int, patience: float = _PATIENCE) -> Iterator[Record | Failure]:
    """Yields the rows of a part as records; their position is their 1-based number in it.

    A row of more than `limit` bytes is a failure. Raises OSError if the rows cannot be read to the end.
    """
    from pyarrow import py_buffer
    from pyarrow.ipc import read_record_batch, read_schema

    schema = read_schema(py_buffer(part.schema))
    texts = {column.name: parse for column in schema if (parse := _text_parser(column))}
    position = 0
    with one_line(part.shown, OSError):
        # A connection that breaks goes on behind the last row that came.
        for reply in open_reader().read_rows(part.stream, retry=_patient_storage(patience)):
            batch = read_record_batch(py_buffer(reply.arrow_record_batch.serialized_record_batch), schema)
            for row in batch.to_pylist():
                position += 1
                row |= {name: parse(row[name]) for name, parse in texts.items()}
                text = dump_json(plain_row(row))
                if len(text) <= limit:
                    yield Record(part.shown, position, text)
                else:
                    start = Record(part.shown, position, text[:KEPT_RECORD_BYTES])
                    yield record_failure("read", oversized_error(limit), start)


def _text_parser(column: "Field") -> Callable[[Any], Any] | None:
    """Returns what parses the JSON texts in the values of a column; None: it holds none."""
    from pyarrow.types import is_list, is_struct

    if (column.metadata or {}).get(b"ARROW:extension:name") == b"google:sqlType:json":
        return _parsed
    if is_list(column.type):
        inner = _text_parser(column.type.value_field)
        return inner and (lambda values: [inner(value) for value in values or ()])
    if is_struct(column.type):
        parsers = {field.name: parse for field in column.type if (parse := _text_parser(field))}
        if parsers:
            return lambda value: value and value | {name: f(value[name]) for name, f in parsers.items()}
    return None


def _parsed(value: Any) -> Any:
    if isinstance(value, list):
        return [_parsed(text) for text in value]
    return value if value is None else json.loads(value)


STORAGE_EMULATOR = "BIGQUERY_STORAGE_EMULATOR_HOST"
"""Variable of the environment with the address of another service, HOST:PORT without TLS."""


def open_reader() -> "BigQueryReadClient":
    """Returns a client of the Storage Read API with the credentials of the process."""
    from google.cloud.bigquery_storage_v1 import BigQueryReadClient
    from google.cloud.bigquery_storage_v1.services.big_query_read.transports import BigQueryReadGrpcTransport

    return BigQueryReadClient(**storage_options(BigQueryReadGrpcTransport))


def storage_options(transport: Callable[..., Any]) -> dict[str, Any]:
    """Returns the options of a client of the Storage API; raises ConfigError if only half is emulated."""
    if host := os.environ.get(STORAGE_EMULATOR):
        import grpc

        options = [("grpc.max_receive_message_length", -1)]
        return {"transport": transport(channel=grpc.insecure_channel(host, options))}
    if os.environ.get("BIGQUERY_EMULATOR_HOST"):
        raise ConfigError(f"BIGQUERY_EMULATOR_HOST names another service: {STORAGE_EMULATOR} is missing")
    return {}


def _open_session(query: RowsQuery, table: str, most: int, patience: float) -> "ReadSession":
    from google.cloud.bigquery_storage_v1.types import DataFormat, ReadSession

    options = ReadSession.TableReadOptions(row_restriction=query.where)
    wanted = ReadSession(table=table, data_format=DataFormat.ARROW, read_options=options)
    how: Any = {"retry": _patient_storage(patience), "timeout": REQUEST_SECONDS}
    parent = f"projects/{query.project}"
    return open_reader().create_read_session(parent=parent, read_session=wanted, max_stream_count=most, **how)


def _resource(table: Any) -> str:
    return f"projects/{table.project}/datasets/{table.dataset_id}/tables/{table.table_id}"


def _patient_storage(seconds: float) -> Any:
    from google.api_core.exceptions import DeadlineExceeded, InternalServerError, ServiceUnavailable
    from google.api_core.retry import Retry, if_exception_type

    passing = if_exception_type(DeadlineExceeded, InternalServerError, ServiceUnavailable)
    return Retry(passing, timeout=seconds)


REQUEST_SECONDS = 120.0
"""Seconds after which a request without an answer is sent again."""
_ROLES = (
    "needed: BigQuery Data Viewer on the data, BigQuery Read Session User on the project, and for queries "
    "BigQuery Job User"
)
_LONGEST = 400


def open_client(project: str, location: str | None = None) -> "Client":
    """Returns a client with the credentials of the process."""
    from google.cloud.bigquery import Client

    return Client(project=project, location=location)


def patient(seconds: float) -> Any:
    """Returns how requests are repeated that the service cannot answer now."""
    from google.cloud.bigquery import DEFAULT_RETRY

    return DEFAULT_RETRY.with_timeout(seconds)


@contextmanager
def one_line(what: str, kind: type[ConfigError] | type[OSError], roles: str = _ROLES) -> Iterator[None]:
    """Converts errors of Google's libraries to errors of a kind, in one line that begins with `what`."""
    from google.api_core.exceptions import Forbidden, GoogleAPIError, RetryError, Unauthorized
    from google.auth.exceptions import GoogleAuthError

    try:
        yield
    except (Forbidden, Unauthorized) as error:
        raise kind(f"{what}: no permission: {google_error(error)} ({roles})") from None
    except GoogleAuthError as error:
        raise kind(f"{what}: no credentials: {google_error(error)}") from None
    except RetryError as error:
        raise kind(f"{what}: BigQuery does not answer: {google_error(error.cause or error)}") from None
    except (GoogleAPIError, WaitError, OSError) as error:
        raise kind(f"{what}: {google_error(error)}") from None


def google_error(error: BaseException) -> str:
    """Returns what an error of Google's libraries says, or those of its job, in one line."""
    details = getattr(error, "errors", None) or ()
    reasons = [str(detail.get("message", "")) for detail in details if isinstance(detail, dict)]
    text = "; ".join(dict.fromkeys(filter(None, reasons))) or getattr(error, "message", "") or str(error)
    return " ".join(text.split())[:_LONGEST] or type(error).__name__
