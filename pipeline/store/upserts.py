"""Writes rows that replace earlier rows of the same name."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite

from turnwise.schemas.values import JsonObject


def upsert(connection: Connection, table: Table, rows: Sequence[JsonObject]) -> None:
    """Writes rows; of several with one name the last counts."""
    by_name = {row["name"]: row for row in rows}
    if not by_name:
        return
    dialect: Any = postgresql if connection.dialect.name == "postgresql" else sqlite
    statement = dialect.insert(table)
    changed = {column.name: statement.excluded[column.name] for column in table.c if not column.primary_key}
    # In one order everywhere, so that two writers never wait for each other.
    in_order = [by_name[name] for name in sorted(by_name)]
    connection.execute(statement.on_conflict_do_update(index_elements=["name"], set_=changed), in_order)
