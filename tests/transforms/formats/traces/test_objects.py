"""What frameworks write in place of messages, arguments and results: objects, their schemas, and helper functions."""
# ruff: noqa: E501

import json
from typing import Any

import pytest

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
    text,
    tool,
)
from turnwise.transforms.formats.traces.messages import read_messages
from turnwise.transforms.formats.traces.span import SpanEvent, TraceSpan

ANSWER = text("assistant", "a1")
OBJECTS = (
    "ChatMessage(role=<MessageRole.USER: 'user'>, additional_kwargs={}, blocks=[TextBlock(block_type='text', text='q')])",
    "<async_generator object llm_chat.<locals>.wrapped at 0x7f56c47890e0>",
    "<TextNode(id_=d1b7c545)>",
    "StopEvent(result=AgentOutput(response=ChatMessage(role=<Mess...",
    "id='4f' source='user' models_usage=None content='q' type='TextMessage'",
)
WORDS = (
    "Refund(order=7) is what I called.",
    *("Point(x=1, y=2) or Point(1, 2), which is right?", "<User object at 0x7f> is printed, what do I do?"),
    *("name='Bob' age=3 is my data, save it", "<vector(3)> type, what is it?", "Point(x=1, y=2) fails, why?"),
    *("Is f(x=1) right?", "<b>Hello</b>", "x='1'", "Rome (pop=3)", "<think> I object </think>", "F(x) = 2"),
)


@pytest.mark.parametrize("said", OBJECTS)
def test_an_object_of_a_program_is_nobodys_words(said: str) -> None:
    (message,) = read_messages(said, "user")
    assert (message.texts, message.is_users, len(message.parts)) == ([], True, 1)


@pytest.mark.parametrize("said", WORDS)
def test_words_that_look_a_little_like_an_object_are_words(said: str) -> None:
    assert [message.texts for message in read_messages(said, "user")] == [[said]]


def marked(own: str, parent: str, name: str, at: int, kind: str, **held: Any) -> TraceSpan:
    keys = {key.replace("__", "."): value for key, value in held.items()}
    times = ((T0 + at) * S, (T0 + at + 1) * S)
    return TraceSpan("1", own, parent, name, *times, {"openinference.span.kind": kind, **keys})


def llama_index(hidden: bool = False) -> list[TraceSpan]:
    """An agent of LlamaIndex: each call has a span of the class, one of the provider, and one of a helper."""
    spans = [marked("a", "", "FunctionAgent.run", 0, "CHAIN", output__value=OBJECTS[3])]
    told = [{"message.role": "user", "message.content": "q1"}]
    call = {"message.role": "assistant", "message.tool_calls.0.tool_call.function.name": "f",
            "message.tool_calls.0.tool_call.id": "x", "message.tool_calls.0.tool_call.function.arguments": '{"a": 1}'}  # fmt: skip
    result = {"message.role": "tool", "message.content": "found", "message.tool_call_id": "x"}
    said = {"message.role": "assistant", "message.content": "a1"}
    for place, (given, reply) in enumerate(((told, call), ([*told, call, result], said))):
        at = 1 + 4 * place
        outer = {
            "llm__model_name": "m",
            "input__value": json.dumps({"messages": [OBJECTS[0]]}),
            "input__mime_type": "application/json",
        }
        numbered = {
            f"llm.input_messages.{i}.{key}": value
            for i, each in enumerate(given)
            for key, value in each.items()
        }
        numbered |= {f"llm.output_messages.0.{key}": value for key, value in reply.items()}
        tokens = {"llm__token_count__prompt": 10, "llm__token_count__completion": 5}
        spans += [
            marked(
                f"p{place}",
                "a",
                "OpenAI._prepare_chat_with_tools",
                at,
                "LLM",
                **outer,
                output__value=json.dumps({"messages": [OBJECTS[0]]}),
            ),
            marked(f"b{place}", "a", "OpenAI.achat", at, "LLM", **outer),
            marked(
                f"c{place}",
                f"b{place}",
                "OpenAI.achat",
                at,
                "LLM",
                **outer,
                **tokens,
                **({} if hidden else numbered),
            ),
        ]
    schema = json.dumps({"type": "object", "properties": {"a": {"type": "integer"}}})
    output = {
        "blocks": [{"text": "found"}],
        "tool_name": "f",
        "raw_input": {"kwargs": {"a": 1}},
        "raw_output": "found",
        "is_error": False,
    }
    content = {} if hidden else {"input__value": '{"kwargs": {"a": 1}}', "output__value": json.dumps(output)}
    memory = marked(
        "w", "", "Response.write_response_to_history", 8, "LLM", input__value='{"memory": "Memory()"}'
    )
    return [
        *spans,
        marked("t", "a", "FunctionTool.acall", 3, "TOOL", tool__name="f", tool__parameters=schema, **content),
        memory,
    ]


