"""Appends rows to JSON Lines files; only committed lengths count."""

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from turnwise.pipeline.streaming.local.database import run_of
from turnwise.schemas.jsonio import dump_json
from turnwise.schemas.rows import score_lines

SCORES = "scores"
TABLES = (SCORES, "results", "conversations", "failures")
_NAME = re.compile(r"(scores|results|conversations|failures)-(\d{5})\.jsonl")
_LARGEST = 256 * 1024 * 1024
_COPIED_AT_ONCE = 1024 * 1024
_COMPARED = 4096
"""Bytes before a committed length by which a file is recognised."""


class SegmentId(NamedTuple):
    """One file of a table."""

    table: str
    number: int

    @property
    def name(self) -> str:
        """Name of the file."""
        return f"{self.table}-{self.number:05}.jsonl"


class RowRange(NamedTuple):
    """The position of rows in a file, in bytes."""

    segment: SegmentId
    offset: int
    length: int


class Committed(NamedTuple):
    """What of a file counts.

    Attributes:
        length: Bytes.
        tail: Digest of the last of them; see `Segments.tail`.
    """

    length: int
    tail: bytes


_NOTHING = Committed(0, b"")


def check_rows(directory: Path, committed: Mapping[SegmentId, Committed], run_id: str | None) -> None:
    """Checks that a directory holds the rows that its progress describes, before any of them is cut off.

    Args:
        directory: The directory.
        committed: What counts of each file.
        run_id: The run of the progress; None: it has none yet, and so no rows.

    Raises:
        ValueError: A file is gone, too short or another one, or holds rows of another run.
    """
    for path in directory.iterdir():
        if _NAME.fullmatch(path.name) and path.stat().st_size:
            run = run_of(path)
            if run_id is None or run not in (None, run_id):
                raise ValueError(f"{path.name}: holds rows of the run {run}, the progress is of {run_id}")
    for segment, (length, tail) in committed.items():
        path = directory / segment.name
        if not path.exists() or path.stat().st_size < length:
            raise ValueError(f"{segment.name}: is gone or was cut: {length} bytes of it count")
        with path.open("rb") as file:
            if _tail_digest(_tail_of(file, length)) != tail:
                raise ValueError(f"{segment.name}: is not the file that this progress describes")


def _tail_of(file: BinaryIO, length: int) -> bytes:
    file.seek(max(length - _COMPARED, 0))
    return file.read(min(length, _COMPARED))


def _tail_digest(tail: bytes) -> bytes:
    return blake2b(tail, digest_size=8).digest()


class Segments:
    """The growing files of an output directory.

    Bytes beyond the committed lengths are from an unfinished transaction and are cut off at the start.
    """

    def __init__(self, directory: Path, committed: Mapping[SegmentId, int]) -> None:
        """Truncates the files to their committed lengths and removes uncommitted files."""
        self._directory = directory
        self._lengths: dict[SegmentId, int] = dict(committed)
        for path in directory.iterdir():
            found = _NAME.fullmatch(path.name)
            if found and SegmentId(found[1], int(found[2])) not in self._lengths:
                path.unlink()
        self._current = {table: self._last(table) for table in TABLES}
        self._tails = dict[SegmentId, bytes]()
        for segment in self._lengths.keys() - self._current.values():
            with (directory / segment.name).open("rb") as file:
                self._tails[segment] = _tail_of(file, self._lengths[segment])
        self._files = {table: self._open(segment) for table, segment in self._current.items()}

    def _last(self, table: str) -> SegmentId:
        return max((s for s in self._lengths if s.table == table), default=SegmentId(table, 0))

    def _open(self, segment: SegmentId) -> BinaryIO:
        path = self._directory / segment.name
        length = self._lengths.setdefault(segment, 0)
        file = path.open("r+b" if path.exists() else "w+b")
        file.truncate(length)
        self._tails[segment] = _tail_of(file, length)
        file.seek(length)
        return file

    @property
    def lengths(self) -> Mapping[SegmentId, int]:
        """Length of every file in bytes, with rows that are not yet committed."""
        return self._lengths

    def tail(self, segment: SegmentId) -> bytes:
        """Returns the digest of the last 4,096 bytes of a file, by which it is recognised."""
        return _tail_digest(self._tails[segment])

    def append(self, table: str, rows: Sequence[Any]) -> RowRange | None:
        """Appends rows to a table; returns None if there are none."""
        if not rows:
            return None
        segment = self._current[table]
        if self._lengths[segment] >= _LARGEST:
            segment = self._current[table] = SegmentId(table, segment.number + 1)
            self._sync_one(table)
            self._files[table].close()
            self._files[table] = self._open(segment)
        text = score_lines(rows) if table == SCORES else b"\n".join(map(dump_json, rows)) + b"\n"
        self._files[table].write(text)
        span = RowRange(segment, self._lengths[segment], len(text))
        self._lengths[segment] += len(text)
        self._tails[segment] = (self._tails[segment] + text[-_COMPARED:])[-_COMPARED:]
        return span

    def sync(self) -> None:
        """Syncs all files to disk; raises OSError."""
        for table in TABLES:
            self._sync_one(table)

    def _sync_one(self, table: str) -> None:
        self._files[table].flush()
        os.fsync(self._files[table].fileno())

    def rewrite(self, segment: SegmentId, dead: Sequence[tuple[int, int]]) -> SegmentId:
        """Copies a file without its dead spans (start, length; in order) to the table's next number."""
        self._files[segment.table].flush()
        new = SegmentId(segment.table, self._current[segment.table].number + 1)
        path = self._directory / segment.name
        with path.open("rb") as source, (self._directory / new.name).open("wb") as target:
            for start, end in _between(dead, self._lengths[segment]):
                source.seek(start)
                while start < end:
                    start += target.write(source.read(min(end - start, _COPIED_AT_ONCE)))
            self._lengths[new] = target.tell()
            target.flush()
            os.fsync(target.fileno())
        del self._lengths[segment], self._tails[segment]
        self._files[segment.table].close()
        self._files[segment.table] = self._open(new)
        self._current[segment.table] = new
        return new

    def cut(self, committed: Mapping[SegmentId, Committed]) -> None:
        """Closes the files, and cuts off what was not committed; a file that does not allow it stays."""
        for table, file in self._files.items():
            segment = self._current[table]
            with suppress(OSError):  # the rows that it still holds in memory find no room
                file.close()
            with suppress(OSError):
                os.truncate(self._directory / segment.name, committed.get(segment, _NOTHING).length)

    def close(self) -> None:
        """Closes the files."""
        for file in self._files.values():
            file.close()


def _between(dead: Sequence[tuple[int, int]], length: int) -> list[tuple[int, int]]:
    """Returns (start, end) of the parts between the dead spans of a file."""
    starts = [0, *(start + size for start, size in dead)]
    ends = [*(start for start, _ in dead), length]
    return [(start, end) for start, end in zip(starts, ends, strict=True) if start < end]
