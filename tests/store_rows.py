"""Writes rows into a store as a run that has ended does, and reads the history of an evaluation."""

from time import time_ns
from typing import Any

from sqlalchemy import Connection, Table

from turnwise.pipeline.store.database import Store
from turnwise.pipeline.store.evaluations import StoredRevision, read_revisions
from turnwise.pipeline.store.runs import Execution, begin, complete, write_rows

DOCUMENT: dict[str, Any] = {
    "judge": {"backend": "none"},
    "config": {"judge": {}},
    "criteria": {"b": {}, "a": {}},
}
"""What is known of a run that begins."""
ENDED = {**DOCUMENT, "exit_status": 0}


def completed(name: str, run: str, status: str = "PASS", version: str = "", *turns: Any, **more: Any) -> Any:
    """Returns a completed EvaluationResult of a golden in a run of its app."""
    app = name.partition("/evaluations/")[0]
    return {
        "name": name,
        "evaluationRun": f"{app}/evaluationRuns/{run}",
        "executionState": "COMPLETED",
        "evaluationStatus": status,
        "appVersion": version,
        "goldenResult": {"turnReplayResults": [*turns]} if turns else {},
        **more,
    }


def put_rows(store: Store, table: Table, rows: list[Any], number: int = 1, *, ends: bool = True) -> Execution:
    """Writes rows of `result_columns`, `failure_columns` and so on; returns their execution."""
    app, run = rows[0]["app"], rows[0]["evaluation_run"].rsplit("/", 1)[-1]
    execution = Execution(run, number, app, "2026-11-01")
    store.write(lambda connection: begin(connection, execution, DOCUMENT, time_ns()))
    store.write(lambda connection: write_rows(connection, execution, table, rows, time_ns()))
    if ends:
        store.write(lambda connection: complete(connection, execution, ENDED, time_ns()))
    return execution


def read_history(connection: Connection, name: str) -> list[StoredRevision]:
    """Returns all revisions of an evaluation, oldest first."""
    return read_revisions(connection, name, None, 1_000_000)[::-1]
