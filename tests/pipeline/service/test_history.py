"""Evaluations are deleted; their history stays and is listed, and a revision of it is restored."""

from typing import Any

import pytest

from tests.pipeline.service.conftest import pages, refusal, update
from tests.store_rows import read_history
from turnwise.pipeline.service.evaluations import (
    delete_evaluation,
    get_evaluation,
    get_evaluation_result,
    list_evaluation_revisions,
    restore_evaluation,
)
from turnwise.pipeline.service.runs import Service
from turnwise.schemas.ces.tools import (
    DeleteEvaluationRequest,
    ListEvaluationRevisionsRequest,
    RestoreEvaluationRequest,
)

SCENARIO = {"task": "book a flight", "rubrics": ["is polite"]}


def revisions(service: Service, name: str, **fields: Any) -> Any:
    request = ListEvaluationRevisionsRequest.from_value({"name": name, **fields})
    return list_evaluation_revisions(service, request)


def restore(service: Service, name: str, revision: int, etag: str = "") -> Any:
    value = {"name": name, "revision": revision, "etag": etag}
    return restore_evaluation(service, RestoreEvaluationRequest.from_value(value))


def written(evaluation: Any) -> Any:
    return {key: evaluation.get(key) for key in ("name", "displayName", "tags", "golden", "scenario")}


def test_all_revisions_are_listed_in_pages_from_the_newest(service, create):
    name = create("one", tags=["a"])["name"]
    for number in range(2, 6):
        update(service, name, "tags", tags=[str(number)])
    found = []
    for page in pages(lambda **more: revisions(service, name, pageSize=2, **more), "revisions"):
        found += page
        update(service, name, "description", description="written meanwhile")
    assert [one["revision"] for one in found] == [5, 4, 3, 2, 1]
    assert [one["evaluation"]["tags"] for one in found] == [["5"], ["4"], ["3"], ["2"], ["a"]]
    assert [one.get("updateMask") for one in found] == ["tags"] * 4 + [None]
    assert {one["changedBy"] for one in found} == {"tester"}


def test_a_restored_revision_is_a_new_one(service, create):
    made = create("one", tags=["a"])
    name = made["name"]
    changed = update(service, name, "displayName,scenario,tags", displayName="New", scenario=SCENARIO)
    restored = restore(service, name, 1, changed["etag"])
    assert written(restored) == written(made) and restored["etag"] not in (made["etag"], changed["etag"])
    assert restored["createTime"] == made["createTime"] and restored["updateTime"] > changed["updateTime"]
    assert written(restore(service, name, 2)) == written(changed)
    assert [one["revision"] for one in revisions(service, name)["revisions"]] == [4, 3, 2, 1]


def test_a_restored_evaluation_is_checked_as_an_update_is(service, create):
    name = create("one", displayName="Taken")["name"]
    update(service, name, "displayName", displayName="Other")
    create("two", displayName="Taken")
    assert refusal(restore, service, name, 1) == ("ALREADY_EXISTS", "evaluation.displayName")


@pytest.mark.parametrize(
    ("revision", "etag", "wanted"),
    [
        (0, "", ("INVALID_ARGUMENT", "revision")),
        (2, "", ("NOT_FOUND", "")),
        (1, "old", ("ABORTED", "etag")),
    ],
)
def test_what_cannot_be_restored(service, create, revision, etag, wanted):
    name = create("one")["name"]
    assert refusal(restore, service, name, revision, etag) == wanted
    assert len(service.store.read(lambda c: read_history(c, name))) == 1


def remove(service: Service, name: str, **fields: Any) -> Any:
    return delete_evaluation(service, DeleteEvaluationRequest(name=name, **fields))


def test_a_deleted_evaluation_keeps_its_history_and_results(service, create, put_result):
    made = create(tags=["slow"])
    result = put_result(1)
    service.actor = "remover"
    assert refusal(remove, service, made["name"], etag="x") == ("ABORTED", "etag")
    assert remove(service, made["name"], etag=made["etag"]) == {}
    assert refusal(get_evaluation, service, made["name"]) == ("NOT_FOUND", "")
    assert refusal(remove, service, made["name"]) == ("NOT_FOUND", "")
    assert get_evaluation_result(service, result["name"]) == result
    request = ListEvaluationRevisionsRequest(name=made["name"])
    last, first = list_evaluation_revisions(service, request)["revisions"]
    assert (last["deleted"], last["changedBy"], last["revision"]) == (True, "remover", 2)
    assert "deleted" not in first and last["evaluation"] == first["evaluation"]


def test_a_deleted_evaluation_is_restored_and_goes_on_with_its_history(service, create):
    made = create(description="kept")
    remove(service, made["name"])
    deletion = service.store.read(lambda c: read_history(c, made["name"]))[-1]
    assert refusal(restore, service, made["name"], 1, made["etag"]) == ("ABORTED", "etag")
    again = restore(service, made["name"], 1, deletion.etag)
    assert (again["description"], again["displayName"]) == ("kept", made["displayName"])
    history = service.store.read(lambda c: read_history(c, made["name"]))
    assert [(one.revision, one.is_deletion) for one in history] == [(1, None), (2, 1), (3, None)]
    assert len({one.etag for one in history}) == 3


def test_a_name_can_be_used_again_after_its_deletion(service, create):
    name = create(description="old")["name"]
    remove(service, name)
    assert create(description="new")["description"] == "new"
    assert restore(service, name, 1)["description"] == "old"
    other = create("other", displayName="Case two")
    remove(service, other["name"])
    create("two", displayName="Case two")
    assert refusal(restore, service, other["name"], 1) == ("ALREADY_EXISTS", "evaluation.displayName")
