"""Opens, checks and prunes `progress.sqlite`, the database of a stream's progress."""

import json
import os
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias
from zlib import crc32

from turnwise.pipeline.io.run_writer import PROGRESS_FILE, RECEIVED_FILE, earlier_files
from turnwise.schemas.jsonio import dump_json
from turnwise.schemas.rows import score_lines
from turnwise.schemas.run import RUN_FILE, StreamRules
from turnwise.transforms.beam.sessions import FORGOTTEN_SECONDS

FORMAT = "4"
_ANEW = "restore a copy of the whole directory, or start again with --overwrite or another --output"
_SHOWN = 3


def _checked(columns: re.Match[str]) -> str:
    """Adds the column that holds the checksum of others, which SQLite itself computes and checks.

    SQLite finds damage to its own structure only: a changed byte of a sum would be a wrong figure.
    """
    total = f"row_checksum({', '.join(column.split()[0] for column in columns[1].split(','))})"
    return f"({columns[1]}, row_sum INTEGER AS ({total}) STORED CHECK (row_sum = {total})"


_SCHEMA = f"""
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
INSERT OR IGNORE INTO meta VALUES ('format', '{FORMAT}');
CREATE TABLE IF NOT EXISTS segments (
    "table" TEXT, number INTEGER, length INTEGER NOT NULL, tail BLOB NOT NULL, CHECKED,
    PRIMARY KEY ("table", number));
CREATE TABLE IF NOT EXISTS conversations (
    key INTEGER NOT NULL UNIQUE, result INTEGER, revision INTEGER NOT NULL, written INTEGER NOT NULL,
    digest BLOB NOT NULL, event_time REAL NOT NULL, app_version TEXT NOT NULL, statistics BLOB NOT NULL,
    counts TEXT NOT NULL, changed INTEGER NOT NULL, kept_at REAL NOT NULL, CHECKED);
CREATE INDEX IF NOT EXISTS by_result ON conversations (result);
CREATE INDEX IF NOT EXISTS by_change ON conversations (changed);
CREATE INDEX IF NOT EXISTS by_age ON conversations (kept_at);
CREATE TABLE IF NOT EXISTS digests (key INTEGER, digest BLOB, PRIMARY KEY (key, digest)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS forgotten (key INTEGER PRIMARY KEY, digest BLOB NOT NULL, at REAL NOT NULL);
CREATE INDEX IF NOT EXISTS by_forgetting ON forgotten (at);
CREATE TABLE IF NOT EXISTS sums (
    start REAL, app_version TEXT, statistics BLOB NOT NULL, CHECKED,
    PRIMARY KEY (start, app_version)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS settled (
    source TEXT, position INTEGER, at REAL NOT NULL, PRIMARY KEY (source, position)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS spans (
    key INTEGER NOT NULL, "table" TEXT, number INTEGER NOT NULL, start INTEGER NOT NULL,
    length INTEGER NOT NULL, CHECKED);
CREATE INDEX IF NOT EXISTS by_key ON spans (key);
CREATE TABLE IF NOT EXISTS dead (
    "table" TEXT, number INTEGER, start INTEGER, length INTEGER NOT NULL, CHECKED,
    PRIMARY KEY ("table", number, start)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS sessions (
    key INTEGER PRIMARY KEY, revision INTEGER NOT NULL, closed_at REAL NOT NULL, events BLOB NOT NULL,
    places BLOB NOT NULL, CHECKED);
CREATE INDEX IF NOT EXISTS by_closing ON sessions (closed_at);
CREATE TABLE IF NOT EXISTS groups (
    key INTEGER, session INTEGER, at REAL NOT NULL, PRIMARY KEY (key, session)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS sources (
    source TEXT PRIMARY KEY, through INTEGER NOT NULL DEFAULT 0, note TEXT, CHECKED);
CREATE TABLE IF NOT EXISTS beyond (source TEXT, position INTEGER, PRIMARY KEY (source, position));
CREATE TABLE IF NOT EXISTS rejected (
    source TEXT, position INTEGER, part INTEGER, at REAL NOT NULL, PRIMARY KEY (source, position, part)
    ) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS counts (name TEXT PRIMARY KEY, number INTEGER NOT NULL, CHECKED);
CREATE TABLE IF NOT EXISTS refused (thing TEXT PRIMARY KEY, rows INTEGER NOT NULL, why TEXT NOT NULL);
COMMIT;
"""
_SCHEMA = re.sub(r"\(([^()]*), CHECKED", _checked, _SCHEMA)


