"""Requests that are refused or let through, as rows, and tokens of a server."""

import asyncio
import json
import urllib.error
import urllib.request

import pytest

from tests.pipeline.service.conftest import SCENARIO
from tests.tables import rows_beside
from turnwise.pipeline.service.http import AuthMiddleware
from turnwise.pipeline.service.serve import Tokens, read_token_file
from turnwise.schemas.config import ConfigError

APP = "projects/p/locations/l/apps/a"
BASE = f"/v1beta/{APP}/evaluations"
TOKEN, READ = "a-token-of-some-length", "another-token-of-some-length"


async def let_pass(scope, receive, send):
    await send({"type": "http.response.start", "status": 200})


GUARDS = {
    "LOCAL": AuthMiddleware(let_pass, "127.0.0.1", ["tools.example.com"], Tokens()),
    "WIDE": AuthMiddleware(let_pass, "0.0.0.0", ["tools.example.com"], Tokens()),
    "WITH_TOKEN": AuthMiddleware(let_pass, "127.0.0.1", [], Tokens(TOKEN, READ)),
}


@pytest.fixture(scope="module")
def served(server):
    body = {"displayName": "One", "scenario": SCENARIO, "tags": ["a"]}
    assert server.call("POST", f"{BASE}?evaluation_id=one", body)[0] == 200
    return server


@rows_beside(__file__)
def test_rows(check, arguments, served, tmp_path):
    globals()[check]({"refused": served, "wrong_tokens": tmp_path}.get(check), *arguments)


def refused(served, method, path, body, code, status, field):
    """A text stands for the bytes of a body."""
    path = path.replace("$BASE", BASE).replace("$APP", APP)
    answer, value = served.call(method, path, body.encode("latin-1") if isinstance(body, str) else body)
    error = value["error"]
    assert (answer, error["code"], error["status"]) == (code, code, status)
    assert error["message"] and "\n" not in error["message"]
    details = error.get("details", [{"fieldViolations": [{"field": ""}]}])
    assert details[0]["fieldViolations"][0]["field"] == field


def let_through(_, codes, headers, paths=("/mcp",)):
    """The code of the answer of each guard; 200: the request was let through."""
    raw = []
    for name, values in headers.items():
        raw += [
            (name.encode(), value.encode("latin-1"))
            for value in (values if isinstance(values, list) else [values])
        ]
    for guard, code in codes.items():
        for path in paths:
            sent = []

            async def send(message, sent=sent):
                sent.append(message.get("status", message.get("code", 0)))

            async def receive():
                return {"type": "http.request", "body": b""}

            scope = {"type": "http", "method": "GET", "path": path, "headers": raw}
            asyncio.run(GUARDS[guard](scope, receive, send))
            assert sent[0] == code, (guard, path)


def token_file(folder, content, mode=0o600):
    path = folder / "tokens.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), "latin-1")
    path.chmod(mode)
    return str(path)


def wrong_tokens(folder, content, why):
    with pytest.raises(ConfigError, match=why) as caught:
        read_token_file(token_file(folder, content))
    assert not any(text in str(caught.value) for text in (TOKEN, READ, "secret", "short", "admin"))


@pytest.mark.parametrize("mode", [0o604, 0o640])
def test_a_file_of_tokens_that_others_can_read_is_refused(tmp_path, mode):
    with pytest.raises(ConfigError, match="others may read it"):
        read_token_file(token_file(tmp_path, {"write": TOKEN}, mode))


def test_one_token_is_enough(tmp_path):
    assert read_token_file(token_file(tmp_path, {"read": READ})) == Tokens("", READ)
    assert read_token_file(token_file(tmp_path, {"write": TOKEN, "read": READ})) == Tokens(TOKEN, READ)


def test_bodies_are_json_and_of_limited_size(served):
    one = f"{BASE}/one?updateMask=description"
    code, value = served.call("PATCH", one, b"{}", Content_Type="text/plain")
    assert (code, value["error"]["status"]) == (400, "INVALID_ARGUMENT")
    for size, accepted in ((3_000_000, 200), (4_300_000, 400)):
        assert served.call("PATCH", one, {"description": "x" * size})[0] == accepted
    served.call("PATCH", one, {})


def test_deep_values_are_refused(served):
    refused(served, "POST", "$BASE", "[" * 100_000, 400, "INVALID_ARGUMENT", "evaluation")
    value = 1
    for _ in range(60):
        value = {"a": value}
    body = {"scenario": {"variableOverrides": value}}
    code, answer = served.call("PATCH", f"{BASE}/one?updateMask=scenario", body)
    assert code == 400 and answer["error"]["message"].startswith("evaluation.scenario")


def answer(url, verb="GET"):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, method=verb)) as response:
            return response.status, response.headers, response.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


@pytest.mark.parametrize(("path", "code"), [("/one", 200), ("/none", 404)])
def test_answers_are_json_that_no_one_keeps_and_head_has_no_body(served, path, code):
    status, headers, text = answer(served.url + BASE + path)
    assert status == code and json.loads(text) and len(text) == int(headers["Content-Length"])
    assert (headers["Content-Type"], headers["Cache-Control"]) == ("application/json", "no-store")
    assert "Server" not in headers
    status, of_head, nothing = answer(served.url + BASE + path, "HEAD")
    assert (status, nothing, of_head["Content-Length"]) == (code, b"", headers["Content-Length"])
