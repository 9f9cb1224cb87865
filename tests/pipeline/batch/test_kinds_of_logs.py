"""Whole runs over special logs: repeated, broken off, not understood, and answers of a search engine."""

import json
import os
from pathlib import Path

import pytest
from sqlalchemy import select

from tests.pipeline.logs import write
from turnwise.pipeline.store.database import RESULTS, open_store

WANTED = "Your bill is paid."


@pytest.fixture
def run(turnwise, tmp_path):
    """Returns a function that runs over records, with a config."""

    def go(records, *options, **config):
        places = ["--input", write(tmp_path / "log.jsonl", *records)]
        places += ["--config", write(tmp_path / "config.json", config)]
        return turnwise("run", *places, *options, output=tmp_path / "out")

    return go


def trial(task, number, version, tool):
    call = {"name": tool, "args": {"id": task}}
    return {
        **{"conversation_id": f"{version}-{task}-{number}", "app_version": version},
        **{"turns": [{"user": "q", "agent": "done", "tool_calls": [call]}]},
        **{"meta": {"task_id": task, "trial": number}},
        "expected": {"actions": [{"name": "cancel_x", "args": {"id": str(task)}}]},
    }


def content(*parts):
    return {"parts": [{"text": part} if isinstance(part, str) else part for part in parts]}


def invocation(said):
    return {"invocation_id": "i", "user_content": content("Pay my bill."), "final_response": content(said)}


def completed(case, said=WANTED, run=0, **changes):
    """Returns an eval case result of an ADK history."""
    pair = {"actual_invocation": invocation(said), "expected_invocation": invocation(WANTED)}
    details = {"id": f"s{case}-{run}", "state": {"app_version": "v7"}, "events": []}
    return {
        **{"eval_set_id": "billing", "eval_id": f"case_{case}", "final_eval_status": 1},
        **{"overall_eval_metric_results": [], "session_id": details["id"], "session_details": details},
        "eval_metric_result_per_invocation": [{**pair, "eval_metric_results": []}],
        **changes,
    }


def crashed(case, run=0, details=None):
    without = {"final_eval_status": 2, "eval_metric_result_per_invocation": []}
    return completed(case, run=run, **without, session_details=details)


CALL = {"function_call": {"name": "pay", "args": {}}}
EVENTS = [
    {"invocation_id": "e", "author": "user", "content": content("Pay my bill."), "timestamp": 1.0},
    {"invocation_id": "e", "author": "billing", "content": content(CALL), "timestamp": 2.0},
]
RESULTS_OF_CASES = [
    *(*map(completed, range(3)), completed(3, "I cannot do that."), crashed(4)),
    crashed(5, details={"id": "s5-0", "state": {"app_version": "v7"}, "events": EVENTS}),
    *(completed(0, run=1), crashed(1, run=1)),
]
BROKE_OFF = {"s4-0", "s5-0", "s1-1"}


def test_cases_in_which_the_agent_raised_fail_with_their_reason_and_count_in_every_figure(turnwise, tmp_path):
    history = {"eval_set_result_id": "b", "eval_set_id": "billing", "eval_case_results": RESULTS_OF_CASES}
    path = write(tmp_path / "in/billing_1.evalset_result.json", history)
    criteria = {"response_match_score": 0.8, "ended_normally": {}}
    config = write(tmp_path / "config.json", {"criteria": criteria})
    store = f"sqlite:///{tmp_path}/store.db"
    given = ["run", "--input", path, "--config", config, "--fail_on", "response_match_score"]
    done = turnwise(*given, "--store", store, output=tmp_path / "out")
    assert done.status == 1 and all(name in done.err for name in BROKE_OFF) and done.rows("failures") == []
    results = done.rows("results")
    assert sorted(row["evaluationStatus"] for row in results) == ["FAIL"] * 4 + ["PASS"] * 4
    broken = [row["errorInfo"] for row in results if "broke off" in str(row.get("errorInfo"))]
    assert {row["errorType"] for row in broken} == {"RUNTIME_FAILURE"}
    assert {row["sessionId"] for row in broken} == BROKE_OFF
    assert all("broke off: the agent failed" in row["errorMessage"] for row in broken)
    assert sum("pay never responded" in row["errorMessage"] for row in broken) == 1
    kept = open_store(store).read(lambda c: c.execute(select(RESULTS.c.content)).scalars().all())
    statuses = [json.loads(text)["evaluationStatus"] for text in kept]
    assert sorted(statuses) == ["FAIL"] * 4 + ["PASS"] * 4
    rows = {(r["criterion"], r["level"]): r for r in done.rows("metrics_by_app_version")}
    verdicts = rows["verdict", "conversation"]
    assert (verdicts["app_version"], verdicts["conversations"], verdicts["pass_rate"]) == ("v7", 8, 0.5)
    assert (verdicts["pass_count"], verdicts["fail_count"], verdicts["no_score"]) == (4, 4, 0)
    twice = verdicts["repeats"]["pass_hat_k"][1]
    assert (twice["k"], twice["value"]) == (2, 0.5)
    ends = rows["ended_normally", "conversation"]
    assert (ends["pass_count"], ends["fail_count"], ends["no_score"]) == (5, 3, 0)
    match = rows["response_match_score", "conversation"]
    assert (match["scored"], match["no_score"]) == (5, 3)
    (metrics,) = done.document("aggregated_metrics.json")["metricsByAppVersion"]
    assert (metrics["passCount"], metrics["failCount"]) == (4, 4)


