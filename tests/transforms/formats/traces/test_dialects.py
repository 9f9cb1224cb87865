"""Each dialect in the spelling of its writers: one turn with a call, written in every one."""
# ruff: noqa: E501

import itertools
import json
from typing import Any

import pytest

import turnwise
from turnwise.transforms.formats.traces.span import SpanEvent, TraceSpan
from turnwise.transforms.formats.traces.turns import join_spans

S = 1_000_000_000
T0 = 1_760_000_000 * S
ASKED, SAID = "Where is A-17?", "It has shipped."
ARGS, ARGS_TEXT = {"order_id": "A-17"}, '{"order_id": "A-17"}'


def span(
    own: str, parent: str, name: str, at: int, length: int = 1, events: Any = (), **fields: Any
) -> TraceSpan:
    """A span; `a__b` stands for `a.b`, what is no text, number or list stays as it is."""
    attributes = {key.replace("__", "."): value for key, value in fields.items()}
    return TraceSpan("t", own, parent, name, T0 + at * S, T0 + (at + length) * S, attributes, list(events))


def event(name: str, body: Any = None, **fields: Any) -> SpanEvent:
    return SpanEvent(name, T0, {key.replace("__", "."): value for key, value in fields.items()}, body)


LOG_TIMES = itertools.count(T0)


def log(own: str, name: str, body: Any) -> TraceSpan:
    return TraceSpan("t", own, events=[SpanEvent(name, next(LOG_TIMES), {}, body)], is_log=True)


def dumped(*messages: Any) -> str:
    return json.dumps(list(messages))


OPENAI_CALL = {"id": "c1", "type": "function", "function": {"name": "get_order", "arguments": ARGS_TEXT}}
LOGS = [
    span("r", "", "invoke_agent desk", 0, 9, gen_ai__operation__name="invoke_agent"),
    span("m1", "r", "chat m", 1, gen_ai__operation__name="chat"),
    span("t1", "r", "execute_tool get_order", 3, gen_ai__operation__name="execute_tool",
         gen_ai__tool__name="get_order", gen_ai__tool__call__id="c1"),
    span("m2", "r", "chat m", 5, gen_ai__operation__name="chat"),
    log("m1", "gen_ai.system.message", {"content": "Be brief."}),
    log("m1", "gen_ai.user.message", {"content": ASKED}),
    log("m1", "gen_ai.choice", {"index": 0, "finish_reason": "tool_calls", "message": {"tool_calls": [OPENAI_CALL]}}),
    log("m2", "gen_ai.user.message", {"content": ASKED}),
    log("m2", "gen_ai.assistant.message", {"tool_calls": [OPENAI_CALL]}),
    log("m2", "gen_ai.tool.message", {"id": "c1", "content": "shipped"}),
    log("m2", "gen_ai.choice", {"index": 0, "finish_reason": "stop", "message": {"content": SAID}}),
]  # fmt: skip
CONTENT_EVENTS = [
    span("m1", "", "chat m", 1, gen_ai__system="openai", gen_ai__request__model="m", events=[
        event("gen_ai.content.prompt", gen_ai__prompt=dumped({"role": "user", "content": ASKED})),
        event("gen_ai.content.completion",
              gen_ai__completion=dumped({"role": "assistant", "content": "", "tool_calls": [OPENAI_CALL]}))]),
    span("m2", "", "chat m", 5, gen_ai__system="openai", gen_ai__request__model="m", events=[
        event("gen_ai.content.prompt", gen_ai__prompt=dumped(
            {"role": "user", "content": ASKED}, {"role": "assistant", "tool_calls": [OPENAI_CALL]},
            {"role": "tool", "tool_call_id": "c1", "content": "shipped"})),
        event("gen_ai.content.completion", gen_ai__completion=dumped({"role": "assistant", "content": SAID}))]),
]  # fmt: skip
USE, RESULT = ({"toolUse": {"toolUseId": "c1", "name": "get_order", "input": ARGS}},
               {"toolResult": {"toolUseId": "c1", "status": "success", "content": [{"text": "shipped"}]}})  # fmt: skip
