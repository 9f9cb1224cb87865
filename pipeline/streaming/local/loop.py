"""Drives the functions of a stream in this process, one bundle at a time, by its watermark and clock."""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, wait
from functools import partial
from math import inf
from pathlib import Path
from threading import Event, Thread
from time import monotonic, sleep, time
from typing import Any, NamedTuple, TypeVar

from apache_beam.pvalue import TaggedOutput
from apache_beam.transforms.window import TimestampedValue
from apache_beam.utils.timestamp import MAX_TIMESTAMP, Timestamp
from apache_beam.utils.windowed_value import WindowedValue
from msgspec import Struct

from turnwise.pipeline.io.run_writer import ALERTS_FILE
from turnwise.pipeline.settings.options import StreamSettings
from turnwise.pipeline.settings.run import RunSettings
from turnwise.pipeline.streaming.alerts import WaitingAlerts
from turnwise.pipeline.streaming.inputs.base import SourceRecord, StreamSource
from turnwise.pipeline.streaming.local.counts import Watermark
from turnwise.pipeline.streaming.local.storage import Runtime
from turnwise.schemas.conversation import Arrival, Record
from turnwise.schemas.run import PROGRESS, RunInfo, StreamRules
from turnwise.schemas.score import record_failure
from turnwise.transforms.beam import windows
from turnwise.transforms.beam.sessions import RecordContent, Sessions, firing_time
from turnwise.transforms.beam.steps import GROUPED
from turnwise.transforms.formats.events import ConversationEvent, is_of_endless_group
from turnwise.transforms.formats.reading import LoggedConversation, LogReader
from turnwise.transforms.formats.registry import record_time
from turnwise.transforms.matching.sample import match_case
from turnwise.transforms.metrics.state import MetricsState


class StreamEvent(NamedTuple):
    """What happens to a stream: records come, all in one bundle, its watermark rises, and time goes on.

    Attributes:
        watermark: The time before which no more records are expected; None: as before.
        seconds: How many have passed.
    """

    values: Sequence[TimestampedValue[Arrival]] = ()
    watermark: float | None = None
    seconds: float = 0.0


class _OpenWindow(Struct):
    """A window of an app version; `due` is the clock's time of its next early pane, infinity: none."""

    sums: MetricsState
    panes: int = 0
    due: float = inf


class Windows:
    """The metrics of windows, given in panes as `WindowedMetrics` gives them.

    A window gives a pane `pane_every` seconds after its first change since the last one, when the watermark
    passes its end, and then at every bundle with changes, until its lateness is over.
    """

    def __init__(self, rules: StreamRules, earlier: Iterable[windows.SumsChange] = ()) -> None:
        self._length, self._lateness = rules.window, rules.window_lateness
        self._pane_every = max(1, round(rules.pane_every))
        self._windows: dict[tuple[float, str], _OpenWindow] = {}
        self._clock, self._watermark = 0.0, -inf
        self._changed: set[tuple[float, str]] = set()
        self._next_end = inf
        self.add(earlier)

    def add(self, changes: Iterable[windows.SumsChange]) -> None:
        """Adds what contributions change; dropped where the lateness of a window is over."""
        for change in changes:
            key = windows.window_start(change.event_time, self._length), change.app_version
            end = key[0] + self._length
            if self._watermark > end + self._lateness:
                continue
            window = self._windows.setdefault(key, _OpenWindow(MetricsState()))
            window.sums.merge(change.statistics, change.sign)
            self._changed.add(key)
            self._next_end = min(self._next_end, end)
            if window.due == inf:
                window.due = self._clock + self._pane_every

    def panes(self, watermark: float, clock: float) -> Iterator[windows.WindowMetrics]:
        """Yields the panes that are due, and forgets windows that accept no more changes."""
        before, self._watermark, self._clock = self._watermark, watermark, clock
        are_ending = watermark >= self._next_end
        for start, version in sorted(self._windows if are_ending else self._changed):
            window, end, timing = self._windows[start, version], start + self._length, ""
            is_changed = (start, version) in self._changed
            # Without changes since the last early pane the end still gives one: a low count is tested there.
            if is_changed and before >= end:
                timing = "LATE"
            elif before < end <= watermark:
                timing = "ON_TIME"
            elif is_changed and window.due <= clock:
                timing = "EARLY"
            if timing:
                self._changed.discard((start, version))
                sums = MetricsState()
                sums.merge(window.sums)
                pane = windows.WindowMetrics(start, end, version, timing, window.panes, sums)
                window.due = inf
                window.panes += 1
                yield pane
            if watermark > end + self._lateness:
                del self._windows[start, version]
        if are_ending:
            ends = (start + self._length for start, _ in self._windows)
            closing = (end + self._lateness if watermark >= end else end for end in ends)
            self._next_end = min(closing, default=inf)


_ROOM = 64
"""How many times as many closed sessions and groups are kept as in the state of one key on other runners."""


