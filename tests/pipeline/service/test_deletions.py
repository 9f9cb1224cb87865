"""Evaluations are deleted; the history of an evaluation stays, and it can be restored from it."""

from typing import Any

import pytest
from sqlalchemy import func, select

from tests.store_history import read_history
from turnwise.pipeline.service.evaluations import (
    delete_evaluation,
    get_evaluation,
    get_evaluation_result,
    list_evaluation_revisions,
    restore_evaluation,
)
from turnwise.pipeline.service.runs import Service
from turnwise.pipeline.service.serve import ServiceError
from turnwise.pipeline.store.database import EVALUATIONS, TAGS
from turnwise.schemas.ces.resources import DeleteEvaluationRequest
from turnwise.schemas.ces.tools import ListEvaluationRevisionsRequest, RestoreEvaluationRequest


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
