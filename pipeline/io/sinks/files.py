"""Tables as files: JSON Lines and Avro."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO

import orjson

from turnwise.pipeline.io.sinks.base import SinkKind, register_sink
from turnwise.pipeline.settings.options import DEFAULT_OUTPUT_FORMAT
from turnwise.schemas.jsonio import JsonObject, dump_json, load_json
from turnwise.schemas.rows import avro_schema, json_columns, score_lines, with_json_texts

_BLOCK = 256 * 1024
_RESULTS = "results"
_NAME_MARK = re.compile(r" result(?:, trial \S+)?(?: \(.*?\))? - ")


class JsonLinesWriter:
    """Rows as JSON Lines, in blocks; a row of the results table is the CES EvaluationResult itself."""

    def __init__(self, file: BinaryIO, table: str) -> None:
        self._file, self._lines = file, _LINES.get(table, _row_lines)
        self._waiting, self._size = list[bytes](), 0

    def write(self, rows: Sequence[Any]) -> None:
        """Adds one line a row."""
        lines = self._lines(rows)
        self._waiting.append(lines)
        self._size += len(lines)
        if self._size >= _BLOCK:
            self.finish()

    def finish(self) -> None:
        """Writes the lines that wait."""
        self._file.write(b"".join(self._waiting))
        self._waiting, self._size = [], 0


def _row_lines(rows: Sequence[JsonObject]) -> bytes:
    lines: list[bytes] = []
    for row in rows:
        try:
            lines.append(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))
        except TypeError:
            lines.append(dump_json(row) + b"\n")
    return b"".join(lines)


_LINES: dict[str, Callable[[Sequence[Any]], bytes]] = {
    _RESULTS: lambda rows: _row_lines([row["result"] for row in rows]),
    "scores": score_lines,
}


def _rows(file: BinaryIO, table: str, mark: bytes) -> Iterator[JsonObject]:
    rows = (load_json(line) for line in file if mark in line)
    yield from map(_result_row, rows) if table == _RESULTS else rows


def _result_row(result: JsonObject) -> JsonObject:
    """Returns the columns of a result from its line of JSON."""
    turns = result.get("goldenResult", {}).get("turnReplayResults")
    part = turns[0] if turns else result.get("scenarioResult", {})
    # One that holds no result says it in its name alone.
    name = part.get("conversation") or _NAME_MARK.split(result["displayName"], maxsplit=1)[-1]
    return {"result": result, "conversation_id": name, "verdict": result.get("evaluationStatus")}


register_sink(SinkKind(name=DEFAULT_OUTPUT_FORMAT, help="JSON Lines", writer=JsonLinesWriter, read=_rows))


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


def _avro_rows(file: BinaryIO, table: str, mark: bytes) -> Iterator[JsonObject]:
    import fastavro

    columns = json_columns(table)
    for row in fastavro.reader(file):
        if isinstance(row, dict):
            texts = {name: row[name] for name in columns if name in row}
            yield row | {name: None if text is None else json.loads(text) for name, text in texts.items()}


register_sink(SinkKind(name="avro", help="Avro", writer=AvroWriter, read=_avro_rows))
