"""Results and marks of failure that stand inside the calls of a log."""

import json

import pytest

import turnwise
from turnwise.schemas.conversation import Record
from turnwise.transforms.effects.failures import has_failed
from turnwise.transforms.formats.canonical import joined_conversation, read_conversation
from turnwise.transforms.formats.messages.anthropic import read_messages as read_anthropic
from turnwise.transforms.formats.messages.bedrock import BEDROCK
from turnwise.transforms.formats.messages.dialogue import Dialogue
from turnwise.transforms.formats.messages.langchain import read_messages as read_langchain
from turnwise.transforms.formats.messages.openai_responses import read_items
from turnwise.transforms.formats.paths import read_messages
from turnwise.transforms.formats.reading import LogReader
from turnwise.transforms.matching.calls import pair_responses

OWN = [
    ({"error": "down"}, None, "down"),
    ({"result": {"error": "down"}, "error": "down", "status": "error"}, {"error": "down"}, "down"),
    ({"result": {"error": "down"}}, {"error": "down"}, None),
    ({"output": "Error: down"}, "Error: down", None),
    ({"response": '{"success": false}'}, {"success": False}, None),
    ({"content": "Error: down"}, "Error: down", None),
    ({"tool_result": "Error: down"}, "Error: down", None),
    ({"is_error": True}, None, True),
    ({"isError": True}, None, True),
    ({"success": False}, None, True),
    ({"status": "failed"}, None, True),
]
NONE = [{}, {"result": None, "error": None}, {"status": "completed"}, {"success": True}]


def turn_of(calls, responses=()):
    turn = {"user": "q", "agent": "a", "tool_calls": calls, "tool_responses": list(responses)}
    return read_conversation(json.dumps({"conversation_id": "c", "turns": [turn]}).encode()).turns[0]


def call_of(own, **fields):
    return {"name": "f", "args": {"x": 1}, **own, **fields}


def of_canonical(own):
    return turn_of([call_of(own)])


def of_users_call(own):
    turn = {"user": "q", "agent": "a", "user_tool_calls": [call_of(own)]}
    found = read_conversation(json.dumps({"conversation_id": "c", "turns": [turn]}).encode()).turns[0]
    found.tool_calls, found.tool_responses = found.user_tool_calls, found.user_tool_responses
    return found


def of_event(own):
    turn = {"user": "q", "agent": "a", "tool_calls": [call_of(own)]}
    return joined_conversation("c", [{"conversation_id": "c", "turn_index": 0, "turn": turn}]).turns[0]


def of_mapping(own):
    record = {"id": "c", "said": [{"user": "q", "agent": "a", "tool_calls": [call_of(own)]}]}
    mapping = {"conversation_id": "id", "turns": "said"}
    return turnwise.read_conversations([record], config={"mapping": mapping})[0].turns[0]


def messages_of(own, is_nested=False):
    inner = {"name": "f", "arguments": '{"x": 1}'}
    call = {"id": "1", "type": "function", "function": {**inner, **own}}
    made = call if is_nested else {**call, "function": inner, **own}
    said = {"role": "assistant", "content": None, "tool_calls": [made]}
    return [{"role": "user", "content": "q"}, said, {"role": "assistant", "content": "a"}]


def of_chat(own):
    data = json.dumps({"conversation_id": "c", "messages": messages_of(own)}).encode()
    return LogReader().read(Record("f", 1, data))[0].turns[0]


def of_nested(own):
    data = json.dumps({"conversation_id": "c", "messages": messages_of(own, True)}).encode()
    return LogReader().read(Record("f", 1, data))[0].turns[0]


def of_older_call(own):
    said = {"role": "assistant", "content": "a", "function_call": {"name": "f", "arguments": "{}", **own}}
    data = json.dumps({"conversation_id": "c", "messages": [{"role": "user", "content": "q"}, said]}).encode()
    return LogReader().read(Record("f", 1, data))[0].turns[0]


def of_completions(own):
    return of_messages(read_messages, *messages_of(own))


def of_langchain(own):
    said = {"type": "ai", "content": "", "tool_calls": [call_of(own, id="1")]}
    return of_messages(
        read_langchain, {"type": "human", "content": "q"}, said, {"type": "ai", "content": "a"}
    )


