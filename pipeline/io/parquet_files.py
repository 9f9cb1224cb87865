"""Reads the rows of Parquet files, some at a time, so that memory does not grow with the file."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from turnwise.pipeline.io.row_values import plain_row
from turnwise.schemas.jsonio import dump_json

_ROWS = 200


def parquet_texts(path: str, file: Any, limit: int) -> Iterator[tuple[str, bytes]]:
    """Yields JSON arrays of a file's rows, under the file's name.

    Maps become objects, times RFC 3339, bytes text or base64. Columns without a value are left out of a row.

    Raises:
        ValueError: It is no Parquet file, or is broken.
    """
    with _opened(file) as table:
        for batch in table.iter_batches(batch_size=_ROWS):
            rows = batch.to_pylist(maps_as_pydicts="lossy")
            yield f"{path}.json", dump_json([plain_row(row) for row in rows])


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
