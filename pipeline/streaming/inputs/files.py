"""Watches directories and files, and reads their records as they appear."""

import glob
import gzip
import json
import os
import select
import time
import zipfile
import zlib
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import blake2b
from itertools import islice
from os import stat_result
from pathlib import Path
from threading import Condition, Thread
from typing import Any, BinaryIO

from turnwise.pipeline.io import files as local_files
from turnwise.pipeline.io.containers import KIND_BYTES, ZIP_MAGIC, NotTextError, check_text
from turnwise.pipeline.io.records import BOM, GZIP_MAGIC, SUFFIXES, read_records, reading_error
from turnwise.pipeline.streaming.inputs.base import Checkpoints, SettledPositions, SourceRecord, StreamSource
from turnwise.schemas import score
from turnwise.schemas.config import ConfigError
from turnwise.schemas.conversation import Record
from turnwise.schemas.jsonio import is_local

_CHUNK = 1 << 16
_HELD_BYTES = 1 << 24
_POLL_SECONDS = 0.2
_ITEM_BYTES = 200


class LinesSource(StreamSource):
    """Reads the lines of a pipe in a thread. A full buffer blocks the writer.

    A pipe cannot be read again: records that were read and not settled are lost when the process ends.
    Positions continue from those of earlier processes; blank lines have none.
    """

    def __init__(self, file: BinaryIO, name: str, checkpoints: Checkpoints, max_record_bytes: int) -> None:
        """Starts the thread that reads the file, which stays open; a larger line is returned as an error."""
        self._file, self._name, self._limit = file, name, max_record_bytes
        done = checkpoints.done(name)
        self._position = max(done.beyond, default=done.through)
        checkpoints.skip(name, set(range(done.through + 1, self._position + 1)) - done.beyond)
        self._items: deque[SourceRecord] = deque()
        self._held = 0
        self._is_ended = self._is_closed = False
        self._error: OSError | None = None
        self._changed = Condition()
        self._thread = Thread(target=self._run, name=f"read {name}", daemon=True)
        self._thread.start()

    @property
    def is_finished(self) -> bool:
        """Whether the writer has closed the pipe and all lines were returned."""
        return self._is_ended and not self._items and self._error is None

    def poll(self, limit: int) -> Sequence[SourceRecord]:
        with self._changed:
            items = [self._items.popleft() for _ in range(min(limit, len(self._items)))]
            self._held -= sum(_ITEM_BYTES + len(item.data) for item in items)
            self._changed.notify()
            if not items and self._error:
                raise self._error
        return items

    def _run(self) -> None:
        splitter, number, is_first = _LineSplitter(self._limit), self._file.fileno(), True
        try:
            while not self._is_closed:
                if select.select([number], [], [], _POLL_SECONDS)[0]:
                    if not (chunk := os.read(number, _CHUNK)):
                        break
                    if is_first:
                        _check_kind(chunk[:KIND_BYTES])
                    is_first = False
                    self._give(splitter.add(chunk))
        except OSError as error:
            self._error = error
        except NotTextError as error:  # once, and not of every line
            with self._changed:
                self._position += 1
                self._items.append(SourceRecord(self._name, self._position, b"", error=reading_error(error)))
        self._give(splitter.cut(), is_last=True)
        self._is_ended = True

    def _give(self, lines: list[bytes], is_last: bool = False) -> None:
        with self._changed:
            for line in lines:
                self._changed.wait_for(lambda: self._held < _HELD_BYTES or self._is_closed)
                error: ValueError | None = None
                if isinstance(line, _OversizedLine):
                    error = score.oversized_error(self._limit)
                else:
                    line = line.removeprefix(BOM).rstrip(b"\r")
                    if not line or line.isspace():
                        continue
                    if is_last and not may_be_complete(line):
                        why = f"the input breaks off {len(line)} bytes into this line, without a line end"
                        error = score.IncompleteReadError(why)
                self._position += 1
                self._items.append(SourceRecord(self._name, self._position, bytes(line), error=error))
                self._held += _ITEM_BYTES + len(line)

    def last_items(self) -> Sequence[SourceRecord]:
        self.close()
        items, self._items, self._held = list(self._items), deque(), 0
        return items

    def backlog(self) -> int | None:
        return len(self._items)

    def close(self) -> None:
        self._is_closed = True
        with self._changed:
            self._changed.notify()
        self._thread.join()


