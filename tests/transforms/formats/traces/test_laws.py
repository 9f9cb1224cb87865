"""Laws of spans: their order and their files do not matter, and no value of an attribute raises."""
# ruff: noqa: E501

import json
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import turnwise
from tests.tables import rows_test
from turnwise.transforms.formats.traces.span import SpanEvent, TraceSpan
from turnwise.transforms.formats.traces.turns import join_spans

SECOND = 1_000_000_000
START = 1_760_000_000 * SECOND


test_rows = rows_test(globals(), "laws")


def span(trace, own, parent, name, at, length=1, **attributes):
    held = [{"key": key.replace("__", "."), "value": typed(value)} for key, value in attributes.items()]
    return {
        "traceId": trace * 32,
        "spanId": own * 16,
        "parentSpanId": parent * 16,
        "name": name,
        "startTimeUnixNano": str(START + at * SECOND),
        "endTimeUnixNano": str(START + (at + length) * SECOND),
        "attributes": held,
    }


def typed(value):
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}


def message(role, *parts):
    return {"role": role, "parts": list(parts)}


def said(text):
    return {"type": "text", "content": text}


ASK = {"type": "tool_call", "id": "c1", "name": "get_order", "arguments": {"order_id": "A-17"}}
TOLD = {"type": "tool_call_response", "id": "c1", "response": "shipped"}


def turn_spans(trace, at, history, user, answer):
    """Spans of one turn: an agent, two model calls around a tool call, and an HTTP call; the root has the id."""
    first = [*history, message("user", said(user))]
    second = [*first, message("assistant", ASK), message("tool", TOLD)]
    chat = {
        "gen_ai__operation__name": "chat",
        "gen_ai__usage__input_tokens": 10,
        "gen_ai__usage__output_tokens": 2,
    }
    return [
        span(trace, "a", "", "invoke_agent desk", at, 9, gen_ai__operation__name="invoke_agent",
             gen_ai__conversation__id="talk"),
        span(trace, "b", "a", "chat m", at + 1, gen_ai__input__messages=json.dumps(first),
             gen_ai__output__messages=json.dumps([message("assistant", ASK)]), **chat),
        span(trace, "c", "a", "execute_tool get_order", at + 3, gen_ai__operation__name="execute_tool",
             gen_ai__tool__name="get_order", gen_ai__tool__call__id="c1", gen_ai__tool__call__result="shipped"),
        span(trace, "d", "a", "chat m", at + 5, gen_ai__input__messages=json.dumps(second),
             gen_ai__output__messages=json.dumps([message("assistant", said(answer))]), **chat),
        span(trace, "e", "d", "POST", at + 5, http__method="POST"),
    ]  # fmt: skip


HISTORY = [
    message("user", said("Where is A-17?")),
    message("assistant", ASK),
    message("tool", TOLD),
    message("assistant", said("It has shipped.")),
]
SPANS = [
    *turn_spans("1", 0, [], "Where is A-17?", "It has shipped."),
    *turn_spans("2", 20, HISTORY, "Where is A-17?", "Still on its way."),
]


def export(spans):
    resource = {"attributes": [{"key": "service.version", "value": {"stringValue": "v3"}}]}
    return {
        "resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {"name": "s"}, "spans": spans}]}]
    }


def as_read(exports):
    return [msgspec.to_builtins(one) for one in turnwise.read_conversations(exports)]


WHOLE = as_read([export(SPANS)])


def test_two_traces_are_two_turns_of_one_conversation():
    (found,) = WHOLE
    assert (found["conversation_id"], found["app_version"]) == ("talk", "v3")
    first, second = found["turns"]
    assert (first["user"], first["agent"]) == ("Where is A-17?", "It has shipped.")
    assert (second["user"], second["agent"]) == ("Where is A-17?", "Still on its way.")
    assert [call["args"] for call in first["tool_calls"]] == [{"order_id": "A-17"}]
    assert [one["response"] for one in first["tool_responses"]] == ["shipped"]
    assert (first["latency_ms"], first["usage"]["input_tokens"], first["inference_calls"]) == (9000.0, 20, 2)


