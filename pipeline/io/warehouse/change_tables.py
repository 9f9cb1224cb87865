"""The tables to which a stream appends, and the views that show the present rows."""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta

from turnwise.pipeline.io.changes import StreamChange
from turnwise.pipeline.io.staging import staged_columns
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.rows import DATE, WAREHOUSE_TABLES, Column, json_columns, with_json_texts

CHANGES = "stream_changes"
CURRENT = "stream_current"
_CHANGE_COLUMNS = (
    DATE,
    Column("run_id", "string"),
    Column("thing", "string"),
    Column("revision", "long"),
    Column("change_id", "string"),
    Column("written", "string"),
)
_PLACE = (Column("change_id", "string"), Column("change_row", "long"))
_OLDEST = timedelta(days=9 * 365)
_CURRENT_SQL = """CREATE OR REPLACE VIEW {current} AS
SELECT change_id FROM (
  SELECT change_id, ROW_NUMBER() OVER (
    PARTITION BY run_id, thing ORDER BY revision DESC, first_written DESC, change_id
  ) AS place
  FROM (
    SELECT run_id, thing, change_id, revision, MIN(written) AS first_written
    FROM {changes} GROUP BY run_id, thing, change_id, revision
  )
)
WHERE place = 1"""
_VIEW_SQL = """CREATE OR REPLACE VIEW {view} AS
SELECT {columns} FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY change_id, change_row) AS copy FROM {table}
  WHERE change_id IN (SELECT change_id FROM {current})
)
WHERE copy = 1"""


def stream_table(table: str) -> str:
    """Returns the name of the table to which the rows of a stream are appended."""
    return f"stream_{table}"


def stream_tables() -> dict[str, tuple[Column, ...]]:
    """Returns the columns of all tables by name."""
    flat = {stream_table(table): (*staged_columns(table, False), *_PLACE) for table in WAREHOUSE_TABLES}
    return {**flat, CHANGES: _CHANGE_COLUMNS}


def view_statements(full_name: Callable[[str], str]) -> Iterator[str]:
    """Yields the SQL of the views, in order; `full_name` returns a table's name for SQL."""
    current = full_name(CURRENT)
    yield _CURRENT_SQL.format(current=current, changes=full_name(CHANGES))
    for table in WAREHOUSE_TABLES:
        names = ", ".join(column.name for column in staged_columns(table, by_version=False))
        own = full_name(stream_table(table))
        yield _VIEW_SQL.format(view=full_name(table), columns=names, table=own, current=current)


def table_rows(changes: Sequence[StreamChange], table: str) -> list[JsonObject]:
    """Returns the rows of a flat table in changes, as they are appended."""
    texts = json_columns(table)
    rows = []
    for change in changes:
        place = {"date": day_of(change), "change_id": change.change_id}
        for number, row in enumerate(change.rows.get(table, ())):
            rows.append(with_json_texts(dict(row), texts) | place | {"change_row": number})
    return rows


def change_rows(changes: Sequence[StreamChange]) -> list[JsonObject]:
    """Returns the rows that make changes count; they are appended last."""
    written = datetime.now(UTC).isoformat(timespec="microseconds")
    return [
        {
            "date": day_of(change),
            "run_id": change.run_id,
            "thing": change.thing,
            "revision": change.revision,
            "change_id": change.change_id,
            "written": written,
        }
        for change in changes
    ]


def day_of(change: StreamChange) -> date:
    """Returns the UTC day of a thing, or today if it is unknown or one that BigQuery takes no rows of."""
    now = datetime.now(UTC)
    if change.time is None or not (now - _OLDEST).timestamp() < change.time < now.timestamp():
        return now.date()
    return datetime.fromtimestamp(change.time, UTC).date()
