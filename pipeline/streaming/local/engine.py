"""Drives a local pipeline: passes records to it, advances its time and ends it."""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import wait
from dataclasses import dataclass
from functools import partial
from threading import Event
from time import monotonic, sleep, time
from typing import Any, TypeAlias, TypeVar

from apache_beam.portability.api import beam_runner_api_pb2
from apache_beam.utils.timestamp import MAX_TIMESTAMP

from turnwise.pipeline.io.case_book import CaseBook
from turnwise.pipeline.streaming.inputs.source import SourceRecord, StreamSource
from turnwise.pipeline.streaming.local.background import BackgroundThread
from turnwise.pipeline.streaming.local.in_flight import InFlightRecords
from turnwise.pipeline.streaming.local.storage import StreamStorage
from turnwise.pipeline.streaming.local.watermark import Watermark
from turnwise.schemas.failure import record_failure
from turnwise.schemas.jsonio import dump_json
from turnwise.schemas.record import Arrival, Record
from turnwise.transforms.formats.base import record_time
from turnwise.transforms.streaming.outcome import failed_outcome

_BUNDLE, _LARGEST_BUNDLE = 400, 4_000
_SHORT_SECONDS, _LONG_SECONDS = 2.0, 4.0
_PAUSE = 0.02
_TICK = 0.2
_STALLED_AFTER = 120.0
_STOP_SECONDS = 2.0
TestStreamPayload = beam_runner_api_pb2.TestStreamPayload
_T = TypeVar("_T")
_Message: TypeAlias = TestStreamPayload.Event


class StalledError(OSError):
    """The source does not answer, or the pipeline does not process its records."""


class EndedEarlyError(OSError):
    """The stream ended without a request to end."""


@dataclass(frozen=True, slots=True)
class StreamLimits:
    """When a stream ends by itself. None: no limit.

    Attributes:
        seconds: Seconds since its start.
        conversations: Conversations scored or lost since its start.
    """

    seconds: float | None = None
    conversations: int | None = None


