"""The steps of `migrations` that add the summaries of runs, and change their form."""

from sqlalchemy import Connection

_TABLE = """
CREATE TABLE run_summaries (
    name TEXT NOT NULL,
    execution BIGINT NOT NULL,
    app TEXT NOT NULL,
    evaluation_run TEXT NOT NULL,
    update_nanos BIGINT NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (name, execution)
);
CREATE INDEX run_summaries_by_run ON run_summaries (evaluation_run, execution)
"""


def add_summaries(connection: Connection) -> None:
    """Adds the table; the first comparison fills it for runs of earlier versions."""
    for statement in _TABLE.split(";"):
        connection.exec_driver_sql(statement)


def delete_summaries(connection: Connection) -> None:
    """Deletes the summaries in the form of earlier versions; the first comparison makes them again."""
    connection.exec_driver_sql("DELETE FROM run_summaries")
