"""Marks of failure beside the result of a tool: every format reads the same ones."""

import json

import pytest

from turnwise.schemas.conversation import Record
from turnwise.transforms.formats.endings import failure_mark
from turnwise.transforms.formats.messages.dialogue import Dialogue
from turnwise.transforms.formats.paths import read_messages
from turnwise.transforms.formats.reading import LogReader

FAILED = [
    ({"error": "no"}, "no"),
    ({"error": {"code": 5}}, '{"code": 5}'),
    ({"error": True}, True),
    ({"is_error": True}, True),
    ({"isError": "true"}, True),
    ({"status": "Error"}, True),
    ({"status": "failed"}, True),
    ({"status": "failure"}, True),
    ({"status": 500}, True),
    ({"status": "cancelled"}, True),
    ({"status": "incomplete"}, True),
    ({"success": False}, True),
    ({"status": "completed", "is_error": True}, True),
    ({"error": None, "success": False}, True),
]
NOT_FAILED = [
    {},
    {"error": None},
    {"error": False, "is_error": False, "isError": "false"},
    {"status": "success"},
    {"status": "completed"},
    {"status": "in_progress"},
    {"status": None, "success": True},
]
MARKS = [
    {"error": "no"},
    {"is_error": True},
    {"isError": True},
    {"status": "error"},
    {"status": "failed"},
    {"success": False},
]


@pytest.mark.parametrize(("result", "mark"), FAILED)
def test_marks_of_failure(result, mark):
    assert failure_mark({"content": "x", **result}) == mark


@pytest.mark.parametrize("result", NOT_FAILED)
def test_no_marks_of_failure(result):
    assert failure_mark({"content": "error", **result}) is None


def asked(role="user", **content):
    return {"role": role, **content}


def canonical(mark):
    response = {"id": "1", "name": "f", "response": "x", **mark}
    call = {"id": "1", "name": "f", "args": {}}
    return {"turns": [{"user": "q", "agent": "a", "tool_calls": [call], "tool_responses": [response]}]}


def chat(mark):
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    said = {"role": "tool", "tool_call_id": "1", "content": "x", **mark}
    return {"messages": [asked(content="q"), asked("assistant", content=None, tool_calls=[call]), said]}


def responses(mark):
    call = {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"}
    return {
        "items": [
            asked(content="q"),
            call,
            {"type": "function_call_output", "call_id": "1", "output": "x", **mark},
        ]
    }


def anthropic(mark):
    call = {"type": "tool_use", "id": "1", "name": "f", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "1", "content": "x", **mark}
    return {"messages": [asked(content="q"), asked("assistant", content=[call]), asked(content=[result])]}


def bedrock(mark):
    call = {"toolUse": {"toolUseId": "1", "name": "f", "input": {}}}
    result = {"toolResult": {"toolUseId": "1", "content": [{"text": "x"}], **mark}}
    first = asked(content=[{"text": "q"}])
    return {"messages": [first, asked("assistant", content=[call]), asked(content=[result])]}


def langchain(mark):
    ai = {"type": "ai", "content": "", "tool_calls": [{"name": "f", "args": {}, "id": "1"}]}
    said = {"type": "tool", "tool_call_id": "1", "content": "x", **mark}
    return {"messages": [{"type": "human", "content": "q"}, ai, said]}


def vercel(mark):
    call = {"type": "tool-call", "toolCallId": "1", "toolName": "f", "input": {}}
    result = {"type": "tool-result", "toolCallId": "1", "toolName": "f", "output": "x", **mark}
    said = [asked("assistant", content=[call]), asked("tool", content=[result])]
    return {"messages": [asked(content="q"), *said]}


def gemini(mark):
    call = {"functionCall": {"name": "f", "args": {}}}
    result = {"functionResponse": {"name": "f", "response": {"a": "x"}, **mark}}
    first = asked(parts=[{"text": "q"}])
    return {"contents": [first, asked("model", parts=[call]), asked(parts=[result])]}


def genai(mark):
    call = {"type": "tool_call", "id": "1", "name": "f", "arguments": {}}
    result = {"type": "tool_call_response", "id": "1", "response": "x", **mark}
    first = asked(parts=[{"type": "text", "content": "q"}])
    return {"messages": [first, asked("assistant", parts=[call]), asked("tool", parts=[result])]}


@pytest.mark.parametrize("mark", [{}, *MARKS])
@pytest.mark.parametrize(
    "log", [canonical, chat, responses, anthropic, bedrock, langchain, vercel, gemini, genai]
)
def test_every_format_reads_them(log, mark):
    record = Record("log.jsonl", 0, json.dumps({"conversation_id": "c", **log(mark)}).encode())
    [turn] = [turn for found in LogReader("auto").read(record) for turn in found.turns]
    [response] = turn.tool_responses
    assert bool(response.error) == bool(mark)


@pytest.mark.parametrize("mark", [{}, *MARKS])
def test_so_do_requests_of_chat_completions(mark):
    log = Dialogue()
    read_messages(chat(mark)["messages"], log)
    [response] = log.turn.tool_responses
    assert bool(response.error) == bool(mark)
