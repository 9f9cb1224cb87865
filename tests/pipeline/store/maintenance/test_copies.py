"""An export gives an equal store, on both databases; a backup is a store."""

import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from tests.pipeline.conftest import DATABASES
from tests.pipeline.store.maintenance.conftest import (
    APP,
    NEW,
    OTHER,
    allow,
    noted,
    put_dataset,
    put_evaluation,
    put_expectation,
    put_run,
    refuse,
    rows_of,
    run_ids,
    run_sql,
)
from tests.postgres_server import created
from turnwise.pipeline.service.deletions import delete_evaluation
from turnwise.pipeline.service.service import Service
from turnwise.pipeline.store.engine import open_store
from turnwise.pipeline.store.maintenance.tables import EXPORTED, NOT_EXPORTED
from turnwise.pipeline.store.tables import METADATA
from turnwise.schemas.ces.requests import DeleteEvaluationRequest


def test_every_table_is_exported_or_says_why_not() -> None:
    assert {*EXPORTED, *NOT_EXPORTED} == {*METADATA.tables.values()}


@pytest.mark.parametrize("target", ["sqlite", "postgres"])
def test_a_store_is_equal_after_the_round_trip(
    filled: str,
    tend: Callable[..., Any],
    turnwise: Callable[..., Any],
    tmp_path: Path,
    request: pytest.FixtureRequest,
    target: str,
) -> None:
    assert tend("delete", "conversation", "c-2").status == 0
    other = f"sqlite:///{tmp_path}/other.db"
    if target == "postgres":
        other = created(request.getfixturevalue("postgres"), f"test{next(DATABASES)}")
    with closing(open_store(filled)) as store:
        put_dataset(store, "all", "All", f"{APP}/evaluations/one")
        put_expectation(store, "polite", "is polite")
    file = tmp_path / "all.zip"
    assert tend("export", str(file)).status == 0
    for _ in range(2):
        assert turnwise("store", "import", str(file), "--store", other).status == 0
    with closing(open_store(filled)) as one, closing(open_store(other)) as two:
        assert rows_of(one) == rows_of(two)
        assert set(rows_of(one)) == {table.name for table in EXPORTED} - {"evaluation_tags", "pruned_runs"}
    assert turnwise("store", "check", "--store", other).status == 0


def test_an_app_is_exported_alone(
    filled: str, tend: Callable[..., Any], turnwise: Callable[..., Any], tmp_path: Path
) -> None:
    with closing(open_store(filled)) as store:
        put_run(store, "other", NEW, {"c-9": "u-9"}, app=OTHER)
        put_evaluation(store, "two", "Hello", OTHER)
    other, file = f"sqlite:///{tmp_path}/other.db", str(tmp_path / "app.zip")
    assert tend("export", file, "--app", OTHER).status == 0
    assert turnwise("store", "import", file, "--store", other).status == 0
    with closing(open_store(other)) as store:
        found = rows_of(store)
    assert APP not in str(found) and {"c-9"} == {row[5] for row in found["score_rows"]}
    assert len(found["evaluations"]) == len(found["evaluation_history"]) == 1
    assert tend("export", file, "--app", OTHER).status == 2
    assert "nothing of it" in tend("export", str(tmp_path / "x.zip"), "--app", "projects/x").err
    assert not (tmp_path / "x.zip").exists() and not list(tmp_path.glob("*.part"))


CHANGES = [
    "UPDATE evaluations SET content = '{}'",
    "UPDATE run_executions SET state = 'ERROR' WHERE run_id = 'new'",
    "UPDATE run_executions SET execution = 7 WHERE run_id = 'new'",
]


@pytest.mark.parametrize("change", CHANGES)
def test_what_the_store_holds_otherwise_is_not_replaced(
    filled: str, tend: Callable[..., Any], tmp_path: Path, change: str
) -> None:
    assert tend("export", str(tmp_path / "all.zip")).status == 0
    with closing(open_store(filled)) as store:
        store.write(lambda c: c.execute(text(change)))
        before = rows_of(store)
        done = tend("import", str(tmp_path / "all.zip"))
        assert done.status == 2 and "the store holds another" in done.err and done.err.count("\n") == 1
        assert rows_of(store) == before


def test_another_evaluation_of_the_same_display_name_is_refused(
    filled: str, tend: Callable[..., Any], turnwise: Callable[..., Any], tmp_path: Path
) -> None:
    other, file = f"sqlite:///{tmp_path}/other.db", str(tmp_path / "all.zip")
    assert tend("export", file).status == 0
    with closing(open_store(other, create=True)) as store:
        name = put_evaluation(store, "two", "Hello")
        store.write(lambda c: c.execute(text("UPDATE evaluations SET display_name = 'one'")))
        done = turnwise("store", "import", file, "--store", other)
        assert done.status == 2 and "display name" in done.err
        assert [row[0] for row in rows_of(store)["evaluations"]] == [name]


