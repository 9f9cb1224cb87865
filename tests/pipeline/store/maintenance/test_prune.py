"""Old runs are deleted with their rows, and no others."""

from contextlib import closing
from time import time_ns

import pytest
from sqlalchemy import delete, text

from tests.pipeline.store.maintenance.conftest import (
    APP,
    DAY,
    OLD,
    OTHER,
    conversation_row,
    file_bytes,
    put_run,
    rows_of,
    run_ids,
)
from tests.store_rows import DOCUMENT, ENDED
from turnwise.pipeline.store.database import CONVERSATION_ROWS, EXECUTIONS, open_store
from turnwise.pipeline.store.maintenance import old_runs
from turnwise.pipeline.store.rows import conversation_columns
from turnwise.pipeline.store.runs import Execution, begin, complete, write_rows

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
        assert found.status == 1 and "evaluationRuns/old: 15 rows belong to no execution" in found.err
        assert tend("prune", "--older_than", "9999d").status == 0
        assert {name: len(rows_of(store)[name]) for name in ROWS} == COUNTS
    assert tend("check").status == 0


@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["prune", "--older_than", "90"], "no number of days"),
        (["prune", "--older_than", "0d"], "no number of days"),
    ],
)
def test_what_is_no_age_is_refused(filled, tend, arguments, why):
    done = tend(*arguments)
    assert done.status == 2 and why in done.err and done.err.count("\n") == 1
