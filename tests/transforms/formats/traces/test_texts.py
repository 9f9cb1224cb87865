"""Which texts of spans are words, and which are objects, blocks, cut off, or another's: what only looks alike stays whole."""
# ruff: noqa: E501

from typing import Any

import pytest

import turnwise
from turnwise.transforms.formats.messages.parts import FURTHER_CHOICE, call_arguments, result_of
from turnwise.transforms.formats.messages.spellings import read_messages
from turnwise.transforms.formats.traces.calls import tool_result
from turnwise.transforms.formats.traces.span import is_cut

OBJECTS = (
    "ChatMessage(role=<MessageRole.USER: 'user'>, additional_kwargs={}, blocks=[TextBlock(block_type='text', text='q')])",
    "<async_generator object llm_chat.<locals>.wrapped at 0x7f56c47890e0>",
    "<TextNode(id_=d1b7c545)>",
    "StopEvent(result=AgentOutput(response=ChatMessage(role=<Mess...",
    "id='4f' source='user' models_usage=None content='q' type='TextMessage'",
)
WORDS = (
    "Refund(order=7) is what I called.",
    *("Point(x=1, y=2) or Point(1, 2), which is right?", "<User object at 0x7f> is printed, what do I do?"),
    *("name='Bob' age=3 is my data, save it", "<vector(3)> type, what is it?", "Point(x=1, y=2) fails, why?"),
    *("Is f(x=1) right?", "<b>Hello</b>", "x='1'", "Rome (pop=3)", "<think> I object </think>", "F(x) = 2"),
)


@pytest.mark.parametrize("said", OBJECTS)
def test_an_object_of_a_program_is_nobodys_words(said):
    (message,) = read_messages(said, "user")
    assert (message.texts, message.is_users, len(message.parts)) == ([], True, 1)


@pytest.mark.parametrize("said", WORDS)
def test_words_that_look_a_little_like_an_object_are_words(said):
    assert [message.texts for message in read_messages(said, "user")] == [[said]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 1}', False),
        ('{"a": 1', True),
        (' [{"a": "b', True),
        ('[{"a": "b...', True),
        ('{"a": "b" ... [truncated 17 characters]', True),
        ("{'a': 'it", True),
        ("{'a': 'b'}", False),
        ('["a", "b"] in order?', False),
        ("[note", False),
        ("[", False),
        ("{not json}", False),
        ('{"a": b}', False),
        ("", False),
    ],
)
def test_only_what_is_not_closed_is_cut(text, expected):
    assert is_cut(text) is expected


@pytest.mark.parametrize(
    "said",
    [
        '{"text": "Paris", "confidence": 0.9}',
        '{"type": "tool_use", "id": "1", "name": "rm", "input": {}}',
        '{"type": "card", "title": "Hi"}',
        '[{"text": "a", "start": 0}, {"text": "b", "start": 4}]',
    ],
)
def test_an_answer_in_json_is_no_block(said):
    (message,) = read_messages([{"role": "assistant", "content": said}], "assistant")
    assert (message.texts, message.calls, message.parts) == ([said], [], [])


def test_blocks_in_json_are_blocks():
    content = '[{"type": "text", "text": "a"}, {"type": "tool_use", "id": "1", "name": "f", "input": {}}]'
    (message,) = read_messages([{"role": "assistant", "content": content}], "assistant")
    assert (message.texts, [call.name for call in message.calls]) == (["a"], ["f"])


def test_what_an_output_repeats_of_its_input_is_no_answer():
    assert read_messages({"query": "select 1", "limit": 5}, "assistant") == []
    (message,) = read_messages({"input": "q", "chat_history": [], "text": "a"}, "assistant")
    assert message.texts == ["a"]


@pytest.mark.parametrize(
    "given",
    [
        {"inputs": {"prompt": "a"}, "version": "v1"},
        {"input_str": "a", "n": 3},
        {"calling": {"arguments": {"a": 1}}, "x": 2},
    ],
)
def test_arguments_are_whole(given):
    assert call_arguments(given) == given


@pytest.mark.parametrize(
    "back",
    [
        {"name": "Bob", "response": "yes"},
        {"data": {"content": "x", "type": "tool"}, "total": 3},
        {"output": {"content": "x", "tool_call_id": "z"}, "cost": 3},
    ],
)
def test_results_are_whole(back):
    assert tool_result(back) == (back, None)


@pytest.mark.parametrize(("kind", "kept"), [("text", 3), ("x", {"type": "x", "value": 3})])
def test_only_typed_values_are_unwrapped(kind, kept):
    assert result_of({"result": {"type": kind, "value": 3}}).response == kept


@pytest.mark.parametrize("key", ["choices", "candidates"])
def test_of_alternatives_the_first_is_read_and_the_others_are_told(key):
    replies = [{"message": {"role": "assistant", "content": each}} for each in ("A", "B")]
    system, message = read_messages({key: replies, "system": "Be brief."}, "assistant")
    assert (system.texts, message.texts, message.parts) == (["Be brief."], ["A"], [FURTHER_CHOICE])


def test_a_provider_of_the_vercel_ai_sdk_may_run_a_tool():
    call = {"toolCallId": "w1", "toolName": "search", "input": {"q": "x"}, "providerExecuted": True}
    (message,) = read_messages([call], "assistant")
    assert [(each.name, each.is_hosted) for each in message.calls] == [("search", True)]


def test_a_pair_of_a_role_and_a_text_is_a_message():
    found = read_messages({"messages": [["user", "q1"], ["assistant", "a1"]]}, "user")
    assert [(each.role, each.texts) for each in found] == [("user", ["q1"]), ("assistant", ["a1"])]
    assert [each.texts for each in read_messages(["user", "name", "q1"], "user")] == [["user", "name", "q1"]]


def test_a_trace_at_the_edge_of_a_page_of_langfuse_may_go_on():
    def row(own: str, trace: str, second: int) -> dict[str, Any]:
        times = {"startTime": f"2026-01-01T00:00:0{second}Z", "endTime": f"2026-01-01T00:00:0{second + 1}Z"}
        given = {
            "input": [{"role": "user", "content": "hi"}],
            "output": {"role": "assistant", "content": "yo"},
        }
        about = {"id": own, "traceId": trace, "type": "GENERATION", "name": "n", "parentObservationId": None}
        return about | times | given

    first = {"data": [row("o1", "t1", 1), row("o2", "t2", 1)], "meta": {"page": 1, "totalPages": 2}}
    second = {"data": [row("o3", "t2", 3), row("o4", "t3", 5)], "meta": {"page": 2, "totalPages": 2}}
    found = turnwise.read_conversations([first, second])
    assert all(not turn.findings for each in found for turn in each.turns)
    found = turnwise.read_conversations([first])
    kinds = {each.conversation_id: [finding.kind for finding in each.turns[0].findings] for each in found}
    assert kinds == {"t1": [], "t2": ["MissingSpan"]}
