"""What is deleted is in no table and no file of the store; what is left is told."""

import json
from contextlib import closing
from time import time_ns

import pytest
from sqlalchemy import text

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
    run_ids,
)
from tests.store_rows import DOCUMENT
from turnwise.pipeline.store.database import open_store
from turnwise.pipeline.store.runs import Execution, begin

ON_SQLITE = pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
LONG = "c-" + "x" * 260


def told_of(name: str) -> str:
    return f"{SECRET} of {name}"


def holds(url: str, words: str) -> bool:
    """Returns whether a table or (SQLite) a byte of the files of a store holds a text."""
    with closing(open_store(url)) as store:
        rows = str(rows_of(store))
    return words in rows or (url.startswith("sqlite") and words.encode() in file_bytes(url))


@pytest.mark.parametrize("by", ["id", "name"])
def test_a_conversation_is_deleted_from_all_runs(filled, tend, by):
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
    assert "result_rows: 2 deleted" in done.out and "failure_rows: 2 deleted or emptied" in done.out
    assert not holds(filled, '"c-1"') and not holds(filled, f'{told_of("c-1")}"')
    assert holds(filled, told_of("c-12")) and holds(filled, told_of("c-2"))
    with closing(open_store(filled)) as store:
        after = rows_of(store)
        assert len(after["failure_rows"]) == len(before["failure_rows"]) == 6
        assert after["metric_rows"] == before["metric_rows"]
    assert tend("delete", "conversation", given).status == 1 and tend("check").status == 0


def test_a_user_is_deleted_with_all_conversations(filled, tend):
    with closing(open_store(filled)) as store:
        put_run(store, "other", NEW, {"c-3": "u-1"}, app=OTHER)
    assert tend("delete", "user", "u-1").status == 0
    assert not any(holds(filled, words) for words in (told_of("c-1") + '"', told_of("c-2"), '"u-1"', "c-3"))
    assert holds(filled, told_of("c-12")) and tend("check").status == 0
    query = "SELECT content FROM evaluation_runs WHERE run_id = 'old'"
    with closing(open_store(filled)) as store:
        document = json.loads(store.read(lambda c: c.exec_driver_sql(query).scalar_one()))
    assert document["removed_rows"] == {"conversations": 2, "passes": 2, "results": 2}


def logs() -> str:
    """Returns conversations of two users, one of which rejected a record, and a line that breaks off."""
    lines = []
    for user in ("ann@acme.example", "bob@acme.example"):
        turn = {"user": f"I am {user}, born in Łódź", "agent": f"Hello {user}.", "reference": "Hello."}
        turn["findings"] = [{"kind": "UnreadPart", "message": "an image"}]  # is no failure
        ids = {"conversation_id": f"talk {user}", "user_id": user, "app_version": "v1"}
        lines.append({**ids, "turns": [turn]})
    rejected = {"conversation_id": "c-9", "user_id": "ann@acme.example", "turns": [{"user": 7}]}
    whole = "\n".join(map(json.dumps, [*lines, rejected]))
    return f'{whole}\n{{"user_id": "ann@acme.example", "turns": [{{"us\n'


def test_nothing_of_a_user_is_left_of_a_run(store_url, turnwise, tend, tmp_path):
    (tmp_path / "logs.jsonl").write_text(logs(), encoding="utf-8")
    arguments = ("run", "--input", str(tmp_path / "logs.jsonl"), "--judge", "none", "--store", store_url)
    assert turnwise(*arguments, output=tmp_path / "out").status == 1
    assert holds(store_url, "ann@acme")
    assert tend("delete", "user", "ann@acme.example").status == 0
    assert not holds(store_url, "ann@acme") and holds(store_url, "bob@acme") and tend("check").status == 0
    listed = json.loads(tend("runs", "--json").out)
    assert (listed["rejected"], listed["failures"]) == (2, 2)
    assert tend("delete", "user", "bob@acme.example").status == 0
    assert not holds(store_url, "acme") and not holds(store_url, "dź")


@pytest.mark.parametrize("redact", [{}, {"paths": ["user_id"]}])
def test_a_user_of_a_redacted_run_goes_by_its_marker(store_url, turnwise, tend, tmp_path, redact):
    log, config = tmp_path / "logs.jsonl", tmp_path / "config.json"
    log.write_text(logs(), encoding="utf-8")
    config.write_text(json.dumps({"criteria": {"response_match_score": 1.0}, "redact": redact}))
    turnwise("run", "--input", log, "--config", config, "--store", store_url, output=tmp_path / "out")
    done = tend("delete", "user", "ann@acme.example")
    assert done.status == 0 and "conversation_rows: 1 deleted" in done.out


def test_a_run_is_deleted_in_all_apps(filled, tend):
    with closing(open_store(filled)) as store:
        before = rows_of(store)
        put_run(store, "more", NEW, app=APP)
    assert "result_rows: 3 would be deleted" in tend("delete", "run", "more", "--dry_run").out
    done = tend("delete", "run", f"{APP}/evaluationRuns/more")
    assert done.status == 0 and "evaluation_runs: 1 deleted" in done.out
    with closing(open_store(filled)) as store:
        assert rows_of(store) == before
        put_run(store, "new", NEW, app=OTHER)
    refused = tend("delete", "run", "new")
    assert refused.status == 2 and "2 runs have the id new" in refused.err and refused.err.count("\n") == 1
    assert tend("delete", "run", "new", "--app", OTHER).status == 0
    with closing(open_store(filled)) as store:
        assert rows_of(store) == before
        again = Execution("new", NEW + 5, APP, "2026-11-01")
        store.write(lambda c: begin(c, again, DOCUMENT, time_ns()))
    refused = tend("delete", "run", "new")
    assert refused.status == 2 and "has not ended" in refused.err
    with closing(open_store(filled)) as store:
        assert run_ids(store) == ["new", "old"]


