"""The step of `migrations` that keeps what erasure, pruning and retention need."""

from sqlalchemy import Connection

_TABLES = """
CREATE TABLE erasures (
    digest TEXT NOT NULL PRIMARY KEY,
    salt TEXT NOT NULL,
    kind TEXT NOT NULL,
    actor TEXT NOT NULL,
    nanos BIGINT NOT NULL,
    removed TEXT NOT NULL
);
CREATE TABLE pruned_runs (
    name TEXT NOT NULL PRIMARY KEY,
    execution BIGINT NOT NULL,
    actor TEXT NOT NULL,
    nanos BIGINT NOT NULL
);
CREATE TABLE store_settings (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL);
ALTER TABLE conversation_rows ADD COLUMN user_id TEXT;
CREATE INDEX conversation_rows_by_user ON conversation_rows (user_id)
"""
_CONVERSATIONS = (
    "CREATE OR REPLACE VIEW conversations AS SELECT r.* FROM conversation_rows r WHERE EXISTS "
    "(SELECT 1 FROM current_runs c WHERE c.name = r.evaluation_run AND c.execution = r.execution)"
)


def keep_maintenance(connection: Connection) -> None:
    """Adds the tables, and the user of each conversation; null: an earlier version wrote the row."""
    for statement in _TABLES.split(";"):
        connection.exec_driver_sql(statement)
    # SQLite's view has every column of its table without this.
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(_CONVERSATIONS)
