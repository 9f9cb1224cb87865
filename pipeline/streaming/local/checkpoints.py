"""Stores the progress of a stream's sources in its database."""

import sqlite3
from collections import defaultdict
from collections.abc import Iterable
from threading import RLock

from turnwise.pipeline.streaming.inputs.base import SettledPositions
from turnwise.pipeline.streaming.local.database import disk_errors
from turnwise.pipeline.streaming.local.in_flight import Place


class SourceCheckpoints:
    """The progress of sources that can be read again, written in the transaction of the outcomes."""

    def __init__(self, connection: sqlite3.Connection, lock: RLock) -> None:
        self._connection, self._lock = connection, lock
        self._through: dict[str, int] = {}
        self._beyond: defaultdict[str, set[int]] = defaultdict(set)
        self._notes: dict[str, str] = {}
        self._tracked: set[str] = set()
        self._empty: defaultdict[str, set[int]] = defaultdict(set)
        for source, through, note in connection.execute("SELECT source, through, note FROM sources"):
            self._through[source] = through
            if note is not None:
                self._notes[source] = note
        for source, position in connection.execute("SELECT source, position FROM beyond"):
            self._beyond[source].add(position)

    def done(self, source: str) -> SettledPositions:
        """Returns the settled positions of a source, and tracks the source from now on."""
        with self._lock:
            self._tracked.add(source)
            return SettledPositions(self._through.get(source, 0), frozenset(self._beyond[source]))

    def is_tracked(self, source: str) -> bool:
        """Returns whether the settled positions of a source are stored."""
        return source in self._tracked

    def skip(self, source: str, positions: Iterable[int]) -> None:
        """Settles positions without a record; written with the next settled positions."""
        with self._lock:
            self._empty[source].update(positions)

    def note(self, source: str) -> str | None:
        """Returns the note of a source; None if there is none."""
        return self._notes.get(source)

    def set_note(self, source: str, note: str) -> None:
        """Stores the note of a source; raises OSError."""
        with self._lock, disk_errors(self._connection):
            self._notes[source] = note
            self._connection.execute(
                "INSERT INTO sources (source, note) VALUES (?, ?) "
                "ON CONFLICT (source) DO UPDATE SET note = excluded.note",
                (source, note),
            )

    def settle(self, places: Iterable[Place]) -> None:
        """Writes settled places. The caller holds a transaction."""
        by_source, self._empty = self._empty, defaultdict(set)
        for source, position in places:
            if source in self._tracked:
                by_source[source].add(position)
        for source, positions in by_source.items():
            self._settle_source(source, positions)

    def _settle_source(self, source: str, positions: set[int]) -> None:
        """Advances `through` up to the first gap; stores the positions beyond it one by one."""
        through, beyond = self._through.get(source, 0), self._beyond[source]
        before = set(beyond)
        beyond |= {position for position in positions if position > through}
        while through + 1 in beyond:
            through += 1
            beyond.discard(through)
        self._through[source] = through
        self._connection.execute(
            "INSERT INTO sources (source, through) VALUES (?, ?) "
            "ON CONFLICT (source) DO UPDATE SET through = excluded.through",
            (source, through),
        )
        self._connection.executemany(
            "DELETE FROM beyond WHERE source = ? AND position = ?", [(source, p) for p in before - beyond]
        )
        self._connection.executemany(
            "INSERT OR IGNORE INTO beyond VALUES (?, ?)", [(source, p) for p in beyond - before]
        )
