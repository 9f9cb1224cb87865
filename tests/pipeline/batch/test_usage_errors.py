"""What the user must put right: one line, exit 2, and nothing is written or deleted."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

LOG = '{"conversation_id": "a", "turns": [{"user": "x", "agent": "y"}]}\n'


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.jsonl"
    path.write_text(LOG)
    return path


def assert_refused(done: Any, *parts: str) -> None:
    assert done.status == 2
    assert done.out == ""
    assert done.err.startswith("turnwise: ") and done.err.count("\n") == 1
    for part in parts:
        assert part in done.err
    assert not done.directory.exists()


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--inptu=x"], ["--inptu", "did you mean --input?"]),
        (["--eval_case", "x"], ["--eval_case", "did you mean --eval_cases?"]),
        (["--max_failure_ration=1"], ["did you mean --max_failure_ratio?"]),
        (["--runer=DirectRunner"], ["did you mean --runner?"]),
        (["--out=x"], ["--out"]),
        (["--zzzzzzzzz"], ["unknown option --zzzzzzzzz"]),
        (["--max_failure_ratio=1.5"], ["--max_failure_ratio", "1.5"]),
        (["--max_failure_ratio=nan"], ["--max_failure_ratio"]),
        (["--max_failure_ratio=few"], ["--max_failure_ratio", "few"]),
        (["--max_record_mb=0"], ["--max_record_mb"]),
        (["--max_record_mb=nan"], ["--max_record_mb"]),
        (["--max_record_mb=inf"], ["--max_record_mb"]),
        (["--max_record_mb=much"], ["--max_record_mb", "much"]),
        (["--output_format=xml"], ["--output_format", "xml"]),
        (["--input_format=csv"], ["--input_format", "csv"]),
        (["--fail_on", "tool_trajectory"], ["--fail_on tool_trajectory", "tool_trajectory_avg_score"]),
        (["--fail_on", "span_latency"], ["--fail_on span_latency", "not among the config's criteria"]),
        (["--fail_on", "turn_latency"], ["--fail_on turn_latency", "no threshold"]),
        (["--fail_on", "evaluation_status", "--fail_on", "turn_latency"], ["--fail_on turn_latency"]),
        (["--eval_cases", "no/such/file.json"], ["no/such/file.json", "no such file"]),
        (["--eval_cases", "no/such/*.json"], ["no/such/*.json"]),
        (["--eval_cases", ""], ["--eval_cases", "an empty path"]),
        (["--eval_cases", " "], ["--eval_cases", "an empty path"]),
        (["--input", ""], ["--input", "an empty path"]),
        (["--config", "no/such/config.json"], ["--config no/such/config.json"]),
        (["--input_format"], ["--input_format"]),
        (["--runner=NopeRunner"], ["NopeRunner"]),
        (["--runner=DataflowRunner"], ["--output", "is on this machine"]),
    ],
)
def test_wrong_options(
    turnwise: Callable[..., Any], log: Path, tmp_path: Path, arguments: list[str], parts: list[str]
) -> None:
    done = turnwise("run", "--input", log, *arguments, output=tmp_path / "out")
    assert_refused(done, *parts)


def test_a_criterion_by_rubrics_needs_one_where_records_bring_none(
    turnwise: Callable[..., Any], log: Path, tmp_path: Path
) -> None:
    config = tmp_path / "config.json"
    config.write_text('{"criteria": {"rubric_based_tool_use_quality_v1": 0.5}}')
    arguments = ["run", "--input", log, "--config", config, "--input_format", "openai_chat"]
    done = turnwise(*arguments, output=tmp_path / "out")
    assert_refused(done, "criteria.rubric_based_tool_use_quality_v1", "no rubric", "--eval_cases")


@pytest.mark.parametrize("path", ["missing.jsonl", "missing/*.jsonl", "missing/"])
def test_missing_input(turnwise: Callable[..., Any], tmp_path: Path, path: str) -> None:
    done = turnwise("run", "--input", f"{tmp_path}/{path}", output=tmp_path / "out")
    assert_refused(done, path.rstrip("/"))


@pytest.mark.parametrize("option", ["--input", "--eval_cases"])
@pytest.mark.parametrize("name", ["log.tsv", "log.XML", "log.md"])
def test_files_of_a_kind_that_is_not_read(
    turnwise: Callable[..., Any], log: Path, tmp_path: Path, option: str, name: str
) -> None:
    (tmp_path / name).write_text(LOG)
    done = turnwise("run", "--input", log, option, tmp_path / name, output=tmp_path / "out")
    assert_refused(done, f"{option} {tmp_path / name}", "is none of .json")


def test_no_input_and_no_output(turnwise: Callable[..., Any], log: Path, tmp_path: Path) -> None:
    assert_refused(turnwise("run", output=tmp_path / "out"), "--input is missing")
    done = turnwise("run", "--input", log)
    assert done.status == 2 and "--output is missing" in done.err


def test_a_folder_without_logs(turnwise: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/readme.txt").write_text("none here")
    assert_refused(turnwise("run", "--input", tmp_path / "logs", output=tmp_path / "out"), "no file in it")


def test_an_output_that_is_a_file(turnwise: Callable[..., Any], log: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    done = turnwise("run", "--input", log, output=tmp_path / "file")
    assert done.status == 2 and done.err.count("\n") == 1
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize(
    ("config", "parts"),
    [
        ("{", ["config.json"]),
        ("[]", ["must hold a JSON object"]),
        ('{"criteria": {}}', ["criteria"]),
        ('{"criteria": {"response_match": 1}}', ["response_match", "did you mean response_match_score?"]),
        ('{"criteria": {"response_match_score": "high"}}', ["response_match_score", "high"]),
        ('{"criteria": {"response_match_score": NaN}}', ["response_match_score"]),
        ('{"criteria": {"response_match_score": {"treshold": 1}}}', ["treshold", "did you mean threshold?"]),
        ('{"criteria": {"tool_trajectory_avg_score": {"match_type": "EXCAT"}}}', ["match_type"]),
        ('{"criteria": {"response_match_score": 1, "response_match_score": 0}}', ["duplicate key"]),
        ('{"criterias": {"response_match_score": 1}}', ["criterias", "did you mean criteria?"]),
        ("\xff\xfe", ["config.json", "not UTF-8"]),
    ],
)
def test_wrong_configs(
    turnwise: Callable[..., Any], log: Path, tmp_path: Path, config: str, parts: list[str]
) -> None:
    (tmp_path / "config.json").write_bytes(config.encode("latin-1"))
    done = turnwise("run", "--input", log, "--config", tmp_path / "config.json", output=tmp_path / "out")
    assert_refused(done, *parts)


@pytest.mark.parametrize("arguments", [["--runner=NopeRunner"], ["--inptu=x"], ["--max_record_mb=nan"]])
def test_a_wrong_option_leaves_the_earlier_run_in_place(
    turnwise: Callable[..., Any], log: Path, tmp_path: Path, arguments: list[str]
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "run.json").write_text(json.dumps({"run_id": "earlier"}))
    done = turnwise("run", "--input", log, "--overwrite", *arguments, output=out)
    assert done.status == 2
    assert json.loads((out / "run.json").read_text()) == {"run_id": "earlier"}


@pytest.mark.parametrize("order", [("log.jsonl", "missing.jsonl"), ("missing.jsonl", "log.jsonl")])
def test_all_paths_of_an_option_given_twice_count(
    turnwise: Callable[..., Any], log: Path, tmp_path: Path, order: tuple[str, str]
) -> None:
    inputs = [argument for name in order for argument in ("--input", log.parent / name)]
    done = turnwise("run", *inputs, output=tmp_path / "out")
    assert_refused(done, f"--input {tmp_path / 'missing.jsonl'}", "no such file")


def test_an_empty_path_is_refused(tmp_path: Path) -> None:
    """An unset shell variable must not stand for every file of the machine."""
    command = [sys.executable, "-m", "turnwise", "run", "--input", "", "--output", str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2 and "--input" in done.stderr
