"""A run is deleted with its rows, unless an execution of it may still write."""

from time import time_ns
from typing import Any

import pytest
from sqlalchemy import select, text

from tests.store_rows import ENDED, put_rows
from turnwise.pipeline.service.errors import ServiceError
from turnwise.pipeline.service.runs import delete_evaluation_run
from turnwise.pipeline.service.service import Service
from turnwise.pipeline.store.executions import (
    Execution,
    begin,
    complete,
    delete_forgotten,
    forget_run,
    write_rows,
)
from turnwise.pipeline.store.results import result_columns
from turnwise.pipeline.store.tables import EXECUTIONS, RESULT_ROWS, RESULTS

APP, OTHER = "projects/p/locations/l/apps/a", "projects/p/locations/l/apps/b"
RUN, OTHER_RUN = (f"{app}/evaluationRuns/nightly" for app in (APP, OTHER))


def row(app: str, number: int) -> Any:
    result = {
        "name": f"{app}/evaluations/one/results/r-{number}",
        "evaluationRun": f"{app}/evaluationRuns/nightly",
        "executionState": "COMPLETED",
        "evaluationStatus": "PASS",
        "goldenResult": {},
    }
    return result_columns(result, f"c-{number}", number)


def names(service: Service, table: Any) -> list[str]:
    return service.store.read(
        lambda c: list(c.execute(select(table.c.name).order_by(table.c.name)).scalars())
    )


@pytest.mark.parametrize("deleted", [RUN, OTHER_RUN])
def test_a_run_is_not_deleted_while_it_is_repeated(service: Service, deleted: str) -> None:
    put_rows(service.store, RESULT_ROWS, [row(APP, 1), row(OTHER, 2)])
    again = put_rows(service.store, RESULT_ROWS, [row(APP, 1), row(APP, 3)], 2, ends=False)
    with pytest.raises(ServiceError, match="has not ended"):
        delete_evaluation_run(service, deleted)
    service.store.write(lambda c: complete(c, again, ENDED, time_ns()))
    kept = [row(APP, 1)["name"], row(APP, 3)["name"]]
    assert [name for name in names(service, RESULTS) if name.startswith(APP)] == kept


@pytest.mark.parametrize(
    "ended", ["state = 'ERROR'", "state = 'CANCELLED'", "update_nanos = update_nanos - 86400000000000"]
)
def test_a_run_is_deleted_when_its_repetition_ended_or_was_killed(service: Service, ended: str) -> None:
    put_rows(service.store, RESULT_ROWS, [row(APP, 1)])
    put_rows(service.store, RESULT_ROWS, [row(APP, 1), row(APP, 2)], 2, ends=False)
    service.store.write(lambda c: c.execute(text(f"UPDATE run_executions SET {ended} WHERE execution = 2")))
    delete_evaluation_run(service, RUN)
    assert names(service, RESULT_ROWS) == names(service, EXECUTIONS) == []


def test_rows_of_an_execution_that_begins_after_the_deletion_stay(service: Service) -> None:
    store, again = service.store, Execution("nightly", 2, APP, "2026-11-01")
    put_rows(store, RESULT_ROWS, [row(APP, 1)])
    store.write(lambda c: forget_run(c, RUN))
    store.write(lambda c: begin(c, again, ENDED, time_ns()))
    store.write(lambda c: write_rows(c, again, RESULT_ROWS, [row(APP, 2)], time_ns()))
    delete_forgotten(store, RUN)
    assert names(service, RESULT_ROWS) == names(service, RESULTS) == [row(APP, 2)["name"]]
