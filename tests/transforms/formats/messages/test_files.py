"""Files of messages: a session that was cleared, and the events of a reply."""

import json

from tests.readings import findings, read_file, turns


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
