"""Watches directories and files and reads their records as they appear."""

import contextlib
import os
import time
from collections import deque
from collections.abc import Callable, Sequence

from turnwise.pipeline.io.files import Unreadable, shown_path
from turnwise.pipeline.io.records import reading_error
from turnwise.pipeline.streaming.inputs.base import Checkpoints, SourceRecord, StreamSource
from turnwise.pipeline.streaming.inputs.files import (
    GIVEN_UP_SECONDS,
    Document,
    GzipFoundError,
    Labels,
    LineFile,
    check_paths,
    find_files,
    root_of,
)

_SCAN_SECONDS = 0.1
_SCAN_SHARE = 20
_BUDGET = 1 << 23
_MOST_OPEN = 256
_DOCUMENTS = (".json", ".gz", ".avro", ".parquet")

_FileKey = tuple[int, int]
_File = LineFile | Document


class DirectorySource(StreamSource):
    """Reads the records of files as they appear and grow, each record once.

    A file is identified by its inode: a renamed file continues, and a file that replaces another is new.
    `.json`, `.gz`, `.avro` and `.parquet` are read when they are complete; all other files line by line as
    they grow.
    """

    def __init__(
        self,
        paths: Sequence[str],
        checkpoints: Checkpoints,
        max_record_bytes: int,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Checks the paths (files, directories or globs), which the first poll reads.

        Raises ConfigError if one cannot be read. A record of more bytes is returned as an error.
        """
        check_paths(paths)
        self._paths, self._labels = paths, Labels(checkpoints)
        self._limit, self._clock = max_record_bytes, clock
        self._files: dict[_FileKey, _File] = {}
        self._ready: deque[_FileKey] = deque()
        self._waiting: set[_FileKey] = set()
        self._open: dict[_FileKey, LineFile] = {}
        self._refused: dict[_FileKey, int] = {}
        self._reported: set[str] = set()
        self._compressed: set[str] = set()
        self._pending: list[SourceRecord] = []
        self._roots = [root for path in paths if os.path.isdir(root := root_of(path))]
        self._gone_since: dict[str, float] = {}
        self._last_scan = self._next_scan = 0.0

    def poll(self, limit: int) -> Sequence[SourceRecord]:
        """Returns what has arrived, at most `limit` items, file by file."""
        now = self._clock()
        if not self._last_scan <= now < self._next_scan:
            self._scan(now)
        items, self._pending = self._pending[:limit], self._pending[limit:]
        cost = 0
        while self._ready and len(items) < limit and cost < _BUDGET:
            key = self._ready[0]
            more, read = self._read(key, limit - len(items), now)
            items += more
            cost += read
            if key not in self._files or not self._files[key].is_readable(now):
                self._waiting.discard(self._ready.popleft())
        return items

    def _scan(self, now: float) -> None:
        self._pending += self._gone_roots(now, GIVEN_UP_SECONDS)
        gone = set(self._files)
        for seen in find_files(self._paths):
            if isinstance(seen, Unreadable):
                self._pending += self._unreadable(seen.path, seen.error)
                continue
            path, stat = seen
            key = (stat.st_dev, stat.st_ino)
            is_second_name = key in self._files and key not in gone
            if is_second_name or self._refused.get(key) == stat.st_ctime_ns:
                continue
            gone.discard(key)
            self._file_at(key, path).observe(path, stat, now)
            self._queue(key, now)
        for key in gone:
            self._read_removed(key, now)
        took = max(0.0, self._clock() - now)
        self._last_scan, self._next_scan = now, now + took + max(_SCAN_SECONDS, _SCAN_SHARE * took)

    def _gone_roots(self, now: float, patience: float) -> list[SourceRecord]:
        """Returns the failures of watched directories that have been missing for `patience` seconds."""
        missing = [root for root in self._roots if not os.path.isdir(root)]
        self._gone_since = {root: self._gone_since.get(root, now) for root in missing}
        error = FileNotFoundError("the watched directory is gone")
        gone = [root for root, since in self._gone_since.items() if now - since >= patience]
        return [failure for root in gone for failure in self._unreadable(root, error)]

    def _file_at(self, key: _FileKey, path: str) -> _File:
        kind = Document if path.endswith(_DOCUMENTS) or path in self._compressed else LineFile
        file = self._files.get(key)
        if not isinstance(file, kind):
            self._forget(key)
            file = self._files[key] = kind(self._labels, self._limit)
        return file

    def _queue(self, key: _FileKey, now: float) -> None:
        if key not in self._waiting and self._files[key].is_readable(now):
            self._ready.append(key)
            self._waiting.add(key)

    def _read_removed(self, key: _FileKey, now: float) -> None:
        """Reads a removed file to its end, while it is open."""
        file = self._open.get(key)
        if file is None:
            self._forget(key)
            return
        file.observe_open(now)
        self._queue(key, now)
        if key not in self._waiting and file.is_quiet(now, GIVEN_UP_SECONDS):
            self._pending += self._last_items(key, file, now)
            if problem := file.unfinished():
                error = ValueError(f"{problem}, and the file is gone")
                self._pending += self._unreadable(file.source or file.path, error)
            self._forget(key)

    def _forget(self, key: _FileKey) -> None:
        file = self._files.pop(key, None)
        self._open.pop(key, None)
        if file:
            file.close()

    def _read(self, key: _FileKey, limit: int, now: float) -> tuple[list[SourceRecord], int]:
        file = self._files.get(key)
        if file is None:
            return [], 0
        try:
            items, cost = file.read(limit, now)
        except FileNotFoundError:
            self._forget(key)
            return [], 0
        except GzipFoundError:
            self._compressed.add(file.path)
            self._forget(key)
            return [], 0
        except Exception as error:
            return self._refuse(key, file, error), 0
        if isinstance(file, LineFile) and file.is_open:
            # The most recently read files stay open, so that reading continues after a rename.
            self._open.pop(key, None)
            self._open[key] = file
            if len(self._open) > _MOST_OPEN:
                self._open.pop(next(iter(self._open))).close()
        return items, cost

    def _refuse(self, key: _FileKey, file: _File, error: Exception) -> list[SourceRecord]:
        """Reports an unreadable file once and skips it until it changes."""
        self._forget(key)
        with contextlib.suppress(OSError):
            self._refused[key] = os.stat(file.path).st_ctime_ns
        return self._unreadable(file.path, error)

    def _unreadable(self, path: str, error: Exception) -> list[SourceRecord]:
        """Returns the failure of an unreadable path, unless this or an earlier process reported it."""
        source = f"{shown_path(path)} (unreadable)"
        if source in self._reported or 1 in self._labels.checkpoints.done(source):
            return []
        self._reported.add(source)
        return [SourceRecord(source, 1, b"", error=reading_error(error))]

    def last_items(self) -> Sequence[SourceRecord]:
        """Returns unterminated last lines and the remaining documents."""
        now = self._clock()
        items, self._pending = [*self._pending, *self._gone_roots(now, 0)], []
        for key, file in list(self._files.items()):
            if key not in self._waiting:
                items += self._last_items(key, file, now)
        return items

    def _last_items(self, key: _FileKey, file: _File, now: float) -> list[SourceRecord]:
        try:
            return file.last_items(now)
        except (FileNotFoundError, GzipFoundError):
            return []
        except Exception as error:
            return self._refuse(key, file, error)

    def unread(self) -> Sequence[str]:
        """Returns the files that break off, one line each. A later process reads them when complete."""
        lines = []
        for file in self._files.values():
            with contextlib.suppress(FileNotFoundError):
                problem = file.unfinished()
                lines += [f"{shown_path(file.path)}: {problem}"] if problem else []
        return sorted(lines)

    def backlog(self) -> int | None:
        """Returns the number of bytes not yet read in the files found so far."""
        waiting = [self._files.get(key) for key in list(self._ready)]
        return sum(file.backlog for file in waiting if file)

    def close(self) -> None:
        """Closes all files."""
        for key in list(self._files):
            self._forget(key)
