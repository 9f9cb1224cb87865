"""A store that is not sound is not called sound."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from tests.pipeline.store.maintenance.conftest import NEW, put_run
from turnwise.pipeline.store.engine import open_store


def test_a_sound_store_is_sound(filled: str, tend: Callable[..., Any]) -> None:
    done = tend("check")
    assert done.status == 0 and done.err == "" and "rows and executions: sound" in done.out
    assert ("not checked: pages" in done.out) == filled.startswith("postgresql")


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        ("DROP VIEW latest_scores", "the view latest_scores is missing"),
        ("DROP TABLE pruned_runs", "the table pruned_runs is missing"),
        ("DELETE FROM current_runs", "no execution of it is read"),
        ("UPDATE current_runs SET execution = 7", "the execution that is read is not there"),
        ("UPDATE evaluations SET content = '{}'", "its newest revision is not in the history"),
        ("DELETE FROM run_executions", "rows belong to no execution"),
    ],
)
def test_damage_is_told(filled: str, tend: Callable[..., Any], damage: str, why: str) -> None:
    with closing(open_store(filled)) as store:
        store.write(lambda c: c.execute(text(damage)))
    done = tend("check")
    assert done.status == 1 and why in done.err


def test_a_trigger_that_is_missing_is_told(filled: str, tend: Callable[..., Any]) -> None:
    drop = "DROP TRIGGER evaluation_history_update"
    if filled.startswith("postgresql"):
        drop = "ALTER TABLE evaluation_history DISABLE TRIGGER evaluation_history_refuse"
    with closing(open_store(filled)) as store:
        store.write(lambda c: c.execute(text(drop)))
    done = tend("check")
    assert done.status == 1 and "the trigger evaluation_history_" in done.err


def test_a_run_that_was_killed_is_told(filled: str, tend: Callable[..., Any]) -> None:
    with closing(open_store(filled)) as store:
        put_run(store, "killed", NEW - 10**9, ends=False)
        query = "UPDATE run_executions SET update_nanos = 1 WHERE run_id = 'killed'"
        store.write(lambda c: c.execute(text(query)))
    done = tend("check")
    assert done.status == 1 and "killed: is RUNNING and wrote nothing for 24 hours" in done.err


def test_a_file_that_is_cut_is_not_sound(
    sqlite_url: str, turnwise: Callable[..., Any], tmp_path: Path
) -> None:
    with closing(open_store(sqlite_url, create=True)) as store:
        put_run(store, "new", NEW)
    path = Path(sqlite_url.removeprefix("sqlite:///"))
    path.write_bytes(path.read_bytes()[:60_000])
    done = turnwise("store", "check", "--store", sqlite_url)
    assert done.status == 1 and done.err
