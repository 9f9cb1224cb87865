"""Compares the tables, columns, indexes, views and triggers of a store with those that turnwise makes."""

from collections.abc import Iterator
from secrets import token_hex
from typing import NamedTuple

from sqlalchemy import Connection, create_engine, text

from turnwise.pipeline.store.engine import Store
from turnwise.pipeline.store.migrations import MIGRATIONS, migrate, stored_version


class SchemaPart(NamedTuple):
    """A part of a database.

    Attributes:
        kind: `table`, `column`, `constraint`, `index`, `view`, `trigger` or `function`.
        name: Its name; that of a column with its table's.
    """

    kind: str
    name: str


Schema = dict[SchemaPart, str]
"""SchemaPart -> what it is made of, as the database says it."""

_SQLITE = "SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite~_%' ESCAPE '~'"
_PLACE = "(SELECT coalesce((SELECT relnamespace FROM pg_class WHERE oid = to_regclass('run_executions')), \
current_schema()::regnamespace))"
_POSTGRES = f"""
SELECT CASE relkind WHEN 'v' THEN 'view' ELSE 'table' END, relname,
    CASE relkind WHEN 'v' THEN pg_get_viewdef(oid, true) ELSE relpersistence::text END
FROM pg_class WHERE relkind IN ('r', 'v', 'p', 'm', 'f') AND relnamespace = {_PLACE}
UNION ALL SELECT 'column', c.relname || '.' || a.attname, format_type(a.atttypid, a.atttypmod)
    || CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END
    || coalesce(' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid), '')
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
WHERE c.relkind = 'r' AND c.relnamespace = {_PLACE}
UNION ALL SELECT 'constraint', conname, pg_get_constraintdef(oid, true)
FROM pg_constraint WHERE contype IN ('p', 'u', 'f', 'c') AND connamespace = {_PLACE}
UNION ALL SELECT 'index', c.relname, pg_get_indexdef(i.indexrelid, 0, true)
    || CASE WHEN i.indisvalid THEN '' ELSE ' (invalid)' END
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE c.relnamespace = {_PLACE}
UNION ALL SELECT 'trigger', t.tgname, pg_get_triggerdef(t.oid, true)
    || CASE t.tgenabled WHEN 'O' THEN '' ELSE ' (disabled)' END
FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid WHERE NOT t.tgisinternal AND c.relnamespace = {_PLACE}
UNION ALL SELECT 'function', proname, prosrc FROM pg_proc WHERE pronamespace = {_PLACE}
"""


def read_schema(connection: Connection) -> Schema:
    """Returns the parts of a database, or of the schema of a PostgreSQL database that holds the store."""
    query = _SQLITE if connection.dialect.name == "sqlite" else _POSTGRES
    rows = connection.execute(text(query)).all()
    return {SchemaPart(kind, name): " ".join(made.split()) for kind, name, made in rows}


def wanted_schema(store: Store) -> Schema:
    """Returns the parts of a new store, made in memory or in a transaction that is undone."""
    if not store.is_sqlite:
        return store.undone(_made_in_postgres)
    engine = create_engine("sqlite://")
    with engine.begin() as connection:
        migrate(connection)
        return read_schema(connection)


def _made_in_postgres(connection: Connection) -> Schema:
    place = f"turnwise_check_{token_hex(8)}"
    connection.exec_driver_sql(f"CREATE SCHEMA {place}")
    connection.exec_driver_sql(f"SET LOCAL search_path TO {place}")
    migrate(connection)
    return read_schema(connection)


def schema_problems(wanted: Schema, connection: Connection) -> Iterator[str]:
    """Yields what a store lacks or has otherwise, one line each; more tables, views and indexes are none."""
    version = stored_version(connection)
    if version != len(MIGRATIONS):
        yield f"the store has version {version}, not {len(MIGRATIONS)}"
    found = read_schema(connection)
    missing = sorted(wanted.keys() - found.keys())
    gone = {part.name for part in missing if part.kind == "table"}
    for kind, name in missing:
        if name.partition(".")[0] not in gone or kind == "table":
            yield f"the {kind} {name} is missing"
    for kind, name in sorted(part for part in wanted.keys() & found.keys() if wanted[part] != found[part]):
        yield f"the {kind} {name} is not as turnwise makes it"
    for kind, name in sorted(found.keys() - wanted.keys()):
        is_column = kind == "column" and any(each.name == name.partition(".")[0] for each in wanted)
        if kind == "trigger" or is_column:
            yield f"the {kind} {name} is not of turnwise"
