"""Whole runs over special logs: repeated, broken off, not understood, and answers of a search engine."""

import gzip
import json
import os
from pathlib import Path

import pytest
from sqlalchemy import select

from tests.pipeline.logs import log, write
from turnwise.pipeline.runs.directory import open_run
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


def test_repeated_runs_are_reliable_or_not_and_guessed_tools_are_counted(run):
    good, bad = "cancel_x", "frobnicate"
    tasks = {"v1": {1: [good, bad], 2: [good, good, bad]}, "v2": {1: [good, good], 2: [good, good]}}
    records = [
        trial(task, number, version, tool)
        for version, own in tasks.items()
        for task, tools in own.items()
        for number, tool in enumerate(tools)
    ]
    done = run(records, criteria={"tool_effects_v1": {}, "turn_latency": {}}, tools={"nope": "read"})
    rows = {
        (row["app_version"], row["criterion"], row["level"]): row["repeats"]
        for row in open_run(str(done.directory)).metrics()
    }
    for criterion in ("tool_effects_v1", "verdict"):
        repeats = rows["v1", criterion, "conversation"]
        assert (repeats["cases"], repeats["runs"]) == (2, 2)
        assert [one["cases"] for one in repeats["pass_hat_k"]] == [2, 2, 1]
        hat, at = ([one["value"] for one in repeats[name]] for name in ("pass_hat_k", "pass_at_k"))
        assert hat == pytest.approx([(1 / 2 + 2 / 3) / 2, (0 + 1 / 3) / 2, 0.0])
        assert at == pytest.approx([(1 / 2 + 2 / 3) / 2, 1.0, 1.0])
    assert [one["value"] for one in rows["v2", "tool_effects_v1", "conversation"]["pass_hat_k"]] == [1, 1]
    line = next(line for line in done.out.splitlines() if line.startswith("pass^k, pass@k"))
    assert "k=2: 16.7% (" in line and "k=2: 100.0% (" in line
    document = done.document("run.json")
    assert document["guessed_tools"] == {
        "cancel_x": {"effect": "write", "conversations": 9},
        "frobnicate": {"effect": "unknown", "conversations": 2},
    }
    assert document["config"]["tools"]["nope"]["effect"] == "read"
    assert "tools: the effect of 1 is guessed by name (1 write)\n" in done.out
    assert "\nlist the tools: turnwise tools " in done.out
    assert "tools: the effect of 1 is unknown (frobnicate); state it in the config" in done.out
    good_ones = [record for record in records if record["app_version"] == "v2"]
    done = run(good_ones, "--overwrite", criteria={"tool_effects_v1": {}})
    assert "4 with a verdict (of 2 cases), 0 without" in " ".join(done.out.split())


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


@pytest.mark.parametrize("mode", [[], ["--streaming", "--max_run_time", "1"]], ids=["batch", "stream"])
def test_events_tell_how_a_conversation_ended(run, mode):
    turn = {"turn_index": 0, "turn": {"user": "hi", "agent": WANTED, "expected": {"response": WANTED}}}
    ends = {"a": {"ended": "limit", "ended_detail": "90 steps"}, "b": {}, "c": {"ended": "exploded"}}
    events = [{"conversation_id": n, **event} for n in ends for event in (turn, {"end": True, **ends[n]})]
    rows = run(events, *mode, criteria={"response_match_score": 0.8}).rows("results")
    found = {row["goldenResult"]["turnReplayResults"][0]["conversation"]: row for row in rows}
    statuses = {name: row.get("evaluationStatus") for name, row in found.items()}
    assert statuses == {"a": "FAIL", "b": "PASS", "c": None}
    assert "a limit was reached (90 steps)" in found["a"]["errorInfo"]["errorMessage"]
    assert "'exploded'" in found["c"]["errorInfo"]["errorMessage"]


def chat(name, *parts):
    said = [{"type": "text", "text": "Your account is as it was."}, *parts]
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": said}]
    about = {"conversation_id": name, "app_version": "v1", "eval_id": "case", "tags": ["tier:gold"]}
    return {**about, "messages": messages}


