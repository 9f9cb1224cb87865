"""Assembles conversations from events by sessions, with state and timers."""

from collections.abc import Iterable, Iterator
from math import ceil
from typing import Any, NamedTuple, TypeAlias

import apache_beam as beam
import msgspec
from apache_beam.pvalue import PCollection
from apache_beam.transforms.timeutil import TimeDomain
from apache_beam.transforms.userstate import ReadModifyWriteStateSpec, TimerSpec, on_timer
from apache_beam.transforms.window import TimestampedValue
from apache_beam.utils.timestamp import MAX_TIMESTAMP, Timestamp

from turnwise.schemas.conversation import Receipt, Record
from turnwise.schemas.run import PROGRESS, StreamRules
from turnwise.schemas.score import RAISED, Failure, record_failure
from turnwise.transforms.beam.counters import CountingDoFn
from turnwise.transforms.beam.inspected import InspectedDoFn
from turnwise.transforms.formats.events import ConversationEvent
from turnwise.transforms.formats.reading import LoggedConversation, LogReader
from turnwise.transforms.streaming.session import Session
from turnwise.transforms.streaming.session_state import ClosedLookup, Sessions, none_earlier

_ENCODE = msgspec.msgpack.Encoder().encode
_DECODE = msgspec.msgpack.Decoder(Sessions).decode


class _IdentityCoder(beam.coders.Coder):
    """Passes state unchanged: bytes for engines that store bytes, objects for the local engine."""

    def encode(self, value: Any) -> Any:
        return value

    def decode(self, encoded: Any) -> Any:
        return encoded


_SESSIONS = ReadModifyWriteStateSpec("sessions", _IdentityCoder())
_CLOSING = TimerSpec("closing", TimeDomain.WATERMARK)
_STATE: Any = beam.DoFn.StateParam(_SESSIONS)
_TIMER: Any = beam.DoFn.TimerParam(_CLOSING)


class LostConversation(NamedTuple):
    """A closed session without a conversation: the joined record, and the failures of its events."""

    record: Record
    failures: tuple[Failure, ...]


class Ignored(NamedTuple):
    """Receipts of events that add nothing."""

    receipts: tuple[Receipt, ...]


RecordContent: TypeAlias = LoggedConversation | LostConversation | Failure | Ignored
"""What a stream finds in records: each thing becomes an outcome in the end."""


class SessionsFn(CountingDoFn):
    """Maintains the sessions of a key; what a closed one yields is said by `closed`.

    With slots (`StreamRules.slots`), the local engine stores state by reference, because encoding a large
    slot for every event would dominate the cost. It is copied once per bundle, so that a failed bundle has no
    effect.
    """

    def __init__(self, rules: StreamRules, reader: LogReader, earlier: ClosedLookup) -> None:
        super().__init__()
        self.rules, self._reader, self._earlier = rules, reader, earlier
        self._own: dict[str, Sessions] = {}
        self._held = 0

    def start_bundle(self) -> None:
        """Forgets the sessions of an aborted bundle."""
        super().start_bundle()
        self._own, self._held = {}, 0

    def finish_bundle(self) -> Iterable[Any]:
        """Passes the number of held receipts on, and returns the counts."""
        PROGRESS.held += self._held
        self._own, self._held = {}, 0
        return super().finish_bundle()

    def process(
        self,
        element: tuple[str, ConversationEvent],
        timestamp: Any = beam.DoFn.TimestampParam,
        state: Any = _STATE,
        timer: Any = _TIMER,
    ) -> Iterator[Any]:
        """Adds an event to its session."""
        key, entry = element
        sessions = self._sessions(key, state)
        try:
            time = timestamp.micros / 1e6
            added = sessions.add(entry, time, self._reader, self.rules, self._earlier)
        except RAISED as error:
            yield self.found(record_failure("assemble", error, entry.record, entry.session_id))
        else:
            self._held += added.held
            if added.ignored:
                yield self.found(Ignored(added.ignored))
        self._write(sessions, state, timer)

    @on_timer(_CLOSING)
    def close(
        self,
        key: Any = beam.DoFn.KeyParam,
        timestamp: Any = beam.DoFn.TimestampParam,
        state: Any = _STATE,
        timer: Any = _TIMER,
    ) -> Iterator[Any]:
        """Closes the sessions that are due."""
        sessions = self._sessions(key, state)
        for name, session in sessions.take_due(timestamp.micros / 1e6, self.rules):
            self._held -= sum(len(event.record.settles()) for event in session.fresh.values())
            yield from self.closed(sessions, name, session)
        self._write(sessions, state, timer)

    def closed(self, sessions: Sessions, name: str, session: Session) -> Iterator[Any]:
        """Yields the outputs of a session that closes."""
        raise NotImplementedError

    def found(self, rejected: Any) -> Any:
        """Returns the output for a failure, or for events that add nothing."""
        return rejected

    def _sessions(self, key: str, state: Any) -> Sessions:
        """Returns the sessions of a key for modification in this bundle."""
        own = self._own.get(key)
        if own is None:
            own = self._own[key] = _opened(state.read())
        return own

    def _write(self, sessions: Sessions, state: Any, timer: Any) -> None:
        visit = sessions.next_visit(self.rules)
        if visit < MAX_TIMESTAMP.seconds():
            timer.set(firing_time(visit))
        if sessions.is_empty():
            state.clear()
        else:
            state.write(sessions if self.rules.slots is not None else _ENCODE(sessions))


