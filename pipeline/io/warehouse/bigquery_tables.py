"""The tables of a BigQuery dataset: their schemas, and what must be true of them before a run."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from turnwise.pipeline.io.bigquery.client import told
from turnwise.pipeline.io.staging import VERSION, staged_columns
from turnwise.pipeline.io.warehouse.change_tables import CHANGES, stream_tables, view_statements
from turnwise.pipeline.settings.extras import check_google
from turnwise.pipeline.settings.outputs import SinkPlace
from turnwise.schemas.config import ConfigError
from turnwise.schemas.rows import DATE, WAREHOUSE_TABLES, Column

if TYPE_CHECKING:
    from google.cloud.bigquery import Client, SchemaField

BIGQUERY_TYPES = {
    "string": "STRING",
    "long": "INTEGER",
    "double": "FLOAT",
    "boolean": "BOOLEAN",
    "date": "DATE",
}
"""Kind of a column -> type of BigQuery."""
_SAME = {"INT64": "INTEGER", "FLOAT64": "FLOAT", "BOOL": "BOOLEAN"}
_CLUSTERED = (VERSION, "criterion")
_ADDRESS = re.compile(
    r"bigquery://(?P<project>[a-z][a-z0-9.:-]{4,60}[a-z0-9])/(?P<name>\w{1,1024})", re.ASCII
)
_ROLES = "needed: BigQuery Data Editor on the dataset, and BigQuery Job User on the project"


class Dataset(NamedTuple):
    """A dataset of BigQuery."""

    project: str
    name: str

    def table(self, table: str) -> str:
        """Returns the full name of a table."""
        return f"{self.project}.{self.name}.{table}"


def parse_dataset(url: str) -> Dataset:
    """Returns the dataset of an address.

    Raises:
        ValueError: It has another form.
    """
    found = _ADDRESS.fullmatch(url)
    if not found:
        raise ValueError("its form is bigquery://PROJECT/DATASET")
    return Dataset(found["project"], found["name"])


def open_client(dataset: Dataset, location: str | None = None) -> "Client":
    """Returns a client with the credentials of the process."""
    from google.cloud.bigquery import Client

    return Client(project=dataset.project, location=location)


def bigquery_schema(columns: tuple[Column, ...]) -> "list[SchemaField]":
    """Returns the schema of columns. All may be null, because no other columns can be added to a table."""
    from google.cloud.bigquery import SchemaField

    return [
        SchemaField(column.name, BIGQUERY_TYPES[column.kind], "REPEATED" if column.is_list else "NULLABLE")
        for column in columns
    ]


def prepare_stream(url: str, patience: float = 20.0) -> None:
    """Makes the tables to which streams append, and the views that show their present rows.

    Args:
        url: Address of the dataset.
        patience: How long a service that does not answer is asked again, in seconds.

    Raises:
        ConfigError: They cannot be made, or tables of batches have the names of the views.
    """
    from google.cloud.bigquery import DEFAULT_RETRY

    dataset = parse_dataset(url)
    retry = DEFAULT_RETRY.with_timeout(patience)
    with refused(url):
        client, location = _open_dataset(dataset, patience)
        known = {table.table_id for table in client.list_tables(dataset.name) if table.table_type == "TABLE"}
        if taken := known & set(WAREHOUSE_TABLES):
            raise ConfigError(
                f"holds tables of batches ({', '.join(sorted(taken))}): a stream needs a dataset of its own"
            )
        for table, columns in stream_tables().items():
            _prepare_table(client, dataset.table(table), columns, patience)
        sql = ";\n".join([*view_statements(lambda name: f"`{dataset.table(name)}`"), ""])
        client.query(sql, location=location, retry=retry, timeout=patience).result()


def check_run_id(place: SinkPlace, patience: float = 20.0) -> None:
    """Checks that a dataset holds no stream of a run's id: it would hide the rows of the new one.

    Revisions of a stream begin at 0, and of each thing the highest one counts.

    Raises:
        ConfigError: It holds one.
    """
    from google.cloud.bigquery import DEFAULT_RETRY, QueryJobConfig, ScalarQueryParameter

    dataset, retry = parse_dataset(place.url), DEFAULT_RETRY.with_timeout(patience)
    sql = f"SELECT 1 AS found FROM `{dataset.table(CHANGES)}` WHERE run_id = @run_id LIMIT 1"
    config = QueryJobConfig(query_parameters=[ScalarQueryParameter("run_id", "STRING", place.run_id)])
    with refused(place.url):
        client, location = _open_dataset(dataset, patience)
        if list(client.query(sql, config, location=location, retry=retry, timeout=patience).result()):
            raise ConfigError(
                f"holds a stream with the run id {place.run_id} already: name another --run_id, or "
                f"delete its rows of {CHANGES}"
            )


def prepare_tables(url: str, patience: float = 20.0) -> None:
    """Makes the missing tables of a dataset, and tries whether a run can be written there.

    Args:
        url: Address of the dataset.
        patience: How long a service that does not answer is asked again, in seconds.

    Raises:
        ConfigError: A run cannot be written.
    """
    from google.cloud.bigquery import DEFAULT_RETRY, QueryJobConfig

    dataset = parse_dataset(url)
    retry = DEFAULT_RETRY.with_timeout(patience)
    with refused(url):
        client, location = _open_dataset(dataset, patience)
        for table in WAREHOUSE_TABLES:
            _prepare_table(client, dataset.table(table), staged_columns(table, by_version=False), patience)
        sql = f"DELETE FROM `{dataset.table(WAREHOUSE_TABLES[0])}` WHERE run_id = ''"
        tried = QueryJobConfig(dry_run=True, use_query_cache=False)
        client.query(sql, tried, location=location, retry=retry, job_retry=None, timeout=patience)


def _open_dataset(dataset: Dataset, patience: float) -> "tuple[Client, str]":
    """Returns a client, and the location of the dataset; raises ConfigError if it is not there."""
    from google.api_core.exceptions import NotFound
    from google.cloud.bigquery import DEFAULT_RETRY

    client, retry = open_client(dataset), DEFAULT_RETRY.with_timeout(patience)
    try:
        return client, client.get_dataset(dataset.name, retry=retry, timeout=patience).location
    except NotFound:
        raise ConfigError(f"there is no such dataset; make it with: bq mk {dataset.name}") from None


def _prepare_table(client: "Client", name: str, columns: tuple[Column, ...], patience: float) -> None:
    from google.cloud.bigquery import DEFAULT_RETRY, Table, TimePartitioning

    wanted = Table(name, bigquery_schema(columns))
    wanted.time_partitioning = TimePartitioning(field=DATE.name)
    names = {column.name for column in columns}
    wanted.clustering_fields = [name for name in _CLUSTERED if name in names] or None
    retry = DEFAULT_RETRY.with_timeout(patience)
    client.create_table(wanted, exists_ok=True, retry=retry, timeout=patience)
    found = client.get_table(name, retry=retry, timeout=patience)
    faults = list(_faults(wanted.schema, found.schema))
    if found.table_type != "TABLE":
        faults = [f"is a {found.table_type.lower()}"]
    if faults:
        raise ConfigError(f"the table {wanted.table_id} {'; '.join(faults)}")


def _faults(wanted: "list[SchemaField]", found: "list[SchemaField]") -> Iterator[str]:
    """Yields what is wrong with the columns of a table; it may have further ones that may be null."""
    known = {field.name.lower(): field for field in found}
    for field in wanted:
        other = known.pop(field.name.lower(), None)
        kind = f"{field.field_type} {field.mode}"
        if other is None:
            yield f"lacks the column {field.name} ({kind}): add it with ALTER TABLE"
        elif (stated := _kind(other)) != _kind(field):
            yield f"has the column {field.name} as {' '.join(stated)}, not {kind}"
    for name, field in known.items():
        if field.mode == "REQUIRED":
            yield f"has the column {name}, which is required and unknown here"


def _kind(field: "SchemaField") -> tuple[str, str]:
    mode = field.mode if field.mode == "REPEATED" else "NULLABLE"
    return _SAME.get(field.field_type, field.field_type), mode


@contextmanager
def refused(url: str) -> Iterator[None]:
    """Converts errors of Google's libraries.

    Raises:
        ConfigError: There was one.
    """
    from google.api_core.exceptions import Forbidden, GoogleAPIError, Unauthorized
    from google.auth.exceptions import GoogleAuthError

    check_google(f"--store {url}")
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"--store {url}: {error}") from None
    except (Forbidden, Unauthorized) as error:
        raise ConfigError(f"--store {url}: no permission: {told(error)} ({_ROLES})") from None
    except GoogleAuthError as error:
        raise ConfigError(f"--store {url}: no credentials: {told(error)}") from None
    except (GoogleAPIError, OSError) as error:
        raise ConfigError(f"--store {url}: cannot be used: {told(error)}") from None