def test_an_agent_of_llamaindex_is_read_by_the_spans_that_hold_its_messages() -> None:
    (turn,) = joined(llama_index()).turns
    assert read(turn) == ONE_CALL and turn.tool_calls[0].args == {"a": 1} and turn.findings == []
    assert [each.response for each in turn.tool_responses] == ["found"]
    assert (turn.inference_calls, turn.usage and turn.usage.input_tokens) == (2, 20)


def test_the_schema_of_a_tool_is_no_arguments() -> None:
    (turn,) = joined(llama_index(hidden=True)).turns
    assert [call.args for call in turn.tool_calls] == [None] and turn.unknown_calls and turn.unknown_words


@pytest.mark.parametrize(
    ("held", "name", "args"),
    [
        ({"openinference.span.kind": "TOOL", "input.value": '{"kwargs": {}}'}, "f.__call__", {}),
        ({"mlflow.spanType": '"TOOL"', "mlflow.spanInputs": '{"a": 1}'}, "Tool.f", {"a": 1}),
        (
            {"mlflow.spanType": '"TOOL"', "mlflow.spanInputs": '{"kwargs": {"a": 1}}', "name": '"f"'},
            "FunctionTool.acall",
            {"a": 1},
        ),
    ],
)
def test_the_name_of_a_tool_is_not_that_of_a_method(held: dict[str, Any], name: str, args: Any) -> None:
    tool = TraceSpan("1", "t", "1a", name, (T0 + 1) * S, (T0 + 2) * S, held)
    (turn,) = joined([agent("1", 0), tool]).turns
    assert [(call.name, call.args) for call in turn.tool_calls] == [("f", args)]


def test_what_langsmith_wraps_a_returned_text_in_is_not_the_result() -> None:
    held = {"langsmith.span.kind": "tool", "gen_ai.prompt": '{"a": 1}'}
    for wrapped, result in (
        ('{"output": "found"}', "found"),
        ('{"output": "x", "n": 1}', {"output": "x", "n": 1}),
    ):
        tool = TraceSpan("1", "t", "1a", "f", T0 * S, (T0 + 1) * S, {**held, "gen_ai.completion": wrapped})
        (turn,) = joined([agent("1", 0), tool]).turns
        assert [each.response for each in turn.tool_responses] == [result]


def test_a_pair_of_a_role_and_a_text_is_a_message() -> None:
    found = read_messages({"messages": [["user", "q1"], ["assistant", "a1"]]}, "user")
    assert [(each.role, each.texts) for each in found] == [("user", ["q1"]), ("assistant", ["a1"])]
    assert [each.texts for each in read_messages(["user", "name", "q1"], "user")] == [["user", "name", "q1"]]


def test_messages_of_autogen_are_of_their_source() -> None:
    messages = [
        {"source": "user", "type": "TextMessage", "content": "q1"},
        {"source": "bot", "type": "ThoughtEvent", "content": "hm"},
        {
            "source": "bot",
            "type": "ToolCallRequestEvent",
            "content": [{"id": "x", "arguments": '{"a": 1}', "name": "f"}],
        },
        {
            "source": "bot",
            "type": "ToolCallExecutionEvent",
            "content": [{"content": "it broke", "name": "f", "call_id": "x", "is_error": True}],
        },
        {"source": "bot", "type": "TextMessage", "content": "a1"},
    ]
    held = {
        "mlflow.spanType": '"AGENT"',
        "mlflow.spanInputs": '{"task": "q1"}',
        "mlflow.spanOutputs": json.dumps({"messages": messages}),
    }
    (turn,) = joined([TraceSpan("1", "a", "", "bot.run", T0 * S, (T0 + 1) * S, held)]).turns
    assert read(turn) == ONE_CALL and turn.findings == []
    assert [(each.response, each.error) for each in turn.tool_responses] == [("it broke", True)]


