"""Old runs are deleted with their rows, or all but their metrics, and no others."""

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from time import time_ns
from typing import Any

import pytest
from sqlalchemy import delete, select, text

from tests.pipeline.store.maintenance.conftest import (
    APP,
    DAY,
    OLD,
    OTHER,
    SECRET,
    conversation_row,
    file_bytes,
    put_run,
    rows_of,
    run_ids,
)
from tests.store_rows import DOCUMENT
from turnwise.pipeline.store.conversations import conversation_columns
from turnwise.pipeline.store.engine import open_store
from turnwise.pipeline.store.executions import (
    Execution,
    begin,
    break_off,
    complete,
    delete_superseded,
    write_rows,
)
from turnwise.pipeline.store.failures import write_replaced
from turnwise.pipeline.store.maintenance.retention import Retention, apply_retention, write_retention
from turnwise.pipeline.store.tables import (
    CONVERSATION_ROWS,
    EXECUTIONS,
    METRICS,
    PRUNED,
    RESULTS,
    SETTINGS,
    upsert,
)

AGE = f"{(time_ns() - OLD) // DAY - 1}d"
ROWS = ("result_rows", "conversation_rows", "score_rows", "failure_rows", "metric_rows")
COUNTS = {**dict.fromkeys(ROWS, 3), "metric_rows": 1}


def test_a_run_goes_with_its_rows_and_nothing_else_does(filled: str, tend: Callable[..., Any]) -> None:
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


def test_what_was_lost_stays_known_without_its_failures(filled: str, tend: Callable[..., Any]) -> None:
    lost = {APP: 5, OTHER: 5}
    with closing(open_store(filled)) as store:
        both = put_run(store, "both", OLD, ends=False)
        elsewhere = conversation_columns(conversation_row("both", "c-9", None), OTHER, OLD)
        store.write(lambda c: write_rows(c, both, CONVERSATION_ROWS, [elsewhere], OLD))
        store.write(lambda c: write_replaced(c, both, 2, OLD))
        live = put_run(store, "broken", OLD, ends=False)
        store.write(lambda c: complete(c, both, {**DOCUMENT, "exit_status": 0}, OLD))
        store.write(lambda c: break_off(c, live, "ERROR", "why", OLD))
        for _ in range(2):
            runs = [json.loads(line) for line in tend("runs", "--json").out.splitlines()]
            assert {run["app"]: run["lost"] for run in runs if run["run_id"] == "both"} == lost
            of_broken = [run for run in runs if run["run_id"] == "broken"]
            assert [(run["lost"], run["results"]) for run in of_broken] == [(3, 3)]
            assert tend("check").status == 0
            assert tend("prune", "--older_than", AGE, "--keep_metrics").status == 0
        stated = select(EXECUTIONS.c.lost).where(EXECUTIONS.c.run_id == "both")
        assert store.read(lambda c: list(c.execute(stated).scalars())) == [5, 5]


def test_metrics_stay_where_that_is_asked(filled: str, tend: Callable[..., Any]) -> None:
    for _ in range(2):
        assert tend("prune", "--older_than", AGE, "--keep_metrics").status == 0
    with closing(open_store(filled)) as store:
        assert run_ids(store) == ["new", "old"]
        runs = store.read(lambda c: list(c.execute(select(METRICS.c.evaluation_run)).scalars()))
        assert sorted(runs) == [f"{APP}/evaluationRuns/{run}" for run in ("new", "old")]
        assert len(store.read(lambda c: c.execute(select(RESULTS.c.name)).all())) == 3
        old = select(EXECUTIONS.c.content).where(EXECUTIONS.c.run_id == "old")
        assert SECRET not in store.read(lambda c: c.execute(old).scalar_one())
    listed = tend("runs")
    assert "COMPLETED, pruned" in listed.out and "2 runs" in listed.out
    assert tend("check").status == 0


@pytest.mark.parametrize("ends", [True, False])
def test_a_pruned_run_that_runs_again_is_pruned_again(
    filled: str, tend: Callable[..., Any], ends: bool
) -> None:
    prune = ("prune", "--older_than", AGE, "--keep_metrics")
    assert tend(*prune).status == 0
    with closing(open_store(filled)) as store:
        again = put_run(store, "old", OLD + 5, ends=ends)
        if ends:
            delete_superseded(store, again)
        old = [line for line in tend("runs").out.splitlines() if " old " in line]
        assert ["pruned" in line for line in old] == [not ends]
        if ends:
            assert tend("check").status == 0
        assert "1 run deleted" in tend(*prune).out
        assert {name: len(rows_of(store)[name]) for name in ROWS if name in rows_of(store)} == {
            **COUNTS,
            "metric_rows": 2,
        }
    assert tend("check").status == 0 and "pruned" in tend("runs").out
    assert "0 runs deleted" in tend(*prune).out


