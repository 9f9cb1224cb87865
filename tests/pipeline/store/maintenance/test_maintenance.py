"""Old runs go, a store that is not sound is not called so, and the file holds all of a run that ended."""

import shutil
import sqlite3
from contextlib import closing, nullcontext
from pathlib import Path
from time import time_ns

import pytest

from tests.pipeline.store.maintenance.conftest import (
    APP,
    DAY,
    NEW,
    OLD,
    OTHER,
    conversation_row,
    put_run,
    rows_of,
    run_ids,
)
from tests.store_rows import DOCUMENT, ENDED
from turnwise.pipeline.io.store import complete_run
from turnwise.pipeline.settings.options import SinkPlace
from turnwise.pipeline.store.database import CONVERSATION_ROWS, close_shared_stores, open_store
from turnwise.pipeline.store.maintenance import old_runs
from turnwise.pipeline.store.rows import conversation_columns
from turnwise.pipeline.store.runs import begin, complete, write_rows
from turnwise.schemas.proto.scalars import nanos_timestamp

ON_SQLITE = pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)


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


@ON_SQLITE
def test_damaged_pages_are_told_and_not_copied(filled, turnwise, tmp_path):
    path = Path(filled.removeprefix("sqlite:///"))
    with closing(sqlite3.connect(path)) as connection:
        page = "SELECT rootpage FROM sqlite_master WHERE name = 'score_rows_by_day'"
        (number,), (size,) = (connection.execute(query).fetchone() for query in (page, "PRAGMA page_size"))
    with open(path, "r+b") as file:
        file.seek((number - 1) * size)
        file.write(b"\xff" * 200)
    done = turnwise("store", "check", "--store", filled)
    assert done.status == 1 and "pages of the file: " in done.out and "sound" in done.out
    assert "pages of the file: sound" not in done.out and "Traceback" not in done.err
    copied = turnwise("store", "backup", tmp_path / "copy.db", "--store", filled)
    assert copied.status == 1 and copied.err.count("\n") == 1 and not list(tmp_path.glob("copy.db*"))


@ON_SQLITE
def test_a_backup_is_a_store(filled, turnwise, tmp_path):
    copy = tmp_path / "copy.db"
    assert turnwise("store", "backup", copy, "--store", filled).status == 0
    assert [file.name for file in tmp_path.glob("copy.db*")] == ["copy.db"]
    with closing(open_store(filled)) as store, closing(open_store(f"sqlite:///{copy}")) as copied:
        assert rows_of(store) == rows_of(copied)
    assert turnwise("store", "check", "--store", f"sqlite:///{copy}").status == 0
    for place, why in ((copy, "exists already"), (tmp_path / "no" / "copy.db", "no such directory")):
        refused = turnwise("store", "backup", place, "--store", filled)
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
