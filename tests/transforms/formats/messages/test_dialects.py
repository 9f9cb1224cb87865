"""One conversation in the form of each API or framework, and what is particular about each."""

import json

import pytest

from tests.readings import findings, one, read_value, tokens, turns
from turnwise import read_conversations

ASKED, SAID = "Where is A-17?", "It has shipped."
TWO = [
    (
        ASKED,
        [("get_order", {"id": "A-17"}), ("get_user", {})],
        [("get_order", {"status": "shipped"}), ("get_user", "Ann")],
        SAID,
    ),
    ("Thanks", [], [], "Bye."),
]


def message(role, *parts, key="content"):
    return {"role": role, key: list(parts)}


RESPONSES = [
    {"role": "developer", "content": "Be nice."},
    {"role": "user", "content": ASKED},
    {"type": "reasoning", "id": "rs_1", "summary": []},
    {
        "type": "function_call",
        "call_id": "1",
        "id": "fc_1",
        "name": "get_order",
        "arguments": '{"id": "A-17"}',
    },
    {"type": "function_call", "call_id": "2", "id": "fc_2", "name": "get_user", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "2", "output": "Ann"},
    {"type": "function_call_output", "call_id": "1", "output": '{"status": "shipped"}'},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": SAID}]},
    {"role": "user", "content": [{"type": "input_text", "text": "Thanks"}]},
    {"role": "assistant", "content": "Bye."},
]
TEXT = {"type": "text", "text": '{"status": "shipped"}'}
ANTHROPIC = [
    {"role": "user", "content": ASKED},
    message(
        "assistant",
        {"type": "thinking", "thinking": "Hm.", "signature": "s"},
        {"type": "tool_use", "id": "1", "name": "get_order", "input": {"id": "A-17"}},
        {"type": "tool_use", "id": "2", "name": "get_user", "input": {}},
    ),
    message(
        "user",
        {
            "type": "tool_result",
            "tool_use_id": "1",
            "content": [{"type": "text", "text": '{"status": "shipped"}'}],
        },
        {"type": "tool_result", "tool_use_id": "2", "content": "Ann", "is_error": False},
    ),
    message("assistant", {"type": "text", "text": SAID}),
    message("user", {"type": "text", "text": "Thanks"}),
    message("assistant", {"type": "text", "text": "Bye."}),
]
BEDROCK = [
    message("user", {"text": ASKED}),
    message(
        "assistant",
        {"reasoningContent": {"reasoningText": {"text": "Hm."}}},
        {"toolUse": {"toolUseId": "1", "name": "get_order", "input": {"id": "A-17"}}},
        {"toolUse": {"toolUseId": "2", "name": "get_user", "input": {}}},
    ),
    message(
        "user",
        {"toolResult": {"toolUseId": "1", "content": [{"json": {"status": "shipped"}}]}},
        {"toolResult": {"toolUseId": "2", "content": [{"text": "Ann"}], "status": "success"}},
    ),
    message("assistant", {"text": SAID}),
    message("user", {"text": "Thanks"}),
    message("assistant", {"text": "Bye."}),
]
GEMINI = [
    message("user", {"text": ASKED}, key="parts"),
    message(
        "model",
        {"text": "Hm.", "thought": True},
        {"functionCall": {"name": "get_order", "args": {"id": "A-17"}}},
        {"functionCall": {"name": "get_user"}},
        key="parts",
    ),
    message(
        "user",
        {"functionResponse": {"name": "get_order", "response": {"status": "shipped"}}},
        {"functionResponse": {"name": "get_user", "response": "Ann"}},
        key="parts",
    ),
    message("model", {"text": SAID}, key="parts"),
    message("user", {"text": "Thanks"}, key="parts"),
    message("model", {"text": "Bye."}, key="parts"),
]
GEMINI_IN_PYTHON = [
    message("user", {"text": ASKED, "function_call": None, "thought": None}, key="parts"),
    message(
        "model",
        {"text": None, "function_call": {"id": None, "name": "get_order", "args": {"id": "A-17"}}},
        {"text": None, "function_call": {"id": None, "name": "get_user", "args": {}}},
        key="parts",
    ),
    message(
        "user",
        {
            "function_response": {
                "name": "get_order",
                "response": {"status": "shipped"},
                "will_continue": None,
            }
        },
        {"function_response": {"name": "get_user", "response": "Ann"}},
        key="parts",
    ),
    message("model", {"text": SAID}, key="parts"),
    message("user", {"text": "Thanks"}, key="parts"),
    message("model", {"text": "Bye."}, key="parts"),
]
VERCEL = [
    {"id": "m1", "role": "user", "parts": [{"type": "text", "text": ASKED}]},
    {
        "id": "m2",
        "role": "assistant",
        "parts": [
            {"type": "step-start"},
            {"type": "reasoning", "text": "Hm."},
            {
                "type": "tool-get_order",
                "toolCallId": "1",
                "state": "output-available",
                "input": {"id": "A-17"},
                "output": {"status": "shipped"},
            },
            {
                "type": "dynamic-tool",
                "toolName": "get_user",
                "toolCallId": "2",
                "state": "output-available",
                "input": {},
                "output": "Ann",
            },
            {"type": "step-start"},
            {"type": "text", "text": SAID},
        ],
    },
    {"id": "m3", "role": "user", "parts": [{"type": "text", "text": "Thanks"}]},
    {"id": "m4", "role": "assistant", "parts": [{"type": "text", "text": "Bye.", "state": "done"}]},
]
VERCEL_MODEL = [
    {"role": "system", "content": "Be nice."},
    {"role": "user", "content": ASKED},
    message(
        "assistant",
        {"type": "tool-call", "toolCallId": "1", "toolName": "get_order", "input": {"id": "A-17"}},
        {"type": "tool-call", "toolCallId": "2", "toolName": "get_user", "args": {}},
    ),
    message(
        "tool",
        {
            "type": "tool-result",
            "toolCallId": "1",
            "toolName": "get_order",
            "output": {"type": "json", "value": {"status": "shipped"}},
        },
        {"type": "tool-result", "toolCallId": "2", "toolName": "get_user", "result": "Ann"},
    ),
    message("assistant", {"type": "text", "text": SAID}),
    {"role": "user", "content": "Thanks"},
    {"role": "assistant", "content": "Bye."},
]
VERCEL_4 = [
    {"role": "user", "content": ASKED},
    {
        "role": "assistant",
        "content": SAID,
        "toolInvocations": [
            {
                "state": "result",
                "toolCallId": "1",
                "toolName": "get_order",
                "args": {"id": "A-17"},
                "result": {"status": "shipped"},
            },
            {"state": "result", "toolCallId": "2", "toolName": "get_user", "args": {}, "result": "Ann"},
        ],
    },
    {"role": "user", "content": "Thanks"},
    {"role": "assistant", "content": "Bye."},
]
LANGCHAIN = [
    {"type": "system", "content": "Be nice."},
    {"type": "human", "content": ASKED},
    {
        "type": "ai",
        "content": [{"type": "tool_use", "id": "1", "name": "get_order", "input": {"id": "A-17"}}],
        "tool_calls": [
            {"name": "get_order", "args": {"id": "A-17"}, "id": "1", "type": "tool_call"},
            {"name": "get_user", "args": {}, "id": "2", "type": "tool_call"},
        ],
        "additional_kwargs": {
            "tool_calls": [{"id": "1", "function": {"name": "get_order", "arguments": '{"id": "A-17"}'}}]
        },
    },
    {"type": "tool", "content": '{"status": "shipped"}', "tool_call_id": "1", "status": "success"},
    {"type": "tool", "content": "Ann", "tool_call_id": "2", "status": "success"},
    {"type": "AIMessageChunk", "content": SAID, "tool_calls": []},
    {"type": "human", "content": "Thanks"},
    {"type": "ai", "content": [{"type": "text", "text": "Bye."}]},
]