def _check_kind(head: bytes) -> None:
    """Raises NotTextError if a pipe begins as a packed or binary file, or as text that is not UTF-8."""
    if head.startswith(GZIP_MAGIC):
        raise NotTextError("is compressed by gzip; unpack it first, with gunzip -c")
    if b"\0" in head or not head.isascii():
        check_text(head)


QUIET_SECONDS = 1.0
GIVEN_UP_SECONDS = 10.0


def may_be_complete(text: bytes) -> bool:
    """Returns whether a text is a complete JSON object or array, or nested too deeply to check."""
    try:
        return isinstance(json.loads(text), dict | list)
    except RecursionError:
        return True
    except ValueError:
        return False


class _WatchedFile:
    """A watched file: its last known path, size and time of change (seconds since the epoch).

    As a source it has a label: the path, or `path (2)` for the second file at that path. Its identity is its
    inode with its first line, or with its size and time.
    """

    def __init__(self, checkpoints: Checkpoints, limit: int) -> None:
        self._checkpoints, self._limit = checkpoints, limit
        self.path, self.source = "", ""  # there is no label until the file is identified
        self.size, self._inode, self._mtime_ns = -1, 0, 0
        self.changed_at = 0.0
        self._is_changed = self._is_tried = False

    def observe(self, path: str, stat: stat_result, now: float) -> None:
        self.path = path
        if (stat.st_size, stat.st_mtime_ns) == (self.size, self._mtime_ns):
            return
        self.changed_at = min(now, stat.st_mtime) if self.size < 0 else now
        self.size, self._inode, self._mtime_ns = stat.st_size, stat.st_ino, stat.st_mtime_ns
        self._is_changed, self._is_tried = True, False

    def is_quiet(self, now: float, seconds: float = QUIET_SECONDS) -> bool:
        return now - self.changed_at >= seconds

    def _facts(self, identity: str) -> dict[str, Any]:
        """Returns the saved progress of a file, with its label; empty if there is none."""
        facts: dict[str, Any] = json.loads(self._checkpoints.note(identity) or "{}")
        return facts

    def _new_label(self) -> str:
        key = f"files at {self.path}"
        number = int(self._checkpoints.note(key) or 0) + 1
        self._checkpoints.set_note(key, str(number))
        return self.path if number == 1 else f"{self.path} ({number})"

    def close(self) -> None:
        """Closes the file."""


_SPLIT_CHUNK = 1 << 18
_BUDGET = 1 << 23
_LONGEST_HEAD = 1 << 16
_COMPARED = 256


class _GzipFoundError(Exception):
    """The file is compressed."""


