"""The typed columns of the tables, derived from the row classes; every other schema is made of them."""

from collections.abc import Iterable
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from turnwise.schemas.jsonio import dump_json
from turnwise.schemas.rows import TABLES
from turnwise.schemas.values import JsonObject

ColumnKind = Literal["string", "long", "double", "boolean", "date"]
_KINDS: dict[Any, ColumnKind] = {
    str: "string",
    int: "long",
    float: "double",
    bool: "boolean",
    JsonObject: "string",
}


class Column(NamedTuple):
    """One column of a table.

    Attributes:
        name: Its name.
        kind: Type of a value, or of each item of a list.
        is_list: Whether a value is a list, which may be empty and is never null.
        is_nullable: Whether a value may be null.
        is_json: Whether a value is a JSON object, which is written as its JSON text.
    """

    name: str
    kind: ColumnKind
    is_list: bool = False
    is_nullable: bool = False
    is_json: bool = False


DATE = Column("date", "date")
"""The day of a run, which rows have in a data warehouse."""
WAREHOUSE_TABLES = tuple(table for table, row in TABLES.items() if "run_id" in get_type_hints(row))
"""The flat tables, in which a run is found by its id."""


@cache
def columns(table: str) -> tuple[Column, ...]:
    """Returns the columns of a table, in order."""
    return tuple(_column(name, hint) for name, hint in get_type_hints(TABLES[table]).items())


def _column(name: str, hint: Any) -> Column:
    is_nullable = isinstance(hint, UnionType)
    kind = next(part for part in get_args(hint) if part is not NoneType) if is_nullable else hint
    is_json = kind == JsonObject
    is_list = not is_json and get_origin(kind) is list
    return Column(name, _KINDS[get_args(kind)[0] if is_list else kind], is_list, is_nullable, is_json)


def json_columns(table: str) -> list[str]:
    """Returns the names of the columns that hold JSON objects."""
    return [column.name for column in columns(table) if column.is_json]


def with_json_texts(row: JsonObject, names: Iterable[str]) -> JsonObject:
    """Returns a row with the JSON texts of its JSON objects in these columns."""
    texts = {name: None if row[name] is None else dump_json(row[name]).decode() for name in names}
    return {**row, **texts}
