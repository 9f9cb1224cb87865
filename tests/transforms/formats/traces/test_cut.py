"""Attributes that a limit on their length cut off: what they held is unknown, and never words."""
# ruff: noqa: E501

import json
from typing import Any

import pytest

from turnwise.schemas.conversation import Turn
from turnwise.transforms.formats.traces.join import join_spans
from turnwise.transforms.formats.traces.span import TraceSpan

S = 1_000_000_000
MESSAGES = json.dumps([{"role": "user", "content": "Where is A-17?"}])
OUTER = json.dumps({"messages": [{"role": "user", "content": "Where is A-17?"}]})
REPLY = json.dumps([{"role": "assistant", "content": "It has shipped."}])
LLM = {"openinference.span.kind": "LLM"}
CHAT = {"gen_ai.operation.name": "chat"}
MODEL = {"ai.operationId": "ai.generateText.doGenerate"}
CALL = {
    "role": "assistant",
    "tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": '{"a": 1, "b'}}],
}


def read(*spans: tuple[str, dict[str, Any]]) -> Turn:
    """The turn of a trace: a root, with the other spans below it."""
    nodes = [
        TraceSpan("t", str(place), "0" if place else "", name, S + place, 9 * S - place, attributes)
        for place, (name, attributes) in enumerate(spans)
    ]
    (turn,) = join_spans("c", nodes).turns
    return turn


def reason(turn: Turn) -> str:
    (finding,) = (one for one in turn.findings if one.kind == "UnreadPart")
    return finding.message


GIVEN: dict[str, tuple[str, dict[str, Any], str, str]] = {
    "gen_ai": ("chat", {**CHAT, "gen_ai.output.messages": REPLY}, "gen_ai.input.messages", MESSAGES),
    "adk": (
        "call_llm",
        {
            "gcp.vertex.agent.llm_response": '{"content": {"role": "model", "parts": [{"text": "It has shipped."}]}}'
        },
        "gcp.vertex.agent.llm_request",
        '{"contents": [{"role": "user", "parts": [{"text": "Where is A-17?"}]}]}',
    ),
    "vercel": ("ai", {**MODEL, "ai.response.text": "It has shipped."}, "ai.prompt.messages", MESSAGES),
    "vercel, outer": ("ai", {**MODEL, "ai.response.text": "It has shipped."}, "ai.prompt", OUTER),
    "openinference": (
        "m",
        {**LLM, "output.value": "It has shipped.", "input.mime_type": "application/json"},
        "input.value",
        OUTER,
    ),
    "pydantic_ai": (
        "agent run",
        {"agent_name": "a", "final_result": "It has shipped."},
        "pydantic_ai.all_messages",
        MESSAGES,
    ),
}


@pytest.mark.parametrize("name", GIVEN)
def test_a_cut_input_is_an_unknown_message_of_the_user(name: str) -> None:
    span_name, held, key, whole = GIVEN[name]
    turn = read((span_name, {**held, key: whole}))
    assert (turn.user, turn.agent, turn.findings) == ("Where is A-17?", "It has shipped.", [])
    turn = read((span_name, {**held, key: whole[:30]}))
    assert (turn.user, turn.agent) == (None, "It has shipped.")
    assert "cut off" in reason(turn) and turn.unknown_words is not None


def test_what_another_span_holds_is_known() -> None:
    agent = {"agent_name": "a", "pydantic_ai.all_messages": MESSAGES[:30], "final_result": "It has shipped."}
    chat = {**CHAT, "gen_ai.input.messages": MESSAGES, "gen_ai.output.messages": REPLY}
    turn = read(("agent run", agent), ("chat", chat))
    assert (turn.user, turn.agent) == ("Where is A-17?", "It has shipped.")
    assert "cut off" in reason(turn) and (turn.unknown_words, turn.unknown_calls) == (None, None)


OUTPUTS: dict[str, tuple[str, dict[str, Any]]] = {
    "gen_ai": ("chat", {**CHAT, "gen_ai.input.messages": MESSAGES, "gen_ai.output.messages": REPLY[:30]}),
    "adk": ("call_llm", {"gcp.vertex.agent.llm_response": '{"model_version": "m", "content": {"par'}),
    "vercel, calls": ("ai", {**MODEL, "ai.prompt.messages": MESSAGES, "ai.response.toolCalls": '[{"toolCa'}),
    "arguments": (
        "chat",
        {**CHAT, "gen_ai.input.messages": MESSAGES, "gen_ai.output.messages": json.dumps([CALL])},
    ),
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_a_cut_output_leaves_calls_unknown_and_is_no_answer(name: str) -> None:
    turn = read(OUTPUTS[name])
    assert turn.agent is None and turn.unknown_calls is not None and reason(turn)


def test_a_plain_text_that_begins_with_a_bracket_stays_a_text() -> None:
    turn = read(("m", {**LLM, "input.value": "[1] or {2}?", "output.value": "[1], as said."}))
    assert (turn.user, turn.agent, turn.findings) == ("[1] or {2}?", "[1], as said.", [])
