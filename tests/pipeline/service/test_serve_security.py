"""Who may talk to the server, what it refuses to start with, and what it tells and logs."""

import asyncio
import json
import subprocess
import sys
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from turnwise.pipeline.service.http import AuthMiddleware
from turnwise.pipeline.service.mcp import TOOLS
from turnwise.pipeline.service.serve import Tokens, parse_serve_options, read_token_file
from turnwise.schemas.config import ConfigError

SCRIPT: Any = {"turns": [{"steps": [{"userInput": {"text": "hi"}}]}]}
ROOT = Path(__file__).parents[3]
APP = "projects/p/locations/l/apps/a"
BASE = f"/v1beta/{APP}/evaluations"
TOKEN = "a-token-of-some-length"
FIRST = ["--store", "sqlite:///s.db"]


def ask(middleware: AuthMiddleware, *headers: tuple[str, str], kind: str = "http", path: str = "/mcp") -> int:
    """Returns the code of the answer; 200: the request was let through."""
    codes: list[int] = []

    async def send(message: Any) -> None:
        codes.append(message.get("status", message.get("code", 0)))

    async def receive() -> Any:
        return {"type": "http.request", "body": b""}

    raw = [(key.encode(), value.encode("latin-1")) for key, value in headers]
    asyncio.run(middleware({"type": kind, "method": "GET", "path": path, "headers": raw}, receive, send))
    return codes[0]


async def let_through(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200})


READ = "another-token-of-some-length"
NO_TOKEN = Tokens()
LOCAL = AuthMiddleware(let_through, "127.0.0.1", ["tools.example.com"], NO_TOKEN)
WIDE = AuthMiddleware(let_through, "0.0.0.0", ["tools.example.com"], NO_TOKEN)
WITH_TOKEN = AuthMiddleware(let_through, "127.0.0.1", [], Tokens(TOKEN, READ))


def basic(text: str) -> str:
    return f"Basic {b64encode(text.encode()).decode()}"


@pytest.mark.parametrize(
    ("host", "local", "wide"),
    [
        ("127.0.0.1:8000", 200, 200),
        ("LOCALHOST", 200, 200),
        ("[::1]:8000", 200, 200),
        ("Tools.Example.com:8443", 200, 200),
        ("10.0.0.5:8000", 403, 200),
        ("[2001:db8::1]:8000", 403, 200),
        ("evil.example:8000", 403, 403),
        ("localhost.evil.example", 403, 403),
        ("127.0.0.1@evil.example", 403, 403),
        ("127.1", 403, 403),
        ("localhost.", 403, 403),
        ("", 403, 403),
    ],
)
def test_hosts(host, local, wide):
    assert ask(LOCAL, ("host", host)) == local
    assert ask(WIDE, ("host", host)) == wide


def test_one_host_is_needed():
    assert ask(LOCAL) == 403
    assert ask(LOCAL, ("host", "localhost"), ("host", "evil.example")) == 403


@pytest.mark.parametrize(
    ("origin", "local", "wide"),
    [
        ("http://localhost:8000", 200, 200),
        ("https://tools.example.com", 200, 200),
        ("http://10.0.0.5:8000", 403, 403),
        ("http://evil.example", 403, 403),
        ("null", 403, 403),
        ("", 403, 403),
        ("http://localhost:8000/path", 403, 403),
    ],
)
def test_origins(origin, local, wide):
    assert ask(LOCAL, ("host", "localhost:8000"), ("origin", origin)) == local
    assert ask(WIDE, ("host", "10.0.0.9:8000"), ("origin", origin)) == wide


def test_a_page_of_the_server_itself_is_no_other_site():
    assert ask(WIDE, ("host", "10.0.0.9:8000"), ("origin", "http://10.0.0.9:8000")) == 200
    assert ask(WIDE, ("host", "10.0.0.9:8000"), ("origin", "http://10.0.0.9:8001")) == 403


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ([f"Bearer {TOKEN}"], 200),
        ([f"Bearer {READ}"], 200),
        ([basic(f"me:{TOKEN}")], 401),
        ([], 401),
        ([f"BEARER {TOKEN}"], 200),
        ([f"Bearer {TOKEN} "], 401),
        ([f"Bearer {TOKEN[:-1]}"], 401),
        ([f"Bearer {TOKEN}", f"Bearer {TOKEN}"], 401),
        (["Bearer \xe9"], 401),
    ],
)
def test_tokens(values, code):
    assert ask(WITH_TOKEN, ("host", "localhost"), *(("authorization", value) for value in values)) == code


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (basic(f"me:{READ}"), 200),
        (basic(f":{TOKEN}"), 200),
        (basic(f"me:{READ}x"), 401),
        (basic("me:\u00e9"), 401),
        ("Basic /w==", 401),
    ],
)
def test_pages_take_the_token_as_a_password(given, code):
    for path in ("/", "/ui", "/ui/runs"):
        assert ask(WITH_TOKEN, ("host", "localhost"), ("authorization", given), path=path) == code
    assert ask(WITH_TOKEN, ("host", "localhost"), ("authorization", basic(f"me:{READ}")), path="/uix") == 401


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


