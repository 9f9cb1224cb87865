"""One short conversation in every form of messages: results and ends are read alike in all of them."""

import pytest

import turnwise
from tests.readings import one
from turnwise.transforms.effects.failures import has_failed
from turnwise.transforms.formats.endings import UNKNOWN, End, failure_mark
from turnwise.transforms.matching.calls import pair_responses

ARGUMENTS = {"name": "f", "arguments": '{"x": 1}'}


def role(name, content, **fields):
    return {"role": name, "content": content, **fields}


def answered(result, make):
    """Returns the message with the tool's answer, whose fields are given; none if they are None."""
    return [] if result is None else [make(result)]


def text(words, key="text"):
    return {"type": "text", key: words}


def turn(call, result, last):
    made = {"name": "f", "args": {"x": 1}, "id": "1", **call}
    given = answered(result, lambda more: {"id": "1", "name": "f", "response": "r", **more})
    return {"user": "q", "agent": "a", "tool_calls": [made], "tool_responses": given, **last}


def canonical(call, result, last):
    return {"turns": [turn(call, result, last)]}


def event(call, result, last):
    return {"turn_index": 0, "turn": turn(call, result, last)}


def chat(call, result, last, inner=()):
    made = {"id": "1", "type": "function", "function": {**ARGUMENTS, **dict(inner)}, **call}
    given = answered(result, lambda more: {"role": "tool", "tool_call_id": "1", "content": "r", **more})
    said = role("assistant", None, tool_calls=[made])
    return {"messages": [role("user", "q"), said, *given, role("assistant", "a", **last)]}


def chat_inside(call, result, last):
    return chat({}, result, last, call)


def request(call, result, last):
    *asked, said = chat(call, result, last)["messages"]
    return {"request": {"model": "m", "messages": asked}, "response": {"choices": [{"message": said}]}}


def responses(call, result, last):
    made = {"type": "function_call", "call_id": "1", **ARGUMENTS, **call}
    given = answered(
        result, lambda more: {"type": "function_call_output", "call_id": "1", "output": "", **more}
    )
    said = {"type": "message", "role": "assistant", "content": [text("a") | {"type": "output_text"}], **last}
    return {"items": [role("user", "q"), made, *given, said]}


def custom(call, result, last):
    return responses({"type": "custom_tool_call", "input": "x", **call}, result, last)


def anthropic(call, result, last):
    made = {"type": "tool_use", "id": "1", "name": "f", "input": {"x": 1}, **call}
    given = answered(result, lambda more: {"type": "tool_result", "tool_use_id": "1", "content": "r", **more})
    said = [role("assistant", [made]), *([role("user", given)] if given else [])]
    return {"messages": [role("user", "q"), *said, role("assistant", [text("a")], **last)]}


def bedrock(call, result, last):
    made = {"toolUse": {"toolUseId": "1", "name": "f", "input": {"x": 1}, **call}}
    given = answered(result, lambda more: {"toolResult": {"toolUseId": "1", "content": [], **more}})
    said = [role("assistant", [made]), *([role("user", given)] if given else [])]
    return {"messages": [role("user", [{"text": "q"}]), *said, role("assistant", [{"text": "a"}], **last)]}


def langchain(call, result, last):
    made = {"name": "f", "args": {"x": 1}, "id": "1", **call}
    given = answered(result, lambda more: {"type": "tool", "tool_call_id": "1", "content": "r", **more})
    said = {"type": "ai", "content": "", "tool_calls": [made]}
    return {
        "messages": [{"type": "human", "content": "q"}, said, *given, {"type": "ai", "content": "a", **last}]
    }


def vercel(call, result, last):
    named = {"toolCallId": "1", "toolName": "f"}
    made = {"type": "tool-call", **named, "input": {"x": 1}, **call}
    given = answered(result, lambda more: {"type": "tool-result", **named, "output": "r", **more})
    said = [role("assistant", [made]), *([role("tool", given)] if given else [])]
    return {"messages": [role("user", "q"), *said, role("assistant", [text("a")], **last)]}


def gemini(call, result, last):
    made = {"functionCall": {"name": "f", "args": {"x": 1}, **call}}
    given = answered(result, lambda more: {"functionResponse": {"name": "f", "response": {"a": "r"}, **more}})
    said = [{"role": "model", "parts": [made]}, *([{"role": "user", "parts": given}] if given else [])]
    last = {"role": "model", "parts": [{"text": "a"}], **last}
    return {"contents": [{"role": "user", "parts": [{"text": "q"}]}, *said, last]}


