"""Slow, many and broken connections, over real sockets, and requests that hold too much."""

import asyncio
import contextlib
import http.client
import json
import logging
import re
import resource
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from tests import forked
from turnwise.pipeline.service.http.log_limit import LogRateLimit
from turnwise.pipeline.service.http.protocol import HttpLimits, LimitedProtocol, server_limits

ROOT = Path(__file__).parents[3]
BASE = "/v1beta/projects/p/locations/l/apps/a/evaluations"
HALF_HEADERS = b"POST / HTTP/1.1\r\nHost: local"
HALF_BODY = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nab"
WHOLE = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
LARGE = 50_000_000
AT_WORK = threading.Semaphore(0)


async def application(scope: Any, receive: Any, send: Any) -> None:
    """Reads the whole body, then answers; `/large` with more than a socket holds, `/slow` after a while."""
    if scope["type"] != "http":
        return
    while (await receive()).get("more_body"):
        pass
    if scope["path"] == "/slow":
        AT_WORK.release()
        await asyncio.sleep(3)
    body = b"x" * (LARGE if scope["path"] == "/large" else 2)
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": 200, "headers": [length]})
    await send({"type": "http.response.body", "body": body})


@contextlib.contextmanager
def serving(limits: HttpLimits, kind: type[LimitedProtocol] = LimitedProtocol) -> Iterator[int]:
    """Serves `application` with limits in a thread of this process; gives the port."""
    protocol: Any = partial(kind, limits=limits)
    config = uvicorn.Config(application, http=protocol, log_config=None, port=0, lifespan="off")
    config.timeout_graceful_shutdown = 1
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join()


def connect(stack: contextlib.ExitStack, port: int, data: bytes) -> socket.socket:
    """Returns a connection on which something was sent."""
    client = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))
    client.sendall(data)
    return client


def rest_of(client: socket.socket) -> bytes:
    """Returns what comes until the server ends the connection."""
    found = b""
    with contextlib.suppress(ConnectionError):
        while part := client.recv(1 << 20):
            found += part
    return found


@pytest.mark.parametrize("data", [b"", HALF_HEADERS, HALF_BODY, WHOLE + HALF_HEADERS, WHOLE + HALF_BODY])
def test_a_half_sent_request_is_ended(data: bytes) -> None:
    with serving(HttpLimits(headers=0.5, body=0.5)) as port, contextlib.ExitStack() as stack:
        client = connect(stack, port, data)
        assert rest_of(client).count(b"200 OK") == data.count(WHOLE)


def test_a_request_that_drips_is_ended() -> None:
    with serving(HttpLimits(headers=0.5)) as port, contextlib.ExitStack() as stack:
        client = connect(stack, port, HALF_HEADERS)
        with contextlib.suppress(ConnectionError):
            for _ in range(600):
                client.sendall(b"x")
                time.sleep(0.1)
            pytest.fail("it was let drip for a minute")


def test_an_answer_that_nobody_reads_is_ended() -> None:
    with serving(HttpLimits(answer=0.5)) as port, contextlib.ExitStack() as stack:
        client = connect(stack, port, WHOLE.replace(b"GET /", b"GET /large"))
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            time.sleep(0.5)
            try:
                client.sendall(b"x")
            except ConnectionError:
                break
        assert len(rest_of(client)) < LARGE


def test_every_request_of_a_connection_has_its_own_time() -> None:
    due: list[Any] = []

    class Watched(LimitedProtocol):
        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._refresh()
            due.append(self._due)

    with serving(HttpLimits(), Watched) as port:
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        try:
            for _ in range(20):
                client.request("GET", "/")
                assert client.getresponse().read() == b"xx"
        finally:
            client.close()
    assert len(set(due)) == len(due) == 20 and {kind for kind, *_ in due} == {"headers"}


def test_a_request_that_takes_the_server_long_is_not_ended() -> None:
    limits = HttpLimits(headers=0.5, body=0.5, answer=0.5, connections=8)
    with serving(limits) as port, contextlib.ExitStack() as stack:
        slow = connect(stack, port, WHOLE.replace(b"GET /", b"GET /slow"))
        assert AT_WORK.acquire(timeout=60)
        for _ in range(20):
            connect(stack, port, HALF_HEADERS)
        assert slow.recv(1000).startswith(b"HTTP/1.1 200 OK")