class Engine:
    """Provides the events of Beam's TestStream.

    Slow calls run in another thread, because Beam ends a stream that yields no event for 30 s.

    Attributes:
        problem: The error that ended the stream early; None if there is none.
    """

    def __init__(
        self,
        source: StreamSource,
        in_flight: InFlightRecords,
        store: StreamStorage,
        limits: StreamLimits,
        longest_wait: float,
        run_id: str,
        stop: Event,
        cases: CaseBook | None = None,
        patience: float = 60.0,
    ):
        """Creates the engine; Beam starts it.

        Args:
            source: The source.
            in_flight: The records in flight.
            store: Storage of outcomes.
            limits: When the stream ends by itself.
            longest_wait: Seconds after which an open session is closed at the latest.
            run_id: Id of the run.
            stop: Set it to end the stream; records that were read are still scored.
            cases: Eval cases, to be refreshed; None: there are none.
            patience: Seconds to wait for a source that does not answer when the stream is to end.
        """
        self._worker, self._patience, self._cases = BackgroundThread("turnwise-reader"), patience, cases
        self._source, self._in_flight, self._store = source, in_flight, store
        self._limits, self._longest_wait, self._run_id = limits, longest_wait, run_id
        self._stop, self._is_stopped, self._done = stop, Event(), Event()
        self._done.set()
        self._watermark = Watermark(patience=longest_wait)
        self._started = self._ticked = monotonic()
        self._scored_before, self._last_bundle = self._scored(), 0
        self._bundle, self._admitted = _BUNDLE, monotonic()
        self._is_complete = False
        self.problem: Exception | None = None

    def stop(self) -> None:
        """Ends the stream at once, after the pipeline has ended."""
        self._is_stopped.set()
        self._done.wait(_STOP_SECONDS)
        self._worker.close()

    def fail(self, problem: Exception) -> None:
        """Ends the stream because of an error outside the pipeline."""
        self.problem = self.problem or problem
        self._stop.set()

    def read_multiple(self, labels: Sequence[Any]) -> Iterator[_Message]:
        """Yields the events of the stream; called by Beam's TestStream service."""
        self._done.clear()
        self._started = self._ticked = monotonic()
        try:
            yield from self._refresh_cases()
            yield from self._live()
            yield from self._drain()
            self._is_complete = not self._is_stopped.is_set()
        except Exception as error:
            self.fail(error)
        self._done.set()
        yield _watermark_message(MAX_TIMESTAMP.micros)

    def check(self) -> None:
        """Raises the error that ended the stream early, if there is one."""
        if self.problem is not None:
            raise self.problem
        if not self._is_complete:
            raise EndedEarlyError(
                "the stream ended before it was asked to; start it again to continue where it stopped"
            )

    def _live(self) -> Iterator[_Message]:
        while not self._must_end():
            room = self._room()
            items = (yield from self._in_worker(partial(self._source.poll, room))) if room > 0 else ()
            if items:
                yield from self._admit(items)
            else:
                sleep(_PAUSE)
            yield from self._refresh_cases()
            yield from self._tick()

    def _refresh_cases(self) -> Iterator[_Message]:
        """Reads eval cases that changed, and stores the failures of those that cannot be read."""
        if self._cases is None or not self._cases.is_due:
            return
        failures = (yield from self._in_worker(self._cases.refresh)) or ()
        if lost := [failed_outcome(failure, self._run_id) for failure in failures]:
            yield from self._in_worker(partial(self._store.commit, lost, self._in_flight))

    def _in_worker(self, call: Callable[[], _T]) -> Generator[_Message, None, _T | None]:
        """Runs a call in the worker thread and advances the clock meanwhile.

        Returns:
            The result of the call; None if the pipeline has ended.

        Raises:
            StalledError: The stream is to end and the call does not return.
        """
        result = self._worker.submit(call)
        ending_since: float | None = None
        while not wait([result], _TICK).done and not self._is_stopped.is_set():
            yield from self._tick()
            if ending_since is None and self._must_end():
                ending_since = monotonic()
            if ending_since is not None and monotonic() - ending_since > self._patience:
                raise StalledError(
                    f"the input or the disk did not answer for {self._patience:.0f} s; start the stream "
                    "again to read the rest"
                )
        return result.result() if result.done() else None

    def _must_end(self) -> bool:
        seconds, conversations = self._limits.seconds, self._limits.conversations
        if self._stop.is_set() or self._is_stopped.is_set():
            return True
        if self._source.is_finished and not self._in_flight.in_flight:
            return True
        if seconds is not None and monotonic() - self._started >= seconds:
            return True
        return conversations is not None and self._scored() - self._scored_before >= conversations

    def _scored(self) -> int:
        counts = self._store.counts
        return counts["results"] + counts["lost_conversations"]

    def _room(self) -> int:
        """Returns how many records may be read now: none while two bundles are in flight.

        A bundle has a fixed cost, so records that arrive meanwhile are collected for the next one.
        """
        if self._in_flight.in_flight > self._last_bundle:
            return 0
        if self._limits.conversations is None:
            return self._bundle
        wanted = self._limits.conversations - (self._scored() - self._scored_before)
        return min(self._bundle, wanted - self._in_flight.in_flight)

    def _resize(self, count: int) -> None:
        """Makes bundles larger while full ones take less than two seconds, because every bundle has its cost.

        Args:
            count: Size of the bundle that begins: the one before the last has ended.
        """
        seconds, self._admitted = monotonic() - self._admitted, monotonic()
        if count < self._bundle:
            self._bundle = _BUNDLE
        elif seconds < _SHORT_SECONDS:
            self._bundle = min(2 * self._bundle, _LARGEST_BUNDLE)
        elif seconds > _LONG_SECONDS:
            self._bundle = max(self._bundle // 2, _BUNDLE)

    def _admit(self, items: Iterable[SourceRecord]) -> Iterator[_Message]:
        """Passes readable records to the pipeline and stores the failures of the others."""
        elements, unread = [], []
        for item in items:
            arrival = self._arrival(item)
            if not self._in_flight.add(arrival):
                continue
            if item.error is not None:
                failure = record_failure("read", item.error, Record(item.source, item.position, item.data))
                unread.append(failed_outcome(failure, self._run_id))
                continue
            elements.append(_element(arrival))
        if unread:
            yield from self._in_worker(partial(self._store.commit, unread, self._in_flight))
        self._last_bundle = len(elements)
        self._resize(len(elements))
        if elements:
            yield _Message(element_event=_Message.AddElements(elements=elements))

    def _arrival(self, item: SourceRecord) -> Arrival:
        if item.error is not None:
            return Arrival(item.source, item.position, item.data, time(), self._watermark.value)
        seconds = record_time(item.data) if item.event_time is None else item.event_time
        when = self._watermark.see(item.published if seconds is None else seconds)
        return Arrival(item.source, item.position, item.data, when, self._watermark.value)

    def _tick(self) -> Iterator[_Message]:
        """Advances the pipeline's clock and watermark."""
        now = monotonic()
        if now - self._ticked < _TICK:
            return
        if self._watermark.advance():
            self._store.now = max(self._store.now, self._watermark.value)
            yield _watermark_message(self._watermark.micros)
        micros = int((now - self._ticked) * 1e6)
        yield _Message(processing_time_event=_Message.AdvanceProcessingTime(advance_duration=micros))
        self._ticked = now

    def _drain(self) -> Iterator[_Message]:
        """Completes all records that were read: first those in flight, then open sessions."""
        if self._limits.conversations is None and not self._is_stopped.is_set():
            yield from self._admit((yield from self._in_worker(self._source.last_items)) or ())
        yield from self._until_none(lambda: self._in_flight.in_flight)
        self._watermark.pass_over(self._longest_wait)
        yield _watermark_message(self._watermark.micros)
        yield from self._until_none(lambda: self._in_flight.waiting)

    def _until_none(self, waiting: Any) -> Iterator[_Message]:
        settled, moved_at = self._in_flight.settled, monotonic()
        while waiting() and not self._is_stopped.is_set():
            sleep(_PAUSE)
            yield from self._tick()
            if self._in_flight.settled != settled:
                settled, moved_at = self._in_flight.settled, monotonic()
            elif monotonic() - moved_at > _STALLED_AFTER:
                raise StalledError(
                    f"{waiting()} records were not completed; start the stream again to read them again"
                )


def _element(arrival: Arrival) -> TestStreamPayload.TimestampedElement:
    """Returns an element with the name of a record; the pipeline looks it up in this process."""
    place = dump_json([arrival.source, arrival.position])
    return TestStreamPayload.TimestampedElement(
        encoded_element=place, timestamp=int(arrival.event_time * 1e6)
    )


def _watermark_message(micros: int) -> _Message:
    return _Message(watermark_event=_Message.AdvanceWatermark(new_watermark=micros))
