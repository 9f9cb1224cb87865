"""Assembles conversations from events by sessions, with state and timers."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from math import ceil, inf
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

import apache_beam as beam
import msgspec
from apache_beam.coders import BytesCoder, Coder
from apache_beam.pvalue import DoOutputsTuple, PCollection, TaggedOutput
from apache_beam.transforms.timeutil import TimeDomain
from apache_beam.transforms.userstate import ReadModifyWriteStateSpec, TimerSpec, on_timer
from apache_beam.transforms.window import TimestampedValue
from apache_beam.utils.timestamp import MAX_TIMESTAMP, Timestamp
from msgspec.structs import replace
from pydantic_core import from_json

from turnwise.schemas.conversation import Closing, Receipt, Record
from turnwise.schemas.jsonio import dump_json, grouped
from turnwise.schemas.run import PROGRESS, StreamRules
from turnwise.schemas.score import RAISED, Failure, record_failure
from turnwise.transforms.beam.steps import EVENTS, TIMESTAMP, CountingDoFn
from turnwise.transforms.formats import events as event_formats
from turnwise.transforms.formats.events import ConversationEvent, is_of_endless_group
from turnwise.transforms.formats.reading import LoggedConversation, LogReader

MAX_EVENTS = 2_000
MAX_BYTES = 16 * 1024 * 1024
AT_ONCE = 0.0
_MOST_GAPS = 6
"""Gaps after which a group of any number of conversations closes, though events go on."""
_RAW = msgspec.json.Decoder(list[msgspec.Raw])


class SessionFullError(ValueError):
    """A conversation exceeds the limits of events or bytes."""


class LateEventError(ValueError):
    """An event arrived after its conversation was removed from state."""


class ClosedSession(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A closed session, stored for late events.

    Attributes:
        revision: Revision of its result; -1: none yet, because it could not be joined.
        events: JSON array of its raw event records, in joined order; empty: no longer stored.
        closed_at: Event time, seconds since the epoch.
        places: JSON array of the [source, position] of its events.
    """

    revision: int
    events: bytes
    closed_at: float
    places: bytes = b"[]"


