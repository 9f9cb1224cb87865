"""Drives a local pipeline: passes records to it, advances its time and ends it."""

from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import wait
from functools import partial
from threading import Event
from time import monotonic, sleep, time
from typing import TypeVar

from apache_beam.transforms.window import TimestampedValue
from apache_beam.utils.timestamp import Timestamp
from msgspec import Struct

from turnwise.pipeline.io.case_book import CaseBook
from turnwise.pipeline.streaming.inputs.base import SourceRecord, StreamSource
from turnwise.pipeline.streaming.local.counts import BackgroundThread, InFlightRecords, Watermark
from turnwise.pipeline.streaming.local.loop import AdvanceClock, AdvanceWatermark, Elements, StreamEvent
from turnwise.pipeline.streaming.local.storage import StreamStorage
from turnwise.schemas.conversation import Arrival, Record
from turnwise.schemas.run import RunInfo
from turnwise.schemas.score import record_failure
from turnwise.transforms.beam.windows import failed_outcome
from turnwise.transforms.formats.registry import record_time

_BUNDLE = 400
_PAUSE = 0.02
_TICK = 0.2
_T = TypeVar("_T")


class StalledError(OSError):
    """The source does not answer."""


class IncompleteError(OSError):
    """The stream ended with records that have no outcome."""


class StreamLimits(Struct, frozen=True):
    """Seconds, and conversations scored or rejected, after which a stream ends by itself; None: never."""

    seconds: float | None = None
    conversations: int | None = None


class Engine:
    """Provides the events of a local stream.

    Slow calls run in another thread, so that the stream's time goes on meanwhile.

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
        run: RunInfo,
        stop: Event,
        cases: CaseBook | None = None,
        patience: float = 60.0,
    ):
        """Creates the engine.

        An open session is closed after `longest_wait` seconds at the latest. To end the stream set `stop`:
        records that were read are still scored, and a source without an answer is given `patience` seconds.
        """
        self._worker, self._patience, self._cases = BackgroundThread("turnwise-reader"), patience, cases
        self._source, self._in_flight, self._store = source, in_flight, store
        self._limits, self._longest_wait, self._run = limits, longest_wait, run
        self._stop = stop
        self._watermark = Watermark(patience=longest_wait)
        self._started = self._ticked = monotonic()
        self._scored_before = self._scored()
        self.problem: Exception | None = None

    def close(self) -> None:
        """Ends the thread for slow calls."""
        self._worker.close()

    def fail(self, problem: Exception) -> None:
        """Ends the stream because of an error outside the pipeline."""
        self.problem = self.problem or problem
        self._stop.set()

    def events(self) -> Iterator[StreamEvent]:
        """Yields the events of the stream; each is processed before the next is asked for."""
        self._started = self._ticked = monotonic()
        try:
            yield from self._refresh_cases()
            yield from self._live()
            yield from self._drain()
        except Exception as error:
            self.fail(error)

    def check(self) -> None:
        """Raises the error that ended the stream early, if there is one."""
        if self.problem is not None:
            raise self.problem

    def _live(self) -> Iterator[StreamEvent]:
        most = self._limits.conversations
        while not self._must_end():
            scored = self._scored() - self._scored_before
            room = _BUNDLE if most is None else min(_BUNDLE, most - scored)
            items = yield from self._in_worker(partial(self._source.poll, room))
            if items:
                yield from self._admit(items)
            else:
                sleep(_PAUSE)
            yield from self._refresh_cases()
            yield from self._tick()

    def _refresh_cases(self) -> Iterator[StreamEvent]:
        """Reads eval cases that changed, and stores the failures of those that cannot be read."""
        if self._cases is None or not self._cases.is_due:
            return
        failures = (yield from self._in_worker(self._cases.refresh)) or ()
        if rejected := [failed_outcome(failure, self._run) for failure in failures]:
            yield from self._in_worker(partial(self._store.commit, rejected, self._in_flight))

    def _in_worker(self, call: Callable[[], _T]) -> Generator[StreamEvent, None, _T]:
        """Runs a call in the worker thread, advances the clock meanwhile, and returns the result.

        Raises StalledError if the stream is to end and the call does not return.
        """
        result = self._worker.submit(call)
        ending_since: float | None = None
        while not wait([result], _TICK).done:
            yield from self._tick()
            if ending_since is None and self._must_end():
                ending_since = monotonic()
            if ending_since is not None and monotonic() - ending_since > self._patience:
                raise StalledError(
                    f"the input or the disk did not answer for {self._patience:.0f} s; start the stream "
                    "again to read the rest"
                )
        return result.result()

    def _must_end(self) -> bool:
        seconds, conversations = self._limits.seconds, self._limits.conversations
        if self._stop.is_set() or self._source.is_finished:
            return True
        if seconds is not None and monotonic() - self._started >= seconds:
            return True
        return conversations is not None and self._scored() - self._scored_before >= conversations

    def _scored(self) -> int:
        counts = self._store.counts
        return counts["results"] + counts["rejected_conversations"]

    def _admit(self, items: Iterable[SourceRecord]) -> Iterator[StreamEvent]:
        """Passes readable records to the pipeline and stores the failures of the others."""
        elements, unread = [], []
        for item in items:
            arrival = self._arrival(item)
            if not self._in_flight.add(arrival):
                continue
            if item.error is not None:
                failure = record_failure("read", item.error, Record(item.source, item.position, item.data))
                unread.append(failed_outcome(failure, self._run))
                continue
            elements.append(TimestampedValue(arrival, Timestamp.of(arrival.event_time)))
        if unread:
            yield from self._in_worker(partial(self._store.commit, unread, self._in_flight))
        if elements:
            yield Elements(elements)

    def _arrival(self, item: SourceRecord) -> Arrival:
        if item.error is not None:
            return Arrival(item.source, item.position, item.data, time(), self._watermark.value)
        seconds = record_time(item.data) if item.event_time is None else item.event_time
        when = self._watermark.see(item.published if seconds is None else seconds)
        return Arrival(item.source, item.position, item.data, when, self._watermark.value)

    def _tick(self) -> Iterator[StreamEvent]:
        """Advances the pipeline's clock and watermark."""
        now = monotonic()
        if now - self._ticked < _TICK:
            return
        if self._watermark.advance():
            self._store.now = max(self._store.now, self._watermark.value)
            yield AdvanceWatermark(Timestamp(micros=self._watermark.micros))
        yield AdvanceClock(now - self._ticked)
        self._ticked = now

    def _drain(self) -> Iterator[StreamEvent]:
        """Completes the records that were read: open sessions end."""
        if self._limits.conversations is None:
            yield from self._admit((yield from self._in_worker(self._source.last_items)) or ())
        self._watermark.pass_over(self._longest_wait)
        yield AdvanceWatermark(Timestamp(micros=self._watermark.micros))
        if waiting := self._in_flight.waiting:
            raise IncompleteError(
                f"{waiting} records were not completed; start the stream again to read them again"
            )