def genai(call, result, last):
    made = {"type": "tool_call", "id": "1", "name": "f", "arguments": {"x": 1}, **call}
    given = answered(result, lambda more: {"type": "tool_call_response", "id": "1", "response": "r", **more})
    said = [{"role": "assistant", "parts": [made]}, *([{"role": "tool", "parts": given}] if given else [])]
    last = {"role": "assistant", "parts": [text("a", "content")], **last}
    return {"messages": [{"role": "user", "parts": [text("q", "content")]}, *said, last]}


def read(form, call=(), result=None, last=(), **record):
    value = form(dict(call), result, dict(last))
    return one({**({"conversation_id": "c"} if form in (canonical, event) else {}), **value, **record})


MESSAGES = [chat, responses, anthropic, bedrock, langchain, vercel, gemini, genai]
HOLD_RESULTS = [
    canonical,
    event,
    chat,
    chat_inside,
    request,
    responses,
    custom,
    anthropic,
    bedrock,
    langchain,
]
OWN = [
    ({"error": "down"}, None, "down"),
    ({"result": {"error": "down"}, "error": "down", "status": "error"}, {"error": "down"}, "down"),
    ({"result": {"error": "down"}}, {"error": "down"}, None),
    ({"output": "Error: down"}, "Error: down", None),
    ({"response": '{"success": false}'}, {"success": False}, None),
    ({"tool_result": "Error: down"}, "Error: down", None),
    ({"isError": True}, None, True),
    ({"success": False}, None, True),
    ({"status": "failed"}, None, True),
]


@pytest.mark.parametrize("form", HOLD_RESULTS)
def test_a_call_that_no_response_answers_has_its_own_result(form):
    for fields, response, error in OWN:
        [turn] = read(form, fields).turns
        [found] = pair_responses(turn.tool_calls, turn.tool_responses)
        assert (found.response, found.error, turn.unknown_calls) == (response, error, None)
        assert has_failed(found)
    for fields in ({}, {"result": None, "error": None}, {"status": "completed"}, {"success": True}):
        [turn] = read(form, fields).turns
        assert (turn.tool_responses, turn.findings) == ([], [])


def test_other_calls_with_their_own_results():
    calls = [{"name": "f", "args": {}, "error": "down"}]
    by_user = {"conversation_id": "c", "turns": [{"user": "q", "agent": "a", "user_tool_calls": calls}]}
    assert [made.error for made in one(by_user).turns[0].user_tool_responses] == ["down"]
    record = {"id": "c", "said": [{"user": "q", "agent": "a", "tool_calls": calls}]}
    config = {"mapping": {"conversation_id": "id", "turns": "said"}}
    [mapped] = turnwise.read_conversations([record], config=config)
    older = role("assistant", "a", function_call={"name": "f", "arguments": "{}", "error": "down"})
    for found in (mapped, one({"messages": [role("user", "q"), older]})):
        assert [(made.name, made.error) for made in found.turns[0].tool_responses] == [("f", "down")]
        assert found.turns[0].findings == []
    stopped = {"messages": chat({"result": "done"}, None, {})["messages"][:2]}
    assert one(stopped).turns[0].findings == []


OK = {"name": "f", "response": {"ok": True}}


def call(**fields):
    return {"name": "f", "args": {"x": 1}, **fields}


@pytest.mark.parametrize(
    ("calls", "responses", "wanted", "finding"),
    [
        ([call(error="down")], [OK], [({"ok": True}, "down")], None),
        ([call(result='{"ok": true}')], [OK], [({"ok": True}, None)], None),
        ([call(result={"error": "down"})], [OK], [({"ok": True}, None)],
         "the call 'f' holds another result than its tool response"),
        ([call(id="1"), call(error="down", id="2")], [{**OK, "id": "1"}],
         [({"ok": True}, None), (None, "down")], None),
        ([call(result=1), call(error="down")], [], [(1, None), (None, "down")], None),
        ([call(), call(error="down")], [], [(None, "down")],
         "calls hold results and have no ids: nothing says which call a result is of"),
        ([{"name": "f", "result": {"a": 1}, "error": None}], [], [({"a": 1}, None)], None),
    ],
)  # fmt: skip
def test_own_results_beside_responses(calls, responses, wanted, finding):
    [turn] = one({"conversation_id": "c", "turns": [
        {"user": "q", "agent": "a", "tool_calls": calls, "tool_responses": responses}]}).turns  # fmt: skip
    assert [(made.response, made.error) for made in turn.tool_responses] == wanted
    assert turn.unknown_calls == finding
    assert [problem.message for problem in turn.findings] == ([finding] if finding else [])


