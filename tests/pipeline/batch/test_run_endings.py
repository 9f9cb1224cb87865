"""Whole runs over conversations that broke off: an ADK history with crashed cases, a stream, a store."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from turnwise.pipeline.store.database import RESULTS, open_store

WANTED = "Your bill is paid."


def content(*parts: Any) -> dict[str, Any]:
    return {"parts": [{"text": part} if isinstance(part, str) else part for part in parts]}


def invocation(said: str) -> dict[str, Any]:
    return {"invocation_id": "i", "user_content": content("Pay my bill."), "final_response": content(said)}


def completed(case: int, said: str = WANTED, run: int = 0) -> dict[str, Any]:
    pair = {"actual_invocation": invocation(said), "expected_invocation": invocation(WANTED)}
    name = f"s{case}-{run}"
    return {
        "eval_set_id": "billing",
        "eval_id": f"case_{case}",
        "final_eval_status": 1,
        "overall_eval_metric_results": [],
        "eval_metric_result_per_invocation": [{**pair, "eval_metric_results": []}],
        "session_id": name,
        "session_details": {"id": name, "state": {"app_version": "v7"}, "events": []},
    }


def crashed(case: int, run: int = 0, details: Any = None) -> dict[str, Any]:
    without = {"final_eval_status": 2, "eval_metric_result_per_invocation": [], "session_details": details}
    return {**completed(case, run=run), **without}


CALL = {"function_call": {"name": "pay", "args": {}}}
EVENTS = [
    {"invocation_id": "e", "author": "user", "content": content("Pay my bill."), "timestamp": 1.0},
    {"invocation_id": "e", "author": "billing", "content": content(CALL), "timestamp": 2.0},
]
HISTORY = {
    "eval_set_result_id": "billing_1",
    "eval_set_id": "billing",
    "eval_case_results": [
        *(completed(case) for case in range(3)),
        completed(3, "I cannot do that."),
        crashed(4),
        crashed(5, details={"id": "s5-0", "state": {"app_version": "v7"}, "events": EVENTS}),
        completed(0, run=1),
        crashed(1, run=1),
    ],
}
BROKE_OFF = {"s4-0", "s5-0", "s1-1"}


@pytest.fixture
def done(tmp_path: Path, turnwise: Callable[..., Any]) -> Any:
    """Runs over the history, with a store."""
    logs, config = tmp_path / "in", tmp_path / "config.json"
    logs.mkdir()
    (logs / "billing_1.evalset_result.json").write_text(json.dumps(HISTORY))
    config.write_text(json.dumps({"criteria": {"response_match_score": 0.8, "ended_normally": {}}}))
    arguments = ["run", "--input", logs, "--config", config, "--store", f"sqlite:///{tmp_path}/store.db"]
    return turnwise(*arguments, output=tmp_path / "out")


def test_a_case_in_which_the_agent_raised_fails_with_its_reason(done, tmp_path):
    assert done.status == 0
    assert done.rows("failures") == []
    results = done.rows("results")
    assert len(results) == 8
    statuses = [row["evaluationStatus"] for row in results]
    assert (statuses.count("PASS"), statuses.count("FAIL")) == (4, 4)
    broken = [row for row in results if "broke off" in str(row.get("errorInfo"))]
    assert {row["errorInfo"]["errorType"] for row in broken} == {"RUNTIME_FAILURE"}
    assert {row["errorInfo"]["sessionId"] for row in broken} == BROKE_OFF
    assert {row["appVersion"] for row in broken} == {"v7"}
    messages = [row["errorInfo"]["errorMessage"] for row in broken]
    assert all("broke off: the agent failed" in message for message in messages)
    assert sum("pay never responded" in message for message in messages) == 1
    with_names = open_store(f"sqlite:///{tmp_path}/store.db").read(
        lambda c: c.execute(select(RESULTS.c.content)).scalars().all()
    )
    kept = [json.loads(text) for text in with_names]
    assert sum(row["evaluationStatus"] == "FAIL" for row in kept) == 4 and len(kept) == 8


def test_it_counts_in_every_figure(done):
    rows = {(r["criterion"], r["level"]): r for r in done.rows("metrics_by_app_version")}
    verdicts = rows["evaluation_status", "conversation"]
    assert (verdicts["app_version"], verdicts["conversations"]) == ("v7", 8)
    assert (verdicts["pass_count"], verdicts["fail_count"], verdicts["unscored"]) == (4, 4, 0)
    assert verdicts["pass_rate"] == 0.5
    twice = verdicts["repeats"]["pass_hat_k"][1]
    assert (twice["k"], twice["value"]) == (2, 0.5)
    ends = rows["ended_normally", "conversation"]
    assert (ends["pass_count"], ends["fail_count"], ends["unscored"]) == (5, 3, 0)
    match = rows["response_match_score", "conversation"]
    assert (match["scored"], match["unscored"]) == (5, 3)
    (metrics,) = done.document("aggregated_metrics.json")["metricsByAppVersion"]
    assert (metrics["passCount"], metrics["failCount"]) == (4, 4)


def test_a_gate_is_missed_by_a_crash(done, tmp_path, turnwise):
    config = tmp_path / "config.json"
    arguments = ["run", "--input", tmp_path / "in", "--config", config, "--fail_on", "response_match_score"]
    again = turnwise(*arguments, output=tmp_path / "again")
    assert again.status == 1
    assert all(name in again.out + again.err for name in BROKE_OFF)


def test_a_stream_is_told_how_a_conversation_ended(tmp_path, turnwise):
    turn = {"turn_index": 0, "turn": {"user": "hi", "agent": WANTED, "expected": {"response": WANTED}}}
    ends = {"a": {"ended": "limit", "ended_detail": "90 steps"}, "b": {}, "c": {"ended": "exploded"}}
    events = [
        {"conversation_id": name, **event} for name in ends for event in (turn, {"end": True, **ends[name]})
    ]
    log, config = tmp_path / "log.jsonl", tmp_path / "config.json"
    log.write_text("".join(json.dumps(event) + "\n" for event in events))
    config.write_text(json.dumps({"criteria": {"response_match_score": 0.8}}))
    arguments = ["run", "--input", log, "--config", config]
    for mode in ([], ["--streaming", "--max_run_time", "1"]):
        done = turnwise(*arguments, *mode, output=tmp_path / f"out{len(mode)}")
        rows = done.rows("results")
        found = {row["goldenResult"]["turnReplayResults"][0]["conversation"]: row for row in rows}
        statuses = {name: row.get("evaluationStatus") for name, row in found.items()}
        assert statuses == {"a": "FAIL", "b": "PASS", "c": None}
        assert "a limit was reached (90 steps)" in found["a"]["errorInfo"]["errorMessage"]
        assert "'exploded'" in found["c"]["errorInfo"]["errorMessage"]
