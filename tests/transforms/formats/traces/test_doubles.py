"""Calls that two writers, or two spans of one, record: each counts once, whichever stands beside or below the other."""
# ruff: noqa: E501

import json
from typing import Any

import pytest
from msgspec.structs import replace

from tests.transforms.formats.traces.test_turns import (
    CALLED,
    FIRST,
    ONE_CALL,
    T0,
    S,
    agent,
    asks,
    chat,
    joined,
    read,
    span,
    text,
)
from turnwise.schemas.conversation import Conversation
from turnwise.transforms.formats.traces.span import TraceSpan

ANSWER = text("assistant", "a1")
TOKENS = {"gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 5}


def counted(one: TraceSpan, scope: str, **held: Any) -> TraceSpan:
    return replace(one, scope=scope, attributes={**one.attributes, **TOKENS, **held})


def spent(conversation: Conversation) -> list[tuple[int | None, int | None]]:
    return [(turn.inference_calls, turn.usage and turn.usage.input_tokens) for turn in conversation.turns]


def test_model_calls_of_two_writers_beside_each_other_are_one() -> None:
    spans = [agent("1", 0)]
    for place, (given, said) in enumerate(((FIRST, asks("x", "f")), (CALLED, ANSWER))):
        # The span of a framework ends when its stream begins, the span of the client begins then.
        spans += [
            counted(chat("1", f"b{place}", 1 + 4 * place, given, said), "framework"),
            counted(chat("1", f"c{place}", 3 + 4 * place, given, said), "client"),
        ]
    found = joined(spans)
    assert list(map(read, found.turns)) == [ONE_CALL] and spent(found) == [(2, 20)]


def test_a_client_without_content_that_runs_at_the_time_of_a_model_call_records_that_call() -> None:
    calls = [counted(chat("1", own, 1, FIRST, text("assistant", own)), "framework") for own in ("b", "c")]
    bare = [counted(chat("1", own, 1, None, None), "client") for own in ("d", "e", "f")]
    assert spent(joined([agent("1", 0), *calls, *bare[:2]])) == [(2, 20)]
    assert spent(joined([agent("1", 0), *calls, *bare])) == [(3, 30)]


@pytest.mark.parametrize(
    ("ids", "given", "calls"),
    [
        ((None, None), (FIRST, FIRST), 1),
        (("r1", "r1"), (FIRST, FIRST), 1),
        (("r1", None), (FIRST, FIRST), 1),
        (("r1", "r2"), (FIRST, FIRST), 2),
        # A gateway that gives every reply one id: two requests, one after the other, are two calls.
        (("r1", "r1"), (FIRST, CALLED), 2),
    ],
)
def test_model_calls_with_other_reply_ids_are_several(
    ids: tuple[str | None, str | None], given: tuple[Any, Any], calls: int
) -> None:
    """Two writers record the same messages and tokens at one time."""
    spans = [agent("1", 0)]
    for i, (own, messages) in enumerate(zip(ids, given, strict=True)):
        held = {"gen_ai.response.id": own} if own else {}
        at = 1 if messages is FIRST else 5
        spans.append(counted(chat("1", f"b{i}", at, messages, ANSWER), f"writer{i}", **held))
    assert spent(joined(spans)) == [(calls, 10 * calls)]


def test_model_calls_of_one_writer_beside_each_other_are_several() -> None:
    calls = [counted(chat("1", own, 1, FIRST, ANSWER), "framework") for own in ("b", "c")]
    assert spent(joined([agent("1", 0), *calls])) == [(2, 20)]


def test_a_point_in_time_that_adds_the_reply_of_a_stream_is_no_call_of_its_own() -> None:
    request = replace(chat("1", "b", 1, FIRST, None), scope="logfire.openai")
    reply = replace(counted(chat("1", "c", 3, FIRST, ANSWER), "logfire.openai"), end=(T0 + 3) * S)
    found = joined([agent("1", 0), request, reply])
    assert list(map(read, found.turns)) == [("q1", [], "a1")] and spent(found) == [(1, 10)]


def test_a_models_span_that_holds_several_calls_is_none_itself() -> None:
    outer = counted(chat("1", "b", 1, FIRST, asks("x", "f"), ""), "app")
    inner = [
        counted(chat("1", "c", 2, FIRST, asks("x", "f"), "b"), "model"),
        counted(chat("1", "d", 4, CALLED, ANSWER, "b"), "model"),
    ]
    found = joined([replace(outer, end=(T0 + 9) * S), *inner])
    assert list(map(read, found.turns)) == [ONE_CALL] and spent(found) == [(2, 20)]


def test_the_error_of_a_tool_that_another_writer_recorded_below_it_is_the_tools() -> None:
    told = {
        "openinference.span.kind": "TOOL",
        "tool.name": "f",
        "input.value": '{"a": 1}',
        "output.value": "it broke",
    }
    outer = TraceSpan("1", "1t", "1a", "a.f", (T0 + 2) * S, (T0 + 4) * S, told, scope="openinference")
    inner = replace(
        span("1", "u", "t", 2, 1, "execute_tool", gen_ai__tool__name="f", error__type="ValueError"),
        scope="autogen",
    )
    spans = [
        agent("1", 0),
        chat("1", "b", 1, FIRST, asks("x", "f")),
        outer,
        inner,
        chat("1", "d", 5, CALLED, ANSWER),
    ]
    (response,) = joined(spans).turns[0].tool_responses
    assert (response.response, response.error) == ("it broke", "ValueError")
    (response,) = (
        joined([*spans[:3], replace(inner, scope="openinference"), spans[4]]).turns[0].tool_responses
    )
    assert (response.response, response.error) == ("it broke", None)


def raw(own: str, at: int, messages: list[dict[str, Any]], said: dict[str, Any], finish: str) -> TraceSpan:
    reply = [{"finish_reason": finish, "index": 0, "message": {"role": "assistant", **said}}]
    usage = {"prompt_tokens": 10, "completion_tokens": 5}
    held = {
        f"llm.openai.{key}": str(value)
        for key, value in (("messages", messages), ("choices", reply), ("usage", usage))
    }
    return TraceSpan(
        "1", own, "1a", "raw_gen_ai_request", (T0 + at) * S, (T0 + at + 1) * S, {**held, "llm.openai.id": own}
    )


def test_litellm_writes_all_its_calls_onto_one_span_of_the_application() -> None:
    asked = [{"role": "user", "content": "q1"}]
    call = {
        "content": "Let me look.",
        "tool_calls": [{"id": "x", "function": {"name": "f", "arguments": '{"a": 1}'}}],
    }
    result = [{"role": "assistant", **call}, {"role": "tool", "tool_call_id": "x", "content": "found"}]
    output = [
        {
            "role": "assistant",
            "parts": [{"type": "text", "content": "Let me look."}],
            "finish_reason": "tool_calls",
        }
    ]
    app = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": json.dumps(FIRST),
        "gen_ai.output.messages": json.dumps(output),
        "llm.request.type": "completion",
        **TOKENS,
    }
    top = TraceSpan("1", "1a", "", "support", T0 * S, (T0 + 9) * S, app)
    first, last = (
        raw("r1", 1, asked, call, "tool_calls"),
        raw("r2", 3, asked + result, {"content": "a1"}, "stop"),
    )
    found = joined([top, first, last])
    assert list(map(read, found.turns)) == [ONE_CALL] and spent(found) == [(2, 20)]
    assert found.turns[0].tool_calls[0].args == {"a": 1} and found.ended == "normally"
    # Of its first call alone: what was asked for is known, and the text beside it is no answer.
    assert list(map(read, joined([top, first]).turns)) == [("q1", ["f"], None)]
    (turn,) = joined([top]).turns
    assert read(turn) == ("q1", [], None) and turn.unknown_calls
