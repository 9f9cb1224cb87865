"""A file system of Beam that holds objects in memory, as a bucket does: there are no folders."""

import io
from collections.abc import Iterator
from typing import Any, ClassVar

from apache_beam.io.filesystem import BeamIOError, FileMetadata, FileSystem


class _Upload(io.BytesIO):
    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path

    def close(self) -> None:
        """Makes the object appear, whole."""
        if not self.closed:
            Bucket.objects[self._path] = self.getvalue()
        super().close()


class Bucket(FileSystem):
    """Objects by their address `bucket://...`.

    Attributes:
        objects: Their contents.
        refused: Paths that hold this text cannot be written.
    """

    objects: ClassVar[dict[str, bytes]] = {}
    refused: ClassVar[str] = ""

    @classmethod
    def scheme(cls) -> str:
        return "bucket"

    def join(self, base: str, *paths: str) -> str:
        return "/".join([base.rstrip("/"), *paths])

    def split(self, path: str) -> tuple[str, str]:
        head, _, tail = path.rpartition("/")
        return head, tail

    def mkdirs(self, path: str) -> None:
        raise BeamIOError("there are no folders")

    def has_dirs(self) -> bool:
        return False

    def _list(self, dir_or_prefix: str) -> Iterator[FileMetadata]:
        for path, content in sorted(self.objects.items()):
            if path.startswith(dir_or_prefix):
                yield FileMetadata(path, len(content))

    def create(self, path: str, *_: Any, **__: Any) -> Any:
        if self.refused and self.refused in path:
            raise BeamIOError("403: no permission", {path: "refused"})
        return _Upload(path)

    def open(self, path: str, *_: Any, **__: Any) -> Any:
        return io.BytesIO(self.objects[path])

    def copy(self, source_file_names: list[str], destination_file_names: list[str]) -> None:
        for source, destination in zip(source_file_names, destination_file_names, strict=True):
            if source not in self.objects or (self.refused and self.refused in destination):
                raise BeamIOError("Copy operation failed", {(source, destination): "refused"})
            self.objects[destination] = self.objects[source]

    def rename(self, source_file_names: list[str], destination_file_names: list[str]) -> None:
        self.copy(source_file_names, destination_file_names)
        self.delete(source_file_names)

    def exists(self, path: str) -> bool:
        return path in self.objects

    def size(self, path: str) -> int:
        return len(self.objects[path])

    def last_updated(self, path: str) -> float:
        return 0.0

    def checksum(self, path: str) -> str:
        return str(len(self.objects[path]))

    def metadata(self, path: str) -> FileMetadata:
        return FileMetadata(path, len(self.objects[path]))

    def delete(self, paths: list[str]) -> None:
        for match in self.match(paths):
            for file in match.metadata_list:
                del self.objects[file.path]
