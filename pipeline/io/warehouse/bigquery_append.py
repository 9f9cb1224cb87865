"""Appends the changes of a stream to tables of BigQuery, by the Storage Write API.

The default stream of a table is used: a row may be there twice, if an answer was lost. Views count it once.
"""

import os
import random
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from turnwise.pipeline.io.arrow import arrow_rows, arrow_schema
from turnwise.pipeline.io.bigquery.client import told
from turnwise.pipeline.io.changes import StreamChange
from turnwise.pipeline.io.warehouse.bigquery_tables import Dataset, parse_dataset, prepare_stream, refused
from turnwise.pipeline.io.warehouse.change_tables import (
    CHANGES,
    change_rows,
    stream_table,
    stream_tables,
    table_rows,
)
from turnwise.pipeline.settings.run import SinkPlace
from turnwise.schemas.columns import WAREHOUSE_TABLES
from turnwise.schemas.failure import Stage
from turnwise.schemas.rows import FailureRow
from turnwise.schemas.values import JsonObject

if TYPE_CHECKING:
    from google.cloud.bigquery_storage_v1 import BigQueryWriteClient
    from google.cloud.bigquery_storage_v1.types import AppendRowsRequest, AppendRowsResponse
    from pyarrow import RecordBatch

EMULATOR = "BIGQUERY_STORAGE_EMULATOR_HOST"
"""Variable of the environment with the address of another service, HOST:PORT without TLS."""
_FAILURES = "failures"
_STAGE: Stage = "write"
_LARGEST = 8_000_000
_REQUEST_S = 60.0
_PATIENCE_S = 600.0
_LONGEST_PAUSE_S = 15.0
_SHOWN = 10


class _Lost(NamedTuple):
    row: JsonObject
    reason: str


class BigQueryChanges:
    """Writes changes: first their rows, then what makes them count, so that no part of one is ever seen.

    A row that a table does not take is a row of `failures` in its change.
    """

    def __init__(self, place: SinkPlace, patience: float = _PATIENCE_S) -> None:
        """Creates a writer.

        Args:
            place: The run and the dataset.
            patience: How long a service that does not answer is asked again, in seconds.
        """
        self.lost: list[str] = []
        self._url, self._patience = place.url, patience
        self._dataset, self._client = parse_dataset(place.url), open_writer()
        self._columns = stream_tables()

    def write(self, changes: Sequence[StreamChange]) -> None:
        """Writes changes; raises OSError if that fails for good."""
        failures = table_rows(changes, _FAILURES)
        for table in WAREHOUSE_TABLES:
            if table != _FAILURES:
                failures += self._append_rows(table, table_rows(changes, table))
        if self._append_rows(_FAILURES, self._append_rows(_FAILURES, failures)):
            raise OSError(f"--store {self._url}: rows of failures are not taken: {self.lost[-1]}")
        if self._append(CHANGES, change_rows(changes)):
            raise OSError(f"--store {self._url}: rows of {CHANGES} are not taken")

    def _append_rows(self, table: str, rows: Sequence[JsonObject]) -> list[JsonObject]:
        """Appends rows of a flat table; returns rows of failures for those that it does not take."""
        lost = self._append(stream_table(table), rows)
        said = (f"--store {self._url}: a row of {table} was not written: {each.reason}" for each in lost)
        self.lost += islice(said, max(0, _SHOWN - len(self.lost)))
        return [_failure_row(table, each) for each in lost]

    def _append(self, name: str, rows: Sequence[JsonObject]) -> list[_Lost]:
        if not rows:
            return []
        content, unfit = arrow_rows(rows, arrow_schema(self._columns[name]))
        lost = [_Lost(*each) for each in unfit]
        for batch in content.combine_chunks().to_batches():
            lost += self._append_batch(name, batch)
        return lost

    def _append_batch(self, name: str, batch: "RecordBatch") -> Iterator[_Lost]:
        """Appends rows, in parts that a request may hold, without those that are refused."""
        if batch.nbytes > _LARGEST and batch.num_rows == 1:
            yield _Lost(batch.to_pylist()[0], f"it has {batch.nbytes} bytes")
        elif batch.nbytes > _LARGEST:
            half = batch.num_rows // 2
            for part in (batch.slice(0, half), batch.slice(half)):
                yield from self._append_batch(name, part)
        elif batch.num_rows:
            refused_rows = self._send(_request(self._dataset, name, batch))
            yield from (_Lost(batch.slice(i, 1).to_pylist()[0], why) for i, why in refused_rows.items())
            kept = [i for i in range(batch.num_rows) if i not in refused_rows]
            if refused_rows and kept:
                yield from self._append_batch(name, batch.take(kept))

    def _send(self, request: "AppendRowsRequest") -> dict[int, str]:
        """Sends a request until it is answered.

        Returns:
            Number of a row -> why it is refused; if there is one, no row was appended.

        Raises:
            OSError: It is refused, or is not answered for a long time.
        """
        from google.api_core.exceptions import GoogleAPIError
        from google.auth.exceptions import GoogleAuthError

        deadline, pause = time.monotonic() + self._patience, 0.1
        while True:
            try:
                return _refused_rows(self._answer(request))
            except (GoogleAPIError, GoogleAuthError) as error:
                if not _may_pass(error) or time.monotonic() > deadline:
                    table = request.write_stream.split("/")[5]
                    raise OSError(f"--store {self._url}: {table}: {told(error)}") from None
            time.sleep(pause * random.uniform(0.5, 1))
            pause = min(2 * pause, _LONGEST_PAUSE_S)

    def _answer(self, request: "AppendRowsRequest") -> "AppendRowsResponse":
        from google.api_core.exceptions import ServiceUnavailable

        # The service finds the region of the dataset by this header.
        route = [("x-goog-request-params", f"write_stream={request.write_stream}")]
        options: dict[str, Any] = {"metadata": route, "retry": None, "timeout": _REQUEST_S}
        for answer in self._client.append_rows(iter([request]), **options):
            return answer
        raise ServiceUnavailable("the connection was closed without an answer")


