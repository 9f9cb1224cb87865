"""Writes the metrics files of a local stream, with the newest figures of each window."""

import json
from collections.abc import Callable, Container, Iterable, Sequence
from pathlib import Path
from threading import Lock
from typing import cast

import apache_beam as beam
from apache_beam.pvalue import PCollection
from msgspec import Struct

from turnwise.pipeline.batch.build import aggregate_versions
from turnwise.pipeline.io.case_book import CaseBook
from turnwise.pipeline.io.run_writer import AGGREGATED, ALERTS_FILE, SINGLE_FILES
from turnwise.pipeline.io.sinks.base import StreamChange, document_content, table_content
from turnwise.pipeline.settings.options import DEFAULT_OUTPUT_FORMAT
from turnwise.pipeline.streaming.build import WindowSum, gone_window, window_change
from turnwise.pipeline.streaming.executor import Events, StreamEvent
from turnwise.pipeline.streaming.local.counts import InFlightRecords
from turnwise.pipeline.streaming.local.storage import StreamStorage
from turnwise.schemas.config import ConfigError
from turnwise.schemas.conversation import Arrival
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.rows import MetricsByAppVersionRow
from turnwise.schemas.run import StreamRules
from turnwise.transforms.beam.sessions import ClosedSession
from turnwise.transforms.beam.steps import InspectedDoFn
from turnwise.transforms.beam.stream import CurrentCases, no_cases
from turnwise.transforms.beam.windows import Counted, RecordOutcome, WindowMetrics
from turnwise.transforms.metrics.state import MetricsState
from turnwise.transforms.text.dates import rfc3339

BY_VERSION = SINGLE_FILES[0]
_WindowKey = tuple[str, str | None]


class MetricsFiles:
    """The rows of all windows; the files are always written as a whole.

    Attributes:
        send: Writes the rows to a service, before they are in the files; None: there is none.
    """

    def __init__(self, directory: Path, run_id: str, known: Sequence[WindowSum]) -> None:
        """Reads the existing rows.

        Args:
            directory: Directory of the files.
            run_id: Id of the run.
            known: Sums of earlier processes. Rows of other windows or versions are outdated and dropped.

        Raises:
            ConfigError: A file cannot be read.
        """
        self._directory, self._run_id, self._lock = directory, run_id, Lock()
        keys = [_window_key(one) for one in known]
        self._rows = {table: _grouped(_read(directory / f"{table}.jsonl"), keys) for table in SINGLE_FILES}
        # A window whose rows are gone has no state here: `complete` writes it anew.
        written = self._rows[BY_VERSION]
        self._states = {key: one.state for key, one in zip(keys, known, strict=True) if key in written}
        self.send: Callable[[Sequence[StreamChange]], None] | None = None
        self._changes: dict[_WindowKey, StreamChange] = {}
        for row in _read(directory / f"{BY_VERSION}.jsonl"):
            if (key := (row["window_start"], row["app_version"])) not in keys:
                self._changes[key] = gone_window(*key, run_id, row["revision"] + 1)
        self._is_changed, self._aggregated = True, -1

    def put(self, metrics: WindowMetrics) -> None:
        """Replaces the rows of a window and app version."""
        with self._lock:
            key = (rfc3339(metrics.window_start) or "", metrics.app_version or None)
            revision = self._next_revision(key, metrics.revision)
            change = window_change(metrics._replace(revision=revision), self._run_id)
            for table in SINGLE_FILES:
                self._rows[table][key] = list(map(dict, change.rows[table]))
            self._states[key], self._changes[key] = metrics.state, change
            self._is_changed = True

    def missing(self, sums: Iterable[WindowSum]) -> int:
        """Returns how many of the stored conversations are not in the rows of their windows."""
        with self._lock:
            found = self._rows[BY_VERSION]
            rows = ((one.state.conversations, found.get(_window_key(one))) for one in sums)
            return sum(max(0, stored - (own[0]["conversations"] if own else 0)) for stored, own in rows)

    def window_rows(self) -> list[MetricsByAppVersionRow]:
        """Returns the rows by app version of the newest window."""
        with self._lock:
            newest = max((key[0] for key in self._rows[BY_VERSION]), default=None)
            groups = [rows for key, rows in self._rows[BY_VERSION].items() if key[0] == newest]
        return cast("list[MetricsByAppVersionRow]", [row for rows in groups for row in rows])

    def complete(self, sums: Iterable[WindowSum], length: float) -> None:
        """Replaces the rows of windows that differ from the stored sums; `length` in seconds."""
        for one in sums:
            if self._states.get(_window_key(one)) != one.state:
                end = one.start + length
                self.put(WindowMetrics(one.start, end, one.app_version, "LATE", 0, one.state))

    def write(self, totals: dict[str, MetricsState], changes: int) -> None:
        """Writes the files whose rows have changed; raises OSError.

        Args:
            totals: App version -> metrics of all stored conversations.
            changes: Version number of the totals.
        """
        with self._lock:
            if self._is_changed:
                self._is_changed = False
                if self.send is not None and self._changes:
                    self.send(list(self._changes.values()))
                self._changes = {}
                for table in SINGLE_FILES:
                    entries = sorted(self._rows[table].items(), key=_place)
                    rows = [row for _, found in entries for row in found]
                    self._replace(f"{table}.jsonl", table_content([rows], table, DEFAULT_OUTPUT_FORMAT))
            if changes != self._aggregated:
                self._aggregated = changes
                versions = sorted(totals.items(), key=lambda entry: entry[0])
                self._replace(f"{AGGREGATED}.json", document_content(aggregate_versions(versions)))

    def _replace(self, name: str, content: bytes) -> None:
        partial = self._directory / f".{name}.partial"
        partial.write_bytes(content)
        partial.replace(self._directory / name)

    def _next_revision(self, key: _WindowKey, revision: int) -> int:
        """Returns a revision above all earlier ones of the window, those of earlier processes included."""
        return max([revision, *(row["revision"] + 1 for row in self._rows[BY_VERSION].get(key, ()))])


def _window_key(one: WindowSum) -> _WindowKey:
    return rfc3339(one.start) or "", one.app_version or None


def _read(path: Path) -> list[JsonObject]:
    if not path.exists():
        return []
    try:
        rows: list[JsonObject] = [json.loads(line) for line in path.read_bytes().splitlines()]
        for row in rows:
            row["window_start"], row["app_version"], row["revision"]
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{path}: is damaged: {error}; remove it: its figures are computed anew") from None
    return rows


def _grouped(rows: Iterable[JsonObject], keys: Container[_WindowKey]) -> dict[_WindowKey, list[JsonObject]]:
    groups: dict[_WindowKey, list[JsonObject]] = {}
    for row in rows:
        key = (row["window_start"], row["app_version"])
        if key in keys:
            groups.setdefault(key, []).append(row)
    return groups


def _place(entry: tuple[_WindowKey, list[JsonObject]]) -> tuple[str, str]:
    return entry[0][0], entry[0][1] or ""


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
