"""Datasets and expectations: made, read, listed, changed and deleted."""

from typing import Any

import pytest

from turnwise.pipeline.service.changes import update_evaluation
from turnwise.pipeline.service.datasets import DATASETS
from turnwise.pipeline.service.deletions import delete_evaluation
from turnwise.pipeline.service.errors import ServiceError
from turnwise.pipeline.service.evaluations import get_evaluation, list_evaluations
from turnwise.pipeline.service.expectations import EXPECTATIONS
from turnwise.pipeline.service.resources import (
    create_resource,
    get_resource,
    list_resources,
    remove_resource,
    update_resource,
)
from turnwise.pipeline.service.service import Service
from turnwise.schemas.ces.cases import Evaluation
from turnwise.schemas.ces.datasets import ListEvaluationDatasetsRequest
from turnwise.schemas.ces.requests import DeleteEvaluationRequest, ListEvaluationsRequest

APP = "projects/acme-cx/locations/us/apps/travel-desk"
CASES = [f"{APP}/evaluations/{name}" for name in ("one", "two", "three")]
POLITE = {"displayName": "Polite", "llmCriteria": {"prompt": "is polite"}}
KINDS = {"dataset": DATASETS, "expectation": EXPECTATIONS}
VALID: dict[str, Any] = {"dataset": {"displayName": "All"}, "expectation": POLITE}


def make(service: Service, kind: str, resource_id: str = "one", **fields: Any) -> Any:
    resource = KINDS[kind].message.from_value({**VALID[kind], **fields})
    return create_resource(KINDS[kind], service, APP, resource_id, resource)


def change(service: Service, kind: str, mask: str | None = None, **fields: Any) -> Any:
    return update_resource(KINDS[kind], service, KINDS[kind].message.from_value(fields), mask)


def refusal(call: Any, *arguments: Any, **named: Any) -> tuple[str, str]:
    with pytest.raises(ServiceError) as caught:
        call(*arguments, **named)
    return caught.value.status, caught.value.field


@pytest.mark.parametrize("kind", KINDS)
def test_a_resource_from_its_creation_to_its_deletion(service: Service, kind: str) -> None:
    made = make(service, kind)
    name = made["name"]
    assert name == f"{APP}/{KINDS[kind].collection}/one" and made["createTime"] == made["updateTime"]
    assert get_resource(KINDS[kind], service, name) == made
    assert refusal(make, service, kind) == ("ALREADY_EXISTS", f"{KINDS[kind].field}Id")
    assert refusal(make, service, kind, "x") == ("ALREADY_EXISTS", f"{KINDS[kind].field}.displayName")
    new = change(service, kind, "displayName", name=name, displayName="New", etag=made["etag"])
    assert (new["displayName"], new["createTime"]) == ("New", made["createTime"])
    assert new["etag"] != made["etag"] and new["updateTime"] > made["updateTime"]
    stale = {"name": name, "displayName": "Y", "etag": made["etag"]}
    assert refusal(change, service, kind, "displayName", **stale) == ("ABORTED", f"{KINDS[kind].field}.etag")
    other = make(service, kind, "two")
    renamed = {"name": other["name"], "displayName": "New"}
    assert refusal(change, service, kind, "displayName", **renamed)[0] == "ALREADY_EXISTS"
    assert refusal(remove_resource, KINDS[kind], service, name, made["etag"]) == ("ABORTED", "etag")
    assert remove_resource(KINDS[kind], service, name, new["etag"]) == {}
    for call in (get_resource, remove_resource):
        arguments = (KINDS[kind], service, name, "")[: 3 if call is get_resource else 4]
        assert refusal(call, *arguments) == ("NOT_FOUND", "")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("", "abc"),
        ("display_name = Name-b", "b"),
        ("display_name:name", "abc"),
        ("name = c OR name = a", "ac"),
        ("NOT name = c", "ab"),
        ('create_time > "2100-01-01T00:00:00Z"', ""),
    ],
)
def test_lists_have_filters_and_pages(service: Service, kind: str, condition: str, found: str) -> None:
    for letter in "cab":
        make(service, kind, letter, displayName=f"Name-{letter}")
    listed, token = [], ""
    while True:
        request = ListEvaluationDatasetsRequest(parent=APP, page_size=2, page_token=token, filter=condition)
        page = list_resources(KINDS[kind], service, request)
        listed += [one["name"][-1] for one in page.get(KINDS[kind].collection, [])]
        token = page.get("nextPageToken", "")
        if not token:
            break
    assert "".join(listed) == found


