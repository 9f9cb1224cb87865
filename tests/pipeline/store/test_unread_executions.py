"""Executions that broke off or have not ended: they are told, and what nothing will read is deleted."""

from contextlib import suppress
from time import time_ns
from typing import Any

import pytest
from sqlalchemy import select

import turnwise
from tests.store_rows import DOCUMENT, ENDED, completed, put_rows
from turnwise.pipeline.io.store import break_off_run, complete_run
from turnwise.pipeline.report.comparison import fail_on_problems
from turnwise.pipeline.runs.store import StoredRuns
from turnwise.pipeline.service.comparison import version_verdict
from turnwise.pipeline.service.runs import (
    Service,
    get_evaluation_run,
    list_conversations_to_read,
    list_run_summaries,
)
from turnwise.pipeline.settings.options import SinkPlace
from turnwise.pipeline.store.database import CONVERSATION_ROWS, LOCAL_APP, RESULT_ROWS, RESULTS, RUNS, Store
from turnwise.pipeline.store.rows import conversation_columns, result_columns
from turnwise.pipeline.store.runs import Execution, begin, break_off, complete, write_rows
from turnwise.pipeline.store.urls import StoreError
from turnwise.schemas.ces.tools import ListConversationsToReadRequest, ListEvaluationRunsRequest
from turnwise.transforms.decisions.comparison.differences import compare
from turnwise.transforms.decisions.comparison.estimates import CompareOptions

APP = "projects/p/locations/l/apps/a"
SOON = 10**18
"""A time before every test."""


def row(number: int, run: str, version: str, nanos: int = SOON) -> Any:
    name = f"{APP}/evaluations/e{number}/results/{run}-{version}"
    return result_columns(completed(name, run, version=version), f"c-{number}", nanos)


def put(
    store: Store, run: str, version: str, number: int = 1, *, ends: bool = True, nanos: int = SOON
) -> Any:
    return put_rows(store, RESULT_ROWS, [row(n, run, version, nanos) for n in range(8)], number, ends=ends)


def breaks_off(store: Store, execution: Execution, state: str) -> None:
    if state != "RUNNING":
        store.write(lambda c: break_off(c, execution, state, "killed", time_ns()))  # type: ignore[arg-type]


def compared(store: Store, *names: str) -> tuple[Any, list[str], Any]:
    """Returns the problems of both sides, those of --fail_on, and the verdict of the tool."""
    sides = store.read(lambda c: StoredRuns(c, APP).sides(names, "s"))
    found = compare(sides.baseline, sides.candidate, CompareOptions())
    problems = found.baseline.problems, found.candidate.problems
    return problems, fail_on_problems(found, "worse"), version_verdict(sides)


@pytest.mark.parametrize(
    ("of", "state"),
    [("v1", "ERROR"), ("v2", "RUNNING"), ("v3", "CANCELLED"), ("", "ERROR"), ("default app", "RUNNING")],
)
def test_a_newer_run_that_was_not_completed_never_passes(store, of, state):
    put(store, "r1", "v1")
    put(store, "r2", "v2")
    assert compared(store, "v1", "v2")[1] == []
    if of.startswith("v"):
        execution = put(store, "r3", of, 7, ends=False)
    else:
        execution = Execution("r3", 7, LOCAL_APP if of else APP, "2026-11-01")
        store.write(lambda c: begin(c, execution, DOCUMENT, time_ns()))
    breaks_off(store, execution, state)
    problems, failing, verdict = compared(store, "v1", "v2")
    own = problems[1]
    assert [state in own[0], own[0].endswith("is not compared")] == [True, True]
    assert len(own) == 1 and problems[0] == (own if of == "v1" else [])
    assert any("run r3" in line for line in failing)
    assert verdict["candidateProblems"] == own and verdict.get("baselineProblems", []) == problems[0]
    assert any(own[0] in note for note in verdict["notes"])


def test_a_run_of_another_version_that_broke_off_earlier_is_a_note_and_a_completed_one_is_not(store):
    put(store, "r1", "v1")
    breaks_off(store, put(store, "r2", "v3", 7, ends=False), "ERROR")
    put(store, "r3", "v3", 8)
    put(store, "r4", "v2", 9, nanos=time_ns() + 10**9)
    problems, failing, verdict = compared(store, "v1", "v2")
    assert problems == ([], []) and failing == []
    assert (
        [note for note in verdict["notes"] if "run r" in note]
        == [note for note in verdict["notes"] if note.startswith("v2: run r2 broke off (ERROR")]
        != []
    )


