"""A server among many clients, killed amid its work, and with requests and plugins that it refuses."""

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest
from mcp import Client
from sqlalchemy import select, text

from tests.pipeline.service.conftest import GOLDEN
from tests.store_rows import read_history
from turnwise.pipeline.service.evaluations import get_evaluation
from turnwise.pipeline.store.database import EVALUATIONS, TAGS, WRITERS, open_store
from turnwise.pipeline.store.rows import find_evaluation
from turnwise.schemas.ces.tools import GetEvaluationTool
from turnwise.schemas.registry import PLUGINS

APP = "projects/p/locations/l/apps/a"
BASE = f"/v1beta/{APP}/evaluations"
NAME = f"{APP}/evaluations/one"
CASE = {"displayName": "One", "golden": GOLDEN}
CLIENTS, STEPS = 8, 5


def test_eight_clients_of_both_faces_lose_no_update(start, sqlite_url):
    server = start(store_url=sqlite_url)
    server.call("POST", f"{BASE}?evaluationId=one", CASE)

    async def over_mcp(client):
        async with Client(f"{server.url}/mcp") as connected:
            for step in range(STEPS):
                updated = True
                while updated:
                    read = (await connected.call_tool("get_evaluation", {"name": NAME})).structured_content
                    tags = [*read.get("tags", []), f"{client}.{step}"]
                    evaluation = {"name": NAME, "tags": tags, "etag": read["etag"]}
                    arguments = {"evaluation": evaluation, "updateMask": "tags"}
                    updated = (await connected.call_tool("update_evaluation", arguments)).is_error

    async def over_rest(client):
        for step in range(STEPS):
            code = 0
            while code != 200:
                read = (await asyncio.to_thread(server.call, "GET", f"{BASE}/one"))[1]
                body = {"tags": [*read.get("tags", []), f"{client}.{step}"], "etag": read["etag"]}
                code, _ = await asyncio.to_thread(server.call, "PATCH", f"{BASE}/one?updateMask=tags", body)

    async def all_at_once():
        half = CLIENTS // 2
        await asyncio.gather(*map(over_mcp, range(half)), *map(over_rest, range(half, CLIENTS)))

    asyncio.run(all_at_once())
    wanted = sorted(f"{client}.{step}" for client in range(CLIENTS) for step in range(STEPS))
    assert sorted(server.call("GET", f"{BASE}/one")[1]["tags"]) == wanted
    assert server.stop() == ""


def test_a_killed_server_leaves_nothing_half_written(start, store_url):
    server = start(store_url=store_url)
    server.call("POST", f"{BASE}?evaluationId=one", {**CASE, "tags": ["0"]})
    acknowledged: list[int] = []
    ready = threading.Event()

    def work(client):
        with contextlib.suppress(OSError, ValueError):
            for step in range(1, 10_000):
                number = step * CLIENTS + client
                body = {"tags": [str(number), f"also-{number}"], "description": str(number) * 5_000}
                code, value = server.call("PATCH", f"{BASE}/one?updateMask=tags,description", body)
                if code == 200:
                    acknowledged.append(int(value["tags"][0]))
                if len(acknowledged) > 30:
                    ready.set()

    threads = [threading.Thread(target=work, args=(client,)) for client in range(CLIENTS)]
    for thread in threads:
        thread.start()
    assert ready.wait(60)
    server.process.kill()
    for thread in threads:
        thread.join()
    store = open_store(store_url)
    history = store.read(lambda c: read_history(c, NAME))
    now = store.read(lambda c: find_evaluation(c, NAME))
    assert [entry.revision for entry in history] == list(range(1, now.revision + 1))
    assert (now.etag, now.content) == (history[-1].etag, history[-1].content)
    assert set(acknowledged) <= {int(entry.content["tags"][0]) for entry in history}
    for entry in history[1:]:
        number = entry.content["tags"][0]
        assert entry.content["description"] == number * 5_000
        assert entry.content["tags"] == [number, f"also-{number}"]
    tags = store.read(lambda c: c.execute(select(TAGS.c.tag).order_by(TAGS.c.tag)).scalars().all())
    assert tags == sorted(now.content["tags"])
    content = store.read(lambda c: c.execute(select(EVALUATIONS.c.content)).scalar())
    assert json.loads(content) == now.content
    store.close()
    again = start(store_url=store_url)
    assert again.call("PATCH", f"{BASE}/one?updateMask=tags", {"tags": ["x"]})[1]["tags"] == ["x"]


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
    arguments = {"parent": APP, "evaluation": body}
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


class HeldWrite:
    """A write transaction that has changed rows, and is held open inside `with`."""

    def __init__(self, store):
        self._released, self._begun = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=store.write, args=[self._work])

    def _work(self, connection):
        connection.execute(text("UPDATE evaluations SET created_by = 'held'"))
        self._begun.set()
        self._released.wait(120)

    def __enter__(self):
        self.thread.start()
        assert self._begun.wait(60)
        return self

    def __exit__(self, *_):
        self._released.set()
        self.thread.join()


def test_a_server_answers_readers_while_more_writers_wait_than_it_has_threads(server):
    assert server.call("POST", f"{BASE}?evaluationId=readers", CASE)[0] == 200
    many = 3 * WRITERS
    with ThreadPoolExecutor(many) as pool:
        with HeldWrite(server.store) as held:
            waiting = [
                pool.submit(server.call, "PATCH", f"{BASE}/readers?updateMask=tags", {"tags": [str(number)]})
                for number in range(many)
            ]
            for _ in range(3):
                code, found = server.call("GET", f"{BASE}/readers")
                assert (code, found["displayName"]) == (200, "One")
            assert held.thread.is_alive() and not any(one.done() for one in waiting)
        assert [one.result()[0] for one in waiting] == [200] * many


def test_a_reader_finishes_while_a_write_transaction_is_open(service, create):
    name = create("one")["name"]
    with HeldWrite(service.store) as held:
        assert get_evaluation(service, GetEvaluationTool(name=name))["createdBy"] == "tester"
        assert held.thread.is_alive()
    assert get_evaluation(service, GetEvaluationTool(name=name))["createdBy"] == "held"


def test_a_server_does_not_start_if_a_criterion_cannot_be_used(tmp_path):
    plugin = tmp_path / "broken.py"
    plugin.write_text("raise RuntimeError('no criterion')")
    # A process that has loaded nothing: those of `forked` may have loaded the criteria.
    command = [sys.executable, "-m", "turnwise", "serve", "--store", "sqlite:///s.db", "--port", "0"]
    environment = {**os.environ, PLUGINS: str(plugin)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 2 and done.stdout == ""
    assert "broken.py: RuntimeError: no criterion" in done.stderr and "Traceback" not in done.stderr
    assert not (tmp_path / "s.db").exists()
