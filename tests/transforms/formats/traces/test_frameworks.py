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