class Session(msgspec.Struct, frozen=True, array_like=True):
    """The events of one conversation that is not closed; times in seconds since the epoch.

    Attributes:
        fresh: New events by id, in the order of arrival; `settled`: those of earlier closings.
        revision: Revision of the next result.
        size: Bytes of all events.
        closes_at: Event time at which the session closes without further events.
        opened_at: Event time of the first new event.
    """

    fresh: dict[str, ConversationEvent] = {}
    settled: dict[str, ConversationEvent] = {}
    revision: int = 0
    size: int = 0
    last_time: float = 0.0
    is_ended: bool = False
    closes_at: float = AT_ONCE
    opened_at: float = inf

    def add(self, event: ConversationEvent, time: float, rules: StreamRules) -> "Session":
        """Returns the session with another event of a time (seconds), or itself if it was settled before.

        A repeated new event is not added again, but its receipts are added to the first one. Raises
        SessionFullError if the limits are exceeded.
        """
        key = self.key(event)
        if key in self.settled:
            return self
        waiting = self.fresh.get(key)
        if waiting is not None:
            if len(waiting.record.receipts) >= MAX_EVENTS:
                return self
            # The event with the lower position counts, as in a batch, with the receipts of both.
            receipts: tuple[Receipt, ...] = (*waiting.record.settles(), *event.record.settles())
            first = min(waiting, event, key=lambda event: event.record[:2])
            record = first.record._replace(receipts=tuple(dict.fromkeys(receipts)))
            return replace(self, fresh={**self.fresh, key: first._replace(record=record)})
        number, size = len(self.fresh) + len(self.settled), self.size + len(event.record.data)
        is_full, is_endless = number >= MAX_EVENTS or size > MAX_BYTES, is_of_endless_group(event)
        if is_full and not is_endless:
            held, most = f"{number} events, {self.size} bytes", f"at most {MAX_EVENTS} and {MAX_BYTES}"
            raise SessionFullError(f"the session is full: it has {held} ({most})")
        opened_at = min(self.opened_at, time if self.settled else max(time, event.watermark))
        last_time = max(self.last_time, time)
        if self.is_ended:  # an end event before all others waits for them
            ends = bool(self.settled) or (bool(self.fresh) and self.closes_at == AT_ONCE)
        else:
            ends = event.is_end and (bool(self.fresh or self.settled) or event.turn_index >= 0)
        closes_at = AT_ONCE
        if not ends:
            # A reopened session closes by its events, whatever the watermark is.
            start = last_time if self.settled else max(last_time, event.watermark)
            closes_at = max(self.closes_at, rounded_up(start + rules.session_gap, rules.closing_step))
        if is_endless:
            latest = rounded_up(opened_at + _MOST_GAPS * rules.session_gap, rules.closing_step)
            closes_at = AT_ONCE if is_full else min(closes_at, latest)
        return replace(
            self,
            fresh={**self.fresh, key: event},
            size=size,
            last_time=last_time,
            is_ended=self.is_ended or event.is_end,
            closes_at=closes_at,
            opened_at=opened_at,
        )

    def key(self, event: ConversationEvent) -> str:
        """Returns the key of an event: its id, or a longer one beside an event of its id that differs."""
        known = self.settled.get(event.event_id) or self.fresh.get(event.event_id)
        if known is None or event.group or not event_formats.differ(known.record.data, event.record.data):
            return event.event_id
        return f"{event.event_id}\n{blake2b(event.record.data.strip(), digest_size=16).hexdigest()}"

    def held(self) -> int:
        """Returns the number of receipts that wait for its closing."""
        return sum(len(event.record.settles()) for event in self.fresh.values())

    def events(self) -> list[ConversationEvent]:
        """Returns all events in the order in which they are joined."""
        return event_formats.in_order([*self.settled.values(), *self.fresh.values()])

    def record(self, session_id: str, closed_at: float) -> Record:
        """Returns the joined record of all events; its receipts are those of the new events."""
        events = self.events()
        receipts = tuple(receipt for event in self.fresh.values() for receipt in event.record.settles())
        places = dump_json([[event.record.source, event.record.position] for event in events])
        groups = tuple(dict.fromkeys(event.group for event in events if event.group))
        closing = Closing(session_id, self.revision, self.last_time, closed_at, places, groups)
        first = event_formats.in_order(event_formats.distinct(events))[:1]
        source, position = first[0].record[:2] if first else ("", 0)
        return Record(source, position, json_array(events), receipts, closing)


def rounded_up(time: float, step: float) -> float:
    """Returns the next multiple of `step` that is not before `time`."""
    return ceil(time / step) * step if step > 0 else time


def json_array(events: Sequence[ConversationEvent]) -> bytes:
    """Returns the JSON array of events' raw records."""
    return b"[" + b",".join(event.record.data.strip() for event in events) + b"]"


def reopened(closed: ClosedSession, reader: LogReader) -> Session:
    """Reopens a closed session for more events; raises ValueError if this reader cannot read its events."""
    settled: dict[str, ConversationEvent] = {}
    places = from_json(closed.places)
    try:
        elements = [bytes(raw) for raw in _RAW.decode(closed.events)]
    except msgspec.DecodeError:
        elements = [dump_json(value) for value in from_json(closed.events)]
    for index, data in enumerate(elements):
        source, position = places[index] if index < len(places) else ("", index)
        read = reader.read(Record(source, position, data))
        event = read[0] if len(read) == 1 else None
        if not isinstance(event, ConversationEvent):
            raise ValueError("a kept session holds something that is no event")
        settled[Session(settled=settled).key(event)] = event
    return Session(
        settled=settled,
        revision=closed.revision + 1,
        size=sum(len(event.record.data) for event in settled.values()),
        last_time=max((event.event_time or 0.0 for event in settled.values()), default=0.0),
        is_ended=any(event.is_end for event in settled.values()),
    )


def closed_session(record: Record, is_rejected: bool) -> ClosedSession:
    """Returns the stored form of a closing; `is_rejected`: it yielded no conversation."""
    assert record.closing is not None
    closing = record.closing
    return ClosedSession(closing.revision - is_rejected, record.data, closing.closed_at, closing.places)


MAX_KEPT_BYTES = 32 * 1024 * 1024
MAX_KEPT = 20_000
FORGOTTEN_SECONDS = 30 * 86_400.0

ClosedLookup: TypeAlias = Callable[[str], ClosedSession | None]
"""Returns a session by its id that was closed before, in this process as well; None: there is none."""