class _AssembleFn(SessionsFn):
    """Joins the events of conversations."""

    def closed(self, sessions: Sessions, name: str, session: Session) -> Iterator[Any]:
        self.count("conversations")
        found, record = sessions.close(name, session, self.rules, self._earlier is none_earlier)
        if isinstance(found, BaseException):
            self.count("lost_conversations")
            failures = [record_failure("parse", found, event.record, name) for event in session.events()]
            lost = LostConversation(record, tuple(failures))
            yield TimestampedValue(lost, session.last_time)
            return
        self.count("joined_entries", len(session.fresh))
        yield TimestampedValue(LoggedConversation(found, record), session.last_time)


def firing_time(visit: float) -> Timestamp:
    """Returns a timer's time rounded up; rounded down, the timer would fire forever."""
    return Timestamp(micros=ceil(visit * 1e6) + 1)


def _opened(kept: Any) -> Sessions:
    if kept is None:
        return Sessions()
    return kept.copy() if isinstance(kept, Sessions) else _DECODE(kept)


class _KeyFn(InspectedDoFn):
    def __init__(self, rules: StreamRules) -> None:
        self._rules = rules

    def process(self, entry: tuple[str, ConversationEvent]) -> Iterable[tuple[str, Any]]:
        yield self._rules.key(entry[0]), entry[1]


class AssembleConversations(
    beam.PTransform[PCollection[tuple[str, ConversationEvent]], "PCollection[RecordContent]"]
):
    """Turns events, timestamped by their time, into conversations.

    A conversation is emitted when its session closes: after the gap following its last event, or immediately
    at an end event. A later event emits it again with a higher revision. Its timestamp is the time of its
    last event. Rejected events, and events that form no conversation, are failures.
    """

    def __init__(
        self, rules: StreamRules, earlier: ClosedLookup = none_earlier, reader: LogReader | None = None
    ) -> None:
        """Sets the rules of the assembly.

        Args:
            rules: Gap, lateness and keys.
            earlier: Returns closed sessions as soon as the bundle that closed them has ended; must be
                picklable. `none_earlier`: they are kept in state.
            reader: Reader for the events of closed sessions; None: recognises their format.
        """
        super().__init__()
        self._rules, self._earlier, self._reader = rules, earlier, reader or LogReader()

    def expand(self, events: "PCollection[tuple[str, ConversationEvent]]") -> Any:
        """Keys events by conversation or slot, and assembles them."""
        keyed = events | "KeyEvents" >> beam.ParDo(_KeyFn(self._rules))
        return keyed | "Assemble" >> beam.ParDo(_AssembleFn(self._rules, self._reader, self._earlier))
