"""Results and failures replace their own, add up by the pipeline's rules, and come in pages."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import select

from tests.store_rows import completed, put_rows
from turnwise.pipeline.store.database import (
    FAILURE_ROWS,
    FAILURES,
    LOCAL_APP,
    RESULT_ROWS,
    RESULTS,
    full_result,
    key_text,
)
from turnwise.pipeline.store.rows import failure_columns, find_result, result_columns
from turnwise.schemas.ces.names import is_name
from turnwise.schemas.score import Failure
from turnwise.transforms.metrics.state import failure_rows

APP = "projects/p/locations/l/apps/a"
CASE = f"{APP}/evaluations/one"


def result(number, status="PASS", case=CASE, version="v1", **more):
    turn = {"semanticSimilarityResult": {"score": number % 5}, "turnLatency": f"{number + 1}s"}
    named = {"displayName": f"result {number}", "createTime": f"2026-11-{1 + number % 28:02}T00:00:00Z"}
    name, version = f"{case}/results/r-{number:05}", f"{APP}/versions/{version}"
    return completed(name, "run-1", status, version, turn, **{**named, **more})


def write(store, *results, nanos=1, conversation="c"):
    rows = [result_columns(one, conversation, nanos) for one in results]
    put_rows(store, RESULT_ROWS, rows)


def test_a_result_comes_back_as_it_was_written(store):
    odd = result(1, displayName="\0 \u2028 \U0001f600 ü", appVersion="x" * 5000)
    write(store, odd, conversation="\0c\ud800" + "é" * 1000)
    assert store.read(lambda c: find_result(c, odd["name"])) == odd
    assert store.read(lambda c: find_result(c, "nothing")) is None


def test_eight_writers_of_the_same_rows_neither_double_nor_lose_any(store):
    def work(part):
        for start in range(5):
            numbers = sorted(range(100), key=lambda n: hash((n, part, start)))
            results = (result(number, initiatedBy=str(part)) for number in numbers)
            write(store, *results, conversation=str(part))
            row = Failure("score", "E", "m", "file", 1, None, f"c{start}", "x")
            rows = [failure_columns(failure_rows(row, "run-1")[0], APP, part)]
            put_rows(store, FAILURE_ROWS, rows)

    with ThreadPoolExecutor(8) as pool:
        assert [*pool.map(work, range(8))] == [None] * 8
    sizes = [store.read(lambda c, t=t: len(c.execute(select(t.c.name)).all())) for t in (RESULTS, FAILURES)]
    assert sizes == [100, 5]


def failure(stage="match", run="run-1", **fields):
    told = {"error_type": "E", "message": "m", "source": "log", "position": 1, **fields}
    return failure_rows(Failure(stage=stage, **told), run)[0]


def written(store, *rows):
    columns = [failure_columns(row, APP, 1) for row in rows]
    put_rows(store, FAILURE_ROWS, columns)
    query = select(FAILURES.c.content).order_by(FAILURES.c.name)
    return [json.loads(text) for text in store.read(lambda c: c.execute(query).scalars().all())]


def test_a_failure_replaces_itself_and_no_other(store):
    rows = [
        failure(),
        failure(conversation_id="c"),
        failure(conversation_id="d"),
        failure(position=2),
        failure("read"),
        failure("score", criterion="x"),
        failure("score", criterion="x", turn_index=0),
        failure("parse", message="entry 1: bad"),
        failure("parse", message="entry 2: bad"),
    ]
    assert len(written(store, *rows)) == len(rows)
    again = written(store, *({**row, "error_type": "F"} for row in rows))
    assert [row["error_type"] for row in again] == ["F"] * len(rows)
    both = written(store, *({**row, "run_id": "run-2"} for row in rows))
    assert sorted(row["run_id"] for row in both) == ["run-1"] * len(rows) + ["run-2"] * len(rows)


@pytest.mark.parametrize(
    ("eval_id", "parent"),
    [
        (f"{APP}/evaluations/one", f"{APP}/evaluations/one"),
        ("refund-1", f"{LOCAL_APP}/evaluations/refund-1"),
        (None, f"{LOCAL_APP}/evaluations/unassigned"),
        ("größe / 1", None),
        ("x" * 500, None),
    ],
)
def test_results_get_full_names(eval_id, parent):
    short = {
        "name": f"evaluations/{eval_id or '-'}/results/r-1",
        "evaluationRun": "evaluationRuns/nightly run",
    }
    row: Any = {"conversation_id": "c", "app_version": "v1", "result": short}
    row |= {"eval_id": eval_id, "eval_set_id": None}
    full = full_result(row, LOCAL_APP)
    assert is_name("result", full["name"])
    assert full["evaluationRun"].startswith(full["name"].split("/evaluations/")[0] + "/evaluationRuns/x-")
    if parent:
        assert full["name"].startswith(f"{parent}/results/r-1-")
    assert short["name"].startswith("evaluations/")


@pytest.mark.parametrize(
    ("eval_id", "conversation", "version", "app"),
    [
        (f"{APP}/evaluations/one", "projects/q/locations/l/apps/b/conversations/c", None, APP),
        ("one", f"{APP}/conversations/c", "projects/q/locations/l/apps/b/versions/v", APP),
        (None, f"{APP}/conversations/c", None, APP),
        ("one", "c", f"{APP}/versions/v", APP),
        ("one", "c", "v", LOCAL_APP),
    ],
)
def test_the_app_is_the_one_that_is_named(eval_id, conversation, version, app):
    row: Any = {
        "eval_id": eval_id,
        "eval_set_id": None,
        "conversation_id": conversation,
        "app_version": version,
        "result": {"name": "evaluations/x/results/r-1"},
    }
    assert full_result(row, LOCAL_APP)["name"].partition("/evaluations/")[0] == app


def test_long_keys_stay_apart():
    one, other = "x" * 300 + "a", "x" * 300 + "b"
    assert key_text(one) != key_text(other)
    assert len(key_text(one)) <= 200
    assert key_text("a\0\ud800") == "a\ufffd?"
