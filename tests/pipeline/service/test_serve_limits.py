"""Requests that hold too much, and what is no HTTP."""

import socket
from urllib.parse import urlsplit

import pytest

BASE = "/v1beta/projects/p/locations/l/apps/a/evaluations"
CASE = {"displayName": "x", "golden": {"turns": [{"steps": [{"userInput": {"text": "hi"}}]}]}}
TOO_LONG = {"scenario": {"task": "t", "variableOverrides": {"a": [1] * 10_001}}, "displayName": "x"}
TOO_MANY = {"displayName": "x", "scenario": {"variableOverrides": {"a": [[1] * 9_000] * 12}}}


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (
            {**CASE, "tags": [f"t{number}" for number in range(101)]},
            "evaluation.tags: must have at most 100 entries",
        ),
        (TOO_LONG, "a list holds more than 10000 entries"),
        (TOO_MANY, "the request holds more than 100000 values"),
    ],
)
def test_a_request_that_holds_too_much_is_refused_by_both_faces(server, body, why):
    code, value = server.call("POST", BASE, body)
    assert (code, value["error"]["status"]) == (400, "INVALID_ARGUMENT") and why in value["error"]["message"]
    arguments = {"parent": "projects/p/locations/l/apps/a", "evaluation": body}
    call = {"method": "tools/call", "params": {"name": "create_evaluation", "arguments": arguments}}
    sent = {**call, "jsonrpc": "2.0", "id": 1}
    code, answer = server.call("POST", "/mcp", sent, Accept="application/json, text/event-stream")
    assert code == 200 and answer["result"]["isError"] and why in answer["result"]["content"][0]["text"]


def test_a_hundred_tags_are_accepted(server):
    body = {**CASE, "displayName": "tagged", "tags": [f"t{number}" for number in range(100)]}
    code, value = server.call("POST", BASE, body)
    assert (code, value.get("error")) == (200, None)


def test_what_is_no_http_is_refused_and_not_logged(start):
    server, secret = start(), b"geheim"
    place = urlsplit(server.url)
    head = b"POST /" + secret + b" HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    for data in (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + secret, secret + b"\r\n\r\n", head + b"no size\r\n"):
        with socket.create_connection((place.hostname, place.port), timeout=60) as client:
            client.sendall(data)
            assert client.recv(1 << 16).startswith(b"HTTP/1.1 4")
    assert server.call("GET", BASE) == (200, {})
    log = server.stop()
    assert "Traceback" not in log and "geheim" not in log
