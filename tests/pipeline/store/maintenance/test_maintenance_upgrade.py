"""A store of version 7 keeps its conversations, whose users are not known."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from sqlalchemy import create_engine, text

from turnwise.pipeline.store.engine import open_store
from turnwise.pipeline.store.migrations import MIGRATIONS, migrate, stored_version
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


def test_a_command_that_writes_no_new_content_refuses_an_older_store_and_does_not_upgrade_it(
    store_url: str, tend: Callable[..., Any], tmp_path: Path
) -> None:
    engine = create_engine(driver_url(store_url))
    with engine.begin() as connection:
        migrate(connection, MIGRATIONS[:7])
    commands = [
        ("delete", "conversation", "c-1", "--dry_run"),
        ("prune", "--older_than", "9d", "--dry_run"),
        ("export", str(tmp_path / "export.zip")),
        ("retention",),
        ("token", "list"),
        ("token", "revoke", "x"),
    ]
    commands += [("backup", str(tmp_path / "copy.db"))] if store_url.startswith("sqlite") else []
    wanted = tend("runs")
    assert wanted.status != 0 and "of an older turnwise" in wanted.err
    for command in commands:
        done = tend(*command)
        assert (done.status, done.err, done.out) == (wanted.status, wanted.err, ""), command
    with engine.begin() as connection:
        assert stored_version(connection) == 7
    engine.dispose()
    assert list(tmp_path.glob("*.zip")) + list(tmp_path.glob("copy*")) == []
