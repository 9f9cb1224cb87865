"""Generates Avro schemas of the rows; `python -m turnwise.schemas.avro_schema` writes `schemas/avro/`."""

import json
import re
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from turnwise.schemas.rows import TABLES
from turnwise.schemas.values import JsonObject

_PRIMITIVES: dict[Any, str] = {str: "string", int: "long", float: "double", bool: "boolean"}
FOLDER = Path(__file__).parent / "avro"


def avro_schema(table: str) -> JsonObject:
    """Returns the Avro schema of a table; a JSON object is a string that holds its JSON text."""
    row = TABLES[table]
    fields = [_field(name, hint) for name, hint in get_type_hints(row).items()]
    doc = " ".join(re.split("Attributes:|>>>", row.__doc__ or "")[0].split())
    return {"type": "record", "name": row.__name__, "namespace": "turnwise", "doc": doc, "fields": fields}


def json_fields(table: str) -> list[str]:
    """Returns the columns that hold JSON objects."""
    return [
        name for name, hint in get_type_hints(TABLES[table]).items() if JsonObject in (hint, *get_args(hint))
    ]


def _field(name: str, hint: Any) -> JsonObject:
    if isinstance(hint, UnionType):
        inner = next(part for part in get_args(hint) if part is not NoneType)
        return {"name": name, "type": ["null", _type(inner)], "default": None}
    return {"name": name, "type": _type(hint)}


def _type(hint: Any) -> JsonObject | str:
    if get_origin(hint) is list:
        return {"type": "array", "items": _type(get_args(hint)[0])}
    return "string" if hint == JsonObject else _PRIMITIVES[hint]


def write_schemas(folder: Path = FOLDER) -> None:
    """Writes one `.avsc` file a table."""
    folder.mkdir(exist_ok=True)
    for table in TABLES:
        text = json.dumps(avro_schema(table), indent=2, ensure_ascii=False)
        (folder / f"{table}.avsc").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    write_schemas()
