"""Opens, checks and prunes `progress.sqlite`, the database of a stream's progress."""

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from zlib import crc32

from turnwise.pipeline.io.run_writer import PROGRESS_FILE, RECEIVED_FILE, earlier_files
from turnwise.schemas.run import RUN_FILE, StreamRules
from turnwise.transforms.beam.sessions import FORGOTTEN_SECONDS

FORMAT = "3"
_ANEW = "restore a copy of the whole directory, or start again with --overwrite or another --output"
_SHOWN = 3


def _checked(*columns: str) -> str:
    """Returns the column that holds the checksum of others, which SQLite itself computes and checks.

    SQLite finds damage to its own structure only: a changed byte of a sum would be a wrong figure.
    """
    names = ", ".join(columns)
    return f"row_sum INTEGER AS (row_checksum({names})) STORED CHECK (row_sum = row_checksum({names}))"


def _checksum(*values: object) -> int:
    return crc32(ascii(values).encode())


_SCHEMA = f"""
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
INSERT OR IGNORE INTO meta VALUES ('format', '{FORMAT}');
CREATE TABLE IF NOT EXISTS segments (
    "table" TEXT, number INTEGER, length INTEGER NOT NULL, tail BLOB NOT NULL,
    {_checked('"table"', "number", "length", "tail")}, PRIMARY KEY ("table", number));
CREATE TABLE IF NOT EXISTS conversations (
    key INTEGER NOT NULL UNIQUE, result INTEGER, revision INTEGER NOT NULL, written INTEGER NOT NULL,
    digest BLOB NOT NULL, event_time REAL NOT NULL, app_version TEXT NOT NULL, statistics BLOB NOT NULL,
    counts TEXT NOT NULL, changed INTEGER NOT NULL, kept_at REAL NOT NULL,
    {
    _checked(
        "key",
        "result",
        "revision",
        "written",
        "digest",
        "event_time",
        "app_version",
        "statistics",
        "counts",
        "changed",
        "kept_at",
    )
});
CREATE INDEX IF NOT EXISTS by_result ON conversations (result);
CREATE INDEX IF NOT EXISTS by_change ON conversations (changed);
CREATE INDEX IF NOT EXISTS by_age ON conversations (kept_at);
CREATE TABLE IF NOT EXISTS digests (key INTEGER, digest BLOB, PRIMARY KEY (key, digest)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS forgotten (key INTEGER PRIMARY KEY, digest BLOB NOT NULL, at REAL NOT NULL);
CREATE INDEX IF NOT EXISTS by_forgetting ON forgotten (at);
CREATE TABLE IF NOT EXISTS sums (
    start REAL, app_version TEXT, statistics BLOB NOT NULL, {_checked("start", "app_version", "statistics")},
    PRIMARY KEY (start, app_version)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS settled (
    source TEXT, position INTEGER, at REAL NOT NULL, PRIMARY KEY (source, position)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS spans (
    key INTEGER NOT NULL, "table" TEXT, number INTEGER NOT NULL, start INTEGER NOT NULL,
    length INTEGER NOT NULL, {_checked("key", '"table"', "number", "start", "length")});
CREATE INDEX IF NOT EXISTS by_key ON spans (key);
CREATE TABLE IF NOT EXISTS dead (
    "table" TEXT, number INTEGER, start INTEGER, length INTEGER NOT NULL,
    {_checked('"table"', "number", "start", "length")},
    PRIMARY KEY ("table", number, start)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS sessions (
    key INTEGER PRIMARY KEY, revision INTEGER NOT NULL, closed_at REAL NOT NULL, events BLOB NOT NULL,
    places BLOB NOT NULL, {_checked("key", "revision", "closed_at", "events", "places")});
CREATE INDEX IF NOT EXISTS by_closing ON sessions (closed_at);
CREATE TABLE IF NOT EXISTS groups (
    key INTEGER, session INTEGER, at REAL NOT NULL, PRIMARY KEY (key, session)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS sources (
    source TEXT PRIMARY KEY, through INTEGER NOT NULL DEFAULT 0, note TEXT,
    {_checked("source", "through", "note")});
CREATE TABLE IF NOT EXISTS beyond (source TEXT, position INTEGER, PRIMARY KEY (source, position));
CREATE TABLE IF NOT EXISTS lost (
    source TEXT, position INTEGER, part INTEGER, at REAL NOT NULL, PRIMARY KEY (source, position, part)
    ) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS counts (
    name TEXT PRIMARY KEY, number INTEGER NOT NULL, {_checked("name", "number")});
CREATE TABLE IF NOT EXISTS refused (thing TEXT PRIMARY KEY, rows INTEGER NOT NULL, why TEXT NOT NULL);
COMMIT;
"""


