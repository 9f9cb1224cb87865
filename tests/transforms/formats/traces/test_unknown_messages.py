"""What no reader knows of the messages of spans: it is a finding, in and out, and never the user's words."""
# ruff: noqa: E501

import json
from pathlib import Path
from typing import Any

import pytest

from tests.readings import read_value, turns
from turnwise.pipeline.cli.main import main
from turnwise.schemas.conversation import Turn

REPORTED = Path(__file__).parents[5] / "shared/fixtures/reported"
USER = {"role": "user", "content": "Delete it?"}
DONE = {"role": "assistant", "content": "Done."}
NEW_PART = {"type": "skill_v9", "name": "delete", "input": {"id": 1}}
CALL = {"type": "tool_call", "id": "1", "name": "delete", "arguments": {"id": 1}}
RESULT = {"type": "tool_call_response", "id": "1", "response": "ok"}
CRITIC = {"role": "critic", "content": "Too short."}


def record(held: Any, **keys: Any) -> dict[str, Any]:
    ids = {"trace_id": "0af7651916cd43dd8448eb211c8031aa", "span_id": "b7ad6b7169203301"}
    times = {"start_time": 1760000000000000000, "end_time": 1760000001000000000}
    return {**ids, "name": "chat m", **times, "attributes": held, **keys}


def chat(given: Any, said: Any = (DONE,)) -> dict[str, Any]:
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.conversation.id": "c1",
        "gen_ai.input.messages": json.dumps(given),
        "gen_ai.output.messages": json.dumps(list(said)),
    }


def read(value: dict[str, Any]) -> Turn:
    found = read_value(value)
    assert not found.failures
    [turn] = found.conversations[0].turns
    return turn


def with_event(name: str, **held: Any) -> dict[str, Any]:
    first = {"name": "gen_ai.user.message", "attributes": {"content": "Delete it?"}}
    last = {"name": "gen_ai.choice", "attributes": {"finish_reason": "stop", "message": json.dumps(DONE)}}
    events = [first, {"name": name, "attributes": held}, last]
    return record({"gen_ai.operation.name": "chat", "gen_ai.conversation.id": "c1"}, events=events)


def numbered(**keys: Any) -> dict[str, Any]:
    plain = {
        "openinference.span.kind": "LLM",
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": "Delete it?",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": "Done.",
    }
    return record({**plain, **{f"llm.input_messages.{k.replace('__', '.')}": v for k, v in keys.items()}})


def prompts(**keys: Any) -> dict[str, Any]:
    plain = {
        "llm.request.type": "chat",
        "gen_ai.prompt.0.role": "user",
        "gen_ai.prompt.0.content": "Delete it?",
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.content": "Done.",
    }
    return record({**plain, **{f"gen_ai.prompt.{k.replace('__', '.')}": v for k, v in keys.items()}})


def of_vercel(**held: Any) -> dict[str, Any]:
    plain = {"ai.operationId": "ai.generateText.doGenerate", "ai.response.text": "Done."}
    said = {"ai.prompt.messages": json.dumps([USER])}
    return record({**plain, **said, **{k.replace("__", "."): json.dumps(v) for k, v in held.items()}})


def of_adk(request: Any) -> dict[str, Any]:
    reply = json.dumps({"content": {"role": "model", "parts": [{"text": "Done."}]}})
    held = {"gcp.vertex.agent.llm_request": json.dumps(request), "gcp.vertex.agent.llm_response": reply}
    return record({**held, "gcp.vertex.agent.event_id": "e"}, name="call_llm")


def of_store(given: Any) -> dict[str, Any]:
    held = {"langfuse.observation.type": "generation", "langfuse.observation.output": "Done."}
    return record({**held, "langfuse.observation.input": json.dumps(given)})


