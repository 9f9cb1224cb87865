"""Empties files of judges' replies, which quote what was said."""

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from sqlalchemy import Connection, select

from turnwise.pipeline.store.maintenance.digests import ConversationKey
from turnwise.pipeline.store.removed_rows import read_document
from turnwise.pipeline.store.tables import CONVERSATION_ROWS, EXECUTIONS, RESULT_ROWS
from turnwise.pipeline.store.urls import StoreError
from turnwise.schemas.config import ConfigError
from turnwise.schemas.database_urls import shown_url
from turnwise.transforms.judging.places.sqlite_file import open_cache_file


def caches_of(connection: Connection, keys: Iterable[ConversationKey]) -> list[str]:
    """Returns the caches that the runs of conversations asked, as their configs name them."""
    found = set()
    for key in keys:
        for table in (CONVERSATION_ROWS, RESULT_ROWS):
            runs = select(table.c.evaluation_run).where(
                table.c.app == key.app, table.c.conversation_id == key.conversation_id
            )
            query = select(EXECUTIONS.c.content).where(EXECUTIONS.c.name.in_(runs))
            found |= {_cache(content) for content in connection.execute(query).scalars()}
    return sorted(filter(None, found))


def _cache(content: str | None) -> str:
    judge = (read_document(content) or {}).get("config", {}).get("judge")
    cache = judge.get("cache") if isinstance(judge, dict) else None
    return shown_url(cache) if isinstance(cache, str) else ""


def other_caches(named: Iterable[str], emptied: Iterable[str]) -> list[str]:
    """Returns the caches that were named and not emptied."""
    done = {_place(path) for path in emptied}
    return [path for path in named if _place(path) not in done]


def _place(path: str) -> str:
    return str(Path(path).expanduser().absolute())


def check_caches(paths: Iterable[str]) -> None:
    """Raises ConfigError if a file is no cache."""
    for path in paths:
        if not Path(path).expanduser().is_file():
            raise ConfigError(f"--judge_cache {path}: no such file")
        open_cache_file(path).close()


def empty_cache(path: str) -> int:
    """Deletes all replies of a cache: nothing in it says which conversation one is about.

    Returns:
        Their number.

    Raises:
        ConfigError: The file is no cache.
        StoreError: It could not be emptied.
    """
    try:
        with closing(open_cache_file(path)) as connection:
            connection.execute("PRAGMA secure_delete = ON")
            count = connection.execute("DELETE FROM replies").rowcount
            connection.execute("VACUUM")
            busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except sqlite3.Error as error:
        raise StoreError(f"--judge_cache {path}: {error}") from None
    if busy:
        raise StoreError(f"--judge_cache {path}: in use, so that replies are still in {path}-wal; try again")
    return count
