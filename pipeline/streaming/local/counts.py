"""Counts and windowed sums of a local stream, over all its processes."""

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from threading import Lock
from time import monotonic, time

from turnwise.pipeline.report.run_counts import RunCounts, failure_counters, run_counts
from turnwise.schemas.conversation import Arrival, Receipt
from turnwise.transforms.beam.windows import RecordOutcome, SumsChange, window_start
from turnwise.transforms.metrics.state import MetricsState, packed, unpacked
from turnwise.transforms.scoring.evaluate import GUESS
from turnwise.transforms.scoring.selection import STAGE


class WindowSums:
    """Metrics by window and app version, whose `changes` are written in the transaction of the outcomes.

    `totals` are those of all windows by app version ("": unknown), as written.
    """

    def __init__(self, connection: sqlite3.Connection, window: float) -> None:
        self._connection, self._window = connection, window
        self.changes: list[SumsChange] = []
        self.totals: dict[str, MetricsState] = {}
        for entry in self.all():
            self._add_to_total(entry.app_version, entry.statistics)

    def write(self) -> None:
        """Writes the changes. The caller holds a transaction."""
        execute, of_key = self._connection.execute, "FROM sums WHERE start = ? AND app_version = ?"
        by_window: dict[tuple[float, str], MetricsState] = {}
        for sign, at, version, statistics in self.changes:
            key = window_start(at, self._window), version
            by_window.setdefault(key, MetricsState()).merge(statistics, sign)
        for key, change in by_window.items():
            row = execute(f"SELECT statistics {of_key}", key).fetchone()
            state = unpacked(row[0]) if row else MetricsState()
            state.merge(change)
            self._add_to_total(key[1], change)
            if state.conversations:
                execute("INSERT OR REPLACE INTO sums VALUES (?, ?, ?)", (*key, packed(state)))
            else:
                execute(f"DELETE {of_key}", key)
        self.changes = []

    def _add_to_total(self, app_version: str, change: MetricsState) -> None:
        total = self.totals.setdefault(app_version, MetricsState())
        total.merge(change)
        if not total.conversations:
            del self.totals[app_version]

    def all(self) -> list[SumsChange]:
        """Returns the stored sums, each as the change at the start of its window that makes it."""
        rows = self._connection.execute("SELECT start, app_version, statistics FROM sums")
        return [SumsChange(1, start, version, unpacked(statistics)) for start, version, statistics in rows]


def stream_counts(counts: Mapping[str, int]) -> RunCounts:
    """Returns the stored counts under the names that every run reports."""
    number = Counter(counts)
    number["parsed_records"] = number["records"] - number["rejected_records"]
    number["conversations"] = number["results"] + number["rejected_conversations"]
    figures = run_counts(number)
    figures["replaced"], figures["repeated"] = number["replaced"], number["repeated"]
    figures["cases"] = figures["unused_cases"] = None
    del figures["joined_entries"], figures["unread_files"]  # of batches
    return figures


def outcome_counts(outcome: RecordOutcome) -> Counter[str]:
    """Returns what an outcome adds to the counts: a result or a loss, its failures and findings."""
    counts: Counter[str] = Counter()
    for row in outcome.failures:
        counts.update(failure_counters(row))
        if row["stage"] == "parse_case":
            counts["rejected_cases"] += 1
        elif outcome.contribution is None and row["stage"] != STAGE:
            is_reading = row["stage"] in ("read", "parse")
            counts["rejected_records" if is_reading else "rejected_conversations"] += 1
    if outcome.contribution is not None:
        counts["results" if outcome.results else "rejected_conversations"] += 1
    counts.update(f"{GUESS}{guess}" for guess in outcome.guesses)
    counts.update(dict(outcome.judged))
    return counts


_SLACK = 5.0
_SKEW = 60.0


class Watermark:
    """The event time before which no more records are expected.

    It follows the latest event time at a distance of 5 s. While no records arrive it advances with the clock,
    so that open sessions end. Records without an event time, or with one over a minute in the future, do not
    move it, unless no others arrive for `patience` seconds: a malformed line must not make a log of last week
    late. When a broker accepted them counts where no record stated a time before.
    """

    def __init__(
        self, now: Callable[[], float] = time, clock: Callable[[], float] = monotonic, patience: float = 600.0
    ) -> None:
        """Creates a watermark at 0; `now` returns seconds since the epoch, `clock` monotonic ones."""
        self._patience, self._now, self._clock = patience, now, clock
        self._latest: float | None = None
        self._newest = 0.0
        self._seen_at = clock()
        self._undated_since: float | None = None  # the first record without a time after the last one with it
        self._is_dated = False
        self.value = 0.0

    def see(self, event_time: float | None, published: float | None = None) -> float:
        """Registers a record; returns the time at which it counts: its own, its broker's, or now."""
        now = self._now()
        is_undated = event_time is None or event_time > now + _SKEW
        stated = published if is_undated else event_time
        event_time = now if stated is None else min(stated, now)
        self._newest = max(self._newest, event_time)
        if not is_undated:
            self._is_dated, self._undated_since = True, None
        elif published is None or self._is_dated:
            self._undated_since = self._undated_since or self._clock()
            return event_time
        if self._latest is None or event_time > self._latest:
            self._latest, self._seen_at = event_time, self._clock()
        return event_time

    def advance(self) -> bool:
        """Advances to the present; returns whether the value changed."""
        waited = 0.0 if self._undated_since is None else self._clock() - self._undated_since
        if waited > self._patience:
            self.see(self._now())
        if self._latest is None:
            return False
        idle = self._clock() - self._seen_at
        before, self.value = self.value, max(self.value, min(self._latest + idle, self._now()) - _SLACK)
        return self.value > before

    def pass_over(self, seconds: float) -> None:
        """Advances to `seconds` after the latest event, at the end of a stream."""
        self.value = max(self.value, self._newest) + seconds


Place = tuple[str, int]
"""Source and position of a record."""


class InFlightRecords:
    """Names each record from its reading until all of its outcomes are stored."""

    def __init__(self, settle: Callable[[Iterable[Place]], None]) -> None:
        self._settle, self._lock = settle, Lock()
        self._places: set[Place] = set()
        self._parts: dict[Place, dict[int, set[int]]] = {}  # part -> pieces that are not stored

    def add(self, arrival: Arrival) -> bool:
        """Adds a record; returns False if it is in flight already."""
        key = (arrival.source, arrival.position)
        with self._lock:
            is_new = key not in self._places
            self._places.add(key)
        return is_new

    def complete(self, receipts: Iterable[Receipt]) -> list[Place]:
        """Registers stored parts of records in flight, no others; returns the records that are complete."""
        whole = []
        with self._lock:
            for receipt in receipts:
                key = (receipt.source, receipt.position)
                if key not in self._places:
                    continue
                parts = self._parts.setdefault(key, {})
                parts.setdefault(receipt.part, set(range(receipt.pieces))).discard(receipt.piece)
                if len(parts) >= receipt.parts and not any(parts.values()):
                    del self._parts[key]
                    whole.append(key)
        return whole

    def release(self, places: Iterable[Place]) -> None:
        """Removes records whose outcomes are on disk and settles them at the source."""
        with self._lock:
            done = [key for key in places if key in self._places]
            self._places.difference_update(done)
        if done:
            self._settle(done)

    @property
    def waiting(self) -> int:
        """Number of records in flight, including those in open sessions."""
        return len(self._places)