class RejectedConversation(NamedTuple):
    """A closed session without a conversation: the joined record, and the failures of its events."""

    record: Record
    failures: tuple[Failure, ...]


class Ignored(NamedTuple):
    """Receipts of events that add nothing."""

    receipts: tuple[Receipt, ...]


RecordContent: TypeAlias = LoggedConversation | RejectedConversation | Failure | Ignored
"""What there is in the records of a stream: each thing becomes an outcome in the end."""


class Sessions(msgspec.Struct, array_like=True):
    """Mutable sessions by id: open, closed, and removed ones with the time of removal, the oldest first.

    A closed session is stored for the allowed lateness; the oldest ones are removed earlier if there are more
    than `MAX_KEPT` sessions or `MAX_KEPT_BYTES` bytes. The ids of up to `MAX_KEPT` removed sessions are
    stored for `FORGOTTEN_SECONDS`.

    Attributes:
        due: Lower bound of the closing times of open sessions, seconds since the epoch.
        now: Latest known watermark.
        room: How many times the limits of stored sessions are allowed.
    """

    open: dict[str, Session] = {}
    closed: dict[str, ClosedSession] = {}
    forgotten: dict[str, float] = {}
    closed_bytes: int = 0
    due: float = inf
    now: float = 0.0
    room: int = 1

    def add(
        self,
        event: ConversationEvent,
        time: float,
        reader: LogReader,
        rules: StreamRules,
        earlier: ClosedLookup | None = None,
    ) -> tuple[int, Failure | Ignored | None]:
        """Adds an event of a time (seconds); returns the number of new pending receipts and what is rejected.

        Rejected is an event whose conversation was removed from state, is full, or cannot be read. `reader`
        reads the events of closed sessions, `earlier` returns those that were closed by earlier processes.
        """
        name = event.session_id
        self.now = max(self.now, event.watermark)
        self._forget(rules)
        try:
            session = self.open.get(name)
            if session is None:
                is_endless, session = is_of_endless_group(event), Session()
                is_late = name in self.forgotten and not is_endless
                kept = None if is_late else self.closed.get(name) or (earlier and earlier(name))
                if kept is not None and not is_endless:
                    is_late = not kept.events or kept.closed_at + rules.allowed_lateness <= self.now
                if is_late:
                    late = LateEventError("the event came after its conversation was forgotten")
                    return 0, record_failure("assemble", late, event.record, name)
                if kept is not None and kept.events:
                    session = reopened(kept, reader)
            grown = session.add(event, time, rules)
        except RAISED as error:
            return 0, record_failure("assemble", error, event.record, name)
        if grown is session:
            return 0, Ignored(event.record.settles())
        closed = self.closed.pop(name, None)
        if closed is not None:
            self.closed_bytes -= len(closed.events)
        self.open[name] = grown
        self.due = min(self.due, grown.closes_at)
        key = session.key(event)
        before, held = session.fresh.get(key), len(grown.fresh[key].record.settles())
        return (held if before is None else held - len(before.record.settles())), None

    def take_due(self, now: float, rules: StreamRules) -> list[tuple[str, Session]]:
        """Removes and returns the sessions that close by a time; pass each to `joined` or `named`."""
        self.now = max(self.now, now)
        self._forget(rules)
        due = [(name, session) for name, session in self.open.items() if session.closes_at <= self.now]
        for name, _ in due:
            del self.open[name]
        self.due = min((session.closes_at for session in self.open.values()), default=inf)
        return due

    def joined(
        self, name: str, session: Session, rules: StreamRules, is_kept: bool = True
    ) -> LoggedConversation | RejectedConversation:
        """Joins a due session; returns the conversation, or the failures of its events.

        `is_kept`: its events are stored here for late ones; if not, `earlier` returns them from now on.
        """
        record = session.record(name, max(self.now, session.last_time))
        content: LoggedConversation | RejectedConversation
        try:
            given = session.events()
            events = event_formats.in_order(event_formats.distinct(given))
            conversation = event_formats.join_events(name, events)
            event_formats.add_clashes(conversation, given, events)
            conversation.revision = session.revision
            content = LoggedConversation(conversation, record)
        except RAISED as error:
            # A later event may complete it under the same revision.
            failures = (record_failure("parse", error, event.record, name) for event in session.events())
            content = RejectedConversation(record, tuple(failures))
        if is_kept:
            self._keep(name, closed_session(record, isinstance(content, RejectedConversation)), rules)
        return content

    def named(
        self, name: str, session: Session, rules: StreamRules, counts: Counter[str]
    ) -> tuple[list[ConversationEvent], list[Failure]]:
        """Closes a due group; returns its new events with the ids of their conversations, and failures."""
        given = session.events()
        named = event_formats.named_events(name, given, counts)
        kept = session
        if is_of_endless_group(given[0]):
            # Events of the newest of its conversations stay, as long as these accept further ones.
            names = {event.event_id: event.session_id for event in named.events}
            conversations = grouped((names[e.event_id], e) for e in given if e.event_id in names)
            aged = [
                (max(session.last_time if e.event_time is None else e.event_time for e in events), events)
                for events in conversations.values()
            ]
            horizon = session.last_time - rules.session_gap - rules.allowed_lateness
            newest, size = dict[str, ConversationEvent](), 0
            for latest, events in sorted(aged, key=itemgetter(0), reverse=True):
                size += sum(len(event.record.data) for event in events)
                is_full = len(newest) + len(events) > MAX_EVENTS // 2 or size > MAX_BYTES // 2
                if is_full or latest < horizon:
                    break
                newest.update((event.event_id, event) for event in events)
            kept = replace(session, fresh={}, settled=newest)
        record = kept.record(name, max(self.now, session.last_time))
        self._keep(name, closed_session(record, is_rejected=False), rules)
        # Its session tells a later process which conversations the group belongs to.
        fresh = [event._replace(group=name) for event in named.events if event.event_id in session.fresh]
        return fresh, list(named.failures)

    def next_visit(self, rules: StreamRules) -> float:
        """Returns the time of the next call of `take_due`, seconds since the epoch; infinity: never."""
        closed = (session.closed_at + rules.allowed_lateness for session in self.closed.values())
        forgotten = (time + FORGOTTEN_SECONDS for time in self.forgotten.values())
        return min(self.due, *closed, *forgotten, inf)

    def _keep(self, name: str, closed: ClosedSession, rules: StreamRules) -> None:
        earlier = self.closed.pop(name, None)
        self.closed_bytes += len(closed.events) - (len(earlier.events) if earlier else 0)
        self.closed[name] = closed
        self._forget(rules)

    def _forget(self, rules: StreamRules) -> None:
        most, most_bytes = self.room * MAX_KEPT, self.room * MAX_KEPT_BYTES
        while self.closed:
            name, first = next(iter(self.closed.items()))
            is_many = len(self.closed) > most or self.closed_bytes > most_bytes
            if not is_many and first.closed_at + rules.allowed_lateness > self.now:
                break
            del self.closed[name]
            self.closed_bytes -= len(first.events)
            self.forgotten[name] = self.now
        while self.forgotten:
            name, removed_at = next(iter(self.forgotten.items()))
            if len(self.forgotten) <= most and removed_at + FORGOTTEN_SECONDS > self.now:
                break
            del self.forgotten[name]


