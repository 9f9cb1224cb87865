"""The step of `migrations` that adds long-running operations, and recordings to be scored again."""

from sqlalchemy import Connection

_TABLES = """
CREATE TABLE operations (
    name TEXT NOT NULL PRIMARY KEY,
    place TEXT NOT NULL,
    app TEXT NOT NULL,
    method TEXT NOT NULL,
    run TEXT,
    metadata TEXT NOT NULL,
    response TEXT,
    error_status TEXT,
    error TEXT,
    create_nanos BIGINT NOT NULL,
    begin_nanos BIGINT,
    update_nanos BIGINT NOT NULL,
    end_nanos BIGINT,
    cancel_nanos BIGINT
);
CREATE INDEX operations_by_place ON operations (place, name);
CREATE INDEX operations_by_end ON operations (end_nanos, update_nanos);
CREATE TABLE recording_rows (
    name TEXT NOT NULL,
    execution BIGINT NOT NULL,
    app TEXT NOT NULL,
    evaluation TEXT NOT NULL,
    evaluation_run TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    app_version TEXT NOT NULL,
    version_id TEXT NOT NULL,
    update_nanos BIGINT NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (name, execution)
);
CREATE INDEX recording_rows_by_evaluation ON recording_rows (evaluation, update_nanos, name);
CREATE INDEX recording_rows_by_conversation ON recording_rows (app, conversation_id);
CREATE INDEX recording_rows_by_run ON recording_rows (evaluation_run, execution);
CREATE VIEW recordings AS SELECT r.* FROM recording_rows r WHERE EXISTS
    (SELECT 1 FROM current_runs c WHERE c.name = r.evaluation_run AND c.execution = r.execution)
"""


def add_operations(connection: Connection) -> None:
    """Adds the tables."""
    for statement in _TABLES.split(";"):
        connection.exec_driver_sql(statement)
