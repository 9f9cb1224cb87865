"""Looks up the work of earlier processes of a stream on demand."""

import sqlite3
from pathlib import Path
from sys import maxsize
from threading import Lock
from typing import Any

from turnwise.pipeline.streaming.local.conversation_store import (
    KNOWN_COLUMNS,
    StoredConversation,
    key_of,
    session_key,
)
from turnwise.pipeline.streaming.local.database import disk_errors, open_reader
from turnwise.transforms.streaming.deduplication import Counted
from turnwise.transforms.streaming.session import ClosedSession


class PreviousProcesses:
    """Reads a stream's database through a connection of its own."""

    def __init__(self, directory: Path, changes: int) -> None:
        """Opens the database.

        Args:
            directory: Directory of the stream.
            changes: Number of the last change of earlier processes.
        """
        self._connection: sqlite3.Connection = open_reader(directory)
        self._changes, self._lock = changes, Lock()
        self._replaced: dict[int, StoredConversation] = {}

    def replace(self, known: StoredConversation) -> None:
        """Remembers the contribution of an earlier process before this one replaces it."""
        if known.changed <= self._changes:
            self._replaced.setdefault(known.key, known)

    def session(self, session_id: str) -> ClosedSession | None:
        """Returns a closed session (without events if it was pruned) or None; raises OSError."""
        key = session_key(session_id)
        row = self._row("SELECT revision, events, closed_at, places FROM sessions WHERE key = ?", key)
        if row is not None:
            return ClosedSession(*row)
        pruned = self._row("SELECT at FROM forgotten WHERE key = ?", key)
        return None if pruned is None else ClosedSession(0, b"", pruned[0])

    def counted(self, name: str) -> Counted | None:
        """Returns what an earlier process counted of a conversation; raises OSError.

        A pruned conversation has the highest revision, so that nothing replaces it.
        """
        key = key_of(name)
        row = self._row(f"SELECT {KNOWN_COLUMNS} FROM conversations WHERE key = ?", key)
        known = StoredConversation(*row) if row else None
        if known is None or known.changed > self._changes:
            known = self._replaced.get(key)
        if known is not None:
            return Counted(known.revision, known.digest, known.event_time, known.app_version, known.packed)
        pruned = None if row else self._row("SELECT digest, at FROM forgotten WHERE key = ?", key)
        return None if pruned is None else Counted(maxsize, pruned[0], pruned[1], "", b"")

    def _row(self, query: str, key: int) -> Any:
        with self._lock, disk_errors():
            return self._connection.execute(query, (key,)).fetchone()

    def close(self) -> None:
        """Closes the database."""
        with self._lock:
            self._connection.close()
