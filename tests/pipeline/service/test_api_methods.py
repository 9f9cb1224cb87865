"""Every method of the CES API is served, or answered with 501, by the HTTP rules of Google's own client."""

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
from google.api_core import exceptions
from google.auth.credentials import AnonymousCredentials
from google.cloud import ces_v1beta

from turnwise.pipeline.service.rest.api_methods import has_method

SERVICES = ("agent_service", "evaluation_service", "session_service", "tool_service", "widget_service")
APP = "projects/acme-cx/locations/us/apps/travel-desk"
SERVED = {
    ("GET", "projects/x/locations/x/apps/x/evaluations"),
    ("POST", "projects/x/locations/x/apps/x/evaluations"),
    ("GET", "projects/x/locations/x/apps/x/evaluations/x"),
    ("PATCH", "projects/x/locations/x/apps/x/evaluations/x"),
    ("GET", "projects/x/locations/x/apps/x/evaluationRuns"),
    ("GET", "projects/x/locations/x/apps/x/evaluationRuns/x"),
    ("DELETE", "projects/x/locations/x/apps/x/evaluationRuns/x"),
    ("GET", "projects/x/locations/x/apps/x/evaluations/x/results"),
    ("GET", "projects/x/locations/x/apps/x/evaluations/x/results/x"),
    ("GET", "projects/x/locations/x/operations"),
    ("GET", "projects/x/locations/x/operations/x"),
    ("DELETE", "projects/x/locations/x/operations/x"),
    ("POST", "projects/x/locations/x/operations/x:cancel"),
    ("POST", "projects/x/locations/x/apps/x:importEvaluations"),
    ("POST", "projects/x/locations/x/apps/x:runEvaluation"),
    ("POST", "projects/x/locations/x/apps/x/evaluations:export"),
    ("POST", "projects/x/locations/x/apps/x/evaluations/x/results:export"),
    ("POST", "projects/x/locations/x/apps/x/evaluationRuns:export"),
    ("POST", "projects/x/locations/x/apps/x/conversations/x:generateEvaluation"),
}


def rules() -> Iterator[tuple[str, str]]:
    """Yields the HTTP method and the path of every rule, with x for what a request fills in."""
    for service in SERVICES:
        module = import_module(f"google.cloud.ces_v1beta.services.{service}.transports.rest_base")
        transports = [kind for name, kind in vars(module).items() if name.endswith("RestTransport")]
        for kind in (inner for t in transports for inner in vars(t).values() if inspect.isclass(inner)):
            for rule in getattr(kind, "_get_http_options", list)():
                path = re.sub(r"\{[\w.]+=([^}]+)\}", r"\1", rule["uri"]).replace("*", "x")
                yield rule["method"].upper(), path.removeprefix("/v1beta/")


RULES = sorted(set(rules()))


def client(kind: Any, server: Any) -> Any:
    return kind(
        transport="rest", credentials=AnonymousCredentials(), client_options={"api_endpoint": server.url}
    )


def test_the_methods_are_those_of_the_rules() -> None:
    assert len(RULES) > 90
    assert [rule for rule in RULES if not has_method(*rule)] == []
    paths = {path for _, path in RULES}
    every = [(method, path) for path in paths for method in ("DELETE", "GET", "PATCH", "POST", "PUT")]
    assert [rule for rule in every if has_method(*rule) and rule not in RULES] == []


def test_what_is_not_served_is_answered_in_the_form_of_the_api(server: Any) -> None:
    wrong = []
    for method, path in RULES:
        body = {} if method in ("PATCH", "POST") else None
        code, value = server.call(method, f"/v1beta/{path}", body)
        error = value.get("error", {}) if isinstance(value, dict) else {}
        is_unimplemented = (code, error.get("code"), error.get("status")) == (501, 501, "UNIMPLEMENTED")
        if not isinstance(value, dict) or is_unimplemented is ((method, path) in SERVED):
            wrong.append((method, path, code, value))
    assert wrong == []


def test_the_real_clients_are_told_that_a_method_is_not_implemented(server: Any) -> None:
    evaluations = client(ces_v1beta.EvaluationServiceClient, server)
    with pytest.raises(exceptions.MethodNotImplemented):
        evaluations.delete_evaluation(name=f"{APP}/evaluations/one")
    with pytest.raises(exceptions.MethodNotImplemented):
        evaluations.test_persona_voice(app=APP)
    with pytest.raises(exceptions.MethodNotImplemented):
        evaluations.list_evaluation_datasets(parent=APP)
    with pytest.raises(exceptions.MethodNotImplemented):
        client(ces_v1beta.AgentServiceClient, server).get_app(name=APP)


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("GET", "/", 404),
        ("GET", "/v1beta", 404),
        ("GET", f"/v1/{APP}/evaluations", 404),
        ("PUT", f"/v1beta/{APP}/evaluations/one", 404),
        ("POST", f"/v1beta/{APP}:doSomething", 404),
        ("DELETE", "/nothing", 404),
        ("GET", "/mcp", 405),
        ("OPTIONS", f"/v1beta/{APP}/evaluations", 404),
    ],
)
def test_unknown_paths_are_answered_in_the_form_of_the_api(
    server: Any, method: str, path: str, code: int
) -> None:
    answer, value = server.call(method, path)
    assert (answer, value["error"]["code"], value["error"]["status"]) == (
        code,
        code,
        "UNIMPLEMENTED" if code == 405 else "NOT_FOUND",
    )