GENAI = [
    message("system", {"type": "text", "content": "Be nice."}, key="parts"),
    message("user", {"type": "text", "content": ASKED}, key="parts"),
    message(
        "assistant",
        {"type": "reasoning", "content": "Hm."},
        {"type": "tool_call", "id": "1", "name": "get_order", "arguments": {"id": "A-17"}},
        {"type": "tool_call", "id": "2", "name": "get_user", "arguments": "{}"},
        key="parts",
    ),
    message(
        "tool", {"type": "tool_call_response", "id": "1", "response": {"status": "shipped"}}, key="parts"
    ),
    # Pydantic AI's spelling of a result.
    message("user", {"type": "tool_call_response", "id": "2", "result": "Ann"}, key="parts"),
    message("assistant", {"type": "text", "content": SAID}, key="parts"),
    message("user", {"type": "text", "content": "Thanks"}, key="parts"),
    {**message("assistant", {"type": "text", "content": "Bye."}, key="parts"), "finish_reason": "stop"},
]
GENAI_TEXTS = {
    "gen_ai.input.messages": json.dumps(GENAI[:-1]),
    "gen_ai.output.messages": json.dumps(GENAI[-1:]),
}


@pytest.mark.parametrize(
    ("record", "source"),
    [
        (GENAI, "genai_messages"),
        ({"messages": GENAI, "conversation_id": "c"}, "genai_messages"),
        ({"input": GENAI[:-1], "output": GENAI[-1:]}, "genai_messages"),
        ({"input_messages": GENAI[:-1], "output_messages": GENAI[-1:]}, "genai_messages"),
        (GENAI_TEXTS, "genai_messages"),
        ({"input": RESPONSES}, "openai_responses"),
        (RESPONSES, "openai_responses"),
        ({"messages": ANTHROPIC}, "anthropic_messages"),
        (ANTHROPIC, "anthropic_messages"),
        ({"messages": BEDROCK}, "bedrock_converse"),
        ({"contents": GEMINI}, "gemini_contents"),
        (GEMINI, "gemini_contents"),
        ({"contents": GEMINI_IN_PYTHON}, "gemini_contents"),
        ({"id": "chat-1", "messages": VERCEL}, "vercel_messages"),
        (VERCEL, "vercel_messages"),
        ({"messages": VERCEL_MODEL}, "vercel_messages"),
        ({"messages": VERCEL_4}, "vercel_messages"),
        ({"messages": LANGCHAIN}, "langchain_messages"),
        (LANGCHAIN, "langchain_messages"),
        ({"values": {"messages": LANGCHAIN, "step": 3}, "next": []}, "langchain_messages"),
    ],
)
def test_every_form_holds_the_same_conversation(record, source):
    found = one(record)
    assert found.source == source
    assert [
        (user, calls, sorted(results, key=str), said) for user, calls, results, said in turns(found)
    ] == TWO
    assert findings(found) == []


