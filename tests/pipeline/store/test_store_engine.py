"""Stores are made, refused, opened by many at once, and say in one line what is wrong."""

from pathlib import Path

import pytest
from sqlalchemy import create_engine, inspect, text

from tests.forked import Fork
from turnwise.pipeline.store.database import SCHEMA_VERSION, open_store, stored_version
from turnwise.pipeline.store.urls import StoreError, driver_url
from turnwise.schemas.config import ConfigError
from turnwise.schemas.jsonio import shown_url


@pytest.mark.parametrize("version", [1, SCHEMA_VERSION + 1])
def test_a_store_of_another_version_is_refused_and_left_as_it_is(
    store, store_url, turnwise, tmp_path, version
):
    store.write(lambda c: c.execute(text("UPDATE turnwise_store_version SET version = :n"), {"n": version}))
    for read_only in (True, False):
        with pytest.raises(ConfigError, match=f"version {version}, and this turnwise uses {SCHEMA_VERSION}"):
            open_store(store_url, read_only=read_only)
    (tmp_path / "logs.jsonl").write_text('{"conversation_id": "c", "turns": [{"user": "a", "agent": "b"}]}\n')
    run = ("run", "--judge", "none", "--input", str(tmp_path / "logs.jsonl"))
    for command in (
        ("store", "check", "--store", store_url),
        (*run, "--store", store_url),
        (*run, "--eval_cases", store_url),
        ("serve", "--store", store_url),
    ):
        done = turnwise(*command, **({"output": tmp_path / "out"} if command[0] == "run" else {}))
        assert done.status == 2 and "score the logs again into a new store" in done.err, command
        assert done.err.count("\n") == 1
    assert store.read(stored_version) == version and not (tmp_path / "out").exists()


def test_a_table_of_another_program_is_not_taken_for_one_of_a_store(store_url):
    engine = create_engine(driver_url(store_url))
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE evaluations (name TEXT)"))
    with pytest.raises(StoreError, match=r"evaluations\W* already exists"):
        open_store(store_url, create=True)
    with engine.begin() as connection:
        assert inspect(connection).get_table_names() == ["evaluations"]
    engine.dispose()


REVISION = (
    "INSERT INTO evaluation_history (evaluation, revision, etag, nanos, actor, content) "
    "VALUES ('n', 1, 'e', 0, 'me', '{}')"
)


@pytest.mark.parametrize(
    "event", ["UPDATE evaluation_history SET actor = 'x'", "DELETE FROM evaluation_history"]
)
def test_the_history_cannot_be_changed(store, event):
    store.write(lambda connection: connection.execute(text(REVISION)))
    with pytest.raises(StoreError, match="append-only"):
        store.write(lambda connection: connection.execute(text(event)))
    assert store.read(lambda c: c.execute(text("SELECT actor FROM evaluation_history")).scalars().all()) == [
        "me"
    ]


def test_a_read_only_store_refuses_every_change(store, store_url):
    reader = open_store(store_url, read_only=True)
    with pytest.raises(StoreError, match=r"(?i)read.?only"):
        reader.write(lambda connection: connection.execute(text("DELETE FROM result_rows")))
    reader.close()


def test_an_empty_store_cannot_be_opened_read_only(postgres_url, tmp_path):
    (tmp_path / "empty.db").touch()
    for url in (postgres_url, f"sqlite:///{tmp_path}/empty.db"):
        with pytest.raises(StoreError, match="run turnwise serve to create its tables"):
            open_store(url, read_only=True)


def open_and_close(_, url, told):
    try:
        open_store(url, create=True).close()
        said = ""
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
    Path(told).write_text(said, encoding="utf-8")


def test_eight_processes_may_make_a_store_at_once(store_url, tmp_path):
    told = [tmp_path / f"{number}.told" for number in range(8)]
    processes = [Fork(open_and_close, (store_url, str(path))) for path in told]
    assert [process.join(120) for process in processes] == [0] * 8
    assert [path.read_text() for path in told] == [""] * 8
    store = open_store(store_url)
    assert store.read(stored_version) == SCHEMA_VERSION
    store.close()


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("sqlite://", "in memory"),
        ("sqlite:////tmp/a.db?mode=ro", "must name a file"),
        ("sqlite://host/a.db", "must name a file"),
        ("postgresql://u:secret@h:port/d", "no URL"),
    ],
)
def test_wrong_addresses(url, why):
    with pytest.raises(ConfigError, match=why) as caught:
        open_store(url, create=True)
    assert "secret" not in str(caught.value) and "\n" not in str(caught.value)


def test_a_file_is_made_only_where_that_is_wanted(tmp_path):
    for read_only in (True, False):
        with pytest.raises(ConfigError, match="no such store"):
            open_store(f"sqlite:///{tmp_path}/a.db", read_only=read_only)
    assert list(tmp_path.iterdir()) == []


def test_errors_are_one_line_without_the_password(tmp_path):
    pytest.importorskip("psycopg")
    with pytest.raises(StoreError) as caught:
        open_store("postgresql://me:geheim@127.0.0.1:1/d")
    assert "\n" not in str(caught.value) and "geheim" not in str(caught.value)
    (tmp_path / "text.db").write_text("no database at all, but a text that is long enough to be one" * 20)
    with pytest.raises(StoreError, match="not a database"):
        open_store(f"sqlite:///{tmp_path}/text.db")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://u:p/w:x@y@h/d", "postgresql://u:***@h/d"),
        ("postgresql://:p@h/d", "postgresql://:***@h/d"),
        ("postgresql://h/d?user=u&password=p&x=y", "postgresql://h/d?user=u&password=***&x=y"),
    ],
)
def test_passwords_are_not_shown(url, shown):
    assert shown_url(url) == shown


def test_lost_connections_are_replaced(postgres_url):
    import psycopg

    store = open_store(postgres_url)
    assert store.read(stored_version) == SCHEMA_VERSION
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        others = "datname = current_database() AND pid <> pg_backend_pid()"
        query = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}"
        assert len(connection.execute(query).fetchall()) >= 1
    assert store.read(stored_version) == SCHEMA_VERSION
    assert store.write(stored_version) == SCHEMA_VERSION
    store.close()