@contextmanager
def disk_errors(connection: sqlite3.Connection) -> Iterator[None]:
    """Converts errors of a database.

    Raises:
        OSError: One line that begins with the path of its file.
    """
    try:
        yield
    except sqlite3.Error as error:
        with suppress(sqlite3.Error):
            raise OSError(f"{connection.execute('PRAGMA database_list').fetchone()[2]}: {error}") from error
        raise OSError(str(error)) from error


def open_database(directory: Path) -> sqlite3.Connection:
    """Opens the database and creates it if there is none. Every commit is synced to disk.

    All of it is read and checked first, about 3 microseconds a row.

    Raises:
        ValueError: It is damaged, of another format, of another run, no database of a stream, or empty beside
            results; or this process may not write it. Nothing was changed.
        OSError: The disk is full or broken.
    """
    path = directory / PROGRESS_FILE
    if path.exists() and not os.access(path, os.R_OK | os.W_OK):
        raise ValueError(f"{PROGRESS_FILE}: cannot be written: it is read-only for this process")
    connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
    try:
        connection.create_function("row_checksum", -1, _checksum, deterministic=True)
        _check(connection, directory)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.executescript(_SCHEMA)
    except sqlite3.OperationalError as error:
        connection.close()
        kind = OSError if "disk" in str(error) else ValueError
        raise kind(f"{path}: {error}") from None
    except sqlite3.DatabaseError as error:
        connection.close()
        raise ValueError(f"{PROGRESS_FILE}: is damaged: {error}; {_ANEW}") from None
    except ValueError as error:
        connection.close()
        raise ValueError(f"{PROGRESS_FILE}: {error}") from None
    return connection


def _check(connection: sqlite3.Connection, directory: Path) -> None:
    """Raises ValueError or sqlite3.Error if a database is not the sound progress of a directory's stream."""
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not tables:
        own = (PROGRESS_FILE, RECEIVED_FILE)
        found = [Path(path) for path in earlier_files(str(directory)) if not Path(path).name.startswith(own)]
        beside = next((path.name for path in found if path.stat().st_size), None)
        if beside:
            raise ValueError(f"is empty, but the directory holds results ({beside}): {_ANEW}")
        return
    if "meta" not in tables:
        raise ValueError(f"is a database of something else (tables: {', '.join(sorted(tables)[:_SHOWN])})")
    meta = dict(connection.execute("SELECT name, value FROM meta"))
    if meta.get("format") != FORMAT:
        raise ValueError(
            f"it is of another version of turnwise (format {meta.get('format')}, not {FORMAT}); continue "
            "with that version, or start again with --overwrite or another --output"
        )
    faults = [row[0] for row in connection.execute(f"PRAGMA integrity_check({_SHOWN})") if row[0] != "ok"]
    if faults:
        raise ValueError(f"is damaged: {'; '.join(faults)}; {_ANEW}")
    run = run_of(directory / RUN_FILE)
    if run not in (None, meta.get("run_id")):
        raise ValueError(f"is of the run {meta.get('run_id')}, but run.json of the run {run}: {_ANEW}")


def run_of(path: Path) -> object:
    """Returns the id of the run that a JSON document, or the first line of a table, names; None: none."""
    try:
        with path.open("rb") as file:
            return json.loads(file.read() if path.name == RUN_FILE else file.readline())["run_id"]
    except (OSError, ValueError, KeyError, TypeError):
        return None


def open_reader(directory: Path) -> sqlite3.Connection:
    """Opens the database read-only, beside the writing connection; raises OSError."""
    path = directory / PROGRESS_FILE
    try:
        uri = f"{path.absolute().as_uri()}?mode=ro"
        return sqlite3.connect(uri, uri=True, check_same_thread=False, isolation_level=None)
    except sqlite3.Error as error:
        raise OSError(f"{path}: {error}") from None


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
