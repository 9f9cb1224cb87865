"""Streams as a person starts them, in a process of their own, and the parts that their files are made of."""

import os
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

import pytest

from tests import forked
from tests.tables import document_of, rows_of
from turnwise.pipeline.streaming.local.counts import InFlightRecords
from turnwise.pipeline.streaming.local.storage import StreamStorage
from turnwise.schemas.conversation import Arrival
from turnwise.schemas.run import RunInfo, StreamRules
from turnwise.transforms.beam.windows import RecordOutcome

ROOT = Path(__file__).parents[3]
PATIENCE = 240
RULES = StreamRules(session_gap=6.0, window=100.0, allowed_lateness=1000.0)


class Stream:
    """A stream's process, and what stands in its directory."""

    def __init__(self, output: Path, arguments: Sequence[str | Path], **process: Any) -> None:
        command = ["run", "--streaming", "--output", output, *arguments]
        given = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **process}
        self.directory = output
        self.process = forked.Process(command, ROOT, **given)
        self.out, self.err, self.status = "", "", -1

    @property
    def stdin(self) -> IO[str]:
        assert self.process.stdin is not None
        return self.process.stdin

    def signal(self, number: int = signal.SIGTERM) -> "Stream":
        self.process.send_signal(number)
        return self

    def finish(self) -> "Stream":
        """Waits for its end."""
        self.out, self.err = self.process.communicate(timeout=PATIENCE)
        self.status = self.process.wait()
        return self

    def kill(self) -> "Stream":
        return self.signal(signal.SIGKILL).finish()

    def until(self, is_so: Callable[[], Any]) -> "Stream":
        """Waits until something is so, as long as the process lives."""
        deadline = time.monotonic() + PATIENCE
        while not is_so():
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < deadline, f"it did not come to pass; {self.directory}"
            time.sleep(0.02)
        return self

    def until_rows(self, table: str, number: int) -> "Stream":
        """Waits until so many rows stand in a table."""
        return self.until(lambda: self.count(table) >= number)

    def count(self, table: str) -> int:
        return sum(path.read_bytes().count(b"\n") for path in self.directory.glob(f"{table}-*.jsonl"))

    def committed(self, what: str = "count(*)") -> int:
        """Returns how many conversations count; rows may stand there that do not yet, or not any more."""
        path = self.directory / "progress.sqlite"
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
            try:
                return connection.execute(f"SELECT {what} FROM conversations").fetchone()[0] or 0
            except sqlite3.OperationalError:
                return 0

    def rows(self, table: str) -> list[dict[str, Any]]:
        return rows_of(self.directory, table)

    def document(self, name: str) -> Any:
        return document_of(self.directory, name)

    def windows(self) -> dict[tuple[str, str | None], dict[str, Any]]:
        """Returns the rows of verdicts by window and app version."""
        rows = [r for r in self.rows("metrics_by_app_version") if r["criterion"] == "verdict"]
        found = {(row["window_start"], row["app_version"]): row for row in rows}
        assert len(found) == len(rows), "one row a window and version"
        return found


@pytest.fixture(scope="module")
def stream() -> Iterator[Callable[..., Stream]]:
    """Returns a function that starts a stream; what still runs at the end is killed."""
    started: list[Stream] = []

    def start(output: Path, *arguments: str | Path, **process: Any) -> Stream:
        started.append(Stream(output, arguments, **process))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait()


@pytest.fixture(scope="session")
def moment() -> Callable[[float], str]:
    """Returns a function that writes seconds since the epoch as RFC 3339."""
    return lambda seconds: datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


@pytest.fixture(scope="session")
def drop() -> Callable[[Path, str | bytes], None]:
    """Returns a function that lets a file appear whole."""

    def move(path: Path, text: str | bytes) -> None:
        partial = path.with_name(f".{path.name}.partial")
        partial.write_bytes(text.encode() if isinstance(text, str) else text)
        os.replace(partial, path)

    return move


class OpenedStorage:
    """A storage and its records in flight, in a directory that can be opened again."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(exist_ok=True)
        self.directory = directory
        self.settled: list[tuple[str, int]] = []
        self.open()

    def open(self) -> "OpenedStorage":
        self.in_flight = InFlightRecords(self.settled.extend)
        self.store = StreamStorage(self.directory, RULES)
        self.store.run = RunInfo(self.store.meta("run_id", "r"), "")
        self.store.checkpoints.done("logs")
        return self

    def reopen(self) -> "OpenedStorage":
        self.store.close()
        return self.open()

    def commit(self, *outcomes: RecordOutcome) -> None:
        for outcome in outcomes:
            for receipt in outcome.receipts:
                self.in_flight.add(Arrival(receipt.source, receipt.position, b"{}", 0.0))
        self.store.commit(outcomes, self.in_flight)

    def rows(self, table: str) -> list[dict[str, Any]]:
        return rows_of(self.directory, table)

    def live_scores(self) -> list[tuple[str, int]]:
        """Returns (conversation, revision) of the score rows, in order."""
        return sorted((row["conversation_id"], row["revision"]) for row in self.rows("scores"))

    def state(self) -> tuple[Any, ...]:
        """Returns all that is to be the same when it is opened again."""
        tables = ("conversations", "sessions", "digests", "spans", "sums", "forgotten")
        return (
            +self.store.counts,
            self.store.sums.totals,
            self.store.sums.all(),
            *(self.select(f"SELECT * FROM {table} ORDER BY 1, 2") for table in tables),
            self.rows("scores"),
        )

    def select(self, query: str) -> list[tuple[Any, ...]]:
        """Returns what stands in the database."""
        with closing(sqlite3.connect(self.directory / "progress.sqlite")) as connection:
            return list(connection.execute(query))


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[OpenedStorage]:
    one = OpenedStorage(tmp_path / "opened")
    yield one
    one.store.close()
