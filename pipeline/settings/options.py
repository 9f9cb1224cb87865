"""Addresses of rows in BigQuery. Does not import Google's libraries."""

import re
from datetime import date
from pathlib import Path
from typing import NamedTuple

from turnwise.schemas.config import ConfigError

FORMS = "bigquery://PROJECT/DATASET/TABLE[?partition=DATE], bigquery://PROJECT?query=SQL, bigquery://PROJECT?file=FILE.sql"
_SCHEME = "bigquery://"
_PROJECT = r"bigquery://(?P<project>[a-z][a-z0-9.:-]{4,60}[a-z0-9])"
_TABLE = re.compile(_PROJECT + r"/(?P<dataset>\w+)/(?P<table>[\w -]+)(?:\?partition=(?P<partition>[^&]*))?")
_QUERY = re.compile(_PROJECT + r"\?(?P<kind>query|file)=(?P<text>.*)", re.DOTALL)
_SHOWN = 60


class RowsAddress(NamedTuple):
    """Rows in BigQuery.

    Attributes:
        shown: The address in one line, for messages and failures.
        project: The project that pays for the query.
        table: PROJECT.DATASET.TABLE; "": a query.
        partition: Day of the table's partition; None: all rows.
        query: The SQL text; "": a table.
    """

    shown: str
    project: str
    table: str = ""
    partition: date | None = None
    query: str = ""


def is_bigquery(path: str) -> bool:
    """Returns whether a path is the address of rows in BigQuery."""
    return path.startswith(_SCHEME)


def with_query_text(path: str) -> str:
    """Returns an address with the SQL text of its file in place of the file; other paths unchanged.

    Raises:
        ConfigError: The file cannot be read.
    """
    found = _QUERY.fullmatch(path)
    if not found or found["kind"] == "query":
        return path
    try:
        text = Path(found["text"]).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "not UTF-8 text"
        raise ConfigError(f"{path}: {why}") from None
    return f"{_SCHEME}{found['project']}?query={text}"


def parse_address(path: str) -> RowsAddress:
    """Returns the parts of an address; what follows `?query=` is SQL to the end, without escapes.

    Raises:
        ConfigError: It has another form, or its file of SQL cannot be read.
    """
    if found := _TABLE.fullmatch(path):
        table = f"{found['project']}.{found['dataset']}.{found['table']}"
        return RowsAddress(path, found["project"], table, _day(path, found["partition"]))
    found = _QUERY.fullmatch(with_query_text(path))
    if not found or not found["text"].strip():
        raise ConfigError(f"{shown_address(path)}: its form is one of {FORMS}")
    return RowsAddress(shown_address(path), found["project"], query=found["text"].strip().rstrip(";"))


def _day(path: str, text: str | None) -> date | None:
    try:
        return None if text is None else date.fromisoformat(text)
    except ValueError:
        raise ConfigError(f"{path}: its partition is no ISO date, such as 2026-11-21") from None


def shown_address(path: str) -> str:
    """Returns an address in one line; a long query is cut."""
    line = " ".join(path.split())
    start, mark, query = line.partition("?query=")
    return f"{start}{mark}{query[:_SHOWN]}{'...' if len(query) > _SHOWN else ''}"
