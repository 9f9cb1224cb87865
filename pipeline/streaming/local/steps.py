"""The objects of a local stream that its pipeline steps share, and the steps: source and sinks."""

from collections.abc import Callable, Iterable
from pathlib import Path

import apache_beam as beam
from apache_beam.pvalue import PCollection
from msgspec import Struct

from turnwise.pipeline.io.case_book import CaseBook
from turnwise.pipeline.io.run_writer import ALERTS_FILE
from turnwise.pipeline.streaming.executor.events import Events, StreamEvent
from turnwise.pipeline.streaming.local.in_flight import InFlightRecords
from turnwise.pipeline.streaming.local.metrics_files import MetricsFiles
from turnwise.pipeline.streaming.local.storage import StreamStorage
from turnwise.schemas.conversation import Arrival
from turnwise.schemas.run import StreamRules
from turnwise.transforms.beam.sessions import ClosedSession
from turnwise.transforms.beam.steps import InspectedDoFn
from turnwise.transforms.beam.stream import CurrentCases, no_cases
from turnwise.transforms.beam.windows import Counted, RecordOutcome, WindowMetrics


class Runtime(Struct, frozen=True):
    """The storage, records in flight, metrics files and eval cases of a local stream."""

    store: StreamStorage
    in_flight: InFlightRecords
    metrics: MetricsFiles
    cases: CaseBook | None = None

    def complete_windows(self, rules: StreamRules) -> int:
        """Adds conversations that came too late to their windows; returns how many there were."""
        sums = self.store.sums.all()
        late = self.metrics.missing(sums)
        self.metrics.complete(sums, rules.window)
        return late

    def write_metrics(self) -> None:
        """Writes the metrics files if something changed; raises OSError."""
        with self.store.lock:
            self.metrics.write(self.store.sums.totals, self.store.conversations.changes)


_RUNTIMES: dict[str, Runtime] = {}


def open_runtime(name: str, runtime: Runtime) -> Callable[[], None]:
    """Registers a runtime under a name; returns a function that removes it."""
    _RUNTIMES[name] = runtime

    def close() -> None:
        _RUNTIMES.pop(name, None)

    return close


def find_runtime(name: str) -> Runtime:
    """Returns the runtime of a name; raises KeyError if there is none."""
    return _RUNTIMES[name]


def earlier_session(runtime: str, session_id: str) -> ClosedSession | None:
    """Returns a closed session whose outcome is stored, or None."""
    return find_runtime(runtime).store.earlier.session(session_id)


def earlier_group(runtime: str, group: str) -> ClosedSession | None:
    """Returns the events of a group in the sessions that a process before that of the runtime closed."""
    return find_runtime(runtime).store.earlier.group(group)


def earlier_counted(runtime: str, name: str) -> Counted | None:
    """Returns what a process before that of the runtime counted of a conversation, or None."""
    return find_runtime(runtime).store.earlier.counted(name)


def current_cases(runtime: str) -> CurrentCases:
    """Returns the eval cases of a runtime; its engine refreshes them and reports what cannot be read."""
    book = find_runtime(runtime).cases
    return no_cases() if book is None else CurrentCases(book.index)


class _CommitFn(InspectedDoFn):
    """Commits the outcomes of a bundle in one transaction."""

    def __init__(self, runtime: str) -> None:
        self._runtime = runtime
        self._outcomes: list[RecordOutcome] = []

    def start_bundle(self) -> None:
        self._outcomes = []

    def process(self, outcome: RecordOutcome) -> None:
        self._outcomes.append(outcome)

    def finish_bundle(self) -> None:
        if self._outcomes:
            runtime = find_runtime(self._runtime)
            runtime.store.commit(self._outcomes, runtime.in_flight)


class _UpdateMetricsFn(InspectedDoFn):
    def __init__(self, runtime: str) -> None:
        self._runtime = runtime

    def process(self, metrics: WindowMetrics) -> None:
        find_runtime(self._runtime).metrics.put(metrics)


class LocalStream:
    """The source and sinks of a stream in this process."""

    def __init__(self, runtime: str, events: Callable[[], Iterable[StreamEvent]]) -> None:
        self._runtime, self._events = runtime, events
        self.alerts_path: Path | None = Path(runtime) / ALERTS_FILE

    def read(self, root: beam.Pipeline) -> "PCollection[Arrival]":
        """Adds the step that takes the records from the engine."""
        return root | "Arrive" >> Events(self._events).with_output_types(Arrival)

    def write_outcomes(self, outcomes: "PCollection[RecordOutcome]") -> None:
        """Adds the step that writes outcomes."""
        _ = outcomes | "Keep" >> beam.ParDo(_CommitFn(self._runtime))

    def write_metrics(self, metrics: "PCollection[WindowMetrics]") -> None:
        """Adds the step that writes the metrics of windows."""
        _ = metrics | "Show" >> beam.ParDo(_UpdateMetricsFn(self._runtime))
