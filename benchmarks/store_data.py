"""Fills a store with evaluations and runs, for the measurement of the server."""

import itertools
import random
import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import turnwise
from benchmarks.data import Json, conversation
from turnwise.pipeline.service.evaluations import create_evaluation
from turnwise.pipeline.service.runs import Service
from turnwise.pipeline.store.database import Store, marked, open_store, run_name
from turnwise.pipeline.store.rows import ROW_TABLES
from turnwise.pipeline.store.runs import Execution, begin, complete, write_rows
from turnwise.pipeline.store.summaries import keep_summaries
from turnwise.schemas.ces.tools import CreateEvaluationRequest
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.rows import ScoreRow

APP = "projects/benchmark/locations/local/apps/customer-service"
EVALUATIONS = 200
RUNS = 20
CRITERIA = {
    "tool_trajectory_avg_score": 1.0,
    "response_match_score": 0.8,
    "tool_invocation_score": {},
    "tool_effects_v1": 1.0,
}
"""Each gives a score of both turns and one of the whole conversation."""
_BATCH = 500
_PATTERNS = 500
_METRICS = ("metrics_by_app_version", "metrics_by_turn")
_DOCUMENT: Json = {
    "judge": {"backend": "none"},
    "config": {"judge": {}},
    "criteria": {name: {} for name in CRITERIA},
    "exit_status": 0,
}


class Filled(NamedTuple):
    """What a store was filled with.

    Attributes:
        results: Number of results; conversations likewise.
        scores: Number of their scores.
        bytes: Size of a result on average.
        seconds: How long writing results, conversations, scores and metrics took.
    """

    results: int
    scores: int
    bytes: int
    seconds: float


def evaluation_name(number: int) -> str:
    """Returns the name of an evaluation."""
    return f"{APP}/evaluations/case-{number:04}"


def run_id(number: int) -> str:
    """Returns the id of a run."""
    return f"nightly-{number:02}"


def version_of(run: int) -> str:
    """Returns the app version of a run: every other run is of the candidate."""
    return f"v{run % 2 + 1}"


def result_name(number: int, results: int) -> str:
    """Returns the name of a result; results go round the evaluations, and each run holds as many."""
    run = number // _results_of_a_run(results)
    short = f"{evaluation_name(number % EVALUATIONS)}/results/r-{number:06}"
    return marked(short, run_name(APP, run_id(run)), version_of(run))


def write_on(url: str) -> None:
    """Writes the rows of one run after another into a store, without end; prints a line when it begins."""
    store, scored = open_store(url), _Scored()
    for run in itertools.count(RUNS):
        execution = _begun(store, run)
        for table, rows in _tables(scored, run, 10 * _BATCH):
            _write(store, execution, table, rows)
            if table == "results":
                print("writes", flush=True)


def fill(store: Store, results: int) -> Filled:
    """Writes all evaluations, and runs with so many results, their conversations and scores."""
    _add_evaluations(Service(store, "benchmark"))
    scored, scores, size, taken = _Scored(), 0, 0, 0.0
    for run in range(RUNS):
        execution = _begun(store, run)
        for table, rows in _tables(scored, run, _results_of_a_run(results)):
            start = time.perf_counter()
            columns = _write(store, execution, table, rows)
            taken += time.perf_counter() - start
            scores += len(rows) if table == "scores" else 0
            size += sum(len(own["content"]) for own in columns) if table == "results" else 0
        start = time.perf_counter()
        store.write(partial(complete, execution=execution, document=_DOCUMENT, nanos=time.time_ns()))
        keep_summaries(store, APP, [execution.home])
        taken += time.perf_counter() - start
    count = RUNS * _results_of_a_run(results)
    return Filled(count, scores, size // count, taken)


def _begun(store: Store, run: int) -> Execution:
    execution = Execution(run_id(run), time.time_ns(), APP, f"2026-11-{run % 28 + 1:02}")
    store.write(partial(begin, execution=execution, document=_DOCUMENT, nanos=time.time_ns()))
    return execution


def _results_of_a_run(results: int) -> int:
    return max(1, results // RUNS)


def _add_evaluations(service: Service) -> None:
    turns = [{"steps": [{"userInput": {"text": f"question {number}"}}]} for number in range(2)]
    for number in range(EVALUATIONS):
        content = {
            "displayName": f"Case {number}",
            "tags": [f"group-{number % 5}"],
            "golden": {"turns": turns},
        }
        request = {"parent": APP, "evaluationId": f"case-{number:04}", "evaluation": content}
        create_evaluation(service, CreateEvaluationRequest.from_value(request))


class _Scored:
    """Conversations that were scored: two turns, three tool calls each, with their expectations."""

    def __init__(self) -> None:
        found = turnwise.evaluate(map(conversation, range(_PATTERNS)), criteria=CRITERIA)
        self.metrics = {name: list(getattr(found, name)) for name in _METRICS}
        self.results, self.conversations = list(found.results), list(found.conversations)
        self.scores: dict[str, list[ScoreRow]] = {}
        for row in found.scores:
            self.scores.setdefault(row["conversation_id"], []).append(row)

    def rows(self, number: int, run: int) -> dict[str, list[Any]]:
        """Returns the rows of one conversation of a run by table."""
        pattern = self.results[number % _PATTERNS]
        version, case = version_of(run), f"case-{number % EVALUATIONS:04}"
        own = {"run_id": run_id(run), "app_version": version, "eval_id": case, "eval_set_id": None}
        own |= {"conversation_id": f"conversation-{number:06}", "case_digest": f"{case:0>16}"}
        short = {"name": f"r-{number:06}", "displayName": f"result {number}", "appVersion": version}
        result = {**pattern["result"], **short, "evaluationRun": run_id(run)}
        return {
            "results": [{**pattern, **own, "result": result}],
            "conversations": [{**self.conversations[number % _PATTERNS], **own}],
            "scores": [
                {**row, **own} for row in _of_its_own(self.scores[pattern["conversation_id"]], number)
            ],
        }


def _of_its_own(rows: Sequence[ScoreRow], number: int) -> list[ScoreRow]:
    """Returns scores of a conversation with values of ROUGE that no other one has."""
    rng, found = random.Random(number), []
    for row in rows:
        if row["criterion"] == "response_match_score":
            value = rng.random()
            row = {**row, "value": value, "outcome": "PASS" if value >= 0.8 else "FAIL"}
        found.append(row)
    return found


def _tables(scored: _Scored, run: int, count: int) -> Iterator[tuple[str, list[Any]]]:
    """Yields the rows of a run by table, in pieces as a run writes them."""
    waiting: dict[str, list[Any]] = {"results": [], "conversations": [], "scores": []}
    for number in range(run * count, (run + 1) * count):
        for table, rows in scored.rows(number, run).items():
            waiting[table] += rows
            if len(waiting[table]) >= _BATCH:
                yield table, waiting[table]
                waiting[table] = []
    yield from waiting.items()
    for table, rows in scored.metrics.items():
        own = {"run_id": run_id(run), "app_version": version_of(run)}
        yield table, [{**row, **own} for row in rows if row["app_version"] == "v1"]


def _write(store: Store, execution: Execution, table: str, rows: Sequence[Any]) -> list[JsonObject]:
    stored, columns_of = ROW_TABLES[table]
    now = time.time_ns()
    columns = [columns_of(row, execution, now) for row in rows]
    store.write(lambda connection: write_rows(connection, execution, stored, columns, now))
    return columns
