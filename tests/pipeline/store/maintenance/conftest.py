"""A store with two runs, and the command that looks after it."""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import get_type_hints

import pytest
from sqlalchemy import select, text

from tests.store_rows import DOCUMENT, completed, put_tables
from turnwise.pipeline.service.evaluations import create_evaluation
from turnwise.pipeline.service.runs import Service
from turnwise.pipeline.store.database import (
    CONVERSATION_ROWS,
    FAILURE_ROWS,
    METADATA,
    METRIC_ROWS,
    RESULT_ROWS,
    RUN_SUMMARIES,
    SCORE_ROWS,
    open_store,
)
from turnwise.pipeline.store.rows import (
    conversation_columns,
    failure_columns,
    metric_columns,
    result_columns,
    score_columns,
)
from turnwise.pipeline.store.runs import Execution
from turnwise.pipeline.store.summaries import keep_summaries
from turnwise.schemas.ces.tools import CreateEvaluationRequest
from turnwise.schemas.rows import ConversationRow, FailureRow, MetricsByAppVersionRow, ScoreRow

APP = "projects/p/locations/l/apps/a"
OTHER = "projects/p/locations/l/apps/b"
SECRET = "My passport number is X4711 please"
DAY = 24 * 3600 * 10**9
OLD, NEW = 1_780_000_000 * 10**9, 1_795_000_000 * 10**9
"""The starts of the runs: 29 May and 18 November 2026."""


def _empty(row):
    return dict.fromkeys(get_type_hints(row))


def _said(conversation):
    return f"{SECRET} of {conversation}"


def conversation_row(run, name, user):
    call = {"name": "look_up", "args": {"document": "X4711", "holder": name, "copies": 2.0}}
    turn = {"index": 0, "user": _said(name), "agent": "I have noted it.", "tool_calls": [call]}
    row = {"run_id": run, "conversation_id": name, "user_id": user, "severity_score": 1.0, "tags": []}
    return {**_empty(ConversationRow), **row, "transcript": {"turns": [turn]}, "why": _said(name)}


def _score(run, name):
    ids = {"run_id": run, "conversation_id": name, "criterion": "safety_v1", "score_id": f"s-{name}"}
    row = {"value": 0.5, "explanation": _said(name), "tags": [], "revision": 0}
    return {**_empty(ScoreRow), **ids, **row}


def _failure(run, position, record):
    row = {"run_id": run, "stage": "parse", "error_type": "ValueError", "message": "broken", "record": record}
    return {**_empty(FailureRow), **row, "position": position}


def _metric(run):
    numbers = dict.fromkeys(("count", "scored", "no_score", "errors", "pass_count", "fail_count"), 1)
    ids = {"run_id": run, "app_version": f"{APP}/versions/v1", "criterion": "safety_v1"}
    row = {"level": "conversation", "unit": "score", "pass_rate": 0.5}
    return {**_empty(MetricsByAppVersionRow), **numbers, **ids, **row}


def _result(run, name, app):
    turn, full = {"conversation": _said(name)}, f"{app}/evaluations/one/results/{run}-{name}"
    return result_columns(completed(full, run, "PASS", "", turn), name, 1)


PEOPLE: Mapping[str, str | None] = {"c-1": "u-1", "c-12": "u-12", "c-2": "u-1"}


def put_run(store, run, number, people=PEOPLE, *, app=APP, ends=True):
    """Writes a run with a conversation for each of `people` (conversation -> user), and what it rejected."""
    execution = Execution(run, number, app, "2026-11-01")
    to_read = [{"conversation_id": name, "why": _said(name)} for name in people]
    records = [f'{{"id": "{name}", "user": "{user}", "text": "{_said(name)}' for name, user in people.items()]
    rows = {
        RESULT_ROWS: [_result(run, name, app) for name in people],
        CONVERSATION_ROWS: [
            conversation_columns(conversation_row(run, *one), app, number) for one in people.items()
        ],
        SCORE_ROWS: [score_columns(_score(run, name), app, number, "2026-11-01") for name in people],
        FAILURE_ROWS: [failure_columns(_failure(run, *each), app, number) for each in enumerate(records)],
        METRIC_ROWS: [metric_columns(_metric(run), execution, number)],
    }
    return put_tables(store, execution, rows, {**DOCUMENT, "to_read": to_read}, nanos=number, ends=ends)


def put_evaluation(store, name, words, app=APP, **golden):
    """Makes an evaluation whose user says something; returns its name."""
    own = {"turns": [{"steps": [{"userInput": {"text": words}}]}], **golden}
    content = {"displayName": name, "golden": own}
    request = {"parent": app, "evaluationId": name, "evaluation": content}
    made = create_evaluation(Service(store, "tester"), CreateEvaluationRequest.from_value(request))
    return str(made["name"])


def fill(store):
    """Writes an old and a new run, and an evaluation."""
    put_run(store, "old", OLD)
    put_run(store, "new", NEW)
    keep_summaries(store, APP)
    put_evaluation(store, "one", "What does it cost to go there?")


def rows_of(store):
    """Returns table -> its rows in a fixed order, of all tables that hold any but summaries of them."""
    found = {}
    for table in (one for one in METADATA.sorted_tables if one is not RUN_SUMMARIES):
        query = select(table).order_by(*table.primary_key)
        rows = store.read(lambda c, query=query: [tuple(row) for row in c.execute(query)])
        found |= {table.name: rows} if rows else {}
    return found


def run_ids(store):
    return store.read(
        lambda c: list(c.execute(text("SELECT run_id FROM evaluation_runs ORDER BY 1")).scalars())
    )


@pytest.fixture
def filled(store_url, with_tables):
    """Returns the address of a store with an old and a new run, and an evaluation."""
    with closing(open_store(store_url, create=True)) as store:
        fill(store)
    return store_url


def file_bytes(url):
    path = Path(url.removeprefix("sqlite:///"))
    return b"".join(file.read_bytes() for file in sorted(path.parent.glob(f"{path.name}*")))
