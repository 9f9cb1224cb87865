"""The history of an evaluation in a store."""

from sqlalchemy import Connection

from turnwise.pipeline.store.evaluations import StoredRevision, read_revisions

_ALL = 1_000_000


def read_history(connection: Connection, name: str) -> list[StoredRevision]:
    """Returns all revisions of an evaluation, oldest first."""
    return read_revisions(connection, name, None, _ALL)[::-1]