NONE = {"arguments": "{}"}
SEARCH_ERROR = {"type": "web_search_tool_result_error", "error_code": "unavailable"}
CALL = {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"}


@pytest.mark.parametrize(
    ("record", "calls", "results"),
    [
        (
            [{**CALL, "arguments": "{oops"}, {"type": "function_call_output", "call_id": "1", "output": ""}],
            [("f", {"raw": "{oops"})],
            [("f", "", None)],
        ),
        (
            [
                {"type": "mcp_call", "id": "m", "server_label": "s", "name": "f", "error": "down"} | NONE,
            ],
            [("f", {})],
            [("f", None, "down")],
        ),
        (
            [
                {"type": "web_search_call", "id": "w", "status": "completed", "action": {"query": "a"}},
                {"type": "code_interpreter_call", "id": "c", "code": "1", "outputs": [{"logs": "1"}]},
            ],
            [("web_search", {"query": "a"}), ("code_interpreter", {"code": "1"})],
            [("code_interpreter", [{"logs": "1"}], None)],
        ),
        (
            [
                {"type": "custom_tool_call", "call_id": "1", "name": "sql", "input": "SELECT 1"},
                {"type": "custom_tool_call_output", "call_id": "1", "output": "1"},
            ],
            [("sql", {"input": "SELECT 1"})],
            [("sql", "1", None)],
        ),
        (
            [message("assistant", {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
                     {"type": "web_search_tool_result", "tool_use_id": "s",
                      "content": SEARCH_ERROR})],
            [("web_search", {})],
            [("web_search", SEARCH_ERROR, "unavailable")],
        ),
        (
            [message("assistant", {"type": "tool_use", "id": "1", "name": "f", "input": {}}),
             message("user", {"type": "tool_result", "tool_use_id": "1", "content": "no", "is_error": True})],
            [("f", {})],
            [("f", "no", True)],
        ),
        (
            [message("assistant", {"toolUse": {"toolUseId": "1", "name": "f", "input": {}}}),
             message("user", {"toolResult": {"toolUseId": "1", "content": [{"text": "no"}],
                                             "status": "error"}})],
            [("f", {})],
            [("f", "no", True)],
        ),
        (
            [message("model", {"executableCode": {"language": "PYTHON", "code": "1"}},
                     {"codeExecutionResult": {"outcome": "OUTCOME_FAILED", "output": "no"}}, key="parts")],
            [("code_execution", {"language": "PYTHON", "code": "1"})],
            [("code_execution", "no", True)],
        ),
        (
            [message("model", {"functionCall": {"name": "f", "args": {}}}, key="parts"),
             message("user", {"functionResponse": {"name": "f", "response": {"error": "no"}}}, key="parts")],
            [("f", {})],
            [("f", {"error": "no"}, "no")],
        ),
        (
            [message("assistant", {"type": "tool-a-b", "toolCallId": "1", "state": "output-error",
                                   "input": {}, "errorText": "no"}, key="parts")],
            [("a-b", {})],
            [("a-b", None, "no")],
        ),
        (
            [message("assistant", {"type": "tool-call", "toolCallId": "1", "toolName": "f", "input": {}}),
             message("tool", {"type": "tool-result", "toolCallId": "1", "toolName": "f",
                              "output": {"type": "error-text", "value": "no"}})],
            [("f", {})],
            [("f", "no", "no")],
        ),
        (
            [{"type": "ai", "content": "", "tool_calls": [{"name": "f", "args": {}, "id": "1"}]},
             {"type": "tool", "content": "no", "tool_call_id": "1", "status": "error"}],
            [("f", {})],
            [("f", "no", "no")],
        ),
    ],
)  # fmt: skip
def test_calls_and_their_errors(record, calls, results):
    asked = message("user", {"type": "text", "text": "Hi"})
    if "parts" in record[0]:
        asked = message(
            "user", {"text": "Hi"} if record[0]["role"] == "model" else asked["content"][0], key="parts"
        )
    [turn] = one([asked, *record]).turns
    assert turn.user == "Hi"
    assert [(call.name, call.args) for call in turn.tool_calls] == calls
    assert [(r.name, r.response, r.error) for r in turn.tool_responses] == results


def test_a_result_beside_a_text_is_a_result_and_then_a_turn():
    answer = message(
        "user",
        {"type": "tool_result", "tool_use_id": "1", "content": "ok"},
        {"type": "text", "text": "Now stop"},
    )
    call = message("assistant", {"type": "tool_use", "id": "1", "name": "f", "input": {}})
    found = one(
        [{"role": "user", "content": "Go"}, call, answer, {"role": "assistant", "content": "Stopped"}]
    )
    assert turns(found) == [("Go", [("f", {})], [("f", "ok")], ""), ("Now stop", [], [], "Stopped")]


def test_texts_that_citations_divide_are_one():
    parts = [{"type": "text", "text": text} for text in ("The ", "answer", ".")]
    assert (
        one([{"role": "user", "content": "?"}, message("assistant", *parts, BLOCK)]).turns[0].agent
        == "The answer."
    )


REMOVAL = {"type": "remove", "id": "1"}
ORPHAN = {"type": "function_call_output", "call_id": "9", "output": ""}
BLOCK = {"type": "tool_use", "id": "1", "name": "f", "input": {}}


@pytest.mark.parametrize(
    ("record", "kind"),
    [
        ({"messages": [*LANGCHAIN, {"type": "remove", "id": "x"}]}, None),
        ({"messages": [{"type": "ai", "content": "a", "id": "1"}, *LANGCHAIN, REMOVAL]}, "UndoneTurns"),
        ({"messages": [*LANGCHAIN, {"type": "ai", "content": [{"type": "hologram"}]}]}, "UnreadPart"),
        ({"messages": [*ANTHROPIC, message("assistant", {"type": "new_tool_call"})]}, "UnreadPart"),
        ({"messages": [*ANTHROPIC, {"role": "oracle", "content": "x"}]}, "UnreadPart"),
        ({"messages": [*BEDROCK, message("assistant", {"newUse": {}})]}, "UnreadPart"),
        ({"contents": [*GEMINI, message("model", {"inlineData": {"data": ""}}, key="parts")]}, "UnreadPart"),
        ({"messages": [*VERCEL, message("assistant", {"type": "new-call"}, key="parts")]}, "UnreadPart"),
        ({"input": [*RESPONSES, {"type": "new_call", "name": "f"}]}, "UnreadPart"),
        ({"input": [*RESPONSES, {"type": "item_reference", "id": "x"}]}, "MissingHistory"),
        ({"input": RESPONSES, "previous_response_id": "resp_0"}, "MissingHistory"),
        ({"input": [*RESPONSES, CALL]}, "CallWithoutResult"),
        ({"input": [*RESPONSES, ORPHAN]}, "ResultWithoutCall"),
    ],
)  # fmt: skip
def test_what_is_not_read_is_said_and_leaves_calls_unknown(record, kind):
    found = one(record)
    assert findings(found) == ([kind] if kind else [])
    known = not any(turn.unknown_calls or turn.unknown_words for turn in found.turns)
    assert known == (kind is None)


def test_media_of_the_user_leave_nothing_unknown():
    image = {"type": "image", "source": {"type": "base64", "data": ""}}
    found = one([message("user", {"type": "text", "text": "What is it?"}, image), *ANTHROPIC[1:]])
    assert findings(found) == ["UnreadPart"]
    assert found.turns[0].user == "What is it?"
    assert found.turns[0].unknown_calls is None


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"messages": [*ANTHROPIC, *BEDROCK]}, "several formats: anthropic_messages, bedrock_converse"),
        ({"input": [CALL, 7]}, "input.1: a JSON object is needed, not int"),
        (
            {"input": [{**CALL, "name": 3.5, "call_id": {}}, {"role": "user", "content": [1]}]},
            "content.0: a JSON",
        ),
        (
            {"messages": [*ANTHROPIC, {"role": "user", "content": 7}]},
            "content: a JSON array is needed, not int",
        ),
        ({"contents": [{"parts": [{"text": "a"}, 7]}]}, "parts.1: a JSON object is needed"),
        (
            {"messages": [{"type": "ai", "content": "", "tool_calls": {"name": "f"}}]},
            "tool_calls: a JSON array",
        ),
    ],
)
def test_a_value_of_the_wrong_type_is_a_failure(record, message):
    found = read_value(record)
    assert found.conversations == []
    assert message in found.failures[0].message


