"""SQLite files that hold sessions."""

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any
from urllib.parse import quote

from turnwise.pipeline.io.session_tables import Database, listed_tables, session_reader
from turnwise.schemas.jsonio import JsonObject, dump_json

SQLITE_MAGIC = b"SQLite format 3\0"

_TABLES = (
    "SELECT t.name, c.name FROM sqlite_master AS t JOIN pragma_table_info(t.name) AS c WHERE t.type = 'table'"
)


def session_texts(path: str, file: Any, limit: int) -> Iterator[tuple[str, bytes]]:
    """Yields the sessions of a database, each as JSON.

    Raises:
        ValueError: It is broken, or no database of sessions.
    """
    with tempfile.TemporaryDirectory() as directory:
        local = path
        if not os.path.isfile(path):
            local = os.path.join(directory, "copy.db")
            with open(local, "wb") as copy:
                shutil.copyfileobj(file, copy)
        with _opened(local) as database:
            # Of a damaged page, SQLite may give fewer rows without an error.
            for row in database.rows("PRAGMA quick_check(1)"):
                if row["quick_check"] != "ok":
                    raise ValueError(f"the SQLite database is damaged: {row['quick_check']}")
            for record in session_reader(database)(database):
                yield f"{path}.json", dump_json(record)


def check_sessions(path: str) -> None:
    """Raises ValueError if a local database is broken, or holds no sessions."""
    with _opened(path) as database:
        session_reader(database)


@contextmanager
def _opened(path: str) -> Iterator[Database]:
    try:
        with closing(sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True)) as connection:
            connection.row_factory = sqlite3.Row

            def rows(statement: str) -> Iterator[JsonObject]:
                return map(dict, connection.execute(statement))

            yield Database(listed_tables(connection.execute(_TABLES)), rows, "rowid")
    except sqlite3.Error as error:
        raise ValueError(f"the SQLite database cannot be read: {error}") from None
