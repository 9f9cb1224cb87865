"""Stores what each conversation added to rows, counts and metrics, so that a revision can replace it."""

import json
import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from threading import RLock
from typing import Any, NamedTuple

from turnwise.pipeline.streaming.local.database import RowRange, SegmentId, disk_errors
from turnwise.schemas.conversation import Record
from turnwise.schemas.jsonio import dump_json, grouped
from turnwise.transforms.beam.sessions import MAX_EVENTS, ClosedSession, closed_session
from turnwise.transforms.beam.windows import Contribution
from turnwise.transforms.metrics.state import packed


class StoredConversation(NamedTuple):
    """A stored conversation.

    Attributes:
        revision: Revision of its contribution; `written`: in its rows.
        event_time: Event time of its first contribution; it determines the window.
        app_version: "": unknown.
        packed: What it added to the metrics, packed; `counts`: to the counts, as a JSON object.
    """

    key: int
    revision: int
    written: int
    event_time: float
    app_version: str
    packed: bytes
    counts: str
    digest: bytes

    @property
    def counted(self) -> Counter[str]:
        """What it added to the counts."""
        return Counter(json.loads(self.counts))


@lru_cache(maxsize=8)  # it is asked for several times while one conversation is stored
def key_of(name: str) -> int:
    """Returns a 64-bit digest of a name as a number; collisions are unlikely up to 10 million names."""
    digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