class _LineFile(_WatchedFile):
    """A file whose lines are returned once each; an unterminated line when it is a complete JSON text.

    A position is the number of the line. The end of an unterminated line that was returned is stored as a
    cut, so that a later process counts the same lines. A file whose text was replaced gets a new label.
    """

    def __init__(self, checkpoints: Checkpoints, limit: int) -> None:
        super().__init__(checkpoints, limit)
        self._file: BinaryIO | None = None
        self._identity = ""
        self._done = SettledPositions()
        self._items: list[SourceRecord] = []
        self._must_be_new = self._is_cut_short = False
        self._start(0, 0, [])

    def _start(self, offset: int, line: int, cuts: list[int], head: bytes = b"", tail: bytes = b"") -> None:
        self._offset, self._line, self._cuts = offset, line, cuts
        self._saved = (offset, line, _digest(tail))
        self._splitter = _LineSplitter(self._limit, is_after_cut=offset in cuts)
        self._head, self._tail = head, tail

    @property
    def backlog(self) -> int:
        """Bytes not yet returned."""
        return max(self.size - self._offset, 0) + sum(len(item.data) for item in self._items)

    def observe_open(self, now: float) -> None:
        if self._file:
            self.observe(self.path, os.fstat(self._file.fileno()), now)

    def is_readable(self, now: float) -> bool:
        """Returns whether there is text to read, a last line that may be complete, or progress to save."""
        if self._is_changed or self._items or (self.source and self._offset < self.size):
            return True
        if not self._is_tried and self.is_quiet(now):
            return True
        may_save = bool(self.source) and self._splitter.is_between_lines
        return self._saved[0] != self._offset and may_save and self.is_quiet(now, GIVEN_UP_SECONDS)

    def read(self, limit: int, now: float) -> tuple[list[SourceRecord], int]:
        """Returns at most `limit` items, and the bytes read; raises OSError, or an error: it is no text."""
        is_quiet = self.is_quiet(now)
        file = self._opened()
        if self._is_changed:
            self._is_changed = False
            # A file whose text was replaced begins again under a new label.
            if self.source and not (
                self.size >= self._offset
                and _part(file, 0, len(self._head)) == self._head
                and _part(file, self._offset - len(self._tail), len(self._tail)) == self._tail
            ):
                self._give_rest()
                self._rename()
        # What is left of a text that was replaced goes first: the new one may not be whole, or no text.
        if not self.source and (self._items or not self._begin(file, is_quiet)):
            self._is_tried = is_quiet
            taken, self._items = self._items[:limit], self._items[limit:]
            return taken, 0
        cost = self._fill(file, limit)
        if self._is_cut_short and self._line:
            line, is_whole = _first_line(file)
            if is_whole:
                self._identity, self._is_cut_short = self._identity_of(line), False
                self._save()
        if self._offset >= self.size:
            if self._line + (not self._splitter.is_between_lines) < self._done.through:
                self._rename()
            elif is_quiet and not self._is_tried:
                self._is_tried = True
                self._give_rest()
            may_save = bool(self.source) and self._splitter.is_between_lines
            if may_save and self.is_quiet(now, GIVEN_UP_SECONDS):
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

    def _rename(self) -> None:
        self.source, self._identity = "", ""
        self._start(0, 0, [])
        self._must_be_new = self._is_changed = True

    def _begin(self, file: BinaryIO, is_quiet: bool, is_last: bool = False) -> bool:
        """Identifies the file by its first line, if that is complete, and seeks to the saved position."""
        line, is_whole = _first_line(file)
        if line.startswith(GZIP_MAGIC):
            raise _GzipFoundError
        check_text(line[:KIND_BYTES])
        is_ended = (is_quiet or is_last) and line.strip() and may_be_complete(line)
        if not is_whole and not is_ended:
            return False
        self._identity, self._is_cut_short = self._identity_of(line), not is_whole
        facts = {} if self._must_be_new else self._facts(self._identity)
        self._must_be_new = False
        offset = facts.get("offset", 0)
        tail = _part(file, max(offset - _COMPARED, 0), min(offset, _COMPARED))
        if not facts or self.size < offset or _digest(tail) != facts["tail"]:
            self.source = self._new_label()
            self._done = self._checkpoints.done(self.source)
            self._save()
            return True
        # The text is still the one that its known label stands for.
        self.source = facts["label"]
        self._done = self._checkpoints.done(self.source)
        cuts = [int(cut) for cut in facts["cuts"]]
        if self._done.through >= facts["line"]:
            self._start(offset, facts["line"], cuts, _part(file, 0, min(offset, _COMPARED)), tail)
        else:
            self._start(0, 0, cuts)
        return True

    def _identity_of(self, line: bytes) -> str:
        return f"lines {self._inode} {blake2b(line.strip(), digest_size=12).hexdigest()}"

    def _save(self) -> None:
        if self._splitter.is_between_lines:
            self._saved = (self._offset, self._line, _digest(self._tail))
        offset, line, tail = self._saved
        facts = {"label": self.source, "offset": offset, "line": line, "tail": tail, "cuts": self._cuts}
        self._checkpoints.set_note(self._identity, json.dumps(facts))

    def _fill(self, file: BinaryIO, limit: int) -> int:
        start = self._offset
        while len(self._items) < limit and self._offset < self.size and self._offset - start < _BUDGET:
            cuts = (cut for cut in self._cuts if cut > self._offset)
            end = min([self._offset + _SPLIT_CHUNK, self.size, *cuts])
            chunk = _part(file, self._offset, end - self._offset)
            if not chunk:
                self.size = self._offset
                break
            self._offset += len(chunk)
            self._head = (self._head + chunk[:_COMPARED])[:_COMPARED]
            self._tail = (self._tail + chunk[-_COMPARED:])[-_COMPARED:]
            self._add(self._splitter.add(chunk))
            if self._offset in self._cuts:
                self._add(self._splitter.cut())
        return self._offset - start

    def _add(self, lines: list[bytes]) -> None:
        for data in lines:
            self._line += 1
            if self._line in self._done:
                continue
            if isinstance(data, _OversizedLine):
                error = score.oversized_error(self._limit)
                self._items.append(SourceRecord(self.source, self._line, bytes(data), error=error))
            elif data and not data.isspace():
                text = data.removeprefix(BOM) if self._line == 1 else data
                self._items.append(SourceRecord(self.source, self._line, text.rstrip(b"\r")))
            else:
                self._checkpoints.skip(self.source, (self._line,))

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
        """Describes a last line that breaks off; "": there is none, or the file was not read so far."""
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


