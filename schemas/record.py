"""One raw record, with the place it came from."""

from typing import NamedTuple


class Record(NamedTuple):
    """One JSON text of a source.

    Attributes:
        source: File (or topic) it was read from.
        position: 1-based line, or 1-based index inside a JSON array or an Avro file.
        data: The record's UTF-8 JSON text.
    """

    source: str
    position: int
    data: bytes
