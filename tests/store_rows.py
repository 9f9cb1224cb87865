"""Writes rows into a store as a run does, and reads the history of an evaluation."""

from time import time_ns

from turnwise.pipeline.store.rows import read_revisions
from turnwise.pipeline.store.runs import Execution, begin, complete, write_rows
from turnwise.schemas.jsonio import JsonObject

DOCUMENT: JsonObject = {
    "judge": {"backend": "none"},
    "config": {"judge": {}},
    "criteria": {"b": {}, "a": {}},
}
"""What is known of a run that begins."""
ENDED = {**DOCUMENT, "exit_status": 0}


def completed(name, run, status="PASS", version="", *turns, **more):
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


def put_tables(store, execution, tables, document=DOCUMENT, *, nanos=None, ends=True):
    """Writes a run with rows of tables at a time (None: now); returns its execution."""
    now = nanos or time_ns()
    store.write(lambda connection: begin(connection, execution, document, now))
    for table, rows in tables.items():
        store.write(lambda c, table=table, rows=rows: write_rows(c, execution, table, rows, now))
    if ends:
        store.write(lambda connection: complete(connection, execution, {"exit_status": 0, **document}, now))
    return execution


def put_rows(store, table, rows, number=1, *, ends=True):
    """Writes a run with rows of `result_columns`, `failure_columns` and so on; returns its execution."""
    app, run = rows[0]["app"], rows[0]["evaluation_run"].rsplit("/", 1)[-1]
    return put_tables(store, Execution(run, number, app, "2026-11-01"), {table: rows}, ends=ends)


def read_history(connection, name):
    """Returns all revisions of an evaluation, oldest first."""
    return read_revisions(connection, name, None, 1_000_000)[::-1]
