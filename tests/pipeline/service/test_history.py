"""The history of an evaluation is listed, and a revision of it is restored."""

from typing import Any

import pytest

from tests.store_history import read_history
from turnwise.pipeline.service.evaluations import (
    list_evaluation_revisions,
    restore_evaluation,
    update_evaluation,
)
from turnwise.pipeline.service.runs import Service
from turnwise.pipeline.service.serve import ServiceError
from turnwise.schemas.ces.results import Evaluation
from turnwise.schemas.ces.tools import ListEvaluationRevisionsRequest, RestoreEvaluationRequest

SCENARIO = {"task": "book a flight", "rubrics": ["is polite"]}


def revisions(service: Service, name: str, **fields: Any) -> Any:
    request = ListEvaluationRevisionsRequest.from_value({"name": name, **fields})
    return list_evaluation_revisions(service, request)


def restore(service: Service, name: str, revision: int, etag: str = "") -> Any:
    value = {"name": name, "revision": revision, "etag": etag}
    return restore_evaluation(service, RestoreEvaluationRequest.from_value(value))


def update(service: Service, name: str, mask: str, **fields: Any) -> Any:
    return update_evaluation(service, Evaluation.from_value({"name": name, **fields}), mask)


def written(evaluation: Any) -> Any:
    return {key: evaluation.get(key) for key in ("name", "displayName", "tags", "golden", "scenario")}


def test_all_revisions_are_listed_in_pages_from_the_newest(service: Service, create: Any) -> None:
    name = create("one", tags=["a"])["name"]
    for number in range(2, 6):
        update(service, name, "tags", tags=[str(number)])
    found, token = [], ""
    while True:
        page = revisions(service, name, pageSize=2, pageToken=token)
        found += page["revisions"]
        token = page.get("nextPageToken", "")
        if not token:
            break
        update(service, name, "description", description="written meanwhile")
    assert [one["revision"] for one in found] == [5, 4, 3, 2, 1]
    assert [one["evaluation"]["tags"] for one in found] == [["5"], ["4"], ["3"], ["2"], ["a"]]
    assert [one.get("updateMask") for one in found] == ["tags"] * 4 + [None]
    assert {one["changedBy"] for one in found} == {"tester"}


def test_a_restored_revision_is_a_new_one(service: Service, create: Any) -> None:
    made = create("one", tags=["a"])
    name = made["name"]
    changed = update(service, name, "displayName,scenario,tags", displayName="New", scenario=SCENARIO)
    restored = restore(service, name, 1, changed["etag"])
    assert written(restored) == written(made) and restored["etag"] not in (made["etag"], changed["etag"])
    assert restored["createTime"] == made["createTime"] and restored["updateTime"] > changed["updateTime"]
    assert written(restore(service, name, 2)) == written(changed)
    assert [one["revision"] for one in revisions(service, name)["revisions"]] == [4, 3, 2, 1]


def test_a_restored_evaluation_is_checked_as_an_update_is(service: Service, create: Any) -> None:
    name = create("one", displayName="Taken")["name"]
    update(service, name, "displayName", displayName="Other")
    create("two", displayName="Taken")
    with pytest.raises(ServiceError) as caught:
        restore(service, name, 1)
    assert (caught.value.status, caught.value.field) == ("ALREADY_EXISTS", "evaluation.displayName")


@pytest.mark.parametrize(
    ("last", "revision", "etag", "refusal"),
    [
        ("one", 0, "", ("INVALID_ARGUMENT", "revision")),
        ("one", 2, "", ("NOT_FOUND", "")),
        ("one", 1, "old", ("ABORTED", "etag")),
        ("none", 1, "", ("NOT_FOUND", "")),
        ("a/b", 1, "", ("INVALID_ARGUMENT", "name")),
    ],
)
def test_what_cannot_be_restored(
    service: Service, create: Any, last: str, revision: int, etag: str, refusal: Any
) -> None:
    name = create("one")["name"].replace("/one", f"/{last}")
    with pytest.raises(ServiceError) as caught:
        restore(service, name, revision, etag)
    assert (caught.value.status, caught.value.field) == refusal
    assert len(service.store.read(lambda c: read_history(c, name.replace(f"/{last}", "/one")))) == 1


def test_there_is_no_history_without_an_evaluation(service: Service, create: Any) -> None:
    name = create("one")["name"]
    with pytest.raises(ServiceError) as caught:
        revisions(service, name.replace("/one", "/none"))
    assert caught.value.status == "NOT_FOUND"
    with pytest.raises(ServiceError) as caught:
        revisions(service, name, pageToken="x")
    assert caught.value.field == "pageToken"
