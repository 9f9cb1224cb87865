"""The step of `migrations` that finds the results and scores of a conversation without reading all."""

from sqlalchemy import Connection


def index_conversations(connection: Connection) -> None:
    """Adds indexes by the id of the conversation, for deletions of conversations and users."""
    for table in ("score_rows", "result_rows"):
        connection.exec_driver_sql(f"CREATE INDEX {table}_by_conversation_id ON {table} (conversation_id)")