def try_stream(place: SinkPlace) -> None:
    """Makes tables and views, and tries whether the service for appending answers.

    Raises:
        ConfigError: Rows cannot be appended.
    """
    from google.api_core.exceptions import NotFound, ServiceUnavailable
    from google.api_core.retry import Retry, if_exception_type

    prepare_stream(place.url)
    with refused(place.url):
        # A table that was just made is not found for a moment.
        retry = Retry(if_exception_type(NotFound, ServiceUnavailable), timeout=60)
        name = _stream_name(parse_dataset(place.url), CHANGES)
        open_writer().get_write_stream(name=name, retry=retry, timeout=_REQUEST_S)


def open_writer() -> "BigQueryWriteClient":
    """Returns a client with the credentials of the process."""
    from google.cloud.bigquery_storage_v1 import BigQueryWriteClient

    if host := os.environ.get(EMULATOR):
        import grpc
        from google.cloud.bigquery_storage_v1.services.big_query_write.transports import (
            BigQueryWriteGrpcTransport,
        )

        return BigQueryWriteClient(transport=BigQueryWriteGrpcTransport(channel=grpc.insecure_channel(host)))
    return BigQueryWriteClient()


def _stream_name(dataset: Dataset, name: str) -> str:
    return f"projects/{dataset.project}/datasets/{dataset.name}/tables/{name}/streams/_default"


def _request(dataset: Dataset, name: str, batch: "RecordBatch") -> "AppendRowsRequest":
    from google.cloud.bigquery_storage_v1.types import AppendRowsRequest

    request = AppendRowsRequest(write_stream=_stream_name(dataset, name), trace_id="turnwise")
    request.arrow_rows.writer_schema.serialized_schema = batch.schema.serialize().to_pybytes()
    request.arrow_rows.rows.serialized_record_batch = batch.serialize().to_pybytes()
    return request


def _refused_rows(answer: "AppendRowsResponse") -> dict[int, str]:
    """Returns why rows are refused, by number; raises the error of an answer as a whole."""
    from google.api_core.exceptions import from_grpc_status

    if answer.row_errors:
        return {error.index: " ".join(error.message.split()) for error in answer.row_errors}
    if answer.error.code:
        raise from_grpc_status(answer.error.code, answer.error.message)
    return {}


def _may_pass(error: Exception) -> bool:
    """Returns whether a request may succeed later. A table that was just made is not found for a moment."""
    from google.api_core import exceptions

    passing = (
        exceptions.ServerError,
        exceptions.Aborted,
        exceptions.TooManyRequests,
        exceptions.Cancelled,
        exceptions.NotFound,
    )
    return isinstance(error, passing) or bool(getattr(error, "retryable", False))


def _failure_row(table: str, lost: _Lost) -> JsonObject:
    """Returns the row of `failures`, of the same change, for a row that could not be written."""
    row: dict[str, Any] = dict.fromkeys(FailureRow.__annotations__)
    row |= {name: lost.row[name] for name in ("run_id", "date", "change_id")}
    # The same number whenever the change is written, and one that no row of the change has.
    row["change_row"] = -1 - WAREHOUSE_TABLES.index(table) - len(WAREHOUSE_TABLES) * lost.row["change_row"]
    for name in ("conversation_id", "criterion", "app_version"):
        value = lost.row.get(name)
        row[name] = value[:200] if isinstance(value, str) else None
    message = f"a row of {table} was not written: {lost.reason}"
    return row | {"stage": _STAGE, "error_type": "UnfitRowError", "message": message[:1000]}
