"""What a run must not hide: untried cases, lost records, another run in the same directory."""

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from turnwise.pipeline.io.run_writer import locked
from turnwise.schemas.config import ConfigError

GOOD = {"conversation_id": "a", "eval_id": "one", "turns": [{"user": "hi", "agent": "hello there"}]}
CASE = {"eval_id": "one", "turns": [{"user": "hi", "response": "hello there"}]}


def write(path: Path, *values: Any) -> Path:
    path.write_text("".join(f"{json.dumps(value)}\n" for value in values))
    return path


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return write(tmp_path / "log.jsonl", GOOD)


def test_a_case_without_a_recording_is_told_and_never_green(
    turnwise: Callable[..., Any], log: Path, tmp_path: Path
) -> None:
    cases = write(tmp_path / "cases.jsonl", CASE, {**CASE, "eval_id": "two"})
    arguments = ["run", "--input", log, "--eval_cases", cases, "--fail_on", "response_match_score"]
    done = turnwise(*arguments, output=tmp_path / "out")
    assert done.status == 1 and "1 not decided" in done.err
    assert "eval cases: 2 read, 1 without a recording, 0 failed" in done.out
    assert done.document("run.json")["counts"]["unused_cases"] == 1


def test_every_case_has_a_recording(turnwise: Callable[..., Any], log: Path, tmp_path: Path) -> None:
    cases = write(tmp_path / "cases.jsonl", CASE)
    arguments = ["run", "--input", log, "--eval_cases", cases, "--fail_on", "response_match_score"]
    done = turnwise(*arguments, output=tmp_path / "out")
    assert done.status == 0 and "eval cases" not in done.out


def test_cases_of_one_id_in_two_sets_are_told_apart(turnwise: Callable[..., Any], tmp_path: Path) -> None:
    cases = write(
        tmp_path / "cases.jsonl",
        {**CASE, "eval_set_id": "greetings"},
        {"eval_id": "one", "eval_set_id": "goodbyes", "turns": [{"user": "hi", "response": "good night"}]},
    )
    log = write(
        tmp_path / "log.jsonl",
        {**GOOD, "conversation_id": "a", "eval_set_id": "greetings"},
        {**GOOD, "conversation_id": "b", "eval_set_id": "goodbyes"},
        {**GOOD, "conversation_id": "c"},
    )
    done = turnwise("run", "--input", log, "--eval_cases", cases, output=tmp_path / "out")
    found = {
        row["conversation_id"]: row["value"]
        for row in done.rows("scores")
        if row["criterion"] == "response_match_score" and row["turn_index"] is None
    }
    assert found == {"a": 1.0, "b": 0.0}
    (lost,) = done.rows("failures")
    assert (lost["conversation_id"], lost["error_type"]) == ("c", "AmbiguousCaseError")
    assert "goodbyes" in lost["message"] and "greetings" in lost["message"]


def test_gates_that_apply_to_nothing_are_told(turnwise: Callable[..., Any], tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    criteria = {"response_match_score": 0.8, "turn_latency": 9, "final_state_v1": 1, "span_latency": {}}
    config.write_text(json.dumps({"criteria": criteria}))
    log = write(
        tmp_path / "log.jsonl", {**GOOD, "turns": [{"user": "hi", "agent": "hello", "latency_ms": 10}]}
    )
    done = turnwise("run", "--input", log, "--config", config, output=tmp_path / "out")
    assert "not applicable to any conversation: response_match_score, final_state_v1\n" in done.out


def test_a_lost_record_is_not_green_unless_a_share_of_them_is_allowed(
    turnwise: Callable[..., Any], log: Path, tmp_path: Path
) -> None:
    log.write_text(log.read_text() + "{cut\n")
    cases = write(tmp_path / "cases.jsonl", CASE)
    arguments = ["run", "--input", log, "--eval_cases", cases, "--fail_on", "response_match_score"]
    assert turnwise(*arguments, output=tmp_path / "one").status == 1
    assert turnwise(*arguments, "--max_failure_ratio", "0.5", output=tmp_path / "two").status == 0


def test_failures_stand_beside_their_version(turnwise: Callable[..., Any], tmp_path: Path) -> None:
    log = write(
        tmp_path / "log.jsonl", {**GOOD, "app_version": "v1"}, {**GOOD, "app_version": "v2", "eval_id": "?"}
    )
    cases = write(tmp_path / "cases.jsonl", CASE)
    done = turnwise("run", "--input", log, "--eval_cases", cases, output=tmp_path / "out")
    assert done.document("run.json")["counts"]["failures_by_version"] == {"v2": 1}


def test_failures_without_a_version_have_a_column_too(turnwise: Callable[..., Any], tmp_path: Path) -> None:
    lost = {**GOOD, "eval_id": "?"}
    log = write(
        tmp_path / "log.jsonl", GOOD, {**lost, "app_version": ""}, {**lost, "app_version": None}, "broken"
    )
    cases = write(tmp_path / "cases.jsonl", CASE)
    done = turnwise("run", "--input", log, "--eval_cases", cases, output=tmp_path / "out")
    assert done.document("run.json")["counts"]["failures_by_version"] == {"": 2}
    assert [line.split() for line in done.out.splitlines() if line.startswith("failures  ")] == [
        ["failures", "2"]
    ]


def test_a_directory_holds_one_run_at_a_time(turnwise: Callable[..., Any], log: Path, tmp_path: Path) -> None:
    with locked(str(tmp_path / "out")):
        done = turnwise("run", "--input", log, "--overwrite", output=tmp_path / "out")
        assert done.status == 2 and "another run is writing into it" in done.err
    assert turnwise("run", "--input", log, output=tmp_path / "out").document("run.json")
    assert not list((tmp_path / "out").glob(".*")), "the lock is gone"


def test_a_lock_goes_with_its_process(tmp_path: Path) -> None:
    hold = "with locked(sys.argv[1]): print(1, flush=True); time.sleep(60)"
    script = f"from turnwise.pipeline.io.run_writer import locked\nimport sys, time\n{hold}"
    holder = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE)
    assert holder.stdout is not None and holder.stdout.readline()
    with pytest.raises(ConfigError, match="another run"), locked(str(tmp_path)):
        pass
    holder.kill()
    holder.wait()
    with locked(str(tmp_path)):
        time.sleep(0)


