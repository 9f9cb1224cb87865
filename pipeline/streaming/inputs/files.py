"""Reads a watched file line by line as it grows."""

import os
from hashlib import blake2b
from os import stat_result
from typing import BinaryIO

from turnwise.pipeline.io.listing import KIND_BYTES, check_text
from turnwise.pipeline.io.records import BOM, GZIP_MAGIC, oversized_error
from turnwise.pipeline.streaming.inputs.base import SettledPositions, SourceRecord
from turnwise.pipeline.streaming.inputs.splitting import LineSplitter, OversizedLine
from turnwise.pipeline.streaming.inputs.watched import GIVEN_UP_SECONDS, Labels, WatchedFile, may_be_complete

_CHUNK = 1 << 18
_BUDGET = 1 << 23
_LONGEST_HEAD = 1 << 16
_COMPARED = 256


class GzipFoundError(Exception):
    """The file is compressed."""


class LineFile(WatchedFile):
    """A file whose lines are returned once each; an unterminated line when it is a complete JSON text.

    A position is the number of the line. The end of an unterminated line that was returned is stored as a
    cut, so that a later process counts the same lines. A file whose text was replaced gets a new label.
    """

    def __init__(self, labels: Labels, limit: int) -> None:
        super().__init__(labels, limit)
        self._file: BinaryIO | None = None
        self._identity = ""
        self._done = SettledPositions()
        self._items: list[SourceRecord] = []
        self._is_changed = self._is_tried = self._must_be_new = self._is_cut_short = False
        self._start(0, 0, [])

    def _start(self, offset: int, line: int, cuts: list[int], head: bytes = b"", tail: bytes = b"") -> None:
        self._offset, self._line, self._cuts = offset, line, cuts
        self._saved = (offset, line, _digest(tail))
        self._splitter = LineSplitter(self._limit, is_after_cut=offset in cuts)
        self._head, self._tail = head, tail

    @property
    def is_open(self) -> bool:
        """Whether it holds a file descriptor."""
        return self._file is not None

    @property
    def backlog(self) -> int:
        """Bytes not yet returned."""
        return max(self.size - self._offset, 0) + sum(len(item.data) for item in self._items)

    def observe(self, path: str, stat: stat_result, now: float) -> bool:
        """Records size and time of the file; returns whether it changed."""
        if not super().observe(path, stat, now):
            return False
        self._is_changed, self._is_tried = True, False
        return True

    def observe_open(self, now: float) -> None:
        """Records size and time of a removed file that is still open."""
        if self._file:
            self.observe(self.path, os.fstat(self._file.fileno()), now)

    def is_readable(self, now: float) -> bool:
        """Returns whether there is text to read, a last line that may be complete, or progress to save."""
        if self._is_changed or self._items or (self.source and self._offset < self.size):
            return True
        if not self._is_tried and self.is_quiet(now):
            return True
        return self._saved[0] != self._offset and self._may_save and self.is_quiet(now, GIVEN_UP_SECONDS)

    @property
    def _may_save(self) -> bool:
        return bool(self.source) and self._splitter.is_between_lines

    def read(self, limit: int, now: float) -> tuple[list[SourceRecord], int]:
        """Returns at most `limit` items and the number of bytes read.

        Raises:
            OSError: The file cannot be read.
            NotTextError: It is of a known binary format.
            GzipFoundError: It is compressed.
        """
        is_quiet = self.is_quiet(now)
        file = self._opened()
        if self._is_changed:
            self._check(file)
        if not self.source and not self._begin(file, is_quiet):
            self._is_tried = is_quiet
            return [], 0
        cost = self._fill(file, limit)
        if self._is_cut_short and self._line:
            self._identify_again(file)
        if self._offset >= self.size:
            self._at_end(is_quiet)
            if self._may_save and self.is_quiet(now, GIVEN_UP_SECONDS):
                self._save()
        taken, self._items = self._items[:limit], self._items[limit:]
        return taken, cost

    def _opened(self) -> BinaryIO:
        if self._file is None:
            file = open(self.path, "rb", buffering=0)  # noqa: SIM115
            if os.fstat(file.fileno()).st_ino != self._inode:
                file.close()
                raise FileNotFoundError(f"{self.path} is another file now")
            self._file = file
        return self._file

    def _check(self, file: BinaryIO) -> None:
        """Starts again under a new label if the text that was read has changed."""
        self._is_changed = False
        if self.source and not self._stands(file, self._offset, self._head, self._tail):
            self._give_rest()
            self._rename()

    def _stands(self, file: BinaryIO, offset: int, head: bytes, tail: bytes) -> bool:
        if self.size < offset:
            return False
        return _part(file, 0, len(head)) == head and _part(file, offset - len(tail), len(tail)) == tail

    def _rename(self) -> None:
        self.source, self._identity = "", ""
        self._start(0, 0, [])
        self._must_be_new = self._is_changed = True

    def _begin(self, file: BinaryIO, is_quiet: bool, is_last: bool = False) -> bool:
        """Identifies the file by its first line, if that is complete, and seeks to the saved position."""
        line, is_whole = _first_line(file)
        if line.startswith(GZIP_MAGIC):
            raise GzipFoundError
        check_text(line[:KIND_BYTES])
        is_ended = (is_quiet or is_last) and line.strip() and may_be_complete(line)
        if not is_whole and not is_ended:
            return False
        self._identity, self._is_cut_short = self._identity_of(line), not is_whole
        facts = {} if self._must_be_new else self._labels.facts(self._identity)
        if facts and not self._resumes(file, facts["label"], facts["offset"], facts["line"], facts):
            facts = {}
        if not facts:
            self._name(self._labels.new(self.path))
        self._must_be_new = False
        return True

    def _identity_of(self, line: bytes) -> str:
        return f"lines {self._inode} {blake2b(line.strip(), digest_size=12).hexdigest()}"

    def _identify_again(self, file: BinaryIO) -> None:
        """Identifies the file by its complete first line, once that is written."""
        line, is_whole = _first_line(file)
        if is_whole:
            self._identity, self._is_cut_short = self._identity_of(line), False
            self._save()

    def _name(self, source: str) -> None:
        self.source = source
        self._done = self._labels.checkpoints.done(source)
        self._save()

    def _resumes(self, file: BinaryIO, label: str, offset: int, line: int, facts: dict[str, str]) -> bool:
        """Continues under a known label; returns False if the text has changed."""
        tail = _part(file, max(offset - _COMPARED, 0), min(offset, _COMPARED))
        if self.size < offset or _digest(tail) != facts["tail"]:
            return False
        self.source, self._done = label, self._labels.checkpoints.done(label)
        cuts = [int(cut) for cut in facts["cuts"]]
        if self._done.through >= line:
            self._start(offset, line, cuts, _part(file, 0, min(offset, _COMPARED)), tail)
        else:
            self._start(0, 0, cuts)
        return True

    def _save(self) -> None:
        if self._splitter.is_between_lines:
            self._saved = (self._offset, self._line, _digest(self._tail))
        offset, line, tail = self._saved
        facts = {"label": self.source, "offset": offset, "line": line, "tail": tail, "cuts": self._cuts}
        self._labels.save(self._identity, **facts)

    def _fill(self, file: BinaryIO, limit: int) -> int:
        start = self._offset
        while len(self._items) < limit and self._offset < self.size and self._offset - start < _BUDGET:
            end = min([self._offset + _CHUNK, self.size, *(cut for cut in self._cuts if cut > self._offset)])
            chunk = _part(file, self._offset, end - self._offset)
            if not chunk:
                self.size = self._offset
                break
            self._take(chunk)
        return self._offset - start

    def _take(self, chunk: bytes) -> None:
        self._offset += len(chunk)
        self._head = (self._head + chunk[:_COMPARED])[:_COMPARED]
        self._tail = (self._tail + chunk[-_COMPARED:])[-_COMPARED:]
        self._add(self._splitter.add(chunk))
        if self._offset in self._cuts:
            self._add(self._splitter.cut())

    def _add(self, lines: list[bytes]) -> None:
        for data in lines:
            self._line += 1
            if self._line in self._done:
                continue
            if isinstance(data, OversizedLine):
                error = oversized_error(self._limit)
                self._items.append(SourceRecord(self.source, self._line, bytes(data), error=error))
            elif data and not data.isspace():
                text = data.removeprefix(BOM) if self._line == 1 else data
                self._items.append(SourceRecord(self.source, self._line, text.rstrip(b"\r")))
            else:
                self._labels.checkpoints.skip(self.source, (self._line,))

    def _at_end(self, is_quiet: bool) -> None:
        if self._line + (not self._splitter.is_between_lines) < self._done.through:
            self._rename()
        elif is_quiet and not self._is_tried:
            self._is_tried = True
            self._give_rest()

    def _give_rest(self) -> None:
        """Adds the unterminated last line, if it is a complete JSON text."""
        rest = self._splitter.pending
        if rest.strip() and may_be_complete(rest):
            self._cuts = [*self._cuts, self._offset]
            self._add(self._splitter.cut())
            self._save()

    def last_items(self, now: float) -> list[SourceRecord]:
        """Returns the unterminated last line, unless it is incomplete JSON."""
        if self.source and self._offset >= self.size:
            self._give_rest()
        elif not self.source and self._begin(self._opened(), self.is_quiet(now), is_last=True):
            self._fill(self._opened(), 1)
            self._give_rest()
        items, self._items = self._items, []
        return items

    def unfinished(self) -> str:
        """Returns a one-line description of a last line that breaks off; empty if there is none.

        Of a file that was not read to its end, what follows is not known to break off.
        """
        line, rest = self._line + 1, self._splitter.pending
        if self._offset < self.size and self.source:
            return ""
        if not self.source:
            rest, is_whole = _first_line(self._opened())
            if is_whole:
                return ""
        if not rest.strip() or may_be_complete(rest):
            return ""
        return f"line {line} breaks off after {len(rest)} bytes, without a line end"

    def close(self) -> None:
        """Closes the file."""
        if self._file:
            self._file.close()
            self._file = None


def _part(file: BinaryIO, offset: int, length: int) -> bytes:
    file.seek(offset)
    return file.read(length)


def _first_line(file: BinaryIO) -> tuple[bytes, bool]:
    """Returns the first line, at most `_LONGEST_HEAD` bytes, and whether it is complete."""
    start = _part(file, 0, _LONGEST_HEAD)
    line, end, _ = start.partition(b"\n")
    return line, bool(end) or len(start) == _LONGEST_HEAD


def _digest(text: bytes) -> str:
    return blake2b(text, digest_size=8).hexdigest()
