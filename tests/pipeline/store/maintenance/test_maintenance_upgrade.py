"""A store of version 7 keeps its conversations, whose users are not known."""

from sqlalchemy import create_engine, text

from turnwise.pipeline.store.engine import open_store
from turnwise.pipeline.store.migrations import MIGRATIONS, migrate
from turnwise.pipeline.store.urls import driver_url

ROW = (
    "INSERT INTO conversation_rows (name, execution, app, evaluation_run, conversation_id, eval_id, "
    "version_id, verdict, harm, harm_term, cluster, why, event_time, update_nanos, content) "
    "VALUES ('r/conversations/c', 0, 'a', 'r', 'c', '', '', '', 0, '', '', '', '', 1, '{}')"
)


def test_rows_of_an_earlier_version_have_no_user(store_url: str) -> None:
    engine = create_engine(driver_url(store_url))
    with engine.begin() as connection:
        migrate(connection, MIGRATIONS[:7])
        connection.exec_driver_sql(ROW)
        connection.exec_driver_sql("INSERT INTO current_runs VALUES ('r', 0)")
    engine.dispose()
    store = open_store(store_url)
    query = text("SELECT conversation_id, user_id FROM conversations")
    assert store.read(lambda c: [tuple(row) for row in c.execute(query)]) == [("c", None)]
    store.close()
