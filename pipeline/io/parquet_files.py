"""Reads the rows of Parquet files, some at a time, so that memory does not grow with the file."""

from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime, timezone
from typing import Any

from turnwise.schemas.jsonio import dump_json
from turnwise.schemas.values import JsonObject, JsonValue

_ROWS = 200


def parquet_texts(path: str, file: Any, limit: int) -> Iterator[tuple[str, bytes]]:
    """Yields JSON arrays of a file's rows, under the file's name.

    Maps become objects, times RFC 3339, bytes text or base64. Columns without a value are left out of a row.

    Raises:
        ValueError: It is no Parquet file, or is broken.
    """
    with _opened(file) as table:
        for batch in table.iter_batches(batch_size=_ROWS):
            yield f"{path}.json", dump_json([_row(row) for row in batch.to_pylist(maps_as_pydicts="lossy")])


def check_parquet(path: str) -> None:
    """Raises ValueError if a local file is no Parquet file, or is broken."""
    with _opened(path):
        pass


@contextmanager
def _opened(file: Any) -> Iterator[Any]:
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    try:
        with ParquetFile(file) as table:
            yield table
    except (ArrowException, OSError) as error:
        raise ValueError(f"the Parquet file cannot be read: {' '.join(str(error).split())[:300]}") from None


def _row(row: JsonObject) -> JsonObject:
    return {key: _plain(value) for key, value in row.items() if value is not None}


def _plain(value: Any) -> JsonValue:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=timezone.utc)).isoformat()
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return b64encode(value).decode()
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return value.isoformat() if isinstance(value, date) else str(value)
