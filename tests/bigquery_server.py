"""A server that stands in for BigQuery's REST API; DuckDB keeps the tables and executes the SQL."""

import json
import re
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import duckdb

from tests.served import http_served

TOKEN = "token-of-the-tests"
_TYPES = {"STRING": "VARCHAR", "INTEGER": "BIGINT", "FLOAT": "DOUBLE", "DATE": "DATE"}


class Reply(NamedTuple):
    status: int
    body: dict[str, Any]


class Trouble(Exception):
    """An error of the API."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message)
        error = {"code": status, "message": message, "errors": [{"reason": reason, "message": message}]}
        self.reply = Reply(status, {"error": error})


def not_found(kind: str, name: str) -> Trouble:
    return Trouble(404, "notFound", f"Not found: {kind} {name}")


class Rule(NamedTuple):
    """What is answered to some requests: `METHOD /path` matches `request`.

    Attributes:
        request: Regular expression.
        trouble: The answer; None: the work is done, but its answer is 503.
        times: How often.
    """

    request: str
    trouble: Trouble | None
    times: int


class BigQuery:
    """The state of the service.

    Attributes:
        database: The tables, a schema a dataset.
        requests: Every request as `METHOD /path`.
        rules: Answers of the next requests.
        refused_rows: Name of a table -> message of the load jobs into it.
        failing_sql: (text, message, times): statements with the text fail so.
        bucket: Folder whose files are those of Cloud Storage.
    """

    def __init__(self, project: str, dataset: str, bucket: Path) -> None:
        self.project, self.dataset, self.bucket = project, dataset, bucket
        self.database = duckdb.connect()
        self.database.execute(f'CREATE SCHEMA "{dataset}"')
        self.tables: dict[str, dict[str, Any]] = {}
        self.jobs: dict[str, dict[str, Any]] = {}
        self.uploads: dict[str, dict[str, Any]] = {}
        self.requests: list[str] = []
        self.rules: list[Rule] = []
        self.refused_rows: dict[str, str] = {}
        self.failing_sql: tuple[str, str, int] = ("", "", 0)
        self.lock = threading.RLock()

    def rows(self, table: str, order: str = "ALL") -> list[dict[str, Any]]:
        """Returns the rows of a table."""
        with self.lock:
            found = self.database.execute(f'SELECT * FROM "{self.dataset}"."{table}" ORDER BY {order}')
            names = [column[0] for column in found.description]
            return [dict(zip(names, row, strict=True)) for row in found.fetchall()]

    def fail(self, request: str, status: int, message: str = "", reason: str = "", times: int = 1) -> None:
        """Answers the next requests with an error."""
        self.rules.append(Rule(request, Trouble(status, reason, message), times))

    def lose_answer(self, request: str) -> None:
        """Does the work of the next request, and answers 503."""
        self.rules.append(Rule(request, None, 1))

    def answer(self, method: str, path: str, query: dict[str, list[str]], body: bytes) -> Reply:
        """Answers a request of the API."""
        with self.lock:
            line = f"{method} {path}"
            self.requests.append(line)
            rule = self._rule(line)
            try:
                if rule is not None and rule.trouble is not None:
                    raise rule.trouble
                reply = self._done(method, path, query, body)
            except Trouble as trouble:
                return trouble.reply
            if rule is not None:
                return Trouble(503, "backendError", "the answer was lost").reply
            return reply

    def _rule(self, line: str) -> Rule | None:
        for i, rule in enumerate(self.rules):
            if re.search(rule.request, line):
                self.rules[i : i + 1] = [rule._replace(times=rule.times - 1)] if rule.times > 1 else []
                return rule
        return None

    def _done(self, method: str, path: str, query: dict[str, list[str]], body: bytes) -> Reply:
        start = f"/bigquery/v2/projects/{self.project}"
        routes: list[tuple[str, str, Any]] = [
            ("GET", rf"{start}/datasets/(\w+)", self._dataset),
            ("POST", rf"{start}/datasets/(\w+)/tables", self._create),
            ("GET", rf"{start}/datasets/(\w+)/tables/(\w+)", self._table),
            ("DELETE", rf"{start}/datasets/(\w+)/tables/(\w+)", self._delete),
            ("GET", rf"{start}/datasets/(\w+)/tables/(\w+)/data", self._data),
            ("POST", rf"{start}/jobs", self._insert_job),
            ("GET", rf"{start}/jobs/([\w-]+)", self._job),
            ("GET", rf"{start}/queries/([\w-]+)", self._results),
            ("POST", rf"/upload{start}/jobs", self._begin_upload),
        ]
        for verb, pattern, work in routes:
            found = re.fullmatch(pattern, path)
            if verb == method and found:
                reply: Reply = work(*found.groups(), json.loads(body)) if body else work(*found.groups())
                return reply
        raise Trouble(404, "notFound", f"no such method: {method} {path}")

    def _dataset(self, name: str) -> Reply:
        if name != self.dataset:
            raise not_found("Dataset", f"{self.project}:{name}")
        reference = {"projectId": self.project, "datasetId": name}
        return Reply(200, {"datasetReference": reference, "location": "EU"})

    def _create(self, dataset: str, table: dict[str, Any]) -> Reply:
        self._dataset(dataset)
        name = table["tableReference"]["tableId"]
        if name in self.tables:
            raise Trouble(409, "duplicate", f"Already Exists: Table {name}")
        columns = ", ".join(
            f'"{field["name"]}" {_TYPES[field["type"]]}{"[]" if field.get("mode") == "REPEATED" else ""}'
            for field in table["schema"]["fields"]
        )
        self.database.execute(f'CREATE TABLE "{dataset}"."{name}" ({columns})')
        self.tables[name] = {"type": "TABLE", **table}
        return Reply(200, self.tables[name])

    def _table(self, dataset: str, name: str) -> Reply:
        if name not in self.tables:
            raise not_found("Table", f"{self.project}:{dataset}.{name}")
        return Reply(200, self.tables[name])

    def _delete(self, dataset: str, name: str) -> Reply:
        self._table(dataset, name)
        self.database.execute(f'DROP TABLE "{dataset}"."{name}"')
        del self.tables[name]
        return Reply(204, {})

    def _data(self, dataset: str, name: str) -> Reply:
        fields = {field["name"]: field for field in self._table(dataset, name).body["schema"]["fields"]}

        def cell(column: str, value: Any) -> dict[str, Any]:
            if fields[column].get("mode") == "REPEATED":
                return {"v": [{"v": item} for item in value or ()]}
            return {"v": None if value is None else str(value)}

        rows = [{"f": [cell(*item) for item in row.items()]} for row in self.rows(name)]
        return Reply(200, {"rows": rows, "totalRows": str(len(rows))})

    def _insert_job(self, job: dict[str, Any], content: bytes | None = None) -> Reply:
        reference = job["jobReference"]
        if reference["jobId"] in self.jobs:
            raise Trouble(409, "duplicate", f"Already Exists: Job {reference['jobId']}")
        reference |= {"projectId": self.project, "location": "EU"}
        done = job | {"id": reference["jobId"], "status": {"state": "DONE"}, "statistics": {}}
        configuration = job["configuration"]
        try:
            if "load" in configuration:
                rows = self._load(configuration["load"], content)
                done["statistics"] = {"load": {"outputRows": str(rows)}}
            else:
                self._query(configuration)
        except (duckdb.Error, ValueError) as error:
            text = {"reason": "invalid", "message": str(error)}
            if configuration.get("dryRun"):
                raise Trouble(400, "invalidQuery", str(error)) from None
            done["status"] |= {
                "errorResult": text,
                "errors": [text, text | {"message": "more of it"}],
            }
        if not configuration.get("dryRun"):
            self.jobs[reference["jobId"]] = done
        return Reply(200, done)

    def _job(self, name: str) -> Reply:
        if name not in self.jobs:
            raise not_found("Job", name)
        return Reply(200, self.jobs[name])

    def _results(self, name: str) -> Reply:
        job = self._job(name).body
        if error := job["status"].get("errorResult"):
            raise Trouble(400, error["reason"], error["message"])
        return Reply(200, {"jobComplete": True, "jobReference": job["jobReference"], "totalRows": "0"})

    def _load(self, load: dict[str, Any], content: bytes | None) -> int:
        target = load["destinationTable"]
        name = target["tableId"]
        self._table(target["datasetId"], name)
        for start, message in self.refused_rows.items():
            if name.startswith(start):
                raise ValueError(message)
        assert load["sourceFormat"] == "PARQUET" and load["parquetOptions"]["enableListInference"]
        assert load["writeDisposition"] == "WRITE_APPEND"
        contents = [content] if content is not None else map(self._object, load["sourceUris"])
        count = 0
        for each in contents:
            with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
                file.write(each)
                file.flush()
                insert = f'INSERT INTO "{target["datasetId"]}"."{name}" BY NAME SELECT * FROM read_parquet(?)'
                count += self.database.execute(insert, [file.name]).fetchone()[0]
        return count

    def _object(self, uri: str) -> bytes:
        path = self.bucket / uri.removeprefix("gs://")
        if not path.is_file():
            raise ValueError(f"Not found: URI {uri}")
        return path.read_bytes()

    def _query(self, configuration: dict[str, Any]) -> None:
        query = configuration["query"]
        assert query["useLegacySql"] is False
        named = query.get("queryParameters", ())
        values = {each["name"]: each["parameterValue"]["value"] for each in named}
        sql = re.sub(rf"`{self.project}\.(\w+)\.(\w+)`", r'"\1"."\2"', query["query"]).replace("`", '"')
        statements = [
            statement.strip() for statement in sql.replace("@", "$").split(";") if statement.strip()
        ]
        if configuration.get("dryRun"):
            for statement in statements:
                self.database.execute(f"EXPLAIN {statement}")
            return
        try:
            for statement in statements:
                text, message, times = self.failing_sql
                if times and text in statement:
                    self.failing_sql = (text, message, times - 1)
                    raise ValueError(message)
                used = {name: value for name, value in values.items() if f"${name}" in statement}
                self.database.execute(statement, used)
        except Exception:
            if "BEGIN TRANSACTION" in statements:
                self.database.execute("ROLLBACK")
            raise

    def _begin_upload(self, job: dict[str, Any]) -> Reply:
        name = f"upload{len(self.uploads)}"
        self.uploads[name] = job
        return Reply(200, {"upload": name})

    def uploaded(self, name: str, content: bytes) -> Reply:
        """Ends an upload, which starts its job."""
        with self.lock:
            line = f"PUT /{name}"
            self.requests.append(line)
            rule = self._rule(line)
            try:
                if rule is not None and rule.trouble is not None:
                    raise rule.trouble
                reply = self._insert_job(self.uploads[name], content)
            except Trouble as trouble:
                return trouble.reply
            return Trouble(503, "backendError", "the answer was lost").reply if rule is not None else reply


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    service: BigQuery

    def _handle(self) -> None:
        parts = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {}
        if parts.path == "/token":
            token = {"access_token": TOKEN, "token_type": "Bearer", "expires_in": 3600}
            reply = Reply(200, token)
        elif self.headers.get("Authorization") != f"Bearer {TOKEN}":
            reply = Trouble(401, "authError", "Invalid Credentials").reply
        elif self.command == "PUT":
            reply = self.service.uploaded(parts.path.strip("/"), body)
        else:
            reply = self.service.answer(self.command, parts.path, parse_qs(parts.query), body)
            if "upload" in reply.body:
                headers["Location"] = f"http://{self.headers['Host']}/{reply.body['upload']}"
        content = b"" if reply.status == 204 else json.dumps(reply.body).encode()
        self.send_response(reply.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_DELETE = _handle

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@contextmanager
def started_bigquery(project: str, dataset: str, bucket: Path) -> Iterator[tuple[BigQuery, str]]:
    """Starts the service on this machine; yields it and its address."""
    service = BigQuery(project, dataset, bucket)
    handler = type("Handler", (_Handler,), {"service": service})
    try:
        with http_served(handler) as address:
            yield service, address
    finally:
        service.database.close()