def test_what_was_erased_is_not_imported_again(filled: str, tend: Callable[..., Any], tmp_path: Path) -> None:
    file = str(tmp_path / "all.zip")
    assert tend("export", file).status == 0
    assert tend("delete", "user", "u-1").status == 0
    with closing(open_store(filled)) as store:
        before = rows_of(store)
        done = tend("import", file)
        assert done.status == 1 and "12 rows are left out" in done.err
        assert rows_of(store) == before
    assert tend("check").status == 0


@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    "damage",
    ["empty", "cut", "row", "manifest", "text", "changed", "no_json", "no_object", "flipped", "lacking"],
)
def test_a_damaged_export_is_refused_before_anything_is_written(
    filled: str, tend: Callable[..., Any], turnwise: Callable[..., Any], tmp_path: Path, damage: str
) -> None:
    file, bad = tmp_path / "all.zip", tmp_path / "bad.zip"
    assert tend("export", str(file)).status == 0
    data = file.read_bytes()
    cut = {"empty": b"", "cut": data[:2000], "text": b"{}", "flipped": flipped(file)}
    if damage in cut:
        bad.write_bytes(cut[damage])
    else:
        write_damaged(file, bad, damage)
    done = turnwise("store", "import", str(bad), "--store", f"sqlite:///{tmp_path}/other.db")
    assert done.status == 2 and "bad.zip" in done.err and done.err.count("\n") == 1
    assert not (tmp_path / "other.db").exists()


def flipped(file: Path) -> bytes:
    """Returns the bytes of a zip file with a changed one among the compressed results."""
    with zipfile.ZipFile(file) as whole:
        place = whole.getinfo("result_rows.jsonl").header_offset + 100
    data = file.read_bytes()
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


def write_damaged(file: Path, bad: Path, damage: str) -> None:
    """Writes a zip file that is whole, of which an entry is not what the export wrote."""
    with zipfile.ZipFile(file) as whole, zipfile.ZipFile(bad, "w") as made:
        for name in whole.namelist():
            entry = whole.read(name)
            lines = entry.splitlines(keepends=True)
            if name.startswith("result_rows"):
                entry = {
                    "row": b"",
                    "changed": entry.replace(b'"PASS"', b'"FAIL"', 1),
                    "no_json": b"".join([lines[0], b"{\n", *lines[2:]]),
                    "no_object": b"".join([lines[0], b"[1]\n", *lines[2:]]),
                }.get(damage, entry)
            is_left_out = damage == "lacking" and name.startswith("pruned")
            if not is_left_out:
                made.writestr(name, b"" if (damage, name) == ("manifest", "manifest.json") else entry)


def test_an_import_that_fails_leaves_nothing(filled: str, tend: Callable[..., Any], tmp_path: Path) -> None:
    file = str(tmp_path / "all.zip")
    assert tend("export", file).status == 0
    with closing(open_store(filled)) as store:
        assert tend("prune", "--older_than", "1d").status == 0
        before = rows_of(store)
        refuse(store, "INSERT", "current_runs")
        done = tend("import", file)
        assert done.status in (1, 2) and "refused" in done.err and done.err.count("\n") == 1
        assert rows_of(store) == before
        allow(store, "current_runs")
    assert tend("import", file).status == 0 and tend("check").status == 0
    with closing(open_store(filled)) as store:
        assert run_ids(store) == ["new", "old"]


def test_what_the_store_deleted_stays_deleted(filled: str, tend: Callable[..., Any], tmp_path: Path) -> None:
    file = str(tmp_path / "all.zip")
    assert tend("export", file).status == 0
    with closing(open_store(filled)) as store:
        delete_evaluation(Service(store, "tester"), DeleteEvaluationRequest(name=f"{APP}/evaluations/one"))
        before = rows_of(store)
        done = tend("import", file)
        assert done.status == 2 and "the store holds revision 2, the export 1" in done.err
        assert rows_of(store) == before
    assert tend("check").status == 0


def test_an_import_erases_what_the_store_of_the_export_erased(
    filled: str, tend: Callable[..., Any], turnwise: Callable[..., Any], tmp_path: Path
) -> None:
    other, files = f"sqlite:///{tmp_path}/other.db", [str(tmp_path / name) for name in ("1.zip", "2.zip")]
    with closing(open_store(filled)) as store:
        made = put_evaluation(store, "made", noted("c-1"))
        kept = put_evaluation(store, "kept", noted("c-1").upper())
    assert tend("export", files[0]).status == 0
    assert turnwise("store", "import", files[0], "--store", other).status == 0
    assert tend("delete", "conversation", "c-1", "--erase", made, "--keep", kept).status == 0
    assert tend("export", files[1]).status == 0
    done = turnwise("store", "import", files[1], "--store", other)
    assert done.status == 1 and f"left: {kept}: holds words" in done.err
    assert "result_rows 2" in done.out and "failure_rows 2" in done.out and "evaluation_history 1" in done.out
    with closing(open_store(other)) as store:
        found = str(rows_of(store))
    assert '"c-1"' not in found and made not in found and '"c-12"' in found
    assert turnwise("store", "check", "--store", other).status == 0


