"""Stores what a receiver got until its outcomes are on disk. Every stream asks it, without the extra otlp."""

import sqlite3
from collections.abc import Iterable
from contextlib import closing, suppress
from math import inf
from pathlib import Path
from threading import Lock
from time import time
from typing import NamedTuple

from turnwise.pipeline.io.run_writer import RECEIVED_FILE
from turnwise.pipeline.streaming.inputs.base import Checkpoints, SourceOptions, SourceRecord, StreamSource
from turnwise.pipeline.streaming.local.database import disk_errors
from turnwise.schemas.config import ConfigError

_SCHEMA = """
CREATE TABLE IF NOT EXISTS received (
    id INTEGER PRIMARY KEY AUTOINCREMENT, data BLOB NOT NULL, event_time REAL, received REAL NOT NULL);
INSERT INTO sqlite_sequence SELECT 'received', 0
    WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'received');
CREATE TABLE IF NOT EXISTS refused (spans INTEGER NOT NULL);
"""
SOURCE = "otlp"
_MOST_AT_ONCE = 1 << 23


class SpoolFullError(Exception):
    """More is waiting than may wait."""


class Export(NamedTuple):
    """Items of one request as OTLP/JSON in UTF-8, and their latest time in epoch seconds; None: none."""

    data: bytes
    event_time: float | None


def refused_before(options: SourceOptions, checkpoints: Checkpoints) -> list[str]:
    """Returns how many spans earlier processes refused; raises ConfigError: received ones wait to be read."""
    path = options.directory / RECEIVED_FILE
    if not path.is_file():
        return []
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as file:
            refused = _prepare(file)
            numbers = [number for (number,) in file.execute("SELECT id FROM received")]
    except sqlite3.Error as error:
        raise ConfigError(f"{path}: {error}") from None
    done = checkpoints.done(SOURCE) if numbers else ()
    if waiting := sum(number not in done for number in numbers):
        step = "add --input otlp://127.0.0.1:0, or the address that received them"
        raise ConfigError(f"--output {options.directory}: {waiting} received requests were not read; {step}")
    return refusals(refused)


def refusals(refused: int) -> list[str]:
    """Returns how many spans were refused, in a line; none if all were read."""
    return [f"{SOURCE}: {refused} spans were refused: they lack ids"] if refused else []


def _prepare(file: sqlite3.Connection) -> int:
    """Creates what is missing in a file and returns the number of refused spans; sqlite3.Error: damaged."""
    [(answer,)] = file.execute("PRAGMA integrity_check(1)")
    if answer != "ok":
        raise sqlite3.DatabaseError(f"is damaged: {answer}")
    file.executescript(_SCHEMA)
    return int(file.execute("SELECT coalesce(sum(spans), 0) FROM refused").fetchone()[0])


class Spool(StreamSource):
    """A file of exports, each under a number of its own; one that was settled is removed later.

    Exports that an earlier process received and did not settle are read first; `refused_spans` counts those
    of all processes that could not be used.
    """

    most = 1 << 30
    """Bytes that may wait for their outcomes."""

    def __init__(self, directory: Path, checkpoints: Checkpoints) -> None:
        """Opens or creates the file; raises ConfigError."""
        self._lock = Lock()
        self._given, self._settled = 0, list[int]()
        path = directory / RECEIVED_FILE
        try:
            self._file = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
            self.refused_spans = _prepare(self._file)
            self._file.execute("PRAGMA journal_mode = WAL")
            self._file.execute("PRAGMA synchronous = FULL")
            done = checkpoints.done(SOURCE)
            numbers = {number for (number,) in self._file.execute("SELECT id FROM received")}
            self._delete(number for number in numbers if number in done)
            # Numbers never occur again, even if the file was removed; those that are missing are settled.
            last = max([done.through, *done.beyond, *numbers])
            sequence = "UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = 'received'"
            self._file.execute(sequence, (last,))
            checkpoints.skip(SOURCE, {*range(done.through + 1, last + 1)} - done.beyond - numbers)
            self._sizes = dict(self._file.execute("SELECT id, length(data) FROM received"))
            self._bytes, self._waiting = sum(self._sizes.values()), len(self._sizes)
        except sqlite3.Error as error:
            raise ConfigError(f"{path}: {error}") from None

    def _delete(self, numbers: Iterable[int]) -> None:
        self._file.executemany("DELETE FROM received WHERE id = ?", [(number,) for number in numbers])

    def add(self, export: Export | None, refused: int = 0) -> None:
        """Puts an export and a number of refused spans on disk; raises SpoolFullError or OSError."""
        with self._lock:
            size = 0 if export is None else len(export.data)
            if size and self._bytes and self._bytes + size > self.most:
                raise SpoolFullError
            number = 0
            with disk_errors(self._file), self._file:
                self._file.execute("BEGIN IMMEDIATE")
                self._delete(self._settled)
                if refused:
                    self._file.execute("INSERT INTO refused VALUES (?)", (refused,))
                if export is not None:
                    insert = "INSERT INTO received (data, event_time, received) VALUES (?, ?, ?)"
                    number = self._file.execute(insert, (*export, time())).lastrowid or 0
            self._settled.clear()
            self.refused_spans += refused
            if number:
                self._sizes[number] = size
                self._bytes += size
                self._waiting += 1

    def poll(self, limit: int) -> list[SourceRecord]:
        """Returns the next exports: `limit` at most, and none after 8 MiB; raises OSError."""
        return self._taken(limit, _MOST_AT_ONCE)

    def last_items(self) -> list[SourceRecord]:
        return self._taken(inf, inf)

    def _taken(self, limit: float, most: float) -> list[SourceRecord]:
        items: list[SourceRecord] = []
        size = 0
        query = "SELECT id, data, event_time, received FROM received WHERE id > ? ORDER BY id"
        with self._lock, disk_errors(self._file):
            if not self._waiting:
                return []
            for number, data, event_time, received in self._file.execute(query, (self._given,)):
                items.append(SourceRecord(SOURCE, number, data, event_time, published=received))
                self._given, size = number, size + len(data)
                self._waiting -= 1
                if len(items) >= limit or size >= most:
                    break
        return items

    def refused(self) -> list[str]:
        return refusals(self.refused_spans)

    def settle(self, places: Iterable[tuple[str, int]]) -> None:
        with self._lock:
            for source, number in places:
                if source == SOURCE and number in self._sizes:
                    self._bytes -= self._sizes.pop(number)
                    self._settled.append(number)

    def backlog(self) -> int:
        return self._waiting

    def close(self) -> None:
        """Removes settled exports, as the next process would, and closes the file."""
        with self._lock:
            with suppress(sqlite3.Error):
                self._delete(self._settled)
            self._file.close()
