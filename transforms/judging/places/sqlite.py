"""Keeps replies and accounts in a SQLite file, for the processes of one machine."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from time import time

from turnwise.transforms.judging.places.base import Account, PlaceError, ReplyRow
from turnwise.transforms.judging.places.sqlite_file import open_cache_file

_KINDS = (bytes, int, str, str, int, int)
_CLAIM = """
INSERT INTO claims VALUES (?, ?, ?) ON CONFLICT (question) DO UPDATE
SET holder = excluded.holder, until = excluded.until WHERE until < ? OR holder = excluded.holder
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

    def claim(self, questions: Sequence[bytes], holder: str, seconds: float) -> set[bytes]:
        """Claims questions, or renews claims; returns those that no other holder has; raises PlaceError."""
        with self._errors(), self._connection as connection:
            connection.execute("BEGIN IMMEDIATE")
            now = time()
            rows = ((question, holder, now + seconds, now) for question in questions)
            return {row[0] for row in rows if connection.execute(_CLAIM, row).rowcount}

    def release(self, questions: Sequence[bytes], holder: str) -> None:
        """Ends claims of a holder; raises PlaceError."""
        with self._errors(), self._connection as connection:
            connection.execute("BEGIN IMMEDIATE")
            delete = "DELETE FROM claims WHERE question = ? AND holder = ?"
            connection.executemany(delete, [(question, holder) for question in questions])

    def change(self, run: str, work: Callable[[Account, float], Account]) -> None:
        """Replaces the account of a run; raises PlaceError."""
        with self._errors(), self._connection as connection:
            connection.execute("BEGIN IMMEDIATE")
            found = connection.execute(
                "SELECT calls, tokens, cost, next_slot FROM accounts WHERE run = ?", (run,)
            ).fetchone()
            account = work(Account(*found) if found else Account(), time())
            connection.execute("INSERT OR REPLACE INTO accounts VALUES (?, ?, ?, ?, ?)", (run, *account))

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
