"""Counts and windowed sums of a local stream, over all its processes."""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping

from turnwise.pipeline.report.counts import RunCounts, failure_counters, named_counts
from turnwise.pipeline.streaming.build import WindowSum
from turnwise.schemas.rows import FailureRow
from turnwise.transforms.beam.windows import RecordOutcome
from turnwise.transforms.metrics.state import MetricsState, packed, unpacked
from turnwise.transforms.scoring.config import LEFT_BY_BUDGET
from turnwise.transforms.scoring.evaluate import GUESS
from turnwise.transforms.scoring.panels import STAGE


class WindowSums:
    """Metrics by window and app version, written in the transaction of the outcomes.

    Attributes:
        totals: App version ("": unknown) -> metrics of all windows, as written.
    """

    def __init__(self, connection: sqlite3.Connection, window: float) -> None:
        self._connection, self._window = connection, window
        self._changes: dict[tuple[float, str], MetricsState] = {}
        self.totals: dict[str, MetricsState] = {}
        for one in self.all():
            self._add_to_total(one.app_version, one.state)

    def add(self, event_time: float, app_version: str, statistics: MetricsState, sign: int = 1) -> None:
        """Adds statistics to the window of a time, or subtracts them (`sign` -1), until `write`."""
        key = (event_time - event_time % self._window, app_version)
        self._changes.setdefault(key, MetricsState()).merge(statistics, sign)

    def write(self) -> None:
        """Writes the changes. The caller holds a transaction."""
        for key, change in self._changes.items():
            found = self._connection.execute(
                "SELECT statistics FROM sums WHERE start = ? AND app_version = ?", key
            ).fetchone()
            state = unpacked(found[0]) if found else MetricsState()
            state.merge(change)
            self._add_to_total(key[1], change)
            if state.conversations:
                self._connection.execute(
                    "INSERT OR REPLACE INTO sums VALUES (?, ?, ?)", (*key, packed(state))
                )
            else:
                self._connection.execute("DELETE FROM sums WHERE start = ? AND app_version = ?", key)
        self._changes = {}

    def _add_to_total(self, app_version: str, change: MetricsState) -> None:
        total = self.totals.setdefault(app_version, MetricsState())
        total.merge(change)
        if not total.conversations:
            del self.totals[app_version]

    def all(self) -> list[WindowSum]:
        """Returns the stored sums."""
        rows = self._connection.execute("SELECT start, app_version, statistics FROM sums")
        return [WindowSum(start, version, unpacked(statistics)) for start, version, statistics in rows]


_READING = ("read", "parse")


def stream_counts(counts: Mapping[str, int]) -> RunCounts:
    """Returns the stored counts under the names that every run reports."""
    number, named = Counter(counts), named_counts(counts)
    found: RunCounts = {
        "records": number["records"],
        "lost_records": number["lost_records"],
        "lost_conversations": number["lost_conversations"],
        "results": number["results"],
        "lost_cases": number["lost_cases"],
        "replaced": number["replaced"],
        "repeated": number["repeated"],
        "parsed_records": number["records"] - number["lost_records"],
        "conversations": number["results"] + number["lost_conversations"],
        "cases": None,
        "unused_cases": None,
        "failures": named["failures"],
        "failures_by_version": named["failures_by_version"],
        "findings": named["findings"],
    }
    if number[LEFT_BY_BUDGET]:
        found["left_by_budget"] = number[LEFT_BY_BUDGET]
    return found


def outcome_counts(outcome: RecordOutcome) -> Counter[str]:
    """Returns what a conversation adds to the counts: a result or a loss, its failures and findings."""
    found = _failure_counts(outcome.failures)
    found["results" if outcome.results else "lost_conversations"] += 1
    found.update(f"{GUESS}{guess}" for guess in outcome.guesses)
    found.update(dict(outcome.judged))
    return found


def loss_counts(outcome: RecordOutcome) -> Counter[str]:
    """Returns what a record without a conversation adds to the counts."""
    found = _failure_counts(outcome.failures)
    for row in outcome.failures:
        if row["stage"] not in (STAGE, "alert", "parse_case"):
            found["lost_records" if row["stage"] in _READING else "lost_conversations"] += 1
    return found


def _failure_counts(rows: Iterable[FailureRow]) -> Counter[str]:
    found: Counter[str] = Counter()
    for row in rows:
        found.update(failure_counters(row))
        if row["stage"] == "parse_case":
            found["lost_cases"] += 1
    return found