def test_a_session_and_its_state():
    state = {
        "values": {"messages": LANGCHAIN, "cart": ["A-17"]},
        "config": {"configurable": {"thread_id": "t-1"}},
    }
    found = one(state)
    assert (found.conversation_id, found.state) == ("t-1", {"cart": ["A-17"]})


def test_tokens_and_the_end_of_langchain_messages():
    usage = {"input_tokens": 5, "output_tokens": 2, "input_token_details": {"cache_read": 1}}
    said = {
        "type": "ai",
        "content": "x",
        "usage_metadata": usage,
        "response_metadata": {"finish_reason": "length"},
    }
    found = one([{"type": "human", "content": "a"}, said])
    assert tokens(found) == [(5, 2)]
    assert (found.ended, found.ended_detail) == ("limit", "length")


@pytest.mark.parametrize("key", ["input", "items"])
def test_items_under_a_key_of_lists_are_known(key):
    found = one({"conversation_id": "c", key: RESPONSES})
    assert findings(found) == [] and found.turns[0].unknown_calls is None


def test_chunks_of_a_streamed_langchain_message_are_one():
    pieces = [{"index": 0, "id": "1", "name": "get", "args": '{"a"'}, {"index": 0, "args": ": 1}"}]
    chunks = [
        {"content": "Hel", "tool_call_chunks": pieces[:1]},
        {"content": "lo", "tool_call_chunks": pieces[1:]},
    ]
    dumped = [{"type": "AIMessageChunk", "data": chunk} for chunk in chunks]
    found = one([{"type": "human", "data": {"content": "hi"}}, *dumped])
    assert turns(found) == [("hi", [("get", {"a": 1})], [], "Hello")]
    parts = [{"type": "text", "text": "do"}, {"type": "text", "text": "ne"}]
    assert (
        one([{"type": "human", "content": "hi"}, {"type": "ai", "content": parts}]).turns[0].agent == "done"
    )


