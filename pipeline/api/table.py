"""Rows as a list that can be converted to a data frame."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeVar, cast

from turnwise.schemas.avro_schema import avro_schema, json_fields
from turnwise.schemas.rows import TABLES
from turnwise.schemas.values import JsonObject

if TYPE_CHECKING:
    import pandas
    import pyarrow

Row = TypeVar("Row")
_PANDAS = {"string": "string", "long": "Int64", "double": "Float64"}


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
        objects = json_fields(self.name)
        columns = {
            name: pandas.Series(
                [cast(Any, row)[name] for row in self],
                dtype="object" if name in objects else _PANDAS.get(kind, "object"),
            )
            for name, kind in self._kinds()
        }
        return pandas.DataFrame(columns)

    def to_arrow(self) -> "pyarrow.Table":
        """Returns an Arrow table; JSON objects are JSON texts.

        Raises:
            ImportError: pyarrow is not installed.
        """
        try:
            import pyarrow
        except ImportError:
            raise ImportError("to_arrow() needs pyarrow: pip install pyarrow") from None
        types = {"string": pyarrow.string(), "long": pyarrow.int64(), "double": pyarrow.float64()}
        fields = [(name, types.get(kind, pyarrow.list_(pyarrow.string()))) for name, kind in self._kinds()]
        rows = [_with_texts(row, json_fields(self.name)) for row in self]
        return pyarrow.Table.from_pylist(rows, pyarrow.schema(fields))

    def _kinds(self) -> Iterator[tuple[str, str]]:
        """Yields name and Avro type of the columns: `string`, `long`, `double` or `array`."""
        for field in avro_schema(self.name)["fields"]:
            kind = field["type"][1] if isinstance(field["type"], list) else field["type"]
            yield field["name"], kind["type"] if isinstance(kind, dict) else kind


def _with_texts(row: Any, names: list[str]) -> JsonObject:
    texts = {name: None if row[name] is None else json.dumps(row[name], ensure_ascii=False) for name in names}
    return {**row, **texts}
