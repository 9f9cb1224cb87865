"""Gathers the events of conversations by sessions, in state with timers."""

from collections.abc import Iterable, Iterator
from math import ceil
from typing import Any, NamedTuple

import apache_beam as beam
import msgspec
from apache_beam.pvalue import PCollection, TaggedOutput
from apache_beam.transforms.timeutil import TimeDomain
from apache_beam.transforms.userstate import ReadModifyWriteStateSpec, TimerSpec, on_timer
from apache_beam.transforms.window import TimestampedValue
from apache_beam.utils.timestamp import MAX_TIMESTAMP, Timestamp

from turnwise.schemas.failure import Failure, record_failure
from turnwise.schemas.record import Receipt, Record
from turnwise.transforms.beam.counters import CountingDoFn
from turnwise.transforms.beam.parse import FAILURES
from turnwise.transforms.beam.progress import PROGRESS
from turnwise.transforms.formats.events import ConversationEvent
from turnwise.transforms.formats.parsing import LoggedConversation
from turnwise.transforms.formats.registry import LogReader
from turnwise.transforms.streaming.assembly import Session
from turnwise.transforms.streaming.rules import StreamRules
from turnwise.transforms.streaming.sessions import Earlier, Sessions, none_earlier

IGNORED = "ignored"
LOST = "lost"
_ENCODE = msgspec.msgpack.Encoder().encode
_DECODE = msgspec.msgpack.Decoder(Sessions).decode


class _AsTheyAre(beam.coders.Coder):
    """Leaves state to the step: bytes for an engine that keeps bytes, the object itself in this process."""

    def encode(self, value: Any) -> Any:
        return value

    def decode(self, encoded: Any) -> Any:
        return encoded

    def is_deterministic(self) -> bool:
        return False


_SESSIONS = ReadModifyWriteStateSpec("sessions", _AsTheyAre())
_CLOSING = TimerSpec("closing", TimeDomain.WATERMARK)
_STATE: Any = beam.DoFn.StateParam(_SESSIONS)
_TIMER: Any = beam.DoFn.TimerParam(_CLOSING)


class LostConversation(NamedTuple):
    """A closing that gave no conversation: the record that stands for its events, and the failure of each."""

    record: Record
    failures: tuple[Failure, ...]


class Assembled(NamedTuple):
    """What assembly gives.

    Attributes:
        conversations: What was joined.
        lost: Closings that gave no conversation.
        failures: Events that could not be taken.
        ignored: What is done with because it adds nothing.
    """

    conversations: "PCollection[LoggedConversation]"
    lost: "PCollection[LostConversation]"
    failures: "PCollection[Failure]"
    ignored: "PCollection[tuple[Receipt, ...]]"