def to_read(store: Store, **fields: Any) -> Any:
    request = ListConversationsToReadRequest.from_value({"parent": APP, **fields})
    return list_conversations_to_read(Service(store, "tester"), request)


def test_the_conversations_to_read_are_not_those_of_the_last_run_in_silence(store):
    early, whole = (
        turnwise.evaluate({"conversation_id": "c", "turns": [{"user": "hi", "agent": "x"}]}, run_id=run)
        for run in ("r1", "r2")
    )
    for number, result in ((1, early), (2, whole)):
        rows = [conversation_columns(each, APP, number) for each in result.conversations]
        put_rows(store, CONVERSATION_ROWS, rows, number)
    assert "unreadRuns" not in to_read(store)
    for number, app in ((7, APP), (8, LOCAL_APP)):
        execution = Execution(f"r{number}", number, app, "2026-11-01")
        store.write(lambda c, e=execution: begin(c, e, DOCUMENT, time_ns()))
        breaks_off(store, execution, "ERROR" if app == APP else "RUNNING")
    found = to_read(store)
    assert found["evaluationRun"].endswith("/r2")
    (ended, running) = sorted(found["unreadRuns"])
    assert ended.startswith("run r7 broke off (ERROR") and running.startswith("run r8 has not ended")
    assert "unreadRuns" not in to_read(store, evaluationRun="r2")
    put_rows(store, CONVERSATION_ROWS, rows, 9)
    assert "unreadRuns" not in to_read(store), "what broke off before the last run says nothing of it"


@pytest.mark.parametrize(("state", "names"), [("RUNNING", ("v1", "v2")), ("ERROR", ("r1", "r2"))])
def test_a_repetition_that_was_not_completed_is_told(store, state, names):
    put(store, "r1", "v1")
    put(store, "r2", "v2")
    breaks_off(store, put(store, "r2", "v2", 7, ends=False), state)
    problems, failing, _ = compared(store, *names)
    assert problems[0] == [] and problems[1][0].startswith("run r2 was repeated, and the repetition ")
    assert state in problems[1][0] and failing
    service = Service(store, "tester")
    request = ListEvaluationRunsRequest.from_value({"parent": APP})
    first, second = list_run_summaries(service, request)["evaluationRuns"]
    assert "repeatState" not in first and (second["state"], second["repeatState"]) == ("COMPLETED", state)
    assert second["repeatTime"] > second["endTime"]
    got = get_evaluation_run(service, f"{APP}/evaluationRuns/r2")
    assert got["state"] == "COMPLETED"
    assert ("error" in got) == (state != "RUNNING") and (
        "error" not in got or (got["error"]["code"] == 10 and state in got["error"]["message"])
    )
    put(store, "r2", "v2", 8)
    assert store.read(lambda c: set(c.execute(select(RUNS.c.repeat_state)).scalars())) == {None}


@pytest.mark.parametrize("breaks", [False, True])
def test_the_rows_of_an_execution_that_a_later_one_replaced_are_deleted(store, store_url, breaks):
    place = SinkPlace(store_url, APP, "nightly", "2026-11-01T00:00:00.000Z", "2026-11-01", "out")
    first = Execution("nightly", 1793491200 * 10**9, APP, "2026-11-01")
    store.write(lambda c: begin(c, first, DOCUMENT, time_ns()))
    later = first._replace(number=first.number + 5)
    store.write(lambda c: write_rows(c, later, RESULT_ROWS, [row(1, "nightly", "v1")], time_ns()))
    store.write(lambda c: complete(c, later, ENDED, time_ns()))
    store.write(lambda c: write_rows(c, first, RESULT_ROWS, [row(2, "nightly", "v1")], time_ns()))
    if breaks:
        break_off_run(place, "ERROR", "killed")
    else:
        with suppress(StoreError):
            complete_run(place, ENDED)
    kept = store.read(lambda c: list(c.execute(select(RESULT_ROWS.c.execution)).scalars()))
    assert kept == [later.number]
    assert len(store.read(lambda c: c.execute(select(RESULTS.c.name)).all())) == 1
