"""The step of `migrations` that adds tokens."""

from sqlalchemy import Connection

_TABLE = """
CREATE TABLE access_tokens (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    digest TEXT NOT NULL,
    created_by TEXT NOT NULL,
    create_nanos BIGINT NOT NULL,
    expire_nanos BIGINT,
    revoke_nanos BIGINT,
    used_day TEXT
);
CREATE UNIQUE INDEX access_tokens_by_name ON access_tokens (name) WHERE revoke_nanos IS NULL
"""


def add_tokens(connection: Connection) -> None:
    """Adds the table of tokens. Of one name, only one is not revoked."""
    for statement in _TABLE.split(";"):
        connection.exec_driver_sql(statement)
