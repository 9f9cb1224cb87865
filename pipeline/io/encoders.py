"""Rows as the content of files."""

import io
import json
from collections.abc import Callable, Sequence
from typing import Any, BinaryIO, Literal, Protocol

from turnwise.schemas.avro_schema import avro_schema, json_fields
from turnwise.schemas.jsonio import dump_json
from turnwise.schemas.values import JsonObject

OutputFormat = Literal["jsonl", "avro"]


class RowWriter(Protocol):
    """Writes the rows of one table into one open file."""

    def write(self, rows: Sequence[JsonObject]) -> None:
        """Adds rows."""

    def finish(self) -> None:
        """Completes the content; the file stays open."""


class JsonLinesWriter:
    """Rows as JSON Lines; a row of the results table is the CES EvaluationResult itself."""

    def __init__(self, file: BinaryIO, table: str) -> None:
        self._file, self._column = file, "result" if table == "results" else None

    def write(self, rows: Sequence[JsonObject]) -> None:
        """Adds one line a row."""
        column = self._column
        lines = [dump_json(row if column is None else row[column]) for row in rows]
        if lines:
            self._file.write(b"\n".join(lines) + b"\n")

    def finish(self) -> None:
        """Has nothing left to do."""


class AvroWriter:
    """Rows as Avro records; a column that holds a JSON object is its JSON text."""

    def __init__(self, file: BinaryIO, table: str) -> None:
        """Writes the header."""
        from fastavro.write import Writer

        self._columns = json_fields(table)
        self._writer: Any = Writer(file, avro_schema(table), codec="deflate")

    def write(self, rows: Sequence[JsonObject]) -> None:
        """Adds one record a row."""
        for row in rows:
            texts = {
                name: None if row[name] is None else dump_json(row[name]).decode() for name in self._columns
            }
            self._writer.write({**row, **texts})

    def finish(self) -> None:
        """Writes the last block."""
        self._writer.flush()


WRITERS: dict[OutputFormat, Callable[[BinaryIO, str], RowWriter]] = {
    "jsonl": JsonLinesWriter,
    "avro": AvroWriter,
}


def table_content(rows: Sequence[JsonObject], table: str, output_format: OutputFormat) -> bytes:
    """Returns the whole content of a small table's file."""
    content = io.BytesIO()
    writer = WRITERS[output_format](content, table)
    writer.write(rows)
    writer.finish()
    return content.getvalue()


def document_content(document: JsonObject) -> bytes:
    """Returns a document as JSON that a person can read."""
    return json.dumps(document, indent=2, ensure_ascii=False).encode() + b"\n"
