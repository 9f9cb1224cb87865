import json

import pytest

from turnwise.schemas.conversation import Record
from turnwise.transforms.formats.mapped import recognise
from turnwise.transforms.formats.reading import LogReader
from turnwise.transforms.formats.registry import FORMATS

HUMAN = {"type": "human", "content": "a"}
TOOL_USE = {"toolUse": {"toolUseId": "1", "name": "f", "input": {}}}
CHUNKED = {"messages": [{"role": "user", "chunks": [{"text": "a"}]}]}


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ({"eval_id": "e", "turns": []}, "turnwise"),
        ({"eval_id": "e", "kind": "scenario"}, "turnwise"),
        ({"evalId": "e", "conversationScenario": {}}, "adk_eval_case"),
        ({"evalSetId": "s", "evalCaseResults": []}, "adk_eval_result"),
        ({"id": "s", "appName": "a", "userId": "u", "events": []}, "adk_session"),
        ({"id": "s", "events": [{"author": "user", "content": {}}]}, "adk_session"),
        ({"id": "s", "events": [{"author": "a", "invocationId": "i"}]}, "adk_session"),
        ({"turns": [CHUNKED]}, "ces_conversation"),
        ({"name": "projects/p/apps/a/conversations/c", "turns": []}, "ces_conversation"),
        ({"turn_index": 1, "diagnostic_info": {}}, "ces_session_output"),
        ({"jsonPayload": {}, "labels": {"session_id": "s"}}, "ces_session_output"),
        ({"name": "a/evaluations/e/results/r", "displayName": "d"}, "ces_evaluation_result"),
        ({"goldenResult": {}}, "ces_evaluation_result"),
        ({"task_id": 1, "traj": [{"role": "user", "content": "a"}]}, "openai_chat"),
        ([{"role": "user", "content": "a"}], "openai_chat"),
        ({"conversation_id": "c", "ended": "normally", "messages": [HUMAN]}, "langchain_messages"),
        ({"messages": [{"role": "user", "content": [TOOL_USE | {"type": None}]}]}, "bedrock_converse"),
        ({"query": "q", "expected_tool_use": []}, "adk_legacy_rows"),
        ([{"name": "n", "data": []}], "adk_legacy_case"),
        ({"name": "n", "data": [], "initial_session": {}}, "adk_legacy_case"),
        ({"name": "p/sessions/7/answers/9", "state": "FAILED"}, "discovery_engine"),
        ({"turns": [{"detailed_answer": {}}]}, "discovery_engine"),
        ({"answer": "x", "references": []}, "discovery_engine"),
        ({"sessionId": "s", "author": "user", "content": {}}, "adk_event"),
        ({"session_id": "s", "author": "a", "invocationId": "i"}, "adk_event"),
        ({"conversation_id": "c", "turn": 1, "messages": [{"role": "user"}]}, "openai_chat"),
        ({"conversation_id": "c", "turns": [], "end": True}, "turnwise"),
        ({"sessionId": "s", "turnIndex": 1, "diagnosticInfo": {}}, "ces_session_output"),
    ],
)
def test_recognise(value, name):
    assert recognise(value) == name
    assert name in FORMATS


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"criteria": {"safety_v1": 0.5}}, "a config of criteria, no log; give it with --config"),
        (
            {"a": 1, "b": 2},
            r"^unrecognised record: keys a, b; near to none of the formats; read it by a `mapping` in the "
            r"config, which `turnwise inspect --suggest` proposes, or by a --plugin, or convert .* first$",
        ),
        (
            {"turns": [{"user": "a"}]},
            r"^unrecognised record: conversation_id is missing for the nearest format, turnwise \(.*\); "
            "keys turns; .*inspect",
        ),
        (
            {"conversationId": "c", "turn": []},
            r"conversation_id .*, turns \(is it turn\?\) are missing for the nearest format, turnwise \(",
        ),
        ({"type": "ai", "data": {"content": "x"}}, "a single message; a chat is one record"),
        ([], "list, not an object"),
        ({}, "an object without keys"),
        ("x", "str, not an object"),
        (None, "NoneType, not an object"),
        (
            {"messages": []},
            "its keys do not hold what they hold in the nearest format, openai_chat .*; keys messages",
        ),
        ({"id": "1", "events": []}, "keys id, events"),
        ({"id": "1", "state": {}, "events": [{"type": "click"}]}, "keys id, state, events"),
        ({"session_id": "s", "start": 1.0, "end": 2.0}, "keys session_id, start, end"),
        ({"content": {}, "finishReason": "STOP", "safetyRatings": []}, "keys content, finishReason"),
    ],
)
def test_unrecognised(value, message):
    with pytest.raises(ValueError, match=message):
        recognise(value)


TEXT = {"role": "user", "content": "hi"}
PHOENIX = {"id": "1", "name": "llm", "context": {"span_id": "a"}, "span_kind": "LLM", "events": []}


