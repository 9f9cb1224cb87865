"""Rows as a list that can be converted to a data frame."""

from typing import TYPE_CHECKING, Any, TypeVar, cast

from turnwise.schemas.rows import TABLES, Column, arrow_schema, columns, json_columns, with_json_texts

if TYPE_CHECKING:
    import pandas
    import pyarrow

Row = TypeVar("Row")
_PANDAS = {"string": "string", "long": "Int64", "double": "Float64", "boolean": "boolean"}


class Table(list[Row]):
    """A list of typed rows (dicts), one table of a run.

    Attributes:
        name: Name of the table, such as `scores`.

    >>> import turnwise
    >>> result = turnwise.evaluate({"conversation_id": "c1", "turns": [{"user": "Hi", "agent": "Hello"}]})
    >>> [row["evaluation_status"] for row in result.results]
    [None]
    >>> result.results.to_arrow().column_names[:2]
    ['name', 'conversation_id']
    """

    def __init__(self, name: str, rows: "list[Row] | tuple[Row, ...]" = ()) -> None:
        super().__init__(rows)
        self.name = name

    @property
    def columns(self) -> list[str]:
        """The names of the columns, also of a table without rows."""
        return list(TABLES[self.name].__annotations__)

    def to_pandas(self) -> "pandas.DataFrame":
        """Returns a data frame with the same types of columns for all rows, also for none.

        Types are pandas' nullable `string`, `Int64` and `Float64`; lists and JSON objects are `object`.

        Raises:
            ImportError: pandas is not installed.
        """
        try:
            import pandas
        except ImportError:
            raise ImportError("to_pandas() needs pandas: pip install pandas") from None
        series = {
            column.name: pandas.Series([cast(Any, row)[column.name] for row in self], dtype=_dtype(column))
            for column in columns(self.name)
        }
        return pandas.DataFrame(series)

    def to_arrow(self) -> "pyarrow.Table":
        """Returns an Arrow table; JSON objects are JSON texts.

        Raises:
            ImportError: pyarrow is not installed.
        """
        try:
            import pyarrow
        except ImportError:
            raise ImportError("to_arrow() needs pyarrow: pip install pyarrow") from None
        rows = [with_json_texts(cast(Any, row), json_columns(self.name)) for row in self]
        return pyarrow.Table.from_pylist(rows, arrow_schema(columns(self.name)))


def _dtype(column: Column) -> str:
    """Returns pandas' type of a column."""
    return "object" if column.is_json or column.is_list else _PANDAS[column.kind]