STRANDS = [
    span("r", "", "invoke_agent desk", 0, 9, gen_ai__operation__name="invoke_agent", gen_ai__agent__name="desk",
         gen_ai__usage__input_tokens=99,
         events=[event("gen_ai.user.message", content=dumped({"text": ASKED})),
                 event("gen_ai.choice", message=SAID, finish_reason="end_turn")]),
    span("y1", "r", "execute_event_loop_cycle", 1, 3),
    span("m1", "y1", "chat", 1, gen_ai__operation__name="chat", events=[
        event("gen_ai.user.message", content=dumped({"text": ASKED})),
        event("gen_ai.choice", message=dumped(USE), finish_reason="tool_use")]),
    span("t1", "y1", "execute_tool get_order", 3, gen_ai__operation__name="execute_tool",
         gen_ai__tool__name="get_order", gen_ai__tool__call__id="c1", gen_ai__tool__status="success", events=[
             event("gen_ai.tool.message", role="tool", content=ARGS_TEXT, id="c1"),
             event("gen_ai.choice", message=dumped({"text": "shipped"}), id="c1")]),
    span("m2", "r", "chat", 5, gen_ai__operation__name="chat", events=[
        event("gen_ai.user.message", content=dumped({"text": ASKED})),
        event("gen_ai.assistant.message", content=dumped(USE)),
        event("gen_ai.tool.message", content=dumped(RESULT)),
        event("gen_ai.choice", message=dumped({"text": SAID}), finish_reason="end_turn")]),
]  # fmt: skip
OTEL_CALL = {"type": "tool_call", "id": "c1", "name": "get_order", "arguments": ARGS}
OTEL_FIRST = [{"role": "user", "parts": [{"type": "text", "content": ASKED}]}]
OTEL_SECOND = [*OTEL_FIRST, {"role": "assistant", "parts": [OTEL_CALL]},
               {"role": "user", "parts": [{"type": "tool_call_response", "id": "c1", "result": "shipped"}]}]  # fmt: skip
