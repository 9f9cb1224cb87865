"""The step of `migrations` that says of erasures whether they ended."""

from sqlalchemy import Connection


def add_erasure_ends(connection: Connection) -> None:
    """Adds the end of each erasure; those that are recorded had ended."""
    connection.exec_driver_sql("ALTER TABLE erasures ADD COLUMN end_nanos BIGINT")
    connection.exec_driver_sql("UPDATE erasures SET end_nanos = nanos")
