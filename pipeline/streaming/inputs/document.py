"""Reads a watched file as a whole, when it is complete: JSON, gzip, Avro."""

from collections.abc import Iterator
from itertools import islice
from os import stat_result

from turnwise.pipeline.io.files import read_records
from turnwise.pipeline.io.records import OversizedRecordError, reading_error
from turnwise.pipeline.streaming.inputs.base import SettledPositions, SourceRecord
from turnwise.pipeline.streaming.inputs.watched import (
    GIVEN_UP_SECONDS,
    QUIET_SECONDS,
    Labels,
    WatchedFile,
    may_be_complete,
)
from turnwise.schemas.conversation import Record
from turnwise.schemas.score import Failure, IncompleteReadError

_KINDS = {kind.__name__: kind for kind in (OversizedRecordError, IncompleteReadError)}


class Document(WatchedFile):
    """A file whose records are returned once it is complete. A file that changes later gets a new label.

    A position is the number of the record in the file. The number of records is stored, so that a file is not
    opened again when all of them are settled.
    """

    def __init__(self, labels: Labels, limit: int) -> None:
        super().__init__(labels, limit)
        self._items: Iterator[SourceRecord] | None = None
        self._is_read = self._is_tried = False

    @property
    def backlog(self) -> int:
        """Bytes not yet read."""
        return 0 if self._is_read else self.size

    def observe(self, path: str, stat: stat_result, now: float) -> bool:
        """Records size and time of the file; returns whether it changed."""
        if not super().observe(path, stat, now):
            return False
        self._items, self._is_read, self._is_tried = None, False, False
        return True

    def is_readable(self, now: float) -> bool:
        """Returns whether a read is in progress, or the file may be complete."""
        quiet_for = GIVEN_UP_SECONDS if self._is_tried else QUIET_SECONDS
        return not self._is_read and (self._items is not None or self.is_quiet(now, quiet_for))

    def read(self, limit: int, now: float) -> tuple[list[SourceRecord], int]:
        """Returns at most `limit` items and roughly how many bytes were read; raises OSError."""
        if self._items is None:
            is_given_up = self.is_quiet(now, GIVEN_UP_SECONDS) and self._is_tried
            if not is_given_up and not _is_complete(self.path, self.size, self._limit):
                self._is_tried = True
                return [], self.size
            self._items = self._begin()
        items = list(islice(self._items, limit))
        self._is_read = len(items) < limit
        return items, sum(len(item.data) for item in items)

    def last_items(self, now: float) -> list[SourceRecord]:
        """Returns the remaining records, unless the file was just written and does not parse."""
        if self._is_read or self._items is not None:
            return []
        if not self.is_quiet(now) and not _is_complete(self.path, self.size, self._limit):
            return []
        self._items, self._is_read = self._begin(), True
        return list(self._items)

    def unfinished(self) -> str:
        """Returns a one-line description of a text that breaks off; empty if there is none."""
        if not self.size:
            return "" if self._is_read else "the file is empty"
        if self._is_read or self._items is not None or _is_complete(self.path, self.size, self._limit):
            return ""
        return f"the text breaks off after {self.size} bytes"

    def _begin(self) -> Iterator[SourceRecord]:
        identity = f"document {self._inode} {self.size} {self._mtime_ns}"
        facts = self._labels.facts(identity)
        if not facts:
            facts = {"label": self._labels.new(self.path), "records": None}
            self._labels.save(identity, **facts)
        self.source = facts["label"]
        done = self._labels.checkpoints.done(self.source)
        if facts["records"] is not None and done.through >= facts["records"]:
            return iter(())
        return self._unsettled(identity, done)

    def _unsettled(self, identity: str, done: SettledPositions) -> Iterator[SourceRecord]:
        checkpoints, source, last = self._labels.checkpoints, self.source, 0
        for item in self._all(source):
            checkpoints.skip(source, range(last + 1, item.position))
            last = item.position
            if last not in done:
                yield item
        self._labels.save(identity, label=source, records=last)

    def _all(self, source: str) -> Iterator[SourceRecord]:
        position = 0
        try:
            for record in read_records(self.path, self._limit):
                position = record.position or position + 1
                yield _item(source, position, record)
        except Exception as error:
            yield SourceRecord(source, position + 1, b"", error=reading_error(error))


def _item(source: str, position: int, record: Record | Failure) -> SourceRecord:
    if isinstance(record, Record):
        return SourceRecord(source, position, record.data)
    error = _KINDS.get(record.error_type, ValueError)(record.message)
    return SourceRecord(source, position, (record.record or "").encode(), error=error)


def _is_complete(path: str, size: int, limit: int) -> bool:
    """Returns whether a document looks complete. Compressed and very large ones count as complete."""
    if not size:
        return False
    if size > limit or not path.endswith(".json"):
        return True
    with open(path, "rb") as file:
        text = file.read().removeprefix(b"\xef\xbb\xbf").strip()
    return may_be_complete(text) or (b"\n" in text and may_be_complete(text.rsplit(b"\n", 1)[1]))