class _AssembleFn(CountingDoFn):
    """Keeps the sessions of a key.

    Where keys are slots (`StreamRules.slots`), the engine is in this process and keeps state by reference: a
    slot is large, and encoding it for every event would cost more than all else. It is copied once a bundle,
    so that a bundle that fails leaves no trace.
    """

    def __init__(self, rules: StreamRules, reader: LogReader, earlier: Earlier) -> None:
        super().__init__()
        self._rules, self._reader, self._earlier = rules, reader, earlier
        self._own: dict[str, Sessions] = {}
        self._held = 0

    def start_bundle(self) -> None:
        super().start_bundle()
        self._own, self._held = {}, 0

    def finish_bundle(self) -> None:
        super().finish_bundle()
        PROGRESS.held += self._held
        self._own, self._held = {}, 0

    def process(
        self,
        element: tuple[str, ConversationEvent],
        timestamp: Any = beam.DoFn.TimestampParam,
        state: Any = _STATE,
        timer: Any = _TIMER,
    ) -> Iterator[Any]:
        key, entry = element
        sessions = self._sessions(key, state)
        try:
            time = timestamp.micros / 1e6
            added = sessions.add(entry, time, self._reader, self._rules, self._earlier)
        except Exception as error:
            yield TaggedOutput(FAILURES, record_failure("assemble", error, entry.record, entry.session_id))
        else:
            self._held += added.held
            if added.ignored:
                yield TaggedOutput(IGNORED, added.ignored)
        self._write(sessions, state, timer)

    @on_timer(_CLOSING)
    def close(
        self,
        key: Any = beam.DoFn.KeyParam,
        timestamp: Any = beam.DoFn.TimestampParam,
        state: Any = _STATE,
        timer: Any = _TIMER,
    ) -> Iterator[Any]:
        sessions = self._sessions(key, state)
        for name, session in sessions.take_due(timestamp.micros / 1e6, self._rules):
            self._held -= sum(len(event.record.settles()) for event in session.fresh.values())
            yield from self._closed(sessions, name, session)
        self._write(sessions, state, timer)

    def _closed(self, sessions: Sessions, name: str, session: Session) -> Iterator[Any]:
        self.count("conversations")
        found, record = sessions.close(name, session, self._rules)
        if isinstance(found, Exception):
            self.count("lost_conversations")
            failures = [record_failure("parse", found, event.record, name) for event in session.events()]
            lost = LostConversation(record, tuple(failures))
            yield TaggedOutput(LOST, TimestampedValue(lost, session.last_time))
            return
        self.count("joined_entries", len(session.fresh))
        yield TimestampedValue(LoggedConversation(found, record), session.last_time)

    def _sessions(self, key: str, state: Any) -> Sessions:
        """Returns the sessions of a key, which this bundle may change."""
        own = self._own.get(key)
        if own is None:
            own = self._own[key] = _opened(state.read())
        return own

    def _write(self, sessions: Sessions, state: Any, timer: Any) -> None:
        visit = sessions.next_visit(self._rules)
        if visit < MAX_TIMESTAMP.seconds():
            timer.set(firing_time(visit))
        if sessions.is_empty():
            state.clear()
        else:
            state.write(sessions if self._rules.slots is not None else _ENCODE(sessions))


def firing_time(visit: float) -> Timestamp:
    """Returns a timer's time that is not before a visit: rounded down, it would fire for ever."""
    return Timestamp(micros=ceil(visit * 1e6) + 1)


def _opened(kept: Any) -> Sessions:
    if kept is None:
        return Sessions()
    return kept.copy() if isinstance(kept, Sessions) else _DECODE(kept)


class _KeyFn(beam.DoFn):
    def __init__(self, rules: StreamRules) -> None:
        self._rules = rules

    def process(self, entry: tuple[str, ConversationEvent]) -> Iterable[tuple[str, Any]]:
        yield self._rules.key(entry[0]), entry[1]


class AssembleConversations(beam.PTransform[PCollection[tuple[str, ConversationEvent]], Assembled]):
    """Turns events, timestamped by their time, into conversations.

    A conversation is given when its session closes: at the gap after its last event, or at once when an event
    says that it ended. An event that comes later gives it again, with a higher revision. Its timestamp is the
    time of its last event. An event that cannot be taken, and events that make no conversation, are failures.
    """

    def __init__(
        self,
        rules: StreamRules,
        earlier: Earlier = none_earlier,
        reader: LogReader | None = None,
    ) -> None:
        """Keeps what rules the assembly.

        Args:
            rules: Gap, lateness and keys.
            earlier: Finds sessions that an earlier process closed; engines pickle it.
            reader: Reads the events of closed sessions again; None: recognises their format.
        """
        super().__init__()
        self._rules, self._earlier, self._reader = rules, earlier, reader or LogReader()

    def expand(self, events: "PCollection[tuple[str, ConversationEvent]]") -> Any:
        """Keys events by conversation or slot, and gathers them."""
        keyed = events | "KeyEvents" >> beam.ParDo(_KeyFn(self._rules))
        assemble = _AssembleFn(self._rules, self._reader, self._earlier)
        outputs = keyed | "Assemble" >> beam.ParDo(assemble).with_outputs(
            FAILURES, IGNORED, LOST, main="conversations"
        )
        return Assembled(outputs["conversations"], outputs[LOST], outputs[FAILURES], outputs[IGNORED])
