"""A service over a store, and what is put into it."""

import json
import os
import re
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests import forked
from tests.store_rows import completed, put_rows
from turnwise.pipeline.service.evaluations import create_evaluation, update_evaluation
from turnwise.pipeline.service.runs import Service
from turnwise.pipeline.service.serve import ServiceError
from turnwise.pipeline.store.database import RESULT_ROWS, Store, open_store
from turnwise.pipeline.store.rows import result_columns
from turnwise.schemas.ces.result import Evaluation
from turnwise.schemas.ces.tools import CreateEvaluationRequest

ROOT = Path(__file__).parents[3]
SAMPLES = ROOT / "../shared/fixtures/ces/samples"
APP = "projects/acme-cx/locations/us/apps/travel-desk"


def pages(read: Callable[..., Any], key: str) -> Iterator[list[Any]]:
    """Yields the entries of each page of a list, from the first page to the last one."""
    token: str | None = ""
    while token is not None:
        page = read(pageToken=token)
        yield page[key]
        token = page.get("nextPageToken")


def refusal(work: Callable[..., Any], *arguments: Any, **named: Any) -> tuple[str, str]:
    """Returns status and field of the error that a call raises, which is one line."""
    with pytest.raises(ServiceError) as caught:
        work(*arguments, **named)
    assert "\n" not in caught.value.message
    return caught.value.status, caught.value.field


def update(service: Service, name: str, mask: str = "", **fields: Any) -> Any:
    """Updates an evaluation."""
    return update_evaluation(service, Evaluation.from_value({"name": name, **fields}), mask)


def turn(score: int) -> Any:
    return {"semanticSimilarityResult": {"score": score}, "turnLatency": f"{score}.500s"}


@pytest.fixture
def app() -> str:
    """Returns the name of an app."""
    return APP


@pytest.fixture
def service(store: Store) -> Service:
    """Returns a service over an empty store, of either kind."""
    return Service(store, "tester")


@pytest.fixture
def create(service: Service) -> Callable[..., Any]:
    """Returns a function that adds an evaluation; by default a small golden."""

    def add(evaluation_id: str = "one", **fields: Any) -> Any:
        content = {"displayName": f"Case {evaluation_id}", **fields}
        if "scenario" not in content:
            content.setdefault("golden", {"turns": [{"steps": [{"userInput": {"text": "hi"}}]}]})
        request = {"parent": APP, "evaluationId": evaluation_id, "evaluation": content}
        return create_evaluation(service, CreateEvaluationRequest.from_value(request))

    return add


@pytest.fixture
def put_result(service: Service) -> Callable[..., Any]:
    """Returns a function that writes a result of an evaluation."""

    def put(
        number: int, status: str = "PASS", evaluation: str = "one", version: str = "v7", **fields: Any
    ) -> Any:
        name, version = f"{APP}/evaluations/{evaluation}/results/r-{number:04}", f"{APP}/versions/{version}"
        fields |= {"displayName": f"result {number}"}
        fields.setdefault("createTime", f"2026-11-01T00:{number // 60:02}:{number % 60:02}Z")
        result = completed(name, "nightly", status, version, turn(number % 5), **fields)
        result = {key: value for key, value in result.items() if value not in (None, "")}
        row = result_columns(result, f"conversation-{number}", 1_000_000_000 + number)
        put_rows(service.store, RESULT_ROWS, [row])
        return result

    return put


@pytest.fixture
def sample() -> Callable[[str], Any]:
    """Returns a function that reads a sample document of the API."""

    def read(name: str) -> Any:
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

    def __init__(
        self, store_url: str, *arguments: str, token: str = "", environment: Mapping[str, str] | None = None
    ) -> None:
        command = ["serve", "--store", store_url, "--port", "0", *arguments]
        pipe = subprocess.PIPE
        self.process = forked.Process(command, ROOT, environment or os.environ, stdout=pipe, stderr=pipe)
        line = self.process.stdout.readline()
        found = re.search(r"REST at (http://\S+)/v1beta", line)
        assert found, line + self.process.communicate()[1]
        self.url, self.token = found[1], token
        self.store = open_store(store_url)

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        """Returns the code and the JSON of an answer."""
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

    def stop(self) -> str:
        """Ends the server and returns what it logged."""
        self.process.terminate()
        errors = self.process.communicate()[1]
        self.store.close()
        return errors


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Server]]:
    """Returns a function that starts a server; by default of a new SQLite file, without tokens."""
    running: list[Server] = []

    def begin(*arguments: str, store_url: str = "", token: str = "", **more: Any) -> Server:
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
def server(start: Callable[..., Server]) -> Server:
    """Returns a server of a SQLite file."""
    return start()
