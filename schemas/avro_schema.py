"""Generates Avro schemas of the rows; `python -m turnwise.schemas.avro_schema` writes `schemas/avro/`."""

import json
import re
from pathlib import Path

from turnwise.schemas.columns import Column, columns
from turnwise.schemas.rows import TABLES
from turnwise.schemas.values import JsonObject

FOLDER = Path(__file__).parent / "avro"


def avro_schema(table: str) -> JsonObject:
    """Returns the Avro schema of a table; a JSON object is a string that holds its JSON text."""
    row = TABLES[table]
    fields = [_field(column) for column in columns(table)]
    doc = " ".join(re.split("Attributes:|>>>", row.__doc__ or "")[0].split())
    return {"type": "record", "name": row.__name__, "namespace": "turnwise", "doc": doc, "fields": fields}


def _field(column: Column) -> JsonObject:
    kind: JsonObject | str = {"type": "array", "items": column.kind} if column.is_list else column.kind
    if column.is_nullable:
        return {"name": column.name, "type": ["null", kind], "default": None}
    return {"name": column.name, "type": kind}


def write_schemas(folder: Path = FOLDER) -> None:
    """Writes one `.avsc` file a table."""
    folder.mkdir(exist_ok=True)
    for table in TABLES:
        text = json.dumps(avro_schema(table), indent=2, ensure_ascii=False)
        (folder / f"{table}.avsc").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    write_schemas()
