"""Joins events in temporary files, so that memory does not grow with their number."""

import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from turnwise.schemas.conversation import Record
from turnwise.schemas.score import Failure
from turnwise.transforms.formats.events import ConversationEvent, named_events
from turnwise.transforms.formats.reading import LoggedConversation, join_session


class EventJoin:
    """All events of some input, in temporary files that end with the `with` statement."""

    def __init__(self) -> None:
        self._events, self._groups = EventSpool(), EventSpool()

    def __enter__(self) -> "EventJoin":
        return self

    def __exit__(self, *_: object) -> None:
        self._events.close()
        self._groups.close()

    def add(self, event: ConversationEvent) -> None:
        """Keeps an event."""
        (self._groups if event.group else self._events).add(event)

    def joined(
        self, counts: Counter[str]
    ) -> Iterator[tuple[Sequence[ConversationEvent], Sequence[LoggedConversation | Failure]]]:
        """Yields events and their conversation, in order of the first; before them what belongs to none."""
        for group, events in self._groups.sessions():
            named = named_events(group, events, counts)
            for event in named.events:
                self._events.add(event)
            if named.failures:
                yield events, named.failures
        for session_id, events in self._events.sessions():
            yield events, join_session(session_id, events, counts)


_CREATE = """
CREATE TABLE events (key BLOB, session BLOB, turn INTEGER, time REAL, id BLOB, is_end INTEGER, kind TEXT,
                     source BLOB, position INTEGER, data BLOB, watermark REAL, grouped BLOB)
"""
_ADD = "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_SESSIONS = "SELECT key FROM events GROUP BY key ORDER BY MIN(rowid)"
_EVENTS = "SELECT * FROM events WHERE key = ? ORDER BY rowid"


class EventSpool:
    """Events in a temporary database, until it is closed."""

    def __init__(self) -> None:
        # The empty name is SQLite's for a file of its own that it deletes.
        self._database = sqlite3.connect("", isolation_level=None)
        self._database.execute(_CREATE)
        self._database.execute("BEGIN")
        self._is_empty = True

    def close(self) -> None:
        """Removes the database."""
        self._database.close()

    def add(self, event: ConversationEvent) -> None:
        """Keeps an event; raises OSError if the disk is full."""
        self._is_empty = False
        record = event.record
        head = (_bytes(event.group or event.session_id), _bytes(event.session_id), event.turn_index)
        about = (event.event_time, _bytes(event.event_id), event.is_end, event.kind)
        origin = (_bytes(record.source), record.position, record.data)
        tail = (event.watermark, _bytes(event.group))
        try:
            self._database.execute(_ADD, (*head, *about, *origin, *tail))
        except sqlite3.OperationalError as error:
            raise OSError(f"events cannot be kept in a temporary file: {error}") from error

    def sessions(self) -> Iterator[tuple[str, list[ConversationEvent]]]:
        """Yields the id of every conversation or group with its events, in the order of adding."""
        if self._is_empty:
            return
        self._database.execute("CREATE INDEX by_session ON events (key)")
        for (key,) in self._database.execute(_SESSIONS):
            yield _text(key), [_event(row) for row in self._database.execute(_EVENTS, (key,))]


def _bytes(text: str) -> bytes:
    """Returns a text as bytes, because SQLite refuses lone surrogates in texts."""
    return text.encode("utf-8", "surrogatepass")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def _event(row: tuple[Any, ...]) -> ConversationEvent:
    _, session, turn, time, event_id, is_end, kind, source, position, data, watermark, group = row
    record = Record(_text(source), position, data)
    name, ids = _text(session), _text(event_id)
    return ConversationEvent(name, turn, time, ids, bool(is_end), kind, record, watermark, _text(group))
