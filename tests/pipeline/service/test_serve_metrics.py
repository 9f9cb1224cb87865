"""Health and metrics of a server."""

import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

APP = "projects/acme-cx/locations/us/apps/travel-desk"
TOKEN = "a-token-of-more-than-16"


def metrics(server: Any) -> dict[tuple[str, tuple[str, ...]], float]:
    """The samples of a server by name and values of the labels in the order of their names."""
    headers = {"Authorization": f"Bearer {server.token}"} if server.token else {}
    request = urllib.request.Request(f"{server.url}/metrics", headers=headers)
    with urllib.request.urlopen(request, timeout=60) as response:
        assert response.headers["Content-Type"].startswith("text/plain")
        text = response.read().decode()
    return {
        (sample.name, tuple(sample.labels[label] for label in sorted(sample.labels))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_requests_are_counted_by_method_and_status(start: Any) -> None:
    server = start(token=TOKEN)
    secret = "words-of-the-user"
    evaluation = {"displayName": secret, "scenario": {"task": secret, "rubrics": [secret]}}
    path = f"/v1beta/{APP}/evaluations"
    assert server.call("POST", f"{path}?evaluationId=one", evaluation)[0] == 200
    assert server.call("GET", f"{path}/one")[0] == 200
    assert server.call("GET", f"{path}/{secret}")[0] == 404
    call = {"name": "get_evaluation", "arguments": {"name": f"{APP}/evaluations/one"}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    assert server.call("POST", "/mcp", body, Accept="application/json, text/event-stream")[0] == 200
    assert server.call("GET", f"{path}/one", Authorization="Bearer wrong")[0] == 401
    assert server.call("GET", f"/{secret}")[0] == 404
    found = metrics(server)
    counts = {key[1]: value for key, value in found.items() if key[0] == "turnwise_request_seconds_count"}
    assert counts == {
        ("rest.create_evaluation", "OK"): 1,
        ("rest.get_evaluation", "OK"): 1,
        ("rest.get_evaluation", "NOT_FOUND"): 1,
        ("mcp.get_evaluation", "OK"): 1,
    }
    responses = {key[1]: value for key, value in found.items() if key[0] == "turnwise_http_responses_total"}
    assert responses[("401", "/v1beta")] == 1 and responses[("404", "other")] == 1
    assert responses[("200", "/v1beta")] == 2 and responses[("200", "/mcp")] == 1
    assert not any(secret in value for _, values in found for value in values)


@pytest.mark.parametrize("place", ["/healthz", "/metrics"])
def test_health_and_metrics_need_the_token(start: Any, place: str) -> None:
    server = start(token=TOKEN)
    assert server.call("GET", place, Authorization="")[0] == 401
    assert server.call("GET", "/healthz") == (200, {"status": "ok"})


def test_a_server_whose_store_does_not_answer_is_not_healthy(start: Any, tmp_path: Path) -> None:
    server = start(store_url=f"sqlite:///{tmp_path}/store.db")
    assert server.call("GET", "/healthz") == (200, {"status": "ok"})
    server.store.write(
        lambda connection: connection.exec_driver_sql("ALTER TABLE evaluations RENAME TO gone")
    )
    assert server.call("GET", "/healthz") == (503, {"status": "the store does not answer"})
