"""Keeps the events of conversations in a temporary file until all are read, so that memory stays flat."""

import sqlite3
from collections.abc import Iterator
from types import TracebackType

from turnwise.schemas.record import Record
from turnwise.transforms.formats.events import ConversationEvent

_CREATE = """
CREATE TABLE events (session TEXT, turn INTEGER, time REAL, id TEXT, is_end INTEGER, kind TEXT,
                     source TEXT, position INTEGER, data BLOB)
"""
_ADD = "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_SESSIONS = "SELECT session FROM events GROUP BY session ORDER BY MIN(rowid)"
_EVENTS = "SELECT * FROM events WHERE session = ? ORDER BY rowid"


class EventSpool:
    """Events in a temporary database, which ends with the `with` statement."""

    def __init__(self) -> None:
        # The empty name is SQLite's for a file of its own that it deletes.
        self._database = sqlite3.connect("", isolation_level=None)
        self._database.execute(_CREATE)
        self._database.execute("BEGIN")
        self._is_empty = True

    def __enter__(self) -> "EventSpool":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._database.close()

    def add(self, event: ConversationEvent) -> None:
        """Keeps an event."""
        self._is_empty = False
        record = event.record
        place = (record.source.encode("utf-8", "surrogateescape"), record.position, record.data)
        head = (
            _key(event.group or event.session_id),
            event.turn_index,
            event.event_time,
            event.event_id,
            event.is_end,
        )
        self._database.execute(_ADD, (*head, event.kind, *place))

    def sessions(self) -> Iterator[tuple[str, list[ConversationEvent]]]:
        """Yields the id of every conversation or group with its events, in the order of adding."""
        if self._is_empty:
            return
        self._database.execute("CREATE INDEX by_session ON events (session)")
        for (key,) in self._database.execute(_SESSIONS):
            events = [_event(row) for row in self._database.execute(_EVENTS, (key,))]
            yield events[0].session_id, events


def _key(session_id: str) -> bytes:
    """Returns an id as bytes, because SQLite refuses lone surrogates in texts."""
    return session_id.encode("utf-8", "surrogatepass")


def _event(row: tuple[bytes, int, float | None, str, int, str, bytes, int, bytes]) -> ConversationEvent:
    session, turn, time, event_id, is_end, kind, source, position, data = row
    record = Record(source.decode("utf-8", "surrogateescape"), position, data)
    name = session.decode("utf-8", "surrogatepass")
    return ConversationEvent(name, turn, time, event_id, bool(is_end), kind, record)
