"""A service over a store, and what is put into it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.serve.changes import create_evaluation
from pipeline.serve.service import Service
from pipeline.store.engine import Store
from pipeline.store.results import result_columns, write_results
from schemas.ces.requests import CreateEvaluationRequest

SAMPLES = Path(__file__).parents[3] / "../shared/fixtures/ces/samples"
APP = "projects/acme-cx/locations/us/apps/travel-desk"


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
        result = {
            "name": f"{APP}/evaluations/{evaluation}/results/r-{number:04}",
            "displayName": f"result {number}",
            "createTime": f"2026-11-01T00:{number // 60:02}:{number % 60:02}Z",
            "evaluationStatus": status,
            "evaluationRun": f"{APP}/evaluationRuns/nightly",
            "appVersion": f"{APP}/versions/{version}",
            "executionState": "COMPLETED",
            "goldenResult": {"turnReplayResults": [turn(number % 5)]},
            **fields,
        }
        result = {key: value for key, value in result.items() if value not in (None, "")}
        row = result_columns(result, f"conversation-{number}", 1_000_000_000 + number)
        service.store.write(lambda connection: write_results(connection, [row]))
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
