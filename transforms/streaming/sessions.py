"""All the sessions that are kept under one key: open ones, closed ones, and the names of forgotten ones."""

from collections.abc import Callable
from math import inf
from typing import NamedTuple, TypeAlias

import msgspec
from msgspec.structs import replace

from turnwise.schemas.conversation import Conversation
from turnwise.schemas.record import Receipt, Record
from turnwise.transforms.formats.events import ConversationEvent
from turnwise.transforms.formats.registry import LogReader
from turnwise.transforms.streaming.assembly import (
    ClosedSession,
    LateEventError,
    Session,
    closed_session,
    reopened,
)
from turnwise.transforms.streaming.rules import StreamRules

MAX_KEPT_BYTES = 32 * 1024 * 1024
MAX_KEPT = 20_000
FORGOTTEN_SECONDS = 30 * 86_400.0
_LATE = "the event came after its conversation was forgotten"

Earlier: TypeAlias = Callable[[str], ClosedSession | None]
"""Returns a session by its id that an earlier process closed; None: there is none."""


def none_earlier(session_id: str) -> None:
    """Has no earlier process."""
    return None


class Added(NamedTuple):
    """What became of an event.

    Attributes:
        held: Records that wait now and did not before.
        ignored: What is done with, because it adds nothing.
    """

    held: int
    ignored: tuple[Receipt, ...] = ()


class Sessions(msgspec.Struct, array_like=True):
    """Sessions by id. It changes; an engine is handed a copy.

    A closed session is kept for the allowed lateness, the longest-closed ones for less when they are more
    than `MAX_KEPT` or larger than `MAX_KEPT_BYTES`. Then its id is kept for `FORGOTTEN_SECONDS`, of
    `MAX_KEPT` sessions at most.

    Attributes:
        open: Sessions that take events.
        closed: Sessions that were given on, the longest-closed first.
        forgotten: When a session was forgotten, seconds since the epoch, the first one first.
        closed_bytes: Size of the closed sessions.
        due: No open session closes earlier, seconds since the epoch.
        now: The latest watermark known.
    """

    open: dict[str, Session] = {}
    closed: dict[str, ClosedSession] = {}
    forgotten: dict[str, float] = {}
    closed_bytes: int = 0
    due: float = inf
    now: float = 0.0

    def copy(self) -> "Sessions":
        """Returns the same sessions, to be changed apart from these."""
        return replace(self, open=dict(self.open), closed=dict(self.closed), forgotten=dict(self.forgotten))

    def add(
        self,
        event: ConversationEvent,
        time: float,
        reader: LogReader,
        rules: StreamRules,
        earlier: Earlier = none_earlier,
    ) -> Added:
        """Takes an event.

        Args:
            event: The event.
            time: When it happened, as the stream has it, seconds since the epoch.
            reader: Reads the events of closed sessions again.
            rules: Gap and lateness.
            earlier: Finds what earlier processes closed.

        Raises:
            LateEventError: Its conversation is forgotten.
            SessionFullError: There is no room for it.
            ValueError: The conversation's earlier events cannot be read.
        """
        name = event.session_id
        self.now = max(self.now, event.watermark)
        self._forget(rules)
        if name in self.forgotten:
            raise LateEventError(_LATE)
        session = self.open.get(name) or self._reopened(name, reader, rules, earlier)
        grown = session.add(event, time, rules)
        if grown is session:
            return Added(0, event.record.settles())
        self._open(name, grown)
        before = session.fresh.get(event.event_id)
        held = len(grown.fresh[event.event_id].record.settles())
        return Added(held if before is None else held - len(before.record.settles()))

    def _reopened(self, name: str, reader: LogReader, rules: StreamRules, earlier: Earlier) -> Session:
        closed = self.closed.get(name) or earlier(name)
        if closed is None:
            return Session()
        if not closed.events or closed.closed_at + rules.allowed_lateness <= self.now:
            raise LateEventError(_LATE)
        return reopened(closed, reader)

    def take_due(self, now: float, rules: StreamRules) -> list[tuple[str, Session]]:
        """Takes out the sessions that close by a time; each is to be handed to `close`."""
        self.now = max(self.now, now)
        self._forget(rules)
        due = [(name, session) for name, session in self.open.items() if session.closes_at <= self.now]
        for name, _ in due:
            del self.open[name]
        self.due = min((session.closes_at for session in self.open.values()), default=inf)
        return due

    def close(
        self, name: str, session: Session, rules: StreamRules
    ) -> tuple[Conversation | Exception, Record]:
        """Joins a session that is due, and keeps all its events for what comes late.

        Returns:
            The conversation, or why its events make none: a later event may mend them, and then gives it
            under the same revision. And the record that stands for its events.
        """
        record = session.record(name, max(self.now, session.last_time))
        try:
            found: Conversation | Exception = session.joined(name)
        except Exception as error:
            found = error
        self._keep(name, closed_session(record, isinstance(found, Exception)), rules)
        return found, record

    def next_visit(self, rules: StreamRules) -> float:
        """Returns when there is something to do, seconds since the epoch; infinity: never.

        What it names is done by `take_due` at that time. Where many sessions share a key, what is to be
        forgotten waits for the next event or closing.
        """
        if rules.slots is not None:
            return self.due
        closed = (one.closed_at + rules.allowed_lateness for one in self.closed.values())
        forgotten = (time + FORGOTTEN_SECONDS for time in self.forgotten.values())
        return min(self.due, *closed, *forgotten, inf)

    def is_empty(self) -> bool:
        """Returns whether nothing is kept."""
        return not (self.open or self.closed or self.forgotten)

    def _open(self, name: str, session: Session) -> None:
        closed = self.closed.pop(name, None)
        if closed is not None:
            self.closed_bytes -= len(closed.events)
        self.open[name] = session
        self.due = min(self.due, session.closes_at)

    def _keep(self, name: str, closed: ClosedSession, rules: StreamRules) -> None:
        earlier = self.closed.pop(name, None)
        self.closed_bytes += len(closed.events) - (len(earlier.events) if earlier else 0)
        self.closed[name] = closed
        self._forget(rules)

    def _forget(self, rules: StreamRules) -> None:
        while self.closed:
            name, first = next(iter(self.closed.items()))
            is_many = len(self.closed) > MAX_KEPT or self.closed_bytes > MAX_KEPT_BYTES
            if not is_many and first.closed_at + rules.allowed_lateness > self.now:
                break
            del self.closed[name]
            self.closed_bytes -= len(first.events)
            self.forgotten[name] = self.now
        while self.forgotten:
            name = next(iter(self.forgotten))
            if len(self.forgotten) <= MAX_KEPT and self.forgotten[name] + FORGOTTEN_SECONDS > self.now:
                break
            del self.forgotten[name]