def parts(*content):
    return {"messages": [TEXT, {"role": "assistant", "content": list(content)}]}


def holding(**message):
    return {"messages": [TEXT, message]}


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (parts({"type": "text", "text": "x"}, {"type": "tool_use", "name": "f"}), "anthropic_messages"),
        (holding(role="user", content=[{"type": "tool_result"}]), "anthropic_messages"),
        (parts({"toolUse": {"name": "f"}}), "bedrock_converse"),
        (parts({"type": "tool-call", "toolName": "f"}), "vercel_messages"),
        (holding(role="assistant", parts=[{"type": "tool-f", "toolCallId": "1"}]), "vercel_messages"),
        (holding(role="assistant", parts=[{"type": "text", "text": "x"}]), "vercel_messages"),
        (holding(role="model", parts=[{"functionCall": {"name": "f"}}]), "gemini_contents"),
        (holding(type="function_call", name="f", call_id="1"), "openai_responses"),
        ([TEXT, {"type": "function_call_output", "call_id": "1"}], "openai_responses"),
        ({"messages": [{"type": "human", "content": "hi"}]}, "langchain_messages"),
        (holding(type="ai", content="", tool_calls=[]), "langchain_messages"),
        ({"request": parts({"type": "tool_use"}), "response": ""}, "model_exchange"),
        ({"object": "response", "output": []}, "openai_responses"),
        ({"output": {"message": {}}, "stopReason": "end_turn"}, "bedrock_converse"),
        ({"model": "m", "input": "hi"}, "openai_responses"),
        ({"messages": [{"direction": "sent", "message": {}}], "metadata": {}}, "claude_stream"),
        ({"messages": [{"type": "user", "message": {}, "session_id": "s"}]}, "claude_stream"),
        ({"messages": [{"type": "user", "message": {"role": "user", "content": "a"}}]}, "claude_stream"),
        (holding(role="assistant", parts=[{"type": "text", "content": "x"}]), "genai_messages"),
        ({"checkpoint": {"channel_values": {"messages": [HUMAN]}}}, "langchain_messages"),
        ({"uuid": "1", "parentUuid": None, "type": "user"}, "claude_code"),
        ({"type": "summary", "summary": "x", "leafUuid": "1"}, "claude_code"),
        ({"timestamp": "t", "type": "session_meta", "payload": {"id": "s"}}, "codex"),
        ({"type": "thread.started", "thread_id": "t"}, "codex"),
    ],
)
def test_messages_are_recognised_by_any_of_them(value, name):
    assert recognise(value) == name


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (PHOENIX, "incomplete OpenTelemetry span"),
        ({"spans": [{"name": "x"}]}, "incomplete export of spans"),
        ({"request": {}, "response": PHOENIX}, "with its reply, an incomplete OpenTelemetry"),
    ],
)
def test_formats_of_other_systems_are_named_and_refused(value, name):
    with pytest.raises(ValueError, match=f"{name}.*: this format is not read; .*convert it to"):
        recognise(value)


@pytest.mark.parametrize(
    "value",
    [
        {"conversation_id": "c", "turns": []},
        {"id": "s", "app_name": "a", "user_id": "u", "events": []},
        {"name": "projects/p/apps/a/conversations/c", "turns": []},
        {"messages": [{"role": "system", "content": "be nice"}]},
    ],
)
def test_a_conversation_without_a_turn_is_refused(value):
    try:
        found = LogReader().read(Record("f", 1, json.dumps(value).encode()))
    except ValueError as error:
        found = [error]
    assert len(found) == 1
    assert "has no turn" in str(found[0])


RESULT = {
    "eval_set_result_id": "r",
    "eval_set_id": "s",
    "eval_case_results": [
        {
            "eval_id": "one",
            "session_id": "session",
            "eval_metric_result_per_invocation": [
                {"actual_invocation": {"user_content": {"parts": [{"text": "hé \u201cyou\u201d"}]}}}
            ],
        }
    ],
}


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("input_format", ["auto", "adk_eval_result"])
def test_eval_results_in_a_json_text_are_read(indent, input_format):
    once = json.dumps(RESULT, indent=indent)
    twice = [
        LogReader(input_format).read(Record("f", 1, json.dumps(text).encode())) for text in (RESULT, once)
    ]
    assert twice[0] == twice[1]
    assert [conversation.turns[0].user for conversation in twice[1]] == ["hé \u201cyou\u201d"]


@pytest.mark.parametrize("text", ["plain", "{", "[1]", '{"conversation_id": "c", "turns": []}', '"{}"'])
def test_other_json_texts_are_no_records(text):
    with pytest.raises(ValueError, match="unrecognised record: str, not an object"):
        LogReader().read(Record("f", 1, json.dumps(text).encode()))


def test_one_message_a_line_is_told_as_such():
    with pytest.raises(ValueError, match=r"keys role, content: a single message; .* under messages"):
        recognise({"role": "user", "content": "hi"})