_ENCODE = msgspec.msgpack.Encoder().encode
_DECODE = msgspec.msgpack.Decoder(Sessions).decode
_SESSIONS = ReadModifyWriteStateSpec("sessions", BytesCoder())
_CLOSING = TimerSpec("closing", TimeDomain.WATERMARK)
_STATE: Any = beam.DoFn.StateParam(_SESSIONS)
_TIMER: Any = beam.DoFn.TimerParam(_CLOSING)
_Keyed = tuple[str, ConversationEvent]


class _SessionsFn(CountingDoFn):
    """Maintains the session of a key; what a closed one yields is said by `closed`."""

    def __init__(self, rules: StreamRules, reader: LogReader) -> None:
        super().__init__()
        self.rules, self._reader = rules, reader

    def start_bundle(self) -> None:
        super().start_bundle()
        # Those of an aborted bundle are forgotten.
        self._of_bundle: dict[str, Sessions] = {}
        self._held = 0

    def finish_bundle(self) -> Iterable[Any]:
        PROGRESS.held += self._held
        self._of_bundle, self._held = {}, 0
        return super().finish_bundle()

    def process(
        self, element: _Keyed, at: Any = TIMESTAMP, state: Any = _STATE, timer: Any = _TIMER
    ) -> Iterator[Any]:
        key, event = element
        sessions = self._sessions(key, state)
        held, rejected = sessions.add(event, at.micros / 1e6, self._reader, self.rules)
        self._held += held
        if rejected is not None:
            yield rejected
        self._write(sessions, state, timer)

    @on_timer(_CLOSING)
    def close(
        self, key: Any = beam.DoFn.KeyParam, at: Any = TIMESTAMP, state: Any = _STATE, timer: Any = _TIMER
    ) -> Iterator[Any]:
        sessions = self._sessions(key, state)
        for name, session in sessions.take_due(at.micros / 1e6, self.rules):
            self._held -= session.held()
            yield from self.closed(sessions, name, session)
        self._write(sessions, state, timer)

    def closed(self, sessions: Sessions, name: str, session: Session) -> Iterator[Any]:
        """Yields the outputs of a session that closes."""
        raise NotImplementedError

    def _sessions(self, key: str, state: Any) -> Sessions:
        sessions = self._of_bundle.get(key)
        if sessions is None:
            stored = state.read()
            sessions = self._of_bundle[key] = Sessions() if stored is None else _DECODE(stored)
        return sessions

    def _write(self, sessions: Sessions, state: Any, timer: Any) -> None:
        visit = sessions.next_visit(self.rules)
        if visit < MAX_TIMESTAMP.seconds():
            timer.set(firing_time(visit))
        if sessions.open or sessions.closed or sessions.forgotten:
            state.write(_ENCODE(sessions))
        else:
            state.clear()


