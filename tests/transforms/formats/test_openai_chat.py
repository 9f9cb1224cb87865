import json

import pytest

from tests.readings import read_value
from turnwise.schemas.conversation import ToolCall
from turnwise.transforms.formats.chat import chat_conversation


def user(content, **fields):
    return {"role": "user", "content": content, **fields}


def agent(content=None, *calls, **fields):
    made = [
        {"id": i, "type": "function", "function": {"name": n, "arguments": json.dumps(a)}}
        for i, n, a in calls
    ]
    return {"role": "assistant", "content": content, **({"tool_calls": made} if made else {}), **fields}


def tool(call_id, content, **fields):
    return {"role": "tool", "tool_call_id": call_id, "content": content, **fields}


def turns(*messages):
    return chat_conversation({"messages": list(messages)}, "here").turns


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([{"role": "system", "content": "be nice"}, {"role": "developer", "content": "now"}], []),
        ([user("hi"), agent("hello"), user("bye")], [("hi", "hello"), ("bye", "")]),
        ([user("hi"), user("there"), agent("hello")], [("hi", ""), ("there", "hello")]),
        ([agent("welcome"), user("hi"), agent("hello")], [(None, "welcome"), ("hi", "hello")]),
        ([user("hi"), {"role": "Booking Desk", "content": "hello"}], [("hi", "hello")]),
        ([user([{"type": "text", "text": "a"}, {"type": "image_url"}, "b"]), agent([])], [("a\nb", "")]),
        ([user(None), agent(None, refusal="No.")], [("", "No.")]),
    ],
)
def test_turns(messages, words):
    assert [(turn.user, turn.agent) for turn in turns(*messages)] == words


@pytest.mark.parametrize(
    ("content", "response"),
    [
        ("00123", "00123"),
        ("[1, NaN]", "[1, NaN]"),
        ("{broken", "{broken"),
        (' {"a": 1}', {"a": 1}),
        ([{"type": "text", "text": '{"a": 1}'}], {"a": 1}),
    ],
)
def test_tool_contents(content, response):
    (turn,) = turns(agent(None, ("1", "a", {})), tool("1", content))
    assert turn.tool_responses[0].response == response


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        ({"function": {"name": "a", "arguments": "{broken"}}, {"raw": "{broken"}),
        ({"function": {"name": "a", "arguments": ""}}, {}),
        ({"function": {"name": "a"}}, None),
        ({"name": "a", "arguments": {"x": 1}}, {"x": 1}),
    ],
)
def test_call_spellings(call, arguments):
    (turn,) = turns({"role": "assistant", "tool_calls": [call]})
    assert turn.tool_calls == [ToolCall(name="a", args=arguments)]


@pytest.mark.parametrize(
    ("record", "name"),
    [
        ({"messages": []}, "here"),
        ({"messages": [], "id": "chatcmpl", "conversation_id": "c"}, "c"),
        ({"traj": [], "task_id": 3, "trial": 1}, "3-1"),
        ({"traj": [], "task_id": 3}, "3"),
    ],
)
def test_names(record, name):
    assert chat_conversation(record, "here").conversation_id == name


@pytest.mark.parametrize("record", [{}, {"messages": [1]}, "x", {"messages": [user("a", tool_calls=[1])]}])
def test_refused(record):
    with pytest.raises(ValueError, match=r"^not a chat: "):
        chat_conversation(record, "here")


def test_a_request_without_its_answer_tells_nothing_of_the_agent():
    request = [{"role": "system", "content": "s"}, {"role": "user", "content": "delete it"}]
    (turn,) = chat_conversation({"messages": request}, "c").turns
    assert (turn.unknown_calls, turn.unknown_words) == (turn.findings[0].message,) * 2
    assert "not in the log" in turn.unknown_calls
    answered = [*request, {"role": "assistant", "content": ""}, {"role": "user", "content": "bye"}]
    assert [turn.findings for turn in chat_conversation({"messages": answered}, "c").turns] == [[], []]


def rows(*ids, column, **more):
    return [{column: name, "role": "user", "content": "Hi", **more} for name in ids]


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        (rows("a", "b", column="conversation_id"), "2 conversations ('a', 'b'), by 'conversation_id'"),
        (rows(1, 1, 2, 3, column="SessionId"), "3 conversations ('1', '2', ...), by 'SessionId'"),
        (rows("a", "b", column="thread_key", parts=[{"type": "text", "text": "Hi"}]), "by 'thread_key'"),
        (rows("a", "a", column="conversation_id"), None),
        (rows("a", None, column="conversation_id"), None),
        (rows("a", "b", column="run_id"), None),
    ],
)
def test_rows_of_several_conversations_are_not_read_as_one(messages, said):
    for name in ("auto", "vercel_messages" if "parts" in messages[0] else "openai_chat"):
        found = read_value(messages, input_format=name)
        assert len(found.conversations) == (said is None)
        assert all(said in each.message and "mapping" in each.message for each in found.failures)
