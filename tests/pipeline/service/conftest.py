"""A service over a store, and what is put into it."""

import asyncio
import json
import os
import re
import subprocess
import urllib.error
import urllib.request
from pathlib import Path
from time import time_ns
from typing import Any

import pytest
from mcp import Client
from sqlalchemy import select, text

import turnwise
from tests import forked
from tests.store_rows import DOCUMENT, ENDED, completed, put_rows, put_tables
from turnwise.pipeline.service.evaluations import create_evaluation
from turnwise.pipeline.service.http import Workers
from turnwise.pipeline.service.mcp import TOOLS, mcp_server
from turnwise.pipeline.service.runs import Service
from turnwise.pipeline.service.serve import ServiceError
from turnwise.pipeline.store.database import (
    CONVERSATION_ROWS,
    FAILURE_ROWS,
    HISTORY,
    METRIC_ROWS,
    RESULT_ROWS,
    SCORE_ROWS,
    open_store,
)
from turnwise.pipeline.store.maintenance import delete_subject, find_conversation
from turnwise.pipeline.store.rows import (
    conversation_columns,
    failure_columns,
    metric_columns,
    result_columns,
    score_columns,
    write_replaced,
)
from turnwise.pipeline.store.runs import Execution, begin, break_off, complete, write_rows
from turnwise.schemas.ces.tools import CreateEvaluationRequest
from turnwise.schemas.score import Failure
from turnwise.transforms.metrics.state import MetricsState, failure_rows, version_rows

ROOT = Path(__file__).parents[3]
SAMPLES = ROOT / "../shared/fixtures/ces/samples"
APP = "projects/acme-cx/locations/us/apps/travel-desk"
GOLDEN: Any = {"turns": [{"steps": [{"userInput": {"text": "hi"}}]}]}
SCENARIO = {"task": "book a flight", "rubrics": ["is polite"]}


def called_tool(service, name, arguments):
    """Returns the structured answer of a tool to a client inside the process, or raises its error."""

    async def talk():
        async with Client(mcp_server(service, Workers())) as client:
            return await client.call_tool(name, arguments)

    called = asyncio.run(talk())
    (block,) = called.content
    value = json.loads(block.text)
    if called.is_error:
        assert called.structured_content is None
        error = value["error"]
        (violation,) = error["details"][0]["fieldViolations"] if "details" in error else [{}]
        raise ServiceError(
            error["status"], violation.get("description", error["message"]), violation.get("field", "")
        )
    assert called.structured_content == value
    # What a conversation holds may nest deeper than a message that is read.
    assert name == "get_conversation" or TOOLS[name].response.from_value(value).to_value() == value
    return value


