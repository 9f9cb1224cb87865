"""Rows as a list that turns into a data frame."""

import json
from typing import TYPE_CHECKING, Any, TypeVar

from turnwise.schemas.avro_schema import avro_schema, json_fields
from turnwise.schemas.rows import TABLES
from turnwise.schemas.values import JsonObject

if TYPE_CHECKING:
    import pandas
    import pyarrow

Row = TypeVar("Row")


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
        """Returns a data frame with pandas' nullable types; JSON objects stay dicts.

        Raises:
            ImportError: pandas is not installed.
        """
        try:
            import pandas
        except ImportError:
            raise ImportError("to_pandas() needs pandas: pip install pandas") from None
        return pandas.DataFrame.from_records(list(self), columns=self.columns).convert_dtypes()

    def to_arrow(self) -> "pyarrow.Table":
        """Returns an Arrow table; JSON objects are JSON texts.

        Raises:
            ImportError: pyarrow is not installed.
        """
        try:
            import pyarrow
        except ImportError:
            raise ImportError("to_arrow() needs pyarrow: pip install pyarrow") from None
        texts = json_fields(self.name)
        rows = [_with_texts(row, texts) for row in self]
        fields = [(field["name"], _arrow_type(field["type"])) for field in avro_schema(self.name)["fields"]]
        return pyarrow.Table.from_pylist(rows, pyarrow.schema(fields))


def _with_texts(row: Any, names: list[str]) -> JsonObject:
    texts = {name: None if row[name] is None else json.dumps(row[name], ensure_ascii=False) for name in names}
    return {**row, **texts}


def _arrow_type(kind: Any) -> Any:
    import pyarrow

    if isinstance(kind, list):
        return _arrow_type(kind[1])
    if isinstance(kind, dict):
        return pyarrow.list_(_arrow_type(kind["items"]))
    return {"string": pyarrow.string(), "long": pyarrow.int64(), "double": pyarrow.float64()}[kind]
