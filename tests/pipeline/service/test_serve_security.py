"""Who may talk to a server that runs, and what it tells and logs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import text

from tests.pipeline.service.conftest import GOLDEN
from turnwise.pipeline.service.mcp import TOOLS
from turnwise.pipeline.service.serve import parse_serve_options
from turnwise.schemas.config import ConfigError

ROOT = Path(__file__).parents[3]
APP = "projects/p/locations/l/apps/a"
BASE = f"/v1beta/{APP}/evaluations"
TOKEN = "a-token-of-some-length"
FIRST = ["--store", "sqlite:///s.db"]


def test_both_faces_are_guarded(start):
    server = start(token=TOKEN)
    for path in (f"{BASE}/one", "/mcp", "/healthz/x"):
        assert server.call("GET", path)[0] in (404, 405)
        code, value = server.call("GET", path, Authorization="")
        assert (code, value["error"]["status"]) == (401, "UNAUTHENTICATED")
        assert server.call("GET", path, Authorization="Bearer wrong-token-of-some-length")[0] == 401
        assert server.call("POST", path, b"{}", Host="evil.example")[0] == 403
        assert server.call("POST", path, b"{}", Origin="http://evil.example")[0] == 403
    log = server.stop()
    assert TOKEN not in log


def test_a_token_of_the_environment_is_not_taken_for_one_of_the_server():
    with pytest.raises(ConfigError, match="name a --token_file"):
        parse_serve_options(FIRST, {"TURNWISE_TOKEN": TOKEN})


def test_a_taken_port_is_said_in_one_line(server, tmp_path):
    port = server.url.rsplit(":", 1)[1]
    command = [sys.executable, "-m", "turnwise", "serve", "--store", f"sqlite:///{tmp_path}/s.db"]
    done = subprocess.run([*command, "--port", port], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 2 and done.stdout == ""
    assert port in done.stderr and done.stderr.count("\n") == 1


MAIN = "from turnwise.pipeline.cli.main import main; main"
HEAVY = ("apache_beam", "sqlalchemy", "mcp", "starlette", "uvicorn")


@pytest.mark.parametrize(
    ("work", "heavy"),
    [
        (f"{MAIN}(['serve', '--help'])", HEAVY),
        (f"{MAIN}(['serve', '--store', 'x'])", HEAVY),
        ("import turnwise.pipeline.service.rest", HEAVY[:1]),
    ],
)
def test_nothing_heavy_is_imported_that_is_not_needed(work, heavy):
    code = f"import sys; {work}; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.endswith("[]\n")


def test_a_read_only_server_changes_nothing(start, server):
    body = {"displayName": "Kept", "golden": GOLDEN}
    server.call("POST", f"{BASE}?evaluationId=kept", body)
    reader = start("--read_only", store_url=server.store.url)
    code, value = reader.call("GET", f"{BASE}/kept")
    assert (code, value["displayName"]) == (200, "Kept")
    for method, path in (("PATCH", f"{BASE}/kept"), ("POST", BASE)):
        code, answer = reader.call(method, path, {**body, "displayName": "New"})
        assert (code, answer["error"]["status"]) == (403, "PERMISSION_DENIED")
    assert server.call("GET", f"{BASE}/kept") == (200, value)


def test_errors_tell_nothing_of_the_inside(start, sqlite_url):
    server = start(store_url=sqlite_url)
    secret = "geheim-geheim"
    assert server.call("GET", "/healthz") == (200, {"status": "ok"})
    server.call("POST", f"{BASE}?evaluationId=one", {"displayName": "x", "golden": GOLDEN})
    spoil = f"UPDATE evaluations SET content = '{secret} no JSON'"
    server.store.write(lambda connection: connection.execute(text(spoil)))
    code, value = server.call("GET", f"{BASE}/one")
    assert (code, value["error"]["status"], value["error"]["message"]) == (500, "INTERNAL", "internal error")
    server.store.write(lambda connection: connection.execute(text("ALTER TABLE evaluations RENAME TO gone")))
    assert server.call("GET", "/healthz") == (503, {"status": "the store does not answer"})
    body = {"displayName": secret, "golden": GOLDEN}
    for method, path, sent in (("GET", f"{BASE}/{secret}", None), ("POST", BASE, body)):
        code, value = server.call(method, path, sent)
        assert (code, value["error"]["status"]) == (503, "UNAVAILABLE")
        told = json.dumps(value)
        assert "SELECT" not in told and "gone" not in told and "Traceback" not in told
    params = {"name": "get_evaluation", "arguments": {"name": f"{APP}/evaluations/{secret}"}}
    call = {"method": "tools/call", "params": params, "jsonrpc": "2.0", "id": 1}
    code, answer = server.call("POST", "/mcp", call, Accept="application/json, text/event-stream")
    assert code == 200 and answer["result"]["isError"] and "SELECT" not in json.dumps(answer)
    log = server.stop()
    assert "JSONDecodeError" in log and "no such table" in log
    assert secret not in log and "Traceback" not in log


def tool(server, token, name, /, **arguments):
    params = {"name": name, "arguments": arguments} if name else {}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call" if name else "tools/list", "params": params}
    more = {"Accept": "application/json, text/event-stream", "Authorization": f"Bearer {token}"}
    code, answer = server.call("POST", "/mcp", body, **more)
    assert code == 200
    return answer["result"]


def test_what_the_tokens_permit(start, sqlite_url):
    server = start("--host", "0.0.0.0", store_url=sqlite_url, token=TOKEN)
    server.url, read = server.url.replace("0.0.0.0", "127.0.0.1"), f"{TOKEN}-read"
    body = {"displayName": "Kept", "golden": GOLDEN}
    assert server.call("POST", f"{BASE}?evaluationId=kept", body)[0] == 200
    reading = {"Authorization": f"Bearer {read}"}
    assert server.call("GET", f"{BASE}/kept", **reading) == server.call("GET", f"{BASE}/kept")
    for method, path in (("PATCH", f"{BASE}/kept"), ("DELETE", f"{BASE}/kept"), ("POST", BASE)):
        sent = None if method == "DELETE" else {**body, "displayName": "New"}
        code, answer = server.call(method, path, sent, **reading)
        assert (code, answer["error"]["status"]) == (403, "PERMISSION_DENIED")
    listed = {token: {each["name"] for each in tool(server, token, "")["tools"]} for token in (TOKEN, read)}
    assert listed[TOKEN] - listed[read] == {name for name, each in TOOLS.items() if each.changes}
    named = {"name": f"{APP}/evaluations/kept"}
    assert not tool(server, read, "get_evaluation", **named)["isError"]
    assert tool(server, read, "restore_evaluation", **named, revision=1)["isError"]
    assert not tool(server, TOKEN, "restore_evaluation", **named, revision=1)["isError"]
    assert server.call("GET", "/healthz", Authorization="")[0] == 401
    assert server.call("GET", "/healthz", **reading) == (200, {"status": "ok"})
    log = server.stop()
    assert TOKEN not in log
