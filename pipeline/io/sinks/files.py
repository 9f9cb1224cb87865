"""Tables as JSON Lines."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO

from turnwise.pipeline.io.sinks.base import SinkKind, register_sink
from turnwise.pipeline.settings.outputs import DEFAULT_OUTPUT_FORMAT
from turnwise.schemas.jsonio import JsonObject, dump_json, load_json
from turnwise.schemas.rows import score_lines

_BLOCK = 256 * 1024
_RESULTS, _SCORES = "results", "scores"
_NAME_MARK = re.compile(r" result(?:, trial \S+)? - ")


class JsonLinesWriter:
    """Rows as JSON Lines, in blocks; a row of the results table is the CES EvaluationResult itself."""

    def __init__(self, file: BinaryIO, table: str) -> None:
        self._file, self._lines = file, _LINES.get(table, _row_lines)
        self._waiting = bytearray()

    def write(self, rows: Sequence[Any]) -> None:
        """Adds one line a row."""
        self._waiting += self._lines(rows)
        if len(self._waiting) >= _BLOCK:
            self.finish()

    def finish(self) -> None:
        """Writes the lines that wait."""
        self._file.write(self._waiting)
        self._waiting = bytearray()


def _row_lines(rows: Sequence[JsonObject]) -> bytes:
    return b"".join([dump_json(row) + b"\n" for row in rows])


def _result_lines(rows: Sequence[JsonObject]) -> bytes:
    return _row_lines([row["result"] for row in rows])


_LINES: dict[str, Callable[[Sequence[Any]], bytes]] = {_RESULTS: _result_lines, _SCORES: score_lines}


def _rows(file: BinaryIO, table: str, mark: bytes) -> Iterator[JsonObject]:
    rows = (load_json(line) for line in file if mark in line)
    yield from map(_result_row, rows) if table == _RESULTS else rows


def _result_row(result: JsonObject) -> JsonObject:
    """Returns the columns of a result from its line of JSON."""
    name = _NAME_MARK.split(result["displayName"], maxsplit=1)[-1]
    status = result.get("evaluationStatus")
    return {"result": result, "conversation_id": name, "evaluation_status": status}


register_sink(SinkKind(name=DEFAULT_OUTPUT_FORMAT, help="JSON Lines", writer=JsonLinesWriter, read=_rows))