def test_many_at_once_never_hold_one_lock(tmp_path: Path) -> None:
    """A file that its owner removed, and another one opened before, locks nothing."""
    inside: list[int] = []

    def compete(number: int) -> int:
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


def test_overwrite_never_removes_an_input(turnwise: Callable[..., Any], log: Path, tmp_path: Path) -> None:
    done = turnwise("run", "--input", log, "--overwrite", output=tmp_path)
    assert done.status == 2 and "--overwrite could remove" in done.err
    assert log.exists()


@pytest.mark.parametrize("name", ["o[1]", "o*", "o?"])
def test_an_output_that_beam_would_take_for_a_glob(
    turnwise: Callable[..., Any], log: Path, tmp_path: Path, name: str
) -> None:
    done = turnwise("run", "--input", log, output=tmp_path / name)
    assert done.status == 2 and "must not contain the characters" in done.err


def test_inputs_with_brackets_and_blanks(turnwise: Callable[..., Any], tmp_path: Path) -> None:
    folder = tmp_path / "in [x] y"
    folder.mkdir()
    log = write(folder / "a [1].jsonl", GOOD)
    for number, path in enumerate((log, folder)):
        done = turnwise("run", "--input", path, output=tmp_path / f"out{number}")
        assert done.document("run.json")["counts"]["results"] == 1


def test_an_array_may_be_larger_than_its_records(turnwise: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    path.write_text(json.dumps([{**GOOD, "conversation_id": str(i)} for i in range(200)]))
    done = turnwise("run", "--input", path, "--max_record_mb", "0.005", output=tmp_path / "out")
    assert done.document("run.json")["counts"]["results"] == 200


def test_texts_that_must_have_been_said(turnwise: Callable[..., Any], tmp_path: Path) -> None:
    values = [
        {
            **GOOD,
            "conversation_id": said,
            "expected": {"outputs": ["The total is 50"]},
            "turns": [{"agent": said}],
        }
        for said in ("so the TOTAL is 50.", "it is 60")
    ]
    for value in values:
        value.pop("eval_id")
    done = turnwise("run", "--input", write(tmp_path / "log.jsonl", *values), output=tmp_path / "out")
    rows = [row for row in done.rows("scores") if row["criterion"] == "expectations_met"]
    assert sorted((row["value"], row["outcome"]) for row in rows) == [(0.0, "FAIL"), (1.0, "PASS")]


def test_a_misspelt_ces_threshold_stops_the_run(
    turnwise: Callable[..., Any], log: Path, tmp_path: Path
) -> None:
    thresholds = {"goldenEvaluationMetricsThreshold": {}}
    config = write(tmp_path / "c.json", {"ces": {"evaluation_metrics_thresholds": thresholds}})
    done = turnwise("run", "--input", log, "--config", config, output=tmp_path / "out")
    assert done.status == 2 and "goldenEvaluationMetricsThreshold" in done.err


def test_a_custom_metric_is_unscored_and_the_others_run(
    turnwise: Callable[..., Any], log: Path, tmp_path: Path
) -> None:
    cases = write(tmp_path / "cases.jsonl", CASE)
    config = {
        "criteria": {"response_match_score": 0.8, "polite": 0.5},
        "custom_metrics": {"polite": {"code_config": {"name": "my.polite"}}},
    }
    path = write(tmp_path / "config.json", config)
    arguments = ["run", "--input", log, "--eval_cases", cases, "--config", path]
    done = turnwise(*arguments, "--fail_on", "evaluation_status", output=tmp_path / "out")
    rows = {(row["criterion"], row["turn_index"]): row for row in done.rows("scores")}
    assert rows["response_match_score", None]["outcome"] == "PASS"
    polite = rows["polite", None]
    assert (polite["value"], polite["outcome"]) == (None, None)
    assert polite["reason"] == "a custom metric: its function my.polite is not run"
    (result,) = done.rows("results")
    assert result.get("evaluationStatus") is None
    (row,) = (row for row in done.rows("metrics_by_app_version") if row["criterion"] == "polite")
    assert (row["unscored"], row["mean"], row["mean_low"], row["mean_high"]) == (1, None, None, None)
    assert "custom_metrics: unscored, because their functions are not run: polite" in done.out
    assert done.status == 1 and "1 not decided" in done.err
    assert turnwise(*arguments, "--fail_on", "polite", output=tmp_path / "again").status == 1