@contextmanager
def disk_errors(connection: sqlite3.Connection) -> Iterator[None]:
    """Raises OSError for errors of a database, in one line that begins with the path of its file."""
    try:
        yield
    except sqlite3.Error as error:
        with suppress(sqlite3.Error):
            raise OSError(f"{connection.execute('PRAGMA database_list').fetchone()[2]}: {error}") from error
        raise OSError(str(error)) from error


def open_database(directory: Path) -> sqlite3.Connection:
    """Opens the database and creates it if there is none. Every commit is synced to disk.

    All of it is read and checked first, about 3 microseconds a row. Raises OSError if the disk is full or
    broken, and ValueError if the database is damaged, of another format or run, no database of a stream, or
    empty beside results, or this process may not write it; then nothing was changed.
    """
    path = directory / PROGRESS_FILE
    if path.exists() and not os.access(path, os.R_OK | os.W_OK):
        raise ValueError(f"{PROGRESS_FILE}: cannot be written: it is read-only for this process")
    connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
    try:
        connection.create_function(
            "row_checksum", -1, lambda *values: crc32(ascii(values).encode()), deterministic=True
        )
        _check(connection, directory)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA secure_delete = ON")  # records that are pruned leave no bytes behind
        connection.executescript(_SCHEMA)
    except (sqlite3.DatabaseError, ValueError) as error:
        connection.close()
        if isinstance(error, sqlite3.OperationalError):
            kind = OSError if "disk" in str(error) else ValueError
            raise kind(f"{path}: {error}") from None
        fault = error if isinstance(error, ValueError) else f"is damaged: {error}; {_ANEW}"
        raise ValueError(f"{PROGRESS_FILE}: {fault}") from None
    return connection


def _check(connection: sqlite3.Connection, directory: Path) -> None:
    """Raises ValueError or sqlite3.Error if a database is not the sound progress of a directory's stream."""
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not tables:
        others = [Path(path) for path in earlier_files(str(directory))]
        others = [path for path in others if not path.name.startswith((PROGRESS_FILE, RECEIVED_FILE))]
        beside = next((path.name for path in others if path.stat().st_size), None)
        if beside:
            raise ValueError(f"is empty, but the directory holds results ({beside}): {_ANEW}")
        return
    if "meta" not in tables:
        raise ValueError(f"is a database of something else (tables: {', '.join(sorted(tables)[:_SHOWN])})")
    meta = dict(connection.execute("SELECT name, value FROM meta"))
    if meta.get("format") != FORMAT:
        what = f"it is of another version of turnwise (format {meta.get('format')}, not {FORMAT})"
        step = "continue with that version, or start again with --overwrite or another --output"
        raise ValueError(f"{what}; {step}")
    faults = [row[0] for row in connection.execute(f"PRAGMA integrity_check({_SHOWN})") if row[0] != "ok"]
    if faults:
        raise ValueError(f"is damaged: {'; '.join(faults)}; {_ANEW}")
    run = run_of(directory / RUN_FILE)
    if run not in (None, meta.get("run_id")):
        raise ValueError(f"is of the run {meta.get('run_id')}, but run.json of the run {run}: {_ANEW}")


def run_of(path: Path) -> object:
    """Returns the id of the run that a JSON document, or the first line of a table, names; None: none."""
    try:
        with path.open("rb") as file:
            return json.loads(file.read() if path.name == RUN_FILE else file.readline())["run_id"]
    except (OSError, ValueError, KeyError, TypeError):
        return None


def prune(connection: sqlite3.Connection, rules: StreamRules, now: float, clock: float) -> None:
    """Deletes what can no longer change.

    The key and digest of a pruned conversation stay for `FORGOTTEN_SECONDS`, so that it is recognised if it
    arrives again; the sums of its window stay. Positions of sources without consecutive numbers stay for the
    allowed lateness, by the wall clock. `now` is the stream's time, `clock` the present one, in seconds since
    the epoch. The caller holds a transaction.
    """
    execute, kept = connection.execute, rules.window + rules.window_lateness
    horizon, old = now - rules.allowed_lateness, "FROM sessions WHERE closed_at <= ?"
    execute(f"INSERT OR REPLACE INTO forgotten SELECT key, x'', closed_at {old}", (horizon,))
    execute(f"DELETE {old}", (horizon,))
    execute("DELETE FROM groups WHERE at <= ?", (horizon - FORGOTTEN_SECONDS,))
    horizon, old = now - kept, "FROM conversations WHERE kept_at <= ?"
    for key in ("key", "result"):
        rows = f"SELECT {key}, digest, kept_at {old} AND {key} IS NOT NULL"
        execute(f"INSERT OR REPLACE INTO forgotten {rows}", (horizon,))
    for table in ("digests", "spans"):
        execute(f"DELETE FROM {table} WHERE key IN (SELECT key {old})", (horizon,))
    execute(f"DELETE {old}", (horizon,))
    execute("DELETE FROM forgotten WHERE at <= ?", (horizon - FORGOTTEN_SECONDS,))
    for table in ("settled", "rejected"):
        execute(f"DELETE FROM {table} WHERE at <= ?", (clock - kept,))


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


