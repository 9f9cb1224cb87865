"""Reads pages of a table by keyset pagination."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from sqlalchemy import ColumnElement, Connection, Row, Table, literal, select, tuple_

OrderBy = Literal["name", "create_time", "update_time"]
"""Times are sorted newest first, names alphabetically."""

_COLUMNS = {"create_time": "create_nanos", "update_time": "update_nanos"}


class Position(NamedTuple):
    """The last row of a page: its time (0 if ordered by name) and its name."""

    nanos: int
    name: str


class Page(NamedTuple):
    """Rows of a page, and the position after which the next page starts (None: last page)."""

    rows: Sequence[Row[Any]]
    end: Position | None


class Listing(NamedTuple):
    """A query: rows of a table that meet all conditions.

    Attributes:
        columns: Names of the columns to read, beside those of the order.
    """

    table: Table
    columns: Sequence[str]
    conditions: Sequence[ColumnElement[bool]]
    order_by: OrderBy


def read_page(connection: Connection, listing: Listing, after: Position | None, size: int) -> Page:
    """Returns at most `size` rows after a position (None: from the start)."""
    table = listing.table
    time = None if listing.order_by == "name" else table.c[_COLUMNS[listing.order_by]]
    wanted = dict.fromkeys(("name", *listing.columns, *(() if time is None else (time.name,))))
    query = select(*(table.c[name] for name in wanted)).where(*listing.conditions)
    # Both columns have the same direction, so that an index can be read backwards.
    query = query.order_by(*([table.c.name] if time is None else [time.desc(), table.c.name.desc()]))
    if after is not None:
        place = tuple_(literal(after.nanos), literal(after.name))
        query = query.where(table.c.name > after.name if time is None else tuple_(time, table.c.name) < place)
    rows = connection.execute(query.limit(size + 1)).all()
    if len(rows) <= size:
        return Page(rows, None)
    last = rows[size - 1]
    return Page(rows[:size], Position(0 if time is None else getattr(last, time.name), last.name))