@pytest.mark.parametrize(
    ("result", "mark"),
    [
        ({"error": "no"}, "no"),
        ({"error": {"code": 5}}, '{"code": 5}'),
        ({"error": True}, True),
        ({"isError": "true"}, True),
        ({"status": "Error"}, True),
        ({"status": "failure"}, True),
        ({"status": 500}, True),
        ({"status": "cancelled"}, True),
        ({"status": "incomplete"}, True),
        ({"status": "completed", "is_error": True}, True),
        ({"error": None, "success": False}, True),
        ({"error": False, "is_error": False, "isError": "false"}, None),
        ({"status": "success"}, None),
        ({"status": "in_progress"}, None),
        ({"status": None, "success": True}, None),
    ],
)
def test_marks_of_failure(result, mark):
    assert failure_mark({"content": "error", **result}) == mark


@pytest.mark.parametrize("form", [canonical, request, *MESSAGES])
def test_every_form_reads_the_marks_of_a_result(form):
    marks = ("error", "no"), ("is_error", True), ("isError", True), ("status", "failed"), ("success", False)
    for mark in ({}, *(dict([pair]) for pair in marks)):
        [response] = read(form, result=mark).turns[0].tool_responses
        assert bool(response.error) == bool(mark), mark


ENDS = [
    ({}, {}, UNKNOWN),
    ({"status": "completed"}, {}, UNKNOWN),
    ({"finish_reason": "stop"}, {}, End("normally", "stop")),
    ({"finish_reason": "FinishReason.STOP"}, {}, End("normally", "FinishReason.STOP")),
    ({"finish_reason": "FINISH_REASON_UNSPECIFIED"}, {}, UNKNOWN),
    ({"finish_reason": False}, {}, UNKNOWN),
    ({"stop_reason": "max_tokens"}, {}, End("limit", "max_tokens")),
    ({"stopReason": "guardrail_intervened"}, {}, End("agent_error", "guardrail_intervened")),
    ({"finishReason": "MALFORMED_FUNCTION_CALL"}, {}, End("agent_error", "MALFORMED_FUNCTION_CALL")),
    ({"finish_reason": "abort"}, {}, End(None, "abort")),
    ({"finish_reason": "tool_calls"}, {}, End(None, "tool_calls")),
    ({"status": "failed"}, {}, End("agent_error", "failed")),
    ({"status": "incomplete"}, {}, End(None, "incomplete")),
    ({"error": "boom"}, {}, End("agent_error", "boom")),
    ({"error": "boom", "finish_reason": "stop"}, {}, End("agent_error", "boom")),
    ({}, {"finish_reason": "length"}, End("limit", "length")),
    ({}, {"finish_reason": "content-filter"}, End("agent_error", "content-filter")),
    ({}, {"stop_reason": "refusal"}, End("agent_error", "refusal")),
    ({"finish_reason": "stop"}, {"finish_reason": "length"}, End(None, "normally, and also limit: length")),
    ({"error": "boom"}, {"ended": "normally"}, End(None, "normally, and also agent_error: boom")),
]  # fmt: skip


@pytest.mark.parametrize("form", [canonical, *MESSAGES])
def test_every_form_states_its_end_alike(form):
    for last, record, end in ENDS:
        found = read(form, result={}, last=last, **record)
        assert (found.ended, found.ended_detail) == end, (last, record)


MORE = [role("user", "and?"), role("assistant", "more")]
MORE_OF_LANGCHAIN = [{"type": "human", "content": "and?"}, {"type": "ai", "content": "more"}]


@pytest.mark.parametrize(("form", "more"), [(anthropic, MORE), (langchain, MORE_OF_LANGCHAIN)])
def test_an_earlier_message_is_no_end(form, more):
    for last in ({"error": "boom"}, {"status": "failed"}, {"finish_reason": "length"}):
        found = one({"messages": [*form({}, {}, last)["messages"], *more]})
        assert (found.ended, found.ended_detail) == UNKNOWN


def test_the_messages_of_a_request_state_its_end_where_there_is_no_reply():
    asked = {"model": "m", **chat({}, {}, {"error": "boom"})}
    assert one({"request": asked, "response": None}).ended == "agent_error"


def test_what_a_langchain_record_states_against_the_metadata_of_its_last_message():
    last = {"response_metadata": {"finish_reason": "stop"}}
    for beside, record in ({}, {"finish_reason": "length"}), ({"finish_reason": "length"}, {}):
        found = read(langchain, last={**last, **beside}, **record)
        assert (found.ended, found.ended_detail) == (None, "normally, and also limit: length")
    assert read(langchain, last=last).ended == "normally"
