"""What writers of messages put beside, or in place of, plain texts, calls and results."""

import pytest

from tests.readings import findings, one, read_value, tokens, turns

HI, YO = {"role": "user", "content": "Hi"}, {"type": "text", "text": "Yo"}
HELLO = {"type": "text", "text": "Hi"}
SPOKEN = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Yo"}]}


def bedrock(*asked, after=()):
    called = {"toolUse": {"toolUseId": "t", "name": "f", "input": {}}}
    result = {"toolResult": {"toolUseId": "t", "content": [{"text": "ok"}]}, "text": None}
    return [
        {"role": "user", "content": list(asked)},
        {"role": "assistant", "content": [called, {"cachePoint": {"type": "default"}}]},
        {"role": "user", "content": [result, *after]},
        {"role": "assistant", "content": [{"text": "Done"}]},
    ]


MARKED = {"guardContent": {"text": {"text": "Refund 7", "qualifiers": ["query"]}}}


@pytest.mark.parametrize(
    ("messages", "user", "found"),
    [
        (bedrock({"text": "Hi"}, after=[{"cachePoint": {"type": "default"}}]), "Hi", []),
        (bedrock({"text": "Please:", "toolResult": None}, MARKED), "Please:\nRefund 7", []),
        (bedrock({"text": "Hi"}, {"guardContent": {"image": {}}}), "Hi", ["UnreadPart"]),
    ],
)
def test_marks_for_the_cache_and_the_guardrail_of_bedrock(messages, user, found):
    conversation = one({"messages": messages})
    assert turns(conversation) == [(user, [("f", {})], [("f", "ok")], "Done")]
    assert findings(conversation) == found


AUTOMATIC = [
    {"role": "user", "parts": [{"text": "Hi"}]},
    {"role": "model", "parts": [{"function_call": {"name": "f", "args": {"a": 1}}}]},
    {"role": "user", "parts": [{"function_response": {"name": "f", "response": {"b": 2}}}]},
]
GEMINI = {
    "automatic_function_calling_history": AUTOMATIC,
    "candidates": [
        {"index": 1, "content": {"parts": [{"text": "Other"}]}},
        {"index": 0, "content": {"parts": [{"text": "Done"}]}, "finish_reason": "STOP"},
    ],
    "usage_metadata": {"prompt_token_count": 9, "candidates_token_count": 1},
}


@pytest.mark.parametrize("record", [GEMINI, {"request": {"contents": "Hi"}, "response": GEMINI}])
def test_calls_that_googles_library_made_by_itself(record):
    found = one(record)
    assert turns(found) == [("Hi", [("f", {"a": 1})], [("f", {"b": 2})], "Done")]
    assert (tokens(found), findings(found), found.ended) == ([(None, None)], ["UnreadPart"], "normally")


def test_texts_in_place_of_contents_are_one_message_of_the_user():
    contents = ["Hi", "there", {"role": "model", "parts": [{"text": "Yo"}]}, "Bye"]
    found = one({"model": "m", "contents": contents})
    assert turns(found) == [("Hi\nthere", [], [], "Yo"), ("Bye", [], [], "")]


def test_a_history_of_calls_that_is_not_the_requests_leaves_calls_unknown():
    found = one({"request": {"contents": "Bye"}, "response": GEMINI})
    assert turns(found) == [("Bye", [], [], "Done")]
    assert found.turns[0].unknown_calls


def vercel(*parts, **beside):
    return [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Yo", "parts": list(parts), **beside},
    ]


INVOKED = {"state": "result", "toolCallId": "c", "toolName": "f", "args": {}, "result": "ok"}


@pytest.mark.parametrize(
    "messages",
    [
        vercel(YO, toolInvocations=[INVOKED]),
        vercel({"type": "tool-invocation", "toolInvocation": INVOKED}, YO, toolInvocations=[INVOKED]),
    ],
)
def test_invocations_beside_the_parts_count_once(messages):
    assert turns(one(messages)) == [("Hi", [("f", {})], [("f", "ok")], "Yo")]


