"""Tables as JSON Lines."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from turnwise.pipeline.io.sinks.base import SinkKind, register_sink
from turnwise.pipeline.settings.run import DEFAULT_OUTPUT_FORMAT
from turnwise.schemas.jsonio import dump_json
from turnwise.schemas.values import JsonObject

_RESULTS = "results"
_NAME_MARK = re.compile(r" result(?:, trial \S+)? - ")


class JsonLinesWriter:
    """Rows as JSON Lines; a row of the results table is the CES EvaluationResult itself."""

    def __init__(self, file: BinaryIO, table: str) -> None:
        self._file, self._column = file, "result" if table == _RESULTS else None

    def write(self, rows: Sequence[JsonObject]) -> None:
        """Adds one line a row."""
        column = self._column
        lines = [dump_json(row if column is None else row[column]) for row in rows]
        if lines:
            self._file.write(b"\n".join(lines) + b"\n")

    def finish(self) -> None:
        """Does nothing; every line is complete."""


def _rows(file: BinaryIO, table: str, mark: bytes) -> Iterator[JsonObject]:
    rows = (json.loads(line) for line in file if mark in line)
    yield from map(_result_row, rows) if table == _RESULTS else rows


def _result_row(result: JsonObject) -> JsonObject:
    """Returns the columns of a result from its line of JSON."""
    name = _NAME_MARK.split(result["displayName"], maxsplit=1)[-1]
    status = result.get("evaluationStatus")
    return {"result": result, "conversation_id": name, "evaluation_status": status}


register_sink(SinkKind(name=DEFAULT_OUTPUT_FORMAT, help="JSON Lines", writer=JsonLinesWriter, read=_rows))