def _asked(stack: contextlib.ExitStack, port: int) -> bytes:
    """Returns the answer to a request on a connection of its own."""
    return rest_of(connect(stack, port, WHOLE.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")))


@pytest.mark.parametrize("data", [b"", HALF_HEADERS, HALF_BODY, WHOLE])
def test_many_connections_do_not_keep_others_out(data: bytes) -> None:
    with serving(HttpLimits(headers=600, body=600, connections=8)) as port, contextlib.ExitStack() as stack:
        held = [connect(stack, port, data) for _ in range(40)]
        for _ in range(3):
            # Requests of those that are held may be at work yet: who comes then is told so.
            assert any(b"200 OK" in _asked(stack, port) for _ in range(200))
        assert rest_of(held[0]).count(b"200 OK") <= data.count(WHOLE)


def test_where_all_connections_are_at_work_a_new_one_is_told_so() -> None:
    with serving(HttpLimits(connections=8)) as port, contextlib.ExitStack() as stack:
        slow = [connect(stack, port, WHOLE.replace(b"GET /", b"GET /slow")) for _ in range(8)]
        assert all(AT_WORK.acquire(timeout=60) for _ in slow)
        told = rest_of(connect(stack, port, b""))
        assert told.startswith(b"HTTP/1.1 503 ") and b'"UNAVAILABLE"' in told
        assert all(client.recv(1000).startswith(b"HTTP/1.1 200 OK") for client in slow)


@pytest.mark.parametrize(
    "data",
    [b"no HTTP at all\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", WHOLE[:-2] + b"a b: c\r\n\r\n"],
)
def test_what_is_not_http_is_told_so_in_the_form_of_the_api(data: bytes) -> None:
    with serving(HttpLimits()) as port, contextlib.ExitStack() as stack:
        told = rest_of(connect(stack, port, data))
        assert told.startswith(b"HTTP/1.1 400 ") and json.loads(told.partition(b"\r\n\r\n")[2])["error"]


def test_who_sends_no_http_is_named_once_and_who_sends_nothing_is_not(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    grpc = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    for data, lines in ((b"", 0), (grpc, 1)):
        LimitedProtocol._told_at = -60.0
        with serving(HttpLimits()) as port:
            for _ in range(2):
                with contextlib.ExitStack() as stack:
                    client = connect(stack, port, data)
                    assert not data or b"HTTP/1.1 400 " in rest_of(client)
        told = capfd.readouterr().err.splitlines()
        assert len(told) == lines and not caplog.records
        assert all(line.startswith("turnwise: ") and "http/protobuf" in line for line in told)


def test_a_body_that_breaks_the_protocol_logs_no_traceback(caplog: pytest.LogCaptureFixture) -> None:
    broken = b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nno size\r\n"
    with serving(HttpLimits()) as port, contextlib.ExitStack() as stack:
        assert rest_of(connect(stack, port, broken)).startswith(b"HTTP/1.1 400 ")
        assert b"200 OK" in rest_of(connect(stack, port, WHOLE[:-2] + b"Connection: close\r\n\r\n"))
    assert not any(record.exc_info for record in caplog.records)


def test_a_server_under_a_flood_answers_and_logs_little(tmp_path: Path) -> None:
    """400 connections at a server that may open 128 files: half-sent, and some that are no HTTP."""
    command = ["serve", "--store", f"sqlite:///{tmp_path}/s.db", "--port", "0"]
    own = resource.getrlimit(resource.RLIMIT_NOFILE)
    with (tmp_path / "log").open("wb") as log:
        process = forked.Process(command, ROOT, stdout=subprocess.PIPE, stderr=log)
    try:
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (128, own[1]))
        found = re.search(r"http://127.0.0.1:(\d+)/v1beta", process.stdout.readline())
        assert found
        with contextlib.ExitStack() as stack:
            for number in range(400):
                data = (HALF_HEADERS, HALF_BODY, b"", b"no HTTP\r\n\r\n")[number % 4]
                with contextlib.suppress(ConnectionError):
                    connect(stack, int(found[1]), data)
            for _ in range(5):
                url = f"http://127.0.0.1:{found[1]}{BASE}"
                with urllib.request.urlopen(url, timeout=60) as answer:
                    assert json.load(answer) == {}
    finally:
        process.terminate()
        process.communicate()
    text = (tmp_path / "log").read_text()
    assert "Traceback" not in text and len(text) < 5_000


def test_the_connections_of_a_server_leave_it_files() -> None:
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    assert 8 <= server_limits().connections <= (256 if files < 0 else max(8, files // 2))


def record(text: str, *arguments: Any, **more: Any) -> logging.LogRecord:
    return logging.LogRecord("asyncio", logging.ERROR, "file.py", 7, text, arguments, more.get("exc_info"))


def test_a_log_holds_one_line_of_a_kind_in_a_minute() -> None:
    now = [0.0]
    limited = LogRateLimit(lambda: now[0])
    try:
        raise OSError("secret")
    except OSError:
        failed = sys.exc_info()
    first = record("out of %s\nsocket: 7", "files", exc_info=failed)
    assert limited.filter(first) and first.getMessage() == "out of files (OSError)" and not first.exc_info
    held = [limited.filter(record("out of %s\nsocket: 8", "files", exc_info=failed)) for _ in range(5)]
    assert held == [False] * 5
    assert limited.filter(record("another"))
    now[0] = 61.0
    later = record("out of %s", "files", exc_info=failed)
    assert limited.filter(later) and later.getMessage() == "out of files (OSError) (and 5 more before)"


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
        ({**CASE, "tags": ["t"] * 300_000}, "a list holds more than 10000 entries"),
        ({"golden": {"turns": [{}] * 300_000}}, "a list holds more than 10000 entries"),
        (TOO_LONG, "a list holds more than 10000 entries"),
        (TOO_MANY, "the request holds more than 100000 values"),
    ],
)
def test_a_request_that_holds_too_much_is_refused_by_both_faces(server: Any, body: Any, why: str) -> None:
    code, value = server.call("POST", BASE, body)
    assert (code, value["error"]["status"]) == (400, "INVALID_ARGUMENT") and why in value["error"]["message"]
    arguments = {"parent": "projects/p/locations/l/apps/a", "evaluation": body}
    call = {"method": "tools/call", "params": {"name": "create_evaluation", "arguments": arguments}}
    sent = {**call, "jsonrpc": "2.0", "id": 1}
    code, answer = server.call("POST", "/mcp", sent, Accept="application/json, text/event-stream")
    assert code == 200 and answer["result"]["isError"] and why in answer["result"]["content"][0]["text"]


def test_a_hundred_tags_are_accepted(server: Any) -> None:
    body = {**CASE, "displayName": "tagged", "tags": [f"t{number}" for number in range(100)]}
    code, value = server.call("POST", BASE, body)
    assert (code, value.get("error")) == (200, None)
