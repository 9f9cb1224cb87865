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
    put_dataset,
    put_evaluation,
    put_expectation,
    put_run,
    rows_of,
)
from tests.postgres_server import created
from turnwise.pipeline.store.engine import open_store
from turnwise.pipeline.store.maintenance.tables import EXPORTED, NOT_EXPORTED
from turnwise.pipeline.store.tables import METADATA


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
        assert done.status == 1 and "16 rows are left out" in done.err
        assert rows_of(store) == before
    assert tend("check").status == 0


@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("damage", ["empty", "cut", "row", "manifest", "text"])
def test_a_damaged_export_is_refused(
    filled: str, tend: Callable[..., Any], tmp_path: Path, damage: str
) -> None:
    file, bad = tmp_path / "all.zip", tmp_path / "bad.zip"
    assert tend("export", str(file)).status == 0
    if damage in ("row", "manifest"):
        with zipfile.ZipFile(file) as whole, zipfile.ZipFile(bad, "w") as made:
            for name in whole.namelist():
                left_out = name.startswith("result_rows" if damage == "row" else "manifest")
                made.writestr(name, b"" if left_out else whole.read(name))
    else:
        data = file.read_bytes()
        bad.write_bytes({"empty": b"", "cut": data[:2000], "text": b"{}"}[damage])
    done = tend("import", str(bad))
    assert done.status == 2 and "bad.zip" in done.err and done.err.count("\n") == 1


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
