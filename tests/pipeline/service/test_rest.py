"""The REST interface, to the real client of the API and to plain requests."""

import json
import urllib.request
from typing import Any

import pytest
from google.api_core import exceptions
from google.auth.credentials import AnonymousCredentials
from google.cloud import ces_v1beta
from google.protobuf import field_mask_pb2, json_format

from tests.store_rows import completed, put_rows, read_history
from turnwise.pipeline.store.database import RESULT_ROWS
from turnwise.pipeline.store.rows import result_columns
from turnwise.schemas.ces.result import Evaluation

SCRIPT: Any = {"turns": [{"steps": [{"userInput": {"text": "hi"}}]}]}
APP = "projects/acme-cx/locations/us/apps/travel-desk"
BASE = f"/v1beta/{APP}/evaluations"
SCENARIO = {"task": "book", "rubrics": ["is polite"], "variableOverrides": {"a": {"b": [1.0, None, "x"]}}}


@pytest.fixture(scope="module")
def client(server: Any) -> Any:
    """The real client, without credentials, at the server."""
    return ces_v1beta.EvaluationServiceClient(
        transport="rest", credentials=AnonymousCredentials(), client_options={"api_endpoint": server.url}
    )


def plain(message: Any) -> Any:
    return json_format.MessageToDict(type(message).pb(message))


def put(server: Any, *results: Any) -> None:
    rows = [result_columns(result, "c", 10**9 + i) for i, result in enumerate(results)]
    put_rows(server.store, RESULT_ROWS, rows)


def result(number: int, evaluation: str, status: str = "PASS") -> Any:
    turn = {"semanticSimilarityResult": {"score": 3}, "turnLatency": "1s"}
    named = {"displayName": f"result {number}", "createTime": f"2026-11-01T00:00:{number:02}Z"}
    name = f"{APP}/evaluations/{evaluation}/results/r-{number}"
    return completed(name, "run-1", status, f"{APP}/versions/v7", turn, **named)


def test_the_real_client_creates_gets_lists_and_updates(client, server):
    body = ces_v1beta.Evaluation(
        display_name="Client", tags=["a"], scenario={"task": "book", "rubrics": ["r"]}
    )
    made = client.create_evaluation(parent=APP, evaluation=body, evaluation_id="client")
    assert made.name == f"{APP}/evaluations/client" and made.etag
    put(server, result(1, "client"), result(2, "client", "FAIL"))
    got = client.get_evaluation(name=made.name)
    (version,) = got.aggregated_metrics.metrics_by_app_version
    assert (version.pass_count, version.fail_count, version.app_version_id) == (1, 1, "v7")
    assert got.last_completed_result.name.endswith("r-2")
    assert len(got.last_ten_results) == 0
    got.display_name, got.tags, got.scenario.task = "New", [], "fly"
    updated = client.update_evaluation(
        evaluation=got, update_mask={"paths": ["display_name", "scenario.task"]}
    )
    assert (updated.display_name, list(updated.tags), updated.scenario.task) == ("New", ["a"], "fly")
    assert list(updated.scenario.rubrics) == ["r"]
    assert updated.etag != made.etag
    mask = field_mask_pb2.FieldMask(paths=["golden"])
    golden = ces_v1beta.Evaluation(
        name=made.name, golden={"turns": [{"steps": [{"user_input": {"text": "hi"}}]}]}
    )
    switched = client.update_evaluation(evaluation=golden, update_mask=mask)
    assert "scenario" not in switched and switched.golden.turns[0].steps[0].user_input.text == "hi"
    assert [entry.update_mask for entry in server.store.read(lambda c: read_history(c, made.name))] == [
        None,
        "displayName,scenario.task",
        "golden",
    ]


def test_the_real_client_reads_results_and_pages(client, server):
    put(server, *(result(number, f"paged-{number % 2}") for number in range(7)))
    request = ces_v1beta.ListEvaluationResultsRequest(
        parent=f"{APP}/evaluations/-", page_size=3, filter="name:paged-", order_by="name"
    )
    found = list(client.list_evaluation_results(request=request))
    assert [one.name[-12:] for one in found] == [
        f"{n % 2}/results/r-{n}"[-12:] for n in (0, 2, 4, 6, 1, 3, 5)
    ]
    one = client.get_evaluation_result(name=found[0].name)
    assert plain(one) == result(0, "paged-0")
    of_one = client.list_evaluation_results(parent=f"{APP}/evaluations/paged-1")
    assert {entry.name for entry in of_one} == {result(n, "paged-1")["name"] for n in (1, 3, 5)}


