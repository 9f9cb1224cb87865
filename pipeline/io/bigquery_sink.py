"""Appends the changes of a stream to tables of BigQuery, by the Storage Write API.

The default stream of a table is used: a row may be there twice, if an answer was lost. Views count it once.
"""

import os
from collections.abc import Iterator, Sequence
from threading import Event
from typing import TYPE_CHECKING, Any, NamedTuple

from turnwise.pipeline.io.bigquery.client import told
from turnwise.pipeline.io.changes import RefusedRow, StreamChange
from turnwise.pipeline.io.warehouse.bigquery_tables import (
    Dataset,
    check_run_id,
    parse_dataset,
    prepare_stream,
    refused,
)
from turnwise.pipeline.io.warehouse.change_tables import (
    CHANGES,
    change_rows,
    stream_table,
    stream_tables,
    table_rows,
)
from turnwise.pipeline.io.warehouse.waiting import Waiting
from turnwise.pipeline.settings.outputs import SinkPlace
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.rows import WAREHOUSE_TABLES, FailureRow, arrow_rows, arrow_schema
from turnwise.schemas.score import Stage

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
_VALUES = ("conversation_id", "criterion", "app_version")


class _Lost(NamedTuple):
    table: str
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
        self.stop = Event()
        self._url, self._patience = place.url, patience
        self._dataset, self._client = parse_dataset(place.url), open_writer()
        self._columns = stream_tables()

    def write(self, changes: Sequence[StreamChange]) -> list[RefusedRow]:
        """Writes changes; returns the rows that are not taken, and raises OSError if it fails for good."""
        lost: list[_Lost] = []
        for table in WAREHOUSE_TABLES:
            if table != _FAILURES:
                lost += self._append_rows(table, table_rows(changes, table))
        told = [_failure_row(each) for each in lost]
        refused_rows = self._append_rows(_FAILURES, table_rows(changes, _FAILURES) + told)
        lost += (each for each in refused_rows if each.row["change_row"] >= 0)
        # A value of the row, such as an id, may be what is refused: it is left out in the end.
        refused_rows = self._append_rows(_FAILURES, [_failure_row(each) for each in refused_rows])
        self._append_rows(_FAILURES, [_without_values(each.row) for each in refused_rows])
        if self._append(CHANGES, change_rows(changes)):
            raise OSError(f"--store {self._url}: rows of {CHANGES} are not taken")
        return [RefusedRow(each.row["change_id"], f"--store {self._url}: {_told(each)}") for each in lost]

    def _append_rows(self, table: str, rows: Sequence[JsonObject]) -> list[_Lost]:
        """Appends rows of a flat table; returns those that it does not take."""
        return [_Lost(table, *each) for each in self._append(stream_table(table), rows)]

    def _append(self, name: str, rows: Sequence[JsonObject]) -> list[tuple[JsonObject, str]]:
        """Appends rows; returns those that are not taken, with the reasons."""
        if not rows:
            return []
        content, lost = arrow_rows(rows, arrow_schema(self._columns[name]))
        for batch in content.combine_chunks().to_batches():
            lost += self._append_batch(name, batch)
        return lost

    def _append_batch(self, name: str, batch: "RecordBatch") -> Iterator[tuple[JsonObject, str]]:
        """Appends rows, in parts that a request may hold, without those that are refused."""
        if batch.nbytes > _LARGEST and batch.num_rows == 1:
            yield batch.to_pylist()[0], f"it has {batch.nbytes} bytes"
        elif batch.nbytes > _LARGEST:
            half = batch.num_rows // 2
            for part in (batch.slice(0, half), batch.slice(half)):
                yield from self._append_batch(name, part)
        elif batch.num_rows:
            refused_rows = self._send(_request(self._dataset, name, batch))
            yield from ((batch.slice(i, 1).to_pylist()[0], why) for i, why in refused_rows.items())
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

        what = f"--store {self._url}: {request.write_stream.split('/')[5]}"
        waiting = Waiting(what, self._patience, self.stop)
        while True:
            try:
                found = _refused_rows(self._answer(request))
            except (GoogleAPIError, GoogleAuthError) as error:
                if not _may_pass(error):
                    raise OSError(f"{what}: {told(error)}") from None
                if not waiting.again(told(error)):
                    raise OSError(waiting.gave_up(told(error))) from None
            else:
                waiting.end()
                return found

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
    if place.is_new:
        check_run_id(place)
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


def _failure_row(lost: _Lost) -> JsonObject:
    """Returns the row of `failures`, of the same change, for a row that could not be written."""
    if lost.row["change_row"] < 0:
        return lost.row
    row: dict[str, Any] = dict.fromkeys(FailureRow.__annotations__)
    row |= {name: lost.row[name] for name in ("run_id", "date", "change_id")}
    # The same number whenever the change is written, and one that no row of the change has.
    row["change_row"] = (
        -1 - WAREHOUSE_TABLES.index(lost.table) - len(WAREHOUSE_TABLES) * lost.row["change_row"]
    )
    for name in _VALUES:
        value = lost.row.get(name)
        row[name] = value[:200] if isinstance(value, str) else None
    return row | {"stage": _STAGE, "error_type": "UnfitRowError", "message": _told(lost)[:1000]}


def _without_values(row: JsonObject) -> JsonObject:
    """Returns a row of `failures` without what came from the row that could not be written."""
    what = row["message"].partition(": ")[0]
    return row | dict.fromkeys(_VALUES) | {"message": f"{what}, nor can its values be told here"}


def _told(lost: _Lost) -> str:
    return f"a row of {lost.table} was not written: {lost.reason}"
