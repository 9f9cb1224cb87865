"""SQLite files of sessions: those of google-adk's services, and of the OpenAI Agents SDK."""

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any
from urllib.parse import quote

from turnwise.schemas.jsonio import dump_json
from turnwise.transforms.formats.adk.tables import session_record

SQLITE_MAGIC = b"SQLite format 3\0"
_NEVER_READ = ("actions",)
_TABLES = {"sessions", "events"}
_AGENTS = "agent_messages"


def session_texts(path: str, file: Any, limit: int) -> Iterator[tuple[str, bytes]]:
    """Yields the sessions of a database, each as JSON.

    The column `actions` of older databases holds pickled objects; it is never selected.

    Raises:
        ValueError: It is no database of sessions.
    """
    with tempfile.TemporaryDirectory() as directory:
        local = path
        if not os.path.isfile(path):
            local = os.path.join(directory, "copy.db")
            with open(local, "wb") as copy:
                shutil.copyfileobj(file, copy)
        try:
            with closing(sqlite3.connect(f"file:{quote(local)}?mode=ro", uri=True)) as database:
                database.row_factory = sqlite3.Row
                for record in _records(database):
                    yield f"{path}.json", dump_json(record)
        except sqlite3.Error as error:
            raise ValueError(f"the SQLite database cannot be read: {error}") from None


def _records(database: sqlite3.Connection) -> Iterator[dict[str, Any]]:
    names = {row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if names >= _TABLES:
        yield from _adk_records(database, names)
    elif _AGENTS in names:
        yield from _agents_records(database)
    else:
        shown = ", ".join(sorted(names)[:8]) or "none"
        said = "a SQLite database without sessions of google-adk or the OpenAI Agents SDK"
        raise ValueError(f"is {said} (tables: {shown}); a store is named as sqlite:///PATH, by --eval_cases")


def _columns(database: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in database.execute(f"PRAGMA table_info({table})")]


def _rows(
    database: sqlite3.Connection, table: str, where: str = "", values: Sequence[Any] = ()
) -> list[dict[str, Any]]:
    columns = [name for name in _columns(database, table) if name not in _NEVER_READ]
    chosen = ", ".join(f'"{name}"' for name in columns)
    return [dict(row) for row in database.execute(f"SELECT {chosen} FROM {table} {where}", values)]


def _adk_records(database: sqlite3.Connection, tables: set[str]) -> Iterator[dict[str, Any]]:
    columns = _columns(database, "events")
    if not {"session_id", "timestamp"} <= set(columns):
        raise ValueError(
            f"a SQLite database with a table of events of another form: {', '.join(columns[:8])}"
        )
    names = sorted(tables & {"app_states", "user_states"})
    shared = {name: _rows(database, name) for name in names}
    for session in _rows(database, "sessions"):
        key = (session.get("app_name"), session.get("user_id"), session.get("id"))
        where = "WHERE app_name = ? AND user_id = ? AND session_id = ? ORDER BY timestamp, rowid"
        events = _rows(database, "events", where, key)
        yield session_record(session, events, shared, is_pickled="actions" in columns)


def _agents_records(database: sqlite3.Connection) -> Iterator[dict[str, Any]]:
    found: dict[str, list[Any]] = {}
    for row in _rows(database, _AGENTS, "ORDER BY rowid"):
        found.setdefault(str(row.get("session_id")), []).append(row.get("message_data"))
    for name, items in found.items():
        yield {"conversation_id": name, "input": [_item(item) for item in items]}


def _item(text: Any) -> Any:
    import json

    try:
        return json.loads(text)
    except (TypeError, ValueError):
        return text
