"""System parameters, HEAD and the Authorization header, as Google's API platform has them."""

import json
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest

from tests.store_rows import put_rows
from turnwise.pipeline.store.results import result_columns
from turnwise.pipeline.store.tables import RESULT_ROWS

APP = "projects/acme-cx/locations/us/apps/parameters"
BASE = f"/v1beta/{APP}/evaluations"
SCENARIO = {"task": "book", "rubrics": ["is polite"], "userGoalBehavior": "USER_GOAL_REJECTED"}


@pytest.fixture(scope="module")
def one(server: Any) -> str:
    """The path of an evaluation with a result."""
    body = {"displayName": "One", "scenario": SCENARIO, "tags": ["a"]}
    assert server.call("POST", f"{BASE}?evaluationId=one", body)[0] == 200
    result = {
        "name": f"{APP}/evaluations/one/results/r",
        "executionState": "COMPLETED",
        "evaluationStatus": "FAIL",
        "evaluationRun": f"{APP}/evaluationRuns/nightly",
    }
    put_rows(server.store, RESULT_ROWS, [result_columns(result, "c", 1)])
    return f"{BASE}/one"


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("/one?fields=displayName", {"displayName": "One"}),
        ("/one?$fields=display_name,tags", {"displayName": "One", "tags": ["a"]}),
        ("/one?fields=scenario/task", {"scenario": {"task": "book"}}),
        ("/one?fields=scenario(task,rubrics)", {"scenario": {"task": "book", "rubrics": ["is polite"]}}),
        ("/one?fields=scenario.task,displayName", {"scenario": {"task": "book"}, "displayName": "One"}),
        (
            "?fields=evaluations(displayName,scenario(task))",
            [{"displayName": "One", "scenario": {"task": "book"}}],
        ),
        ("/one?fields=description", {}),
        (
            "/one?fields=lastCompletedResult.evaluationStatus",
            {"lastCompletedResult": {"evaluationStatus": "FAIL"}},
        ),
        (
            "/one?fields=lastCompletedResult.evaluationStatus,scenario.userGoalBehavior&alt=json;enum-encoding=int",
            {"lastCompletedResult": {"evaluationStatus": 2}, "scenario": {"userGoalBehavior": 2}},
        ),
        ("?fields=evaluations.name&$alt=json", [{"name": f"{APP}/evaluations/one"}]),
    ],
)
def test_an_answer_holds_the_fields_that_are_asked_for(server: Any, one: str, path: str, answer: Any) -> None:
    expected = {"evaluations": answer} if isinstance(answer, list) else answer
    assert server.call("GET", BASE + path) == (200, expected)


def test_a_header_asks_for_fields_too(server: Any, one: str) -> None:
    assert server.call("GET", one, X_Goog_FieldMask="tags") == (200, {"tags": ["a"]})


@pytest.mark.parametrize(
    "query",
    [
        "key=x&quotaUser=y&$userProject=z&$trace=t",
        "$.xgafv=2&prettyPrint=true&outputDefaults=false",
        "fields=*",
    ],
)
def test_parameters_that_change_nothing_are_let_through(server: Any, one: str, query: str) -> None:
    assert server.call("GET", f"{one}?{query}") == server.call("GET", one)


def test_an_answer_is_indented_on_request(server: Any, one: str) -> None:
    with urllib.request.urlopen(f"{server.url}{one}?prettyPrint=true&fields=tags") as response:
        assert response.read() == b'{\n  "tags": [\n    "a"\n  ]\n}'


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("fields=nothing", "fields"),
        ("fields=scenario(nothing)", "fields"),
        ("fields=scenario(task", "fields"),
        ("fields=tags&$fields=tags", "$fields"),
        ("alt=media", "alt"),
        ("$alt=proto", "$alt"),
        ("$.xgafv=1", "$.xgafv"),
        ("prettyPrint=maybe", "prettyPrint"),
        ("outputDefaults=true", "outputDefaults"),
        ("callback=f", "callback"),
        ("access_token=x", "access_token"),
        ("oauth_token=x", "oauth_token"),
        ("uploadType=media", "uploadType"),
        ("$httpMethod=DELETE", "$httpMethod"),
        ("$unknown=1", "$unknown"),
    ],
)
def test_what_is_not_supported_is_refused_before_anything_is_done(
    server: Any, one: str, query: str, field: str
) -> None:
    for verb, path in (("GET", one), ("DELETE", f"{one}/results/r")):
        code, value = server.call(verb, f"{path}?{query}")
        (violation,) = value["error"]["details"][0]["fieldViolations"]
        assert (code, violation["field"]) == (400, field)
    assert server.call("GET", f"{one}/results/r")[0] == 200


@pytest.mark.parametrize("header", ["X-HTTP-Method-Override", "X-Goog-Api-Version"])
def test_headers_that_would_change_the_request_are_refused(server: Any, one: str, header: str) -> None:
    assert server.call("POST", one, {}, **{header: "GET"})[0] == 404
    code, value = server.call("GET", one, **{header: "DELETE"})
    assert (code, value["error"]["status"]) == (400, "INVALID_ARGUMENT")


@pytest.mark.parametrize(
    ("path", "code"), [("/one", 200), ("", 200), ("/none", 404), ("/one/results/r", 200), ("/one?x=1", 400)]
)
def test_head_answers_as_get_without_a_body(server: Any, one: str, path: str, code: int) -> None:
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


@pytest.mark.parametrize(
    ("header", "code"),
    [
        ("Bearer a-token-of-sixteen", 200),
        ("bearer a-token-of-sixteen", 200),
        ("BEARER  a-token-of-sixteen", 200),
        ("Basic a-token-of-sixteen", 401),
        ("a-token-of-sixteen", 401),
        ("bearer A-TOKEN-OF-SIXTEEN", 401),
        ("bearer", 401),
    ],
)
def test_the_scheme_of_a_token_has_no_case(locked: Any, header: str, code: int) -> None:
    assert locked.call("GET", BASE, Authorization=header)[0] == code


@pytest.fixture(scope="module")
def locked(start: Callable[..., Any]) -> Any:
    """A server that needs a token."""
    return start(token="a-token-of-sixteen")