class ConversationStore:
    """The conversations in a stream's database; but for `session` and `group`, callers hold a transaction."""

    def __init__(self, connection: sqlite3.Connection, lock: RLock) -> None:
        self._connection, self._lock = connection, lock
        [self.changes] = connection.execute("SELECT coalesce(max(changed), 0) FROM conversations").fetchone()

    def known(self, name: str, result: str | None) -> StoredConversation | None:
        """Returns the stored conversation of a name or, failing that, of a result name."""
        query = (
            "SELECT key, revision, written, event_time, app_version, statistics, counts, digest"
            " FROM conversations WHERE key = ? OR result = ? ORDER BY key = ? DESC"
        )
        key = key_of(name)
        row = self._connection.execute(query, (key, result and key_of(result), key)).fetchone()
        return StoredConversation(*row) if row else None

    def is_new(self, known: StoredConversation, contribution: Contribution) -> bool:
        """Returns whether a contribution replaces the stored one: not older, and not seen before."""
        key, version = key_of(contribution.name), _version_of(contribution)
        if known.key == key and (contribution.revision < known.revision or version == _version_of(known)):
            return False
        query = "SELECT 1 FROM digests WHERE key = ? AND digest = ?"
        return self._connection.execute(query, (key, version)).fetchone() is None

    def forgotten(self, name: str, result: str | None) -> bytes | None:
        """Returns the digest of a pruned conversation; None if it was not pruned."""
        query = "SELECT digest FROM forgotten WHERE key IN (?, ?)"
        row = self._connection.execute(query, (key_of(name), result and key_of(result))).fetchone()
        return bytes(row[0]) if row else None

    def drop(self, known: StoredConversation) -> None:
        """Removes a conversation that a new one replaces, and marks its rows as dead."""
        key = (known.key,)
        execute = self._connection.execute
        execute("INSERT OR IGNORE INTO digests VALUES (?, ?)", (known.key, _version_of(known)))
        execute('INSERT INTO dead SELECT "table", number, start, length FROM spans WHERE key = ?', key)
        execute("DELETE FROM spans WHERE key = ?", key)
        execute("DELETE FROM conversations WHERE key = ?", key)

    def put(
        self,
        contribution: Contribution,
        result: str | None,
        written: int,
        counts: Mapping[str, int],
        spans: Sequence[RowRange],
        now: float,
    ) -> None:
        """Stores a conversation; the caller drops what it replaces.

        `result` is the name of its result (None: it was rejected), `written` the revision in its rows, which
        are at `spans`, and `now` the stream's time, seconds since the epoch.
        """
        self.changes += 1
        key = key_of(contribution.name)
        # The caller passes the event time of the first revision, so that a revision stays in its window.
        row = (
            *(key, result and key_of(result), contribution.revision, written, contribution.digest),
            *(contribution.event_time, contribution.app_version, packed(contribution.statistics)),
            *(dump_json(counts).decode(), self.changes, max(now, contribution.event_time)),
        )
        self._connection.execute(f"INSERT INTO conversations VALUES (?{', ?' * (len(row) - 1)})", row)
        rows = [(key, *span.segment, span.offset, span.length) for span in spans]
        self._connection.executemany("INSERT INTO spans VALUES (?, ?, ?, ?, ?)", rows)

    def put_session(self, record: Record, is_rejected: bool) -> None:
        """Stores the events of a closed session, and which groups they come from."""
        assert record.closing is not None
        closed, key = closed_session(record, is_rejected), key_of(f"session {record.closing.session_id}")
        row = (key, closed.revision, closed.closed_at, closed.events, closed.places)
        self._connection.execute("INSERT OR REPLACE INTO sessions VALUES (?, ?, ?, ?, ?)", row)
        rows = [(key_of(f"group {group}"), key, closed.closed_at) for group in record.closing.groups]
        self._connection.executemany("INSERT OR REPLACE INTO groups VALUES (?, ?, ?)", rows)

    def session(self, session_id: str) -> ClosedSession | None:
        """Returns a closed session (without events if it was pruned) or None; raises OSError."""
        key = key_of(f"session {session_id}")
        for row in self._rows("SELECT revision, events, closed_at, places FROM sessions WHERE key = ?", key):
            return ClosedSession(*row)
        for (at,) in self._rows("SELECT at FROM forgotten WHERE key = ?", key):
            return ClosedSession(0, b"", at)
        return None

    def group(self, group: str, is_endless: bool = False) -> ClosedSession | None:
        """Returns the events of the closed sessions with events of a group, as one session; raises OSError.

        If one of them was pruned, there are no events. None: no session has such events. Of a group of any
        number of conversations the newest that are there count.
        """
        newest = f" AND s.key IS NOT NULL ORDER BY g.at DESC LIMIT {MAX_EVENTS // 2}" if is_endless else ""
        query = (
            "SELECT s.events, s.places, coalesce(s.closed_at, g.at) FROM groups g"
            f" LEFT JOIN sessions s ON s.key = g.session WHERE g.key = ?{newest or ' ORDER BY g.session'}"
        )
        rows = self._rows(query, key_of(f"group {group}"))
        if not rows:
            return None
        closed_at = max(at for _, _, at in rows)
        if any(events is None for events, _, _ in rows):
            return ClosedSession(0, b"", closed_at)
        events, places = (b"[" + b",".join(row[i][1:-1] for row in rows) + b"]" for i in (0, 1))
        return ClosedSession(0, events, closed_at, places)

    def _rows(self, query: str, key: int) -> list[tuple[Any, ...]]:
        with self._lock, disk_errors(self._connection):
            return self._connection.execute(query, (key,)).fetchall()

    def dead_rows(self) -> dict[SegmentId, list[tuple[int, int]]]:
        """Returns (start, length) of the rows of replaced conversations, by file, in order."""
        query = 'SELECT "table", number, start, length FROM dead ORDER BY "table", number, start'
        rows = self._connection.execute(query)
        return grouped((SegmentId(table, number), (start, length)) for table, number, start, length in rows)

    def move(self, old: SegmentId, new: SegmentId, dead: Sequence[tuple[int, int]]) -> None:
        """Updates row positions after a file was rewritten without its dead rows (start, length)."""
        query = 'SELECT key, start FROM spans WHERE "table" = ? AND number = ? ORDER BY start'
        moved, shift, passed = [], 0, 0
        for key, start in self._connection.execute(query, old).fetchall():
            while passed < len(dead) and dead[passed][0] < start:
                shift += dead[passed][1]
                passed += 1
            moved.append((new.number, start - shift, key, old.table))
        update = 'UPDATE spans SET number = ?, start = ? WHERE key = ? AND "table" = ?'
        self._connection.executemany(update, moved)
        self._connection.execute('DELETE FROM dead WHERE "table" = ? AND number = ?', old)


def _version_of(contribution: Contribution | StoredConversation) -> bytes:
    return contribution.revision.to_bytes(8, "big") + contribution.digest
