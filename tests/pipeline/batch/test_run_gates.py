"""When a run fails by its own gates, and that a finished run can be replaced."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from turnwise.pipeline.report.terminal import gate_problems
from turnwise.pipeline.settings.run import RunSettings
from turnwise.schemas.config import EvalConfig
from turnwise.schemas.conversation import Conversation, ExpectedTurn, Record, Turn
from turnwise.schemas.run import RunInfo
from turnwise.transforms.criteria.responses import ResponseMatch
from turnwise.transforms.matching.sample import Sample, inline_case
from turnwise.transforms.metrics.rows import version_rows
from turnwise.transforms.metrics.state import MetricsState, add_conversation
from turnwise.transforms.scoring.config import build_criteria
from turnwise.transforms.scoring.conversation import evaluate_sample

COUNTS = {
    "records": 2,
    "lost_records": 0,
    "conversations": 2,
    "lost_conversations": 0,
    "results": 2,
    "parsed_records": 2,
    "cases": 0,
    "lost_cases": 0,
    "unused_cases": 0,
    "failures": {},
    "findings": {},
}
RUN = RunInfo("run-1", "2026-11-21T00:00:00.000Z")
CONFIG = {"criteria": {"response_match_score": 0.9, "tool_trajectory_avg_score": 1.0, "expectations_met": {}}}


def log(agent: str, name: str) -> str:
    turn = {"user": "hi", "agent": agent, "expected": {"response": "hello there"}}
    return json.dumps({"conversation_id": name, "turns": [turn]}) + "\n"


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("config") / "config.json"
    path.write_text(json.dumps(CONFIG))
    return path


def test_gates_that_are_missed(turnwise: Callable[..., Any], config: Path, tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text(log("something else", "bad") + log("hello there", "good") + "{\n")
    done = turnwise(
        *("run", "--input", tmp_path / "log.jsonl", "--config", config, "--max_failure_ratio", "0.33"),
        *("--fail_on", "response_match_score", "tool_trajectory_avg_score", "evaluation_status"),
        output=tmp_path / "out",
    )
    document = done.document("run.json")
    said = "\n".join(document["problems"])
    assert done.status == document["exit_status"] == 1
    assert [f"turnwise: {problem}" for problem in document["problems"]] == done.err.splitlines()
    assert "1 of 3 records and conversations failed" in said and "--max_failure_ratio 0.33" in said
    passes = "every conversation passes"
    assert document["problems"][1:] == [
        f"gate: response_match_score: {passes}: failed: 1 failed, 0 not decided: bad",
        f"gate: tool_trajectory_avg_score: {passes}: not decided: nothing was scored",
        f"gate: evaluation_status: {passes}: failed: 1 failed, 0 not decided: bad",
    ]
    assert len(document["problems"]) == 4
    assert len(done.rows("results")) == 2, "everything is written all the same"


def test_gates_that_are_met_over_an_earlier_run(
    turnwise: Callable[..., Any], config: Path, tmp_path: Path
) -> None:
    (tmp_path / "log.jsonl").write_text(log("hello there", "good") + "{\n")
    earlier = ["scores-00003-of-00004.jsonl", "failures-00000-of-00001.avro", "run.json"]
    kept = ["notes.txt", "scores.md", "results-of-march.xlsx", "run.json.notes", "failures_explained.txt"]
    out = tmp_path / "out"
    (out / "results").mkdir(parents=True)
    for name in [*earlier, *kept, "results/mine.jsonl"]:
        (out / name).write_text("earlier")
    done = turnwise(
        *("run", "--input", tmp_path / "log.jsonl", "--config", config, "--max_failure_ratio", "0.5"),
        *("--overwrite", "--fail_on", "response_match_score", "evaluation_status"),
        output=out,
    )
    assert done.status == 0 and done.err == ""
    assert not (out / earlier[0]).exists() and not (out / earlier[1]).exists()
    assert done.document("run.json")["exit_status"] == 0
    survivors = [name for name in [*kept, "results/mine.jsonl"] if (out / name).exists()]
    assert survivors == [*kept, "results/mine.jsonl"]


def metric_rows(names: list[str]) -> list[Any]:
    states: dict[str, MetricsState] = {}
    for name in names:
        turn = Turn(user="hi", agent="hello", expected=ExpectedTurn(response="hello"))
        conversation = Conversation(conversation_id=name, turns=[turn])
        case = Sample(conversation, inline_case(conversation), Record("log", 1, b""))
        found = evaluate_sample(case, [ResponseMatch()], RUN)
        add_conversation(states, found.scored, found.verdict, found.parts)
    return list(version_rows(("", states.get("", MetricsState())), "run-1"))


def settings(**fields: Any) -> RunSettings:
    return RunSettings(run=RUN, config=EvalConfig(), criteria=build_criteria(EvalConfig()), **fields)


def test_the_reader_is_sent_to_the_files_of_the_output() -> None:
    counts = {**COUNTS, "cases": 0, "lost_cases": 1}
    problems = gate_problems(settings(output="out"), counts, [])
    assert problems[0].endswith("; see scores-*") and problems[-1].endswith("; see failures-*")


@pytest.mark.parametrize(
    ("ratio", "lost_records", "lost_conversations", "is_missed"),
    [
        (None, 2, 0, False),
        (0.0, 0, 0, False),
        (0.0, 1, 0, True),
        (0.5, 1, 1, False),
        (0.5, 2, 1, True),
        (1.0, 9, 9, False),
    ],
)
def test_max_failure_ratio(
    ratio: float | None, lost_records: int, lost_conversations: int, is_missed: bool
) -> None:
    kept = 2
    counts = {
        **COUNTS,
        "records": kept + lost_conversations + lost_records,
        "parsed_records": kept + lost_conversations,
        "lost_records": lost_records,
        "lost_conversations": lost_conversations,
        "conversations": kept + lost_conversations,
        "results": kept,
    }
    assert bool(gate_problems(settings(max_failure_ratio=ratio), counts, metric_rows(["good"]))) == is_missed


@pytest.mark.parametrize("name", ["records", "parsed_records", "conversations", "results"])
@pytest.mark.parametrize("count", [1, 3])
def test_counts_that_do_not_add_up_fail_the_run(name: str, count: int) -> None:
    problems = gate_problems(settings(), {**COUNTS, name: count}, metric_rows(["good"]))
    assert len(problems) == 1 and "do not add up" in problems[0]


def test_a_run_that_accounts_for_everything_does_not_fail() -> None:
    assert gate_problems(settings(), COUNTS, metric_rows(["good"])) == []


@pytest.mark.parametrize("ratio", [None, 0.0, 1.0])
def test_an_input_that_breaks_off_fails_the_run(ratio: float | None) -> None:
    counts = {**COUNTS, "failures": {"read: IncompleteReadError": 1}}
    found = gate_problems(settings(output="out", max_failure_ratio=ratio), counts, metric_rows(["good"]))
    assert any("an unknown number of records is missing; see failures-*" in problem for problem in found)


@pytest.mark.parametrize("output_format", ["jsonl", "avro"])
def test_conversations_that_miss_a_gate_are_named(
    turnwise: Callable[..., Any], config: Path, tmp_path: Path, output_format: str
) -> None:
    names = [f"bad-{number:02}" for number in range(23)]
    undecided = json.dumps({"conversation_id": "z", "turns": [{"user": "hi", "agent": "x"}]}) + "\n"
    run = {"eval_id": "e", "meta": {"trial": 3}}
    first = {**json.loads(log("something else", names[0])), **run}
    text = json.dumps(first) + "\n" + "".join(log("something else", name) for name in names[1:])
    text += log("hello there", "good") + undecided
    (tmp_path / "log.jsonl").write_text(text)
    done = turnwise(
        *("run", "--input", tmp_path / "log.jsonl", "--config", config, "--output_format", output_format),
        *("--fail_on", "response_match_score", "evaluation_status"),
        output=tmp_path / "out",
    )
    lines = done.err.splitlines()
    assert done.status == 1 and len(lines) == 2
    first = ", ".join(names[:20])
    told = "0 not decided; does not apply to 1 other conversation"
    assert lines[0].endswith(f"passes: failed: 23 failed, {told}: {first} and 3 more")
    assert lines[1].endswith(f"passes: failed: 23 failed, 1 not decided: {first} and 4 more")


NOTHING = {
    "empty files": ("", "the input holds no record"),
    "blank lines": ("\n  \n", "the input holds no record"),
    "broken records": ("{\n[\n", "2 records and conversations failed"),
    "eval cases": (
        json.dumps({"eval_id": "e", "turns": [{"user": "hi", "response": "hello"}]}) + "\n",
        "1 record or conversation failed",
    ),
    "nothing to measure": (
        json.dumps({"conversation_id": "a", "turns": [{"user": "hi", "agent": "hello"}]}) + "\n",
        "1 conversation has no value by any criterion",
    ),
}


@pytest.mark.parametrize("mode", [[], ["--streaming", "--max_run_time", "1"]])
@pytest.mark.parametrize("kind", NOTHING)
def test_a_run_that_scored_nothing_fails(
    turnwise: Callable[..., Any], tmp_path: Path, kind: str, mode: list[str]
) -> None:
    text, reason = NOTHING[kind]
    (tmp_path / "log.jsonl").write_text(text)
    done = turnwise("run", *mode, "--input", tmp_path / "log.jsonl", output=tmp_path / "out")
    problems = [f"no conversation was scored: {reason}"]
    assert done.status == done.document("run.json")["exit_status"] == 1
    assert [line.split(";")[0] for line in done.document("run.json")["problems"]] == problems
    assert done.err.startswith(f"turnwise: {problems[0]}")


def test_a_run_of_whose_cases_none_could_be_read_fails(
    turnwise: Callable[..., Any], config: Path, tmp_path: Path
) -> None:
    (tmp_path / "log.jsonl").write_text(log("hello there", "good"))
    cases = tmp_path / "cases.jsonl"
    cases.write_text(json.dumps({"displayName": "x", "golden": {"turns": []}}) + "\n")
    arguments = ("run", "--input", tmp_path / "log.jsonl", "--config", config, "--eval_cases", cases)
    done = turnwise(*arguments, output=tmp_path / "out")
    assert done.status == 1
    assert "no eval case was read: 1 failed" in done.err
    cases.write_text(cases.read_text() + json.dumps({"eval_id": "e", "turns": [{"response": "x"}]}) + "\n")
    assert turnwise(*arguments, output=tmp_path / "again").status == 0


@pytest.mark.parametrize("is_stream", [False, True])
def test_eval_cases_without_a_case_are_no_pass(
    turnwise: Callable[..., Any], is_stream: bool, config: Path, tmp_path: Path
) -> None:
    (tmp_path / "log.jsonl").write_text(log("hello there", "good"))
    cases = tmp_path / "cases.jsonl"
    cases.touch()
    arguments = ["run", "--input", tmp_path / "log.jsonl", "--config", config, "--eval_cases", cases]
    arguments += ["--streaming", "--stop_after", "1"] if is_stream else []
    done = turnwise(*arguments, output=tmp_path / "out")
    assert done.status == (2 if is_stream else 1)
    assert "no eval case was read" in done.err
