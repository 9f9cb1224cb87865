"""Keeps the outcomes of a local stream: rows and progress in one step, or none of both."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any

from pipeline.streaming.book import SourceBook
from pipeline.streaming.kept import KeptConversations, Known
from pipeline.streaming.ledger import Ledger, Place
from pipeline.streaming.segments import TABLES, SegmentId, Segments
from pipeline.streaming.tables import disk_errors, open_database
from schemas.rows import FailureRow
from transforms.findings import STAGE
from transforms.metrics import MetricsState
from transforms.streaming.outcome import Outcome

_READING = ("read", "parse")


class Store:
    """The directory of a stream.

    Rows are appended to `scores-*`, `results-*` and `failures-*`, and brought to the disk; then one
    transaction says how long these files are, which conversations they hold and which records are settled.
    A process that dies in between leaves rows that do not count and that the next one cuts off.

    Attributes:
        book: How far sources were read.
        conversations: What is kept of conversations.
        lock: Held by whoever looks at the counts or totals as a whole.
        counts: What was kept so far, over all processes.
        totals: App version ("": unknown) -> what all kept conversations add to the metrics.
    """

    def __init__(self, directory: Path) -> None:
        """Opens the directory's database and files; raises ValueError or OSError."""
        self.lock, self._directory = RLock(), directory
        self._connection = open_database(directory)
        rows = self._connection.execute('SELECT "table", number, length FROM segments')
        self._segments = Segments(directory, {SegmentId(t, n): length for t, n, length in rows})
        self.book = SourceBook(self._connection, self.lock)
        self.conversations = KeptConversations(self._connection)
        self.counts = Counter(dict(self._connection.execute("SELECT name, number FROM counts")))
        self.totals: dict[str, MetricsState] = {}
        self._problem: BaseException | None = None

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Commits what the body did; after a failure nothing is kept any more."""
        with self.lock, disk_errors():
            if self._problem is not None:
                raise self._problem
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._segments.sync()
                self._write_state()
                self._connection.execute("COMMIT")
            except BaseException as error:
                self._problem = error
                self._connection.rollback()
                raise

    def _write_state(self) -> None:
        lengths = [(*segment, length) for segment, length in self._segments.lengths.items()]
        self._connection.executemany("INSERT OR REPLACE INTO segments VALUES (?, ?, ?)", lengths)
        self._connection.executemany("INSERT OR REPLACE INTO counts VALUES (?, ?)", self.counts.items())

    def meta(self, name: str, value: str) -> str:
        """Returns what the first process of this directory stated under a name; it is `value` if none did."""
        with self.lock, disk_errors():
            self._connection.execute("INSERT OR IGNORE INTO meta VALUES (?, ?)", (name, value))
            found = self._connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return str(found[0])

    def commit(self, outcomes: Sequence[Outcome], ledger: Ledger) -> None:
        """Keeps outcomes, and tells the ledger when they are on the disk.

        An outcome that is kept already, or an older revision of one, is not kept twice.

        Raises:
            OSError: The files or the database cannot be written.
        """
        with self._transaction():
            for outcome in outcomes:
                self._keep(outcome)
            receipts = [receipt for outcome in outcomes for receipt in outcome.receipts]
            whole = ledger.completed(receipts)
            self.book.settle(whole)
            self.counts["records"] += sum(map(self._is_first, whole))
        ledger.release(whole)

    def _keep(self, outcome: Outcome) -> None:
        contribution = outcome.contribution
        if contribution is None:
            if outcome.failures and self._is_first_loss(outcome):
                self._count_failures(outcome.failures, lost=True)
                self._segments.append("failures", [dict(row) for row in outcome.failures])
            return
        known = self.conversations.known(contribution, outcome.results[0]["name"])
        if known is not None and not self.conversations.is_new(known, contribution):
            self.counts["repeated"] += 1
            return
        self.counts["replaced" if known else "results"] += 1
        written = contribution.revision
        if known is not None:
            written = max(written, known.written + 1)
            self._take_back(known, contribution.name)
        self.totals.setdefault(contribution.app_version, MetricsState()).merge(contribution.statistics)
        self._count_failures(outcome.failures)
        self.counts.update(f"guess {guess}" for guess in outcome.guesses)
        rows: Mapping[str, Sequence[Any]] = {
            "scores": [{**row, "revision": written} for row in outcome.scores],
            "results": [row["result"] for row in outcome.results],
            "failures": outcome.failures,
        }
        spans = [span for table in TABLES if (span := self._segments.append(table, rows[table]))]
        self.conversations.keep(outcome, contribution, written, spans)

    def _is_first(self, place: Place) -> bool:
        """Tells whether a record is settled for the first time; what the book keeps never comes again."""
        if self.book.keeps(place[0]):
            return True
        insert = "INSERT OR IGNORE INTO settled VALUES (?, ?)"
        return self._connection.execute(insert, place).rowcount > 0

    def _take_back(self, known: Known, name: str) -> None:
        if known.name != name:
            self.conversations.drop(known.name)
        total = self.totals[known.app_version]
        total.merge(known.statistics, -1)
        if not total.conversations:
            del self.totals[known.app_version]

    def _is_first_loss(self, outcome: Outcome) -> bool:
        """Tells whether a lost record is lost for the first time; sources may give a record again."""
        parts = [(r.source, r.position, r.part) for r in outcome.receipts]
        insert = "INSERT OR IGNORE INTO lost VALUES (?, ?, ?)"
        new = sum(self._connection.execute(insert, part).rowcount for part in parts)
        return new > 0 or not parts

    def _count_failures(self, failures: Iterable[FailureRow], lost: bool = False) -> None:
        for row in failures:
            if row["stage"] == STAGE:
                self.counts[f"finding {row['error_type']}"] += 1
                continue
            self.counts[f"failure {row['stage']}: {row['error_type']}"] += 1
            if row["conversation_id"] is not None:
                self.counts[f"version {row['app_version'] or ''}"] += 1
            if row["stage"] == "parse_case":
                self.counts["lost_cases"] += 1
            elif lost and row["stage"] != "alert":
                self.counts["lost_records" if row["stage"] in _READING else "lost_conversations"] += 1

    def compact(self) -> None:
        """Rewrites the files that hold rows of replaced conversations, without them."""
        with self._transaction():
            old = [self._compact(segment) for segment in self.conversations.segments_with_dead_rows()]
        for path in old:
            path.unlink(missing_ok=True)

    def _compact(self, segment: SegmentId) -> Path:
        new = self._segments.rewrite(segment, self.conversations.dead_spans(segment))
        self.conversations.move(segment, new)
        self._connection.execute('DELETE FROM segments WHERE "table" = ? AND number = ?', segment)
        return self._directory / segment.name

    def close(self) -> None:
        """Closes files and database."""
        with self.lock:
            self._segments.close()
            self._connection.close()
