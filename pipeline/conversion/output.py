"""Writes a file of records as a whole: it is there when all of them are."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO

from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import dump_json
from turnwise.schemas.values import JsonObject
from turnwise.transforms.conversion.base import Target


class RecordFile:
    """Writes the records of one file.

    Attributes:
        stem: Name of the file without its suffixes.
        count: Number of records so far.
    """

    def __init__(self, file: BinaryIO, target: Target, name: str) -> None:
        self._file, self._key = file, target.key
        self.stem = name.split(".")[0]
        self._is_document = target.document is not None
        head, self._tail = target.document(name) if target.document else ("", "")
        self._digests: dict[str, bytes] = {}
        self.count = 0
        file.write(head.encode())

    def add(self, record: JsonObject) -> bool:
        """Writes a record; False: it is there already.

        Raises:
            ValueError: The file has another one with its key.
        """
        data = dump_json(record)
        if self._key is not None:
            key, digest = record[self._key], blake2b(data, digest_size=16).digest()
            if self._digests.setdefault(key, digest) != digest:
                raise ValueError(f"a file has each {self._key} once, and another {key!r} is there already")
            if self._digests[key] is not digest:
                return False
        self._file.write(b",\n" * bool(self.count) + data if self._is_document else data + b"\n")
        self.count += 1
        return True

    def end(self) -> None:
        """Writes what follows the records."""
        self._file.write(self._tail.encode())


@contextmanager
def record_file(path: str, target: Target) -> Iterator[RecordFile]:
    """Opens a file for records; it gets its name at the end, if it holds any.

    Raises:
        ConfigError: The file is there, or cannot be written.
    """
    place = check_new_file(path)
    partial = place.with_name(f"{place.name}.partial")
    try:
        with open(partial, "wb") as file:
            writer = RecordFile(file, target, place.name)
            yield writer
            writer.end()
        if writer.count:
            os.replace(partial, place)
    finally:
        partial.unlink(missing_ok=True)


def check_new_file(path: str) -> Path:
    """Returns the path of a file that is to be written.

    Raises:
        ConfigError: It is there already, or has no directory.
    """
    place = Path(path)
    if "://" in path:
        raise ConfigError(f"{path}: only files of this machine are written")
    if place.exists():
        raise ConfigError(f"{path}: is there already; remove it, or name another file")
    if not place.parent.is_dir():
        raise ConfigError(f"{path}: there is no directory {place.parent}; make it first")
    return place
