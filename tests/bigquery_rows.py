"""A server that stands in for the part of BigQuery's REST API that reads: queries, their pages, tables."""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from tests.served import http_served

TOKEN = "token-of-the-reader"


class ApiError(Exception):
    """An error of the API."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        errors = [{"reason": reason, "message": message, "domain": "global"}]
        self.body = {"error": {"code": status, "message": message, "errors": errors}}


class Answer(NamedTuple):
    """The result of a query.

    Attributes:
        sql: Regular expression of its text.
        schema: The columns.
        rows: Values as the API writes them, one list a row.
        kind: Type of the statement.
        error: Message with which the job fails; "": it does not.
    """

    sql: str
    schema: list[dict[str, Any]]
    rows: list[list[Any]]
    kind: str = "SELECT"
    error: str = ""


class Fault(NamedTuple):
    """An error for requests whose line (`METHOD /path?query`) matches; `times` is how often."""

    request: str
    error: ApiError
    times: int = 1


class RowService:
    """The state of the service.

    Attributes:
        answers: What queries give.
        tables: DATASET.TABLE -> resource.
        page: Rows of a page.
        generation: Page tokens of other generations have expired.
        requests: Every request.
        faults: Errors of the next requests.
    """

    def __init__(self, project: str) -> None:
        self.project = project
        self.answers: list[Answer] = []
        self.tables: dict[str, dict[str, Any]] = {}
        self.page = 1000
        self.generation = 0
        self.requests: list[str] = []
        self.faults: list[Fault] = []
        self._jobs: dict[str, Answer] = {}
        self._lock = threading.Lock()

    def answer(self, sql: str, schema: list[tuple[str, ...]], *rows: list[Any], **more: Any) -> None:
        """Adds the result of a query; columns are (name, type, mode)."""
        fields = [dict(zip(("name", "type", "mode"), each, strict=False)) for each in schema]
        self.answers.append(Answer(sql, fields, list(rows), **more))

    def fail(self, request: str, status: int, message: str, reason: str = "x", times: int = 1) -> None:
        """Answers the next requests with an error."""
        self.faults.append(Fault(request, ApiError(status, reason, message), times))

    def asked(self, request: str) -> list[str]:
        """Returns the requests that match."""
        return [line for line in self.requests if re.search(request, line)]

    def done(self, method: str, path: str, query: dict[str, str], body: dict[str, Any]) -> dict[str, Any]:
        """Answers a request; raises ApiError."""
        line = f"{method} {path}?{'&'.join(f'{name}={value}' for name, value in query.items())}"
        with self._lock:
            self.requests.append(line)
            for i, fault in enumerate(self.faults):
                if re.search(fault.request, line):
                    self.faults[i : i + 1] = [fault._replace(times=fault.times - 1)] * (fault.times > 1)
                    raise fault.error
            return self._routed(method, path.removeprefix("/bigquery/v2"), query, body)

    def _routed(self, method: str, path: str, query: dict[str, str], body: dict[str, Any]) -> dict[str, Any]:
        project, _, rest = path.removeprefix("/projects/").partition("/")
        if project != self.project:
            raise ApiError(404, "notFound", f"Not found: Project {project}")
        if method == "POST" and rest == "jobs":
            return self._insert(body)
        if found := re.fullmatch(r"jobs/([\w-]+)", rest):
            return self._job(found[1])
        if found := re.fullmatch(r"queries/([\w-]+)", rest):
            return self._page(found[1], query)
        if found := re.fullmatch(r"datasets/(\w+)/tables/([^/]+)", rest):
            return self._table(f"{found[1]}.{found[2]}")
        raise ApiError(404, "notFound", f"no such method: {method} {path}")

    def _table(self, name: str) -> dict[str, Any]:
        if name not in self.tables:
            raise ApiError(404, "notFound", f"Not found: Table {self.project}:{name}")
        dataset, table = name.split(".")
        reference = {"projectId": self.project, "datasetId": dataset, "tableId": table}
        return {"tableReference": reference, "type": "TABLE", **self.tables[name]}

    def _insert(self, body: dict[str, Any]) -> dict[str, Any]:
        configuration, sql = body["configuration"], body["configuration"]["query"]["query"]
        found = next((each for each in self.answers if re.search(each.sql, sql, re.DOTALL)), None)
        if found is None:
            raise ApiError(400, "invalidQuery", f"Syntax error: Unexpected {sql.split()[0]} at [1:1]")
        name = body.get("jobReference", {}).get("jobId", "dry")
        if configuration.get("dryRun"):
            return self._resource(name, found)
        self._jobs[name] = found
        return self._resource(name, found)

    def _resource(self, name: str, answer: Answer) -> dict[str, Any]:
        status: dict[str, Any] = {"state": "DONE"}
        if answer.error:
            error = {"reason": "invalidQuery", "message": answer.error}
            status |= {"errorResult": error, "errors": [error]}
        to = {"projectId": self.project, "datasetId": "_anonymous", "tableId": "anon1"}
        return {
            "jobReference": {"projectId": self.project, "jobId": name, "location": "EU"},
            "configuration": {"jobType": "QUERY", "query": {"query": answer.sql, "destinationTable": to}},
            "status": status,
            "statistics": {"query": {"statementType": answer.kind}},
        }

    def _job(self, name: str) -> dict[str, Any]:
        if name not in self._jobs:
            raise ApiError(404, "notFound", f"Not found: Job {name}")
        return self._resource(name, self._jobs[name])

    def _page(self, name: str, query: dict[str, str]) -> dict[str, Any]:
        found = self._jobs[name]
        if found.error:
            raise ApiError(400, "invalidQuery", found.error)
        start = int(query.get("startIndex", 0))
        if token := query.get("pageToken"):
            place, _, generation = token.partition("-")
            if int(generation) != self.generation:
                raise ApiError(400, "invalid", "Invalid page token: it has expired")
            start = int(place)
        end = min(start + min(self.page, int(query.get("maxResults", self.page))), len(found.rows))
        reply = {
            "jobComplete": True,
            "jobReference": {"projectId": self.project, "jobId": name, "location": "EU"},
            "schema": {"fields": found.schema},
            "totalRows": str(len(found.rows)),
        }
        if end > start:
            reply["rows"] = [{"f": [{"v": cell} for cell in row]} for row in found.rows[start:end]]
        if end < len(found.rows):
            reply["pageToken"] = f"{end}-{self.generation}"
        return reply


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    service: RowService

    def _handle(self) -> None:
        parts = urlsplit(self.path)
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        status, reply = 200, {"access_token": TOKEN, "token_type": "Bearer", "expires_in": 3600}
        try:
            if parts.path != "/token":
                if self.headers.get("Authorization") != f"Bearer {TOKEN}":
                    raise ApiError(401, "authError", "Invalid Credentials")
                query = {name: values[0] for name, values in parse_qs(parts.query).items()}
                body = json.loads(content) if content else {}
                reply = self.service.done(self.command, parts.path, query, body)
        except ApiError as error:
            status, reply = error.status, error.body
        text = json.dumps(reply).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = _handle

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@contextmanager
def started_rows(project: str) -> Iterator[tuple[RowService, str]]:
    """Starts the service on this machine; yields it and its address."""
    service = RowService(project)
    with http_served(type("Handler", (_Handler,), {"service": service})) as address:
        yield service, address
