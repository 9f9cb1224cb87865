"""When a run fails, and what it must not hide: missed gates, rejected records, untried cases, another run."""

import contextlib
import json
import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.pipeline.logs import log, write
from turnwise.pipeline.io.run_writer import locked
from turnwise.pipeline.report.terminal import gate_problems
from turnwise.pipeline.settings.run import RunSettings
from turnwise.schemas.config import ConfigError, EvalConfig
from turnwise.schemas.run import RunInfo
from turnwise.transforms.scoring.config import build_criteria

CRITERIA = {"response_match_score": 0.9, "tool_trajectory_avg_score": 1.0, "expectations_met": {}}
BAD, GOOD = log("bad", "something else"), log("good")
CASE = {"eval_id": "one", "turns": [{"user": "Hi", "response": "Hello"}]}
OF_CASE = log("a", response=None, eval_id="one")
PASSES = "every conversation passes"


@pytest.fixture
def run(turnwise, tmp_path):
    """Returns a function that runs over records, with eval cases and a config."""

    def go(records, *options, cases=None, name="out", **config):
        places = ["--input", write(tmp_path / f"{name}.jsonl", *records)]
        places += ["--config", write(tmp_path / f"{name}.json", {"criteria": CRITERIA, **config})]
        if cases is not None:
            places += ["--eval_cases", write(tmp_path / f"{name}.cases.jsonl", *cases)]
        return turnwise("run", *places, *options, output=tmp_path / name)

    return go


def test_gates_that_are_missed(run):
    fail_on = ("--fail_on", "response_match_score", "tool_trajectory_avg_score", "verdict")
    done = run([BAD, GOOD, "{"], "--max_failure_ratio", "0.33", *fail_on)
    document = done.document("run.json")
    ratio, *gates = document["problems"]
    assert done.status == document["exit_status"] == 1
    assert [f"turnwise: {problem}" for problem in document["problems"]] == done.err.splitlines()
    assert "1 of 3 records and conversations were rejected" in ratio and "--max_failure_ratio 0.33" in ratio
    assert gates == [
        f"gate: response_match_score: {PASSES}: failed: 1 failed, 0 without an outcome: bad",
        f"gate: tool_trajectory_avg_score: {PASSES}: inconclusive: nothing was scored",
        f"gate: verdict: {PASSES}: failed: 1 failed, 0 without an outcome: bad",
    ]
    assert len(done.rows("results")) == 2, "everything is written all the same"


def test_gates_that_are_met_over_an_earlier_run(run, tmp_path):
    earlier = ["scores-00003-of-00004.jsonl", "failures-00000-of-00001.avro"]
    kept = ["notes.txt", "scores.md", "results-of-march.xlsx", "run.json.notes", "results/mine.jsonl"]
    for name in [*earlier, *kept, "run.json"]:
        write(tmp_path / "out" / name, "earlier")
    fail_on = ("--fail_on", "response_match_score", "verdict")
    done = run([GOOD, "{"], "--max_failure_ratio", "0.5", "--overwrite", *fail_on)
    assert (done.status, done.err, done.document("run.json")["exit_status"]) == (0, "", 0)
    assert [name for name in [*earlier, *kept] if (tmp_path / "out" / name).exists()] == kept


def problems(ratio=None, **counts):
    """Returns the problems of a run of two conversations, with other counts."""
    config = EvalConfig()
    made = RunInfo("run-1", "2026-11-21T00:00:00.000Z")
    settings = RunSettings(
        run=made, config=config, criteria=build_criteria(config), output="out", max_failure_ratio=ratio
    )
    names = ("rejected_records", "rejected_conversations", "cases", "rejected_cases", "unused_cases")
    two = dict.fromkeys(("records", "parsed_records", "conversations", "results"), 2)
    return gate_problems(
        settings, {**dict.fromkeys(names, 0), **two, "failures": {}, "findings": {}, **counts}, []
    )


def test_max_failure_ratio():
    for ratio, records, conversations, is_missed in (
        *((0.0, 0, 0, False), (0.0, 1, 0, True), (0.5, 1, 1, False), (0.5, 2, 1, True)),
        # More than half of all is rejected: the option is named, which would allow it.
        *((None, 2, 0, False), (None, 3, 0, True), (None, 1, 2, True), (0.9, 3, 0, False)),
    ):
        counts = {"records": 2 + conversations + records, "parsed_records": 2 + conversations}
        counts |= {"rejected_records": records, "rejected_conversations": conversations}
        found = problems(ratio, **counts, conversations=2 + conversations)
        assert any("--max_failure_ratio" in one for one in found) is is_missed


@pytest.mark.parametrize("name", ["records", "parsed_records", "conversations", "results"])
def test_counts_that_do_not_add_up_fail_the_run(name):
    assert not any("do not add up" in problem for problem in problems())
    assert sum("do not add up" in problem for problem in problems(**{name: 3})) == 1


