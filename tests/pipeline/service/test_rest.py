"""The REST interface, to the real client of the API."""

from typing import Any

import pytest
from google.api_core import exceptions
from google.auth.credentials import AnonymousCredentials
from google.cloud import ces_v1beta
from google.protobuf import json_format

from tests.pipeline.service.conftest import APP, Given
from tests.store_rows import read_history
from turnwise.pipeline.service.runs import Service
from turnwise.schemas.ces.result import Evaluation

GOLDEN: Any = {"turns": [{"steps": [{"user_input": {"text": "hi"}}]}]}


@pytest.fixture(scope="module")
def client(server):
    return ces_v1beta.EvaluationServiceClient(
        transport="rest", credentials=AnonymousCredentials(), client_options={"api_endpoint": server.url}
    )


@pytest.fixture(scope="module")
def given(server):
    return Given(Service(server.store, "tester"))


def ids(messages):
    return [message.name.rpartition("/")[2] for message in messages]


def test_the_real_client_creates_gets_lists_and_updates(client, server, given):
    body = {"display_name": "Client", "tags": ["a"], "scenario": {"task": "book", "rubrics": ["r"]}}
    made = client.create_evaluation(parent=APP, evaluation=body, evaluation_id="client")
    assert made.name == f"{APP}/evaluations/client" and made.etag
    given.put_result(1, evaluation="client")
    given.put_result(2, "FAIL", "client")
    got = client.get_evaluation(name=made.name)
    (version,) = got.aggregated_metrics.metrics_by_app_version
    assert (version.pass_count, version.fail_count, version.app_version_id) == (1, 1, "v7")
    assert got.last_completed_result.name.endswith("r-0002") and len(got.last_ten_results) == 0
    got.display_name, got.tags, got.scenario.task = "New", [], "fly"
    mask = {"paths": ["display_name", "scenario.task"]}
    updated = client.update_evaluation(evaluation=got, update_mask=mask)
    assert (updated.display_name, list(updated.tags), updated.scenario.task) == ("New", ["a"], "fly")
    assert list(updated.scenario.rubrics) == ["r"] and updated.etag != made.etag
    golden = {"name": made.name, "golden": GOLDEN}
    switched = client.update_evaluation(evaluation=golden, update_mask={"paths": ["golden"]})
    assert "scenario" not in switched and switched.golden.turns[0].steps[0].user_input.text == "hi"
    masks = [entry.update_mask for entry in server.store.read(lambda c: read_history(c, made.name))]
    assert masks == [None, "displayName,scenario.task", "golden"]


def test_the_real_client_reads_results_and_pages(client, given):
    results = [given.put_result(number, evaluation=f"paged-{number % 2}") for number in range(10, 17)]
    request = {"parent": f"{APP}/evaluations/-", "page_size": 3, "filter": "name:paged-"}
    listed = list(client.list_evaluation_results(request={**request, "order_by": "name"}))
    assert ids(listed) == [f"r-00{number}" for number in (10, 12, 14, 16, 11, 13, 15)]
    message = client.get_evaluation_result(name=listed[0].name)
    assert json_format.MessageToDict(type(message).pb(message)) == results[0]
    of_one = client.list_evaluation_results(parent=f"{APP}/evaluations/paged-1")
    assert sorted(ids(of_one)) == ["r-0011", "r-0013", "r-0015"]


def test_the_real_client_sees_the_errors_of_the_api(client):
    with pytest.raises(exceptions.NotFound, match="none"):
        client.get_evaluation(name=f"{APP}/evaluations/none")
    case = {"parent": APP, "evaluation_id": "errors", "evaluation": {"display_name": "E", "golden": GOLDEN}}
    made = client.create_evaluation(**case)
    with pytest.raises(exceptions.Conflict, match="exists already"):
        client.create_evaluation(**case)
    stale = {"name": made.name, "etag": "old", "display_name": "x"}
    with pytest.raises(exceptions.Conflict) as aborted:
        client.update_evaluation(evaluation=stale, update_mask={"paths": ["display_name"]})
    assert aborted.value.response.json()["error"]["status"] == "ABORTED"
    with pytest.raises(exceptions.BadRequest) as refused:
        client.update_evaluation(evaluation={"name": made.name}, update_mask={"paths": ["nothing"]})
    (violations,) = refused.value.details
    assert violations["fieldViolations"][0]["field"] == "updateMask"


def test_samples_of_the_api_come_back_as_they_went(server, sample):
    for number, name in enumerate(("golden_rebooking__Evaluation", "scenario_refund__Evaluation")):
        document, path = sample(name), f"/v1beta/{APP}/evaluations"
        content = {key: value for key, value in document.items() if key not in Evaluation.OUTPUT_ONLY}
        code, made = server.call("POST", f"{path}?evaluationId=sample-{number}", document)
        kept = {key: value for key, value in made.items() if key not in Evaluation.OUTPUT_ONLY}
        assert (code, kept) == (200, {**content, "name": f"{APP}/evaluations/sample-{number}"})
        assert server.call("GET", f"{path}/sample-{number}") == (200, made)


def test_the_real_client_reads_runs(client, given):
    for run in ("first", "second", "third"):
        given.put_ten(run, [0])
        given.put_ten(run, version="v2", conversation="d", ends=run != "third")
    # Other tests write the run `nightly`.
    request = {"parent": APP, "page_size": 2, "order_by": "name"}
    runs = [run for run in client.list_evaluation_runs(request=request) if "nightly" not in run.name]
    assert ids(runs) == ["first", "second", "third"]
    assert [run.state.name for run in runs] == ["COMPLETED", "COMPLETED", "RUNNING"]
    assert {run.progress.passed_count for run in runs} == {19}
    running = client.list_evaluation_runs(request={"parent": APP, "filter": "state = RUNNING"})
    assert [run.display_name for run in running] == ["third"]
    for wrong in ("running", "BLAH", "COMP*"):
        with pytest.raises(exceptions.BadRequest, match="is none of RUNNING, COMPLETED, ERROR"):
            client.list_evaluation_runs(request={"parent": APP, "filter": f"state = {wrong}"})
    got = client.get_evaluation_run(name=runs[0].name)
    assert list(got.evaluations) == [f"{APP}/evaluations/e{number}" for number in range(10)]
    summary = got.evaluation_run_summaries[f"{APP}/evaluations/e0"]
    assert (summary.passed_count, summary.failed_count) == (1, 1)
    assert sorted(set(name[-8:] for name in got.evaluation_results)) == ["first-v1", "first-v2"]
    with pytest.raises(exceptions.NotFound):
        client.get_evaluation_run(name=f"{APP}/evaluationRuns/fourth")
    with pytest.raises(exceptions.MethodNotImplemented):
        client.delete_evaluation_run(name=runs[0].name)
