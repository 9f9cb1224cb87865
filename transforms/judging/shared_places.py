"""Places that worker processes share: replies, and what was spent of the limits; a SQLite file as one."""

import sqlite3
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from itertools import chain
from math import inf
from operator import add, ge, sub
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple, TypeVar

from turnwise.schemas.config import ConfigError, JudgeConfig
from turnwise.schemas.jsonio import is_local

PATIENCE_S = 15.0
"""Seconds for which a broken connection is tried again before calls fail."""

ReplyRow = tuple[bytes, int, str, str, int, int]
"""A kept reply: question, number of the sample, text, model, tokens in, tokens out."""
REFUSED = -1
"""Number of what is kept in place of replies to a question that a provider refused for good: the reason."""


class PlaceError(Exception):
    """A place does not answer. The message is one line without a password."""


class Amounts(NamedTuple):
    """Calls, tokens and money, in the currency of the prices; of limits, `inf`: none."""

    calls: float = 0.0
    tokens: float = 0.0
    cost: float = 0.0

    def plus(self, other: "Amounts") -> "Amounts":
        """Returns the sum."""
        return Amounts(*map(add, self, other))

    def minus(self, other: "Amounts") -> "Amounts":
        """Returns the difference."""
        return Amounts(*map(sub, self, other))

    def covers(self, other: "Amounts") -> bool:
        """Returns whether nothing of `other` is more."""
        return all(map(ge, self, other))


NOTHING = Amounts()
NO_LIMITS = Amounts(inf, inf, inf)


_COUNTED = ("max_calls", "max_tokens")
BUDGET = (*_COUNTED, "max_cost")
"""Names of the limits of a budget, which several workers can count in one place."""


def stated_limits(config: JudgeConfig) -> dict[str, float]:
    """Returns the limits that a config states, by name."""
    stated = {name: getattr(config, name) for name in (*BUDGET, "requests_per_minute")}
    return {name: limit for name, limit in stated.items() if limit is not None}


def divided_limits(config: JudgeConfig, workers: int, shares_budget: bool) -> dict[str, float]:
    """Returns a worker's part of the limits, rounded down; of a shared budget only the rate."""
    return {
        name: limit // workers if name in _COUNTED else limit / workers
        for name, limit in stated_limits(config).items()
        if not shares_budget or name not in BUDGET
    }


_READ = """
SELECT question, sample, text, model, tokens_in, tokens_out FROM {prefix}replies WHERE question IN ({marks})
"""
_WRITE = """
INSERT INTO {prefix}replies (question, sample, text, model, tokens_in, tokens_out) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (question, sample) DO UPDATE SET (text, model, tokens_in, tokens_out) =
    (excluded.text, excluded.model, excluded.tokens_in, excluded.tokens_out){created}
"""
_OPEN = "INSERT INTO {prefix}budgets (run, calls, tokens, cost) VALUES (?, 0, 0, 0) ON CONFLICT DO NOTHING"
_SPEND = """
UPDATE {prefix}budgets SET calls = calls + ?, tokens = tokens + ?, cost = cost + ?{changed}
WHERE run = ? AND calls + ? <= ? AND tokens + ? <= ? AND cost + ? <= ?
"""
_SPENT = "SELECT calls, tokens, cost FROM {prefix}budgets WHERE run = ?"
_KINDS = (bytes, int, str, str, int, int)
T = TypeVar("T")


