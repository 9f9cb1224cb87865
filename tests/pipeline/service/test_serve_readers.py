"""Readers do not wait for writers."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from sqlalchemy import text

from turnwise.pipeline.service.evaluations import get_evaluation
from turnwise.pipeline.store.database import WRITERS

APP = "projects/acme-cx/locations/us/apps/travel-desk"


class HeldWrite:
    """A write transaction that has changed rows, and is held open inside `with`."""

    def __init__(self, store: Any) -> None:
        self._released, self._begun = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=store.write, args=[self._work])

    def _work(self, connection: Any) -> None:
        connection.execute(text("UPDATE evaluations SET created_by = 'held'"))
        self._begun.set()
        self._released.wait(120)

    def __enter__(self) -> "HeldWrite":
        self.thread.start()
        assert self._begun.wait(60)
        return self

    def __exit__(self, *_: object) -> None:
        self._released.set()
        self.thread.join()


def test_a_server_answers_readers_while_more_writers_wait_than_it_has_threads(server):
    evaluation = {"displayName": "One", "scenario": {"task": "book", "rubrics": ["r"]}}
    path = f"/v1beta/{APP}/evaluations"
    assert server.call("POST", f"{path}?evaluationId=readers", evaluation)[0] == 200
    many = 3 * WRITERS
    with ThreadPoolExecutor(many) as pool:
        with HeldWrite(server.store) as held:
            waiting = [
                pool.submit(server.call, "PATCH", f"{path}/readers?updateMask=tags", {"tags": [str(number)]})
                for number in range(many)
            ]
            for _ in range(3):
                code, found = server.call("GET", f"{path}/readers")
                assert (code, found["displayName"]) == (200, "One")
            assert held.thread.is_alive() and not any(one.done() for one in waiting)
        assert [one.result()[0] for one in waiting] == [200] * many


def test_a_reader_finishes_while_a_write_transaction_is_open(service, create):
    name = create("one")["name"]
    with HeldWrite(service.store) as held:
        assert get_evaluation(service, name)["createdBy"] == "tester"
        assert held.thread.is_alive()
    assert get_evaluation(service, name)["createdBy"] == "held"
