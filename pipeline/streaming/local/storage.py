"""Stores the outcomes of a local stream: rows and progress in one transaction, and its metrics files."""

import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock, RLock
from time import time
from typing import Any, cast

from msgspec import Struct, field, structs

from turnwise.pipeline.batch.build import aggregate_versions
from turnwise.pipeline.io.case_book import CaseBook
from turnwise.pipeline.io.run_writer import AGGREGATED, BY_VERSION, SINGLE_FILES
from turnwise.pipeline.io.sinks import ChangeWriter, StreamChange, document_content, table_content
from turnwise.pipeline.report.run_counts import FINDING
from turnwise.pipeline.settings.options import DEFAULT_OUTPUT_FORMAT
from turnwise.pipeline.streaming import alerts
from turnwise.pipeline.streaming.inputs.base import SettledPositions
from turnwise.pipeline.streaming.local import database
from turnwise.pipeline.streaming.local.conversations import ConversationStore, StoredConversation, key_of
from turnwise.pipeline.streaming.local.counts import InFlightRecords, Place, WindowSums, outcome_counts
from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import JsonObject, grouped
from turnwise.schemas.rows import MetricsByAppVersionRow
from turnwise.schemas.run import RunInfo, StreamRules
from turnwise.transforms.beam import windows
from turnwise.transforms.metrics.state import MetricsState, unpacked
from turnwise.transforms.scoring.selection import STAGE
from turnwise.transforms.text.dates import rfc3339

_REPLACED = "ReplacedRecord"
"""Type of the finding of a conversation that replaced the result of another record."""
_PRUNED_EVERY = 2_000
_NOW = "watermark"
_SHOWN = 10


