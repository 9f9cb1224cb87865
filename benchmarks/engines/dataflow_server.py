"""A server that speaks Dataflow's REST API as far as Beam's client needs it, and works on the jobs."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.served import http_served

Json = dict[str, Any]
_JOBS = "/v1b3/projects/some-project/locations/europe-west4/jobs"
_TIME = "2026-11-22T00:00:00Z"


class DataflowService:
    """Jobs, what was asked of them, and how they end.

    Attributes:
        work: Works on a job, given as it was posted; returns the error with which it ends, "" for none.
        refusal: The answer to a new job: its status and its message; None: it is taken.
        jobs: The jobs as they were posted.
        requests: Method and path of each request.
    """

    def __init__(self, work: Callable[[Json], str]) -> None:
        self.work = work
        self.refusal: tuple[int, str] | None = None
        self.jobs: list[Json] = []
        self.requests: list[str] = []
        self.error = ""
        self.state = "JOB_STATE_PENDING"
        self._workers: list[threading.Thread] = []

    def join(self) -> None:
        """Waits for the end of all work."""
        for worker in self._workers:
            worker.join()

    def answer(self, method: str, path: str, body: Json) -> tuple[int, Json]:
        """Returns status and content of an answer."""
        self.requests.append(f"{method} {path}")
        if method == "POST" and path == _JOBS:
            return self._create(body)
        if path == f"{_JOBS}/job-1/messages":
            return 200, {"jobMessages": self._messages()}
        if path == f"{_JOBS}/job-1/metrics":
            return 200, {"metrics": []}
        if path == f"{_JOBS}/job-1":
            if method == "PUT":
                self.state = body["requestedState"]
            return 200, self._job()
        return 404, {"error": {"code": 404, "message": f"there is no {path}", "status": "NOT_FOUND"}}

    def _create(self, body: Json) -> tuple[int, Json]:
        if self.refusal is not None:
            status, message = self.refusal
            return status, {"error": {"code": status, "message": message, "status": "PERMISSION_DENIED"}}
        self.jobs.append(body)
        self.state = "JOB_STATE_RUNNING"
        self._workers.append(threading.Thread(target=self._end, args=(body,)))
        self._workers[-1].start()
        return 200, {**self._job(), "currentState": "JOB_STATE_PENDING"}

    def _end(self, job: Json) -> None:
        self.error = self.work(job)
        if self.state == "JOB_STATE_RUNNING":
            self.state = "JOB_STATE_FAILED" if self.error else "JOB_STATE_DONE"

    def _job(self) -> Json:
        name = self.jobs[-1]["name"]
        fixed = {"id": "job-1", "projectId": "some-project", "location": "europe-west4", "createTime": _TIME}
        return {**fixed, "name": name, "type": "JOB_TYPE_BATCH", "currentState": self.state}

    def _messages(self) -> list[Json]:
        if not self.error:
            return []
        importance = "JOB_MESSAGE_ERROR"
        return [{"id": "1", "time": _TIME, "messageText": self.error, "messageImportance": importance}]


@contextmanager
def dataflow_server(service: DataflowService) -> Iterator[str]:
    """Serves jobs; yields the address for `--dataflow_endpoint`."""

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length) or b"{}")
            status, content = service.answer(self.command, self.path.partition("?")[0], body)
            data = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PUT = _answer

        def log_message(self, *_: object) -> None:
            """Logs nothing."""

    with http_served(Handler) as address:
        try:
            yield address.replace("127.0.0.1", "localhost")
        finally:
            service.join()