def test_what_is_particular_about_the_messages_of_opentelemetry():
    said, hi = {"type": "text", "content": "Hello"}, {"type": "text", "content": "Hi"}
    call = {"type": "server_tool_call", "id": "1", "name": "f", "server_tool_call": {"q": 1}}
    result = {"type": "server_tool_call_response", "id": "1", "server_tool_call_response": {"r": 2}}
    found = one([message("user", hi, key="parts"), message("assistant", call, result, said, key="parts")])
    assert (turns(found), findings(found)) == ([("Hi", [("f", {"q": 1})], [("f", {"r": 2})], "Hello")], [])
    hidden = one([message(role, {"type": "text"}, said, key="parts") for role in ("user", "assistant")])
    assert findings(hidden) == ["ContentNotRecorded"] and hidden.turns[0].unknown_words
    spoken = one({"messages": [message("user", hi, {"type": "blob", "content": "aGk="}, key="parts"),
                               message("assistant", said, key="parts")]})  # fmt: skip
    assert (turns(spoken), findings(spoken)) == ([("Hi", [], [], "Hello")], ["UnreadPart"])


def snapshot(number, step, thread="t-1", **more):
    """Returns a snapshot of a thread that holds so many messages, as get_state_history lists it."""
    config = {"configurable": {"thread_id": thread, "checkpoint_ns": "", "checkpoint_id": f"1f0{step}"}}
    return {
        "values": {"messages": LANGCHAIN[:number], "cart": ["A-17"]} if number else {},
        "next": ["agent"] if number < len(LANGCHAIN) else [],
        "config": config if thread else {},
        "metadata": {"source": "loop", "step": step},
        "created_at": f"2026-01-01T10:00:0{step}+00:00",
        "parent_config": None,
        "tasks": [],
        **more,
    }