def test_the_result_of_a_tool_that_a_message_of_the_user_tells_the_model_is_no_turn() -> None:
    told = text("user", "Observation: found")
    spans = [
        TraceSpan("1", "1a", "", "run", T0 * S, (T0 + 9) * S, {"openinference.span.kind": "CHAIN"}),
        chat("1", "b", 1, FIRST, text("assistant", "Action: f")),
        TraceSpan(
            "1",
            "t",
            "1a",
            "f",
            (T0 + 2) * S,
            (T0 + 3) * S,
            {"openinference.span.kind": "TOOL", "input.value": '{"a": 1}', "output.value": "found"},
        ),
        chat("1", "c", 4, [*FIRST, text("assistant", "Action: f"), told], ANSWER),
    ]
    (turn,) = joined(spans).turns
    assert read(turn) == ONE_CALL and turn.unknown_words
    apart = [
        *spans[:3],
        chat("1", "c", 4, [*FIRST, text("assistant", "Action: f"), text("user", "q2")], ANSWER),
    ]
    assert [each.user for each in joined(apart).turns] == ["q1", "q2"]


def test_log_records_with_their_name_in_an_attribute_and_json_in_their_text_are_messages() -> None:
    choice = {"message": {"role": "assistant", "content": "a1"}, "finish_reason": "stop"}
    events = [
        SpanEvent("gen_ai.user.message", T0, {}, json.dumps({"role": "user", "content": "q1"})),
        SpanEvent("gen_ai.assistant.message", T0, {}, "Function succeeded."),
        SpanEvent("gen_ai.choice", T0 + 1, {}, json.dumps(choice)),
    ]
    held = {"gen_ai.operation.name": "chat", "gen_ai.response.finish_reason": "FinishReason.STOP"}
    call = TraceSpan("1", "b", "1a", "chat", T0 * S, (T0 + 1) * S, held, events)
    found = joined([agent("1", 0, gen_ai__input__messages="[]"), call])
    assert list(map(read, found.turns)) == [("q1", [], "a1")] and found.turns[0].findings == []
    assert (found.ended, found.ended_detail) == ("normally", "STOP")


def test_a_call_that_openinference_writes_twice_is_one() -> None:
    call = {"tool_call.id": "x", "tool_call.function.name": "f", "tool_call.function.arguments": '{"a": 1}'}
    contents = {"message_content.type": "tool_use", **call}
    held = {
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": "q1",
        "llm.output_messages.0.message.role": "assistant",
        **{f"llm.output_messages.0.message.tool_calls.0.{key}": value for key, value in call.items()},
        **{f"llm.output_messages.0.message.contents.0.{key}": value for key, value in contents.items()},
    }
    (turn,) = joined(
        [TraceSpan("1", "b", "", "messages", T0 * S, T0 * S, {"openinference.span.kind": "LLM", **held})]
    ).turns
    assert [(each.name, each.args) for each in turn.tool_calls] == [
        ("f", {"a": 1})
    ] and not turn.unknown_calls


def test_calls_that_only_the_next_input_names_are_those_that_were_asked_for() -> None:
    reply = {"gen_ai__response__finish_reasons": ["tool_calls"]}
    first = chat("1", "b", 1, FIRST, None)
    first.attributes |= {key.replace("__", "."): value for key, value in reply.items()}
    spans = [agent("1", 0), first, chat("1", "c", 5, [*FIRST, asks("x", "f")], ANSWER)]
    assert list(map(read, joined(spans).turns)) == [ONE_CALL]


HOSTED_REPLY = [
    {"type": "web_search_call", "id": "w", "status": "completed", "action": {"query": "rome"}},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a1"}]},
]
NUMBERED = {
    "llm.output_messages.0.message.role": "assistant",
    "llm.output_messages.0.message.tool_calls.0.tool_call.id": "w",
    "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "web_search_call",
    "llm.output_messages.1.message.role": "assistant",
    "llm.output_messages.1.message.contents.0.message_content.type": "text",
    "llm.output_messages.1.message.contents.0.message_content.text": "a1",
    "output.mime_type": "application/json",
}


