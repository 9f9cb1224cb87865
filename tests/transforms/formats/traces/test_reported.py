"""Spans that were read wrongly once, and a part that no reader knows where a gate decides."""

import json
from pathlib import Path

import pytest

from tests.readings import read_value, turns
from turnwise.pipeline.cli.main import main
from turnwise.pipeline.runs.directory import open_run

REPORTED = Path(__file__).parents[5] / "shared/fixtures/reported"
ORDERS = ("Where are my orders?", ("get_orders", {"account": "888"}), ("get_orders", [{"order_id": "123"}]))
PLACE = ("Where is order 5?", ("find_order", {"id": 5}), ("find_order", "Bonn"))


@pytest.mark.skipif(not REPORTED.exists(), reason="no shared fixtures")
@pytest.mark.parametrize(
    ("name", "wanted", "said"),
    [
        ("span_autogen", PLACE, "It is in Bonn."),
        ("span_azure", ORDERS, "You have one order, 123."),
        ("span_pydantic", PLACE, "It is in Bonn."),
    ],
)
def test_the_reported_spans(name, wanted, said):
    found = read_value(*json.loads((REPORTED / f"reading/{name}.json").read_text()))
    [(user, [call], [response], agent)] = turns(found.conversations[0])
    assert ((user, call, response), agent) == (wanted, said)


@pytest.mark.skipif(not REPORTED.exists(), reason="no shared fixtures")
def test_a_gate_ends_alike_whether_a_destructive_call_can_be_read_or_not(tmp_path):
    faults = REPORTED / "faults"
    for name in ("history_known", "history_unknown"):
        given = ["--input", f"{faults}/{name}/a.json", "--config", f"{faults}/g.json"]
        assert main(["run", *given, "--output", str(tmp_path / name)]) == 1


@pytest.mark.parametrize("is_traced", [True, False])
def test_an_agent_that_is_called_as_a_tool_is_of_its_callers_conversation(tmp_path, is_traced):
    rows = json.loads((Path(__file__).parent / "agent_tool.json").read_text())
    for row in rows:
        # Without OpenTelemetry, each invocation has a trace of its own.
        row["trace_id"] = (
            row["trace_id"] if is_traced else ("a" if row["session_id"] == "inner" else "b") * 32
        )
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(map(json.dumps, reversed(rows))))
    assert main(["run", "--input", str(path), "--judge", "none", "--output", str(tmp_path / "out")]) == 0
    found = {row["conversation_id"]: row for row in open_run(str(tmp_path / "out")).conversations()}
    calls = [
        (call["name"], call.get("inside"), call["result"] is not None)
        for call in found["S1"]["transcript"]["turns"][0]["tool_calls"]
    ]
    outer, inner = (
        [("order_cake", None, True), ("music_agent", None, True)],
        ("find_band", "music_agent", True),
    )
    assert calls == ([*outer, inner] if is_traced else outer)
    assert found.keys() == ({"S1"} if is_traced else {"S1", "inner"})
    assert {row["unknown_calls"] for row in found.values()} == {None}