def test_conversations_that_miss_a_gate_are_named(run):
    names = [f"bad-{number:02}" for number in range(23)]
    first, *others = (log(name, "something else") for name in names)
    records = [{**first, "eval_id": "e", "meta": {"trial": 3}}, *others, GOOD, log("z", response=None)]
    done = run(records, "--fail_on", "response_match_score", "verdict")
    one, other = done.err.splitlines()
    named, told = ", ".join(names[:20]), "0 without an outcome; n/a for 1 other conversation"
    assert done.status == 1
    assert one.endswith(f"passes: failed: 23 failed, {told}: {named} and 3 more")
    told = f"1 without an outcome; failed: {named} and 3 more; without an outcome: z"
    assert other.endswith(f"passes: failed: 23 failed, {told}")


NOTHING = {
    "the input holds no record": ["", "  "],
    "2 records and conversations rejected": ["{", "["],
    "1 record holds eval cases: give them with --eval_cases (in Python: cases)": [
        {"eval_id": "e", "turns": [{"user": "hi", "response": "hello"}]}
    ],
    "1 record is in no known format: try `turnwise inspect --suggest FILE`": [{"foo": 1}],
    "1 record is no log but a config: give it with --config (in Python: config)": [{"criteria": {}}],
    "1 conversation has no value by any criterion": [log(response=None)],
}


@pytest.mark.parametrize("mode", [[], ["--streaming", "--max_run_time", "1"]], ids=["batch", "stream"])
@pytest.mark.parametrize("reason", NOTHING)
def test_a_run_that_scored_nothing_fails(run, reason, mode):
    done = run(NOTHING[reason], *mode)
    (problem,) = done.document("run.json")["problems"]
    assert re.split("; (?:see|nothing) ", problem)[0] == f"no conversation was scored: {reason}"
    assert done.status == done.document("run.json")["exit_status"] == 1
    assert done.err.startswith(f"turnwise: no conversation was scored: {reason}")


def test_eval_cases_of_which_none_could_be_read_are_no_pass(run):
    unread = {"displayName": "x", "golden": {"turns": []}}
    done = run([GOOD], cases=[unread])
    assert done.status == 1 and "no eval case was read: 1 rejected" in done.err
    done = run([OF_CASE, "{", CASE], cases=[{**GOOD, "turns": [{"user": "Hi"}]}], name="logs")
    assert "no eval case was read: 1 record is in --eval_cases and no eval case: give logs" in done.err
    assert "1 conversation names an unknown eval case: add it to --eval_cases" in done.err
    text = " ".join(done.out.split())
    assert "eval cases were looked for in " in text and ": 0 read, 1 rejected" in text
    assert "; 1 record holds eval cases: give them with --eval_cases" in done.err
    assert "logs.jsonl:2: EOF while parsing an object" in text
    assert run([GOOD], cases=[unread, CASE], name="some").status == 0
    for status, mode in ((1, []), (2, ["--streaming", "--stop_after", "1"])):
        done = run([GOOD], *mode, cases=[], name=f"none{status}")
        assert done.status == status and "no eval case was read" in done.err


def test_a_case_without_a_recording_is_told_and_never_green(run):
    fail_on = ("--fail_on", "response_match_score")
    done = run([OF_CASE], *fail_on, cases=[CASE, {**CASE, "eval_id": "two"}])
    assert done.status == 1 and "1 without an outcome" in done.err
    assert "eval cases: 2 read, 1 without a recording, 0 rejected" in done.out
    assert done.document("run.json")["counts"]["unused_cases"] == 1
    whole = run([OF_CASE], *fail_on, cases=[CASE], name="whole")
    assert whole.status == 0 and "eval cases" not in whole.out
    assert run([OF_CASE, "{cut"], *fail_on, cases=[CASE], name="rejected").status == 1
    allowed = ("--max_failure_ratio", "0.5")
    assert run([OF_CASE, "{cut"], *fail_on, *allowed, cases=[CASE], name="allowed").status == 0


def test_logs_that_name_cases_where_none_are_given_say_so(run):
    step = "1 conversation names an eval id, but no cases were given: add --eval_cases"
    done = run([OF_CASE])
    assert done.status == 1 and f"no value by any criterion; {step}" in done.err
    done = run([OF_CASE, GOOD], name="some")
    assert (done.status, done.err) == (0, "") and f"{step}." in " ".join(done.out.split())


def test_cases_of_one_id_in_two_sets_are_told_apart(run):
    other = {**CASE, "turns": [{"user": "Hi", "response": "good night"}]}
    cases = [{**CASE, "eval_set_id": "greetings"}, {**other, "eval_set_id": "goodbyes"}]
    sets = {"a": "greetings", "b": "goodbyes", "c": None}
    done = run([{**OF_CASE, "conversation_id": n, "eval_set_id": s} for n, s in sets.items()], cases=cases)
    rows = [row for row in done.rows("scores") if row["criterion"] == "response_match_score"]
    assert {row["conversation_id"]: row["value"] for row in rows} == {"a": 1.0, "b": 0.0}
    (rejected,) = done.rows("failures")
    assert (rejected["conversation_id"], rejected["error_type"]) == ("c", "AmbiguousCaseError")
    assert "goodbyes" in rejected["message"] and "greetings" in rejected["message"]