def _is_whole_gzip(file: BinaryIO) -> bool:
    """Returns whether a compressed file has an end, or is damaged in another way."""
    file.seek(0)
    with suppress(OSError, zlib.error), gzip.GzipFile(fileobj=file) as unpacked:
        try:
            while unpacked.read(_SPLIT_CHUNK):
                pass
        except EOFError:
            return False
    return True


_KINDS = {kind.__name__: kind for kind in (score.OversizedRecordError, score.IncompleteReadError)}
"""Errors that keep their type; of the others in a document the message alone is kept."""


class _Document(_WatchedFile):
    """A file whose records are returned once it is complete. A file that changes later gets a new label.

    A position is the number of the record in the file. The number of records is stored, so that a file is not
    opened again when all of them are settled.
    """

    def __init__(self, checkpoints: Checkpoints, limit: int) -> None:
        super().__init__(checkpoints, limit)
        self._items: Iterator[SourceRecord] = iter(())
        self._is_read = False  # what is read of it; not what stands in it since it has changed

    @property
    def backlog(self) -> int:
        return 0 if self._is_read and not self._is_changed else self.size

    def is_readable(self, now: float) -> bool:
        quiet_for = GIVEN_UP_SECONDS if self._is_tried else QUIET_SECONDS
        return self.is_quiet(now, quiet_for) if self._is_changed else not self._is_read

    def read(self, limit: int, now: float) -> tuple[list[SourceRecord], int]:
        """Returns at most `limit` items and roughly how many bytes were read; raises OSError."""
        if self._is_changed:
            is_given_up = self.is_quiet(now, GIVEN_UP_SECONDS) and self._is_tried
            if not is_given_up and not self._looks_complete():
                self._is_tried = True
                return [], self.size
            self._items, self._is_changed = self._unsettled(), False
        items = list(islice(self._items, limit))
        self._is_read = len(items) < limit
        return items, sum(len(item.data) for item in items)

    def last_items(self, now: float) -> list[SourceRecord]:
        """Returns the remaining records, unless the file breaks off: a later process may find it complete."""
        if not self._is_changed or not self._looks_complete():
            return []
        self._is_read, self._is_changed = True, False
        return list(self._unsettled())

    def unfinished(self) -> str:
        if not self.size:
            return "the file is empty" if self._is_changed or not self._is_read else ""
        if not self._is_changed or self._looks_complete():
            return ""
        return f"the text breaks off after {self.size} bytes"

    def _looks_complete(self) -> bool:
        """Returns whether it may be complete, as YAML, tables and very large texts may."""
        # A file of these kinds ends with so many bytes that its beginning holds, too.
        mark = {".avro": 16, ".parquet": 4}.get(Path(self.path).suffix, 0)
        with open(self.path, "rb") as file:
            head = file.read(_LONGEST_HEAD)
            if head.startswith(GZIP_MAGIC):
                return _is_whole_gzip(file)
            if head.startswith(ZIP_MAGIC):
                return zipfile.is_zipfile(file)
            if mark:
                return self.size > mark and _part(file, self.size - mark, mark) in head[: self.size - mark]
            if self.size > self._limit or not self.path.endswith(".json"):
                return self.size > 0
            text = _part(file, 0, self.size).removeprefix(BOM).strip()
        return may_be_complete(text) or (b"\n" in text and may_be_complete(text.rsplit(b"\n", 1)[1]))

    def _unsettled(self) -> Iterator[SourceRecord]:
        """Yields the records that are not settled; stores how many there are when all of them were read."""
        identity = f"document {self._inode} {self.size} {self._mtime_ns}"
        facts = self._facts(identity)
        if not facts:
            facts = {"label": self._new_label(), "records": None}
            self._checkpoints.set_note(identity, json.dumps(facts))
        self.source = source = facts["label"]
        done, last = self._checkpoints.done(source), 0
        if facts["records"] is not None and done.through >= facts["records"]:
            return
        for item in self._all(source):
            self._checkpoints.skip(source, range(last + 1, item.position))
            last = item.position
            if last not in done:
                yield item
        self._checkpoints.set_note(identity, json.dumps({"label": source, "records": last}))

    def _all(self, source: str) -> Iterator[SourceRecord]:
        position = 0
        try:
            for record in read_records(self.path, self._limit):
                position = max(record.position or 0, position + 1)  # members of an archive count anew
                if isinstance(record, Record):
                    yield SourceRecord(source, position, record.data)
                else:
                    fault = _KINDS.get(record.error_type, ValueError)(record.message)
                    yield SourceRecord(source, position, (record.record or "").encode(), error=fault)
        except Exception as error:
            yield SourceRecord(source, position + 1, b"", error=reading_error(error))