class _AssembleFn(_SessionsFn):
    def closed(self, sessions: Sessions, name: str, session: Session) -> Iterator[Any]:
        content = sessions.joined(name, session, self.rules)
        self.counts["conversations"] += 1
        if isinstance(content, RejectedConversation):
            self.counts["rejected_conversations"] += 1
        else:
            self.counts["joined_entries"] += len(session.fresh)
        yield TimestampedValue(content, session.last_time)


def firing_time(visit: float) -> Timestamp:
    """Returns a timer's time rounded up; rounded down, the timer would fire forever."""
    return Timestamp(micros=ceil(visit * 1e6) + 1)


@beam.ptransform_fn
def AssembleConversations(
    events: "PCollection[tuple[str, ConversationEvent]]", rules: StreamRules, reader: LogReader
) -> "PCollection[RecordContent]":
    """Turns events, timestamped by their time and keyed by their conversation, into conversations.

    A conversation is emitted when its session closes: after the gap following its last event, or immediately
    at an end event. A later event emits it again with a higher revision. Its timestamp is the time of its
    last event. Rejected events, and events that form no conversation, are failures.
    """
    return events | "Assemble" >> beam.ParDo(_AssembleFn(rules, reader))


class _NameGroupsFn(_SessionsFn):
    """Holds the events of a group until its end or a gap, and yields those that are new."""

    def closed(self, sessions: Sessions, name: str, session: Session) -> Iterator[Any]:
        events, failures = sessions.named(name, session, self.rules, self.counts)
        for event in events:
            named = TimestampedValue((event.session_id, event), session.last_time)
            yield TaggedOutput(EVENTS, named)
        for failure in failures:
            yield TimestampedValue(failure, session.last_time)


@beam.ptransform_fn
def NameStreamGroups(
    grouped: "PCollection[tuple[str, ConversationEvent]]", rules: StreamRules, reader: LogReader
) -> DoOutputsTuple:
    """Gives the events of groups, timestamped by their time, the ids of their conversations.

    A group is held until an event ends it, or until the gap after its last event. A later event of the group
    is named by all of its events, as long as the group is kept.

    Returns `events` by conversation; and as `rest` failures, and events that add nothing.
    """
    name = beam.ParDo(_NameGroupsFn(rules, reader)).with_outputs(EVENTS, main="rest")
    return grouped | "KeyGroups" >> beam.Map(_as_session) | "NameGroups" >> name


def _as_session(entry: _Keyed) -> _Keyed:
    return entry[0], entry[1]._replace(session_id=entry[0])


class MessagePackCoder(Coder):
    """Encodes values of one type, which msgspec can convert."""

    def __init__(self, kind: Any) -> None:
        self._kind = kind

    def encode(self, value: Any) -> bytes:
        return msgspec.msgpack.encode(value)

    def decode(self, encoded: bytes) -> Any:
        return msgspec.msgpack.decode(encoded, type=self._kind)