HISTORY = [snapshot(8, 4), snapshot(6, 3), snapshot(3, 2), snapshot(0, 1)]


@pytest.mark.parametrize("values", [HISTORY, HISTORY[::-1]])
def test_the_newest_snapshot_of_a_thread_is_its_conversation(values):
    other = snapshot(6, 9, "t-2")
    inner = snapshot(3, 9, checkpoint={"checkpoint_ns": "tool:1"}, config={})
    inner["checkpoint"]["thread_id"] = "t-1"
    found = {c.conversation_id: c for c in read_value(*values, other, inner).conversations}
    assert turns(found["t-1"]) == TWO and found["t-1"].source == "langchain_messages"
    assert found["t-1"].state == {"cart": ["A-17"]} and findings(found["t-1"]) == []
    assert turns(found["t-2"]) == TWO[:1]


def test_snapshots_as_the_arrays_that_json_makes_of_named_tuples(tmp_path):
    arrays = [list(each.values()) for each in HISTORY]
    (tmp_path / "history.json").write_text(json.dumps(arrays))
    (tmp_path / "one.json").write_text(json.dumps(arrays[0]))
    (tmp_path / "lines.jsonl").write_text("".join(json.dumps(each) + "\n" for each in arrays))
    for path in tmp_path.iterdir():
        found = read_conversations(path)
        assert [c.conversation_id for c in found] == ["t-1"] and turns(found[0]) == TWO
        assert findings(found[0]) == [] and found[0].state == {"cart": ["A-17"]}
    nameless = [list(snapshot(number, step, "").values()) for number, step in ((8, 3), (6, 2))]
    (tmp_path / "nameless.json").write_text(json.dumps(nameless))
    assert [turns(c) for c in read_conversations(tmp_path / "nameless.json")] == [TWO]
    assert [turns(c) for c in read_conversations(arrays)] == [TWO]


@pytest.mark.parametrize(
    ("newest", "ended"),
    [
        ({}, (None, None)),
        ({"tasks": [{"name": "tools", "error": None}], "next": ["tools"]}, (None, None)),
        ({"tasks": [{"name": "tools", "interrupts": [{"value": "?"}]}], "next": ["tools"]}, (None, None)),
        ({"tasks": [{"name": "tools", "error": "boom"}], "next": ["tools"]}, ("agent_error", "boom")),
        ({"tasks": [{}, {"error": "boom"}]}, ("agent_error", "boom")),
    ],
)
def test_an_error_of_a_task_is_the_end_of_its_thread(newest, ended):
    for thread in ("t-1", ""):
        found = one(snapshot(8, 4, thread, **newest))
        assert (found.ended, found.ended_detail) == ended
    failed = snapshot(6, 3, tasks=[{"error": "boom"}])
    assert one(snapshot(8, 4), failed).ended is None


def test_a_thread_whose_newest_snapshot_lacks_earlier_messages():
    kept = snapshot(0, 5) | {"values": {"messages": LANGCHAIN[6:]}}
    found = one(kept, *HISTORY)
    assert turns(found) == TWO[1:] and findings(found) == ["OtherBranch"] and found.turns[0].unknown_calls


def test_snapshots_that_name_no_thread():
    history = [snapshot(number, step, "") for number, step in ((8, 3), (6, 2), (0, 1))]
    assert turns(one(history)) == TWO
    states = [history[0], history[1] | {"values": {"messages": LANGCHAIN[6:]}}]
    assert [turns(c) for c in read_value(states).conversations] == [TWO, TWO[1:]]


def test_a_cache_mark_of_langchain_is_no_part():
    content = [{"type": "text", "text": "q"}, {"cachePoint": {"type": "default"}}]
    record = [{"type": "human", "content": content}, {"type": "ai", "content": "done"}]
    found = one(record)
    assert (turns(found)[0][0], findings(found), found.turns[0].unknown_calls) == ("q", [], None)
