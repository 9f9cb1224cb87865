"""Stores the metrics of a stream's windows in its database."""

import sqlite3

from turnwise.pipeline.streaming.build import WindowSum
from turnwise.transforms.metrics.codec import packed, unpacked
from turnwise.transforms.metrics.state import MetricsState


class WindowSums:
    """Metrics by window and app version, written in the transaction of the outcomes."""

    def __init__(self, connection: sqlite3.Connection, window: float) -> None:
        self._connection, self._window = connection, window
        self._changes: dict[tuple[float, str], MetricsState] = {}

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
            if state.conversations:
                self._connection.execute(
                    "INSERT OR REPLACE INTO sums VALUES (?, ?, ?)", (*key, packed(state))
                )
            else:
                self._connection.execute("DELETE FROM sums WHERE start = ? AND app_version = ?", key)
        self._changes = {}

    def all(self) -> list[WindowSum]:
        """Returns the stored sums."""
        rows = self._connection.execute("SELECT start, app_version, statistics FROM sums")
        return [WindowSum(start, version, unpacked(statistics)) for start, version, statistics in rows]
