"""The query that selects the rows of an address, and what is known of them before it runs."""

from datetime import date, timedelta
from typing import TYPE_CHECKING, NamedTuple

from turnwise.pipeline.io.bigquery.client import REQUEST_SECONDS, one_line, open_rows_client, patient
from turnwise.pipeline.settings.extras import check_google
from turnwise.pipeline.settings.options import RowsAddress, parse_address
from turnwise.schemas.config import ConfigError

if TYPE_CHECKING:
    from google.cloud.bigquery import Table

PATIENCE = 60.0
"""Seconds for which a service that does not answer is asked again before the run."""
_STARTS = {
    "DATE": "DATE '{}'",
    "DATETIME": "DATETIME '{} 00:00:00'",
    "TIMESTAMP": "TIMESTAMP '{} 00:00:00+00'",
}
"""Type of a partition column -> the start of a day."""


class RowsQuery(NamedTuple):
    """A query that was tried.

    Attributes:
        shown: The address in one line.
        project: The project that pays for it.
        sql: The text.
    """

    shown: str
    project: str
    sql: str


def prepare_query(path: str, patience: float = PATIENCE) -> RowsQuery:
    """Returns the query of an address after a dry run, which costs nothing and reads no row.

    Raises:
        ConfigError: The address, the SQL text or the permissions are wrong, or the service does not answer.
    """
    from google.cloud.bigquery import QueryJobConfig

    address = parse_address(path)
    check_google(address.shown)
    with one_line(address.shown, ConfigError):
        client = open_rows_client(address.project)
        sql = address.query or _sql_of_table(address, patience)
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


def _sql_of_table(address: RowsAddress, patience: float) -> str:
    sql = f"SELECT * FROM `{address.table}`"
    if address.partition is None:
        return sql
    return f"{sql} WHERE {day_condition(find_table(address, patience), address.partition)}"


def find_table(address: RowsAddress, patience: float = PATIENCE) -> "Table":
    """Returns the table of an address; raises errors of Google's libraries."""
    client = open_rows_client(address.project)
    return client.get_table(address.table, retry=patient(patience), timeout=REQUEST_SECONDS)


def day_condition(table: "Table", day: date) -> str:
    """Returns the condition that a row is of a day (in UTC), by the table's partition column.

    Raises:
        ConfigError: The table is not partitioned by time.
    """
    partitioning = table.time_partitioning
    if partitioning is None:
        raise ConfigError(f"{table.reference}: is not partitioned by time; select the rows by ?query=SQL")
    column = partitioning.field or "_PARTITIONTIME"
    kind = next((field.field_type for field in table.schema if field.name == column), "TIMESTAMP")
    start, end = (_STARTS[kind].format(each) for each in (day, day + timedelta(1)))
    return f"`{column}` >= {start} AND `{column}` < {end}"