class StreamLoop:
    """Runs a stream in the calling thread. A bundle that fails ends it: the next process reads it again.

    `late`: number of conversations that missed the panes of their windows, known in the end.
    """

    def __init__(self, settings: RunSettings, runtime: Runtime, sums: Sequence[windows.SumsChange]) -> None:
        self._rules, self._runtime, self.late = settings.stream.rules, runtime, 0
        self._reader = LogReader(settings.input_format, settings.config)
        self._parser = windows.ParseArrivalFn(self._reader)
        self._sessions, self._groups = Sessions(room=_ROOM), Sessions(room=_ROOM)
        self._scorer = windows.ScoreStreamFn(settings.selection, settings.run, settings.judge)
        self._windows = Windows(self._rules, sums)
        rules = settings.config.alerts
        self.raiser = windows.AlertRaiser(self._rules, rules) if rules else None
        self._raised: dict[str, windows.RaisedWindows] = {}
        self.alerts = WaitingAlerts(settings.stream.alerts, Path(settings.output) / ALERTS_FILE)
        self._watermark, self._clock, self._held = -inf, 0.0, 0
        self._outcomes: list[windows.RecordOutcome] = []

    def run(self, events: Iterable[StreamEvent]) -> None:
        """Processes the events of a stream, and ends its sessions and windows after the last one."""
        for event in events:
            self._clock += event.seconds
            if event.watermark is not None:
                self._watermark = event.watermark
            self._process(event.values)
        self._watermark, self._clock = MAX_TIMESTAMP.micros / 1e6, inf
        self._process(())

    def _process(self, values: Sequence[TimestampedValue[Arrival]]) -> None:
        """Processes a bundle, and what is due then: stores the outcomes, and what they change in windows."""
        if values or min(self._sessions.due, self._groups.due) <= self._watermark:
            book = self._runtime.cases
            self._cases, self._held = None if book is None else book.index, 0
            self._scorer.start_bundle()
            for value in values:
                self._read(value.value, value.timestamp)
            # What is due closes at the time of a timer, as elsewhere: groups before sessions.
            groups, sessions = self._groups, self._sessions
            while groups.due <= self._watermark:
                for name, group in groups.take_due(firing_time(groups.due).micros / 1e6, self._rules):
                    self._held -= group.held()
                    events, unnamed = groups.named(name, group, self._rules, self._parser.counts)
                    for event in events:
                        self._add(sessions, event, Timestamp.of(group.last_time))
                    for failure in unnamed:
                        self._score(failure, Timestamp.of(group.last_time))
            while sessions.due <= self._watermark:
                for name, session in sessions.take_due(firing_time(sessions.due).micros / 1e6, self._rules):
                    self._held -= session.held()
                    content = sessions.joined(name, session, self._rules, is_kept=False)
                    self._score(content, Timestamp.of(session.last_time))
            self._take(self._scorer.finish_bundle())
            PROGRESS.held += self._held
        store, in_flight = self._runtime.store, self._runtime.in_flight
        outcomes, self._outcomes = self._outcomes, []
        if outcomes:
            self._windows.add(store.commit(outcomes, in_flight))
        # The end of a stream closes its sessions, but no window that goes on: the next process may add to it.
        for pane in self._windows.panes(min(self._watermark, time()), self._clock):
            self._runtime.metrics.put(pane)
            if self.raiser is not None:
                earlier = self._raised.get(pane.app_version)
                alerts, self._raised[pane.app_version] = self.raiser.raised(pane, earlier)
                self._runtime.alerts.extend(self.alerts.add(alerts))
        self.alerts.send(self._clock, self._clock == inf)

    def _read(self, arrival: Arrival, timestamp: Timestamp) -> None:
        for content in self._parser.process(arrival):
            if not isinstance(content, TaggedOutput):
                self._score(content, timestamp)
                continue
            key, event = content.value
            if content.tag == GROUPED:
                self._add(self._groups, event._replace(session_id=key), timestamp)
            else:
                self._add(self._sessions, event, timestamp)

    def _add(self, sessions: Sessions, event: ConversationEvent, timestamp: Timestamp) -> None:
        stored = self._runtime.store.conversations
        group = partial(stored.group, is_endless=is_of_endless_group(event))
        lookup = group if sessions is self._groups else stored.session
        held, rejected = sessions.add(event, timestamp.micros / 1e6, self._reader, self._rules, lookup)
        self._held += held
        if rejected is not None:
            self._score(rejected, timestamp)

    def _score(self, content: RecordContent, timestamp: Timestamp) -> None:
        matched: object = content
        if isinstance(content, LoggedConversation):
            matched = match_case(self._cases, *content, self._parser.counts)
        self._take(self._scorer.process(matched, timestamp))

    def _take(self, outputs: Iterable[Any]) -> None:
        """Keeps the outcomes that are ready, of earlier conversations as well."""
        values = [output.value for output in outputs if output.tag == windows.OUTCOMES]
        self._outcomes += [value.value if isinstance(value, WindowedValue) else value for value in values]