class _OversizedLine(bytes):
    """The start of a line that exceeds the limit."""


class _LineSplitter:
    """Splits a text into lines, independent of its chunks. Buffers at most one line."""

    def __init__(self, limit: int, is_after_cut: bool = False) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._held = 0
        self._is_dropping = False
        self._is_rest = is_after_cut

    @property
    def pending(self) -> bytes:
        """The start of an incomplete line."""
        return b"".join(self._parts)

    @property
    def is_between_lines(self) -> bool:
        return not self._parts and not self._is_dropping

    def add(self, chunk: bytes) -> list[bytes]:
        """Returns the completed lines, blank ones included, without line ends."""
        first, *others = chunk.split(b"\n")
        lines = list(self._hold(first))
        if others:
            lines += self._end()
            whole, kept = others[:-1], score.KEPT_RECORD_BYTES
            lines += (x if len(x) <= self._limit else _OversizedLine(x[:kept]) for x in whole)
            lines += self._hold(others[-1])
        return lines

    def cut(self) -> list[bytes]:
        """Ends the line here. The rest up to the next line end is a line of its own, unless it is blank."""
        lines = self._end()
        self._is_rest = True
        return lines

    def _hold(self, part: bytes) -> Iterable[bytes]:
        if self._is_dropping or not part:
            return
        self._parts.append(part)
        self._held += len(part)
        if self._held > self._limit:
            yield _OversizedLine(self.pending[: score.KEPT_RECORD_BYTES])
            self._parts, self._held, self._is_dropping = [], 0, True

    def _end(self) -> list[bytes]:
        line, was_given = self.pending, self._is_dropping or self._is_rest
        self._parts, self._held, self._is_dropping, self._is_rest = [], 0, False, False
        return [] if was_given and not line.strip() else [line]


_UNFINISHED = (".tmp", ".part", ".partial", ".swp", "~")


