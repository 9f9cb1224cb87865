"""Pages of a table, each found by where the one before it ended."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from sqlalchemy import ColumnElement, Connection, Row, Table, and_, or_, select

OrderBy = Literal["name", "create_time", "update_time"]
"""Times go from the newest to the oldest, names in alphabetical order."""

_COLUMNS = {"create_time": "create_nanos", "update_time": "update_nanos"}


class Position(NamedTuple):
    """The last row of a page: what it is ordered by (names: 0), and its name."""

    nanos: int
    name: str


class Page(NamedTuple):
    """Some rows, and where the next ones begin (None: these are the last)."""

    rows: Sequence[Row[Any]]
    end: Position | None


class Listing(NamedTuple):
    """What is listed: rows of a table that meet all conditions, and which of their columns.

    Attributes:
        columns: Names of columns beside those that order the rows.
    """

    table: Table
    columns: Sequence[str]
    conditions: Sequence[ColumnElement[bool]]
    order_by: OrderBy = "update_time"


def read_page(connection: Connection, listing: Listing, after: Position | None, size: int) -> Page:
    """Returns the `size` rows after a position; None is the beginning."""
    table = listing.table
    column = None if listing.order_by == "name" else table.c[_COLUMNS[listing.order_by]]
    ordering = [table.c.name] if column is None else [column.desc(), table.c.name]
    wanted = dict.fromkeys(("name", *listing.columns, *(() if column is None else (column.name,))))
    query = select(*(table.c[name] for name in wanted)).where(*listing.conditions)
    if after is not None:
        query = query.where(_beyond(table, column, after))
    rows = connection.execute(query.order_by(*ordering).limit(size + 1)).all()
    if len(rows) <= size:
        return Page(rows, None)
    last = rows[size - 1]
    return Page(rows[:size], Position(0 if column is None else getattr(last, column.name), last.name))


def _beyond(table: Table, column: ColumnElement[int] | None, after: Position) -> ColumnElement[bool]:
    if column is None:
        return table.c.name > after.name
    # The first condition alone lets an index be used.
    return and_(column <= after.nanos, or_(column < after.nanos, table.c.name > after.name))
