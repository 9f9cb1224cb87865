"""Evaluations and results are deleted; the history of an evaluation stays, and it can be restored from it."""

from typing import Any

import pytest
from sqlalchemy import func, select

from tests.store_history import read_history
from tests.store_rows import put_rows
from turnwise.pipeline.service.changes import restore_evaluation
from turnwise.pipeline.service.deletions import delete_evaluation, delete_evaluation_result
from turnwise.pipeline.service.errors import ServiceError
from turnwise.pipeline.service.evaluations import get_evaluation
from turnwise.pipeline.service.history import list_evaluation_revisions
from turnwise.pipeline.service.results import get_evaluation_result
from turnwise.pipeline.service.service import Service
from turnwise.pipeline.service.users import User
from turnwise.pipeline.store.executions import Execution, write_rows
from turnwise.pipeline.store.results import result_columns
from turnwise.pipeline.store.tables import (
    CONVERSATION_ROWS,
    EVALUATIONS,
    RECORDING_ROWS,
    RESULT_ROWS,
    SCORE_ROWS,
    TAGS,
)
from turnwise.schemas.ces.history_tools import ListEvaluationRevisionsRequest, RestoreEvaluationRequest
from turnwise.schemas.ces.requests import DeleteEvaluationRequest, DeleteEvaluationResultRequest


def remove(service: Service, name: str, **fields: Any) -> Any:
    return delete_evaluation(service, DeleteEvaluationRequest(name=name, **fields))


def status(call: Any, *arguments: Any, **named: Any) -> str:
    with pytest.raises(ServiceError) as caught:
        call(*arguments, **named)
    return caught.value.status


def count(service: Service, table: Any) -> int:
    return service.store.read(lambda c: c.execute(select(func.count()).select_from(table)).scalar_one())


def restore(service: Service, name: str, revision: int, **fields: Any) -> Any:
    return restore_evaluation(service, RestoreEvaluationRequest(name=name, revision=revision, **fields))


def test_a_deleted_evaluation_keeps_its_history_and_results(
    service: Service, create: Any, put_result: Any
) -> None:
    made = create(tags=["slow"])
    result = put_result(1)
    service.actor = "remover"
    assert status(remove, service, made["name"], etag="x") == "ABORTED"
    assert remove(service, made["name"], etag=made["etag"]) == {}
    assert status(get_evaluation, service, made["name"]) == "NOT_FOUND"
    assert status(remove, service, made["name"]) == "NOT_FOUND"
    assert (count(service, EVALUATIONS), count(service, TAGS)) == (0, 0)
    assert get_evaluation_result(service, result["name"]) == result
    request = ListEvaluationRevisionsRequest(name=made["name"])
    last, first = list_evaluation_revisions(service, request)["revisions"]
    assert (last["deleted"], last["changedBy"], last["revision"]) == (True, "remover", 2)
    assert "deleted" not in first and last["evaluation"] == first["evaluation"]


def test_a_deleted_evaluation_is_restored_and_goes_on_with_its_history(service: Service, create: Any) -> None:
    made = create(description="kept")
    remove(service, made["name"])
    deletion = service.store.read(lambda c: read_history(c, made["name"]))[-1]
    assert status(restore, service, made["name"], 1, etag=made["etag"]) == "ABORTED"
    again = restore(service, made["name"], 1, etag=deletion.etag)
    assert (again["description"], again["displayName"]) == ("kept", made["displayName"])
    history = service.store.read(lambda c: read_history(c, made["name"]))
    assert [(one.revision, one.is_deletion) for one in history] == [(1, None), (2, 1), (3, None)]
    assert len({one.etag for one in history}) == 3


def test_a_name_can_be_used_again_after_its_deletion(service: Service, create: Any) -> None:
    name = create(description="old")["name"]
    remove(service, name)
    assert create(description="new")["description"] == "new"
    assert restore(service, name, 1)["description"] == "old"
    other = create("other", displayName="Case two")
    remove(service, other["name"])
    create("two", displayName="Case two")
    assert status(restore, service, other["name"], 1) == "ALREADY_EXISTS"


def put_conversation(service: Service, execution: Execution, result: Any, eval_id: str) -> None:
    run = f"{execution.app}/evaluationRuns/{execution.run_id}"
    place = {"app": execution.app, "evaluation_run": run, "conversation_id": "c", "update_nanos": 1}
    name = f"{run}/conversations/{eval_id}"
    texts = dict.fromkeys(("verdict", "harm_term", "cluster", "why", "event_time"), "")
    of_case = {**place, "eval_id": eval_id, "version_id": "v7", "content": "{}"}
    conversation = {**of_case, **texts, "name": name, "harm": 0.0, "case_digest": "", "user_id": ""}
    score = {
        **dict.fromkeys(column.name for column in SCORE_ROWS.c if column.name != "execution"),
        **of_case,
        **{"name": f"{name}/scores/s", "conversation": name, "score_id": "s", "criterion": "x", "day": ""},
    }
    recording = {**of_case, "name": name, "evaluation": "", "app_version": ""}
    del recording["eval_id"]
    for table, row in (
        (CONVERSATION_ROWS, conversation),
        (SCORE_ROWS, score),
        (RECORDING_ROWS, recording),
    ):
        service.store.write(lambda c, t=table, r=row: write_rows(c, execution, t, [r], 1))


@pytest.mark.parametrize("eval_id", ["one", "set~one"])
def test_a_result_is_deleted_with_what_its_run_recorded_of_the_conversation(
    service: Service, app: str, eval_id: str
) -> None:
    rows = [
        result_columns(
            {
                "name": f"{app}/evaluations/{case}/results/r",
                "evaluationRun": f"{app}/evaluationRuns/nightly",
                "appVersion": f"{app}/versions/v7",
            },
            "c",
            1,
        )
        for case in (eval_id, "two")
    ]
    execution = put_rows(service.store, RESULT_ROWS, rows)
    for case in ("one", "two"):
        put_conversation(service, execution, rows[0], case)
    name = rows[0]["name"]
    delete_evaluation_result(service, DeleteEvaluationResultRequest(name=name))
    tables = (RESULT_ROWS, CONVERSATION_ROWS, SCORE_ROWS, RECORDING_ROWS)
    assert [count(service, table) for table in tables] == [1, 1, 1, 1]
    request = DeleteEvaluationResultRequest(name=name)
    assert status(delete_evaluation_result, service, request) == "NOT_FOUND"
    left = service.store.read(lambda c: c.execute(select(SCORE_ROWS.c.eval_id)).scalar_one())
    assert left == "two"


@pytest.mark.parametrize(
    ("role", "expected"), [("read", "PERMISSION_DENIED"), ("write", "PERMISSION_DENIED")]
)
def test_a_result_is_deleted_by_an_admin(service: Service, put_result: Any, role: Any, expected: str) -> None:
    request = DeleteEvaluationResultRequest(name=put_result(1)["name"])
    assert status(delete_evaluation_result, service.of(User("someone", role)), request) == expected


def test_a_result_of_a_run_in_progress_is_not_deleted(service: Service, app: str) -> None:
    result = {
        "name": f"{app}/evaluations/one/results/r",
        "evaluationRun": f"{app}/evaluationRuns/nightly",
    }
    put_rows(service.store, RESULT_ROWS, [result_columns(result, "c", 1)], ends=False)
    request = DeleteEvaluationResultRequest(name=result["name"])
    assert status(delete_evaluation_result, service, request) == "FAILED_PRECONDITION"
    assert count(service, RESULT_ROWS) == 1
