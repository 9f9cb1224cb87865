"""Serves the part of BigQuery's Storage API that reads rows, of tables and of results of queries."""

import re
from base64 import b64decode
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import grpc
import pyarrow
from google.cloud.bigquery_storage_v1.types import (
    ReadRowsResponse,
    ReadSession,
)

from tests.bigquery.errors import Trouble

READ_SERVICE = "google.cloud.bigquery.storage.v1.BigQueryRead"
_TABLE = re.compile(r"projects/([^/]+)/datasets/(\w+)/tables/(\w+)")
_CODES = {
    400: grpc.StatusCode.INVALID_ARGUMENT,
    403: grpc.StatusCode.PERMISSION_DENIED,
    404: grpc.StatusCode.NOT_FOUND,
    503: grpc.StatusCode.UNAVAILABLE,
}
_MOMENT = pyarrow.timestamp("us", tz="UTC")
_KINDS: dict[str, tuple[Any, Any]] = {
    "STRING": (pyarrow.string(), str),
    "JSON": (pyarrow.string(), str),
    "BYTES": (pyarrow.binary(), b64decode),
    "INTEGER": (pyarrow.int64(), int),
    "FLOAT": (pyarrow.float64(), float),
    "BOOLEAN": (pyarrow.bool_(), lambda cell: cell == "true"),
    "TIMESTAMP": (
        _MOMENT,
        lambda cell: datetime.fromtimestamp(int(cell) // 10**6, UTC).replace(microsecond=int(cell) % 10**6),
    ),
    "DATETIME": (pyarrow.timestamp("us"), datetime.fromisoformat),
    "DATE": (pyarrow.date32(), date.fromisoformat),
    "TIME": (pyarrow.time64("us"), time.fromisoformat),
    "NUMERIC": (pyarrow.decimal128(38, 9), Decimal),
    "BIGNUMERIC": (pyarrow.decimal256(76, 38), Decimal),
}
"""Type of BigQuery -> type of Arrow, and what makes a value of the text of the REST API."""


def _column(field):
    kind = field["type"]
    columns = field.get("fields")
    type_ = pyarrow.struct(map(_column, columns)) if columns else _KINDS[kind][0]
    if field.get("mode") == "REPEATED":
        type_ = pyarrow.list_(type_)
    marks = {"ARROW:extension:name": "google:sqlType:json"} if kind == "JSON" else None
    return pyarrow.field(field["name"], type_, metadata=marks)


def _value(field, cell):
    if field.get("mode") == "REPEATED":
        return [_value(field | {"mode": ""}, item["v"]) for item in cell or ()]
    if cell is None:
        return None
    if "fields" in field:
        pairs = zip(field["fields"], cell["f"], strict=True)
        return {inner["name"]: _value(inner, item["v"]) for inner, item in pairs}
    return _KINDS[field["type"]][1](cell)


class ReadService:
    """Reads what a service answers to `SELECT * FROM ...` of a table or a job's result."""

    def __init__(self, service):
        self._service = service
        self._streams: dict[str, pyarrow.Table] = {}

    def create(self, request, context):
        """Returns a session, whose rows are dealt to its streams in turn."""
        session, service = request.read_session, self._service
        with service.lock:
            self._log(f"SESSION {session.table}?{session.read_options.row_restriction}", context)
            try:
                rows = self._rows(session)
            except Trouble as trouble:
                context.abort(_CODES[trouble.reply.status], str(trouble))
            number = min(request.max_stream_count or service.streams, rows.num_rows)
            names = [f"{request.parent}/sessions/{len(self._streams)}/streams/{i}" for i in range(number)]
            self._streams |= {
                name: rows.take(list(range(i, rows.num_rows, number))) for i, name in enumerate(names)
            }
        return ReadSession(
            streams=[{"name": name} for name in names],
            arrow_schema={"serialized_schema": rows.schema.serialize().to_pybytes()},
            estimated_total_bytes_scanned=service.size,
        )

    def _rows(self, session):
        found = _TABLE.fullmatch(session.table)
        assert found
        if (job := found[3].removeprefix("anon_")) != found[3]:
            answer = self._service.answered[job.replace("_", "-")]
        else:
            where = session.read_options.row_restriction
            self._service.resource(found[2], found[3])
            answer = self._service.find_answer(f"SELECT * FROM `{'.'.join(found.groups())}` WHERE {where}")
        schema = pyarrow.schema(map(_column, answer.schema))
        rows = [
            {f["name"]: _value(f, cell) for f, cell in zip(answer.schema, row, strict=True)}
            for row in answer.rows
        ]
        return pyarrow.Table.from_pylist(rows, schema)

    def read(self, request, context):
        """Yields the rows of a stream from an offset on, some a message."""
        rows, page = self._streams[request.read_stream], self._service.page
        for start in range(request.offset, rows.num_rows, page):
            with self._service.lock:
                self._log(f"READ {request.read_stream}?offset={start}", context)
            [batch] = rows.slice(start, page).combine_chunks().to_batches()
            content = {"serialized_record_batch": batch.serialize().to_pybytes()}
            yield ReadRowsResponse(arrow_record_batch=content, row_count=batch.num_rows)

    def _log(self, line, context):
        """Notes a request, and answers with the error that a test wants."""
        self._service.requests.append(line)
        rule = self._service.take_rule(line)
        if rule is not None and rule.trouble is not None:
            context.abort(_CODES[rule.trouble.reply.status], str(rule.trouble))
