"""Old runs go, a store that is not sound is not called so, and the file holds all of a run that ended."""

import shutil
import sqlite3
from contextlib import closing, nullcontext
from pathlib import Path
from time import time_ns

import pytest
from sqlalchemy import delete, text

from tests.pipeline.store.maintenance.conftest import (
    APP,
    DAY,
    NEW,
    OLD,
    OTHER,
    conversation_row,
    file_bytes,
    put_run,
    rows_of,
    run_ids,
    run_sql,
)
from tests.store_rows import DOCUMENT, ENDED
from turnwise.pipeline.io.store import complete_run
from turnwise.pipeline.settings.options import SinkPlace
from turnwise.pipeline.store.database import CONVERSATION_ROWS, EXECUTIONS, close_shared_stores, open_store
from turnwise.pipeline.store.maintenance import old_runs
from turnwise.pipeline.store.rows import conversation_columns
from turnwise.pipeline.store.runs import Execution, begin, complete, write_rows
from turnwise.schemas.proto.scalars import nanos_timestamp

ON_SQLITE = pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
AGE = f"{(time_ns() - OLD) // DAY - 1}d"
ROWS = ("result_rows", "conversation_rows", "score_rows", "failure_rows", "metric_rows")
COUNTS = {**dict.fromkeys(ROWS, 3), "metric_rows": 1}


def test_a_run_goes_with_its_rows_and_nothing_else_does(filled, tend):
    with closing(open_store(filled)) as store:
        before = rows_of(store)
        dry = tend("prune", "--older_than", AGE, "--dry_run")
        assert dry.status == 0 and f"COMPLETED {APP}/evaluationRuns/old" in dry.out and "/new" not in dry.out
        assert "1 run before" in dry.out and "result_rows 3" in dry.out
        assert rows_of(store) == before
        assert tend("prune", "--older_than", AGE).status == 0
        assert run_ids(store) == ["new"]
        after = rows_of(store)
    assert {name: len(before[name]) - len(after[name]) for name in ROWS} == COUNTS
    assert after["evaluation_history"] == before["evaluation_history"]
    assert b"evaluationRuns/old" not in (file_bytes(filled) if filled.startswith("sqlite") else b"")


@pytest.mark.parametrize("wrote", [0, 2])
def test_a_run_that_may_still_be_written_stays(store_url, tend, wrote):
    with closing(open_store(store_url, create=True)) as store:
        put_run(store, "old", OLD)
        again = Execution("old", OLD + 5, APP, "2026-11-01")
        nanos = time_ns() - wrote * DAY
        store.write(lambda c: begin(c, again, DOCUMENT, nanos))
        assert tend("prune", "--older_than", "1d").status == 0
        assert run_ids(store) == ([] if wrote else ["old"])


def test_a_run_that_holds_rows_of_one_that_may_still_be_written_stays(store_url):
    """Two apps have a run of one id, and the run of one app wrote rows of the other."""
    with closing(open_store(store_url, create=True)) as store:
        execution, now = put_run(store, "old", OLD, ends=False), time_ns()
        row = conversation_columns(conversation_row("old", "c-9", None), OTHER, OLD)
        store.write(lambda c: write_rows(c, execution, CONVERSATION_ROWS, [row], OLD))
        store.write(lambda c: complete(c, execution, ENDED, OLD))
        put_run(store, "old", OLD + 5, app=OTHER)
        store.write(lambda c: begin(c, execution._replace(number=OLD + 9), DOCUMENT, now))
        for before, at, names in (
            (6, now, []),
            (6, now + 2 * DAY, [f"{OTHER}/evaluationRuns/old"]),
            (5, now + 2 * DAY, []),
        ):
            old = store.read(lambda c, before=before, at=at: old_runs(c, OLD + before, at))
            assert [run.name for run in old] == names, (before, at)


def test_a_killed_deletion_leaves_nothing_that_is_read_and_the_next_one_ends_it(filled, tend):
    with closing(open_store(filled)) as store:
        store.write(lambda c: c.execute(delete(EXECUTIONS).where(EXECUTIONS.c.run_id == "old")))
        store.write(lambda c: c.execute(text("DELETE FROM current_runs WHERE name LIKE '%/old'")))
        assert run_ids(store) == ["new"]
        found = tend("check")
        assert found.status == 1 and "evaluationRuns/old: 16 rows belong to no execution" in found.err
        assert tend("prune", "--older_than", "9999d").status == 0
        assert {name: len(rows_of(store)[name]) for name in ROWS} == COUNTS
    assert tend("check").status == 0


@ON_SQLITE
@pytest.mark.parametrize("age", ["90", "0d"])
def test_what_is_no_age_is_refused(filled, tend, age):
    done = tend("prune", "--older_than", age)
    assert done.status == 2 and "no number of days" in done.err and done.err.count("\n") == 1


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
        ("DELETE FROM run_executions WHERE run_id = 'old'", f"{RUN}: the execution that is read is not"),
        ("UPDATE run_executions SET execution = 1 WHERE run_id = 'old'", "rows belong to no execution"),
        ("UPDATE run_executions SET content = '[' WHERE run_id = 'old'", "its run.json cannot be read"),
    ],
)
def test_what_is_wrong_is_told(filled, tend, change, why):
    with closing(open_store(filled)) as store:
        run_sql(store, change)
    done = tend("check")
    assert done.status == 1 and why in done.err and "Traceback" not in done.err


@ON_SQLITE
def test_damaged_pages_are_told_and_not_copied(filled, tend, tmp_path):
    path = Path(filled.removeprefix("sqlite:///"))
    with closing(sqlite3.connect(path)) as connection:
        page = "SELECT rootpage FROM sqlite_master WHERE name = 'score_rows_by_day'"
        (number,), (size,) = (connection.execute(query).fetchone() for query in (page, "PRAGMA page_size"))
    with open(path, "r+b") as file:
        file.seek((number - 1) * size)
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


@pytest.mark.parametrize("is_read", [False, True])
@ON_SQLITE
def test_the_file_alone_holds_a_run_that_ended(filled, tmp_path, is_read):
    file, copy = filled.removeprefix("sqlite:///"), tmp_path / "copy.db"
    with closing(open_store(filled, read_only=True)) if is_read else nullcontext() as other:
        if other is not None:
            assert run_ids(other) == ["new", "old"]
        with closing(open_store(filled)) as store:
            put_run(store, "last", NEW, ends=False)
        try:
            complete_run(SinkPlace(filled, APP, "last", nanos_timestamp(NEW), "2026-11-18", "out"), ENDED)
            assert Path(f"{file}-wal").exists() == is_read
            shutil.copy(file, copy)
        finally:
            close_shared_stores()
    with closing(sqlite3.connect(copy)) as connection:
        ended = "SELECT state, results FROM evaluation_runs WHERE run_id = 'last'"
        assert connection.execute(ended).fetchall() == [("COMPLETED", 3)]
