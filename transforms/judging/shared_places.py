"""Opens the SQLite file of the reply cache."""

import sqlite3
import time
from pathlib import Path

from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import is_local

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


def open_cache_file(path: str) -> sqlite3.Connection:
    """Opens a cache, or creates it with its parent directories.

    The file must be on a local disk, because SQLite's write-ahead log does not work over a network. Any
    number of processes may open it. The connection may be used in another thread.

    Raises:
        ConfigError: The file cannot be used; one line.
    """
    if not is_local(path):
        raise ConfigError(f"judge.cache: {path}: must be a file on this machine, or postgresql://...")
    try:
        file = Path(path).expanduser()
        file.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(file, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
    except (OSError, sqlite3.Error, RuntimeError) as error:
        raise ConfigError(f"judge.cache: {path}: {error}") from None
    try:
        _prepare(connection, path)
    except sqlite3.Error as error:
        connection.close()
        raise ConfigError(f"judge.cache: {path}: {error}") from None
    except ConfigError:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection, path: str) -> None:
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
    _use_write_ahead_log(connection)
    connection.execute("PRAGMA synchronous = NORMAL")


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    deadline = time.monotonic() + _BUSY_S
    while True:  # the change of mode does not wait for another process that is making it, as other things do
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
