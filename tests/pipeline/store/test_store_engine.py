"""Stores are made, brought up to date, opened by many at once, and say in one line what is wrong."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from sqlalchemy import inspect, text

from tests.forked import Fork
from turnwise.pipeline.store.engine import Store, open_store
from turnwise.pipeline.store.migrations import MIGRATIONS, migrate, stored_version
from turnwise.pipeline.store.tables import METADATA
from turnwise.pipeline.store.urls import StoreError, is_store_url, shown_url
from turnwise.schemas.config import ConfigError


def shape(connection):
    found = inspect(connection)
    return {
        name: (
            {column["name"] for column in found.get_columns(name)},
            set(found.get_pk_constraint(name)["constrained_columns"]),
        )
        for name in found.get_table_names()
    }


def test_the_migrations_make_the_tables_of_the_code(store: Store) -> None:
    migrated = store.read(shape)
    migrated.pop("turnwise_store_version")
    assert migrated == {
        name: (set(table.c.keys()), set(table.primary_key.columns.keys()))
        for name, table in METADATA.tables.items()
    }


def test_a_store_is_brought_up_to_date_by_the_steps_that_it_lacks(store: Store) -> None:
    taken = []
    steps = (*MIGRATIONS, lambda connection: taken.append("second"), lambda connection: taken.append("third"))
    store.write(lambda connection: migrate(connection, steps[:-1]))
    store.write(lambda connection: migrate(connection, steps))
    store.write(lambda connection: migrate(connection, steps))
    assert taken == ["second", "third"]
    assert store.read(stored_version) == len(steps)


def test_a_step_that_fails_leaves_nothing_behind(store: Store) -> None:
    def half(connection):
        connection.execute(text("CREATE TABLE half (a INTEGER)"))
        raise RuntimeError("no further")

    with pytest.raises(RuntimeError, match="no further"):
        store.write(lambda connection: migrate(connection, (*MIGRATIONS, half)))
    assert store.read(stored_version) == len(MIGRATIONS)
    assert not store.read(lambda connection: inspect(connection).has_table("half"))


def test_a_newer_store_is_refused(store: Store, store_url: str) -> None:
    store.write(lambda c: c.execute(text("INSERT INTO turnwise_store_version VALUES (99)")))
    for read_only in (True, False):
        with pytest.raises(StoreError, match="version 99"):
            open_store(store_url, read_only=read_only)


@pytest.mark.parametrize(
    "event", ["UPDATE evaluation_history SET actor = 'x'", "DELETE FROM evaluation_history"]
)
def test_the_history_cannot_be_changed(store: Store, event: str) -> None:
    row = "INSERT INTO evaluation_history VALUES ('n', 1, 'e', 0, 'me', NULL, '{}', NULL)"
    store.write(lambda connection: connection.execute(text(row)))
    with pytest.raises(StoreError, match="append-only"):
        store.write(lambda connection: connection.execute(text(event)))
    assert store.read(lambda c: c.execute(text("SELECT actor FROM evaluation_history")).scalars().all()) == [
        "me"
    ]


@pytest.mark.parametrize(
    "columns", ["evaluation, revision", "rowid, evaluation, revision"], ids=["by key", "by place"]
)
def test_the_history_cannot_be_replaced_in_sqlite(tmp_path: Path, columns: str) -> None:
    store = open_store(f"sqlite:///{tmp_path}/store.db", create=True)
    row = "INSERT INTO evaluation_history VALUES ('n', 1, 'e', 0, 'me', NULL, '{}', NULL)"
    store.write(lambda connection: connection.execute(text(row)))
    place = "'n', 1" if columns == "evaluation, revision" else "1, 'm', 7"
    other = (
        f"INSERT OR REPLACE INTO evaluation_history ({columns}, etag, nanos, actor, content) "
        f"VALUES ({place}, 'e', 0, 'x', '')"
    )
    with pytest.raises(StoreError, match="append-only"):
        store.write(lambda connection: connection.execute(text(other)))
    actors = store.read(lambda c: c.execute(text("SELECT actor FROM evaluation_history")).scalars().all())
    store.close()
    assert actors == ["me"]


def test_a_read_only_store_refuses_every_change(store: Store, store_url: str) -> None:
    reader = open_store(store_url, read_only=True)
    with pytest.raises(StoreError, match=r"(?i)read.?only"):
        reader.write(lambda connection: connection.execute(text("DELETE FROM result_rows")))
    reader.close()


def test_an_empty_store_cannot_be_opened_read_only(postgres_url: str, tmp_path: Path) -> None:
    (tmp_path / "empty.db").touch()
    for url in (postgres_url, f"sqlite:///{tmp_path}/empty.db"):
        with pytest.raises(StoreError, match="run turnwise serve to create its tables"):
            open_store(url, read_only=True)


def open_and_close(_: Sequence[int], url: str, told: str) -> None:
    try:
        open_store(url, create=True).close()
        said = ""
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
    Path(told).write_text(said, encoding="utf-8")


def test_eight_processes_may_make_a_store_at_once(store_url: str, tmp_path: Path) -> None:
    told = [tmp_path / f"{number}.told" for number in range(8)]
    processes = [Fork(open_and_close, (store_url, str(path))) for path in told]
    assert [process.join(120) for process in processes] == [0] * 8
    assert [path.read_text() for path in told] == [""] * 8
    store = open_store(store_url)
    assert store.read(stored_version) == len(MIGRATIONS)
    store.close()


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("sqlite://", "in memory"),
        ("sqlite:///:memory:", "in memory"),
        ("sqlite:////no/such/place/store.db", "no such directory"),
        ("sqlite:////tmp/a.db?mode=ro", "must name a file"),
        ("sqlite://host/a.db", "must name a file"),
        ("postgresql:/h/d", "no URL"),
        ("postgresql://u:secret@h:port/d", "no URL"),
    ],
)
def test_wrong_addresses(url: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why) as caught:
        open_store(url, create=True)
    assert "secret" not in str(caught.value) and "\n" not in str(caught.value)


def test_a_file_is_made_only_where_that_is_wanted(tmp_path: Path) -> None:
    for read_only in (True, False):
        with pytest.raises(ConfigError, match="no such store"):
            open_store(f"sqlite:///{tmp_path}/a.db", read_only=read_only)
    assert list(tmp_path.iterdir()) == []


def test_errors_are_one_line_without_the_password(tmp_path: Path) -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(StoreError) as caught:
        open_store("postgresql://me:geheim@127.0.0.1:1/d")
    assert "\n" not in str(caught.value) and "geheim" not in str(caught.value)
    (tmp_path / "text.db").write_text("no database at all, but a text that is long enough to be one" * 20)
    with pytest.raises(StoreError, match="not a database"):
        open_store(f"sqlite:///{tmp_path}/text.db")


@pytest.mark.parametrize(
    ("text", "is_url"),
    [
        ("sqlite:///a.db", True),
        ("SQLITE:///a.db", True),
        ("postgres://h/d", True),
        ("postgresql+psycopg:///d?host=/tmp", True),
        ("gs://bucket/x", False),
        ("cases/", False),
        ("sqlite", False),
        ("postgresql", False),
        ("sqlite:old", False),
    ],
)
def test_what_is_a_store(text: str, is_url: bool) -> None:
    assert is_store_url(text) is is_url


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://u:p@h/d", "postgresql://u:***@h/d"),
        ("postgresql://u:p/w:x@y@h/d", "postgresql://u:***@h/d"),
        ("postgresql://:p@h/d", "postgresql://:***@h/d"),
        ("postgresql://u@h:5432/d", "postgresql://u@h:5432/d"),
        ("postgresql://h/d?user=u&password=p&x=y", "postgresql://h/d?user=u&password=***&x=y"),
        ("sqlite:////tmp/a.db", "sqlite:////tmp/a.db"),
    ],
)
def test_passwords_are_not_shown(url: str, shown: str) -> None:
    assert shown_url(url) == shown


def test_lost_connections_are_replaced(postgres_url: str) -> None:
    import psycopg

    store = open_store(postgres_url)
    assert store.read(stored_version) == len(MIGRATIONS)
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        others = "datname = current_database() AND pid <> pg_backend_pid()"
        query = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}"
        assert len(connection.execute(query).fetchall()) >= 1
    assert store.read(stored_version) == len(MIGRATIONS)
    assert store.write(stored_version) == len(MIGRATIONS)
    store.close()
