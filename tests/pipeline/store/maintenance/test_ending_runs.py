"""A run that ends leaves all of it in the file of its store."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, nullcontext
from pathlib import Path

import pytest

from tests.pipeline.store.maintenance.conftest import APP, NEW, put_run, run_ids
from tests.store_rows import ENDED
from turnwise.pipeline.io.store import complete_run
from turnwise.pipeline.settings.options import SinkPlace
from turnwise.pipeline.store.database import close_shared_stores, open_store
from turnwise.schemas.proto.scalars import nanos_timestamp


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    close_shared_stores()


def end_run(url: str, run: str) -> None:
    """Writes a run and ends it as a batch does."""
    with closing(open_store(url)) as store:
        put_run(store, run, NEW, ends=False)
    complete_run(SinkPlace(url, APP, run, nanos_timestamp(NEW), "2026-11-18", "out"), ENDED)


@pytest.mark.parametrize("is_read", [False, True])
@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
def test_the_file_alone_holds_a_run_that_ended(filled, tmp_path, is_read):
    file, copy = filled.removeprefix("sqlite:///"), tmp_path / "copy.db"
    with closing(open_store(filled, read_only=True)) if is_read else nullcontext() as other:
        if other is not None:
            assert run_ids(other) == ["new", "old"]
        end_run(filled, "last")
        assert Path(f"{file}-wal").exists() == is_read
        shutil.copy(file, copy)
    with closing(sqlite3.connect(copy)) as connection:
        ended = "SELECT state, results FROM evaluation_runs WHERE run_id = 'last'"
        assert connection.execute(ended).fetchall() == [("COMPLETED", 3)]