def test_an_evaluation_that_names_it_is_told_and_deleted_with_its_history(filled, tend):
    with closing(open_store(filled)) as store:
        made, kept = (put_evaluation(store, *one) for one in (("made", "as in c-1."), ("kept", "c-12")))
    done = tend("delete", "conversation", "c-1")
    assert done.status == 1 and f"left: {made}: names it" in done.err and kept not in done.err
    done = tend("delete", "evaluation", made)
    assert done.status == 0 and "evaluation_history: 1 deleted" in done.out
    with closing(open_store(filled)) as store:
        assert made not in str(rows_of(store)) and kept in str(rows_of(store))
        for change in ("DELETE FROM evaluation_history", "UPDATE evaluation_history SET actor = 'x'"):
            with pytest.raises(OSError, match="append-only"):
                store.write(lambda c, change=change: c.execute(text(change)))
    assert tend("delete", "conversation", "c-1").status == 1 and tend("check").status == 0


def test_an_id_in_several_apps_must_say_which(filled, tend):
    with closing(open_store(filled)) as store:
        put_run(store, "other", OLD, {"c-1": "u-7"}, app=OTHER)
    done = tend("delete", "conversation", "c-1")
    assert done.status == 2 and APP in done.err and OTHER in done.err
    assert tend("delete", "conversation", "c-1", "--app", OTHER).status == 0
    query = text("SELECT DISTINCT app FROM conversations WHERE conversation_id = 'c-1'")
    with closing(open_store(filled)) as store:
        assert store.read(lambda c: c.execute(query).scalars().all()) == [APP]
        assert OTHER not in str(rows_of(store)["result_rows"])


FULL = f"{APP}/conversations/c-7", f"{APP}/users/u-7"


@pytest.mark.parametrize(
    "given", [("conversation", "c-7"), ("conversation", "conversations/c-7"), ("user", "u-7")], ids=str
)
def test_the_end_of_a_resource_name_is_enough_and_all_of_it_is_deleted(filled, tend, given):
    with closing(open_store(filled)) as store:
        put_run(store, "full", NEW, dict([FULL]))
        assert tend("delete", *given).status == 0
        assert not holds(filled, FULL[0]) and not holds(filled, FULL[1]) and holds(filled, told_of("c-1"))
    assert tend("delete", *given).status == 1 and tend("check").status == 0


@pytest.mark.parametrize("given", [("conversation", "c-7"), ("user", "u-7")], ids=str)
def test_the_end_of_several_names_must_say_which(filled, tend, given):
    with closing(open_store(filled)) as store:
        put_run(store, "full", NEW, dict([FULL, (f"{OTHER}/conversations/c-7", f"{OTHER}/users/u-7")]))
        before = rows_of(store)
        done = tend("delete", *given)
        assert done.status == 2 and APP in done.err and OTHER in done.err and done.err.count("\n") == 1
        assert rows_of(store) == before


def test_what_is_to_be_read_stays_with_its_conversation(filled, tend):
    """A word of what is said of a conversation is no conversation: nothing is done by halves."""
    done = tend("delete", "conversation", "X4711")
    assert done.status == 1 and "to_read" not in done.out
    assert done.err.count("names it; turnwise store delete run deletes it") == 2
    assert holds(filled, told_of("c-1") + '"') and tend("check").status == 0


@pytest.mark.parametrize("by", ["id", "user"])
def test_ids_of_over_200_characters(store_url, tend, by):
    user = LONG.replace("c-", "u-")
    with closing(open_store(store_url, create=True)) as store:
        put_run(store, "run", NEW, {LONG: user, "c-2": "u-2"})
        given = {"id": LONG, "user": user}[by]
        assert LONG in str(rows_of(store)["failure_rows"])
        assert tend("delete", "user" if by == "user" else "conversation", given).status == 0
        assert "x" * 100 not in str(rows_of(store)) and "c-2" in str(rows_of(store))


@ON_SQLITE
@pytest.mark.parametrize(
    ("arguments", "status", "why"),
    [
        (["conversation", "nobody"], 1, "nothing of conversation nobody was found"),
        (["evaluation", "nobody"], 1, "nothing of evaluation nobody was found"),
        (["conversation", " "], 2, "ID is empty"),
        (["user", "u-1", "--app", APP], 2, "in all apps"),
    ],
)
def test_what_cannot_be_deleted_changes_nothing(filled, tend, arguments, status, why):
    with closing(open_store(filled)) as store:
        before = rows_of(store)
        done = tend("delete", *arguments)
        assert done.status == status and why in done.err and done.err.count("\n") == 1
        assert rows_of(store) == before


@pytest.mark.parametrize("content", ["[", '{"to_read": 1}'])
def test_rows_that_cannot_be_read_do_not_end_a_deletion(filled, tend, content):
    with closing(open_store(filled)) as store:
        for table in ("run_executions", "failure_rows"):
            row = f"name IN (SELECT min(name) FROM {table})"
            damage = text(f"UPDATE {table} SET content = :content WHERE {row}").bindparams(content=content)
            store.write(lambda c, damage=damage: c.execute(damage))
    done = tend("delete", "conversation", "c-1")
    assert done.status == 0 and "result_rows: 2 deleted" in done.out
    assert "its run.json cannot be read" in tend("check").err
