"""Sessions: the events of one conversation and its closing time."""

from collections.abc import Sequence
from math import ceil

import msgspec
from msgspec.structs import replace
from pydantic_core import from_json

from turnwise.schemas.conversation import Closing, Conversation, Receipt, Record
from turnwise.schemas.jsonio import dump_json
from turnwise.schemas.run import StreamRules
from turnwise.transforms.formats.events import ConversationEvent, in_order, join_events
from turnwise.transforms.formats.reading import LogReader

MAX_EVENTS = 2_000
MAX_BYTES = 16 * 1024 * 1024
AT_ONCE = 0.0
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
        closed_at: Seconds since the epoch, in event time.
        places: JSON array of the [source, position] of its events.
    """

    revision: int
    events: bytes
    closed_at: float
    places: bytes = b"[]"


class Session(msgspec.Struct, frozen=True, array_like=True):
    """The events of one conversation that is not closed.

    Attributes:
        fresh: New events by id, in the order of arrival.
        settled: Events by id of earlier closings.
        revision: Revision of the next result.
        size: Bytes of all events.
        last_time: Time of the last event, seconds since the epoch.
        is_ended: Whether there is an end event.
        closes_at: Event time at which the session closes without further events.
    """

    fresh: dict[str, ConversationEvent] = {}
    settled: dict[str, ConversationEvent] = {}
    revision: int = 0
    size: int = 0
    last_time: float = 0.0
    is_ended: bool = False
    closes_at: float = AT_ONCE

    def add(self, event: ConversationEvent, time: float, rules: StreamRules) -> "Session":
        """Returns the session with one more event, or itself if the event was settled before.

        A repeated new event is not added again, but its receipts are added to the first one.

        Args:
            event: The event.
            time: Event time, seconds since the epoch.
            rules: Gap and closing step.

        Raises:
            SessionFullError: The limits are exceeded.
        """
        if event.event_id in self.settled:
            return self
        waiting = self.fresh.get(event.event_id)
        if waiting is not None:
            if len(waiting.record.receipts) >= MAX_EVENTS:
                return self
            return replace(self, fresh={**self.fresh, event.event_id: _repeated(waiting, event)})
        size = self.size + len(event.record.data)
        if len(self.fresh) + len(self.settled) >= MAX_EVENTS or size > MAX_BYTES:
            raise SessionFullError(
                f"the session is full: it has {len(self.fresh) + len(self.settled)} events,"
                f" {self.size} bytes (at most {MAX_EVENTS} and {MAX_BYTES})"
            )
        return replace(
            self,
            fresh={**self.fresh, event.event_id: event},
            size=size,
            last_time=max(self.last_time, time),
            is_ended=self.is_ended or event.is_end,
            closes_at=self._deadline(event, time, rules),
        )

    def _deadline(self, event: ConversationEvent, time: float, rules: StreamRules) -> float:
        """Returns when the session closes with this event.

        A reopened session closes at the gap after its last event, independent of the watermark.
        """
        if self._ends_with(event):
            return AT_ONCE
        last = max(self.last_time, time)
        start = last if self.settled else max(last, event.watermark)
        return max(self.closes_at, rounded_up(start + rules.session_gap, rules.closing_step))

    def _ends_with(self, event: ConversationEvent) -> bool:
        """Returns whether the session closes at once; an end event before all others waits for them."""
        if self.is_ended:
            return bool(self.settled) or (bool(self.fresh) and self.closes_at == AT_ONCE)
        return event.is_end and (bool(self.fresh or self.settled) or event.turn_index >= 0)

    def events(self) -> list[ConversationEvent]:
        """Returns all events in the order in which they are joined."""
        return in_order([*self.settled.values(), *self.fresh.values()])

    def joined(self, session_id: str) -> Conversation:
        """Returns the whole conversation.

        Raises:
            ValueError: The events form no conversation; one line.
        """
        conversation = join_events(session_id, self.events())
        conversation.revision = self.revision
        return conversation

    def record(self, session_id: str, closed_at: float) -> Record:
        """Returns the joined record of all events; its receipts are those of the new events."""
        events = self.events()
        first = events[0].record
        receipts = tuple(receipt for event in self.fresh.values() for receipt in event.record.settles())
        places = dump_json([[event.record.source, event.record.position] for event in events])
        groups = tuple(dict.fromkeys(event.group for event in events if event.group))
        closing = Closing(session_id, self.revision, self.last_time, closed_at, places, groups)
        return Record(first.source, first.position, json_array(events), receipts, closing)


def _repeated(waiting: ConversationEvent, again: ConversationEvent) -> ConversationEvent:
    """Returns the event with the lower position, as in a batch, with the receipts of both."""
    receipts: tuple[Receipt, ...] = (*waiting.record.settles(), *again.record.settles())
    first = min(waiting, again, key=lambda event: event.record[:2])
    return first._replace(record=first.record._replace(receipts=tuple(dict.fromkeys(receipts))))


def rounded_up(time: float, step: float) -> float:
    """Returns the next multiple of `step` that is not before `time`."""
    return ceil(time / step) * step if step > 0 else time


def json_array(events: Sequence[ConversationEvent]) -> bytes:
    """Returns the JSON array of events' raw records."""
    return b"[" + b",".join(event.record.data.strip() for event in events) + b"]"


def reopened(closed: ClosedSession, reader: LogReader) -> Session:
    """Reopens a closed session for more events.

    Raises:
        ValueError: Its events cannot be read by this reader.
    """
    settled = events_of(closed, reader)
    return Session(
        settled=settled,
        revision=closed.revision + 1,
        size=sum(len(event.record.data) for event in settled.values()),
        last_time=max((event.event_time or 0.0 for event in settled.values()), default=0.0),
        is_ended=any(event.is_end for event in settled.values()),
    )


def closed_session(record: Record, is_lost: bool) -> ClosedSession:
    """Returns the stored form of a closing; `is_lost`: it yielded no conversation."""
    assert record.closing is not None
    closing = record.closing
    return ClosedSession(closing.revision - is_lost, record.data, closing.closed_at, closing.places)


def events_of(closed: ClosedSession, reader: LogReader) -> dict[str, ConversationEvent]:
    """Returns the events of a closed session by their ids.

    Raises:
        ValueError: An element is no event.
    """
    found: dict[str, ConversationEvent] = {}
    places = from_json(closed.places)
    for index, data in enumerate(_elements(closed.events)):
        source, position = places[index] if index < len(places) else ("", index)
        read = reader.read(Record(source, position, data))
        event = read[0] if len(read) == 1 else None
        if not isinstance(event, ConversationEvent):
            raise ValueError("a kept session holds something that is no event")
        found[event.event_id] = event
    return found


def _elements(array: bytes) -> list[bytes]:
    try:
        return [bytes(raw) for raw in _RAW.decode(array)]
    except msgspec.DecodeError:
        return [dump_json(value) for value in from_json(array)]