def test_what_is_not_understood_is_no_pass_and_what_holds_nothing_is_a_failure(run, tmp_path):
    delete = {"type": "delete_use", "name": "delete_account", "input": {}}
    records = [chat("plain"), chat("unread", delete), {"conversation_id": "empty", "turns": []}]
    case = {"eval_id": "case", "actions": [], "tags": ["tier:gold", "suite:nightly"]}
    names = ("tool_effects_v1", "tool_trajectory_avg_score", "response_match_score", "turn_latency")
    criteria = {name: {} for name in names}
    cases = write(tmp_path / "cases.jsonl", case)
    done = run(records, "--eval_cases", cases, criteria=criteria, slices=["tier", "suite"])
    rows = done.rows("scores")
    effects = {row["conversation_id"]: row for row in rows if row["criterion"] == "tool_effects_v1"}
    assert (effects["plain"]["value"], effects["plain"]["outcome"]) == (1.0, "PASS")
    assert (effects["unread"]["value"], effects["unread"]["outcome"]) == (None, None)
    assert "'delete_use' is not read" in effects["unread"]["reason"]
    verdicts = {row["conversation_id"]: row["verdict"] for row in done.rows("conversations")}
    assert verdicts == {"plain": "PASS", "unread": None}
    rejected = {row["stage"]: row for row in done.rows("failures")}
    finding = [rejected["check"][key] for key in ("error_type", "conversation_id", "position", "turn_index")]
    assert finding == ["UnreadPart", "unread", 2, 0] and "findings: 1" in done.out
    assert (rejected["parse"]["position"], rejected["parse"]["message"]) == (
        3,
        "conversation empty has no turn",
    )
    assert {tuple(row["tags"]) for row in rows} == {("tier:gold", "suite:nightly")}
    slices = {row["slice"]: row["conversations"] for row in done.rows("metrics_by_slice")}
    assert slices == {"tier:gold": 2, "suite:nightly": 2}


@pytest.mark.parametrize("mode", [[], ["--streaming", "--max_run_time", "2"]], ids=["batch", "stream"])
def test_files_that_hold_nothing_and_cannot_be_empty_are_failures(turnwise, tmp_path, mode):
    empty = {"zero.json": b"", "zero.json.gz": b"", "zero.jsonl.gz": b"", "blank.json": b" \n\t "}
    good = json.dumps(log("a", "a", "a")).encode()
    whole = {"good.jsonl": good, "none.jsonl": b"", "none.ndjson.gz": gzip.compress(b"")}
    config = write(tmp_path / "c.json", {"criteria": {"response_match_score": 0.8}})
    (tmp_path / "in").mkdir()
    for name, text in (empty | whole).items():
        (tmp_path / "in" / name).write_bytes(text)
        os.utime(tmp_path / "in" / name, (1e9, 1e9))
    gate = ("--fail_on", "verdict")
    run = turnwise(
        "run", "--input", tmp_path / "in", "--config", config, *gate, *mode, output=tmp_path / "out"
    )
    assert {Path(row["source"]).name for row in run.rows("failures")} == empty.keys()
    assert {row["stage"] for row in run.rows("failures")} == {"read"} and run.status == 1
    assert "5 records = 1 parsed + 4 rejected" in run.out


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


@pytest.mark.parametrize("version", [None, "v1"])
def test_a_run_without_any_version_says_where_it_looked(run, version):
    log = {"conversation_id": "c", "app_version": version, "turns": [{"user": "Hi", "agent": "Hello"}]}
    done = run([log], "--judge", "none", criteria={"turn_latency": {}}, app_version_from=["build"])
    document = done.document("run.json")
    said = "states an app version; looked at: build; turnwise.app_version; app_version (at the top)"
    assert (said in (document["no_version"] or "")) == (version is None)
    assert document["counts"].get("no_version") == (None if version else {"turnwise": 1})
    assert ("states an app version" in done.out) == (version is None)
