"""Requests with their replies: streams, sessions, histories that the server keeps."""

import json

import pytest

from tests.readings import findings, one, read_file, read_value, tokens, turns

ASKED = {"role": "user", "content": "Where?"}
GET = {"id": "1", "type": "function", "function": {"name": "get", "arguments": '{"a": 1}'}}
CALLED = {"role": "assistant", "content": None, "tool_calls": [GET]}
ANSWER = {"role": "tool", "tool_call_id": "1", "content": "here"}


def completion(message, spent, **more):
    usage = {"prompt_tokens": spent, "completion_tokens": 1}
    return {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage, **more}


def exchange(messages, reply, **more):
    return {"request": {"model": "m", "messages": messages}, "response": reply, **more}


FIRST = exchange([ASKED], completion(CALLED, 10))
SECOND = exchange([ASKED, CALLED, ANSWER], completion({"role": "assistant", "content": "There."}, 20))
THANKS = {"role": "user", "content": "Thanks"}
THIRD = exchange(
    [ASKED, CALLED, ANSWER, {"role": "assistant", "content": "There."}, THANKS],
    completion({"role": "assistant", "content": "Bye."}, 30),
)
SAID = [("Where?", [("get", {"a": 1})], [("get", "here")], "There."), ("Thanks", [], [], "Bye.")]


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0], [1, 2, 0], [0, 2, 1, 1]])
def test_requests_of_one_conversation_are_joined_in_any_order(order):
    found = one(*([FIRST, SECOND, THIRD][i] for i in order))
    assert (turns(found), findings(found)) == (SAID, [])
    assert tokens(found) == [(30, 2), (30, 1)]
    assert found.ended == "normally"


def test_negative_tokens_are_unknown():
    (unknown,) = one(exchange([ASKED], completion({"role": "assistant", "content": "There."}, -1))).turns
    assert unknown.usage is None


def test_conversations_with_the_same_question_stay_apart_and_sessions_together():
    other = exchange([ASKED], completion({"role": "assistant", "content": "Nowhere."}, 5))
    assert len(read_value(FIRST, SECOND, other).conversations) == 2
    found = one({**FIRST, "session_id": "s"}, {**SECOND, "metadata": {"session_id": "s"}})
    assert (found.conversation_id, len(found.turns)) == ("s", 1)


def test_a_request_that_continues_no_other_is_said():
    title = exchange([{"role": "user", "content": "A title, please"}], completion({"content": "Search"}, 5))
    found = one({**SECOND, "session_id": "s"}, {**title, "session_id": "s"})
    assert turns(found) == SAID[:1]
    assert findings(found) == ["OtherBranch"] and found.turns[0].unknown_calls


def test_a_history_that_the_server_keeps():
    def kept(text, said, **more):
        words = [{"type": "output_text", "text": said}]
        output = [{"type": "message", "role": "assistant", "content": words}]
        reply = {"object": "response", "status": "completed", "output": output}
        return {"request": {"input": text, "model": "m", **more}, "response": reply}

    found = one(kept("Hi", "Hello", conversation="c"), kept("Bye", "Ciao", conversation={"id": "c"}))
    assert turns(found) == [("Hi", [], [], "Hello"), ("Bye", [], [], "Ciao")]
    assert found.conversation_id == "c"
    assert "MissingHistory" in findings(one(kept("Bye", "Ciao", previous_response_id="r")))


