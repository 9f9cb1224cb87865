"""Keeps replies and budgets in a PostgreSQL database, for the workers of a run. Loads psycopg."""

import logging
from collections.abc import Callable, Mapping
from threading import Lock
from time import monotonic, sleep
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import shown_url
from turnwise.transforms.judging.shared_places import PlaceError, ReplyPlace, T

# psycopg also warns of a connection that broke; what was lost is told once, by its error.
logging.getLogger("psycopg").setLevel(logging.ERROR)

_PAUSE_S = 0.2
_DOWN_S = 5.0
_LOCK = 7_210_436_120
_SESSION = "SET lock_timeout = '10s'; SET idle_in_transaction_session_timeout = '10s'"
_TABLES = """
CREATE TABLE IF NOT EXISTS judge_replies (
    question BYTEA NOT NULL, sample INTEGER NOT NULL, text BYTEA NOT NULL, model TEXT NOT NULL,
    tokens_in BIGINT NOT NULL, tokens_out BIGINT NOT NULL, created TIMESTAMPTZ NOT NULL DEFAULT now(),
    PRIMARY KEY (question, sample)
);
CREATE TABLE IF NOT EXISTS judge_budgets (
    run TEXT NOT NULL PRIMARY KEY, calls FLOAT8 NOT NULL DEFAULT 0, tokens FLOAT8 NOT NULL DEFAULT 0,
    cost FLOAT8 NOT NULL DEFAULT 0, changed TIMESTAMPTZ NOT NULL DEFAULT now()
)
"""
_ARE_THERE = """
SELECT bool_and(to_regclass(name) IS NOT NULL)
FROM unnest(ARRAY['judge_replies', 'judge_budgets']) AS name
"""
_Connection = psycopg.Connection[tuple[Any, ...]]


class PostgresPlace(ReplyPlace):
    """A PostgreSQL database, over one connection. Without it, no question is asked.

    A connection that breaks is made again for some seconds. Afterwards every use fails at once, and
    one in `_DOWN_S` seconds tries again.
    """

    is_needed = True
    words: Mapping[str, str] = {
        "prefix": "judge_",
        "created": ", created = now()",
        "changed": ", changed = now()",
    }
    mark = "%s"

    def __init__(self, url: str, patience_s: float):
        """Connects, and makes the tables where they are missing; raises ConfigError if that fails."""
        self.shown = shown_url(url)
        self._url = f"postgresql:{url.partition(':')[2]}"
        self._patience_s = patience_s
        self._lock = Lock()
        self._connection: _Connection | None = None
        self._down: tuple[float, str] | None = None
        self._secret = ""
        try:
            self._secret = str(conninfo_to_dict(self._url).get("password") or "")
            self._run(_make_tables)
        except psycopg.Error as error:
            raise ConfigError(f"judge.cache: {self.shown}: {self._line(error)}") from None
        except PlaceError as error:
            self.close()
            if self._down is None or not patience_s:
                raise ConfigError(str(error)) from None

    def __repr__(self) -> str:
        return f"PostgresPlace({self.shown})"

    def close(self) -> None:
        """Closes the connection."""
        with self._lock:
            self._drop()

    def _run(self, work: Callable[[_Connection], T], may_repeat: bool = True) -> T:
        """Where the connection breaks at its commit, work may have been done: see ReplyPlace."""
        with self._lock:
            if self._down and monotonic() < self._down[0]:
                raise PlaceError(self._down[1])
            deadline = monotonic() + (0.0 if self._down else self._patience_s)
            while True:
                is_final = False
                try:
                    connection = self._connected()
                    result = work(connection)
                    is_final = not may_repeat
                    connection.commit()
                    self._down = None
                    return result
                except psycopg.Error as error:
                    self._drop()
                    may_pass = isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
                    if is_final or not may_pass or monotonic() > deadline:
                        reason = f"judge.cache: {self.shown}: {self._line(error)}"
                        self._down = (monotonic() + _DOWN_S, reason) if may_pass else None
                        raise PlaceError(reason) from None
                sleep(_PAUSE_S)

    def _connected(self) -> _Connection:
        if self._connection is None:
            connection = psycopg.connect(
                self._url,
                connect_timeout=5,
                keepalives_idle=10,
                keepalives_interval=5,
                keepalives_count=2,
                tcp_user_timeout=20_000,
                prepare_threshold=None,
            )
            connection.execute(_SESSION)
            connection.commit()
            self._connection = connection
        return self._connection

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _encoded(self, text: str) -> bytes:
        return text.encode("utf-8", "surrogatepass")

    def _decoded(self, text: bytes) -> str | None:
        try:
            return text.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return None

    def _line(self, error: psycopg.Error) -> str:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        return lines[0].replace(self._secret, "***") if self._secret else lines[0]


def _make_tables(connection: _Connection) -> None:
    (are_there,) = connection.execute(_ARE_THERE).fetchone() or (False,)
    if not are_there:
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        connection.execute(_TABLES)
    connection.execute("DELETE FROM judge_budgets WHERE changed < now() - INTERVAL '90 days'")