_BUNDLE = 400
_PAUSE = 0.02
_TICK = 0.2
_T = TypeVar("_T")


class Engine:
    """The events of a local stream, whose time goes on during slow calls; `problem` ended it early."""

    patience = 60.0
    """Seconds that a source without an answer has when the stream must end."""

    def __init__(
        self, source: StreamSource, runtime: Runtime, stream: StreamSettings, run: RunInfo, stop: Event
    ) -> None:
        self._source, self._stream, self._run, self._stop = source, stream, run, stop
        self._store, self._in_flight, self._cases = runtime.store, runtime.in_flight, runtime.cases
        self._watermark = Watermark(patience=stream.rules.longest_wait)
        seconds, most = stream.max_run_time, stream.stop_after
        self._seconds = inf if seconds is None else seconds
        self._last = inf if most is None else self._scored() + most
        self.problem: Exception | None = None

    def fail(self, problem: Exception) -> None:
        """Ends the stream because of an error outside the pipeline."""
        self.problem = self.problem or problem
        self._stop.set()

    def events(self) -> Iterator[StreamEvent]:
        """Yields the events, each processed before the next is asked for; `check` raises what ended them."""
        self._started = self._ticked = monotonic()
        try:
            yield from self._refresh_cases()
            while not self._must_end():
                room = int(min(_BUNDLE, self._last - self._scored()))
                items = yield from self._in_worker(partial(self._source.poll, room))
                if items:
                    yield from self._admit(items)
                else:
                    sleep(_PAUSE)
                yield from self._refresh_cases()
                yield from self._tick()
            if self._stream.stop_after is None:
                yield from self._admit((yield from self._in_worker(self._source.last_items)) or ())
            self._watermark.pass_over(self._stream.rules.longest_wait)
            yield StreamEvent(watermark=self._watermark.value)
            if waiting := self._in_flight.waiting:
                lost = f"{waiting} records were not completed; start the stream again to read them again"
                self.fail(OSError(lost))
        except Exception as error:
            self.fail(error)

    def check(self) -> None:
        """Raises the error that ended the stream early, if there is one."""
        if self.problem is not None:
            raise self.problem

    def _refresh_cases(self) -> Iterator[StreamEvent]:
        if self._cases is None or not self._cases.is_due:
            return
        failures = (yield from self._in_worker(self._cases.refresh)) or ()
        if rejected := [windows.failed_outcome(failure, self._run) for failure in failures]:
            yield from self._in_worker(partial(self._store.commit, rejected, self._in_flight))

    def _in_worker(self, call: Callable[[], _T]) -> Generator[StreamEvent, None, _T]:
        """Calls in a thread while the clock advances; raises OSError if the stream must end meanwhile."""
        result: Future[_T] = Future()

        def answer() -> None:
            try:
                result.set_result(call())
            except BaseException as error:
                result.set_exception(error)

        # It does not block the end of the process.
        Thread(target=answer, name="turnwise-reader", daemon=True).start()
        ending_since: float | None = None
        while not wait([result], _TICK).done:
            yield from self._tick()
            if ending_since is None and self._must_end():
                ending_since = monotonic()
            if ending_since is not None and monotonic() - ending_since > self.patience:
                what = f"the input or the disk did not answer for {self.patience:.0f} s"
                raise OSError(f"{what}; start the stream again to read the rest")
        return result.result()

    def _must_end(self) -> bool:
        is_over = monotonic() - self._started >= self._seconds or self._scored() >= self._last
        return self._stop.is_set() or self._source.is_finished or is_over

    def _scored(self) -> int:
        counts = self._store.counts
        return counts["results"] + counts["rejected_conversations"]

    def _admit(self, items: Iterable[SourceRecord]) -> Iterator[StreamEvent]:
        """Passes readable records to the pipeline and stores the failures of the others."""
        elements, unread = [], []
        for item in items:
            if item.error is not None:
                when = time()
            else:
                seconds = record_time(item.data) if item.event_time is None else item.event_time
                when = self._watermark.see(seconds, item.published)
            arrival = Arrival(item.source, item.position, item.data, when, self._watermark.value)
            if not self._in_flight.add(arrival):
                continue
            if item.error is not None:
                failure = record_failure("read", item.error, Record(item.source, item.position, item.data))
                unread.append(windows.failed_outcome(failure, self._run))
                continue
            elements.append(TimestampedValue(arrival, Timestamp.of(arrival.event_time)))
        if unread:
            yield from self._in_worker(partial(self._store.commit, unread, self._in_flight))
        if elements:
            yield StreamEvent(elements)

    def _tick(self) -> Iterator[StreamEvent]:
        now = monotonic()
        if now - self._ticked < _TICK:
            return
        watermark = None
        if self._watermark.advance():
            watermark = self._watermark.value
            self._store.now = max(self._store.now, watermark)
        passed, self._ticked = now - self._ticked, now
        yield StreamEvent(watermark=watermark, seconds=passed)