class ReplyPlace(ABC):
    """A database that processes share. Its methods may be called by several threads.

    Attributes:
        shown: Its address without a password.
        is_needed: Whether a question cannot be asked while the place does not answer.
        words: What its statements have in braces: before names of tables, and to note the time of a change.
        mark: How they mark a parameter.
    """

    shown: str
    is_needed = False
    words: Mapping[str, str] = {"prefix": "", "created": "", "changed": ""}
    mark = "?"

    @abstractmethod
    def _run(self, work: Callable[[Any], T], may_repeat: bool = True) -> T:
        """Returns what `work` does with the connection in a transaction; raises PlaceError.

        Without `may_repeat`, it is not done again where it may have been done.
        """

    @abstractmethod
    def close(self) -> None:
        """Closes the place."""

    def _encoded(self, text: str) -> Any:
        return text

    def _decoded(self, text: Any) -> Any:
        return text

    def _sql(self, statement: str, marks: int = 0) -> str:
        return statement.format(**self.words, marks=", ".join("?" * marks)).replace("?", self.mark)

    def read(self, questions: Sequence[bytes]) -> list[ReplyRow]:
        """Returns the replies to some questions, without damaged ones; raises PlaceError."""
        query = self._sql(_READ, len(questions))
        rows = self._run(lambda connection: connection.execute(query, questions).fetchall())
        decoded = ((*row[:2], self._decoded(row[2]), *row[3:]) for row in rows)
        return [row for row in decoded if tuple(map(type, row)) == _KINDS]

    def write(self, rows: Sequence[ReplyRow]) -> None:
        """Keeps replies, in place of those with the same question and number; raises PlaceError."""
        # In one order everywhere, so that workers do not wait for each other.
        encoded = [(*row[:2], self._encoded(row[2]), *row[3:]) for row in sorted(rows)]
        self._run(lambda connection: connection.cursor().executemany(self._sql(_WRITE), encoded))

    def spend(self, run: str, amounts: Amounts, limits: Amounts) -> bool:
        """Adds amounts to what all workers of a run have spent, if that keeps to the limits; returns whether.

        Raises PlaceError if the place does not answer; the amounts may have been added or not.
        """
        most = chain.from_iterable(zip(amounts, limits, strict=True))
        given, statement = (*map(float, amounts), run, *map(float, most)), self._sql(_SPEND)

        def in_transaction(connection: Any) -> bool:
            if connection.execute(statement, given).rowcount == 1:
                return True
            connection.execute(self._sql(_OPEN), (run,))
            return bool(connection.execute(statement, given).rowcount == 1)

        return self._run(in_transaction, may_repeat=False)

    def spent(self, run: str) -> Amounts:
        """Returns what all workers of a run have spent; raises PlaceError."""
        row = self._run(lambda connection: connection.execute(self._sql(_SPENT), (run,)).fetchone())
        return Amounts(*row) if row else NOTHING


_LAYOUT = 1
_BUSY_S = 30.0
_BUDGETS = """
CREATE TABLE IF NOT EXISTS budgets (
    run TEXT NOT NULL PRIMARY KEY, calls REAL NOT NULL, tokens REAL NOT NULL, cost REAL NOT NULL
) WITHOUT ROWID
"""
_TABLE = """
CREATE TABLE replies (
    question BLOB NOT NULL, sample INTEGER NOT NULL, text TEXT NOT NULL, model TEXT NOT NULL,
    tokens_in INTEGER NOT NULL, tokens_out INTEGER NOT NULL, PRIMARY KEY (question, sample)
) WITHOUT ROWID
"""


class SqlitePlace(ReplyPlace):
    """A SQLite file, which any number of processes may open. Without it, questions are asked anew.

    It must be on a local disk, because SQLite's write-ahead log does not work over a network.
    """

    def __init__(self, path: str):
        """Opens the file, or creates it with its parent directories; raises ConfigError if that fails."""
        self.shown = path
        self._lock = Lock()
        if not is_local(path):
            raise ConfigError(f"judge.cache: {path}: must be a file on this machine, or postgresql://...")
        try:
            file = Path(path).expanduser()
            file.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(file, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
            with ExitStack() as failing:
                self._connection = failing.enter_context(closing(connection))
                with connection:
                    connection.execute("BEGIN IMMEDIATE")
                    (layout,) = connection.execute("PRAGMA user_version").fetchone()
                    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
                    if layout != (_LAYOUT if tables else 0):
                        raise ConfigError(f"judge.cache: {path}: is no cache of this version of turnwise")
                    if not tables:
                        connection.execute(_TABLE)
                        connection.execute(f"PRAGMA user_version = {_LAYOUT}")
                    connection.execute(_BUDGETS)
                self._use_write_ahead_log()
                connection.execute("PRAGMA synchronous = NORMAL")
                failing.pop_all()  # it stays open
        except (OSError, sqlite3.Error, RuntimeError) as error:
            raise ConfigError(f"judge.cache: {path}: {error}") from None

    def _use_write_ahead_log(self) -> None:
        deadline = time.monotonic() + _BUSY_S
        while True:  # the change of mode does not wait for another process that is making it, as others do
            try:
                self._connection.execute("PRAGMA journal_mode = WAL").fetchone()
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    def close(self) -> None:
        """Closes the file."""
        self._connection.close()

    def _run(self, work: Callable[[Any], T], may_repeat: bool = True) -> T:
        try:
            with self._lock, self._connection as connection:
                connection.execute("BEGIN")  # its first statement takes the lock that it needs
                return work(connection)
        except (sqlite3.Error, ValueError) as error:
            raise PlaceError(f"judge.cache: {self.shown}: {error}") from None
