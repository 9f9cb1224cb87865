"""A run whose cases name an app is of that app, with all that its records do not say."""

from typing import Any

import pytest
from sqlalchemy import select

from tests.store_rows import DOCUMENT
from turnwise.pipeline.store.database import CONVERSATION_ROWS, FAILURE_ROWS, METRIC_ROWS, Store
from turnwise.pipeline.store.maintenance import listed_runs
from turnwise.pipeline.store.runs import Execution, begin, complete, rejected_of_runs, write_rows

HOME, DESK, FRONT = (f"projects/p/locations/l/apps/{name}" for name in ("home", "desk", "front"))
RUN = Execution("r1", 7, HOME, "2026-11-01")


def row_of(table: Any, app: str, name: str, **fields: Any) -> dict[str, Any]:
    """Returns a row with nothing in its other columns."""
    empty = {
        one.name: "" if str(one.type) == "TEXT" else 0 for one in table.columns if one.name != "execution"
    }
    own = {"app": app, "evaluation_run": f"{app}/evaluationRuns/r1", "name": f"{app}/{name}"}
    return {**empty, **own, **fields}


def put(store: Store, *conversations: str) -> None:
    """Writes a run with a conversation in each of the apps, a metric and a rejected record without an app."""
    store.write(lambda connection: begin(connection, RUN, DOCUMENT, 7))
    for app in conversations:
        row = row_of(CONVERSATION_ROWS, app, "evaluationRuns/r1/conversations/c-1", content="{}")
        store.write(lambda c, row=row: write_rows(c, RUN, CONVERSATION_ROWS, [row], 7))
    metric = row_of(METRIC_ROWS, HOME, "evaluationRuns/r1/metrics/m-1")
    failure = row_of(FAILURE_ROWS, HOME, "failures/f-1", stage="parse", content="{}")
    store.write(lambda c: write_rows(c, RUN, METRIC_ROWS, [metric], 7))
    store.write(lambda c: write_rows(c, RUN, FAILURE_ROWS, [failure], 7))
    store.write(lambda c: complete(c, RUN, DOCUMENT, 9))


def places(store: Store) -> list[tuple[str, str]]:
    """Returns app and name of the metric, and of the failure."""
    tables = (METRIC_ROWS, FAILURE_ROWS)
    return [store.read(lambda c, t=t: tuple(c.execute(select(t.c.app, t.c.name)).one())) for t in tables]


@pytest.mark.parametrize(
    ("conversations", "app"), [([DESK], DESK), ([HOME], HOME), ([DESK, FRONT], HOME), ([], HOME)]
)
def test_what_names_no_app_is_where_all_conversations_are(store, conversations, app):
    put(store, *conversations)
    assert places(store) == [(app, f"{app}/evaluationRuns/r1/metrics/m-1"), (app, f"{app}/failures/f-1")]


@pytest.mark.parametrize("conversations", [[DESK], [DESK, FRONT]])
def test_what_a_run_lost_is_seen_in_each_of_its_apps(store, conversations):
    put(store, *conversations)
    for app in conversations:
        found = store.read(lambda c, app=app: rejected_of_runs(c, app, [f"{app}/evaluationRuns/r1"]))
        assert found == {"r1": 1}, app
        (run,) = store.read(lambda c, app=app: listed_runs(c, app))
        assert run.rejected == 1, "`turnwise store runs` says the same"
