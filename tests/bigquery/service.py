"""The state of the service, and what it does for every request of the REST API."""

import json
import re
from typing import Any

import duckdb

from tests.bigquery.database import Database
from tests.bigquery.errors import Answer, Reply, Rule, Trouble, not_found


class BigQuery(Database):
    """BigQuery with one project and one dataset.

    Attributes:
        answers: What queries give; none: DuckDB executes them.
        page: Rows of a page.
        streams: Streams of a read session, unless fewer are wanted.
        size: Bytes that a query or a read session reads.
        requests: Every request as `METHOD /path?query`, `SESSION table?condition`, `READ stream?offset=N`.
        rules: Answers of the next requests.
    """

    def __init__(self, project, dataset, bucket):
        super().__init__(project, dataset, bucket)
        self.answers: list[Answer] = []
        self.page, self.streams, self.size = 1000, 3, 5 << 30
        self.requests: list[str] = []
        self.rules: list[Rule] = []
        self.jobs: dict[str, dict[str, Any]] = {}
        self.answered: dict[str, Answer] = {}
        self.uploads: dict[str, dict[str, Any]] = {}

    def answer(self, sql, schema, *rows, **more):
        """Adds the result of a query; columns are fields, or (name, type, mode)."""
        names = ("name", "type", "mode")
        fields = [each if isinstance(each, dict) else dict(zip(names, each, strict=False)) for each in schema]
        self.answers.append(Answer(sql, fields, list(rows), **more))

    def fail(self, request, status, message="", reason="x", times=1):
        self.rules.append(Rule(request, Trouble(status, reason, message), times))

    def lose_answer(self, request):
        """Does the work of the next request, and answers 503."""
        self.rules.append(Rule(request, None, 1))

    def asked(self, request):
        return [line for line in self.requests if re.search(request, line)]

    def done(self, method, path, query, body):
        line = f"{method} {path}?{'&'.join(f'{name}={value}' for name, value in query.items())}"
        with self.lock:
            self.requests.append(line)
            rule = self.take_rule(line)
            try:
                if rule is not None and rule.trouble is not None:
                    raise rule.trouble
                reply = self._routed(method, path, query, body)
                if rule is not None:
                    raise Trouble(503, "backendError", "the answer was lost")
                return reply
            except Trouble as trouble:
                return trouble.reply

    def take_rule(self, line):
        """Returns the answer to a request that a test wants, and counts it."""
        for i, rule in enumerate(self.rules):
            if re.search(rule.request, line):
                self.rules[i : i + 1] = [rule._replace(times=rule.times - 1)] * (rule.times > 1)
                return rule
        return None

    def _routed(self, method, path, query, body):
        if method == "PUT":
            return self._insert_job(self.uploads[path.strip("/")], body)
        found = re.fullmatch(r"(/upload)?/bigquery/v2/projects/([^/]+)/(.*)", path)
        if found is None or found[2] != self.project:
            raise not_found("Project", path)
        routes: list[tuple[str, str, Any]] = [
            ("GET", r"datasets/(\w+)", self._dataset),
            ("POST", r"datasets/(\w+)/tables", self._create),
            ("GET", r"datasets/(\w+)/tables", self._list),
            ("GET", r"datasets/(\w+)/tables/([^/]+)", self._table),
            ("DELETE", r"datasets/(\w+)/tables/(\w+)", self._delete),
            ("GET", r"datasets/(\w+)/tables/(\w+)/data", self._data),
            ("POST", r"jobs", self._begin_upload if found[1] else self._insert_job),
            ("GET", r"jobs/([\w-]+)", self._job),
            ("GET", r"queries/([\w-]+)", lambda name: self._results(name, query)),
        ]
        for verb, pattern, work in routes:
            if verb == method and (parts := re.fullmatch(pattern, found[3])):
                reply: Reply = work(*parts.groups(), json.loads(body)) if body else work(*parts.groups())
                return reply
        raise Trouble(404, "notFound", f"no such method: {method} {path}")

    def _dataset(self, name):
        if name != self.dataset:
            raise not_found("Dataset", f"{self.project}:{name}")
        reference = {"projectId": self.project, "datasetId": name}
        return Reply(200, {"datasetReference": reference, "location": "EU"})

    def _create(self, dataset, table):
        self._dataset(dataset)
        name = table["tableReference"]["tableId"]
        self.create(name, table)
        return self._table(dataset, name)

    def _list(self, dataset):
        self._dataset(dataset)
        return Reply(200, {"tables": [self.resource(dataset, name) for name in self.tables]})

    def _table(self, dataset, name):
        return Reply(200, self.resource(dataset, name))

    def _delete(self, dataset, name):
        self._table(dataset, name)
        self.delete(name)
        return Reply(204, {})

    def _data(self, dataset, name):
        fields = {field["name"]: field for field in self._table(dataset, name).body["schema"]["fields"]}

        def cell(column, value):
            if fields[column].get("mode") == "REPEATED":
                return {"v": [{"v": item} for item in value or ()]}
            return {"v": None if value is None else str(value)}

        rows = [{"f": [cell(*item) for item in row.items()]} for row in self.rows(name)]
        return Reply(200, {"rows": rows, "totalRows": str(len(rows))})

    def _begin_upload(self, job):
        name = f"upload{len(self.uploads)}"
        self.uploads[name] = job
        return Reply(200, {"upload": name})

    def _insert_job(self, job, content=None):
        configuration = job["configuration"]
        name = job.get("jobReference", {}).get("jobId", "dry")
        if name in self.jobs:
            raise Trouble(409, "duplicate", f"Already Exists: Job {name}")
        reference = {"projectId": self.project, "jobId": name, "location": "EU"}
        done = job | {"id": name, "jobReference": reference, "status": {"state": "DONE"}, "statistics": {}}
        is_dry = configuration.get("dryRun")
        try:
            if "load" in configuration:
                rows = self.load(configuration["load"], content)
                done["statistics"] = {"load": {"outputRows": str(rows)}}
            elif self.answers:
                self._answer(name, done)
            elif found := self.query(configuration):
                schema = [{"name": column, "type": "STRING"} for column in found[0]]
                rows = [list(map(str, row.values())) for row in found]
                self.answered[name] = Answer("", schema, rows)
        except (duckdb.Error, ValueError) as error:
            if is_dry:
                raise Trouble(400, "invalidQuery", str(error)) from None
            text = {"reason": "invalid", "message": str(error)}
            done["status"] |= {"errorResult": text, "errors": [text, text | {"message": "more of it"}]}
        if not is_dry:
            self.jobs[name] = done
        return Reply(200, done)

    def _answer(self, name, done):
        sql = done["configuration"]["query"]["query"]
        limit = done["configuration"]["query"].get("maximumBytesBilled")
        found = self.answered[name] = self.find_answer(sql)
        to = {
            "projectId": self.project,
            "datasetId": "_anonymous",
            "tableId": f"anon_{name.replace('-', '_')}",
        }
        query = {"query": sql, "destinationTable": to, "maximumBytesBilled": limit}
        done["configuration"] = {"jobType": "QUERY", "query": query}
        done["statistics"] = {"query": {"statementType": found.kind, "totalBytesProcessed": str(self.size)}}
        if found.error:
            error = {"reason": "invalidQuery", "message": found.error}
            done["status"] |= {"errorResult": error, "errors": [error]}

    def find_answer(self, sql):
        found = next((each for each in self.answers if re.search(each.sql, sql, re.DOTALL)), None)
        if found is None:
            raise Trouble(400, "invalidQuery", f"Syntax error: Unexpected {sql.split()[0]} at [1:1]")
        return found

    def _job(self, name):
        if name not in self.jobs:
            raise not_found("Job", name)
        return Reply(200, self.jobs[name])

    def _results(self, name, query):
        job = self._job(name).body
        if error := job["status"].get("errorResult"):
            raise Trouble(400, error["reason"], error["message"])
        reply = {"jobComplete": True, "jobReference": job["jobReference"], "totalRows": "0"}
        return Reply(200, reply | (self._page(self.answered[name], query) if name in self.answered else {}))

    def _page(self, answer, query):
        start = int(query.get("pageToken") or query.get("startIndex", 0))
        size = min(self.page, int(query.get("maxResults", self.page)))
        end = min(start + size, len(answer.rows))
        page: dict[str, Any] = {"schema": {"fields": answer.schema}, "totalRows": str(len(answer.rows))}
        if end > start:
            page["rows"] = [{"f": [{"v": cell} for cell in row]} for row in answer.rows[start:end]]
        if end < len(answer.rows):
            page["pageToken"] = str(end)
        return page
