"""Rows as the bytes of a file."""

import io
import json
from collections.abc import Iterator, Sequence

from schemas.avro_schema import avro_schema, json_fields
from schemas.values import JsonObject
from transforms.wire import dump_json


class JsonLines:
    """Rows as JSON Lines; a row of the results table is the CES EvaluationResult itself."""

    def __init__(self, table: str) -> None:
        """Keeps what a line holds."""
        self._column = "result" if table == "results" else None

    def texts(self, rows: Sequence[JsonObject]) -> list[bytes]:
        """Returns the lines of a list of rows as one text without the last line end; nothing for no rows."""
        lines = [dump_json(row if self._column is None else row[self._column]) for row in rows]
        return [b"\n".join(lines)] if lines else []

    def file(self, lists: Sequence[Sequence[JsonObject]]) -> bytes:
        """Returns the whole content of a file."""
        return b"".join(text + b"\n" for rows in lists for text in self.texts(rows))


class AvroRows:
    """Rows as Avro records; a column that holds a JSON object is its JSON text."""

    def __init__(self, table: str) -> None:
        """Keeps the table's schema."""
        self._table, self._columns = table, json_fields(table)

    def records(self, rows: Sequence[JsonObject]) -> Iterator[JsonObject]:
        """Yields the records of a list of rows."""
        for row in rows:
            texts = {
                name: None if row[name] is None else dump_json(row[name]).decode() for name in self._columns
            }
            yield {**row, **texts}

    def file(self, lists: Sequence[Sequence[JsonObject]]) -> bytes:
        """Returns the whole content of a file."""
        import fastavro

        content = io.BytesIO()
        fastavro.writer(
            content, avro_schema(self._table), (row for rows in lists for row in self.records(rows))
        )
        return content.getvalue()


class IndentedJson:
    """A document as JSON that a person can read."""

    def file(self, document: JsonObject) -> bytes:
        """Returns the whole content of a file."""
        return json.dumps(document, indent=2, ensure_ascii=False).encode() + b"\n"