@pytest.mark.parametrize("is_told", [False, True])
def test_an_import_tells_or_empties_failures_that_name_nobody(
    filled: str, tend: Callable[..., Any], turnwise: Callable[..., Any], tmp_path: Path, is_told: bool
) -> None:
    other, files = f"sqlite:///{tmp_path}/other.db", [str(tmp_path / name) for name in ("1.zip", "2.zip")]
    with closing(open_store(filled)) as store:
        nobody = "replace(replace(content, 'c-12', 'who'), 'u-12', 'someone')"
        record = f"UPDATE failure_rows SET content = {nobody} WHERE content LIKE '%c-12%'"
        run_sql(store, record)
    assert tend("export", files[0]).status == 0
    assert turnwise("store", "import", files[0], "--store", other).status == 0
    told = [] if is_told else ["--unattributed_failures"]
    assert tend("delete", "conversation", "c-12", *told).status == int(is_told)
    assert tend("export", files[1]).status == 0
    done = turnwise("store", "import", files[1], "--store", other)
    assert done.status == int(is_told)
    assert ("left: 2 failures hold a record" in done.err) == is_told
    assert ("failure_rows 2" in done.out.splitlines()[-1]) != is_told
    with closing(open_store(other)) as store:
        assert ("of who" in str(rows_of(store))) == is_told
    assert "not checked: whether failures" in turnwise("store", "check", "--store", other).out


def test_an_import_of_a_user_who_was_erased_tells_conversations_without_a_user(
    filled: str, tend: Callable[..., Any], turnwise: Callable[..., Any], tmp_path: Path
) -> None:
    other, file = f"sqlite:///{tmp_path}/other.db", str(tmp_path / "1.zip")
    with closing(open_store(other, create=True)) as store:
        put_run(store, "nameless", NEW, {"c-9": None}, app=OTHER)
    assert tend("delete", "user", "u-1").status == 0
    assert tend("export", file).status == 0
    done = turnwise("store", "import", file, "--store", other)
    assert done.status == 1 and "left: 1 conversations name no user" in done.err


@pytest.mark.parametrize("is_new", [False, True])
def test_an_export_that_is_older_than_an_erasure(
    filled: str, tend: Callable[..., Any], turnwise: Callable[..., Any], tmp_path: Path, is_new: bool
) -> None:
    """Rows in another app, failures that quote an id, and `to_read` are left out too."""
    own, place = str(tmp_path / "all.zip"), filled
    with closing(open_store(filled)) as store:
        put_run(store, "other", NEW, {"c-9": "u-9"}, app=OTHER)
        move = "UPDATE result_rows SET app = 'b', name = replace(name, 'apps/a', 'apps/z') "
        run_sql(store, move + "WHERE name LIKE '%old-c-1-%'")
        gone = "UPDATE failure_rows SET content = replace(content, 'c-9', 'c-1') WHERE content LIKE '%c-9%'"
        run_sql(store, gone)
        assert tend("export", own).status == 0
        assert tend("delete", "conversation", "c-1").status == 0
        for table in ("result_rows", "conversation_rows", "score_rows", "failure_rows"):
            run_sql(store, f"DELETE FROM {table}")
        run_sql(store, "DELETE FROM current_runs", "DELETE FROM run_executions", "DELETE FROM metric_rows")
        if is_new:
            assert tend("export", str(tmp_path / "record.zip")).status == 0
            place = f"sqlite:///{tmp_path}/other.db"
            record = str(tmp_path / "record.zip")
            assert turnwise("store", "import", record, "--store", place).status == 0
        done = turnwise("store", "import", own, "--store", place)
        assert done.status == 1 and "6 rows are left out and 5 emptied" in done.err, done.err
    with closing(open_store(place)) as store:
        found = rows_of(store)
    assert "of c-1'" not in str(found).replace('"', "'") and '"c-1"' not in str(found)
    assert len(found["failure_rows"]) == 7


def test_a_backup_is_a_store(
    filled: str, tend: Callable[..., Any], turnwise: Callable[..., Any], tmp_path: Path
) -> None:
    copy = tmp_path / "copy.db"
    done = tend("backup", str(copy))
    if filled.startswith("postgresql"):
        assert done.status == 2 and "pg_dump" in done.err
        return
    assert done.status == 0 and [file.name for file in tmp_path.glob("copy.db*")] == ["copy.db"]
    with closing(open_store(filled)) as one, closing(open_store(f"sqlite:///{copy}")) as two:
        assert rows_of(one) == rows_of(two)
    again = tend("backup", str(copy))
    assert again.status == 2 and "exists already" in again.err
