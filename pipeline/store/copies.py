"""Copies a SQLite store while others write."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy import Connection

from turnwise.pipeline.store.database import Store
from turnwise.pipeline.store.urls import StoreError
from turnwise.schemas.config import ConfigError


def back_up(store: Store, path: str) -> int:
    """Writes a copy of a store as it is at one time; the file is there when it is whole and was checked.

    Args:
        store: A SQLite store.
        path: The file to write.

    Returns:
        Its size in bytes.

    Raises:
        ConfigError: The file exists, or its directory does not.
        StoreError: The copy is damaged, or could not be made.
    """
    if Path(path).exists():
        raise ConfigError(f"{path}: exists already")
    if not Path(path).absolute().parent.is_dir():
        raise ConfigError(f"{path}: no such directory")
    partial = Path(f"{path}.part")
    partial.unlink(missing_ok=True)
    try:
        store.read(lambda connection: _copy(connection, partial))
        with open(partial, "rb") as file:
            os.fsync(file.fileno())
        # Unlike a renaming, a link does not replace what another process made meanwhile.
        os.link(partial, path)
    except FileExistsError:
        raise ConfigError(f"{path}: exists already") from None
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