def test_the_real_client_sees_the_errors_of_the_api(client):
    script = {"turns": [{"steps": [{"user_input": {"text": "hi"}}]}]}
    with pytest.raises(exceptions.NotFound, match="none"):
        client.get_evaluation(name=f"{APP}/evaluations/none")
    made = client.create_evaluation(
        parent=APP, evaluation_id="errors", evaluation={"display_name": "Errors", "golden": script}
    )
    with pytest.raises(exceptions.Conflict, match="exists already"):
        client.create_evaluation(
            parent=APP, evaluation_id="errors", evaluation={"display_name": "E", "golden": script}
        )
    stale = ces_v1beta.Evaluation(name=made.name, etag="old", display_name="x")
    with pytest.raises(exceptions.Conflict) as aborted:
        client.update_evaluation(evaluation=stale, update_mask={"paths": ["display_name"]})
    assert aborted.value.response.json()["error"]["status"] == "ABORTED"
    with pytest.raises(exceptions.BadRequest) as refused:
        client.update_evaluation(evaluation={"name": made.name}, update_mask={"paths": ["nothing"]})
    (violations,) = refused.value.details
    assert violations["fieldViolations"][0]["field"] == "updateMask"


def test_samples_of_the_api_come_back_as_they_went(server, sample):
    for number, name in enumerate(("golden_rebooking__Evaluation", "scenario_refund__Evaluation")):
        document = sample(name)
        content = {key: value for key, value in document.items() if key not in Evaluation.OUTPUT_ONLY}
        code, made = server.call("POST", f"{BASE}?evaluationId=sample-{number}", document)
        assert code == 200
        kept = {key: value for key, value in made.items() if key not in Evaluation.OUTPUT_ONLY}
        assert kept == {**content, "name": f"{APP}/evaluations/sample-{number}"}
        assert server.call("GET", f"{BASE}/sample-{number}") == (200, made)


@pytest.fixture(scope="module")
def one(server: Any) -> str:
    """The path of an evaluation."""
    body = {"displayName": "One", "scenario": SCENARIO, "tags": ["a"]}
    assert server.call("POST", f"{BASE}?evaluation_id=one", body)[0] == 200
    return f"{BASE}/one"


def refused(answer: tuple[int, Any]) -> tuple[int, str, str]:
    code, value = answer
    error = value["error"]
    assert error["code"] == code and error["message"] and "\n" not in error["message"]
    details = error.get("details", [{"fieldViolations": [{"field": ""}]}])
    return code, error["status"], details[0]["fieldViolations"][0]["field"]


GOLDEN = {"displayName": "x", "golden": SCRIPT}


@pytest.mark.parametrize(
    ("method", "path", "body", "answer"),
    [
        ("GET", f"{BASE}/none", None, (404, "NOT_FOUND", "")),
        ("GET", f"{BASE}/a%20b", None, (400, "INVALID_ARGUMENT", "name")),
        ("GET", f"{BASE}/one/results/none", None, (404, "NOT_FOUND", "")),
        ("GET", f"{BASE}/none/results", None, (404, "NOT_FOUND", "")),
        ("GET", f"{BASE}/one/../one", None, (404, "NOT_FOUND", "")),
        ("POST", f"{BASE}/one", {}, (404, "NOT_FOUND", "")),
        ("GET", f"{BASE}/one%2Fresults", None, (400, "INVALID_ARGUMENT", "name")),
        ("GET", f"{BASE}/one", {}, (400, "INVALID_ARGUMENT", "")),
        ("GET", f"{BASE}?pageSize=x", None, (400, "INVALID_ARGUMENT", "pageSize")),
        ("GET", f"{BASE}?pageSize=1&page_size=2", None, (400, "INVALID_ARGUMENT", "page_size")),
        ("GET", f"{BASE}?pageSize=1&pageSize=2", None, (400, "INVALID_ARGUMENT", "")),
        ("GET", f"{BASE}?lastTenResults=yes", None, (400, "INVALID_ARGUMENT", "lastTenResults")),
        ("GET", f"{BASE}/-/results?filter=x%3D1", None, (400, "INVALID_ARGUMENT", "filter")),
        ("POST", BASE, b"", (400, "INVALID_ARGUMENT", "evaluation")),
        ("POST", BASE, b"\xff\xff", (400, "INVALID_ARGUMENT", "evaluation")),
        ("POST", BASE, b"[" * 100_000, (400, "INVALID_ARGUMENT", "evaluation")),
        ("POST", BASE, {"displayNam": "x"}, (400, "INVALID_ARGUMENT", "evaluation.displayNam")),
        (
            "POST",
            BASE,
            {"golden": {"turns": [{"steps": 1}]}},
            (400, "INVALID_ARGUMENT", "evaluation.golden.turns[0].steps"),
        ),
        ("POST", BASE, b'{"displayName": "a", "displayName": "b"}', (400, "INVALID_ARGUMENT", "evaluation")),
        ("POST", f"{BASE}?evaluationId=a/b", GOLDEN, (400, "INVALID_ARGUMENT", "evaluationId")),
        ("PATCH", f"{BASE}/one", {**GOLDEN, "name": "x"}, (400, "INVALID_ARGUMENT", "evaluation.name")),
        ("PATCH", f"{BASE}/one?updateMask=tags&x=1", {}, (400, "INVALID_ARGUMENT", "x")),
        ("PATCH", f"{BASE}/one?updateMask=tags", {"etag": "x"}, (409, "ABORTED", "evaluation.etag")),
    ],
)
def test_wrong_requests(server, one, method, path, body, answer):
    assert refused(server.call(method, path, body)) == answer