OTEL_LAST = {"role": "assistant", "parts": [{"type": "text", "content": SAID}], "finish_reason": "stop"}
DETAILS = "gen_ai.client.inference.operation.details"
STRANDS_LATEST = [
    span("r", "", "invoke_agent desk", 0, 9, gen_ai__operation__name="invoke_agent"),
    span("m1", "r", "chat", 1, gen_ai__operation__name="chat", events=[
        event(DETAILS, gen_ai__input__messages=dumped(*OTEL_FIRST)),
        event(DETAILS, gen_ai__output__messages=dumped({"role": "assistant", "parts": [OTEL_CALL]}))]),
    span("t1", "r", "execute_tool get_order", 3, gen_ai__operation__name="execute_tool",
         gen_ai__tool__name="get_order", gen_ai__tool__call__id="c1", events=[
             event(DETAILS, gen_ai__input__messages=dumped({"role": "tool", "parts": [OTEL_CALL]})),
             event(DETAILS, gen_ai__output__messages=dumped({"role": "tool", "parts": [
                 {"type": "tool_call_response", "id": "c1", "response": "shipped"}]}))]),
    span("m2", "r", "chat", 5, gen_ai__operation__name="chat", events=[
        event(DETAILS, gen_ai__input__messages=dumped(*OTEL_SECOND)),
        event(DETAILS, gen_ai__output__messages=dumped(OTEL_LAST))]),
]  # fmt: skip
FLAT = {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": ASKED, "llm.request.type": "chat"}
TRACELOOP = [
    span("r", "", "desk.workflow", 0, 9, traceloop__span__kind="workflow", traceloop__entity__name="desk",
         traceloop__association__properties__session_id="talk"),
    TraceSpan("t", "m1", "r", "openai.chat", T0 + S, T0 + 2 * S, {
        **FLAT, "gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.finish_reason": "tool_calls",
        "gen_ai.completion.0.tool_calls.0.id": "c1", "gen_ai.completion.0.tool_calls.0.name": "get_order",
        "gen_ai.completion.0.tool_calls.0.arguments": ARGS_TEXT}),
    span("t1", "r", "get_order.tool", 3, traceloop__span__kind="tool", traceloop__entity__name="get_order",
         traceloop__entity__input=json.dumps({"args": [], "kwargs": ARGS}), traceloop__entity__output='"shipped"'),
    TraceSpan("t", "m2", "r", "openai.chat", T0 + 5 * S, T0 + 6 * S, {
        **FLAT, "gen_ai.prompt.1.role": "assistant", "gen_ai.prompt.1.tool_calls.0.id": "c1",
        "gen_ai.prompt.1.tool_calls.0.name": "get_order", "gen_ai.prompt.1.tool_calls.0.arguments": ARGS_TEXT,
        "gen_ai.prompt.2.role": "tool", "gen_ai.prompt.2.tool_call_id": "c1", "gen_ai.prompt.2.content": "shipped",
        "gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": SAID}),
]  # fmt: skip
VERCEL_CALLS = dumped({"toolCallId": "c1", "toolName": "get_order", "input": ARGS_TEXT})
VERCEL_FIRST = {"role": "user", "content": [{"type": "text", "text": ASKED}]}
VERCEL_SECOND = [
    VERCEL_FIRST,
    {"role": "assistant", "content": [{"type": "tool-call", "toolCallId": "c1", "toolName": "get_order", "input": ARGS}]},
    {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "c1", "toolName": "get_order",
                                  "output": {"type": "text", "value": "shipped"}}]},
]  # fmt: skip
VERCEL = [
    span("r", "", "ai.generateText", 0, 9, ai__operationId="ai.generateText", ai__usage__promptTokens=99,
         ai__prompt=json.dumps({"prompt": ASKED}), ai__response__text=SAID, ai__telemetry__metadata__sessionId="talk"),
    span("m1", "r", "ai.generateText.doGenerate", 1, ai__operationId="ai.generateText.doGenerate",
         ai__prompt__messages=dumped(VERCEL_FIRST), ai__response__toolCalls=VERCEL_CALLS,
         ai__response__finishReason="tool-calls"),
    span("t1", "r", "ai.toolCall", 3, ai__operationId="ai.toolCall", ai__toolCall__name="get_order",
         ai__toolCall__id="c1", ai__toolCall__args=ARGS_TEXT, ai__toolCall__result='"shipped"'),
    span("m2", "r", "ai.generateText.doGenerate", 5, ai__operationId="ai.generateText.doGenerate",
         ai__prompt__messages=dumped(*VERCEL_SECOND), ai__response__text=SAID, ai__response__finishReason="stop"),
]  # fmt: skip
PYDANTIC_USER = {"event.name": "gen_ai.user.message", "role": "user", "content": ASKED}
PYDANTIC_CALL = {"event.name": "gen_ai.assistant.message", "role": "assistant", "tool_calls": [OPENAI_CALL]}
PYDANTIC_TOLD = {"event.name": "gen_ai.tool.message", "role": "tool", "id": "c1", "content": "shipped"}
PYDANTIC = [
    span("r", "", "desk run", 0, 9, agent_name="desk", final_result=SAID,
         all_messages_events=dumped(PYDANTIC_USER, PYDANTIC_CALL, PYDANTIC_TOLD,
                                    {"event.name": "gen_ai.assistant.message", "role": "assistant", "content": SAID})),
    TraceSpan("t", "m1", "r", "chat m", T0 + S, T0 + 2 * S, {
        "gen_ai.operation.name": "chat", "events": dumped(PYDANTIC_USER, {
            "event.name": "gen_ai.choice", "index": 0,
            "message": {"role": "assistant", "tool_calls": [OPENAI_CALL]}})}),
    span("t1", "r", "running tool", 3, gen_ai__tool__name="get_order", gen_ai__tool__call__id="c1",
         tool_arguments=ARGS_TEXT, tool_response="shipped"),
    TraceSpan("t", "m2", "r", "chat m", T0 + 5 * S, T0 + 6 * S, {
        "gen_ai.operation.name": "chat", "events": dumped(
            PYDANTIC_USER, PYDANTIC_CALL, PYDANTIC_TOLD,
            {"event.name": "gen_ai.choice", "index": 0, "message": {"role": "assistant", "content": SAID}})}),
]  # fmt: skip
GEMINI_CALL = {"role": "model", "parts": [{"function_call": {"id": "c1", "name": "get_order", "args": ARGS}}]}
GEMINI_TOLD = {"role": "user", "parts": [
    {"function_response": {"id": "c1", "name": "get_order", "response": {"result": "shipped"}}}]}  # fmt: skip
