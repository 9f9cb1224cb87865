"""An object store in this process, as a filesystem of Beam: no folders, and a rename copies, then deletes."""

import io
import time
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from apache_beam.io.filesystem import BeamIOError, FileMetadata, FileSystem


class StoredObject(NamedTuple):
    """Content of an object, and when it was written, in seconds."""

    content: bytes
    time: float


OBJECTS: dict[str, StoredObject] = {}
"""Path -> object."""
READS = Counter[str]()
"""Path -> number of reads."""


class Faults:
    """Lets operations fail.

    Attributes:
        fails: Tells whether an operation on a path fails, given the number of the call of both.
    """

    def __init__(self):
        self.fails: Callable[[str, str, int], bool] = lambda operation, path, number: False
        self._seen: Counter[tuple[str, str]] = Counter()

    def check(self, operation, path):
        self._seen[operation, path] += 1
        if self.fails(operation, path, self._seen[operation, path]):
            raise BeamIOError(f"{operation} {path}: the service is not available")


FAULTS = Faults()


def clear():
    """Empties the store and ends all faults."""
    OBJECTS.clear()
    READS.clear()
    FAULTS.__init__()


class _Upload(io.BytesIO):
    """An object that is there when it is closed."""

    def __init__(self, path):
        super().__init__()
        self._path = path

    def close(self):
        if self.closed:
            return
        content = self.getvalue()
        super().close()
        FAULTS.check("create", self._path)
        OBJECTS[self._path] = StoredObject(content, time.time())


class _Download(io.BufferedIOBase):
    """An object that is read, without lines of its own, as those of Google Cloud Storage."""

    def __init__(self, path, content):
        self._path, self._content = path, io.BytesIO(content)

    def readable(self):
        return True

    def seekable(self):
        return True

    def read(self, size=-1, /):
        READS[self._path] += 1
        return self._content.read(size)

    def seek(self, offset, whence=0, /):
        return self._content.seek(offset, whence)

    def tell(self):
        return self._content.tell()


class ObjectStore(FileSystem):
    """`objects://BUCKET/NAME`."""

    @classmethod
    def scheme(cls):
        return "objects"

    def join(self, basepath, *paths):
        return "/".join([basepath.rstrip("/"), *(path.strip("/") for path in paths)])

    def split(self, path):
        head, _, tail = path.rpartition("/")
        return head, tail

    def mkdirs(self, path):
        pass

    def has_dirs(self):
        return False

    def _list(self, dir_or_prefix):
        FAULTS.check("list", dir_or_prefix)
        for path in sorted(OBJECTS):
            if path.startswith(dir_or_prefix):
                yield self.metadata(path)

    def create(self, path, mime_type="", compression_type=None):
        return _Upload(path)

    def open(self, path, mime_type="", compression_type=None):
        FAULTS.check("open", path)
        return _Download(path, self._object(path).content)

    def copy(self, source_file_names, destination_file_names):
        for source, target in zip(source_file_names, destination_file_names, strict=True):
            FAULTS.check("copy", target)
            OBJECTS[target] = StoredObject(self._object(source).content, time.time())

    def rename(self, source_file_names, destination_file_names):
        self.copy(source_file_names, destination_file_names)
        for source in source_file_names:
            FAULTS.check("rename", source)
            del OBJECTS[source]

    def exists(self, path):
        FAULTS.check("exists", path)
        return path in OBJECTS

    def size(self, path):
        return len(self._object(path).content)

    def last_updated(self, path):
        return self._object(path).time

    def checksum(self, path):
        return str(self.size(path))

    def metadata(self, path):
        content, changed = self._object(path)
        return FileMetadata(path, len(content), changed)

    def delete(self, paths):
        for path in paths:
            FAULTS.check("delete", path)
            OBJECTS.pop(path, None)

    def _object(self, path):
        if path not in OBJECTS:
            raise BeamIOError(f"{path}: no such object")
        return OBJECTS[path]
