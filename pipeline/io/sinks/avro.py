"""Tables as Avro files."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

from turnwise.pipeline.io.sinks.base import SinkKind, register_sink
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.rows import avro_schema, json_columns, with_json_texts


class AvroWriter:
    """Rows as Avro records; a column that holds a JSON object is its JSON text."""

    def __init__(self, file: BinaryIO, table: str) -> None:
        """Writes the header."""
        from fastavro.write import Writer

        self._columns = json_columns(table)
        self._writer: Any = Writer(file, avro_schema(table), codec="deflate")

    def write(self, rows: Sequence[JsonObject]) -> None:
        """Adds one record a row."""
        for row in rows:
            self._writer.write(with_json_texts(row, self._columns))

    def finish(self) -> None:
        """Writes the last block."""
        self._writer.flush()


def _rows(file: BinaryIO, table: str, mark: bytes) -> Iterator[JsonObject]:
    import fastavro

    columns = json_columns(table)
    for row in fastavro.reader(file):
        if isinstance(row, dict):
            texts = {name: row[name] for name in columns if name in row}
            yield row | {name: None if text is None else json.loads(text) for name, text in texts.items()}


register_sink(SinkKind(name="avro", help="Avro", writer=AvroWriter, read=_rows))
