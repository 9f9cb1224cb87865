"""Fills a store with evaluations and results, for the measurement of the server."""

import time
from collections.abc import Iterator
from typing import Any

from benchmarks.data import conversation
from turnwise.pipeline.service.changes import create_evaluation
from turnwise.pipeline.service.service import Service
from turnwise.pipeline.store.engine import Store
from turnwise.pipeline.store.executions import Execution, complete, write_rows
from turnwise.pipeline.store.results import result_columns
from turnwise.pipeline.store.tables import RESULT_ROWS
from turnwise.schemas.ces.requests import CreateEvaluationRequest
from turnwise.schemas.config import EvalConfig
from turnwise.schemas.jsonio import dump_json
from turnwise.schemas.record import Record
from turnwise.schemas.run import RunInfo
from turnwise.transforms.evaluation.conversation import evaluate_sample
from turnwise.transforms.formats.readers import LogReader
from turnwise.transforms.matching.cases import CaseIndex
from turnwise.transforms.matching.sample import Sample
from turnwise.transforms.scoring.config import build_criteria

APP = "projects/benchmark/locations/local/apps/customer-service"
EVALUATIONS = 200
_BATCH = 500
_PATTERNS = 500
_DOCUMENT = {"judge": {"backend": "none"}, "config": {"judge": {}}, "criteria": {}, "exit_status": 0}


def evaluation_name(number: int) -> str:
    """Returns the name of an evaluation."""
    return f"{APP}/evaluations/case-{number:04}"


def result_name(number: int) -> str:
    """Returns the name of a result; results go round the evaluations."""
    return f"{evaluation_name(number % EVALUATIONS)}/results/r-{number:06}"


def patterns() -> list[dict[str, Any]]:
    """Returns results of real scoring: two turns, three tool calls each, with their expectations."""
    criteria, reader, index = build_criteria(EvalConfig()), LogReader(), CaseIndex(None)
    run = RunInfo("benchmark", "2026-11-01T00:00:00.000Z")
    found = []
    for number in range(_PATTERNS):
        record = Record("benchmark", number, dump_json(conversation(number)))
        (read,) = reader.read(record)
        found.append(
            evaluate_sample(Sample(read, index.find(read), record), criteria, run).results[0]["result"]
        )
    return found


def _batches(count: int) -> Iterator[list[dict[str, Any]]]:
    made = patterns()
    for start in range(0, count, _BATCH):
        numbers = range(start, min(start + _BATCH, count))
        yield [
            {
                **made[number % _PATTERNS],
                "name": result_name(number),
                "displayName": f"result {number}",
                "evaluationRun": f"{APP}/evaluationRuns/nightly",
                "appVersion": f"{APP}/versions/v{number // EVALUATIONS % 2 + 1}",
            }
            for number in numbers
        ]


def fill(store: Store, count: int) -> tuple[float, int]:
    """Writes all evaluations and `count` results.

    Returns:
        Seconds that the results took, and the bytes of one result on average.
    """
    service = Service(store, "benchmark")
    turns = [{"steps": [{"userInput": {"text": f"question {number}"}}]} for number in range(2)]
    for number in range(EVALUATIONS):
        content = {
            "displayName": f"Case {number}",
            "tags": [f"group-{number % 5}"],
            "golden": {"turns": turns},
        }
        request = {"parent": APP, "evaluationId": f"case-{number:04}", "evaluation": content}
        create_evaluation(service, CreateEvaluationRequest.from_value(request))
    size, taken, execution = 0, 0.0, Execution("nightly", time.time_ns(), APP, "2026-11-01")
    for batch in _batches(count):
        start = time.perf_counter()
        rows = [result_columns(result, result["displayName"], time.time_ns()) for result in batch]
        store.write(lambda c, rows=rows: write_rows(c, execution, RESULT_ROWS, rows, time.time_ns()))
        taken += time.perf_counter() - start
        size += sum(len(row["content"]) for row in rows)
    start = time.perf_counter()
    store.write(lambda connection: complete(connection, execution, _DOCUMENT, time.time_ns()))
    return taken + time.perf_counter() - start, size // count
