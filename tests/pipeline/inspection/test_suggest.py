"""`turnwise inspect --suggest` proposes a mapping that reads."""

import json
from typing import Any

import pytest

import turnwise
from turnwise.pipeline.cli.main import main

FAILED: tuple[dict[str, Any], ...] = (
    {"error": "denied"},
    {"status": "failed"},
    {"success": False},
    {"ret": {"error": "not allowed"}},
)


@pytest.mark.parametrize("end", FAILED)
@pytest.mark.parametrize("is_proposed", [True, False])
def test_a_failed_call_never_passes_through_a_mapping(end, is_proposed, tmp_path, capsys):
    call = {"name": "cancel", "params": {"id": 5}, **end}
    lines = [("customer", "Cancel 5", {}), ("bot", "One moment", {"fn": call}), ("bot", "Cancelled.", {})]
    log = [{"who": who, "text": text, **more} for who, text, more in lines]
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps({"sid": "a1", "eid": "e", "log": log}))
    assert main(["inspect", str(path), "--suggest"]) == 0
    mapping = json.loads(capsys.readouterr().out)["mapping"]
    if not is_proposed:
        role = "who == 'customer' && 'user' || 'assistant'"
        calls = "tool_calls: [fn][*].{name: name, args: params}"
        mapping["messages"] = f"log[*].{{role: {role}, content: text, {calls}}}"
    config = {"criteria": {"tool_effects_v1": 1.0}, "mapping": {**mapping, "eval_id": "eid"}}
    case = {
        "eval_id": "e",
        "turns": [{"user": "Cancel 5", "tool_calls": [{"name": "cancel", "args": {"id": 5}}]}],
    }
    result = turnwise.evaluate(str(path), config=config, cases=[case])
    assert result.status != "PASS"
    if not is_proposed:
        (key,) = end
        assert any(f"fn.{key}" in row["message"] for row in result.failures)