def find_files(paths: Sequence[str]) -> list[local_files.Seen]:
    """Returns the files of paths (files, directories, globs) by name, without hidden and partial files."""
    files: dict[str, local_files.Seen] = {}
    for path in paths:
        seen: Iterable[local_files.Seen] = ()
        if os.path.isdir(path):
            seen = local_files.walk(path, lambda name: name.endswith(SUFFIXES) and _is_shown(name), _is_shown)
        elif os.path.lexists(path):
            seen = local_files.look_at(path)
        elif glob.has_magic(path):
            seen = (
                s for s in local_files.matches(path) if _is_shown(s.path) and not s.path.endswith(_UNFINISHED)
            )
        files |= {file.path: file for file in seen}
    return [files[path] for path in sorted(files)]


def _is_shown(path: str) -> bool:
    return not os.path.basename(path).startswith(".")


_SCAN_SECONDS = 0.1
_SCAN_SHARE = 20
_MOST_OPEN = 256
_DOCUMENTS = (".json", ".gz", ".avro", ".parquet", ".yaml", ".yml", ".csv", ".eval", ".zip")

_FileKey = tuple[int, int]
_File = _LineFile | _Document


class DirectorySource(StreamSource):
    """Reads the records of files as they appear and grow, each record once.

    A file is identified by its inode: a renamed file continues, and a file that replaces another is new.
    JSON Lines and texts of other suffixes are read line by line as they grow, others when they are complete.
    """

    clock: Callable[[], float] = staticmethod(time.time)
    """Returns seconds since the epoch."""

    def __init__(self, paths: Sequence[str], checkpoints: Checkpoints, max_record_bytes: int) -> None:
        """Checks the paths (files, directories or globs), which the first poll reads; raises ConfigError."""
        for path in paths:
            problem = local_files.name_problem(path)
            if not is_local(path):
                problem = "a stream in this process reads local files only; name a --runner"
            elif not path.strip():
                problem = "an empty path"
            elif not problem and not glob.has_magic(path) and not Path(path).exists():
                problem = "no such file or directory"
            elif not problem and os.path.lexists(path) and not os.path.isdir(path):
                try:
                    local_files.check_file(path)
                except ValueError as error:
                    problem = str(error)
                except OSError:  # it may become readable; until then it is a failure of the stream
                    pass
            if problem:
                raise ConfigError(f"--input {path}: {problem}")
        self._paths, self._checkpoints, self._limit = paths, checkpoints, max_record_bytes
        self._files: dict[_FileKey, _File] = {}
        self._ready: OrderedDict[_FileKey, None] = OrderedDict()
        self._open: dict[_FileKey, _LineFile] = {}
        self._refused: dict[_FileKey, int] = {}
        self._reported: set[str] = set()
        self._compressed: set[str] = set()
        self._pending: list[SourceRecord] = []
        globs = {path for path in paths if glob.has_magic(path) and not os.path.lexists(path)}
        roots = ((local_files.glob_root(path) or os.curdir) if path in globs else path for path in paths)
        self._roots = list(filter(os.path.isdir, roots))
        self._gone_since: dict[str, float] = {}
        self._last_scan = self._next_scan = 0.0

    def poll(self, limit: int) -> Sequence[SourceRecord]:
        """Returns what has arrived, at most `limit` items, file by file."""
        now = self.clock()
        if not self._last_scan <= now < self._next_scan:
            self._scan(now)
        items, self._pending = self._pending[:limit], self._pending[limit:]
        cost = 0
        while self._ready and len(items) < limit and cost < _BUDGET:
            key = next(iter(self._ready))
            file = self._files.get(key)
            try:
                more, read = file.read(limit - len(items), now) if file else ([], 0)
                items += more
                cost += read
            except (FileNotFoundError, _GzipFoundError) as error:
                if file and isinstance(error, _GzipFoundError):
                    self._compressed.add(file.path)
                self._forget(key)
            except Exception as error:
                items += self._refuse(key, file, error) if file else ()
            if key not in self._files or not self._files[key].is_readable(now):
                del self._ready[key]
            if isinstance(file, _LineFile) and key in self._files:
                # The most recently read files stay open, so that reading continues after a rename.
                self._open.pop(key, None)
                self._open[key] = file
                if len(self._open) > _MOST_OPEN:
                    self._open.pop(next(iter(self._open))).close()
        return items

    def _scan(self, now: float) -> None:
        self._pending += self._gone_roots(now, GIVEN_UP_SECONDS)
        gone = set(self._files)
        for seen in find_files(self._paths):
            if isinstance(seen, local_files.Unreadable):
                self._pending += self._unreadable(seen.path, seen.error)
                continue
            path, stat = seen
            key = (stat.st_dev, stat.st_ino)
            is_second_name = key in self._files and key not in gone
            if is_second_name or self._refused.get(key) == stat.st_ctime_ns:
                continue
            gone.discard(key)
            kind = _Document if path.endswith(_DOCUMENTS) or path in self._compressed else _LineFile
            file = self._files.get(key)
            if not isinstance(file, kind):
                self._forget(key)
                file = self._files[key] = kind(self._checkpoints, self._limit)
            file.observe(path, stat, now)
            if file.is_readable(now):
                self._ready.setdefault(key)
        for key in gone:
            removed = self._open.get(key)
            if removed is None:
                self._forget(key)
                continue
            removed.observe_open(now)
            if removed.is_readable(now):
                self._ready.setdefault(key)
            elif key not in self._ready and removed.is_quiet(now, GIVEN_UP_SECONDS):
                self._pending += self._last_items(key, removed, now)
                if problem := removed.unfinished():
                    error = ValueError(f"{problem}, and the file is gone")
                    self._pending += self._unreadable(removed.source or removed.path, error)
                self._forget(key)
        took = max(0.0, self.clock() - now)
        self._last_scan, self._next_scan = now, now + took + max(_SCAN_SECONDS, _SCAN_SHARE * took)

    def _gone_roots(self, now: float, patience: float) -> list[SourceRecord]:
        """Returns the failures of watched directories that have been missing for `patience` seconds."""
        missing = [root for root in self._roots if not os.path.isdir(root)]
        self._gone_since = {root: self._gone_since.get(root, now) for root in missing}
        error = FileNotFoundError("the watched directory is gone")
        gone = [root for root, since in self._gone_since.items() if now - since >= patience]
        return [failure for root in gone for failure in self._unreadable(root, error)]

    def _forget(self, key: _FileKey) -> None:
        file = self._files.pop(key, None)
        self._open.pop(key, None)
        if file:
            file.close()

    def _refuse(self, key: _FileKey, file: _File, error: Exception) -> list[SourceRecord]:
        """Reports an unreadable file once and skips it until it changes."""
        self._forget(key)
        with suppress(OSError):
            self._refused[key] = os.stat(file.path).st_ctime_ns
        return self._unreadable(file.path, error)

    def _unreadable(self, path: str, error: Exception) -> list[SourceRecord]:
        """Returns the failure of an unreadable path, unless this or an earlier process reported it."""
        source = f"{local_files.shown_path(path)} (unreadable)"
        if source in self._reported or 1 in self._checkpoints.done(source):
            return []
        self._reported.add(source)
        return [SourceRecord(source, 1, b"", error=reading_error(error))]

    def last_items(self) -> Sequence[SourceRecord]:
        """Returns unterminated last lines and the remaining documents."""
        now = self.clock()
        items, self._pending = [*self._pending, *self._gone_roots(now, 0)], []
        for key, file in list(self._files.items()):
            if key not in self._ready:
                items += self._last_items(key, file, now)
        return items

    def _last_items(self, key: _FileKey, file: _File, now: float) -> list[SourceRecord]:
        try:
            return file.last_items(now)
        except (FileNotFoundError, _GzipFoundError):
            return []
        except Exception as error:
            return self._refuse(key, file, error)

    def unread(self) -> Sequence[str]:
        """Returns the files that break off, one line each. A later process reads them when complete."""
        lines = []
        for file in self._files.values():
            with suppress(FileNotFoundError):
                problem = file.unfinished()
                lines += [f"{local_files.shown_path(file.path)}: {problem}"] if problem else []
        return sorted(lines)

    def backlog(self) -> int | None:
        waiting = [self._files.get(key) for key in list(self._ready)]
        return sum(file.backlog for file in waiting if file)

    def close(self) -> None:
        for key in list(self._files):
            self._forget(key)
