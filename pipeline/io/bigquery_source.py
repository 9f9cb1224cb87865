"""Rows of BigQuery as records: the query of an address, the parts of its result, and their pages."""

import re
from collections.abc import Iterator
from concurrent.futures import TimeoutError as WaitError
from contextlib import contextmanager
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from turnwise.pipeline.io.records import oversized_error
from turnwise.pipeline.io.sinks.base import plain_row
from turnwise.pipeline.settings.extras import check_google
from turnwise.pipeline.settings.options import RowsAddress, parse_address
from turnwise.schemas.config import ConfigError
from turnwise.schemas.conversation import Record
from turnwise.schemas.jsonio import JsonObject, dump_json
from turnwise.schemas.run import InputFile
from turnwise.schemas.score import KEPT_RECORD_BYTES, Failure, record_failure

if TYPE_CHECKING:
    from google.cloud.bigquery import Client, QueryJob, Table


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
    with one_line(address.shown, ConfigError):
        try:
            table = find_table(address)
        except NotFound:
            return []
        if address.partition is None:
            return [InputFile(path, table.num_bytes or 0, table.modified.isoformat())]
        partitioning = table.time_partitioning
        start = address.partition.strftime(_IDS[partitioning.type_ if partitioning else "DAY"])
        dataset, _, name = address.table.rpartition(".")
        sql = _PARTITION.format(dataset=dataset, table=name, start=start)
        client = open_client(address.project)
        job = client.query(sql, retry=patient(PATIENCE), timeout=REQUEST_SECONDS)
        [row] = job.result(retry=patient(PATIENCE))
        changed = row["changed"]
        return [InputFile(address.shown, row["bytes"] or 0, changed.isoformat())] if changed else []


_ADDRESS = re.compile(
    r"bigquery://(?P<project>[a-z][a-z0-9.:-]{4,60}[a-z0-9])/(?P<name>\w{1,1024})", re.ASCII
)


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
_STARTS = {
    "DATE": "DATE '{}'",
    "DATETIME": "DATETIME '{} 00:00:00'",
    "TIMESTAMP": "TIMESTAMP '{} 00:00:00+00'",
}
"""Type of a partition column -> the start of a day."""


class RowsQuery(NamedTuple):
    """A query that was tried: its address in one line, the project that pays, and its text."""

    shown: str
    project: str
    sql: str


def prepare_query(path: str, patience: float = PATIENCE) -> RowsQuery:
    """Returns the query of an address after a dry run, which costs nothing and reads no row.

    Raises ConfigError if the address, the SQL or the permissions are wrong, or the service does not answer.
    """
    from google.cloud.bigquery import QueryJobConfig

    address = parse_address(path)
    check_google(address.shown)
    with one_line(address.shown, ConfigError):
        client = open_client(address.project)
        sql = address.query or f"SELECT * FROM `{address.table}`"
        if address.partition is not None:
            sql += f" WHERE {day_condition(find_table(address, patience), address.partition)}"
        tried = client.query(
            sql,
            QueryJobConfig(dry_run=True, use_query_cache=False),
            retry=patient(patience),
            job_retry=None,
            timeout=REQUEST_SECONDS,
        )
    if tried.statement_type not in (None, "SELECT"):
        raise ConfigError(f"{address.shown}: is a statement {tried.statement_type}, not one SELECT")
    return RowsQuery(address.shown, address.project, sql)


def find_table(address: RowsAddress, patience: float = PATIENCE) -> "Table":
    """Returns the table of an address; raises errors of Google's libraries."""
    client = open_client(address.project)
    return client.get_table(address.table, retry=patient(patience), timeout=REQUEST_SECONDS)


def day_condition(table: "Table", day: date) -> str:
    """Returns the condition that a row is of a day (in UTC), by the table's partition column.

    Raises ConfigError if the table is not partitioned by time.
    """
    partitioning = table.time_partitioning
    if partitioning is None:
        raise ConfigError(f"{table.reference}: is not partitioned by time; select the rows by ?query=SQL")
    column = partitioning.field or "_PARTITIONTIME"
    kind = next((field.field_type for field in table.schema if field.name == column), "TIMESTAMP")
    start, end = (_STARTS[kind].format(bound) for bound in (day, day + timedelta(1)))
    return f"`{column}` >= {start} AND `{column}` < {end}"