def test_a_mark_of_pruning_that_an_earlier_version_left_is_deleted(
    filled: str, tend: Callable[..., Any]
) -> None:
    name = f"{APP}/evaluationRuns/old"
    with closing(open_store(filled)) as store:
        mark = {"name": name, "execution": 7, "actor": "me", "nanos": 1}
        store.write(lambda c: upsert(c, PRUNED, [mark]))
        assert "pruned" not in tend("runs").out
        assert "turnwise store prune deletes this mark" in tend("check").err
        assert tend("prune", "--older_than", "9999d").status == 0 and tend("check").status == 0
        assert "1 run deleted" in tend("prune", "--older_than", AGE, "--keep_metrics").out


@pytest.mark.parametrize("wrote", [0, 2])
def test_a_run_that_may_still_be_written_stays(store_url: str, tend: Callable[..., Any], wrote: int) -> None:
    with closing(open_store(store_url, create=True)) as store:
        put_run(store, "old", OLD)
        again = Execution("old", OLD + 5, APP, "2026-11-01")
        nanos = time_ns() - wrote * DAY
        store.write(lambda c: begin(c, again, DOCUMENT, nanos))
        assert tend("prune", "--older_than", "1d").status == 0
        assert run_ids(store) == ([] if wrote else ["old"])


def test_a_killed_deletion_leaves_nothing_that_is_read_and_the_next_one_ends_it(
    filled: str, tend: Callable[..., Any]
) -> None:
    with closing(open_store(filled)) as store:
        store.write(lambda c: c.execute(delete(EXECUTIONS).where(EXECUTIONS.c.run_id == "old")))
        store.write(lambda c: c.execute(text("DELETE FROM current_runs WHERE name LIKE '%/old'")))
        assert run_ids(store) == ["new"]
        found = tend("check")
        assert found.status == 1 and "evaluationRuns/old: 14 rows belong to no execution" in found.err
        assert tend("prune", "--older_than", "9999d").status == 0
        assert {name: len(rows_of(store)[name]) for name in ROWS} == COUNTS
    assert tend("check").status == 0


def test_a_job_that_wakes_up_after_its_run_was_pruned_is_told(store_url: str) -> None:
    with closing(open_store(store_url, create=True)) as store:
        own = put_run(store, "old", OLD)
        store.write(lambda c: write_retention(c, Retention(1, True)))
        assert [run.name for run in apply_retention(store, time_ns())] == [own.home]
        with pytest.raises(OSError, match="started again later"):
            store.write(lambda c: complete(c, own, {**DOCUMENT, "exit_status": 0}, time_ns()))


def test_the_retention_of_a_store_is_kept_by_prune(filled: str, tend: Callable[..., Any]) -> None:
    assert tend("prune").status == 2
    assert "after 30 days" in tend("retention", AGE.replace(AGE, "30d")).out
    assert "after 30 days" in tend("retention").out
    found = tend("check")
    assert found.status == 1 and "older than the retention" in found.err
    assert tend("prune").status == 0 and tend("check").status == 0
    assert "no retention" in tend("retention", "off").out


@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["prune", "--older_than", "90"], "no number of days"),
        (["prune", "--older_than", "0d"], "no number of days"),
        (["retention", "x"], "no number of days"),
        (["retention", "off", "--keep_metrics"], "needs an age"),
    ],
)
def test_what_is_no_age_is_refused(
    filled: str, tend: Callable[..., Any], arguments: list[str], why: str
) -> None:
    done = tend(*arguments)
    assert done.status == 2 and why in done.err and done.err.count("\n") == 1


@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
def test_a_retention_that_is_none_is_refused_before_anything_runs(
    filled: str,
    tend: Callable[..., Any],
    turnwise: Callable[..., Any],
    sample_arguments: list[str],
    tmp_path: Path,
) -> None:
    ages = (f'{{"days": {days}, "keep_metrics": false}}' for days in ('"x"', "0", "true", "1e9"))
    bad = ["{", "[]", "null", '{"days": 30}', *ages]
    why = "the store's retention is none"
    with closing(open_store(filled)) as store:
        for value in bad:
            row = {"name": "retention", "value": value}
            store.write(lambda c, row=row: upsert(c, SETTINGS, [row]))
            before = rows_of(store)
            done = tend("prune")
            assert done.status == 2 and why in done.err and done.err.count("\n") == 1
            assert rows_of(store) == before
        assert tend("retention").status == 2 and tend("check").status == 1
        done = turnwise(*sample_arguments, "--store", filled, output=tmp_path / "out")
        assert done.status == 2 and why in done.err and done.err.count("\n") == 1
        assert rows_of(store) == before and not (tmp_path / "out").exists()
    assert tend("retention", "off").status == 0 and tend("check").status == 0
