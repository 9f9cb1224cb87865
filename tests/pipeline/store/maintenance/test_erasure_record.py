"""An erasure is recorded before it begins and after it ended; a record without an end is seen and ended."""

import json
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
from sqlalchemy import select

from tests.pipeline.store.maintenance.conftest import APP, NEW, allow, put_run, refuse, rows_of
from turnwise.pipeline.store.engine import open_store
from turnwise.pipeline.store.tables import ERASURES


def erasures(store: Any) -> list[Any]:
    columns = ERASURES.c.kind, ERASURES.c.end_nanos, ERASURES.c.removed
    return store.read(lambda c: c.execute(select(*columns).order_by(ERASURES.c.kind)).all())


@pytest.mark.parametrize("subject", [("conversation", "c-1"), ("user", "u-1")])
def test_an_erasure_that_breaks_off_is_recorded_and_ended_by_the_next(
    filled: str, tend: Callable[..., Any], subject: tuple[str, str]
) -> None:
    with closing(open_store(filled)) as store:
        refuse(store, "DELETE", "conversation_rows")
        assert tend("delete", *subject).status == 1
        allow(store, "conversation_rows")
        begun = erasures(store)
        assert begun and all(row.end_nanos is None for row in begun)
        found = tend("check")
        assert found.status == 1 and f"{len(begun)} erasures did not end" in found.err
        assert "are in the store again: c-1" in found.err
        assert tend("delete", *subject).status == 0
        assert [row.kind for row in erasures(store)] == [row.kind for row in begun]
        assert all(row.end_nanos for row in erasures(store))
    assert tend("check").status == 0


def test_an_erasure_whose_rows_went_otherwise_is_ended_and_says_what_is_not_known(
    filled: str, tend: Callable[..., Any]
) -> None:
    with closing(open_store(filled)) as store:
        refuse(store, "DELETE", "conversation_rows")
        assert tend("delete", "conversation", "c-1").status == 1
        allow(store, "conversation_rows")
        for table in ("result_rows", "conversation_rows", "score_rows"):
            query = f"DELETE FROM {table} WHERE conversation_id = 'c-1'"
            store.write(lambda c, query=query: c.exec_driver_sql(query))
        done = tend("delete", "conversation", "c-1")
        assert done.status == 1 and "an erasure of it broke off" in done.err
        assert all(row.end_nanos for row in erasures(store))


def test_the_numbers_of_rows_are_those_of_each_conversation(filled: str, tend: Callable[..., Any]) -> None:
    assert tend("delete", "user", "u-1").status == 0
    with closing(open_store(filled)) as store:
        put_run(store, "again", NEW + 1)
        found = [(row.kind, json.loads(row.removed)) for row in erasures(store)]
        rows = {"conversation_rows": 2, "result_rows": 2, "score_rows": 2}
        others = {"failure_rows": 4, "to_read": 4}
        total = {name: 2 * number for name, number in rows.items()} | others
        assert found == [("conversation", rows), ("conversation", rows), ("user", total)]
        assert tend("delete", "conversation", "c-1").status == 0
        more = sorted(json.loads(row.removed).get("result_rows", 0) for row in erasures(store))
        assert more == [2, 3, 4]
        assert {row[0] for row in rows_of(store)["result_rows"] if "c-1-" in row[0]} == set()


def test_counts_of_runs_say_what_was_erased(filled: str, tend: Callable[..., Any]) -> None:
    assert tend("delete", "conversation", "c-2").status == 0
    query = "SELECT content FROM evaluation_runs WHERE run_id = 'old'"
    with closing(open_store(filled)) as store:
        document = json.loads(store.read(lambda c: c.exec_driver_sql(query).scalar_one()))
    assert document["removed_rows"] == {"conversations": 1, "passes": 1, "results": 1}
    assert APP and tend("check").status == 0