def of_messages(read, *messages):
    log = Dialogue()
    read([*messages], log)
    return log.close(log.end({}))[0]


def of_anthropic(own):
    call = {"type": "tool_use", "id": "1", "name": "f", "input": {"x": 1}, **own}
    last = {"type": "text", "text": "a"}
    return of_messages(
        read_anthropic, {"role": "user", "content": "q"}, {"role": "assistant", "content": [call, last]}
    )


def of_bedrock(own):
    call = {"toolUse": {"toolUseId": "1", "name": "f", "input": {"x": 1}, **own}}
    said = {"role": "assistant", "content": [call, {"text": "a"}]}
    return of_messages(BEDROCK.read, {"role": "user", "content": [{"text": "q"}]}, said)


def of_responses(own):
    call = {"type": "function_call", "call_id": "1", "name": "f", "arguments": '{"x": 1}', **own}
    return of_messages(
        read_items, {"role": "user", "content": "q"}, call, {"role": "assistant", "content": "a"}
    )


def of_custom_call(own):
    call = {"type": "custom_tool_call", "call_id": "1", "name": "f", "input": "x", **own}
    return of_messages(
        read_items, {"role": "user", "content": "q"}, call, {"role": "assistant", "content": "a"}
    )


FORMATS = [
    *(of_canonical, of_users_call, of_event, of_mapping, of_chat, of_nested, of_completions, of_langchain),
    *(of_anthropic, of_bedrock, of_responses, of_custom_call),
]


@pytest.mark.parametrize("read", FORMATS)
@pytest.mark.parametrize(("own", "response", "error"), OWN)
def test_a_call_that_no_response_answers_has_its_own_result(read, own, response, error):
    turn = read(own)
    [found] = pair_responses(turn.tool_calls, turn.tool_responses)
    assert (found.response, found.error) == (response, error)
    assert has_failed(found)
    assert turn.unknown_calls is None


@pytest.mark.parametrize("read", FORMATS)
@pytest.mark.parametrize("own", NONE)
def test_a_call_without_a_result_stays_unanswered(read, own):
    turn = read(own)
    assert (turn.tool_responses, turn.findings) == ([], [])


def test_the_older_function_call():
    turn = of_older_call({"error": "down"})
    assert [(made.name, made.error) for made in turn.tool_responses] == [("f", "down")]
    assert turn.findings == []


def test_a_call_without_arguments_has_its_own_result_and_no_finding():
    turn = turn_of([{"name": "f", "result": {"a": 1}, "error": None}])
    assert [made.response for made in turn.tool_responses] == [{"a": 1}]
    assert turn.findings == []


OK = {"name": "f", "response": {"ok": True}}


@pytest.mark.parametrize(
    ("calls", "responses", "wanted", "said"),
    [
        ([call_of({"error": "down"})], [OK], [({"ok": True}, "down")], None),
        ([call_of({"result": '{"ok": true}'})], [OK], [({"ok": True}, None)], None),
        (
            [call_of({"result": {"error": "down"}})],
            [OK],
            [({"ok": True}, None)],
            "the call 'f' holds another result than its tool response",
        ),
        (
            [call_of({}, id="1"), call_of({"error": "down"}, id="2")],
            [{**OK, "id": "1"}],
            [({"ok": True}, None), (None, "down")],
            None,
        ),
        ([call_of({"result": 1}), call_of({"error": "down"})], [], [(1, None), (None, "down")], None),
        (
            [call_of({}), call_of({"error": "down"})],
            [],
            [(None, "down")],
            "calls hold results and have no ids: nothing says which call a result is of",
        ),
    ],
)
def test_own_results_beside_responses(calls, responses, wanted, said):
    turn = turn_of(calls, responses)
    assert [(made.response, made.error) for made in turn.tool_responses] == wanted
    assert turn.unknown_calls == said
    assert [problem.message for problem in turn.findings] == ([said] if said else [])


def test_a_chat_that_stops_at_a_call_with_its_own_result_has_no_open_call():
    data = json.dumps({"conversation_id": "c", "messages": messages_of({"result": "done"})[:2]}).encode()
    assert LogReader().read(Record("f", 1, data))[0].turns[0].findings == []