def test_gates_that_apply_to_nothing_are_told(run):
    criteria = {"response_match_score": 0.8, "turn_latency": 9, "final_state_v1": 1, "span_latency": {}}
    done = run([log(turns=[{"user": "hi", "agent": "hello", "latency_ms": 10}])], criteria=criteria)
    assert "not applicable to any conversation: response_match_score, final_state_v1\n" in done.out


def test_failures_are_counted_by_version(run):
    rejected = {**OF_CASE, "eval_id": "?"}
    versions = [{**rejected, "app_version": version} for version in ("", None)]
    done = run([OF_CASE, *versions, "broken"], cases=[CASE])
    assert done.document("run.json")["counts"]["failures_by_version"] == {"": 2}
    (line,) = [line for line in done.out.splitlines() if line.startswith("rejected, errors")]
    assert line.split()[-1] == "2"
    done = run([OF_CASE, {**rejected, "app_version": "v2"}], cases=[CASE], name="v2")
    assert done.document("run.json")["counts"]["failures_by_version"] == {"v2": 1}


def test_a_custom_metric_has_no_score_and_the_others_run(run):
    config = {
        "criteria": {"response_match_score": 0.8, "polite": 0.5},
        "custom_metrics": {"polite": {"code_config": {"name": "my.polite"}}},
    }
    done = run([OF_CASE], "--fail_on", "verdict", cases=[CASE], **config)
    rows = {row["criterion"]: row for row in done.rows("scores") if row["turn_index"] is None}
    assert rows["response_match_score"]["outcome"] == "PASS"
    polite = rows["polite"]
    reason = "a custom metric: its function my.polite is not run"
    assert (polite["value"], polite["outcome"], polite["reason"]) == (None, None, reason)
    (row,) = (row for row in done.rows("metrics_by_app_version") if row["criterion"] == "polite")
    assert (row["no_score"], row["mean"], row["mean_low"], row["mean_high"]) == (1, None, None, None)
    assert "custom_metrics: no score, because their functions are not run: polite" in done.out
    assert done.status == 1 and "1 without an outcome" in done.err


def test_a_directory_holds_one_run_at_a_time(run, tmp_path):
    with locked(str(tmp_path / "out")):
        done = run([GOOD], "--overwrite")
        assert done.status == 2 and "another run is writing into it" in done.err
    assert run([GOOD]).document("run.json")
    assert not list((tmp_path / "out").glob(".*")), "the lock is gone"


def test_many_at_once_never_hold_one_lock(tmp_path):
    """A file that its owner removed, and another one opened before, locks nothing."""
    inside = []

    def compete(number):
        most = 0
        for _ in range(300):
            with contextlib.suppress(ConfigError), locked(str(tmp_path)):
                inside.append(number)
                time.sleep(0)
                most = max(most, len(inside))
                inside.remove(number)
        return most

    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(compete, range(8))) <= {0, 1}


def test_places_that_beam_would_take_otherwise(turnwise, tmp_path):
    path = write(tmp_path / "in [x] y" / "a [1].jsonl", GOOD)
    for number, given in enumerate((path, path.parent)):
        done = turnwise("run", "--input", given, output=tmp_path / f"out{number}")
        assert done.document("run.json")["counts"]["results"] == 1
    done = turnwise("run", "--input", path, "--overwrite", output=path.parent)
    assert done.status == 2 and path.exists()
    for name in ("o[1]", "o*", "o?"):
        done = turnwise("run", "--input", path, output=tmp_path / name)
        assert done.status == 2 and "must not contain the characters" in done.err


@pytest.mark.parametrize("options", [["--overwrite"], ["--date", "2026-11-01"]], ids=" ".join)
def test_no_run_removes_its_input(turnwise, tmp_path, options):
    """A run with a date replaces what is there without being told to."""
    path = write(tmp_path / "2026-11-01" / "results-in.jsonl", GOOD)
    given = str(path) if "--overwrite" in options else str(path).replace("2026-11-01", "{date}")
    done = turnwise("run", "--input", given, *options, output=Path(given).parent)
    assert done.status == 2 and "--overwrite could remove" in done.err and path.exists()


def test_an_array_may_be_larger_than_its_records(turnwise, tmp_path):
    path = tmp_path / "log.json"
    path.write_text(json.dumps([log(str(i)) for i in range(200)]))
    done = turnwise("run", "--input", path, "--max_record_mb", "0.005", output=tmp_path / "out")
    assert done.document("run.json")["counts"]["results"] == 200


def test_greetings_alone_name_what_measures_nothing_in_them(run):
    done = run([{"conversation_id": "c", "turns": [{"user": "Hi", "agent": "Hello! How can I help?"}]}])
    assert done.status == 1
    assert "nothing that was said or called is measured by " in done.err and "add --eval_cases or" in done.err
