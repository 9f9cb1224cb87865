"""Rows as Arrow tables. Imports pyarrow where it is used."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from turnwise.schemas.columns import Column
from turnwise.schemas.values import JsonObject

if TYPE_CHECKING:
    import pyarrow

ARROW_TYPES = {"string": "string", "long": "int64", "double": "float64", "boolean": "bool_", "date": "date32"}
"""Kind of a column -> name of the function of pyarrow that returns its type."""


def arrow_schema(columns: Iterable[Column]) -> "pyarrow.Schema":
    """Returns the Arrow schema of columns."""
    import pyarrow

    def kind(column: Column) -> "pyarrow.DataType":
        value = getattr(pyarrow, ARROW_TYPES[column.kind])()
        return pyarrow.list_(value) if column.is_list else value

    return pyarrow.schema([(column.name, kind(column)) for column in columns])


def arrow_rows(
    rows: Sequence[JsonObject], schema: "pyarrow.Schema"
) -> "tuple[pyarrow.Table, list[tuple[JsonObject, str]]]":
    """Converts rows, whose JSON objects are texts, to a table.

    Returns:
        The table, and the rows that Arrow cannot hold (an integer of more than 64 bits) with their reasons.
    """
    import pyarrow

    try:
        return pyarrow.Table.from_pylist(rows, schema), []
    except (ValueError, TypeError, OverflowError):
        faults = [_fault(row, schema) for row in rows]
    kept = [row for row, fault in zip(rows, faults, strict=True) if fault is None]
    lost = [(row, fault) for row, fault in zip(rows, faults, strict=True) if fault is not None]
    return pyarrow.Table.from_pylist(kept, schema), lost


def _fault(row: JsonObject, schema: "pyarrow.Schema") -> str | None:
    import pyarrow

    try:
        pyarrow.Table.from_pylist([row], schema)
    except (ValueError, TypeError, OverflowError) as error:
        return " ".join(str(error).split())
    return None
