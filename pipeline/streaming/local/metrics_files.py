"""Writes the metrics files of a local stream, with the newest figures of each window."""

import json
from collections.abc import Callable, Container, Iterable, Sequence
from pathlib import Path
from threading import Lock
from typing import cast

from msgspec import Struct, field

from turnwise.pipeline.batch.build import aggregate_versions
from turnwise.pipeline.io.case_book import CaseBook
from turnwise.pipeline.io.run_writer import AGGREGATED, SINGLE_FILES
from turnwise.pipeline.io.sinks.base import StreamChange, document_content, table_content
from turnwise.pipeline.settings.options import DEFAULT_OUTPUT_FORMAT
from turnwise.pipeline.streaming.build import WindowSum, gone_window, window_change
from turnwise.pipeline.streaming.local.counts import InFlightRecords
from turnwise.pipeline.streaming.local.storage import StreamStorage
from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.rows import MetricsByAppVersionRow
from turnwise.schemas.run import StreamRules
from turnwise.transforms.beam.windows import WindowMetrics
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
        """Reads the existing rows; raises ConfigError if a file cannot be read.

        Rows of other windows or versions than those of the known sums are outdated and dropped.
        """
        self._directory, self._run_id, self._lock = directory, run_id, Lock()
        keys = [_window_key(entry) for entry in known]
        self._rows = {table: _grouped(_read(directory / f"{table}.jsonl"), keys) for table in SINGLE_FILES}
        # A window whose rows are gone has no state here: `complete` writes it anew.
        written = self._rows[BY_VERSION]
        self._states = {key: entry.state for key, entry in zip(keys, known, strict=True) if key in written}
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
            # Above all earlier revisions of the window, those of earlier processes included.
            earlier = [row["revision"] + 1 for row in self._rows[BY_VERSION].get(key, ())]
            revision = max([metrics.revision, *earlier])
            change = window_change(metrics._replace(revision=revision), self._run_id)
            for table in SINGLE_FILES:
                self._rows[table][key] = list(map(dict, change.rows[table]))
            self._states[key], self._changes[key] = metrics.state, change
            self._is_changed = True

    def missing(self, sums: Iterable[WindowSum]) -> int:
        """Returns how many of the stored conversations are not in the rows of their windows."""
        with self._lock:
            written = self._rows[BY_VERSION]
            pairs = ((entry.state.conversations, written.get(_window_key(entry))) for entry in sums)
            return sum(max(0, stored - (rows[0]["conversations"] if rows else 0)) for stored, rows in pairs)

    def last_windows(self, most: int) -> list[MetricsByAppVersionRow]:
        """Returns the rows by app version of the newest windows, the oldest of them first."""
        with self._lock:
            written = self._rows[BY_VERSION]
            shown = sorted({start for start, _ in written})[-most:]
            keys = sorted((key for key in written if key[0] in shown), key=lambda key: (key[0], key[1] or ""))
            return cast("list[MetricsByAppVersionRow]", [row for key in keys for row in written[key]])

    def complete(self, sums: Iterable[WindowSum], length: float) -> None:
        """Replaces the rows of windows that differ from the stored sums; `length` in seconds."""
        for start, version, state in sums:
            if self._states.get((rfc3339(start) or "", version or None)) != state:
                self.put(WindowMetrics(start, start + length, version, "LATE", 0, state))

    def write(self, totals: dict[str, MetricsState], changes: int) -> None:
        """Writes the files whose rows have changed; raises OSError.

        `totals` are the metrics of all stored conversations by app version, `changes` is their version.
        """
        with self._lock:
            if self._is_changed:
                self._is_changed = False
                if self.send is not None and self._changes:
                    self.send(list(self._changes.values()))
                self._changes = {}
                for table in SINGLE_FILES:
                    by_window = sorted(
                        self._rows[table].items(), key=lambda item: (item[0][0], item[0][1] or "")
                    )
                    rows = [row for _, rows in by_window for row in rows]
                    self._replace(f"{table}.jsonl", table_content([rows], table, DEFAULT_OUTPUT_FORMAT))
            if changes != self._aggregated:
                self._aggregated = changes
                versions = sorted(totals.items(), key=lambda entry: entry[0])
                self._replace(f"{AGGREGATED}.json", document_content(aggregate_versions(versions)))

    def _replace(self, name: str, content: bytes) -> None:
        partial = self._directory / f".{name}.partial"
        partial.write_bytes(content)
        partial.replace(self._directory / name)


def _window_key(entry: WindowSum) -> _WindowKey:
    return rfc3339(entry.start) or "", entry.app_version or None


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


class Runtime(Struct, frozen=True):
    """The storage, records in flight, metrics files and eval cases of a local stream.

    Attributes:
        alerts: The alerts that this process raised, as sentences.
    """

    store: StreamStorage
    in_flight: InFlightRecords
    metrics: MetricsFiles
    cases: CaseBook | None = None
    alerts: list[str] = field(default_factory=list)

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
