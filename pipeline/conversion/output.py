"""Writes a file of records as a whole: it is there when all of them are."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO

from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import JsonObject, dump_json, is_local
from turnwise.transforms.tools.conversion import Target


class RecordFile:
    """Writes the records of one file.

    Attributes:
        stem: Name of the file without its suffixes.
        count: Number of records so far.
    """

    def __init__(self, file: BinaryIO, target: Target, name: str) -> None:
        self._file, self._key = file, target.key
        self.stem = name.split(".")[0]
        self._name, self._document, self._tail = name, target.document, ""
        self._digests: dict[str, bytes] = {}
        self.count = 0

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
        self._write(record, data)
        self.count += 1
        return True

    def _write(self, record: JsonObject, data: bytes) -> None:
        if self._document is None:
            self._file.write(data + b"\n")
        elif self.count:
            self._file.write(b",\n" + data)
        else:
            head, self._tail = self._document(self._name, record)
            self._file.write(head.encode() + data)

    def end(self) -> None:
        """Writes what follows the records."""
        self._file.write(self._tail.encode())


@contextmanager
def record_file(path: str, target: Target) -> Iterator[RecordFile]:
    """Opens a file for records; it gets its name at the end, if it holds any.

    Raises:
        ConfigError: The file is there, or cannot be written.
    """
    place = check_new_file(path, target)
    partial = place.with_name(f"{place.name}.partial")
    try:
        with open(partial, "wb") as file:
            writer = RecordFile(file, target, place.name)
            yield writer
            writer.end()
        if writer.count:
            os.replace(partial, place)
    except OSError as error:  # a full disk names no file
        error.filename = error.filename or path
        raise
    finally:
        partial.unlink(missing_ok=True)


def check_new_file(path: str, target: Target) -> Path:
    """Returns the path of a file that is to be written.

    Raises:
        ConfigError: It is there already, has no directory, or cannot have that name.
    """
    place = Path(path)
    if not is_local(path):
        raise ConfigError(f"{path}: only files of this machine are written")
    if place.exists():
        raise ConfigError(f"{path}: is there already; remove it, or name another file")
    if not place.parent.is_dir():
        raise ConfigError(f"{path}: there is no directory {place.parent}; make it first")
    try:
        if target.document is not None:
            target.document(place.name, {})
    except ValueError as error:
        raise ConfigError(f"{path}: {error}") from None
    return place
