"""A filesystem of Beam that keeps objects in memory: names without directories, as in a bucket."""

import io
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from apache_beam.io.filesystem import BeamIOError, FileMetadata, FileSystem


class StoredObject(NamedTuple):
    content: bytes
    time: float


OBJECTS: dict[str, StoredObject] = {}
"""Name -> object."""


class _Writing(io.BytesIO):
    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path

    def close(self) -> None:
        if not self.closed:
            OBJECTS[self._path] = StoredObject(self.getvalue(), time.time())
        super().close()


class ObjectStore(FileSystem):
    @classmethod
    def scheme(cls) -> str:
        return "objects"

    def join(self, basepath: str, *paths: str) -> str:
        return "/".join([basepath.rstrip("/"), *paths])

    def split(self, path: str) -> tuple[str, str]:
        head, _, tail = path.rpartition("/")
        return head, tail

    def mkdirs(self, path: str) -> None:
        raise AssertionError("there are no directories")

    def has_dirs(self) -> bool:
        return False

    def _list(self, dir_or_prefix: str) -> Iterator[FileMetadata]:
        yield from (self.metadata(name) for name in sorted(OBJECTS) if name.startswith(dir_or_prefix))

    def create(self, path: str, mime_type: str = "", compression_type: str = "") -> Any:
        return _Writing(path)

    def open(self, path: str, mime_type: str = "", compression_type: str = "") -> Any:
        return io.BytesIO(self._found(path).content)

    def copy(self, source_file_names: list[str], destination_file_names: list[str]) -> None:
        for source, to in zip(source_file_names, destination_file_names, strict=True):
            OBJECTS[to] = StoredObject(self._found(source).content, time.time())

    def rename(self, source_file_names: list[str], destination_file_names: list[str]) -> None:
        self.copy(source_file_names, destination_file_names)
        self.delete(source_file_names)

    def exists(self, path: str) -> bool:
        return path in OBJECTS

    def size(self, path: str) -> int:
        return len(self._found(path).content)

    def last_updated(self, path: str) -> float:
        return self._found(path).time

    def checksum(self, path: str) -> str:
        return str(self._found(path))

    def metadata(self, path: str) -> FileMetadata:
        return FileMetadata(path, self.size(path), self.last_updated(path))

    def delete(self, paths: list[str]) -> None:
        for path in paths:
            self._found(path)
            del OBJECTS[path]

    def _found(self, path: str) -> StoredObject:
        if path not in OBJECTS:
            raise BeamIOError("no such object", {path: "missing"})
        return OBJECTS[path]
