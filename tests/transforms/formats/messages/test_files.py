"""Files of messages: sessions and snapshots in them, and values that no reader takes."""

import json

import pytest

from tests.readings import findings, read_file, read_value, turns
from turnwise import read_conversations

CALL = {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"}
USED = {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "f", "input": {}}]}
TOOL_USED = {"role": "assistant", "content": [{"toolUse": {"toolUseId": "1", "name": "f", "input": {}}}]}


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"messages": [USED, TOOL_USED]}, "several formats: anthropic_messages, bedrock_converse"),
        ({"input": [CALL, 7]}, "input.1: a JSON object is needed, not int"),
        ({"messages": [{"type": "ai", "tool_calls": {"name": "f"}}]}, "tool_calls: a JSON array"),
    ],
)
def test_a_value_of_the_wrong_type_is_a_failure(record, message):
    found = read_value(record)
    assert found.conversations == []
    assert message in found.failures[0].message


def test_a_cleared_session_is_two_conversations(tmp_path):
    def line(own, parent, kind, content, **more):
        message = {"role": kind, "content": content}
        return {"uuid": own, "parentUuid": parent, "sessionId": "s", "type": kind, "message": message, **more}

    lines = [
        {"type": "summary", "summary": "x", "leafUuid": "2"},
        line("1", None, "user", "Go"),
        line("2", "1", "assistant", [{"type": "text", "text": "Done"}]),
        line("3", None, "user", "<command-name>/clear</command-name>"),
        line("4", None, "user", "Caveat: these messages were generated", isMeta=True),
        line("5", "4", "user", "Hi"),
        line("6", "5", "assistant", [{"type": "text", "text": "Hello"}]),
    ]
    path = tmp_path / "session.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)) + "\n{broken\n")
    found = read_file(path)
    assert [c.conversation_id for c in found.conversations] == ["s", "s/2"]
    assert turns(found.conversations[1]) == [("Hi", [], [], "Hello")]
    assert [failure.position for failure in found.failures] == [8]


def snapshot(step, *texts, thread="t-1"):
    """Returns a snapshot of a thread, as get_state_history lists it."""
    messages = [{"type": "ai" if i % 2 else "human", "content": text} for i, text in enumerate(texts)]
    return {
        "values": {"messages": messages, "cart": ["A-17"]},
        "next": [],
        "config": {"configurable": {"thread_id": thread}} if thread else {},
        "metadata": {"source": "loop", "step": step},
        "created_at": f"2026-01-01T10:00:0{step}+00:00",
        "parent_config": None,
        "tasks": [],
    }


def test_snapshots_as_the_arrays_that_json_makes_of_named_tuples(tmp_path):
    said = ("Hi", "Hello", "Bye", "Ciao")
    two = [("Hi", [], [], "Hello"), ("Bye", [], [], "Ciao")]
    arrays = [list(snapshot(step, *said[:step]).values()) for step in (4, 2)]
    (tmp_path / "history.json").write_text(json.dumps(arrays))
    (tmp_path / "one.json").write_text(json.dumps(arrays[0]))
    (tmp_path / "lines.jsonl").write_text("".join(json.dumps(each) + "\n" for each in arrays))
    for path in tmp_path.iterdir():
        [found] = read_conversations(path)
        assert (found.conversation_id, turns(found), found.state) == ("t-1", two, {"cart": ["A-17"]})
        assert findings(found) == []
    nameless = [list(snapshot(step, *said[:step], thread="").values()) for step in (4, 2)]
    assert [turns(c) for c in read_conversations(nameless)] == [two]


def test_a_file_of_events_is_one_reply_without_its_request(tmp_path):
    events = [
        {"type": "message_start", "message": {"usage": {"input_tokens": 3, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Well."}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
    ]
    path = tmp_path / "stream.jsonl"
    path.write_text("\n".join(map(json.dumps, events)))
    [found] = read_file(path).conversations
    assert turns(found) == [(None, [], [], "Well.")]
    assert "MissingHistory" in findings(found)