def test_requests_for_approval_are_no_calls():
    asks = {"type": "tool-approval-request", "approvalId": "a", "toolCallId": "c"}
    says = {"type": "tool-approval-response", "approvalId": "a", "approved": False}
    denied = {"type": "execution-denied", "reason": "no"}
    result = {"type": "tool-result", "toolCallId": "c", "toolName": "f", "output": denied}
    call = {"type": "tool-call", "toolCallId": "c", "toolName": "f", "input": {}}
    told = [HI, {"role": "assistant", "content": [call, asks]}, {"role": "tool", "content": [says, result]}]
    [turn] = one([*told, {"role": "assistant", "content": [YO]}]).turns
    assert [call.name for call in turn.tool_calls] == ["f"]
    assert [(each.name, each.error) for each in turn.tool_responses] == [("f", "no")]


ASKS = {"type": "tool-approval-request", "approvalId": "a", "toolCallId": "c"}
CALLS = {"type": "tool-call", "toolCallId": "c", "toolName": "f", "input": {}}
RAN = {"type": "tool-result", "toolCallId": "c", "toolName": "f", "output": {"type": "text", "value": "ok"}}


def says(**fields):
    return {"type": "tool-approval-response", "approvalId": "a", **fields}


def ui(state, **fields):
    return [{"type": "tool-f", "toolCallId": "c", "state": state, "input": {}, **fields}]


def invoked(state):
    return [{"type": "tool-invocation", "toolInvocation": {"state": state, "toolName": "f", "args": {}}}]


REFUSED = {"approval": {"id": "a", "approved": False}}
WHY = {"approval": {"id": "a", "approved": False, "reason": "too dear"}}


@pytest.mark.parametrize(
    ("parts", "error", "state"),
    [
        (ui("output-available", output="ok"), None, None),
        (ui("output-denied", **REFUSED), "output-denied", None),
        (ui("approval-responded", **REFUSED), "approval refused", None),
        (ui("approval-responded", **WHY), "too dear", None),
        (ui("approval-responded", approval={"id": "a", "approved": True}), None, "approval-responded"),
        (ui("approval-responded"), None, "approval-responded"),
        (ui("approval-requested", approval={"id": "a"}), None, "approval-requested"),
        (ui("input-streaming"), None, "input-streaming"),
        (ui("input-available"), None, "input-available"),
        (ui("input-available", errorText=None), None, "input-available"),
        (ui("output-available", output="a", preliminary=True), None, "preliminary"),
        (ui("a state of next year"), None, "a state of next year"),
        (invoked("call"), None, "call"),
        (invoked("partial-call"), None, "partial-call"),
        ([CALLS], None, None),
        ([CALLS, ASKS], None, "tool-approval-request"),
        ([CALLS, ASKS, says(approved=False)], "approval refused", None),
        ([CALLS, ASKS, says(approved=False, reason="too dear")], "too dear", None),
        ([CALLS, ASKS, says(approved=True)], None, None),
        ([CALLS, ASKS, says()], None, "tool-approval-response"),
        ([CALLS, ASKS, says(approved=True), RAN], None, None),
    ],
)
def test_calls_that_wait_or_were_refused_are_not_done(parts, error, state):
    [turn] = one([{"role": "user", "parts": [HELLO]}, {"role": "assistant", "parts": [*parts, YO]}]).turns
    assert [call.name for call in turn.tool_calls] == ["f"]
    assert [each.error for each in turn.tool_responses if each.error] == ([error] if error else [])
    said = f"the call 'f' is not done: its state is {state!r}"
    assert [problem.message for problem in turn.findings] == ([said] if state else [])
    assert turn.unknown_calls == (said if state else None)


def item(kind, status, **fields):
    return {"type": kind, "call_id": "c", "name": "f", "status": status, **fields}


FOUND = {"type": "function_call_output", "call_id": "c", "output": "ok"}