ASKED = {"role": "user", "parts": [{"text": "Delete it?"}]}
PYDANTIC = [
    {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Delete it?"}]},
    {"kind": "response", "parts": [{"part_kind": "skill-v9", "name": "delete"}]},
]
UNKNOWN_PARTS = {
    "a part of the agent": record(chat([USER, {"role": "assistant", "parts": [NEW_PART]}])),
    "of the user": record(chat([{"role": "user", "content": [{"type": "text", "text": "Delete it?"}, NEW_PART]}])),
    "of a tool": record(chat([USER, {"role": "tool", "parts": [NEW_PART]}])),
    "of the reply": record(chat([USER], [{"role": "assistant", "content": [NEW_PART, {"type": "text", "text": "Done."}]}])),
    "beside a text": record(chat([USER, {"role": "assistant", "content": "hm", "parts": [NEW_PART]}])),
    "named by its key": record(chat([USER, {"role": "model", "parts": [{"skillCallV9": {"name": "delete"}}]}])),
    "in a text": record(chat([USER, {"role": "assistant", "content": json.dumps([NEW_PART])}])),
    "no object": record(chat([USER, {"role": "assistant", "content": [5]}])),
    "content of another type": record(chat([USER, {"role": "assistant", "content": 5}])),
    "a key of a part": record(chat([USER, {"role": "assistant", "content": [{"type": "text", "text": "x", "skills": [NEW_PART]}]}])),
    "a key of a message": record(chat([USER, {"role": "assistant", "content": "", "tool_calls_v2": [NEW_PART]}])),
    "an unknown type of call": record(chat([USER, {"role": "assistant", "tool_calls": [NEW_PART]}])),
    "calls that are no list": record(chat([USER, {"role": "assistant", "tool_calls": {"0": NEW_PART}}])),
    "a call that is a text": record(chat([USER, {"role": "assistant", "tool_calls": ["delete"]}])),
    "an older call that is a text": record(chat([USER, {"role": "assistant", "function_call": "delete"}])),
    "numbered": numbered(**{"1__message__role": "assistant", "1__message__contents__0__message_content__type": "skill_v9"}),
    "a numbered key": numbered(**{"1__message__role": "assistant", "1__message__calls_v2__0__name": "delete"}),
    "a numbered prompt": prompts(**{"1__role": "assistant", "1__tool_calls__0__type": "skill_v9"}),
    "a block in a prompt": prompts(**{"1__role": "assistant", "1__content": json.dumps([NEW_PART])}),
    "in an event": with_event("gen_ai.assistant.message", content=json.dumps([{"skillUse": {"name": "delete"}}])),
    "a call in an event": with_event("gen_ai.assistant.message", tool_calls=json.dumps([NEW_PART])),
    "of Vercel": of_vercel(ai__prompt__messages=[USER, {"role": "assistant", "content": [{"type": "skill-v9"}]}]),
    "a call of Vercel": of_vercel(ai__response__toolCalls=[{"type": "skill-v9", "toolName": "delete"}]),
    "of google-adk": of_adk({"contents": [ASKED, {"role": "model", "parts": [{"skill_v9": {"name": "delete"}}]}]}),
    "of Langfuse": of_store({"messages": [USER, {"role": "assistant", "content": [NEW_PART]}]}),
    "of Pydantic AI": record(chat(PYDANTIC)),
    "of LlamaIndex": record(chat([USER, {"role": "assistant", "blocks": [{"block_type": "skill_v9"}]}])),
    "attributes in pairs": record([[k, v] for k, v in chat([USER, {"role": "assistant", "content": [NEW_PART]}]).items()]),
    "attributes with names": record([{"name": k, "value": v} for k, v in chat([USER, {"role": "assistant", "content": [NEW_PART]}]).items()]),
    "an attribute without a key": record([*({"key": k, "value": v} for k, v in chat([USER]).items()), "gen_ai.x"]),
}  # fmt: skip


@pytest.mark.parametrize("name", UNKNOWN_PARTS)
def test_a_part_of_an_unknown_type_leaves_the_calls_unknown(name: str) -> None:
    turn = read(UNKNOWN_PARTS[name])
    assert (turn.user, turn.agent, turn.tool_calls) == ("Delete it?", "Done.", [])
    assert turn.unknown_calls and turn.findings


UNKNOWN_ROLES = {
    "a role": record(chat([USER, CRITIC])),
    "before the user": record(chat([CRITIC, DONE, USER, CRITIC])),
    "a role in parts": record(chat([USER, {"role": "critic", "parts": [{"type": "text", "content": "x"}]}])),
    "a role that is no text": record(chat([USER, {"role": 5, "content": "x"}])),
    "a type": record(chat([USER, {"type": "function_critic", "content": "x"}])),
    "a class of LangChain": record(chat([USER, {"lc": 1, "id": ["x", "CriticMessage"], "kwargs": {"content": "x"}}])),
    "no role": record(chat([USER, {"content": "x"}])),
    "no message": record(chat([USER, {"skill": {"name": "delete"}}])),
    "another agent of AutoGen": record(chat([USER, {"type": "UserMessage", "source": "critic", "content": "x"}])),
    "numbered": numbered(**{"1__message__role": "critic", "1__message__content": "x"}),
    "a wrapper": numbered(**{"1__note__role": "critic"}),
    "a number that is none": numbered(x__message__role="assistant"),
    "a prompt": prompts(**{"1__role": "critic", "1__content": "x"}),
    "an event": with_event("gen_ai.critic.message", content="x"),
    "the role of an event": with_event("gen_ai.assistant.message", role="critic", content="x"),
    "Vercel": of_vercel(ai__prompt__messages=[USER, CRITIC]),
    "google-adk": of_adk({"contents": [ASKED, {"role": "critic", "parts": [{"text": "x"}]}]}),
    "Langfuse": of_store([USER, CRITIC]),
    "a prompt as one attribute": record(
        {"gen_ai.operation.name": "chat", "gen_ai.prompt": json.dumps([USER, CRITIC]), "gen_ai.completion": "Done."}
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", UNKNOWN_ROLES)
def test_a_message_of_an_unknown_role_is_nobodys(name: str) -> None:
    turn = read(UNKNOWN_ROLES[name])
    assert (turn.user, turn.agent) == ("Delete it?", "Done.")
    assert (
        turn.unknown_calls
        and turn.unknown_words
        and turn.unknown_words.endswith("nothing says whose they are")
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([{"role": "customer", "content": "Delete it?"}], [DONE]),
        ([{"type": "function_critic", "content": "Delete it?"}], [DONE]),
        ({"messages_v2": [USER]}, [DONE]),
        ([{"skill": 1}], [DONE]),
        ([USER], [{"role": "critic", "content": "Done."}]),
    ],
)
def test_where_nothing_else_is_said_nothing_is_known(given: Any, said: Any) -> None:
    turn = read(record(chat(given, said)))
    assert (turn.user, turn.agent) in ((None, "Done."), ("Delete it?", None))
    assert turn.unknown_calls and turn.unknown_words


def test_what_an_agent_inside_a_tool_was_told_is_no_words_of_the_turn() -> None:
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "ask", "gen_ai.tool.call.id": "1"}
    inner = chat([USER, {"role": "assistant", "content": [NEW_PART]}])
    spans = [
        record(chat([USER])),
        record(tool, span_id="b2"),
        record(inner, span_id="b3", parent_span_id="b2"),
    ]
    [turn] = read_value(*spans).conversations[0].turns
    assert turn.unknown_calls and not turn.unknown_words


def test_earlier_turns_of_a_history_are_not_of_this_turn() -> None:
    turn = read(record(chat([USER, {"role": "assistant", "content": [NEW_PART]}, USER])))
    assert not turn.findings and not turn.unknown_calls


DELETED = [("Delete it?", [("delete", {"id": 1})], [("delete", "ok")], "Done.")]
KNOWN = {
    "parts": [USER, {"role": "assistant", "parts": [CALL]}, {"role": "tool", "parts": [RESULT]}],
    "a result in words": [
        USER,
        {"role": "assistant", "parts": [CALL]},
        {"role": "tool", "tool_call_id": "1", "content": [{"type": "text", "text": "ok"}]},
    ],
    "AutoGen": [
        {"type": "UserMessage", "source": "user", "content": "Delete it?"},
        {"type": "AssistantMessage", "source": "bot", "content": [{"id": "1", "name": "delete", "arguments": '{"id": 1}'}]},
        {"type": "FunctionExecutionResultMessage", "content": [{"call_id": "1", "content": "ok", "name": "delete"}]},
    ],
    "Pydantic AI": [
        {"kind": "request", "parts": [
            {"part_kind": "system-prompt", "content": "Help."},
            {"part_kind": "user-prompt", "content": ["Delete it?", {"kind": "image-url", "url": "x"}]},
        ]},
        {"kind": "response", "parts": [
            {"part_kind": "thinking", "content": "hm"},
            {"part_kind": "tool-call", "tool_name": "delete", "args": {"id": 1}, "tool_call_id": "1"},
        ]},
        {"kind": "request", "parts": [
            {"part_kind": "tool-return", "tool_name": "delete", "content": "ok", "tool_call_id": "1"},
        ]},
    ],
    "Azure": [
        USER,
        {"role": "assistant", "content": [{"type": "tool_call", "tool_call": {"id": "1", "type": "function", "function": {"name": "delete", "arguments": {"id": 1}}}}]},
        {"role": "tool", "tool_call_id": "1", "content": [{"type": "tool_result", "tool_result": "ok"}]},
    ],
    "Haystack": [
        {"role": "user", "content": [{"text": "Delete it?"}]},
        {"role": "assistant", "content": [{"tool_call": {"tool_name": "delete", "arguments": {"id": 1}, "id": "1"}}]},
        {"role": "tool", "content": [{"tool_call_result": {"result": "ok", "error": False, "origin": {"tool_name": "delete", "id": "1"}}}]},
    ],
    "older Haystack": [
        {"_role": "user", "_content": [{"text": "Delete it?"}]},
        {"_role": "assistant", "_content": [{"tool_call": {"tool_name": "delete", "arguments": {"id": 1}, "id": "1"}}]},
        {"_role": "tool", "_content": [{"tool_call_result": {"result": "ok", "origin": {"tool_name": "delete", "id": "1"}}}]},
    ],
    "items": [
        USER,
        {"type": "mcp_list_tools", "tools": []},
        {"type": "local_shell_call", "call_id": "1", "action": {"id": 1}},
        {"type": "local_shell_call_output", "call_id": "1", "output": "ok"},
    ],
    "texts in JSON": [json.dumps(USER), json.dumps({"role": "assistant", "parts": [CALL]}), json.dumps({"role": "tool", "parts": [RESULT]})],
    "words of other letters": [
        {"role": "USER", "content": "Delete it?"},
        {"role": "MessageRole.ASSISTANT", "content": [CALL]},
        {"role": "Tool", "content": [RESULT]},
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", KNOWN)
def test_known_spellings_are_read_without_a_gap(name: str) -> None:
    turn = read(record(chat(KNOWN[name])))
    [call], [response] = turn.tool_calls, turn.tool_responses
    assert (turn.user, turn.agent, call.args, response.response) == ("Delete it?", "Done.", {"id": 1}, "ok")
    assert (turn.unknown_calls, turn.unknown_words) == (None, None)


def test_attributes_that_cannot_be_read_are_a_failure() -> None:
    assert read_value(record(["gen_ai.prompt", "Hi"])).failures


@pytest.mark.skipif(not REPORTED.exists(), reason="no shared fixtures")
@pytest.mark.parametrize("name", ["span_autogen", "span_azure", "span_pydantic"])
def test_the_reported_spans(name: str) -> None:
    found = read_value(*json.loads((REPORTED / f"reading/{name}.json").read_text()))
    [(user, [call], [response], agent)] = turns(found.conversations[0])
    orders = ("Where are my orders?", ("get_orders", {"account": "888"}), ("get_orders", [{"order_id": "123"}]),
              "You have one order, 123.")  # fmt: skip
    place = ("Where is order 5?", ("find_order", {"id": 5}), ("find_order", "Bonn"), "It is in Bonn.")
    assert (user, call, response, agent) == (orders if name == "span_azure" else place)


@pytest.mark.skipif(not REPORTED.exists(), reason="no shared fixtures")
def test_a_gate_ends_alike_whether_a_destructive_call_can_be_read_or_not(tmp_path: Path) -> None:
    faults = REPORTED / "faults"
    for name in ("history_known", "history_unknown"):
        given = ["--input", f"{faults}/{name}/a.json", "--config", f"{faults}/g.json"]
        assert main(["run", *given, "--output", str(tmp_path / name)]) == 1
