"""Sessions of one state key: open and closed sessions, and ids of removed ones."""

from collections.abc import Callable
from math import inf
from typing import NamedTuple, TypeAlias

import msgspec
from msgspec.structs import replace

from turnwise.schemas.conversation import Conversation, Receipt, Record
from turnwise.schemas.run import StreamRules
from turnwise.schemas.score import RAISED
from turnwise.transforms.formats.events import ConversationEvent
from turnwise.transforms.formats.reading import LogReader
from turnwise.transforms.streaming.session import (
    ClosedSession,
    LateEventError,
    Session,
    closed_session,
    reopened,
)

MAX_KEPT_BYTES = 32 * 1024 * 1024
MAX_KEPT = 20_000
FORGOTTEN_SECONDS = 30 * 86_400.0
_LATE = "the event came after its conversation was forgotten"

ClosedLookup: TypeAlias = Callable[[str], ClosedSession | None]
"""Returns a session by its id that was closed before, in this process as well; None: there is none."""


def none_earlier(session_id: str) -> None:
    """Returns None: there is no earlier process."""
    return None


class Added(NamedTuple):
    """Effect of adding an event.

    Attributes:
        held: Number of additional pending receipts.
        ignored: Receipts of an event that adds nothing.
    """

    held: int
    ignored: tuple[Receipt, ...] = ()


class Sessions(msgspec.Struct, array_like=True):
    """Mutable sessions by id.

    A closed session is stored for the allowed lateness; the oldest ones are removed earlier if there are more
    than `MAX_KEPT` sessions or `MAX_KEPT_BYTES` bytes. The ids of up to `MAX_KEPT` removed sessions are
    stored for `FORGOTTEN_SECONDS`.

    Attributes:
        open: Sessions that accept events.
        closed: Closed sessions, the oldest first.
        forgotten: Session id -> time of removal, seconds since the epoch, the oldest first.
        closed_bytes: Size of the closed sessions.
        due: Lower bound of the closing times of open sessions, seconds since the epoch.
        now: Latest known watermark.
    """

    open: dict[str, Session] = {}
    closed: dict[str, ClosedSession] = {}
    forgotten: dict[str, float] = {}
    closed_bytes: int = 0
    due: float = inf
    now: float = 0.0

    def copy(self) -> "Sessions":
        """Returns a copy that can be modified independently."""
        return replace(self, open=dict(self.open), closed=dict(self.closed), forgotten=dict(self.forgotten))

    def add(
        self,
        event: ConversationEvent,
        time: float,
        reader: LogReader,
        rules: StreamRules,
        earlier: ClosedLookup = none_earlier,
    ) -> Added:
        """Adds an event.

        Args:
            event: The event.
            time: Event time, seconds since the epoch.
            reader: Reader for the events of closed sessions.
            rules: Gap and lateness.
            earlier: Returns sessions closed by earlier processes.

        Raises:
            LateEventError: Its conversation was removed from state.
            SessionFullError: The limits of the session are exceeded.
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

    def _reopened(self, name: str, reader: LogReader, rules: StreamRules, earlier: ClosedLookup) -> Session:
        closed = self.closed.get(name) or earlier(name)
        if closed is None:
            return Session()
        if not closed.events or closed.closed_at + rules.allowed_lateness <= self.now:
            raise LateEventError(_LATE)
        return reopened(closed, reader)

    def take_due(self, now: float, rules: StreamRules) -> list[tuple[str, Session]]:
        """Removes and returns the sessions that close by a time; pass each to `close`."""
        self.now = max(self.now, now)
        self._forget(rules)
        due = [(name, session) for name, session in self.open.items() if session.closes_at <= self.now]
        for name, _ in due:
            del self.open[name]
        self.due = min((session.closes_at for session in self.open.values()), default=inf)
        return due

    def close(
        self, name: str, session: Session, rules: StreamRules, is_kept: bool = True
    ) -> tuple[Conversation | BaseException, Record]:
        """Joins a due session, and stores its events for late ones.

        Args:
            name: Id of the session.
            session: The session.
            rules: Gap and lateness.
            is_kept: Whether its events are stored here; if not, `earlier` returns the session from now on.

        Returns:
            The conversation, or the error of joining it (a later event may complete it under the same
            revision); and the joined record.
        """
        try:
            found: Conversation | BaseException = session.joined(name)
        except RAISED as error:
            found = error
        if not is_kept:
            return found, self._record(name, session)
        return found, self.keep(name, session, rules, isinstance(found, BaseException))

    def keep(self, name: str, session: Session, rules: StreamRules, is_lost: bool = False) -> Record:
        """Stores the events of a due session for late ones, and returns the joined record."""
        record = self._record(name, session)
        self._keep(name, closed_session(record, is_lost), rules)
        return record

    def _record(self, name: str, session: Session) -> Record:
        return session.record(name, max(self.now, session.last_time))

    def next_visit(self, rules: StreamRules) -> float:
        """Returns the time of the next call of `take_due`, seconds since the epoch; infinity: never.

        With slots, sessions are removed only at the next event or closing.
        """
        if rules.slots is not None:
            return self.due
        closed = (one.closed_at + rules.allowed_lateness for one in self.closed.values())
        forgotten = (time + FORGOTTEN_SECONDS for time in self.forgotten.values())
        return min(self.due, *closed, *forgotten, inf)

    def is_empty(self) -> bool:
        """Returns whether there are no sessions and no removed ids."""
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