@pytest.mark.parametrize(
    ("items", "error", "state"),
    [
        ([item("function_call", "completed"), FOUND], None, None),
        ([item("function_call", "completed")], None, None),
        ([item("function_call", None)], None, None),
        ([item("function_call", "incomplete")], True, None),
        ([item("function_call", "incomplete", arguments='{"n": 2')], True, None),
        ([item("function_call", "incomplete"), FOUND], True, None),
        ([item("function_call", "in_progress"), FOUND], None, "in_progress"),
        ([item("function_call", "failed"), FOUND], True, None),
        ([item("custom_tool_call", "in_progress")], None, "in_progress"),
        ([item("mcp_call", "completed", output="ok")], None, None),
        ([item("mcp_call", "calling")], None, "calling"),
        ([item("mcp_call", "failed")], True, None),
        ([item("file_search_call", "searching")], None, "searching"),
        ([item("file_search_call", "incomplete", results=[])], None, "incomplete"),
        ([item("file_search_call", "failed")], True, None),
        ([item("image_generation_call", "generating", result="x")], None, None),
    ],
)
def test_items_that_are_not_done(items, error, state):
    [turn] = one({"input": [{"role": "user", "content": "Hi"}, *items, SPOKEN]}).turns
    assert [each.error for each in turn.tool_responses if each.error] == ([error] if error else [])
    [call] = turn.tool_calls
    said = f"the call {call.name!r} is not done: its state is {state!r}"
    assert turn.unknown_calls == (said if state else None)


def test_files_and_unfinished_texts_of_ui_messages_are_said():
    asked = {"role": "user", "content": "Hi", "experimental_attachments": [{"url": "data:,x"}]}
    found = one([asked, {"role": "assistant", "parts": [{**YO, "state": "streaming"}]}])
    assert [turn.user for turn in found.turns] == ["Hi"]
    assert [problem.message for problem in found.turns[0].findings] == [
        "a part of the type 'file' is not read; a text was not all there when the message was stored"
    ]
    assert found.turns[0].unknown_words and not found.turns[0].unknown_calls


def chunk(delta, finish=None):
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"object": "chat.completion.chunk", "choices": [choice]}


def piece(call_id, name, args):
    return {"index": 0, "id": call_id, "function": {"name": name, "arguments": args}}


@pytest.mark.parametrize(
    ("deltas", "calls", "said"),
    [
        ([{"tool_calls": [piece("1", "f", "{}")]}, {"tool_calls": [piece("2", "g", "{}")]}], ["f", "g"], ""),
        ([{"tool_calls": [piece("1", "f", "{")]}, {"tool_calls": [piece(None, None, "}")]}], ["f"], ""),
        ([{"function_call": {"name": "f", "arguments": "{"}}, {"function_call": {"arguments": "}"}}],
         ["f"], ""),
        ([{"audio": {"transcript": "Y"}}, {"audio": {"transcript": "o"}}], [], "Yo"),
    ],
)  # fmt: skip
def test_calls_and_speech_in_chunks(deltas, calls, said):
    stream = [*map(chunk, deltas), chunk({}, "stop")]
    [turn] = one({"request": {"model": "m", "messages": [HI]}, "response": stream}).turns
    assert [(call.name, call.args) for call in turn.tool_calls] == [(name, {}) for name in calls]
    assert turn.agent == said


def test_alternatives_of_a_reply_are_said():
    choices = [{"index": place, "message": {"content": said}} for place, said in ((1, "B"), (0, "A"))]
    found = one({"request": {"model": "m", "messages": [HI]}, "response": {"choices": choices}})
    assert (found.turns[0].agent, findings(found)) == ("A", ["UnreadPart"])


@pytest.mark.parametrize(
    ("beside", "said", "ended", "spent"),
    [
        ({"additional_kwargs": {"refusal": "No."}}, "No.", None, (None, None)),
        ({"additional_kwargs": {"audio": {"transcript": "Yo"}}}, "Yo", None, (None, None)),
        ({"content": "Yo", "response_metadata": {"finish_reason": "stop", "token_usage": {
            "prompt_tokens": 5, "completion_tokens": 2}}}, "Yo", "normally", (5, 2)),
        ({"content": "Yo", "response_metadata": {"status": "incomplete", "incomplete_details": {
            "reason": "max_output_tokens"}}}, "Yo", "limit", (None, None)),
    ],
)  # fmt: skip
def test_what_langchain_keeps_beside_the_content(beside, said, ended, spent):
    found = one({"messages": [{"type": "human", "content": "Hi"}, {"type": "ai", "content": "", **beside}]})
    assert (found.turns[0].agent, found.ended, tokens(found), findings(found)) == (said, ended, [spent], [])


