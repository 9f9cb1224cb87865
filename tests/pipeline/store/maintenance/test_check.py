"""A store that is not sound is not called sound; a copy of it is not kept."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.pipeline.store.maintenance.conftest import APP, rows_of, run_sql
from turnwise.pipeline.store.database import open_store

RUN = f"{APP}/evaluationRuns/old"


def test_a_sound_store_is_sound(filled, tend):
    done = tend("check")
    assert (done.status, done.err) == (0, "") and "counts of runs: sound" in done.out
    assert ("pages of the file: sound" in done.out) == filled.startswith("sqlite")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("DELETE FROM result_rows WHERE evaluation_run LIKE '%/old'", "counted 3 results, but 0 are there"),
        ("UPDATE result_rows SET evaluation_status = 'FAIL'", "counted 3 passes, but 0 are there"),
        ("DELETE FROM conversation_rows", "counted 3 conversations, but 0 are there"),
        (
            "DELETE FROM run_executions WHERE run_id = 'old'",
            f"{RUN}: the execution that is read is not there",
        ),
        ("UPDATE run_executions SET execution = 1 WHERE run_id = 'old'", "rows belong to no execution"),
        ("UPDATE run_executions SET content = '[' WHERE run_id = 'old'", "its run.json cannot be read"),
    ],
)
def test_what_is_wrong_is_told(filled, tend, change, why):
    with closing(open_store(filled)) as store:
        run_sql(store, change)
    done = tend("check")
    assert done.status == 1 and why in done.err and "Traceback" not in done.err


@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
def test_damaged_pages_are_told_and_not_copied(filled, tend, tmp_path):
    path = Path(filled.removeprefix("sqlite:///"))
    with closing(sqlite3.connect(path)) as connection:
        page = "SELECT rootpage FROM sqlite_master WHERE name = 'score_rows_by_day'"
        place = (connection.execute(page).fetchone()[0] - 1) * connection.execute(
            "PRAGMA page_size"
        ).fetchone()[0]
    with open(path, "r+b") as file:
        file.seek(place)
        file.write(b"\xff" * 200)
    done = tend("check")
    assert done.status == 1 and "pages of the file: " in done.out and "sound" in done.out
    assert "pages of the file: sound" not in done.out and "Traceback" not in done.err
    copied = tend("backup", str(tmp_path / "copy.db"))
    assert copied.status == 1 and copied.err.count("\n") == 1 and not list(tmp_path.glob("copy.db*"))


def test_a_backup_is_a_store(filled, tend, turnwise, tmp_path):
    copy = tmp_path / "copy.db"
    done = tend("backup", str(copy))
    if filled.startswith("postgresql"):
        assert done.status == 2 and "pg_dump" in done.err
        return
    assert done.status == 0 and [file.name for file in tmp_path.glob("copy.db*")] == ["copy.db"]
    with closing(open_store(filled)) as one, closing(open_store(f"sqlite:///{copy}")) as two:
        assert rows_of(one) == rows_of(two)
    assert turnwise("store", "check", "--store", f"sqlite:///{copy}").status == 0
    for place, why in ((copy, "exists already"), (tmp_path / "no" / "copy.db", "no such directory")):
        refused = tend("backup", str(place))
        assert refused.status == 2 and why in refused.err
