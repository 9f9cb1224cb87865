"""Keeps replies and budgets in a SQLite file, for the processes of one machine."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Lock

from turnwise.transforms.judging.places.base import Amounts, PlaceError, ReplyRow, spending
from turnwise.transforms.judging.shared_places import open_cache_file

_KINDS = (bytes, int, str, str, int, int)
_SPEND = """
UPDATE budgets SET calls = calls + :calls, tokens = tokens + :tokens, cost = cost + :cost
WHERE run = :run AND calls + :calls <= :max_calls AND tokens + :tokens <= :max_tokens
    AND cost + :cost <= :max_cost
"""


class SqlitePlace:
    """A SQLite file. Without it, questions are asked anew."""

    is_needed = False

    def __init__(self, path: str):
        """Opens or creates the file.

        Raises:
            ConfigError: It cannot be used.
        """
        self.shown = path
        self._connection = open_cache_file(path)
        self._lock = Lock()

    def read(self, questions: Sequence[bytes]) -> list[ReplyRow]:
        """Returns the replies to some questions, without damaged rows; raises PlaceError."""
        marks = ",".join("?" * len(questions))
        with self._errors():
            rows = self._connection.execute(f"SELECT * FROM replies WHERE question IN ({marks})", questions)
            return [row for row in rows if tuple(map(type, row)) == _KINDS]

    def write(self, rows: Sequence[ReplyRow]) -> None:
        """Keeps replies; raises PlaceError."""
        with self._errors(), self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.executemany("INSERT OR REPLACE INTO replies VALUES (?, ?, ?, ?, ?, ?)", rows)

    def spend(self, run: str, amounts: Amounts, limits: Amounts) -> bool:
        """Adds amounts to what a run has spent, within the limits; raises PlaceError."""
        with self._errors(), self._connection as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("INSERT OR IGNORE INTO budgets VALUES (?, 0, 0, 0)", (run,))
            return connection.execute(_SPEND, spending(run, amounts, limits)).rowcount == 1

    def close(self) -> None:
        """Closes the file."""
        self._connection.close()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            with self._lock:
                yield
        except (sqlite3.Error, ValueError) as error:
            raise PlaceError(f"judge.cache: {self.shown}: {error}") from None