def test_a_summary_in_place_of_earlier_messages_is_said():
    call = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    summary = {"role": "assistant", "content": [{"type": "compaction", "content": "The user asked."}]}
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "ok"}]}
    told = [HI, {"role": "assistant", "content": [call]}, result]
    assert findings(one({"messages": told})) == []
    found = one({"messages": [summary, *told]})
    assert findings(found) == ["MissingHistory"]
    assert found.turns[0].unknown_calls and found.turns[0].unknown_words


def test_a_reply_that_pauses_is_no_end():
    reply = {"type": "message", "role": "assistant", "content": [YO], "stop_reason": "pause_turn"}
    request = {"model": "m", "max_tokens": 9, "messages": [HI]}
    found = one({"request": request, "response": reply})
    assert (found.turns[0].agent, found.ended, found.ended_detail) == ("Yo", None, "pause_turn")
    more = [HI, {"role": "assistant", "content": [YO]}]
    last = {**reply, "stop_reason": "end_turn"}
    found = one(
        {"request": request, "response": reply}, {"request": {**request, "messages": more}, "response": last}
    )
    assert (len(found.turns), found.ended) == (1, "normally")


def kept(name, asked, said, time, **request):
    output = [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": said}]}]
    reply = {"id": name, "object": "response", "created_at": time, "status": "completed", "output": output}
    return {"session_id": "s", "request": {"model": "m", "input": asked, **request}, "response": reply}


FIRST, SECOND = kept("1", "Hi", "Yo", 10), kept("2", "And?", "No", 11, previous_response_id="1")


@pytest.mark.parametrize("order", [[FIRST, SECOND], [SECOND, FIRST]])
def test_replies_that_name_the_one_before_are_put_in_order(order):
    found = one(*order)
    assert (turns(found), findings(found)) == ([("Hi", [], [], "Yo"), ("And?", [], [], "No")], [])


def test_two_requests_that_follow_one_reply_are_branches():
    found = one(FIRST, SECOND, kept("3", "Or?", "Yes", 12, previous_response_id="1"))
    assert turns(found) == [("Hi", [], [], "Yo"), ("Or?", [], [], "Yes")]
    assert findings(found) == ["OtherBranch"]
    assert found.turns[0].unknown_calls


def test_requests_of_a_conversation_that_the_server_keeps_are_put_in_order():
    late, early = (kept(name, name, "Yo", time, conversation="c") for name, time in (("2", 11), ("1", 10)))
    found = one(late, early)
    assert [turn.user for turn in found.turns] == ["1", "2"]
    assert findings(found) == ["MissingHistory"]


def test_a_reminder_after_a_result_is_no_turn():
    call = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": "ok"}
    note = {"type": "text", "text": "<system-reminder>Mind the list.</system-reminder>\n"}
    told = [HI, {"role": "assistant", "content": [call]}]
    answer = {"role": "assistant", "content": [YO]}
    found = one({"messages": [*told, {"role": "user", "content": [result, note]}, answer]})
    assert turns(found) == [("Hi", [("f", {})], [("f", "ok")], "Yo")]
    asked = {"type": "text", "text": f"{note['text']}Why?{note['text']}"}
    for block in (YO, asked):
        found = one({"messages": [*told, {"role": "user", "content": [result, block]}, answer]})
        assert [turn.user for turn in found.turns] == ["Hi", block["text"]]


CALLED = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
RESULT = {"type": "function_call_output", "call_id": "c", "output": "ok"}
TOLD = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Yo"}]}
ITEMS = [{"type": "message", **HI}, CALLED, RESULT, TOLD]


@pytest.mark.parametrize("items", [ITEMS, ITEMS[::-1]])
def test_a_page_of_items_is_read_from_the_oldest_on(items):
    found = one({"object": "list", "data": items, "has_more": False})
    assert (turns(found), findings(found)) == ([("Hi", [("f", {})], [("f", "ok")], "Yo")], [])
    assert findings(one({"object": "list", "data": items, "has_more": True})) == ["MissingHistory"]
    short = [each for each in items if "role" in each]
    assert turns(one({"object": "list", "data": short})) == [("Hi", [], [], "Yo")]


def test_details_of_tokens_of_any_type_crash_nothing():
    usage = {"prompt_tokens": 1, "prompt_tokens_details": "many", "completion_tokens_details": [1]}
    found = read_value([HI, {"role": "assistant", "content": "Yo", "usage": usage}])
    assert tokens(found.conversations[0]) == [(1, None)]
