"""What is erased is in no table and no file of the store; what is left is told."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import inspect, or_, select, text

from tests.pipeline.store.maintenance.conftest import (
    APP,
    NEW,
    OLD,
    OTHER,
    SECRET,
    file_bytes,
    put_evaluation,
    put_run,
    rows_of,
)
from turnwise.pipeline.store.engine import open_store
from turnwise.pipeline.store.maintenance.erasure import HOLDING
from turnwise.pipeline.store.maintenance.mentions import Mentions
from turnwise.pipeline.store.tables import FAILURE_ROWS
from turnwise.transforms.judging.places.sqlite_file import open_cache_file

ON_SQLITE = pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)


def told_of(name: str) -> str:
    return f"{SECRET} of {name}"


def holds(url: str, words: str) -> bool:
    """Returns whether a table or (SQLite) a byte of the files of a store holds a text."""
    with closing(open_store(url)) as store:
        rows = str(rows_of(store))
    return words in rows or (url.startswith("sqlite") and words.encode() in file_bytes(url))


@pytest.mark.parametrize("by", ["id", "name"])
def test_a_conversation_is_erased_from_all_runs(filled: str, tend: Callable[..., Any], by: str) -> None:
    query = text("SELECT name FROM conversations WHERE conversation_id = 'c-1' ORDER BY name")
    with closing(open_store(filled)) as store:
        before = rows_of(store)
        name = store.read(lambda c: c.execute(query).scalars().first())
    assert holds(filled, '"c-1"') and holds(filled, told_of("c-1"))
    given = "c-1" if by == "id" else name
    dry = tend("delete", "conversation", given, "--dry_run")
    with closing(open_store(filled)) as store:
        assert dry.status == 0 and rows_of(store) == before
    done = tend("delete", "conversation", given)
    assert done.status == 0 and set(dry.out.replace("would be ", "").splitlines()) <= {*done.out.splitlines()}
    assert "result_rows: 2 erased" in done.out and "failure_rows: 2 erased" in done.out
    assert not holds(filled, '"c-1"') and not holds(filled, f'{told_of("c-1")}"')
    assert holds(filled, told_of("c-12")) and holds(filled, told_of("c-2"))
    with closing(open_store(filled)) as store:
        after = rows_of(store)
        assert len(after["failure_rows"]) == len(before["failure_rows"]) == 6
        assert after["metric_rows"] == before["metric_rows"] and len(after["erasures"]) == 1
    assert tend("delete", "conversation", given).status == 1


def test_a_user_is_erased_with_all_conversations(filled: str, tend: Callable[..., Any]) -> None:
    assert tend("delete", "user", "u-1").status == 0
    assert not any(holds(filled, words) for words in (told_of("c-1") + '"', told_of("c-2"), '"u-1"', "c-2"))
    assert holds(filled, told_of("c-12"))
    with closing(open_store(filled)) as store:
        kinds = sorted(row[2] for row in rows_of(store)["erasures"])
    assert kinds == ["conversation", "conversation", "user"]


def test_conversations_without_a_known_user_are_counted(filled: str, tend: Callable[..., Any]) -> None:
    with closing(open_store(filled)) as store:
        put_run(store, "more", NEW + 1, {"c-5": None})
        early = text("UPDATE conversation_rows SET user_id = NULL WHERE conversation_id = 'c-12'")
        store.write(lambda c: c.execute(early))
    done = tend("delete", "user", "u-1")
    assert done.status == 1
    assert "2 conversations were written by an earlier version" in done.err
    assert "1 conversations name no user" in done.err


def test_evaluations_that_quote_it_are_told_and_erased_with_their_history(
    filled: str, tend: Callable[..., Any]
) -> None:
    with closing(open_store(filled)) as store:
        made, named, kept = (
            put_evaluation(store, *one)
            for one in (("made", told_of("c-1").upper()), ("named", "from c-1"), ("kept", told_of("c-1")))
        )
    options = ("--erase", made, named)
    dry = tend("delete", "conversation", "c-1", "--dry_run")
    assert dry.status == 1 and all(f"left: {name}: " in dry.err for name in (made, named, kept))
    done = tend("delete", "conversation", "c-1", *options, "--keep", kept)
    assert done.status == 0 and "evaluation_history: 2 erased" in done.out
    with closing(open_store(filled)) as store:
        assert made not in str(rows_of(store)) and kept in str(rows_of(store))
        with pytest.raises(OSError, match="append-only"):
            store.write(lambda c: c.execute(text("DELETE FROM evaluation_history")))
    assert tend("check").status == 0


@pytest.mark.parametrize("count", [1, 200, 201, 5_000])
def test_any_number_of_ids_is_searched(filled: str, count: int) -> None:
    mentions = Mentions([f"id-{number}" for number in range(count)])
    columns = FAILURE_ROWS.c.content, FAILURE_ROWS.c.source, FAILURE_ROWS.c.stage
    may_be = or_(*(mentions.may_be_in(column) for column in columns))
    with closing(open_store(filled)) as store:
        store.read(lambda c: c.execute(select(FAILURE_ROWS.c.name).where(may_be)).all())
    assert mentions.are_in(f"of id-{count - 1}.") and not mentions.are_in(f"of id-{count}.")


def test_an_id_in_several_apps_must_say_which(filled: str, tend: Callable[..., Any]) -> None:
    with closing(open_store(filled)) as store:
        put_run(store, "other", OLD, {"c-1": "u-7"}, app=OTHER)
    done = tend("delete", "conversation", "c-1")
    assert done.status == 2 and APP in done.err and OTHER in done.err
    assert tend("delete", "conversation", "c-1", "--app", OTHER).status == 0
    query = text("SELECT DISTINCT app FROM conversations WHERE conversation_id = 'c-1'")
    with closing(open_store(filled)) as store:
        assert store.read(lambda c: c.execute(query).scalars().all()) == [APP]
        assert OTHER not in str(rows_of(store)["result_rows"])


def test_what_comes_back_is_noticed(filled: str, tend: Callable[..., Any]) -> None:
    assert tend("delete", "conversation", "c-1").status == 0 and tend("check").status == 0
    with closing(open_store(filled)) as store:
        put_run(store, "again", NEW + 1)
    done = tend("check")
    assert done.status == 1 and "1 erased conversations are in the store again: c-1" in done.err


@ON_SQLITE
def test_judge_caches_of_its_runs_are_told_and_emptied(
    filled: str, tend: Callable[..., Any], tmp_path: Path
) -> None:
    cache = tmp_path / "judge.sqlite"
    with closing(open_cache_file(str(cache))) as connection:
        connection.execute("INSERT INTO replies VALUES (x'00', 0, ?, 'm', 1, 1)", (told_of("c-1"),))
    with closing(open_store(filled)) as store:
        document = '{"config": {"judge": {"cache": "' + str(cache) + '"}}}'
        query = text("UPDATE run_executions SET content = :document")
        store.write(lambda c: c.execute(query, {"document": document}))
    assert str(cache) in tend("delete", "conversation", "c-2").err
    assert tend("delete", "conversation", "c-1", "--judge_cache", str(cache)).status == 0
    with closing(sqlite3.connect(cache)) as connection:
        assert connection.execute("SELECT count(*) FROM replies").fetchone() == (0,)
    assert SECRET.encode() not in b"".join(file.read_bytes() for file in tmp_path.glob("judge.sqlite*"))


@ON_SQLITE
@pytest.mark.parametrize(
    ("arguments", "status", "why"),
    [
        (["conversation", "nobody"], 1, "nothing of conversation nobody was found"),
        (["user", "nobody"], 1, "nothing of user nobody was found"),
        (["conversation", " "], 2, "ID is empty"),
        (["user", "u-1", "--app", APP], 2, "in all apps"),
        (["conversation", "c-1", "--erase", "made-up"], 2, "no such evaluation"),
        (["conversation", "c-1", "--judge_cache", "/nowhere"], 2, "no such file"),
        (["run", "old"], 2, "invalid choice"),
    ],
)
def test_what_cannot_be_erased_changes_nothing(
    filled: str, tend: Callable[..., Any], arguments: list[str], status: int, why: str
) -> None:
    with closing(open_store(filled)) as store:
        before = rows_of(store)
        done = tend("delete", *arguments)
        assert done.status == status and why in done.err and done.err.count("\n") == 1
        assert rows_of(store) == before


@pytest.mark.parametrize("content", ["[", '{"config": 1}', '{"to_read": 1}'])
def test_rows_that_cannot_be_read_do_not_end_an_erasure_and_are_told(
    filled: str, tend: Callable[..., Any], content: str
) -> None:
    with closing(open_store(filled)) as store:
        for table in ("run_executions", "failure_rows"):
            row = f"name IN (SELECT min(name) FROM {table})"
            damage = text(f"UPDATE {table} SET content = :content WHERE {row}").bindparams(content=content)
            store.write(lambda c, damage=damage: c.execute(damage))
    done = tend("delete", "conversation", "c-1")
    assert done.status == 1 and "result_rows: 2 erased" in done.out and "Traceback" not in done.err
    for table in ("run_executions", "failure_rows"):
        assert f"left: 1 rows of {table} cannot be read" in done.err
        assert f"1 rows of {table} cannot be read, and may mention" in tend("check").err


def test_an_evaluation_that_cannot_be_read_is_one_line(filled: str, tend: Callable[..., Any]) -> None:
    with closing(open_store(filled)) as store:
        store.write(lambda c: c.execute(text("UPDATE evaluations SET content = '['")))
    done = tend("delete", "conversation", "c-1")
    assert done.status != 0 and done.err.count("\n") == 1 and "cannot be read" in done.err


def test_rows_of_a_conversation_are_found_by_an_index(filled: str) -> None:
    starts = (["conversation_id"], ["app", "conversation_id"])
    with closing(open_store(filled)) as store:
        for table in HOLDING:
            found = store.read(lambda connection, name=table.name: inspect(connection).get_indexes(name))
            columns = [index["column_names"] for index in found]
            assert any(own[: len(start)] == start for own in columns for start in starts), table.name