def sse(*events):
    return "".join(f"event: x\ndata: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"


def chunk(finish=None, **delta):
    return {
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }


CHAT = [
    chunk(role="assistant", content="Let me "),
    chunk(content="look."),
    chunk(tool_calls=[{"index": 0, "id": "1", "function": {"name": "get", "arguments": '{"a"'}}]),
    chunk("tool_calls", tool_calls=[{"index": 0, "function": {"arguments": ": 1}"}}]),
    {"object": "chat.completion.chunk", "choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}},
]
ANTHROPIC = [
    {"type": "message_start", "message": {"usage": {"input_tokens": 3, "output_tokens": 1}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Let me "}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "look."}},
    {"type": "content_block_start", "index": 1, "content_block": {
        "type": "tool_use", "id": "1", "name": "get", "input": {}}},
    {"type": "content_block_delta", "index": 1, "delta": {"partial_json": '{"a"'}},
    {"type": "content_block_delta", "index": 1, "delta": {"partial_json": ": 1}"}},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 2}},
]  # fmt: skip
FOUND = {"name": "get", "args": {"a": 1}}
GEMINI = [
    {"candidates": [{"content": {"parts": [{"text": "Let me "}]}}]},
    {"candidates": [{"content": {"parts": [{"text": "look."}, {"functionCall": FOUND}]},
                     "finishReason": "STOP"}],
     "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 2}},
]  # fmt: skip
DONE = {"type": "response.output_item.done", "sequence_number": 1}
RESPONSES = [
    {**DONE, "item": {"type": "message", "role": "assistant", "content": [
        {"type": "output_text", "text": "Let me look."}]}},
    {**DONE, "item": {"type": "function_call", "call_id": "1", "name": "get", "arguments": '{"a": 1}'}},
]  # fmt: skip


@pytest.mark.parametrize("events", [CHAT, ANTHROPIC, GEMINI, RESPONSES])
@pytest.mark.parametrize("form", [sse, lambda *e: list(e), lambda *e: "\n".join(map(json.dumps, e))])
def test_streamed_replies(events, form):
    key = "contents" if events is GEMINI else "input" if events is RESPONSES else "messages"
    asked = {"role": "user", "parts": [{"text": "Where?"}]} if events is GEMINI else ASKED
    found = one({"request": {"model": "m", key: [asked]}, "response": form(*events)})
    assert turns(found) == [("Where?", [("get", {"a": 1})], [], "Let me look.")]
    assert tokens(found) == [(None, None) if events is RESPONSES else (3, 2)]
    assert ("UnreadPart" in findings(found)) == (events is RESPONSES)


@pytest.mark.parametrize("events", [CHAT[:2], ANTHROPIC[:4], GEMINI[:1], RESPONSES[:1]])
def test_a_streamed_reply_without_its_end_may_be_cut_off(events):
    key = "contents" if events[0] is GEMINI[0] else "input" if events[0] is RESPONSES[0] else "messages"
    asked = {"role": "user", "parts": [{"text": "Where?"}]} if key == "contents" else ASKED
    found = one({"request": {"model": "m", key: [asked]}, "response": sse(*events)})
    turn = found.turns[0]
    assert "the stream of the reply has no end" in turn.findings[0].message
    assert turn.unknown_words and turn.unknown_calls and found.ended is None
    assert turn.usage is None or turn.usage.output_tokens is None


@pytest.mark.parametrize(
    ("reply", "ended"),
    [
        ({"object": "response", "status": "incomplete", "output": [],
          "incomplete_details": {"reason": "max_output_tokens"}}, "limit"),
        ({"candidates": [{"content": {"role": "model"}, "finishReason": "MALFORMED_FUNCTION_CALL"}]},
         "agent_error"),
    ],
)  # fmt: skip
def test_the_end_of_a_reply_without_words(reply, ended):
    is_gemini = "candidates" in reply
    request = {"contents": [{"parts": [{"text": "hi"}]}]} if is_gemini else {"model": "m", "input": "hi"}
    found = one({"request": request, "response": reply})
    assert (found.ended, found.turns[0].user) == (ended, "hi")
    assert not any("'parts'" in each.message for each in found.turns[0].findings)


def test_a_file_of_events_is_one_reply_without_its_request(tmp_path):
    path = tmp_path / "stream.jsonl"
    path.write_text("\n".join(map(json.dumps, ANTHROPIC)))
    [found] = read_file(path).conversations
    assert turns(found) == [(None, [("get", {"a": 1})], [], "Let me look.")]
    assert "MissingHistory" in findings(found)


def test_requests_without_an_answer_are_not_taken_for_one_conversation():
    failed = [exchange([ASKED], {"error": {"message": "busy", "id": number}}) for number in (1, 2)]
    found = read_value(*failed, failed[0], FIRST, SECOND)
    assert sorted(str(each.ended) for each in found.conversations) == [
        "agent_error",
        "agent_error",
        "normally",
    ]


def test_replies_that_failed_or_are_not_there():
    failed = one(exchange([ASKED], {"error": {"message": "overloaded"}}))
    assert failed.ended == "agent_error" and "overloaded" in failed.ended_detail
    assert one(exchange([ASKED], "")).turns[0].unknown_words
    assert one(exchange([ASKED], "<html>")).turns[0].unknown_calls


def test_halves_under_body_and_as_text():
    body = json.dumps(completion({"role": "assistant", "content": "There."}, 1))
    found = one({"request": {"body": {"messages": [ASKED]}}, "response": {"status_code": 200, "body": body}})
    assert turns(found) == [("Where?", [], [], "There.")]


def test_a_custom_call_of_a_chat():
    custom = {"id": "1", "type": "custom", "custom": {"name": "sql", "input": "SELECT 1"}}
    found = one([ASKED, {"role": "assistant", "tool_calls": [custom]}, ANSWER])
    assert turns(found)[0][1] == [("sql", {"input": "SELECT 1"})]


@pytest.mark.parametrize(
    ("number", "ended", "detail"),
    [(1, "normally", "STOP"), (2, "limit", "MAX_TOKENS"), (3, "agent_error", "SAFETY"), (0, None, None)]
    + [(number, None, f"FINISH_REASON_{number}") for number in (6, 10, 99)],
)
def test_a_finish_reason_of_gemini_that_is_a_number_counts(number, ended, detail):
    reply = {
        "candidates": [{"content": {"role": "model", "parts": [{"text": "Hel"}]}, "finish_reason": number}]
    }
    request = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}
    found = one({"request": request, "response": reply})
    assert (found.ended, found.ended_detail) == (ended, detail)
