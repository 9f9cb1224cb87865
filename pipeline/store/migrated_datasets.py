"""The step of `migrations` that adds datasets, expectations and deletions."""

from sqlalchemy import Connection

_RESOURCES = """
CREATE TABLE {table} (
    name TEXT NOT NULL PRIMARY KEY,
    app TEXT NOT NULL,
    display_name TEXT NOT NULL,
    etag TEXT NOT NULL,
    create_nanos BIGINT NOT NULL,
    created_by TEXT NOT NULL,
    update_nanos BIGINT NOT NULL,
    last_updated_by TEXT NOT NULL,
    content TEXT NOT NULL,
    CONSTRAINT {table}_by_display_name UNIQUE (app, display_name)
);
CREATE INDEX {table}_by_update ON {table} (app, update_nanos, name)
"""
_MEMBERS = """
CREATE TABLE dataset_members (
    dataset TEXT NOT NULL REFERENCES evaluation_datasets (name),
    evaluation TEXT NOT NULL REFERENCES evaluations (name),
    PRIMARY KEY (dataset, evaluation)
);
CREATE INDEX dataset_members_by_evaluation ON dataset_members (evaluation);
ALTER TABLE evaluation_history ADD COLUMN is_deletion BIGINT
"""


def add_datasets(connection: Connection) -> None:
    """Adds the tables; the history says of an entry whether it is a deletion (null: it is none)."""
    tables = (_RESOURCES.format(table=name) for name in ("evaluation_datasets", "app_expectations"))
    for statement in ";".join((*tables, _MEMBERS)).split(";"):
        connection.exec_driver_sql(statement)
