"""Sessions of databases that a URL names: PostgreSQL."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from sqlalchemy import text

from turnwise.pipeline.io.containers import Database, listed_tables, session_reader
from turnwise.pipeline.store.database import connected
from turnwise.schemas.jsonio import JsonObject, dump_json, shown_url

_TABLES = text(
    "SELECT table_name, column_name FROM information_schema.columns "
    "WHERE table_schema = ANY (current_schemas(false)) ORDER BY table_name, ordinal_position"
)
_ROWS = 200


def database_texts(url: str) -> Iterator[tuple[str, bytes]]:
    """Yields the sessions of a database as they are at one time, each as JSON.

    Raises:
        ConfigError: The URL is wrong, or the driver is not installed.
        StoreError: The database does not answer.
        ValueError: It holds no sessions.
    """
    with _opened(url) as database:
        for record in session_reader(database)(database):
            yield f"{shown_url(url)}.json", dump_json(record)


def check_database(url: str) -> None:
    """Raises ConfigError, StoreError or ValueError if a database does not answer, or holds no sessions."""
    with _opened(url) as database:
        session_reader(database)


@contextmanager
def _opened(url: str) -> Iterator[Database]:
    with connected(url) as connection:
        streamed = connection.execution_options(stream_results=True, max_row_buffer=_ROWS)

        def rows(statement: str) -> Iterator[JsonObject]:
            for row in streamed.execute(text(statement)).mappings():
                yield {k: v.isoformat(" ") if isinstance(v, datetime) else v for k, v in row.items()}

        yield Database(listed_tables(connection.execute(_TABLES)), rows, "ctid")