@pytest.fixture
def token_file(tmp_path: Path) -> Callable[..., str]:
    """Returns a function that writes a file of tokens."""

    def write(content: Any, mode: int = 0o600) -> str:
        path = tmp_path / "tokens.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        path.chmod(mode)
        return str(path)

    return write


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ({"write": "short"}, "at least 16"),
        ({"write": TOKEN, "read": "with blanks in secret"}, "at least 16"),
        ({"write": TOKEN, "read": TOKEN}, "must differ"),
        ({"write": TOKEN, "admin": READ}, "its form is"),
        (TOKEN, "its form is"),
    ],
)
def test_wrong_tokens_are_refused_and_not_shown(token_file, content, why):
    with pytest.raises(ConfigError, match=why) as caught:
        read_token_file(token_file(content))
    assert not any(text in str(caught.value) for text in (TOKEN, READ, "secret", "short", "admin"))


@pytest.mark.parametrize("mode", [0o604, 0o640])
def test_a_file_of_tokens_that_others_can_read_is_refused(token_file, mode):
    with pytest.raises(ConfigError, match="others may read it"):
        read_token_file(token_file({"write": TOKEN}, mode))


def test_one_token_is_enough(token_file):
    assert read_token_file(token_file({"read": READ})) == Tokens("", READ)
    assert read_token_file(token_file({"write": TOKEN, "read": READ})) == Tokens(TOKEN, READ)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ([], "--store is missing"),
        ([*FIRST, "--port", "70000"], "--port"),
        ([*FIRST, "--tokn", "x"], "--tokn"),
        (["--store", "mysql://u:secret@h/d"], "is no URL"),
        (["--store", "sqlite:////no/such/place/s.db"], "no such directory"),
        ([*FIRST, "--token_file", "/no/such"], "No such file"),
        ([*FIRST, "--host", "0.0.0.0"], "name a --token_file"),
        ([*FIRST, "--host", ""], "name a --token_file"),
    ],
)
def test_usage_errors_are_one_line(turnwise, arguments, why):
    done = turnwise("serve", *arguments)
    assert done.status == 2 and why in done.err and done.err.count("\n") == 1
    assert "secret" not in done.err


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
    body = {"displayName": "Kept", "golden": SCRIPT}
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
    server.store.write(lambda connection: connection.execute(text("ALTER TABLE evaluations RENAME TO gone")))
    assert server.call("GET", "/healthz") == (503, {"status": "the store does not answer"})
    body = {"displayName": secret, "golden": SCRIPT}
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
    assert "no such table" in log and secret not in log and "Traceback" not in log


def test_damaged_rows_are_an_internal_error(start, sqlite_url):
    server = start(store_url=sqlite_url)
    server.call("POST", f"{BASE}?evaluationId=one", {"displayName": "x", "golden": SCRIPT})
    spoil = "UPDATE evaluations SET content = 'geheim no JSON'"
    server.store.write(lambda connection: connection.execute(text(spoil)))
    code, value = server.call("GET", f"{BASE}/one")
    assert (code, value["error"]["status"], value["error"]["message"]) == (500, "INTERNAL", "internal error")
    log = server.stop()
    assert "JSONDecodeError" in log and "geheim" not in log


def tool(server: Any, token: str, name: str, /, **arguments: Any) -> Any:
    params = {"name": name, "arguments": arguments} if name else {}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call" if name else "tools/list", "params": params}
    more = {"Accept": "application/json, text/event-stream", "Authorization": f"Bearer {token}"}
    code, answer = server.call("POST", "/mcp", body, **more)
    assert code == 200
    return answer["result"]


def test_what_the_tokens_permit(start, sqlite_url):
    server = start("--host", "0.0.0.0", store_url=sqlite_url, token=TOKEN)
    server.url, read = server.url.replace("0.0.0.0", "127.0.0.1"), f"{TOKEN}-read"
    body = {"displayName": "Kept", "golden": SCRIPT}
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
