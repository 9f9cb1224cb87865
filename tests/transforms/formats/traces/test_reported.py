"""Spans that were read wrongly once, and a part that no reader knows where a gate decides."""

import json
from pathlib import Path

import pytest

import turnwise
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


@pytest.mark.parametrize(
    "output", [{"type": "execution-denied"}, {"type": "execution-denied", "reason": "no"}]
)
def test_a_denied_call_of_vercel_failed(output):
    call = {"type": "tool-call", "toolCallId": "1", "toolName": "delete", "input": {"id": 1}}
    result = {"type": "tool-result", "toolCallId": "1", "toolName": "delete", "output": output}
    said = {"role": "assistant", "content": [{"type": "text", "text": "Done."}]}
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "Delete it"}]},
        {"role": "assistant", "content": [call]},
        {"role": "tool", "content": [result]},
        said,
    ]
    [conversation] = turnwise.read_conversations({"messages": messages, "trigger": "t", "messageId": "m"})
    [response] = conversation.turns[0].tool_responses
    assert response.error


START = 1760000000000000000
SPAN = {"trace_id": "0af7651916cd43dd8448eb211c8031aa", "span_id": "b7ad6b7169203301", "name": "chat m"}
CHAT = {"gen_ai.operation.name": "chat", "gen_ai.conversation.id": "c1"}


@pytest.mark.parametrize(
    ("last", "ended"),
    [
        ({"finish_reason": "length"}, "limit"),
        ({"finish_reason": "length", "message": '{"role": "assistant", "content": ""}'}, "limit"),
        ({"finish_reason": "length", "message": '{"role": "assistant", "parts": []}'}, "limit"),
        ({"finish_reason": "stop", "message": '{"role": "assistant", "content": ""}'}, "normally"),
    ],
)
def test_the_last_piece_of_a_streamed_reply_may_only_say_why_it_ended(last, ended):
    attributes = [
        ("gen_ai.user.message", {"role": "user", "content": "Hi"}),
        ("gen_ai.choice", {"index": 0, "message": '{"role": "assistant", "content": "Hello"}'}),
        ("gen_ai.choice", {"index": 0, **last}),
    ]
    events = [
        {"name": name, "timestamp": START + number, "attributes": held}
        for number, (name, held) in enumerate(attributes)
    ]
    times = {"start_time": START, "end_time": START + 10**9}
    [found] = turnwise.read_conversations({**SPAN, **times, "attributes": CHAT, "events": events})
    assert (found.turns[0].agent, found.ended) == ("Hello", ended)


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
