"""Attributes that a limit on their length cut off: what they held is unknown, and never words."""
# ruff: noqa: E501

import json
from typing import Any

import pytest

from turnwise.schemas.conversation import Turn
from turnwise.transforms.formats.traces.span import SpanEvent, TraceSpan, is_cut
from turnwise.transforms.formats.traces.turns import join_spans

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
    "openllmetry": (
        "w",
        {"traceloop.span.kind": "workflow", "traceloop.entity.output": '"It has shipped."'},
        "traceloop.entity.input",
        json.dumps({"inputs": {"messages": [{"role": "user", "content": "Where is A-17?"}]}}),
    ),
    "langsmith": (
        "m",
        {"langsmith.span.kind": "llm", "gen_ai.completion": REPLY},
        "gen_ai.prompt",
        OUTER,
    ),
    "langfuse": (
        "m",
        {"langfuse.observation.type": "generation", "langfuse.observation.output": "It has shipped."},
        "langfuse.observation.input",
        MESSAGES,
    ),
    "langfuse, as Python writes it": (
        "m",
        {"langfuse.observation.type": "generation", "langfuse.observation.output": "It has shipped."},
        "langfuse.observation.input",
        "[{'role': 'user', 'content': 'Where is A-17?'}]",
    ),
    "mlflow": (
        "m",
        {"mlflow.spanType": '"CHAT_MODEL"', "mlflow.spanOutputs": '"It has shipped."'},
        "mlflow.spanInputs",
        OUTER,
    ),
    "openinference, no type": ("m", {**LLM, "output.value": "It has shipped."}, "input.value", OUTER),
    "openinference, blocks": (
        "m",
        {**LLM, "output.value": "It has shipped.", "llm.input_messages.0.message.role": "user"},
        "llm.input_messages.0.message.content",
        '[{"type": "text", "text": "Where is A-17?"}]',
    ),
    "openllmetry, blocks": (
        "openai.chat",
        {
            "llm.request.type": "chat",
            "gen_ai.prompt.0.role": "user",
            "gen_ai.completion.0.role": "assistant",
            "gen_ai.completion.0.content": "It has shipped.",
        },
        "gen_ai.prompt.0.content",
        '[{"type": "text", "text": "Where is A-17?"}]',
    ),
}


@pytest.mark.parametrize("name", GIVEN)
def test_a_cut_input_is_an_unknown_message_of_the_user(name: str) -> None:
    span_name, held, key, whole = GIVEN[name]
    turn = read((span_name, {**held, key: whole}))
    assert (turn.user, turn.agent, turn.unknown_words) == ("Where is A-17?", "It has shipped.", None)
    assert all("cut off" not in finding.message for finding in turn.findings)
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
    "openllmetry": (
        "w",
        {
            "traceloop.span.kind": "workflow",
            "traceloop.entity.input": json.dumps({"inputs": {"input": "Where?"}}),
            "traceloop.entity.output": '{"outputs": {"messages": [{"la',
        },
    ),
    "mlflow, a text": ("m", {"mlflow.spanType": '"LLM"', "mlflow.spanOutputs": '"It has shi'}),
    "langfuse": (
        "m",
        {"langfuse.observation.type": "generation", "langfuse.observation.output": '{"role": "assis...'},
    ),
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


EVENTS: dict[str, tuple[str, str, str]] = {
    "gen_ai.content": ("gen_ai.content.prompt", "gen_ai.prompt", MESSAGES),
    "strands": ("gen_ai.user.message", "content", '[{"text": "Where is A-17?"}]'),
}


@pytest.mark.parametrize("name", EVENTS)
def test_a_cut_event_is_an_unknown_message_of_the_user(name: str) -> None:
    event, key, whole = EVENTS[name]
    for text, user in ((whole, "Where is A-17?"), (whole[:20], None)):
        events = [SpanEvent(event, S, {key: text})]
        span = TraceSpan("t", "1", "", "chat", S, 9 * S, {**CHAT, "gen_ai.output.messages": REPLY}, events)
        (turn,) = join_spans("c", [span]).turns
        assert (turn.user, turn.agent, bool(turn.findings)) == (user, "It has shipped.", user is None)
    assert "cut off" in reason(turn)


def test_a_cut_result_leaves_results_unknown() -> None:
    tool = {
        "traceloop.span.kind": "tool",
        "traceloop.entity.name": "f",
        "traceloop.entity.input": '{"inputs": {"a": 1}}',
        "traceloop.entity.output": '{"output": {"kwargs": {"content": "A-17 is',
    }
    chat = {**CHAT, "gen_ai.input.messages": MESSAGES, "gen_ai.output.messages": REPLY}
    turn = read(("chat", chat), ("f.tool", tool))
    assert "result" in reason(turn) and turn.unknown_calls is not None
    whole = {**tool, "traceloop.entity.output": '{"output": {"kwargs": {"content": "A-17"}}}'}
    assert read(("chat", chat), ("f.tool", whole)).findings == []


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
def test_only_what_is_not_closed_is_cut(text: str, expected: bool) -> None:
    assert is_cut(text) is expected