class StreamStorage:
    """The directory of a stream.

    Rows are appended to the files of their tables and synced. Then one transaction stores the
    lengths of these files, their conversations and the settled records. If a process ends in between, the
    next one cuts off the uncommitted rows.

    Attributes:
        run: The run of the rows; set it before outcomes come.
        now: The stream's time, seconds since the epoch.
        lock: Hold it to read counts or totals as a whole.
        counts: Counts over all processes.
        service: What takes the rows as well, before they are committed; None: nothing does.
    """

    def __init__(self, directory: Path, rules: StreamRules) -> None:
        self.run = RunInfo("", "")
        self.service: ChangeWriter | None = None
        self._changes: list[StreamChange] = []
        self.lock, self._directory = RLock(), directory
        self._connection = database.open_database(directory)
        committed = self._committed()
        run_id = self._connection.execute("SELECT value FROM meta WHERE name = 'run_id'").fetchone()
        try:
            database.check_rows(directory, committed, run_id and run_id[0])
        except ValueError:
            self._connection.close()
            raise
        lengths = {segment: length for segment, (length, _) in committed.items()}
        self._segments = database.Segments(directory, lengths)
        self.checkpoints = SourceCheckpoints(self._connection, self.lock)
        self.conversations = ConversationStore(self._connection, self.lock)
        self._rules, self._pruned_at = rules, 0
        self.now = float(self.meta(_NOW, "0"))
        self.sums = WindowSums(self._connection, rules.window)
        self.counts = Counter(dict(self._connection.execute("SELECT name, number FROM counts")))
        self._problem: BaseException | None = None

    def _committed(self) -> dict[database.SegmentId, database.Committed]:
        rows = self._connection.execute('SELECT "table", number, length, tail FROM segments')
        return {database.SegmentId(t, n): (length, tail) for t, n, length, tail in rows}

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Commits the changes of the body. After an error, no later transaction is accepted."""
        with self.lock, database.disk_errors(self._connection):
            if self._problem is not None:
                raise self._problem
            execute, write = self._connection.execute, self._connection.executemany
            execute("BEGIN IMMEDIATE")
            try:
                yield
                changes, self._changes = self._changes, []
                if self.service is not None and changes:
                    refused = grouped((row.change_id, row.why) for row in self.service.write(changes))
                    things = {change.thing: refused.get(change.change_id) for change in changes}
                    write("DELETE FROM refused WHERE thing = ?", [(thing,) for thing in things])
                    entries = [(thing, len(why), why[0]) for thing, why in things.items() if why]
                    write("INSERT INTO refused VALUES (?, ?, ?)", entries)
                segments = self._segments
                segments.sync()
                self.sums.write()
                execute("UPDATE meta SET value = ? WHERE name = ?", (repr(self.now), _NOW))
                rows = [(*name, length, segments.tail(name)) for name, length in segments.lengths.items()]
                write("INSERT OR REPLACE INTO segments VALUES (?, ?, ?, ?)", rows)
                write("INSERT OR REPLACE INTO counts VALUES (?, ?)", self.counts.items())
                execute("COMMIT")
            except BaseException as error:
                self._problem = error
                self._connection.rollback()
                raise

    def send(self, changes: Sequence[StreamChange]) -> None:
        """Writes changes to the service; raises OSError if that fails."""
        with self._transaction():
            self._changes += changes

    def refused_rows(self) -> list[str]:
        """Returns what of the present rows the service did not take, in all processes; one line each."""
        with self.lock:
            refused = list(self._connection.execute("SELECT rows, why FROM refused ORDER BY rowid"))
        more = sum(number for number, _ in refused) - len(refused[:_SHOWN])
        lines = [why for _, why in refused[:_SHOWN]]
        return [*lines, f"{more} more rows were not written into the --store"] if more else lines

    def meta(self, name: str, value: str) -> str:
        """Returns the stored value of a name; stores `value` if there is none."""
        with self.lock, database.disk_errors(self._connection):
            self._connection.execute("INSERT OR IGNORE INTO meta VALUES (?, ?)", (name, value))
            row = self._connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return str(row[0])

    def commit(
        self, outcomes: Sequence[windows.RecordOutcome], in_flight: InFlightRecords
    ) -> list[windows.SumsChange]:
        """Stores outcomes and releases their records once they are on disk; raises OSError.

        An outcome that is stored already, or an older revision, is ignored. Returns what the others change.
        """
        with self._transaction():
            for outcome in outcomes:
                self._store(outcome)
            whole = in_flight.complete([receipt for outcome in outcomes for receipt in outcome.receipts])
            self.checkpoints.settle(whole)
            # Tracked sources never repeat a record.
            others = [(*key, time()) for key in whole if key[0] not in self.checkpoints.tracked]
            self.counts["records"] += len(whole) - len(others) + self._new("settled VALUES (?, ?, ?)", others)
            if self.conversations.changes - self._pruned_at >= _PRUNED_EVERY:
                self._pruned_at = self.conversations.changes
                database.prune(self._connection, self._rules, self.now, time())
            changes = self.sums.changes
        in_flight.release(whole)
        return changes

    def _store(self, outcome: windows.RecordOutcome) -> None:
        contribution = outcome.contribution
        if contribution is None:
            if outcome.failures:
                self._store_rejected(outcome)
            return
        result = outcome.results[0]["name"] if outcome.results else None
        known = self.conversations.known(contribution.name, result)
        if known is None and (pruned := self.conversations.forgotten(contribution.name, result)) is not None:
            if pruned == contribution.digest:
                self.counts["repeated"] += 1
                return
            what = "the conversation came again, changed, after it was forgotten (see --allowed_lateness)"
            late = windows.failure_of(outcome, "assemble", "LateEventError", what)
            self._store_rejected(windows.failed_outcome(late, self.run))
            return
        if known is not None and not self.conversations.is_new(known, contribution):
            self.counts["repeated"] += 1
            return
        written = contribution.revision
        if known is not None:
            written = max(written, known.written + 1)
            # It came from another record, or from events in place of one.
            is_other = known.key != key_of(contribution.name) or known.counted[f"{FINDING}{_REPLACED}"]
            if is_other or (outcome.joined is None and contribution.revision == known.revision):
                what = "replaced the result of an earlier record with the same conversation id and eval case"
                finding = windows.failure_of(outcome, STAGE, _REPLACED, what)
                rows_of_finding = windows.rows_of_failures([finding], self.run)
                outcome = outcome._replace(failures=[*outcome.failures, *rows_of_finding])
            self._retract(known, contribution.name, written)
            if known.key == key_of(contribution.name):
                contribution = contribution._replace(event_time=known.event_time)
        counts = outcome_counts(outcome)
        self.counts.update(counts)
        if contribution.statistics.conversations:
            added = contribution.event_time, contribution.app_version, contribution.statistics
            self.sums.changes.append(windows.SumsChange(1, *added))
        rows = _rows(outcome, written)
        if self.service is not None:
            self._changes.append(alerts.conversation_change(contribution, self.run.run_id, written, rows))
        spans = [span for table in database.TABLES if (span := self._segments.append(table, rows[table]))]
        self.conversations.put(contribution, result, written, counts, spans, self.now)
        if outcome.joined is not None:
            self.conversations.put_session(outcome.joined, is_rejected=result is None)

    def _store_rejected(self, rejected: windows.RecordOutcome) -> None:
        """Stores what is rejected for the first time; a source may return its records again."""
        parts = [(r.source, r.position, r.part | r.piece << 32, time()) for r in rejected.receipts]
        if not parts or self._new("rejected VALUES (?, ?, ?, ?)", parts):
            self.counts.update(outcome_counts(rejected))
            self._segments.append("failures", [dict(row) for row in rejected.failures])
            if self.service is not None and (change := alerts.outcome_change(rejected, self.run.run_id)):
                self._changes.append(change)

    def _retract(self, known: StoredConversation, name: str, written: int) -> None:
        """Removes a replaced conversation, and subtracts what it added to counts and sums."""
        self.counts.subtract(known.counted)
        self.counts["replaced"] += known.counted["results"]
        self.conversations.drop(known)
        if known.key != key_of(name) and self.service is not None:
            thing = alerts.conversation_thing(known.key)
            self._changes.append(StreamChange(self.run.run_id, thing, written, None, {}))
        statistics = unpacked(known.packed)
        if statistics.conversations:
            self.sums.changes.append(windows.SumsChange(-1, known.event_time, known.app_version, statistics))

    def _new(self, values: str, rows: Sequence[tuple[object, ...]]) -> int:
        """Returns how many rows a table did not have and has now."""
        return max(0, self._connection.executemany(f"INSERT OR IGNORE INTO {values}", rows).rowcount)

    def compact(self) -> None:
        """Rewrites files without the rows of replaced conversations, and prunes the database."""
        with self._transaction():
            database.prune(self._connection, self._rules, self.now, time())
            old = self.conversations.dead_rows()
            for segment, dead in old.items():
                self.conversations.move(segment, self._segments.rewrite(segment, dead), dead)
                self._connection.execute('DELETE FROM segments WHERE "table" = ? AND number = ?', segment)
        for segment in old:
            (self._directory / segment.name).unlink(missing_ok=True)

    def close(self) -> None:
        """Closes files and database; frees the rows of a transaction that failed, as on a full disk."""
        with self.lock:
            if self._problem is None:
                self._segments.close()
            else:
                with suppress(sqlite3.Error):
                    self._segments.cut(self._committed())
            self._connection.close()


def _rows(outcome: windows.RecordOutcome, revision: int) -> Mapping[str, Sequence[Any]]:
    """Returns the rows of an outcome by table, with the revision under which they are written."""
    scores: Sequence[Any] = outcome.scores
    conversations = outcome.conversations
    if outcome.contribution is None or outcome.contribution.revision != revision:
        scores = [structs.replace(row, revision=revision) for row in scores]
        conversations = [{**row, "revision": revision} for row in conversations]
    results = [row["result"] for row in outcome.results]
    return dict(zip(database.TABLES, (scores, results, conversations, outcome.failures), strict=True))


_UPSERT = (
    "INSERT INTO sources (source, {0}) VALUES (?, ?) ON CONFLICT (source) DO UPDATE SET {0} = excluded.{0}"
)


class SourceCheckpoints:
    """The progress of `tracked` sources, which can be read again, written with the outcomes."""

    def __init__(self, connection: sqlite3.Connection, lock: RLock) -> None:
        self._connection, self._lock = connection, lock
        sources = connection.execute("SELECT source, through, note FROM sources").fetchall()
        self._through: dict[str, int] = {source: through for source, through, _ in sources}
        self._notes: dict[str, str] = {source: note for source, _, note in sources if note is not None}
        self._beyond: defaultdict[str, set[int]] = defaultdict(set)
        self.tracked: set[str] = set()
        self._empty: defaultdict[str, set[int]] = defaultdict(set)
        for source, position in connection.execute("SELECT source, position FROM beyond"):
            self._beyond[source].add(position)

    def done(self, source: str) -> SettledPositions:
        """Returns the positions that earlier processes settled, and tracks the source from now on."""
        with self._lock:
            self.tracked.add(source)
            return SettledPositions(self._through.get(source, 0), frozenset(self._beyond[source]))

    def skip(self, source: str, positions: Iterable[int]) -> None:
        """Settles positions without a record, such as blank lines; written with the next settled ones."""
        with self._lock:
            self._empty[source].update(positions)

    def note(self, source: str) -> str | None:
        """Returns the note of a source (or of another key); None if there is none."""
        return self._notes.get(source)

    def set_note(self, source: str, note: str) -> None:
        """Stores a note under a source (or another key), as of the identity of its file; raises OSError."""
        with self._lock, database.disk_errors(self._connection):
            self._notes[source] = note
            self._connection.execute(_UPSERT.format("note"), (source, note))

    def settle(self, places: Iterable[Place]) -> None:
        """Writes settled places. The caller holds a transaction."""
        by_source, self._empty = self._empty, defaultdict(set)
        for source, position in places:
            if source in self.tracked:
                by_source[source].add(position)
        write = self._connection.executemany
        for source, positions in by_source.items():
            # `through` advances up to the first gap; the positions beyond it are stored one by one.
            through, beyond = self._through.get(source, 0), self._beyond[source]
            before = set(beyond)
            beyond |= {position for position in positions if position > through}
            while through + 1 in beyond:
                through += 1
                beyond.discard(through)
            self._through[source] = through
            self._connection.execute(_UPSERT.format("through"), (source, through))
            gone, new = ([(source, p) for p in part] for part in (before - beyond, beyond - before))
            write("DELETE FROM beyond WHERE source = ? AND position = ?", gone)
            write("INSERT OR IGNORE INTO beyond VALUES (?, ?)", new)


_WindowKey = tuple[str, str]
"""Start in RFC 3339 and app version ("": unknown)."""


class MetricsFiles:
    """The rows of all windows; the files are always written as a whole, after `send` wrote to a service."""

    def __init__(self, directory: Path, run_id: str, known: Sequence[windows.SumsChange]) -> None:
        """Reads the rows, without those of windows not known; raises ConfigError for what cannot be read."""
        self._directory, self._run_id, self._lock = directory, run_id, Lock()
        states = {_window_key(entry.event_time, entry.app_version): entry.statistics for entry in known}
        self._rows: dict[str, dict[_WindowKey, list[JsonObject]]] = {table: {} for table in SINGLE_FILES}
        self._changes: dict[_WindowKey, StreamChange] = {}
        for table, of_table in self._rows.items():
            path = directory / f"{table}.jsonl"
            try:
                rows = list(map(json.loads, path.read_bytes().splitlines())) if path.exists() else []
                keys = [(row["window_start"], row["app_version"] or "", row["revision"]) for row in rows]
            except (ValueError, KeyError, TypeError) as error:
                what = f"is damaged: {error}; remove it: its figures are computed anew"
                raise ConfigError(f"{path}: {what}") from None
            for (start, version, revision), row in zip(keys, rows, strict=True):
                if (start, version) in states:
                    of_table.setdefault((start, version), []).append(row)
                elif table == BY_VERSION:
                    thing = alerts.window_thing(start, version)
                    self._changes[start, version] = StreamChange(run_id, thing, revision + 1, None, {})
        # A window whose rows are gone has no state here: `complete` writes it anew.
        self._states = {key: state for key, state in states.items() if key in self._rows[BY_VERSION]}
        self.send: Callable[[Sequence[StreamChange]], None] | None = None
        self._is_changed, self._aggregated = True, -1

    def put(self, metrics: windows.WindowMetrics) -> None:
        """Replaces the rows of a window and app version."""
        with self._lock:
            key = _window_key(metrics.window_start, metrics.app_version)
            # Above all earlier revisions of the window, those of earlier processes included.
            earlier = [row["revision"] + 1 for row in self._rows[BY_VERSION].get(key, ())]
            revision = max([metrics.revision, *earlier])
            change = alerts.window_change(metrics._replace(revision=revision), self._run_id)
            for table in SINGLE_FILES:
                self._rows[table][key] = list(map(dict, change.rows[table]))
            self._states[key], self._changes[key] = metrics.state, change
            self._is_changed = True

    def last_windows(self, most: int) -> list[MetricsByAppVersionRow]:
        """Returns the rows by app version of the newest windows, the oldest of them first."""
        with self._lock:
            written = self._rows[BY_VERSION]
            shown = sorted({start for start, _ in written})[-most:]
            newest = [row for key in sorted(written) if key[0] in shown for row in written[key]]
            return cast("list[MetricsByAppVersionRow]", newest)

    def complete(self, sums: Iterable[windows.SumsChange], length: float) -> int:
        """Replaces the rows of windows of `length` seconds that differ from the stored sums.

        Returns how many of the stored conversations were not in them: those that came too late.
        """
        late = 0
        for _, start, version, state in sums:
            key = _window_key(start, version)
            rows = self._rows[BY_VERSION].get(key)
            late += max(0, state.conversations - (rows[0]["conversations"] if rows else 0))
            if self._states.get(key) != state:
                self.put(windows.WindowMetrics(start, start + length, version, "LATE", 0, state))
        return late

    def write(self, totals: dict[str, MetricsState], changes: int) -> None:
        """Writes the files that changed; `totals`: metrics by app version, `changes`: their number."""
        with self._lock:
            if self._is_changed:
                self._is_changed = False
                if self.send is not None and self._changes:
                    self.send(list(self._changes.values()))
                self._changes = {}
                for table in SINGLE_FILES:
                    rows = [row for _, rows in sorted(self._rows[table].items()) for row in rows]
                    self._replace(f"{table}.jsonl", table_content([rows], table, DEFAULT_OUTPUT_FORMAT))
            if changes != self._aggregated:
                self._aggregated = changes
                aggregated = aggregate_versions(sorted(totals.items()))
                self._replace(f"{AGGREGATED}.json", document_content(aggregated))

    def _replace(self, name: str, content: bytes) -> None:
        partial = self._directory / f".{name}.partial"
        partial.write_bytes(content)
        partial.replace(self._directory / name)


def _window_key(start: float, app_version: str) -> _WindowKey:
    return rfc3339(start) or "", app_version


class Runtime(Struct, frozen=True):
    """The storage, records in flight, metrics files, eval cases and alerts (sentences) of a local stream."""

    store: StreamStorage
    in_flight: InFlightRecords
    metrics: MetricsFiles
    cases: CaseBook | None = None
    alerts: list[str] = field(default_factory=list)

    def write_metrics(self) -> None:
        """Writes the metrics files if something changed; raises OSError."""
        with self.store.lock:
            self.metrics.write(self.store.sums.totals, self.store.conversations.changes)