@pytest.mark.parametrize(
    "held",
    [
        {"langfuse.observation.type": "generation", "langfuse.observation.output": json.dumps(HOSTED_REPLY)},
        {"langsmith.span.kind": "llm", "gen_ai.completion": json.dumps({"output": HOSTED_REPLY})},
        {"openinference.span.kind": "LLM", "output.value": json.dumps({"output": HOSTED_REPLY}), **NUMBERED},
    ],
)
def test_calls_of_hosted_tools_among_the_items_of_a_reply_are_read(held: dict[str, Any]) -> None:
    (turn,) = joined([TraceSpan("1", "b", "", "m", T0 * S, (T0 + 1) * S, held)]).turns
    assert [(call.name, call.args) for call in turn.tool_calls] == [("web_search", {"query": "rome"})]
    assert turn.agent == "a1" and not turn.unknown_calls


def test_a_failed_run_of_langsmith_has_no_result_and_steps_of_graphs_are_no_tags() -> None:
    held = {
        "langsmith.span.kind": "tool",
        "gen_ai.prompt": '{"a": 1}',
        "gen_ai.completion": "{}",
        "langsmith.span.tags": "vip, graph:step:1",
    }
    tool = TraceSpan("1", "t", "1a", "f", T0 * S, (T0 + 1) * S, held, error=True, message="it broke")
    found = joined([agent("1", 0), tool])
    assert [(each.response, each.error) for each in found.turns[0].tool_responses] == [(None, "it broke")]
    assert found.tags == ["vip"]


def test_results_without_ids_belong_to_calls_without_ids() -> None:
    call = {"type": "tool_call", "id": "", "name": "f", "arguments": {"a": 1}}
    result = {"role": "user", "parts": [{"type": "tool_call_response", "id": "", "response": "found"}]}
    asked = {"role": "assistant", "parts": [call]}
    spans = [
        agent("1", 0),
        chat("1", "b", 1, FIRST, asked),
        chat("1", "c", 3, [*FIRST, asked, result], ANSWER),
    ]
    (turn,) = joined(spans).turns
    assert read(turn) == ONE_CALL and [each.response for each in turn.tool_responses] == ["found"]


def test_calls_that_googles_sdk_made_by_itself_are_read_from_the_reply() -> None:
    history = [
        {"role": "user", "parts": [{"text": "q1"}]},
        {"role": "model", "parts": [{"function_call": {"name": "f", "args": {"a": 1}}}]},
        {"role": "user", "parts": [{"function_response": {"name": "f", "response": {"result": "found"}}}]},
    ]
    held = {
        "openinference.span.kind": "LLM",
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": "q1",
        "llm.output_messages.0.message.role": "model",
        "llm.output_messages.0.message.content": "a1",
        "llm.token_count.prompt": 10,
        "output.value": json.dumps({"automatic_function_calling_history": history}),
    }
    (turn,) = joined([TraceSpan("1", "b", "", "GenerateContent", T0 * S, (T0 + 1) * S, held)]).turns
    assert read(turn) == ONE_CALL and turn.usage is None
    assert [each.response for each in turn.tool_responses] == [{"result": "found"}]


def test_an_answer_that_is_marked_with_the_error_of_a_tool_is_no_failure() -> None:
    broken = tool("1", "t", 2, "f", "x")
    later = chat("1", "c", 4, CALLED, ANSWER)
    top = agent("1", 0, gen_ai__output__messages=json.dumps([ANSWER]))
    for each in (broken, later, top):
        each.error, each.message = True, "it broke"
    asked = chat("1", "b", 1, FIRST, asks("x", "f"))
    found = joined([top, asked, broken, later])
    assert found.ended is None and [each.error for each in found.turns[0].tool_responses] == ["it broke"]
    top.message = "another error"
    assert joined([top, asked, broken, later]).ended == "agent_error"
    bare = agent("1", 0)
    bare.error, bare.message = True, "it broke"
    assert joined([bare, asked, broken]).ended == "agent_error"
