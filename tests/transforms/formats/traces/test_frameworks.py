"""What frameworks write beside the conventions: tools inside of model spans, arguments of functions."""

import json
from typing import Any

from msgspec.structs import replace

from tests.transforms.formats.traces.test_turns import (
    FIRST,
    ONE,
    T0,
    S,
    agent,
    asks,
    chat,
    joined,
    read,
    text,
    tool,
)
from turnwise.transforms.formats.traces.span import TraceSpan

ANSWER = text("assistant", "a1")


def test_calls_stand_in_the_order_in_which_they_ran_where_a_model_span_encloses_its_tools() -> None:
    outer = replace(chat("1", "b", 1, FIRST, asks("x", "spanish")), end=(T0 + 9) * S)
    inner = [tool("1", "c", 2, "spanish", "x", "b"), chat("1", "d", 3, FIRST, asks("y", "weather"), "c")]
    spans = [
        agent("1", 0),
        outer,
        *inner,
        tool("1", "e", 4, "weather", "y", "c"),
        chat("1", "f", 9, FIRST, ANSWER),
    ]
    assert [call.name for call in joined(spans).turns[0].tool_calls] == ["spanish", "weather"]


def test_words_that_differ_by_white_space_alone_are_said_once() -> None:
    top = agent("1", 0, gen_ai__output__messages=json.dumps([text("assistant", "a1 \n")]))
    (turn,) = joined([top, chat("1", "b", 1, FIRST, ANSWER)]).turns
    assert (turn.agent, turn.agent_messages) == ("a1", ["a1"])


def workflow(**given: Any) -> TraceSpan:
    held: dict[str, Any] = {"traceloop.span.kind": "workflow", "traceloop.entity.input": json.dumps(given)}
    return TraceSpan("1", "1a", "", "w.workflow", T0 * S, (T0 + 9) * S, held)


def test_the_only_text_that_a_workflow_is_given_is_the_users_message() -> None:
    prompt = [text("user", "Context: d. Question: q1")]
    for given in ({"args": ["q1"], "kwargs": {}}, {"args": [], "kwargs": {"question": "q1"}}):
        assert list(map(read, joined([workflow(**given), chat("1", "b", 1, prompt, ANSWER)]).turns)) == [ONE]
    several = joined([workflow(args=["q1", "model-x"], kwargs={}), chat("1", "b", 1, FIRST, ANSWER)])
    assert list(map(read, several.turns)) == [ONE]


def test_parts_of_one_reply_that_stand_in_messages_of_their_own_are_all_read() -> None:
    parts = [{**asks(name, name), "finish_reason": "tool_call"} for name in ("f", "g")]
    said = {
        "gen_ai.output.messages": json.dumps(
            [{**text("assistant", "Wait."), "finish_reason": "stop"}, *parts]
        )
    }
    one = chat("1", "b", 1, FIRST, None, "")
    (turn,) = joined([replace(one, attributes={**one.attributes, **said})]).turns
    assert [call.name for call in turn.tool_calls] == ["f", "g"] and "UnreadPart" not in str(turn.findings)


def test_what_langchain_wraps_around_arguments_and_results_is_left_out() -> None:
    message = {
        "lc": 1,
        "type": "constructor",
        "kwargs": {"content": "20", "type": "tool", "tool_call_id": "x"},
    }
    wrapped = {
        "gen_ai.tool.call.arguments": json.dumps({"input_str": "{}", "inputs": {"a": 1}, "kwargs": {}}),
        "gen_ai.tool.call.result": json.dumps({"output": message, "kwargs": {"name": "f"}}),
    }
    call = tool("1", "c", 3, "f", "x")
    (turn,) = joined([agent("1", 0), replace(call, attributes={**call.attributes, **wrapped})]).turns
    assert [(each.name, each.args) for each in turn.tool_calls] == [("f", {"a": 1})]
    assert [each.response for each in turn.tool_responses] == ["20"]
