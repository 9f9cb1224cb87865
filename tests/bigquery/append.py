"""Serves BigQuery's Storage API over gRPC, and appends rows to the tables of the service."""

import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import NamedTuple

import grpc
import pyarrow
from google.cloud.bigquery_storage_v1.types import (
    AppendRowsRequest,
    AppendRowsResponse,
    CreateReadSessionRequest,
    GetWriteStreamRequest,
    ReadRowsRequest,
    ReadRowsResponse,
    ReadSession,
    WriteStream,
)

from tests.bigquery.reading import READ_SERVICE, ReadService

_SERVICE = "google.cloud.bigquery.storage.v1.BigQueryWrite"
_NAME = re.compile(r"projects/([^/]+)/datasets/(\w+)/tables/(\w+)/streams/_default")
_LARGEST = 10_000_000
_KINDS = {
    "VARCHAR": "string",
    "BIGINT": "int64",
    "DOUBLE": "double",
    "DATE": "date32[day]",
    "BOOLEAN": "bool",
}


class AppendFault(NamedTuple):
    """What goes wrong with the next requests for a table.

    Attributes:
        table: Regular expression of its name.
        code: Status of the connection, which breaks; None: it does not.
        error: Status of the answer; None: it is none.
        message: What the status says.
        is_written: Whether the rows are written before.
        times: How often.
    """

    table: str
    code: grpc.StatusCode | None = None
    error: grpc.StatusCode | None = None
    message: str = "as the test wants it"
    is_written: bool = False
    times: int = 1


class AppendService:
    """Appends to the tables of a service.

    Attributes:
        faults: What goes wrong with the next requests.
        refused_values: Text in a row -> message of the row's error.
        appended: Name of the table of every request, and its number of rows.
    """

    def __init__(self, service):
        self._service = service
        self.faults: list[AppendFault] = []
        self.refused_values: dict[str, str] = {}
        self.appended: list[tuple[str, int]] = []

    def append(self, requests, context):
        name = ""
        routes = [value for key, value in context.invocation_metadata() if key == "x-goog-request-params"]
        for request in requests:
            if not name and f"write_stream={request.write_stream}" not in routes:
                context.abort(grpc.StatusCode.INVALID_ARGUMENT, "the region is not known without a header")
            name = request.write_stream or name
            with self._service.lock:
                answer = self._answer(request, name, context)
            yield answer

    def get_stream(self, request, context):
        with self._service.lock:
            table = self._table(request.name, context)
            self._fail(table, context, is_written=None)
            return WriteStream(name=request.name, type_=WriteStream.Type.COMMITTED)

    def _answer(self, request, name, context):
        table = self._table(name, context)
        if len(AppendRowsRequest.serialize(request)) > _LARGEST:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "AppendRows request too large")
        self.appended.append((table, 0))
        if answer := self._fail(table, context, is_written=False):
            return answer
        rows = _rows(request)
        if answer := self._refused(table, rows):
            return answer
        self._service.duckdb.register("appended", rows)
        insert = f'INSERT INTO "{self._service.own_name}"."{table}" BY NAME SELECT * FROM appended'
        self._service.duckdb.execute(insert)
        self._service.duckdb.unregister("appended")
        self.appended[-1] = (table, rows.num_rows)
        self._fail(table, context, is_written=True)
        return AppendRowsResponse(append_result=AppendRowsResponse.AppendResult(), write_stream=name)

    def _table(self, name, context):
        found = _NAME.fullmatch(name)
        if not found or found[3] not in self._service.tables or found[2] != self._service.dataset:
            context.abort(grpc.StatusCode.NOT_FOUND, f"Requested entity was not found: {name}")
        assert found
        return found[3]

    def _fail(self, table, context, is_written):
        for i, fault in enumerate(self.faults):
            if re.search(fault.table, table) and is_written in (None, fault.is_written):
                self.faults[i : i + 1] = [fault._replace(times=fault.times - 1)] * (fault.times > 1)
                if fault.code is not None:
                    context.abort(fault.code, fault.message)
                return _error(fault.error, fault.message) if fault.error else None
        return None

    def _refused(self, table, rows):
        """Returns the answer to rows that do not fit the table, or whose values it refuses."""
        described = self._service.duckdb.execute(f'DESCRIBE "{self._service.own_name}"."{table}"').fetchall()
        columns = {row[0]: row[1] for row in described}
        for field in rows.schema:
            kind = columns.get(field.name, "")
            wanted = f"list<item: {_KINDS[kind[:-2]]}>" if kind.endswith("[]") else _KINDS.get(kind)
            if str(field.type) != wanted:
                said = (
                    f"Input schema has field {field.name} of type {field.type}, which the table does not have"
                )
                return _error(grpc.StatusCode.INVALID_ARGUMENT, said)
        errors = [
            AppendRowsResponse(row_errors=[{"index": i, "code": 1, "message": message}]).row_errors[0]
            for i, row in enumerate(rows.to_pylist())
            for text, message in self.refused_values.items()
            if text in str(row)
        ]
        if not errors:
            return None
        answer = _error(grpc.StatusCode.INVALID_ARGUMENT, "Errors found while processing rows")
        answer.row_errors = errors
        return answer


def _error(code, message):
    return AppendRowsResponse(error={"code": code.value[0], "message": message})


def _rows(request):
    schema = pyarrow.ipc.read_schema(pyarrow.py_buffer(request.arrow_rows.writer_schema.serialized_schema))
    content = pyarrow.py_buffer(request.arrow_rows.rows.serialized_record_batch)
    return pyarrow.Table.from_batches([pyarrow.ipc.read_record_batch(content, schema)])


@contextmanager
def started_storage(service):
    """Starts the Storage API on this machine; yields what appends, and the address."""
    appends, reads = AppendService(service), ReadService(service)
    handlers = {
        "AppendRows": grpc.stream_stream_rpc_method_handler(
            appends.append, AppendRowsRequest.deserialize, AppendRowsResponse.serialize
        ),
        "GetWriteStream": grpc.unary_unary_rpc_method_handler(
            appends.get_stream, GetWriteStreamRequest.deserialize, WriteStream.serialize
        ),
    }
    readers = {
        "CreateReadSession": grpc.unary_unary_rpc_method_handler(
            reads.create, CreateReadSessionRequest.deserialize, ReadSession.serialize
        ),
        "ReadRows": grpc.unary_stream_rpc_method_handler(
            reads.read, ReadRowsRequest.deserialize, ReadRowsResponse.serialize
        ),
    }
    options = [("grpc.max_receive_message_length", 2 * _LARGEST)]
    server = grpc.server(ThreadPoolExecutor(8), options=options)
    for name, methods in ((_SERVICE, handlers), (READ_SERVICE, readers)):
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(name, methods),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield appends, f"127.0.0.1:{port}"
    finally:
        server.stop(None).wait()
