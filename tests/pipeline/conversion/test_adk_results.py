"""What `adk web` shows: eval results made of a run."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pydantic.alias_generators import to_camel

import turnwise
from turnwise.pipeline.cli.main import main

SCHEMAS = Path(__file__).parents[4] / "shared/reference/adk_json_schemas.json"
CALL = {"name": "book", "args": {"people": 2}}
OPEN = ("args", "response", "state", "final_session_state")


def turn(agent: str, response: str | None = "Done") -> dict[str, Any]:
    answers = [{"name": "book", "response": {"ok": True}}]
    expected = {"expected": {"response": response, "tool_calls": [CALL]}} if response else {}
    return {"user": "Book", "agent": agent, "tool_calls": [CALL], "tool_responses": answers, **expected}


def log(name: str, *turns: dict[str, Any]) -> dict[str, Any]:
    ids = {"conversation_id": name, "eval_id": f"e-{name}", "eval_set_id": "desk"}
    return {**ids, "app_version": "v1", "turns": list(turns)}


@pytest.fixture
def result(score_logs: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """Scores three conversations, and returns the eval result in the folder of the agent `waiter`."""
    logs = [
        log("good", turn("Done")),
        log("bad", turn("Done"), turn("Sorry, no")),
        log("open", turn("x", None)),
    ]
    criteria = {"response_match_score": 0.8, "tool_call_count_v1": {}, "agent_cost": {}}
    done = score_logs(logs, {"criteria": criteria})
    assert done.status == 0
    folder = tmp_path / "waiter/.adk/eval_history"
    folder.mkdir(parents=True)
    path = folder / "turnwise-1.evalset_result.json"
    capsys.readouterr()
    assert main(["convert", str(done.directory), str(path), "--to", "adk_eval_result"]) == 0
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def test_a_run_has_its_verdicts_scores_and_reasons(result):
    assert (result["eval_set_result_id"], result["eval_set_id"]) == ("turnwise-1", "desk")
    by_id = {case["eval_id"]: case for case in result["eval_case_results"]}
    statuses = {name: case["final_eval_status"] for name, case in by_id.items()}
    assert statuses == {"e-good": 1, "e-bad": 2, "open": 3}
    _, wrong = by_id["e-bad"]["eval_metric_result_per_invocation"]
    metrics = {metric["metric_name"]: metric for metric in wrong["eval_metric_results"]}
    failed, counted = metrics["response_match_score"], metrics["tool_call_count_v1"]
    assert (failed["score"], failed["threshold"], failed["eval_status"]) == (0.0, 0.8, 2)
    assert "Done" in failed["details"]["rubric_scores"][0]["rationale"]
    assert (counted["score"], counted["eval_status"]) == (1.0, 4)
    assert metrics["agent_cost"]["eval_status"] == 3, "without a score it does not even inform"
    assert wrong["expected_invocation"]["final_response"]["parts"] == [{"text": "Done"}]
    assert by_id["open"]["eval_metric_result_per_invocation"][0]["expected_invocation"] is None


def test_the_session_shows_what_was_said_and_called(result):
    session = result["eval_case_results"][0]["session_details"]
    parts = [part for event in session["events"] for part in event["content"]["parts"]]
    kinds = ["text", "function_call", "function_response", "text"]
    assert session["app_name"] == "waiter" and [next(iter(part)) for part in parts] == kinds


def test_the_result_is_read_back(result):
    read = {log.conversation_id: log for log in turnwise.read_conversations(result)}
    assert read.keys() == {"good", "bad", "open"} and read["good"].app_version == "v1"
    assert read["bad"].turns[1].expected is not None and read["bad"].turns[1].expected.response == "Done"
    assert read["good"].labels["final_eval_status"] == "PASSED"


@pytest.mark.skipif(not SCHEMAS.is_file(), reason="the shared schemas are not here")
def test_the_result_is_valid_by_the_schema_of_google_adk(result):
    jsonschema.validate(camel(result), json.loads(SCHEMAS.read_text())["EvalSetResult"])


def camel(value: Any) -> Any:
    if isinstance(value, list):
        return [camel(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {to_camel(key): item if key in OPEN else camel(item) for key, item in value.items()}
