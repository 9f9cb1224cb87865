"""Replaces a run in the tables of a BigQuery dataset."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, BinaryIO, cast
from uuid import uuid4

from apache_beam.io.filesystems import FileSystems

from turnwise.pipeline.io.bigquery.client import told
from turnwise.pipeline.io.sinks.base import TableSink
from turnwise.pipeline.io.staging import (
    StagedRows,
    StagingSink,
    lost_rows,
    make_folder,
    remove_earlier,
    remove_folder,
    staged_columns,
    staging_folder,
)
from turnwise.pipeline.io.warehouse.bigquery_tables import (
    Dataset,
    bigquery_schema,
    open_client,
    parse_dataset,
    prepare_tables,
    refused,
)
from turnwise.pipeline.settings.outputs import SinkPlace
from turnwise.schemas.config import ConfigError
from turnwise.schemas.rows import WAREHOUSE_TABLES, arrow_schema

if TYPE_CHECKING:
    from google.cloud.bigquery import Client, LoadJob, LoadJobConfig

_URIS_OF_A_JOB = 10_000
_KEPT = timedelta(days=1)
_TRIES = 6
_CONFLICTS = ("concurrent update", "Could not serialize access")


def open_tables(place: SinkPlace) -> TableSink:
    """Returns the sink of a run, which stages rows below `--output`."""
    return StagingSink(staging_folder(place.output, place), place.date, by_version=False)


def try_tables(place: SinkPlace) -> None:
    """Makes the tables, and tries whether files can be written and loaded.

    Raises:
        ConfigError: Files cannot be written below `--output`, or not be loaded into the dataset.
    """
    prepare_tables(place.url)
    folder = staging_folder(place.output, place)
    try:
        make_folder(folder)
    except Exception as error:  # Beam's file systems raise errors of many libraries.
        raise ConfigError(f"--output {place.output}: {' '.join(str(error).split())}") from None
    with refused(place.url):
        _try_load(place, FileSystems.join(folder, "tried.parquet"))


def _try_load(place: SinkPlace, path: str) -> None:
    """Loads a file without rows in the way of all files, which tries permissions and locations."""
    from pyarrow.parquet import write_table

    table = WAREHOUSE_TABLES[0]
    with FileSystems.create(path) as file:
        write_table(arrow_schema(staged_columns(table, by_version=False)).empty_table(), file)
    with _loaded(parse_dataset(place.url), [StagedRows(table, None, path, 0, ())]):
        pass


def discard_tables(place: SinkPlace) -> None:
    """Removes the files that a run has not completed; tables of theirs expire."""
    remove_folder(staging_folder(place.output, place))


def complete_tables(place: SinkPlace, staged: Sequence[StagedRows]) -> list[str]:
    """Loads the rows of a run into tables of their own, and puts them in place of an earlier run's at once.

    It can be repeated: the rows of the run are replaced again.

    Returns:
        What was not written, one line each.

    Raises:
        OSError: Nothing of the run was written.
    """
    from google.api_core.exceptions import GoogleAPIError
    from google.auth.exceptions import GoogleAuthError

    dataset = parse_dataset(place.url)
    try:
        with _loaded(dataset, staged) as (client, loaded):
            _replace_rows(client, _replacement(dataset, loaded), place.run_id)
    except (GoogleAPIError, GoogleAuthError, OSError) as error:
        rows = sum(part.rows for part in staged)
        raise OSError(f"--store {place.url}: none of {rows} rows were written: {told(error)}") from None
    finally:
        remove_earlier(place.output, place)
    return [f"--store {place.url}: {line}" for line in lost_rows(staged)]


@contextmanager
def _loaded(dataset: Dataset, staged: Sequence[StagedRows]) -> "Iterator[tuple[Client, dict[str, str]]]":
    """Loads staged rows into tables that are removed in the end; yields the names of those by table."""
    client = open_client(dataset)
    client = open_client(dataset, client.get_dataset(dataset.name).location)
    suffix = f"_staging_{uuid4().hex}"
    loaded: dict[str, str] = {}
    try:
        for table in WAREHOUSE_TABLES:
            parts = [part for part in staged if part.table == table and part.path]
            if parts:
                loaded[table] = dataset.table(table + suffix)
                _load(client, loaded[table], table, parts)
        yield client, loaded
    finally:
        for name in loaded.values():
            with suppress(Exception):  # it expires
                client.delete_table(name, not_found_ok=True)


def _load(client: "Client", name: str, table: str, parts: Sequence[StagedRows]) -> None:
    """Loads files into a new table of their own, which BigQuery removes after a day if nobody does."""
    from google.cloud.bigquery import LoadJobConfig, SourceFormat, Table
    from google.cloud.bigquery.format_options import ParquetOptions

    schema = bigquery_schema(staged_columns(table, by_version=False))
    made = Table(name, schema)
    made.expires = datetime.now(UTC) + _KEPT
    client.create_table(made, exists_ok=True)
    options = ParquetOptions()
    options.enable_list_inference = True
    config = LoadJobConfig(
        source_format=SourceFormat.PARQUET,
        schema=schema,
        parquet_options=options,
        write_disposition="WRITE_APPEND",
    )
    jobs = list(_jobs(client, name, table, [part.path for part in parts], config))
    for job in jobs:
        _wait(job)
    loaded = sum(job.output_rows or 0 for job in jobs)
    if loaded != (written := sum(part.rows for part in parts)):
        raise OSError(f"{loaded} instead of {written} rows of {table} were loaded")


def _wait(job: "LoadJob") -> None:
    """Waits for the end of a job; its error does not tell what else went wrong, such as other rows."""
    from google.api_core.exceptions import GoogleAPIError

    try:
        job.result()
    except GoogleAPIError as error:
        reasons = [reason["message"] for reason in job.errors or ()]
        raise OSError("; ".join(dict.fromkeys(reasons)) or told(error)) from None


def _jobs(
    client: "Client", name: str, table: str, paths: Sequence[str], config: "LoadJobConfig"
) -> "Iterator[LoadJob]":
    """Starts the load jobs: of files in Cloud Storage by their addresses, of others in one upload."""
    options = {"destination": name, "job_config": config}
    if paths[0].startswith("gs://"):
        for start in range(0, len(paths), _URIS_OF_A_JOB):
            yield _started(
                client, client.load_table_from_uri, paths[start : start + _URIS_OF_A_JOB], **options
            )
    else:
        with _merged(table, paths) as file:
            yield _started(client, client.load_table_from_file, file, **options)


def _started(client: "Client", start: Callable[..., "LoadJob"], *given: Any, **options: Any) -> "LoadJob":
    """Starts a job; one that is there already was started by a request whose answer was lost."""
    from google.api_core.exceptions import Conflict

    job_id = uuid4().hex
    try:
        return start(*given, job_id=job_id, **options)
    except Conflict:
        return cast("LoadJob", client.get_job(job_id))


@contextmanager
def _merged(table: str, paths: Sequence[str]) -> Iterator[BinaryIO]:
    """Opens a temporary file with the rows of all files."""
    from pyarrow.parquet import ParquetFile, ParquetWriter

    with TemporaryFile() as file:
        schema = arrow_schema(staged_columns(table, by_version=False))
        with ParquetWriter(file, schema, compression="zstd") as writer:
            for path in paths:
                with FileSystems.open(path) as staged:
                    for batch in ParquetFile(staged).iter_batches():
                        writer.write_batch(batch)
        file.seek(0)
        yield file


def _replacement(dataset: Dataset, loaded: dict[str, str]) -> str:
    """Returns one transaction that removes the run's rows from every table, and inserts the loaded ones."""
    lines = ["BEGIN TRANSACTION"]
    for table in WAREHOUSE_TABLES:
        lines.append(f"DELETE FROM `{dataset.table(table)}` WHERE run_id = @run_id")
        if table in loaded:
            names = ", ".join(f"`{column.name}`" for column in staged_columns(table, by_version=False))
            lines.append(
                f"INSERT INTO `{dataset.table(table)}` ({names}) SELECT {names} FROM `{loaded[table]}`"
            )
    return ";\n".join([*lines, "COMMIT TRANSACTION", ""])


def _replace_rows(client: "Client", sql: str, run_id: str) -> None:
    from google.api_core.exceptions import GoogleAPIError
    from google.cloud.bigquery import QueryJobConfig, ScalarQueryParameter

    config = QueryJobConfig(query_parameters=[ScalarQueryParameter("run_id", "STRING", run_id)])
    for attempt in range(_TRIES):
        try:
            client.query(sql, config).result()
            return
        except GoogleAPIError as error:
            if attempt == _TRIES - 1 or not any(words in str(error) for words in _CONFLICTS):
                raise
        time.sleep(2**attempt)