Committed: TypeAlias = tuple[int, bytes]
"""What of a file counts: the number of its first bytes, and the digest of the last; see `Segments.tail`."""


def check_rows(directory: Path, committed: Mapping[SegmentId, Committed], run_id: str | None) -> None:
    """Checks that a directory holds the rows that its progress describes, before any of them is cut off.

    Raises ValueError if a file is gone, too short or another one, or holds rows of another run. A progress
    without a run has no rows yet.
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
    """The growing files of a directory; what stands beyond a committed length was never committed.

    `lengths` are those of all files in bytes, with rows that are not yet committed.
    """

    def __init__(self, directory: Path, committed: Mapping[SegmentId, int]) -> None:
        self._directory = directory
        self.lengths: dict[SegmentId, int] = dict(committed)
        for path in directory.iterdir():
            name = _NAME.fullmatch(path.name)
            if name and SegmentId(name[1], int(name[2])) not in self.lengths:
                path.unlink()
        self._current = {table: SegmentId(table, 0) for table in TABLES}
        self._current |= {segment.table: segment for segment in sorted(self.lengths)}
        self._tails = dict[SegmentId, bytes]()
        for segment in self.lengths.keys() - self._current.values():
            with (directory / segment.name).open("rb") as file:
                self._tails[segment] = _tail_of(file, self.lengths[segment])
        self._files = {table: self._open(segment) for table, segment in self._current.items()}

    def _open(self, segment: SegmentId) -> BinaryIO:
        path = self._directory / segment.name
        length = self.lengths.setdefault(segment, 0)
        file = path.open("r+b" if path.exists() else "w+b")
        file.truncate(length)
        self._tails[segment] = _tail_of(file, length)
        file.seek(length)
        return file

    def tail(self, segment: SegmentId) -> bytes:
        """Returns the digest of the last 4,096 bytes of a file, by which it is recognised."""
        return _tail_digest(self._tails[segment])

    def append(self, table: str, rows: Sequence[Any]) -> RowRange | None:
        """Appends rows to a table; returns None if there are none."""
        if not rows:
            return None
        segment = self._current[table]
        if self.lengths[segment] >= _LARGEST:
            segment = self._current[table] = SegmentId(table, segment.number + 1)
            self.sync([table])
            self._files[table].close()
            self._files[table] = self._open(segment)
        text = score_lines(rows) if table == SCORES else b"\n".join(map(dump_json, rows)) + b"\n"
        self._files[table].write(text)
        span = RowRange(segment, self.lengths[segment], len(text))
        self.lengths[segment] += len(text)
        self._tails[segment] = (self._tails[segment] + text[-_COMPARED:])[-_COMPARED:]
        return span

    def sync(self, tables: Sequence[str] = TABLES) -> None:
        """Syncs the files of tables to disk; raises OSError."""
        for table in tables:
            self._files[table].flush()
            os.fsync(self._files[table].fileno())

    def rewrite(self, segment: SegmentId, dead: Sequence[tuple[int, int]]) -> SegmentId:
        """Copies a file without its dead spans (start, length; in order) to the table's next number."""
        self._files[segment.table].flush()
        new = SegmentId(segment.table, self._current[segment.table].number + 1)
        path = self._directory / segment.name
        with path.open("rb") as source, (self._directory / new.name).open("wb") as target:
            starts = [0, *(start + size for start, size in dead)]
            ends = [*(start for start, _ in dead), self.lengths[segment]]
            for start, end in zip(starts, ends, strict=True):
                source.seek(start)
                while start < end:
                    start += target.write(source.read(min(end - start, _COPIED_AT_ONCE)))
            self.lengths[new] = target.tell()
            target.flush()
            os.fsync(target.fileno())
        del self.lengths[segment], self._tails[segment]
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
            length, _ = committed.get(segment, (0, b""))
            with suppress(OSError):
                os.truncate(self._directory / segment.name, length)

    def close(self) -> None:
        """Closes the files."""
        for file in self._files.values():
            file.close()
