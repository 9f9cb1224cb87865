"""What only looks like a wrapper, a block, a double or a told result is read whole."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from tests.transforms.formats.traces.test_doubles import counted, spent
from tests.transforms.formats.traces.test_turns import FIRST, agent, asks, chat, joined, read, span, text
from turnwise.schemas.jsonio import JsonObject, JsonValue
from turnwise.transforms.formats.traces.calls import tool_result
from turnwise.transforms.formats.traces.message_parts import FURTHER_CHOICE, call_arguments, result_of
from turnwise.transforms.formats.traces.messages import read_messages
from turnwise.transforms.formats.traces.span import TraceSpan

ANSWER = text("assistant", "a1")


def ran(own: str, at: int, name: str, args: JsonObject, result: str) -> TraceSpan:
    held = {"name": name, "call__arguments": json.dumps(args), "call__result": result}
    keys = {f"gen_ai__tool__{key}": value for key, value in held.items()}
    return span("1", own, "a", at, 1, "execute_tool", **keys)


def with_keys(one: TraceSpan, **keys: Any) -> TraceSpan:
    return replace(one, attributes={**one.attributes, **{k.replace("__", "."): v for k, v in keys.items()}})


@pytest.mark.parametrize(
    "said",
    [
        '{"text": "Paris", "confidence": 0.9}',
        '{"type": "tool_use", "id": "1", "name": "rm", "input": {}}',
        '{"type": "card", "title": "Hi"}',
        '[{"text": "a", "start": 0}, {"text": "b", "start": 4}]',
    ],
)
def test_an_answer_in_json_is_no_block(said: str) -> None:
    (message,) = read_messages([{"role": "assistant", "content": said}], "assistant")
    assert (message.texts, message.calls, message.parts) == ([said], [], [])


def test_blocks_in_json_are_blocks() -> None:
    content = '[{"type": "text", "text": "a"}, {"type": "tool_use", "id": "1", "name": "f", "input": {}}]'
    (message,) = read_messages([{"role": "assistant", "content": content}], "assistant")
    assert (message.texts, [call.name for call in message.calls]) == (["a"], ["f"])


def test_what_an_output_repeats_of_its_input_is_no_answer() -> None:
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
def test_arguments_are_whole(given: JsonValue) -> None:
    assert call_arguments(given) == given


@pytest.mark.parametrize(
    "back",
    [
        {"name": "Bob", "response": "yes"},
        {"data": {"content": "x", "type": "tool"}, "total": 3},
        {"output": {"content": "x", "tool_call_id": "z"}, "cost": 3},
    ],
)
def test_results_are_whole(back: JsonValue) -> None:
    assert tool_result(back) == (back, None)


@pytest.mark.parametrize(("kind", "kept"), [("text", 3), ("x", {"type": "x", "value": 3})])
def test_only_typed_values_are_unwrapped(kind: str, kept: JsonValue) -> None:
    assert result_of({"result": {"type": kind, "value": 3}}).response == kept


def test_several_models_that_answer_alike_are_several() -> None:
    """An ensemble is asked one after the other."""
    one = counted(chat("1", "b", 1, FIRST, ANSWER), "openai")
    other = {"gen_ai.request.model": "claude", "gen_ai.usage.input_tokens": 33}
    two = counted(chat("1", "c", 5, FIRST, ANSWER), "anthropic", **other)
    assert spent(joined([agent("1", 0), one, two])) == [(2, 43)]


def test_writers_differ_in_the_message_of_the_system() -> None:
    given = (FIRST, FIRST[1:])
    spans = [
        counted(chat("1", scope, 1, each, ANSWER), scope) for scope, each in zip("xy", given, strict=True)
    ]
    assert spent(joined([agent("1", 0), *spans])) == [(1, 10)]


def test_many_calls_at_one_time_of_two_writers() -> None:
    said = [text("assistant", f"a{number}") for number in range(6)]
    spans = [
        counted(chat("1", f"{scope}{number}", 1, FIRST, each), scope)
        for scope in ("x", "y")
        for number, each in enumerate(said)
    ]
    assert spent(joined([agent("1", 0), *spans])) == [(6, 60)]


@pytest.mark.parametrize("again", ["ok, and 20 more", "20", "ok"])
def test_a_user_may_say_what_a_tool_returned(again: str) -> None:
    history = [text("user", "q1"), text("assistant", "It is set.")]
    spans: list[Any] = [
        chat("1", "b", 1, FIRST, asks("x", "f")),
        ran("t", 2, "f", {"a": 1}, "20" if again == "20" else "ok"),
        chat("1", "c", 3, [*FIRST, asks("x", "f")], text("assistant", "It is set.")),
        chat("1", "d", 5, [*history, text("user", again)], text("assistant", "Done.")),
    ]
    found = joined([agent("1", 0), *spans])
    assert [turn.user for turn in found.turns] == ["q1", again]


def test_a_call_that_is_asked_for_and_not_stated_is_not_the_one_that_ran_before() -> None:
    asking = chat("1", "b", 5, FIRST, text("assistant", "Let me see."))
    spans = [
        agent("1", 0),
        ran("t", 1, "load_profile", {}, "x"),
        with_keys(asking, gen_ai__response__finish_reasons=["tool_calls"]),
        chat("1", "c", 8, FIRST, ANSWER),
    ]
    (turn,) = joined(spans).turns
    assert turn.unknown_calls is not None


def test_tools_without_ids_belong_to_the_calls_whose_arguments_they_hold() -> None:
    parts = [
        {"type": "tool_call", "id": own, "name": "get", "arguments": {"city": own}} for own in ("A", "B")
    ]
    tools = [
        ran("t2", 2, "get", {"city": "B", "unit": "C"}, "hot"),
        ran("t1", 3, "get", {"city": "A", "unit": "C"}, "cold"),
    ]
    asking = chat("1", "b", 1, FIRST, {"role": "assistant", "parts": parts})
    (turn,) = joined([agent("1", 0), asking, *tools]).turns
    assert sorted((each.id, each.response) for each in turn.tool_responses) == [("A", "cold"), ("B", "hot")]


def test_a_wrapper_whose_output_repeats_the_request_is_the_call_below_it() -> None:
    repeated = json.dumps([*FIRST, ANSWER])
    outer = with_keys(chat("1", "b", 1, FIRST, None), gen_ai__output__messages=repeated)
    inner = chat("1", "c", 2, FIRST, ANSWER, "b")
    assert list(map(read, joined([agent("1", 0), outer, inner]).turns)) == [("q1", [], "a1")]


SERVICE = [
    {"type": "text", "text": "Let me search."},
    {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}},
    {"type": "web_search_tool_result", "tool_use_id": "s1", "content": "found"},
    {"type": "text", "text": "Found it."},
]


def test_a_reply_goes_on_after_a_tool_that_the_service_ran() -> None:
    reply = json.dumps([{"role": "assistant", "content": SERVICE}])
    one = with_keys(chat("1", "b", 1, FIRST, None), gen_ai__output__messages=reply)
    (turn,) = joined([agent("1", 0), one]).turns
    assert (turn.agent, turn.agent_messages) == ("Found it.", ["Let me search.", "Found it."])
    assert [(each.name, each.id, each.response) for each in turn.tool_responses] == [
        ("web_search", "s1", "found")
    ]


@pytest.mark.parametrize("key", ["choices", "candidates"])
def test_of_alternatives_the_first_is_read_and_the_others_are_told(key: str) -> None:
    replies = [{"message": {"role": "assistant", "content": each}} for each in ("A", "B")]
    system, message = read_messages({key: replies, "system": "Be brief."}, "assistant")
    assert (system.texts, message.texts, message.parts) == (["Be brief."], ["A"], [FURTHER_CHOICE])


def test_a_tool_may_call_itself() -> None:
    inner = replace(ran("u", 2, "f", {"n": 1}, "1"), parent="1t")
    outer = replace(ran("t", 1, "f", {"n": 2}, "2"), end=inner.end)
    (turn,) = joined([agent("1", 0), outer, inner]).turns
    assert [call.args for call in turn.tool_calls] == [{"n": 2}, {"n": 1}]


def test_arguments_are_json_once_or_twice() -> None:
    twice = json.dumps(json.dumps({"a": "007"}))
    part = {"type": "tool_call", "id": "x", "name": "f", "arguments": twice}
    asking = chat("1", "b", 1, FIRST, {"role": "assistant", "parts": [part]})
    (turn,) = joined([agent("1", 0), asking]).turns
    assert [call.args for call in turn.tool_calls] == [{"a": "007"}]


def test_a_further_attempt_is_none_of_a_call_that_is_asked_for_later() -> None:
    failed = replace(ran("t", 2, "f", {"a": 1}, ""), error=True)
    failed = replace(failed, attributes={k: v for k, v in failed.attributes.items() if "result" not in k})
    spans = [
        agent("1", 0),
        chat("1", "b", 1, FIRST, asks("c0", "f")),
        failed,
        ran("u", 3, "f", {"a": 1}, "r0"),
        chat("1", "c", 4, FIRST, asks("c1", "f")),
        ran("v", 5, "f", {"a": 1}, "r1"),
    ]
    (turn,) = joined(spans).turns
    assert {each.id: each.response for each in turn.tool_responses} == {"c0": "r0", "c1": "r1"}


@pytest.mark.parametrize(
    ("given", "args"), [({"input": "abc"}, {"input": "abc"}), ({"input": {"q": 1}}, {"q": 1})]
)
def test_an_argument_may_be_called_input(given: JsonObject, args: JsonObject) -> None:
    held = {"langfuse.observation.type": "tool", "langfuse.observation.input": json.dumps(given)}
    (turn,) = joined([agent("1", 0), replace(span("1", "t", "a", 1, 1, "search"), attributes=held)]).turns
    assert [call.args for call in turn.tool_calls] == [args]


def test_a_provider_of_the_vercel_ai_sdk_may_run_a_tool() -> None:
    call = {"toolCallId": "w1", "toolName": "search", "input": {"q": "x"}, "providerExecuted": True}
    (message,) = read_messages([call], "assistant")
    assert [(each.name, each.is_hosted) for each in message.calls] == [("search", True)]


@pytest.mark.parametrize("number", [2, 4])
def test_texts_that_may_be_alternatives_leave_the_words_unknown(number: int) -> None:
    held: JsonObject = {"openinference.span.kind": "LLM"}
    for place in range(number):
        key = f"llm.output_messages.{place}.message"
        held |= {f"{key}.role": "assistant", f"{key}.content": f"A{place}."}
    (turn,) = joined([agent("1", 0), replace(span("1", "b", "a", 1, 1, "chat"), attributes=held)]).turns
    assert turn.unknown_words is not None
