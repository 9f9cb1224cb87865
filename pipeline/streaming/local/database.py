"""Opens and prunes `progress.sqlite`, the database of a stream's progress."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from turnwise.pipeline.io.directory import PROGRESS_FILE
from turnwise.transforms.streaming.durations import StreamRules
from turnwise.transforms.streaming.session_state import FORGOTTEN_SECONDS

FORMAT = "2"
_META = "CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS segments (
    "table" TEXT, number INTEGER, length INTEGER NOT NULL, PRIMARY KEY ("table", number));
CREATE TABLE IF NOT EXISTS conversations (
    key INTEGER NOT NULL UNIQUE, result INTEGER, revision INTEGER NOT NULL, written INTEGER NOT NULL,
    digest BLOB NOT NULL, event_time REAL NOT NULL, app_version TEXT NOT NULL, statistics BLOB NOT NULL,
    counts TEXT NOT NULL, changed INTEGER NOT NULL, kept_at REAL NOT NULL);
CREATE INDEX IF NOT EXISTS by_result ON conversations (result);
CREATE INDEX IF NOT EXISTS by_change ON conversations (changed);
CREATE INDEX IF NOT EXISTS by_age ON conversations (kept_at);
CREATE TABLE IF NOT EXISTS digests (key INTEGER, digest BLOB, PRIMARY KEY (key, digest)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS forgotten (key INTEGER PRIMARY KEY, digest BLOB NOT NULL, at REAL NOT NULL);
CREATE INDEX IF NOT EXISTS by_forgetting ON forgotten (at);
CREATE TABLE IF NOT EXISTS sums (
    start REAL, app_version TEXT, statistics BLOB NOT NULL, PRIMARY KEY (start, app_version)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS settled (
    source TEXT, position INTEGER, at REAL NOT NULL, PRIMARY KEY (source, position)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS spans (
    key INTEGER NOT NULL, "table" TEXT, number INTEGER NOT NULL, start INTEGER NOT NULL,
    length INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS by_key ON spans (key);
CREATE TABLE IF NOT EXISTS dead (
    "table" TEXT, number INTEGER, start INTEGER, length INTEGER NOT NULL,
    PRIMARY KEY ("table", number, start)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS sessions (
    key INTEGER PRIMARY KEY, revision INTEGER NOT NULL, closed_at REAL NOT NULL, events BLOB NOT NULL,
    places BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS by_closing ON sessions (closed_at);
CREATE TABLE IF NOT EXISTS groups (
    key INTEGER, session INTEGER, at REAL NOT NULL, PRIMARY KEY (key, session)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS sources (
    source TEXT PRIMARY KEY, through INTEGER NOT NULL DEFAULT 0, note TEXT);
CREATE TABLE IF NOT EXISTS beyond (source TEXT, position INTEGER, PRIMARY KEY (source, position));
CREATE TABLE IF NOT EXISTS lost (
    source TEXT, position INTEGER, part INTEGER, at REAL NOT NULL, PRIMARY KEY (source, position, part)
    ) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS counts (name TEXT PRIMARY KEY, number INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS refused (thing TEXT PRIMARY KEY, rows INTEGER NOT NULL, why TEXT NOT NULL);
"""


@contextmanager
def disk_errors() -> Iterator[None]:
    """Converts errors of the database.

    Raises:
        OSError: One line that begins with the name of the file.
    """
    try:
        yield
    except sqlite3.Error as error:
        raise OSError(f"{PROGRESS_FILE}: {error}") from error


def open_database(directory: Path) -> sqlite3.Connection:
    """Opens the database and creates it if it does not exist. Every commit is synced to disk.

    Raises:
        ValueError: It has another format, or is no database.
        OSError: It cannot be opened or written.
    """
    with disk_errors():
        connection = sqlite3.connect(directory / PROGRESS_FILE, check_same_thread=False, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(_META)
        connection.execute("INSERT OR IGNORE INTO meta VALUES ('format', ?)", (FORMAT,))
        found = connection.execute("SELECT value FROM meta WHERE name = 'format'").fetchone()[0]
        if found == FORMAT:
            connection.executescript(_SCHEMA)
    except sqlite3.OperationalError as error:
        connection.close()
        raise OSError(f"{PROGRESS_FILE}: {error}") from None
    except sqlite3.DatabaseError as error:
        connection.close()
        raise ValueError(f"{PROGRESS_FILE}: {error}") from None
    if found != FORMAT:
        connection.close()
        raise ValueError(
            f"{PROGRESS_FILE}: it is of another version of turnwise (format {found}, not {FORMAT}); continue "
            "with that version, or start again with --overwrite or another --output"
        )
    return connection


def open_reader(directory: Path) -> sqlite3.Connection:
    """Opens the database read-only, beside the writing connection; raises OSError."""
    uri = f"{(directory / PROGRESS_FILE).absolute().as_uri()}?mode=ro"
    with disk_errors():
        return sqlite3.connect(uri, uri=True, check_same_thread=False, isolation_level=None)


def prune(connection: sqlite3.Connection, rules: StreamRules, now: float, clock: float) -> bool:
    """Deletes what can no longer change. The caller holds a transaction.

    The key and digest of a pruned conversation stay for `FORGOTTEN_SECONDS`, so that it is recognised if it
    arrives again; the sums of its window stay. Positions of sources without consecutive numbers stay for the
    allowed lateness, by the wall clock.

    Args:
        connection: The database.
        rules: Rules with the allowed lateness.
        now: The stream's time, seconds since the epoch.
        clock: The present time, seconds since the epoch.

    Returns:
        Whether conversations were deleted.
    """
    _forget_sessions(connection, now - rules.allowed_lateness)
    forgotten = _forget_conversations(connection, now - rules.window - rules.window_lateness)
    for table in ("settled", "lost"):
        connection.execute(
            f"DELETE FROM {table} WHERE at <= ?", (clock - rules.window - rules.window_lateness,)
        )
    return forgotten > 0


def _forget_sessions(connection: sqlite3.Connection, horizon: float) -> None:
    old = "FROM sessions WHERE closed_at <= ?"
    connection.execute(f"INSERT OR REPLACE INTO forgotten SELECT key, x'', closed_at {old}", (horizon,))
    connection.execute(f"DELETE {old}", (horizon,))
    connection.execute("DELETE FROM groups WHERE at <= ?", (horizon - FORGOTTEN_SECONDS,))


def _forget_conversations(connection: sqlite3.Connection, horizon: float) -> int:
    """Returns how many conversations were deleted."""
    old = "FROM conversations WHERE kept_at <= ?"
    for key in ("key", "result"):
        connection.execute(
            f"INSERT OR REPLACE INTO forgotten SELECT {key}, digest, kept_at {old} AND {key} IS NOT NULL",
            (horizon,),
        )
    for table in ("digests", "spans"):
        connection.execute(f"DELETE FROM {table} WHERE key IN (SELECT key {old})", (horizon,))
    forgotten = connection.execute(f"DELETE {old}", (horizon,)).rowcount
    connection.execute("DELETE FROM forgotten WHERE at <= ?", (horizon - FORGOTTEN_SECONDS,))
    return forgotten