def test_bodies_are_json_and_of_limited_size(server, one):
    assert refused(server.call("PATCH", one, b"{}", Content_Type="text/plain"))[:2] == (
        400,
        "INVALID_ARGUMENT",
    )
    for size, accepted in ((3_000_000, 200), (4_300_000, 400)):
        body = {"description": "x" * size}
        assert server.call("PATCH", f"{one}?updateMask=description", body)[0] == accepted
    server.call("PATCH", f"{one}?updateMask=description", {})


def test_deep_values_are_refused(server, one):
    value: Any = 1
    for _ in range(60):
        value = {"a": value}
    body = {"scenario": {"variableOverrides": value}}
    code, status, field = refused(server.call("PATCH", f"{one}?updateMask=scenario", body))
    assert (code, status) == (400, "INVALID_ARGUMENT") and field.startswith("evaluation.scenario")


def test_answers_are_json_that_no_one_keeps(server, one):
    with urllib.request.urlopen(server.url + one) as response:
        assert response.headers["Content-Type"] == "application/json"
        assert response.headers["Cache-Control"] == "no-store"
        assert "Server" not in response.headers
        json.load(response)


@pytest.mark.parametrize(("path", "code"), [("/one", 200), ("/none", 404)])
def test_head_answers_as_get_without_a_body(server, one, path, code):
    answers = []
    for verb in ("GET", "HEAD"):
        request = urllib.request.Request(server.url + BASE + path, method=verb)
        try:
            with urllib.request.urlopen(request) as response:
                answers.append((response.status, response.headers["Content-Length"], response.read()))
        except urllib.error.HTTPError as error:
            answers.append((error.code, error.headers["Content-Length"], error.read()))
    (_, length, text), (status, same_length, nothing) = answers
    assert (status, nothing, same_length) == (code, b"", length)
    assert len(text) == int(length) and json.loads(text)


def test_the_real_client_reads_runs(client, server):
    app = "projects/acme-cx/locations/us/apps/runs"
    case = f"{app}/evaluations/one"
    for number, run in enumerate(("first", "second", "third")):
        told = [
            {**result(n, "one"), "name": f"{case}/results/{run}-{n}", "evaluationStatus": status}
            | {"evaluationRun": f"{app}/evaluationRuns/{run}", "appVersion": f"{app}/versions/v1"}
            for n, status in enumerate(("PASS", "PASS", "FAIL"))
        ]
        rows = [result_columns(one, one["name"], 10**9) for one in told]
        put_rows(server.store, RESULT_ROWS, rows, number + 1, ends=run != "third")
    found = list(client.list_evaluation_runs(request={"parent": app, "page_size": 2, "order_by": "name"}))
    state = ces_v1beta.EvaluationRun.EvaluationRunState
    assert [(one.name.rsplit("/", 1)[-1], one.state) for one in found] == [
        ("first", state.COMPLETED),
        ("second", state.COMPLETED),
        ("third", state.RUNNING),
    ]
    assert {one.progress.passed_count for one in found} == {2} and found[0].app_version == "v1"
    running = client.list_evaluation_runs(request={"parent": app, "filter": "state = RUNNING"})
    assert [one.display_name for one in running] == ["third"]
    for wrong in ("running", "BLAH", "COMP*"):
        with pytest.raises(exceptions.BadRequest, match="is none of RUNNING, COMPLETED, ERROR"):
            client.list_evaluation_runs(request={"parent": app, "filter": f"state = {wrong}"})
    got = client.get_evaluation_run(name=found[0].name)
    assert list(got.evaluations) == [case]
    summary = got.evaluation_run_summaries[case]
    assert (summary.passed_count, summary.failed_count) == (2, 1)
    assert list(got.evaluation_results) == [f"{case}/results/first-{n}" for n in range(3)]
    with pytest.raises(exceptions.NotFound):
        client.get_evaluation_run(name=f"{app}/evaluationRuns/fourth")
    with pytest.raises(exceptions.MethodNotImplemented):
        client.delete_evaluation_run(name=found[0].name)
