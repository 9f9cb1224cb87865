"""A folder of an ADK agent as input."""

import json
from pathlib import Path
from typing import Any

import pytest

from turnwise.pipeline.cli.main import main


def said(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"text": text}]}


def invocation(answer: str) -> dict[str, Any]:
    return {"user_content": said("user", "Hi"), "final_response": said("model", answer)}


RESULT = {
    "eval_set_result_id": "app_desk_1.0",
    "eval_set_id": "desk",
    "eval_case_results": [
        {
            "eval_set_id": "desk",
            "eval_id": "greeting",
            "final_eval_status": 1,
            "overall_eval_metric_results": [],
            "session_id": "s1",
            "eval_metric_result_per_invocation": [
                {"actual_invocation": invocation("Hello"), "expected_invocation": invocation("Hello")}
            ],
        }
    ],
}
CASES = {
    "eval_set_id": "desk",
    "eval_cases": [{"eval_id": "greeting", "conversation": [invocation("Hello")]}],
}


@pytest.fixture
def agent(tmp_path: Path) -> Path:
    """Returns a folder as `adk eval` leaves it."""
    folder = tmp_path / "app"
    history = folder / ".adk/eval_history"
    history.mkdir(parents=True)
    (folder / "agent.py").write_text("")
    (folder / "desk.evalset.json").write_text(json.dumps(CASES))
    (folder / "test_config.json").write_text('{"criteria": {"response_match_score": 0.5}}')
    (history / "app_desk_1.0.evalset_result.json").write_text(json.dumps(RESULT))
    return folder


def run(agent: Path, *options: str) -> tuple[int, dict[str, Any]]:
    output = agent.parent / "out"
    status = main(["run", "--input", str(agent), "--output", str(output), "--overwrite", *options])
    return status, json.loads((output / "run.json").read_text())


def test_history_is_scored_against_the_eval_sets_by_the_config_beside_them(agent):
    status, document = run(agent)
    assert status == 0 and list(document["criteria"]) == ["response_match_score"]
    assert (document["counts"]["results"], document["counts"]["cases"]) == (1, 1)
    assert document["counts"]["rejected_records"] == document["counts"]["unused_cases"] == 0


def test_what_is_named_goes_before_the_folder(agent, tmp_path):
    config = tmp_path / "own.json"
    config.write_text('{"criteria": {"tool_call_count_v1": {}}}')
    other = tmp_path / "other.json"
    other.write_text(json.dumps({**CASES, "eval_set_id": "desk"}))
    _, document = run(agent, "--config", str(config), "--eval_cases", str(other))
    assert list(document["criteria"]) == ["tool_call_count_v1"] and document["counts"]["cases"] == 1


def test_stored_sessions_are_logs(agent):
    session = {
        "id": "s2",
        "app_name": "app",
        "user_id": "u",
        "events": [{"author": "user", "invocation_id": "i", "content": said("user", "Hi")}],
    }
    (agent / "one.session.json").write_text(json.dumps(session))
    assert run(agent)[1]["counts"]["results"] == 2


def test_a_folder_without_recordings_is_refused(agent, capsys):
    next((agent / ".adk/eval_history").iterdir()).unlink()
    assert main(["run", "--input", str(agent), "--output", str(agent.parent / "out")]) == 2
    assert "without a recording" in capsys.readouterr().err
    (agent / ".adk/eval_history").rmdir()
    (agent / ".adk").rmdir()
    (agent / "desk.evalset.json").rename(agent / "desk.test.json")
    assert main(["run", "--input", str(agent), "--output", str(agent.parent / "out")]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and f"run `adk eval {agent} {agent / 'desk.test.json'}` first" in err


def test_two_configs_are_refused_unless_one_is_named(agent, capsys):
    deep = agent / "deep"
    deep.mkdir()
    (deep / "other.evalset.json").write_text(json.dumps({**CASES, "eval_set_id": "other"}))
    (deep / "test_config.json").write_text('{"criteria": {"response_match_score": 0.9}}')
    assert main(["run", "--input", str(agent), "--output", str(agent.parent / "out")]) == 2
    assert "several configs" in capsys.readouterr().err
    assert run(agent, "--config", str(agent / "test_config.json"))[0] == 0


def test_an_ordinary_folder_stays_one(agent, capsys):
    (agent / "agent.py").unlink()
    (agent / ".adk/eval_history/app_desk_1.0.evalset_result.json").rename(agent / "log.json")
    (agent / ".adk/eval_history").rmdir()
    (agent / ".adk").rmdir()
    status, document = run(agent)
    (problem,) = document["problems"]
    assert document["counts"]["rejected_records"] == 2 and status == 1
    assert "more than half: see failures-*; --max_failure_ratio SHARE allows more" in problem
    capsys.readouterr()
