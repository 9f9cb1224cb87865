"""Places that worker processes share: replies, and what was spent of the limits; a SQLite file as one."""

import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from math import inf
from operator import add, ge, sub
from pathlib import Path
from threading import Lock
from typing import NamedTuple, Protocol

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


def spending(run: str, amounts: Amounts, limits: Amounts) -> dict[str, str | float]:
    """Returns the parameters of a statement that spends within limits, by name."""
    most = {f"max_{name}": limit for name, limit in limits._asdict().items()}
    return {"run": run, **amounts._asdict(), **most}


class ReplyPlace(Protocol):
    """A place that processes share. Its methods may be called by several threads.

    Attributes:
        shown: Its address without a password.
        is_needed: Whether a question cannot be asked while the place does not answer.
    """

    shown: str
    is_needed: bool

    def read(self, questions: Sequence[bytes]) -> Iterable[ReplyRow]:
        """Returns the replies to some questions; raises PlaceError."""

    def write(self, rows: Sequence[ReplyRow]) -> None:
        """Keeps replies, in place of those with the same question and number; raises PlaceError."""

    def spend(self, run: str, amounts: Amounts, limits: Amounts) -> bool:
        """Adds amounts to what all workers of a run have spent, if that keeps to the limits; returns whether.

        Raises PlaceError if the place does not answer; the amounts may have been added or not.
        """

    def spent(self, run: str) -> Amounts:
        """Returns what all workers of a run have spent; raises PlaceError."""

    def close(self) -> None:
        """Closes the place."""


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


_KINDS = (bytes, int, str, str, int, int)
_SPEND = """
UPDATE budgets SET calls = calls + :calls, tokens = tokens + :tokens, cost = cost + :cost
WHERE run = :run AND calls + :calls <= :max_calls AND tokens + :tokens <= :max_tokens
    AND cost + :cost <= :max_cost
"""
_SPENT = "SELECT calls, tokens, cost FROM budgets WHERE run = ?"


class SqlitePlace:
    """A SQLite file, which any number of processes may open. Without it, questions are asked anew.

    It must be on a local disk, because SQLite's write-ahead log does not work over a network.
    """

    is_needed = False

    def __init__(self, path: str):
        """Opens the file, or creates it with its parent directories; raises ConfigError if that fails."""
        self.shown = path
        self._lock = Lock()
        if not is_local(path):
            raise ConfigError(f"judge.cache: {path}: must be a file on this machine, or postgresql://...")
        try:
            file = Path(path).expanduser()
            file.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(
                file, timeout=_BUSY_S, isolation_level=None, check_same_thread=False
            )
            with ExitStack() as failing:
                connection = failing.enter_context(closing(self._connection))
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

    def spent(self, run: str) -> Amounts:
        """Returns what a run has spent; raises PlaceError."""
        with self._errors():
            row = self._connection.execute(_SPENT, (run,)).fetchone()
            return Amounts(*row) if row else NOTHING

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
