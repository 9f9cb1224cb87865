"""What is kept of every conversation, so that it counts once and can be counted again."""

import sqlite3
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pipeline.streaming.segments import SegmentId, Span
from transforms.metrics import MetricsState
from transforms.packing import packed, unpacked
from transforms.streaming.outcome import Contribution, Outcome


class Known(NamedTuple):
    """What is known of a conversation that was kept; `written` is the revision that its rows carry."""

    name: str
    revision: int
    written: int
    app_version: str
    packed: bytes

    @property
    def statistics(self) -> MetricsState:
        """What it added to the metrics."""
        return unpacked(self.packed)


class KeptConversations:
    """The conversations of a stream's database; its methods run inside a transaction of the store."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Continues the numbering of changes."""
        self._connection = connection
        found = connection.execute("SELECT coalesce(max(changed), 0) FROM conversations").fetchone()
        self._changes = int(found[0])

    @property
    def changes(self) -> int:
        """How often something was kept, over all processes."""
        return self._changes

    def known(self, contribution: Contribution, result: str) -> Known | None:
        """Returns what was kept of a conversation, or under the name of its result."""
        query = (
            "SELECT name, revision, written, app_version, statistics FROM conversations "
            "WHERE name = ? OR result = ? ORDER BY name = ? DESC"
        )
        row = self._connection.execute(query, (contribution.name, result, contribution.name)).fetchone()
        return Known(*row) if row else None

    def is_new(self, known: Known, contribution: Contribution) -> bool:
        """Tells whether a contribution replaces what is known: no older revision, and never seen before."""
        if known.name == contribution.name and contribution.revision < known.revision:
            return False
        query = "SELECT 1 FROM digests WHERE name = ? AND digest = ?"
        key = (contribution.name, _version_of(contribution))
        return self._connection.execute(query, key).fetchone() is None

    def drop(self, name: str) -> None:
        """Forgets a conversation that another one takes the place of."""
        self._place(name, ())
        self._connection.execute("DELETE FROM conversations WHERE name = ?", (name,))

    def keep(self, outcome: Outcome, contribution: Contribution, written: int, spans: Sequence[Span]) -> None:
        """Writes down a conversation in place of what was kept under its name; its window stays the first."""
        self._changes += 1
        self._connection.execute(
            "INSERT OR IGNORE INTO digests VALUES (?, ?)", (contribution.name, _version_of(contribution))
        )
        self._connection.execute(
            "INSERT INTO conversations VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (name) DO UPDATE SET "
            "revision = excluded.revision, digest = excluded.digest, app_version = excluded.app_version, "
            "statistics = excluded.statistics, changed = excluded.changed, result = excluded.result, "
            "written = excluded.written",
            (
                contribution.name,
                outcome.conversation_id,
                contribution.revision,
                contribution.digest,
                contribution.event_time,
                contribution.app_version,
                packed(contribution.statistics),
                self._changes,
                outcome.results[0]["name"],
                written,
            ),
        )
        self._place(contribution.name, spans)
        if outcome.events:
            self._connection.execute(
                "INSERT OR REPLACE INTO sessions VALUES (?, ?, ?, ?)",
                (outcome.conversation_id, contribution.revision, contribution.event_time, outcome.events),
            )

    def _place(self, name: str, spans: Sequence[Span]) -> None:
        """Notes where a conversation's rows stand; where they stood before is dead."""
        self._connection.execute(
            'INSERT INTO dead SELECT "table", number, start, length FROM spans WHERE name = ?', (name,)
        )
        self._connection.execute("DELETE FROM spans WHERE name = ?", (name,))
        self._connection.executemany(
            "INSERT INTO spans VALUES (?, ?, ?, ?, ?)",
            [(name, *span.segment, span.offset, span.length) for span in spans],
        )

    def contributions(self) -> Iterator[Contribution]:
        """Yields what every conversation adds to the metrics, those that changed last at the end."""
        rows = self._connection.execute(
            "SELECT name, revision, digest, event_time, app_version, statistics FROM conversations "
            "ORDER BY changed"
        )
        for name, revision, digest, event_time, app_version, statistics in rows:
            state = unpacked(statistics)
            yield Contribution(name, revision, digest, event_time, app_version, state, is_restored=True)

    def sessions(self) -> list[tuple[str, int, float, bytes]]:
        """Returns (session id, revision, time of the last event, events) of closed sessions."""
        query = "SELECT session_id, revision, closed_at, events FROM sessions"
        return list(self._connection.execute(query))

    def segments_with_dead_rows(self) -> list[SegmentId]:
        """Returns the files that hold rows of replaced conversations."""
        return [
            SegmentId(*row) for row in self._connection.execute('SELECT DISTINCT "table", number FROM dead')
        ]

    def dead_spans(self, segment: SegmentId) -> list[tuple[int, int]]:
        """Returns (start, length) of a file's dead rows, in order."""
        query = 'SELECT start, length FROM dead WHERE "table" = ? AND number = ? ORDER BY start'
        return list(self._connection.execute(query, segment))

    def move(self, old: SegmentId, new: SegmentId) -> None:
        """Notes that a file was rewritten without its dead rows, under another number."""
        dead = self.dead_spans(old)
        query = 'SELECT name, start FROM spans WHERE "table" = ? AND number = ? ORDER BY start'
        moved, shift, passed = [], 0, 0
        for name, start in self._connection.execute(query, old).fetchall():
            while passed < len(dead) and dead[passed][0] < start:
                shift += dead[passed][1]
                passed += 1
            moved.append((new.number, start - shift, name, old.table))
        update = 'UPDATE spans SET number = ?, start = ? WHERE name = ? AND "table" = ?'
        self._connection.executemany(update, moved)
        self._connection.execute('DELETE FROM dead WHERE "table" = ? AND number = ?', old)


def _version_of(contribution: Contribution) -> bytes:
    return contribution.revision.to_bytes(8, "big") + contribution.digest
