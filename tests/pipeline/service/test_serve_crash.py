"""Eight clients at once, and a server that is killed amid its work: nothing is lost or half-written."""

import asyncio
import contextlib
import json
import threading
from typing import Any

from mcp import Client
from sqlalchemy import select

from tests.store_history import read_history
from turnwise.pipeline.store.database import EVALUATIONS, TAGS, open_store
from turnwise.pipeline.store.evaluations import find_evaluation

SCRIPT: Any = {"turns": [{"steps": [{"userInput": {"text": "hi"}}]}]}
APP = "projects/p/locations/l/apps/a"
BASE = f"/v1beta/{APP}/evaluations"
NAME = f"{APP}/evaluations/one"
CLIENTS, STEPS = 8, 5


def test_eight_clients_of_both_faces_lose_no_update(start, sqlite_url):
    server = start(store_url=sqlite_url)
    server.call("POST", f"{BASE}?evaluationId=one", {"displayName": "One", "golden": SCRIPT})

    async def over_mcp(client: int) -> None:
        async with Client(f"{server.url}/mcp") as connected:
            for step in range(STEPS):
                updated = True
                while updated:
                    read = (await connected.call_tool("get_evaluation", {"name": NAME})).structured_content
                    tags = [*read.get("tags", []), f"{client}.{step}"]
                    evaluation = {"name": NAME, "tags": tags, "etag": read["etag"]}
                    arguments = {"evaluation": evaluation, "updateMask": "tags"}
                    updated = (await connected.call_tool("update_evaluation", arguments)).is_error

    async def over_rest(client: int) -> None:
        for step in range(STEPS):
            code = 0
            while code != 200:
                read = (await asyncio.to_thread(server.call, "GET", f"{BASE}/one"))[1]
                body = {"tags": [*read.get("tags", []), f"{client}.{step}"], "etag": read["etag"]}
                code, _ = await asyncio.to_thread(server.call, "PATCH", f"{BASE}/one?updateMask=tags", body)

    async def all_at_once() -> None:
        half = CLIENTS // 2
        await asyncio.gather(*map(over_mcp, range(half)), *map(over_rest, range(half, CLIENTS)))

    asyncio.run(all_at_once())
    wanted = sorted(f"{client}.{step}" for client in range(CLIENTS) for step in range(STEPS))
    assert sorted(server.call("GET", f"{BASE}/one")[1]["tags"]) == wanted
    assert server.stop() == ""


def test_a_killed_server_leaves_nothing_half_written(start, store_url):
    server = start(store_url=store_url)
    server.call("POST", f"{BASE}?evaluationId=one", {"displayName": "One", "golden": SCRIPT, "tags": ["0"]})
    acknowledged: list[int] = []
    ready = threading.Event()

    def work(client: int) -> None:
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
    text = store.read(lambda c: c.execute(select(EVALUATIONS.c.content)).scalar())
    assert json.loads(text) == now.content
    store.close()
    again = start(store_url=store_url)
    assert again.call("PATCH", f"{BASE}/one?updateMask=tags", {"tags": ["x"]})[1]["tags"] == ["x"]