@settings(max_examples=60, deadline=None)
@given(st.permutations(SPANS), st.lists(st.integers(0, len(SPANS)), max_size=6))
def test_order_and_splitting_do_not_matter(spans, cuts):
    edges = [0, *sorted(cuts), len(spans)]
    parts = [spans[low:high] for low, high in pairwise(edges) if high > low]
    assert as_read([export(part) for part in parts]) == WHOLE


def test_repeated_deliveries_count_once():
    assert as_read([export(SPANS), export(SPANS[:4]), export(SPANS)]) == WHOLE


def test_files_of_lines_are_joined(tmp_path):
    for name, part in (("b.jsonl", SPANS[:6]), ("a.jsonl", SPANS[6:])):
        (tmp_path / name).write_text("".join(f"{json.dumps(export([one]))}\n" for one in part))
    found = turnwise.read_conversations(str(tmp_path))
    assert [msgspec.to_builtins(one) for one in found] == WHOLE


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9)
    | st.sampled_from(['{"', "[[", '[{"role": 1}]', '{"messages": [[]]}', '"x"', "{'a': 1}", "__REDACTED__"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["role", "content", "parts", "type", "text", "tool_calls", "function", "name", "message",
                         "messages", "lc", "kwargs", "data", "id", "arguments", "response", "output"]),
        inner, max_size=4),
    max_leaves=8,
)  # fmt: skip
KEYS = ["gen_ai.operation.name", "gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.tool.name",
        "gen_ai.tool.call.arguments", "gen_ai.tool.call.result", "gen_ai.usage.input_tokens",
        "gen_ai.prompt", "gen_ai.prompt.0.content", "gen_ai.prompt.0",
        "gen_ai.completion.0.tool_calls.0.name", "gen_ai.response.id", "openinference.span.kind",
        "llm.input_messages.0.message.content", "input.value", "output.value", "metadata",
        "ai.operationId", "ai.prompt", "ai.response.toolCalls", "traceloop.span.kind",
        "traceloop.entity.input", "gcp.vertex.agent.llm_request", "gcp.vertex.agent.llm_response",
        "langsmith.span.kind", "langsmith.inputs", "langfuse.observation.type",
        "langfuse.observation.output", "mlflow.spanType", "events", "final_result",
        "pydantic_ai.all_messages", "openai_agents.type", "openai_agents.usage",
        "adk_events.LLM_RESPONSE", "gen_ai.conversation.id", "session.id", "error.type",
        "gen_ai.response.finish_reasons", "tag.tags", "gen_ai.tool.definitions", "ai.prompt.tools",
        "llm.tools.0.tool.json_schema", "llm.request.functions.0.name"]  # fmt: skip
KINDS = ["chat", "execute_tool", "invoke_agent", "LLM", "TOOL", "AGENT", "CHAIN", "ai.toolCall", "ai.generateText",
         "generation", "tool", "workflow", "response", "function"]  # fmt: skip
ATTRIBUTES = st.dictionaries(st.sampled_from(KEYS), VALUES | st.sampled_from(KINDS), max_size=8)


@settings(max_examples=400, deadline=None)
@given(
    st.lists(
        st.tuples(ATTRIBUTES, st.integers(0, 4), st.sampled_from(["call_llm", "invocation", "x"])), max_size=4
    )
)
def test_no_attribute_of_any_type_raises(drawn):
    spans = [
        TraceSpan("t", str(place), str(parent) if parent else "", name, START, START, attributes)
        for place, (attributes, parent, name) in enumerate(drawn, 1)
    ]
    try:
        found = join_spans("c", spans)
    except ValueError as error:
        assert "none is a call of a model or a tool" in str(error)
    else:
        assert turnwise.read_conversations(msgspec.to_builtins(found)) != []
    with pytest.raises(ValueError, match="none is a call"):  # nothing of the others is read in it
        join_spans("c", [TraceSpan("t", "1", name="GET /health")])


def odd_body(odd):
    """No body of a log record of any type raises."""
    body = {"input": {"messages": odd}, "output": {"messages": [{"role": "assistant", "content": "Done."}]}}
    record = SpanEvent("openinference.x", START, {}, body)
    (turn,) = join_spans("c", [TraceSpan("t", "1", events=[record], is_log=True)]).turns
    assert turn.agent == "Done." and turn.user == ("Hi" if odd == "Hi" else None)