GEMINI_USER = {"role": "user", "parts": [{"text": ASKED}]}
ADK = [
    span("r", "", "invocation", 0, 9),
    span("a", "r", "agent_run [desk]", 0, 9),
    span("m1", "a", "call_llm", 1, gcp__vertex__agent__llm_request=json.dumps({"model": "m", "contents": [GEMINI_USER]}),
         gcp__vertex__agent__llm_response=json.dumps({"content": GEMINI_CALL, "finish_reason": "STOP"}),
         gcp__vertex__agent__session_id="talk"),
    span("t1", "m1", "execute_tool get_order", 3, gcp__vertex__agent__tool_call_args=ARGS_TEXT,
         gcp__vertex__agent__tool_response='{"result": "shipped"}', gcp__vertex__agent__llm_request="{}",
         gen_ai__tool__call__id="c1"),
    span("t2", "m1", "execute_tool (merged tools)", 3, gcp__vertex__agent__tool_response="{}"),
    span("m2", "a", "call_llm", 5,
         gcp__vertex__agent__llm_request=json.dumps({"contents": [GEMINI_USER, GEMINI_CALL, GEMINI_TOLD]}),
         gcp__vertex__agent__llm_response=json.dumps({"content": {"role": "model", "parts": [
             {"text": "hm", "thought": True}, {"text": SAID}]}})),
]  # fmt: skip
MLFLOW = [
    span("r", "", "desk", 0, 9, mlflow__spanType='"AGENT"', mlflow__spanInputs=json.dumps({"messages": [
        {"role": "user", "content": ASKED}]}), mlflow__spanOutputs=json.dumps(SAID)),
    span("m1", "r", "chat", 1, mlflow__spanType='"CHAT_MODEL"', mlflow__spanInputs=json.dumps({"messages": [
        {"role": "user", "content": ASKED}]}), mlflow__spanOutputs=json.dumps({"choices": [
            {"message": {"role": "assistant", "tool_calls": [OPENAI_CALL]}, "finish_reason": "tool_calls"}]})),
    span("t1", "r", "get_order", 3, mlflow__spanType='"TOOL"', mlflow__spanInputs=ARGS_TEXT,
         mlflow__spanOutputs='"shipped"'),
    span("m2", "r", "chat", 5, mlflow__spanType='"CHAT_MODEL"', mlflow__spanInputs=json.dumps({"messages": [
        {"role": "user", "content": ASKED}, {"role": "assistant", "tool_calls": [OPENAI_CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "shipped"}]}),
         mlflow__spanOutputs=json.dumps({"choices": [{"message": {"role": "assistant", "content": SAID}}]})),
]  # fmt: skip
LANGFUSE = [
    span("r", "", "desk", 0, 9, langfuse__observation__type="agent", langfuse__observation__input=ASKED,
         langfuse__observation__output=SAID, session__id="talk"),
    span("m1", "r", "llm", 1, langfuse__observation__type="generation",
         langfuse__observation__input=dumped({"role": "user", "content": ASKED}),
         langfuse__observation__output=json.dumps({"role": "assistant", "content": None, "tool_calls": [OPENAI_CALL]})),
    span("t1", "r", "get_order", 3, langfuse__observation__type="tool", langfuse__observation__input=ARGS_TEXT,
         langfuse__observation__output="shipped"),
    span("m2", "r", "llm", 5, langfuse__observation__type="generation",
         langfuse__observation__input=dumped({"role": "user", "content": ASKED}),
         langfuse__observation__output=json.dumps({"role": "assistant", "content": SAID})),
]  # fmt: skip

WRITERS = {
    "OpenTelemetry, log records": LOGS,
    "OpenTelemetry, gen_ai.content events": CONTENT_EVENTS,
    "Strands, events a message": STRANDS,
    "Strands, operation details": STRANDS_LATEST,
    "OpenLLMetry, numbered keys": TRACELOOP,
    "Vercel AI SDK": VERCEL,
    "Pydantic AI, events": PYDANTIC,
    "google-adk": ADK,
    "MLflow": MLFLOW,
    "Langfuse": LANGFUSE,
}


@pytest.mark.parametrize("writer", WRITERS)
def test_every_writer_says_the_same(writer: str) -> None:
    found = join_spans("c", WRITERS[writer])
    assert join_spans("c", WRITERS[writer][::-1]) == found
    (turn,) = found.turns
    assert (turn.user, turn.agent, turn.agent_messages) == (ASKED, SAID, [SAID])
    assert [(call.name, call.args, call.id) for call in turn.tool_calls] in (
        [("get_order", ARGS, "c1")],
        [("get_order", ARGS, None)],
    )
    (response,) = turn.tool_responses
    assert response.response in ("shipped", {"result": "shipped"}) and response.error is None
    assert turn.inference_calls == 2 and turn.findings == []
    assert turn.unknown_calls is None and turn.unknown_words is None


def conversation_of(*spans: TraceSpan) -> turnwise.Conversation:
    return join_spans("c", spans)


def test_a_failed_tool_has_its_error_and_the_agents_error_ends_the_conversation() -> None:
    failed = span("t1", "r", "execute_tool f", 3, gen_ai__operation__name="execute_tool", gen_ai__tool__name="f",
                  gen_ai__tool__call__arguments="{}", error__type="TimeoutError")  # fmt: skip
    failed.error = True
    root = span("r", "", "invoke_agent desk", 0, 9, gen_ai__operation__name="invoke_agent")
    root.error, root.message = True, "out of quota"
    found = conversation_of(root, failed)
    (turn,) = found.turns
    assert [(one.response, one.error) for one in turn.tool_responses] == [(None, "TimeoutError")]
    assert (found.ended, found.ended_detail) == ("agent_error", "out of quota")


def test_a_hand_off_stays_in_the_turn_and_names_the_agent() -> None:
    acts = "[desk] called tool `transfer_to_agent` with parameters: {'agent_name': 'orders'}"
    context = {"role": "user", "parts": [{"text": "For context:"}, {"text": acts}]}
    given = {"contents": [GEMINI_USER, context]}
    asked = {"name": "transfer_to_agent", "args": {"agent_name": "orders"}}
    handing = json.dumps({"content": {"role": "model", "parts": [{"function_call": asked}]}})
    answer = json.dumps({"content": {"role": "model", "parts": [{"text": SAID}]}})
    found = conversation_of(
        span("r", "", "HTTP POST", 0, 9),
        span("a", "r", "invoke_agent desk", 0, 3),
        span("m1", "a", "call_llm", 1, gcp__vertex__agent__llm_request=json.dumps({"contents": [GEMINI_USER]}),
             gcp__vertex__agent__llm_response=handing),
        span("t1", "a", "execute_tool transfer_to_agent", 2, gcp__vertex__agent__event_id="e",
             gcp__vertex__agent__tool_call_args='{"agent_name": "orders"}'),
        span("b", "r", "invoke_agent orders", 4, 3),
        span("m2", "b", "call_llm", 5, gcp__vertex__agent__llm_request=json.dumps(given),
             gcp__vertex__agent__llm_response=answer),
    )  # fmt: skip
    (turn,) = found.turns
    assert (turn.user, turn.agent, turn.transfers) == (ASKED, SAID, ["orders"])


@pytest.mark.parametrize(
    ("name", "held"),
    [
        ("execute_tool (merged)", {"gen_ai.operation.name": "execute_tool"}),
        (
            "execute_tool (merged)",
            {"gen_ai.operation.name": "execute_tool", "gcp.vertex.agent.event_id": "e"},
        ),
        ("execute_tool (merged tools)", {"gen_ai.operation.name": "execute_tool"}),
        ("execute_tool (merged tools)", {"gcp.vertex.agent.tool_response": '{"result": "shipped"}'}),
    ],
)
def test_the_span_that_merges_parallel_calls_of_google_adk_is_no_call(
    name: str, held: dict[str, Any]
) -> None:
    attributes = {"gen_ai.tool.name": "(merged tools)", "gen_ai.tool.call.id": "event", **held}
    merged = TraceSpan("t", "t3", "a", name, T0 + 3 * S, T0 + 4 * S, attributes)
    calls = [
        span(f"t{own}", "a", "execute_tool f", 3, gen_ai__operation__name="execute_tool", gen_ai__tool__name="f",
             gen_ai__tool__call__arguments="{}", gen_ai__tool__call__result=str(own))
        for own in range(2)
    ]  # fmt: skip
    root = span("a", "", "invoke_agent desk", 0, 9, gen_ai__operation__name="invoke_agent")
    (turn,) = conversation_of(root, *calls, merged).turns
    assert [(call.name, call.args) for call in turn.tool_calls] == [("f", {}), ("f", {})]


def test_log_records_without_their_spans_are_calls_of_the_model() -> None:
    (turn,) = conversation_of(*(one for one in LOGS if one.is_log)).turns
    assert (turn.user, turn.agent, [call.name for call in turn.tool_calls]) == (ASKED, SAID, ["get_order"])
    assert turn.inference_calls == 2 and turn.model_ms is None


def test_a_loop_that_the_app_runs_is_one_turn_and_one_trace_can_hold_two() -> None:
    first = [
        TraceSpan(f"t{place}", one.id, "", one.name, one.start, one.end, one.attributes, one.events)
        for place, one in enumerate(CONTENT_EVENTS)
    ]
    assert [turn.agent for turn in join_spans("c", first).turns] == [SAID]
    more = [{"role": "user", "content": ASKED}, {"role": "assistant", "content": SAID},
            {"role": "user", "content": ASKED}]  # fmt: skip
    last = span("m3", "", "chat m", 7, gen_ai__operation__name="chat", gen_ai__input__messages=dumped(*more),
                gen_ai__output__messages=dumped({"role": "assistant", "content": "Still."}))  # fmt: skip
    found = join_spans("c", [*CONTENT_EVENTS, last])
    assert [(turn.user, turn.agent) for turn in found.turns] == [(ASKED, SAID), (ASKED, "Still.")]


def test_a_circle_of_parents_and_a_missing_parent_are_read() -> None:
    found = conversation_of(
        span("x", "y", "chat", 1, gen_ai__operation__name="chat", gen_ai__output__messages=dumped(OTEL_LAST)),
        span("y", "x", "HTTP", 0),
        span("z", "gone", "HTTP", 2),
    )
    assert [turn.agent for turn in found.turns] == [SAID]
    assert [finding.kind for finding in found.turns[0].findings] == ["MissingHistory", "MissingParent"]


def test_smolagents_spellings() -> None:
    given = {"llm.input_messages.0.message.role": "user",
             "llm.input_messages.0.message.contents.0.message_content.text": f"New task:\n{ASKED}",
             "llm.input_messages.0.message.contents.0.message_content.type": "text"}  # fmt: skip
    told = {"llm.input_messages.1.message.role": "tool-response",
            "llm.input_messages.1.message.contents.0.message_content.type": "text",
            "llm.input_messages.1.message.contents.0.message_content.text": "Observation: shipped"}  # fmt: skip
    call = "llm.output_messages.0.message.tool_calls.0.tool_call"
    asked = {
        f"{call}.id": "c1",
        f"{call}.function.name": "get_order",
        f"{call}.function.arguments": ARGS_TEXT,
    }
    kinds = {"llm": {"openinference.span.kind": "LLM"}, "tool": {"openinference.span.kind": "TOOL"}}
    found = conversation_of(
        TraceSpan("t", "r", "", "CodeAgent.run", T0, T0 + 9 * S, {
            "openinference.span.kind": "AGENT", "input.value": json.dumps({"task": ASKED, "stream": False}),
            "output.value": SAID}),
        TraceSpan("t", "s", "r", "Step 1", T0, T0 + 4 * S, {"openinference.span.kind": "CHAIN"}),
        TraceSpan("t", "m1", "s", "Model.generate", T0 + S, T0 + 2 * S, {**kinds["llm"], **given, **asked}),
        TraceSpan("t", "t1", "s", "SimpleTool", T0 + 3 * S, T0 + 4 * S, {
            **kinds["tool"], "tool.name": "get_order", "output.value": "shipped", "input.value": json.dumps(
                {"args": [], "sanitize_inputs_outputs": True, "kwargs": ARGS})}),
        TraceSpan("t", "m2", "r", "Model.generate", T0 + 5 * S, T0 + 6 * S, {
            **kinds["llm"], **given, **told, "llm.output_messages.0.message.role": "assistant",
            "llm.output_messages.0.message.content": SAID}),
    )  # fmt: skip
    (turn,) = found.turns
    assert (turn.user, turn.agent, [call.args for call in turn.tool_calls]) == (ASKED, SAID, [ARGS])


def test_a_guardrails_model_call_is_not_the_agents() -> None:
    def chat(own: str, parent: str, at: int, text: str) -> TraceSpan:
        return span(own, parent, "chat", at, gen_ai__operation__name="chat",
                    gen_ai__input__messages=dumped(*OTEL_FIRST),
                    gen_ai__output__messages=dumped({"role": "assistant", "content": text}))  # fmt: skip

    found = conversation_of(
        span("r", "", "desk", 0, 9, openinference__span__kind="AGENT"),
        span("g", "r", "moderation", 0, 1, openinference__span__kind="GUARDRAIL"),
        chat("m1", "g", 7, "safe"),
        chat("m2", "r", 2, SAID),
    )
    (turn,) = found.turns
    assert (turn.agent, turn.agent_messages, turn.inference_calls) == (SAID, [SAID], 2)


TOOL = {"name": "get_order", "description": "Looks up an order.", "parameters": {"type": "object"}}


@pytest.mark.parametrize(
    "held",
    [
        {"gen_ai.tool.definitions": dumped({"type": "function", **TOOL})},
        {"gen_ai.tool.definitions": [{"type": "function", "function": TOOL}]},
        {"llm.tools.0.tool.json_schema": json.dumps({"type": "function", "function": TOOL})},
        {"llm.request.functions.0.name": "get_order", "llm.request.functions.0.parameters": "{}"},
        {"ai.prompt.tools": [json.dumps({"type": "function", **TOOL})]},
        {
            "gcp.vertex.agent.llm_request": json.dumps(
                {"config": {"tools": [{"function_declarations": [TOOL]}]}}
            )
        },
    ],
)
def test_tools_that_a_model_call_declares(held: dict[str, Any]) -> None:
    model = TraceSpan("t", "m", "", "call_llm", T0, T0 + S, {"gen_ai.operation.name": "chat", **held})
    again = TraceSpan("t", "n", "", "call_llm", T0 + S, T0 + 2 * S, {"gen_ai.operation.name": "chat", **held})
    assert [tool.name for tool in conversation_of(model, again).tools] == ["get_order"]


def test_inputs_of_langsmith_in_which_the_name_of_a_key_stands_for_a_message() -> None:
    def model(own: str, at: int, given: Any, said: str) -> TraceSpan:
        held = {"langsmith.span.kind": "llm", "gen_ai.prompt": json.dumps(given), "gen_ai.completion": said}
        return TraceSpan("t", own, "r", "claude.assistant.turn", T0 + at * S, T0 + (at + 1) * S, held)

    spans = [
        span("r", "", "claude.conversation", 0, 9, langsmith__span__kind="chain"),
        model(
            "m1", 1, {"content": ASKED, "role": "user"}, dumped({"role": "assistant", "content": "I look."})
        ),
        model("m2", 3, {"content": "role"}, dumped({"role": "assistant", "content": SAID})),
        model("m3", 5, {"content": "role"}, dumped({"role": "assistant", "content": SAID})),
    ]
    (turn,) = join_spans("c", spans).turns
    (finding,) = turn.findings
    assert (turn.user, turn.agent, finding.kind) == (ASKED, SAID, "UnreadPart")
    assert finding.message.startswith("2 inputs in which the name of a key")
