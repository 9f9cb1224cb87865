"""Copies a SQLite store while others write."""

import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy import Connection

from turnwise.pipeline.store.engine import Store
from turnwise.pipeline.store.maintenance.exporting import check_new, keep
from turnwise.pipeline.store.urls import StoreError
from turnwise.schemas.config import ConfigError


def back_up(store: Store, path: str) -> int:
    """Writes a copy of a store as it is at one time; the file is there when it is whole and was checked.

    Returns:
        Its size in bytes.

    Raises:
        ConfigError: The store is no SQLite file, or the file exists.
        StoreError: The copy is damaged, or could not be made.
    """
    if not store.is_sqlite:
        raise ConfigError("backup: is for SQLite; copy PostgreSQL by pg_dump, or by turnwise store export")
    check_new(path)
    partial = Path(f"{path}.part")
    partial.unlink(missing_ok=True)
    try:
        store.read(lambda connection: _copy(connection, partial))
        keep(partial, path)
    except sqlite3.Error as error:
        raise StoreError(f"{path}: {error}") from None
    finally:
        partial.unlink(missing_ok=True)
    return Path(path).stat().st_size


def _copy(connection: Connection, partial: Path) -> None:
    source = connection.connection.driver_connection
    assert isinstance(source, sqlite3.Connection)
    with closing(sqlite3.connect(partial)) as target:
        # All pages in one step: they are of one time, whatever is written meanwhile.
        source.backup(target)
        # A copy in one file, without those of the write-ahead log.
        target.execute("PRAGMA journal_mode = DELETE")
        found = target.execute("PRAGMA integrity_check").fetchone()[0]
    if found != "ok":
        raise StoreError(f"the copy is damaged: {found}")