@pytest.mark.parametrize(
    ("records", "stage", "kind", "message"),
    [
        ([export([*SPANS, span("3", "f", "", "GET /health", 0, http__method="GET")])], "check", "NoConversation",
         "none of its 1 spans is a step of an agent"),
        ([export([*SPANS, {**SPANS[1], "traceId": "0" * 32}])], "parse", "ValueError", "name no trace"),
        ([{"resourceSpans": []}, export(SPANS)], "check", "NoConversation", "holds no span"),
        ([{"batches": []}, export(SPANS)], "check", "NoConversation", "holds no span"),
        ([{"resourceSpans": [{"scopeSpans": []}]}, export(SPANS)], "check", "NoConversation", "holds no span"),
    ],
)  # fmt: skip
def test_what_is_of_no_conversation_is_told_beside_the_others(records, stage, kind, message):
    rows = []
    found = turnwise.read_conversations(records, on_failure=rows.append)
    assert [msgspec.to_builtins(one) for one in found] == WHOLE
    [row] = rows
    assert (row["stage"], row["error_type"]) == (stage, kind) and message in row["message"]


def test_an_unread_dialect_is_an_error_that_names_the_known_ones():
    odd = [span("4", "f", "", "x", 0, gen_ai__operation__name="dream", gen_ai__thing="y")]
    with pytest.raises(
        turnwise.ReadError, match=r"no dialect reads them \(keys: gen_ai.*\); known dialects: adk, .*gen_ai"
    ):
        turnwise.read_conversations([export(odd)])


def no_kind(name, held, said):
    """Spans of no known kind are an error."""
    odd = span("4", "f", "", name, 0, **held)
    with pytest.raises(turnwise.ReadError, match=f"1 spans {said} .*; known dialects: adk, "):
        turnwise.read_conversations([export([odd])])
    rows = []
    noise = [span("4", "e", "f", "GET /", 0, http__method="GET"), span("4", "d", "f", "x", 0, db__system="y")]
    turnwise.read_conversations([export([odd, *noise, *SPANS])], on_failure=rows.append)
    assert [row["error_type"] for row in rows] == ["ValueError" if "agent's" in said else "NoConversation"]


def test_a_session_in_each_of_several_conversations_of_one_trace():
    root = span("5", "9", "", "experiment", 0, 99)
    parts = [turn_spans("5", at, [], user, "Done.") for at, user in ((1, "One?"), (30, "Two?"))]
    spans = [root]
    for number, part in enumerate(parts):
        names = {letter: f"{number}{letter}" for letter in "abcde"}
        for one in part:
            own, parent = names[one["spanId"][0]], names.get(one["parentSpanId"][:1], "99")
            held = [a if a["key"] != "gen_ai.conversation.id" else {**a, "value": typed(f"talk {number}")}
                    for a in one["attributes"]]  # fmt: skip
            spans.append({**one, "spanId": own * 8, "parentSpanId": parent * 8, "attributes": held})
    for exports in ([export(spans)], [export([one]) for one in reversed(spans)]):
        found = {one.conversation_id: one for one in turnwise.read_conversations(exports)}
        said_by = {name: [turn.user for turn in one.turns] for name, one in found.items()}
        assert said_by == {"talk 0": ["One?"], "talk 1": ["Two?"]}


def test_an_agent_inside_a_tool_with_an_id_of_its_own_stays_in_the_conversation():
    inner = {"gen_ai__operation__name": "invoke_agent", "gen_ai__conversation__id": "other"}
    chat = {"gen_ai__operation__name": "chat", "gen_ai__conversation__id": "other"}
    asked = json.dumps([message("user", said("Look up A-17 in the warehouse"))])
    told = json.dumps([message("assistant", said("In hall 3"))])
    more = [
        span("1", "7", "c", "invoke_agent helper", 3, **inner),
        span(
            "1", "8", "7", "chat m", 3, gen_ai__input__messages=asked, gen_ai__output__messages=told, **chat
        ),
    ]
    for exports in ([export([*SPANS[:5], *more])], [export([one]) for one in (*more, *SPANS[:5])]):
        (found,) = turnwise.read_conversations(exports)
        (turn,) = found.turns
        assert (found.conversation_id, turn.user, turn.agent) == ("talk", "Where is A-17?", "It has shipped.")
        assert turn.agent_messages == ["It has shipped."] and turn.inference_calls == 3