@pytest.mark.parametrize(
    ("kind", "fields", "expected"),
    [
        ("dataset", {"displayName": " "}, ("INVALID_ARGUMENT", "evaluationDataset.displayName")),
        ("dataset", {"evaluations": ["x"]}, ("INVALID_ARGUMENT", "evaluationDataset.evaluations")),
        ("dataset", {"evaluations": CASES[:1] * 2}, ("INVALID_ARGUMENT", "evaluationDataset.evaluations")),
        ("dataset", {"evaluations": CASES[:1]}, ("NOT_FOUND", "evaluationDataset.evaluations")),
        (
            "dataset",
            {"evaluations": ["projects/p/locations/l/apps/b/evaluations/one"]},
            ("INVALID_ARGUMENT", "evaluationDataset.evaluations"),
        ),
        (
            "expectation",
            {"llmCriteria": {"prompt": " "}},
            ("INVALID_ARGUMENT", "evaluationExpectation.llmCriteria.prompt"),
        ),
        ("expectation", {"tags": ["x"] * 101}, ("INVALID_ARGUMENT", "evaluationExpectation.tags")),
    ],
)
def test_what_is_not_valid_is_refused_and_leaves_nothing(
    service: Service, kind: str, fields: Any, expected: Any
) -> None:
    assert refusal(make, service, kind, **fields) == expected
    assert list_resources(KINDS[kind], service, ListEvaluationDatasetsRequest(parent=APP)) == {}


def test_a_dataset_holds_evaluations_and_their_figures(
    service: Service, create: Any, put_result: Any
) -> None:
    for name in ("one", "two", "three"):
        create(name)
    for number, case, status in ((1, "one", "PASS"), (2, "two", "FAIL"), (3, "three", "FAIL")):
        put_result(number, status, case, evaluationRun=f"{APP}/evaluationRuns/of-{case}")
    made = make(service, "dataset", evaluations=CASES[:2])
    (version,) = made["aggregatedMetrics"]["metricsByAppVersion"]
    assert (version["passCount"], version["failCount"], version["appVersionId"]) == (1, 1, "v7")
    assert get_evaluation(service, CASES[0])["evaluationDatasets"] == [made["name"]]
    assert "evaluationDatasets" not in get_evaluation(service, CASES[2])
    for condition, expected in (("=", CASES[:2]), ("!=", CASES[2:]), (":", CASES[:2])):
        request = ListEvaluationsRequest(parent=APP, filter=f"evaluation_datasets {condition} one")
        listed = list_evaluations(service, request)["evaluations"]
        assert sorted(one["name"] for one in listed) == sorted(expected)
    request = ListEvaluationDatasetsRequest(parent=APP, filter="evaluations:two")
    assert len(list_resources(DATASETS, service, request)["evaluationDatasets"]) == 1
    change(service, "dataset", "evaluations", name=made["name"], evaluations=CASES[2:])
    assert get_evaluation(service, CASES[2])["evaluationDatasets"] == [made["name"]]
    remove_resource(DATASETS, service, made["name"], "")
    assert "evaluationDatasets" not in get_evaluation(service, CASES[2])


def test_an_evaluation_in_a_dataset_is_deleted_with_force(service: Service, create: Any) -> None:
    for name in ("one", "two"):
        create(name)
    made = make(service, "dataset", evaluations=CASES[:2])
    request = DeleteEvaluationRequest(name=CASES[0])
    assert refusal(delete_evaluation, service, request) == ("FAILED_PRECONDITION", "force")
    service.actor = "remover"
    delete_evaluation(service, DeleteEvaluationRequest(name=CASES[0], force=True))
    left = get_resource(DATASETS, service, made["name"])
    assert (left["evaluations"], left["lastUpdatedBy"]) == (CASES[1:2], "remover")
    assert left["etag"] != made["etag"]
    delete_evaluation(service, DeleteEvaluationRequest(name=CASES[1], force=True))
    assert "evaluations" not in get_resource(DATASETS, service, made["name"])


def test_an_expectation_that_an_evaluation_names_is_not_deleted(service: Service, create: Any) -> None:
    name = make(service, "expectation")["name"]
    scenario = {"task": "book", "evaluationExpectations": [name]}
    create(scenario=scenario)
    create("two", description=name)
    assert refusal(remove_resource, EXPECTATIONS, service, name, "") == ("FAILED_PRECONDITION", "")
    assert get_resource(EXPECTATIONS, service, name)["llmCriteria"] == {"prompt": "is polite"}
    without = Evaluation.from_value({"name": CASES[0], "scenario": {"task": "book"}})
    update_evaluation(service, without, "scenario")
    assert remove_resource(EXPECTATIONS, service, name, "") == {}


@pytest.mark.parametrize("kind", KINDS)
def test_a_service_that_only_reads_refuses_changes(service: Service, kind: str) -> None:
    name = make(service, kind)["name"]
    service.read_only = True
    assert refusal(make, service, kind, "x") == ("PERMISSION_DENIED", "")
    assert refusal(change, service, kind, name=name) == ("PERMISSION_DENIED", "")
    assert refusal(remove_resource, KINDS[kind], service, name, "") == ("PERMISSION_DENIED", "")