@pytest.mark.parametrize("mode", [[], ["--streaming"]], ids=["batch", "stream"])
@pytest.mark.parametrize("path", [b"/sub\xff", b"/sub\xff/*.jsonl"])
def test_a_path_that_is_not_utf_8_is_one_line(turnwise, tmp_path, path, mode):
    write(Path(os.fsdecode(os.fsencode(tmp_path) + b"/sub\xff/a.jsonl")), {})
    place = os.fsdecode(os.fsencode(tmp_path) + path)
    run = turnwise("run", "--input", place, *mode, output=tmp_path / "out")
    assert run.status == 2 and run.err.count("\n") == 1 and "not UTF-8; rename it" in run.err


ENGINE = "projects/p/locations/global/collections/c/engines/policies"
CRITERIA = {
    "grounding_score": {"threshold": 0.5, "claim_threshold": 0.6},
    "citation_validity": 1.0,
    **{name: {} for name in ("citation_precision", "citation_recall", "judged_citation_precision")},
    **{name: {} for name in ("safety_ratings", "skipped_rate", "hallucinations_v1", "turn_latency")},
}


def answer(number, text, **fields):
    return {"name": f"{ENGINE}/sessions/1/answers/{number}", "answerText": text, **fields}


LIMIT = {"chunkInfo": {"content": "Die Grenze ist 1.131 SZR."}}
CITATIONS = [
    {"endIndex": "25", "sources": [{"referenceId": "0"}]},
    {"startIndex": "26", "endIndex": "28", "sources": [{"referenceId": "7"}]},
]
REFUSED = {
    "answerSkippedReasons": ["ADVERSARIAL_QUERY_IGNORED", "BRAND_NEW"],
    "queryUnderstandingInfo": {"queryClassificationInfo": [{"type": "ADVERSARIAL_QUERY", "positive": True}]},
    "safetyRatings": [{"category": "HARM_CATEGORY_HARASSMENT", "probability": "HIGH", "blocked": True}],
}
ODD = answer(5, "Ja.", citations="x", references=[{"chunkInfo": {"content": 5}}])
ANSWERS = [
    answer(1, "Die Grenze ist 1.131 SZR 🧳.", citations=CITATIONS, references=[LIMIT], release="r1"),
    answer(2, "Dazu sage ich nichts.", **REFUSED, release="r2"),
    answer(3, "", state="FAILED"),
    answer(4, "Bis", state="STREAMING"),
    {"answer": ODD, "query": "Ja?"},
    {"answer": "x", "references": 7, "id": "flat"},
]
NOT_MEASURED = {
    (name, own): None for name in ("1", "5", "flat") for own in ("grounding_score", "safety_ratings")
}


def test_answers_of_a_search_engine(run):
    own = {"app_version_from": ["release"]}
    done = run(ANSWERS, "--judge", "local", criteria=CRITERIA, **own)
    assert (done.status, done.err) == (0, "")
    assert "6 records = 6 parsed + 0 rejected; 6 conversations = 6 results + 0 rejected" in done.out
    engine = "projects/p/locations/global/collections/c/engines/policies"
    assert {row.get("appVersion") for row in done.rows("results")} == {"r1", "r2", engine, None}
    states = [row["executionState"] for row in done.rows("results")]
    assert sorted(states) == ["COMPLETED"] * 5 + ["RUNNING"]
    counts, rows = done.document("run.json")["counts"], done.rows("failures")
    kinds = ("UnreadableField", "OffsetInsideCharacter", "UnknownEnumValue", "UnknownReference")
    assert counts["findings"] == dict.fromkeys(kinds, 1) and {row["stage"] for row in rows} == {"check"}
    assert (counts["failures"], counts["failures_by_version"]) == ({}, {})
    assert "findings: 1 OffsetInsideCharacter, 1 UnknownEnumValue, 1 UnknownReference" in done.out
    unreadable = next(row for row in rows if row["error_type"] == "UnreadableField")
    assert "Answer.citations: a repeated field" in unreadable["message"]
    assert (unreadable["position"], unreadable["turn_index"]) == (5, 0)
    scores = {
        (row["conversation_id"].rpartition("/")[2], row["criterion"]): row["value"]
        for row in done.rows("scores")
        if row["turn_index"] is not None
    }
    assert round(scores.pop(("1", "hallucinations_v1")), 2) == 1.0
    cited = ("citation_validity", "citation_precision", "judged_citation_precision")
    assert scores == {
        **{("1", name): 0.5 for name in cited},
        **{("1", "citation_recall"): 1.0, ("2", "safety_ratings"): 1.0},
        **{(name, "skipped_rate"): float(name == "2") for name in ("1", "2", "5", "flat")},
        **NOT_MEASURED,
    }
    slices = done.rows("metrics_by_slice")
    names = ("skipped:ADVERSARIAL_QUERY_IGNORED", "skipped:BRAND_NEW", "query:ADVERSARIAL_QUERY")
    assert {row["slice"] for row in slices} == {*names}
    assert {row["mean"] for row in slices if row["criterion"] == "skipped_rate"} == {1.0}
    assert {row["app_version"] for row in slices} == {"r2"}