class Given:
    """What is put into the store of a service beside its methods."""

    def __init__(self, service):
        self.service, self.store = service, service.store

    def create(self, evaluation_id="one", **fields):
        """Adds an evaluation; by default a small golden."""
        content = {"displayName": f"Case {evaluation_id}", **fields}
        if "scenario" not in content:
            content.setdefault("golden", GOLDEN)
        request = {"parent": APP, "evaluationId": evaluation_id, "evaluation": content}
        return create_evaluation(self.service, CreateEvaluationRequest.from_value(request))

    def put_result(
        self, number, status="PASS", evaluation="one", version="v7", run="nightly", nanos=0, **fields
    ):
        """Writes a result of an evaluation; `nanos` is when."""
        name, version = f"{APP}/evaluations/{evaluation}/results/r-{number:04}", f"{APP}/versions/{version}"
        conversation = fields.pop("conversation", f"conversation-{number}")
        fields |= {"displayName": f"result {number}"}
        fields.setdefault("createTime", f"2026-11-01T00:{number // 60:02}:{number % 60:02}Z")
        turn = {"semanticSimilarityResult": {"score": number % 5}, "turnLatency": f"{number % 5}.500s"}
        result = completed(name, run, status, version, turn, **fields)
        result = {key: value for key, value in result.items() if value not in (None, "")}
        put_rows(self.store, RESULT_ROWS, [result_columns(result, conversation, nanos or 10**9 + number)])
        return result

    def forget_conversation(self, conversation):
        subject = self.store.read(lambda c: find_conversation(c, conversation, APP))
        self.store.write(lambda c: delete_subject(c, subject))

    def etags(self):
        """Returns the newest etag of each evaluation, whether or not it is deleted."""
        columns = HISTORY.c.evaluation, HISTORY.c.etag
        rows = self.store.read(lambda c: c.execute(select(*columns).order_by(HISTORY.c.revision)).all())
        return {name.rpartition("/")[2]: etag for name, etag in rows}

    def put_run(self, number, versions=(), ends="COMPLETED", app=APP, document=(), results_in=(APP,)):
        """Writes the run r1, r2 ... of an app, with verdicts of versions: passes, fails, no verdict."""
        run, now = Execution(f"r{number}", number * 10**9, app, f"2026-11-{number:02}"), time_ns()
        metrics, results = [], []
        for version, passes, fails, *none in versions:
            size = passes + fails + sum(none)
            state = MetricsState(conversations=size, turns=2 * size, passes=passes, fails=fails)
            rows = version_rows((version, state), run.run_id)
            metrics += [metric_columns(row, run, 1) for row in rows]
            for place in results_in:
                name, full = f"{place}/evaluations/one/results/{run.run_id}", version.rpartition("/")[2]
                result = completed(name, run.run_id, version=f"{APP}/versions/{full}")
                results.append(result_columns(result, run.run_id, 1))

        def work(connection):
            begin(connection, run, DOCUMENT, now)
            write_rows(connection, run, METRIC_ROWS, metrics, now)
            write_rows(connection, run, RESULT_ROWS, results, now)
            if ends == "COMPLETED":
                complete(connection, run, {**ENDED, **dict(document)}, now)
            elif ends != "RUNNING":
                break_off(connection, run, ends, "it was killed", now)

        self.store.write(work)

    def run_sql(self, statement):
        self.store.write(lambda c: c.execute(text(statement)))

    def put_ten(self, run, fails=(), version="v1", ends=True, conversation="c", number=1, nanos=1):
        """Writes a run over ten evaluations, of which some fail; it `ends`, or breaks off, or goes on."""
        rows = []
        for place in range(10):
            name = f"{APP}/evaluations/e{place}/results/{run}-{version}"
            result = completed(name, run, "FAIL" if place in fails else "PASS", version)
            rows.append(result_columns(result, f"{conversation}-{place}", nanos))
        execution = put_rows(self.store, RESULT_ROWS, rows, number, ends=ends is True)
        if ends in ("ERROR", "CANCELLED"):
            self.store.write(lambda c: break_off(c, execution, ends, "killed", time_ns()))

    def put_replaced(self, run, number):
        execution = Execution(run, 1, APP, "2026-11-01")
        self.store.write(lambda c: write_replaced(c, execution, number, time_ns()))

    def put_failures(self, run, *failures, app=APP, home="", number=1):
        """Writes what a run rejected into an app, by default its own."""
        rows = [failure_rows(Failure(**fields), run)[0] for fields in failures]
        columns = [failure_columns(row, app, 10**9 * place) for place, row in enumerate(rows, 1)]
        put_tables(self.store, Execution(run, number, home or app, "2026-11-01"), {FAILURE_ROWS: columns})

    def put_evaluated(self, run, logs, ends=True, nanos=1, number=1):
        """Scores logs into a run."""
        result = turnwise.evaluate(logs, criteria={"tool_effects_v1": 1.0}, run_id=run)
        rows = [conversation_columns(row, APP, nanos) for row in result.conversations]
        put_rows(self.store, CONVERSATION_ROWS, rows, number, ends=ends)
        scores = [score_columns(row, APP, nanos, "2026-11-01") for row in result.scores]
        if ends:
            put_rows(self.store, SCORE_ROWS, scores, number)


@pytest.fixture
def service(store):
    return Service(store, "tester")


@pytest.fixture
def given(service):
    return Given(service)


@pytest.fixture
def create(given):
    return given.create


@pytest.fixture
def put_result(given):
    return given.put_result


@pytest.fixture
def sample():
    """Returns a function that reads a sample document of the API."""

    def read(name):
        path = SAMPLES / f"{name}.json"
        if not path.exists():
            pytest.skip("needs the sample documents")
        return json.loads(path.read_text())

    return read


class Server:
    """A server in a process of its own.

    Attributes:
        url: Where it listens.
        store: The store that it serves.
    """

    def __init__(self, store_url, *arguments, token="", environment=None):
        command = ["serve", "--store", store_url, "--port", "0", *arguments]
        pipe = subprocess.PIPE
        self.process = forked.Process(command, ROOT, environment or os.environ, stdout=pipe, stderr=pipe)
        line = self.process.stdout.readline()
        found = re.search(r"REST at (http://\S+)/v1beta", line)
        assert found, line + self.process.communicate()[1]
        self.url, self.token = found[1], token
        self.store = open_store(store_url)

    def call(self, method, path, body=None, **headers):
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        authority = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        sent = {"Content-Type": "application/json", **authority, **headers}
        request = urllib.request.Request(
            self.url + path, data, {k.replace("_", "-"): v for k, v in sent.items() if v}
        )
        request.method = method
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return response.status, json.load(response)
        except urllib.error.HTTPError as error:
            text = error.read()
            return error.code, json.loads(text) if text[:1] == b"{" else text.decode()

    def stop(self):
        """Ends the server and returns what it logged."""
        self.process.terminate()
        errors = self.process.communicate()[1]
        self.store.close()
        return errors


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    """Returns a function that starts a server; by default of a new SQLite file, without tokens."""
    running: list[Server] = []

    def begin(*arguments, store_url="", token="", **more):
        folder = tmp_path_factory.mktemp("served")
        if token:
            file = folder / "tokens.json"
            file.write_text(json.dumps({"write": token, "read": f"{token}-read"}))
            file.chmod(0o600)
            arguments = (*arguments, "--token_file", str(file))
        running.append(Server(store_url or f"sqlite:///{folder}/store.db", *arguments, token=token, **more))
        return running[-1]

    yield begin
    for server in running:
        server.stop()


@pytest.fixture(scope="module")
def server(start):
    return start()