PART_ROWS = 20_000
"""Rows that one worker reads at a time."""
_PATIENCE = 600.0


class RowsPart(NamedTuple):
    """So many rows of the result of a job from the 0-based `start` on; results are kept for a day."""

    shown: str
    project: str
    location: str
    job_id: str
    start: int
    number: int


def result_parts(query: RowsQuery, part_rows: int = PART_ROWS, patience: float = _PATIENCE) -> list[RowsPart]:
    """Runs a query and divides its result; raises OSError if the query failed."""
    with one_line(query.shown, OSError):
        client = open_client(query.project)
        job = client.query(query.sql, retry=patient(patience), timeout=REQUEST_SECONDS)
        total = job.result(max_results=0, retry=patient(patience), timeout=None).total_rows or 0
    return [
        RowsPart(query.shown, query.project, job.location, job.job_id, start, min(part_rows, total - start))
        for start in range(0, total, part_rows)
    ]


def part_records(part: RowsPart, limit: int, patience: float = _PATIENCE) -> Iterator[Record | Failure]:
    """Yields the rows of a part as records; their position is their 1-based number in the result.

    A row of more than `limit` bytes is a failure. Raises OSError if a page cannot be read, or rows are
    missing.
    """
    last = part.start + part.number
    with one_line(f"{part.shown}: rows {part.start + 1} to {last}", OSError):
        for position, row in enumerate(_rows(part, patience), part.start + 1):
            text = dump_json(plain_row(row))
            if len(text) <= limit:
                yield Record(part.shown, position, text)
            else:
                start = Record(part.shown, position, text[:KEPT_RECORD_BYTES])
                yield record_failure("read", oversized_error(limit), start)


def _rows(part: RowsPart, patience: float) -> Iterator[JsonObject]:
    """Yields the rows; reading goes on at the row reached where the service forgot its place in the pages."""
    from google.api_core.exceptions import BadRequest

    client = open_client(part.project)
    job = cast("QueryJob", client.get_job(part.job_id, location=part.location, retry=patient(patience)))
    done = before = 0
    while done < part.number:
        try:
            pages = job.result(
                max_results=part.number - done,
                start_index=part.start + done,
                retry=patient(patience),
                job_retry=None,
                timeout=REQUEST_SECONDS,
            )
            for row in pages:
                yield dict(row)
                done += 1
        except BadRequest:
            if done == before:
                raise
            before = done
            continue
        if done < part.number:
            raise OSError(f"only {done} of {part.number} rows came")


def query_records(path: str, limit: int) -> Iterator[Record | Failure]:
    """Yields the rows of an address, for commands without a pipeline; raises ConfigError or OSError."""
    for part in result_parts(prepare_query(path)):
        yield from part_records(part, limit)


REQUEST_SECONDS = 120.0
"""Seconds after which a request without an answer is sent again."""
_ROLES = "needed: BigQuery Data Viewer on the data, and BigQuery Job User on the project"
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
def one_line(what: str, kind: type[ConfigError] | type[OSError]) -> Iterator[None]:
    """Converts errors of Google's libraries to errors of a kind, in one line that begins with `what`."""
    from google.api_core.exceptions import Forbidden, GoogleAPIError, RetryError, Unauthorized
    from google.auth.exceptions import GoogleAuthError

    try:
        yield
    except (Forbidden, Unauthorized) as error:
        raise kind(f"{what}: no permission: {told(error)} ({_ROLES})") from None
    except GoogleAuthError as error:
        raise kind(f"{what}: no credentials of Google Cloud: {told(error)}") from None
    except RetryError as error:
        raise kind(f"{what}: BigQuery does not answer: {told(error.cause or error)}") from None
    except (GoogleAPIError, WaitError, OSError) as error:
        raise kind(f"{what}: {told(error)}") from None


def told(error: BaseException) -> str:
    """Returns what an error of Google's libraries says, or those of its job, in one line."""
    details = getattr(error, "errors", None) or ()
    reasons = [str(detail.get("message", "")) for detail in details if isinstance(detail, dict)]
    text = "; ".join(dict.fromkeys(filter(None, reasons))) or getattr(error, "message", "") or str(error)
    return " ".join(text.split())[:_LONGEST] or type(error).__name__
