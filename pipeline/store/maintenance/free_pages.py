"""Overwrites what was deleted, as far as the database lets that be done."""

from sqlalchemy import Connection

from turnwise.pipeline.store.engine import Store
from turnwise.pipeline.store.tables import METADATA


def overwrite_deleted(store: Store) -> list[str]:
    """Overwrites what was deleted; PostgreSQL only makes its space free.

    Returns:
        Where it is left, one line each.

    Raises:
        StoreError: The store is in use, or does not answer.
    """
    return store.alone(_overwrite)


def _overwrite(connection: Connection) -> list[str]:
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"VACUUM {', '.join(sorted(METADATA.tables))}")
        return []
    # Earlier versions did not overwrite what they deleted.
    connection.exec_driver_sql("VACUUM")
    busy = connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").one()[0]
    return ["what was deleted is in the -wal file: another process reads; try again"] if busy else []
