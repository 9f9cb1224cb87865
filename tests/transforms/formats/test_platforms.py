"""Logs of agent platforms, by their schema: Agent Engine, Dialogflow CX, Bedrock Agents."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.readings import findings, one, read_value, tokens, turns
from tests.transforms.formats.messages.test_any_values import changed

ENGINE = "projects/p/locations/l/reasoningEngines/e/sessions/s-1"


def engine_event(number, author, *parts, **more):
    about = {"name": f"{ENGINE}/events/{number}", "author": author, "invocationId": "i-1"}
    content = {"role": "user" if author == "user" else "model", "parts": list(parts)}
    return {**about, "timestamp": f"2026-01-01T10:00:0{number}Z", "content": content, **more}


CALLED = {"functionCall": {"id": "1", "name": "get", "args": {"id": 17}}}
ANSWERED = {"functionResponse": {"id": "1", "name": "get", "response": {"a": 1}}}
EVENTS = [
    engine_event(1, "user", {"text": "Where is A-17?"}),
    engine_event(2, "desk", CALLED, actions={"transferAgent": "shop"}),
    engine_event(3, "desk", ANSWERED),
    engine_event(4, "desk", {"text": "Ship"}, eventMetadata={"partial": True}),
    engine_event(5, "desk", {"text": "Shipped."}),
]
SESSION = {"name": ENGINE, "userId": "ann", "sessionState": {"cart": 1}, "updateTime": "2026-01-01T10:00:05Z"}
SAID = [("Where is A-17?", [("get", {"id": 17})], [("get", {"a": 1})], "Shipped.")]


@pytest.mark.parametrize(
    "records",
    [
        [SESSION, {"sessionEvents": EVENTS[3:]}, {"sessionEvents": EVENTS[:3], "nextPageToken": "x"}],
        [*EVENTS[::-1], SESSION],
        [{**SESSION, "events": EVENTS}],
        [SESSION, {"sessionEvents": [{**EVENTS[0], "content": {}, "rawEvent": {
            "author": "other", "invocation_id": "old", "content": EVENTS[0]["content"]}}, *EVENTS[1:]]}],
    ],
)  # fmt: skip
def test_pages_and_events_of_agent_engine_are_joined(records):
    found = one(*records)
    assert (found.conversation_id, found.source, found.state) == ("s-1", "agent_engine", {"cart": 1})
    assert (turns(found), findings(found)) == (SAID, [])
    assert (found.turns[0].transfers, found.turns[0].latency_ms) == (["shop"], 4000)


def row(position, given, *messages, **result):
    response = {"queryResult": {"responseMessages": list(messages), **result}}
    about = {"conversation_name": "projects/p/c/1", "turn_position": position, "language_code": "en"}
    return {**about, "request": json.dumps({"queryInput": given}), "response": json.dumps(response)}


def text(said):
    return {"text": {"text": [said]}}


USE = {
    "tool": "t/orders",
    "action": "get",
    "inputActionParameters": {"id": 1},
    "outputActionParameters": {"a": 2},
}
PAY = {"tool": "t/pay", "action": "pay"}
ROWS = [
    row(1, {"event": {"event": "WELCOME"}}, text("Hello")),
    row(
        2,
        {"text": {"text": "Where is it?"}},
        text("Shipped."),
        generativeInfo={"actionTracingInfo": {"actions": [{"userUtterance": {}}, {"toolUse": USE}]}},
    ),
    row(
        3,
        {"text": {"text": "Pay"}},
        {"toolCall": {"tool": "t/pay", "action": "pay", "inputParameters": {"b": 1}}},
    ),
    row(4, {"toolCallResult": {**PAY, "outputParameters": {"ok": True}}}, text("Paid.")),
    row(5, {"audio": {}}, {"liveAgentHandoff": {}}, transcript="A person, please"),
]


def test_rows_of_dialogflow_cx():
    found = one(*ROWS[::-1])
    assert turns(found) == [
        ("<event>WELCOME</event>", [], [], "Hello"),
        ("Where is it?", [("get", {"id": 1})], [("get", {"a": 2})], "Shipped."),
        ("Pay", [("pay", {"b": 1})], [("pay", {"ok": True})], "Paid."),
        ("A person, please", [], [], ""),
    ]
    assert (found.ended, found.language, findings(found)) == ("hand_off", "en", [])


def test_an_error_of_a_tool_and_an_unknown_message_of_dialogflow_cx():
    failed = {
        "tool_use": {**USE, "outputActionParameters": None},
        "status": {"exception": {"error_message": "down"}},
    }
    found = one(row(1, {"text": {"text": "Hi"}}, {"hologram": {}}, trace_blocks=[{"actions": [failed]}]))
    assert found.turns[0].tool_responses[0].error == "down"
    assert findings(found) == ["UnreadPart"]


HI = {"text": {"text": "Hi"}}


@pytest.mark.parametrize(
    ("rows", "count", "kinds"),
    [
        ([row(3, HI, text("A")), row(4, HI, text("B"))], 2, ["MissingTurn"]),
        ([row(1, HI, text("A")), row(1, HI, text("B"))], 2, ["MissingTurn"]),
        ([row(1, HI, text("A")), {**row(2, HI, text("B")), "partial_responses": [{}]}], 2, ["UnreadPart"]),
        ([row(1, HI, text("A")), {**row(2, HI), "response": None}], 2, ["NoAnswer"]),
    ],
)
def test_rows_of_dialogflow_cx_that_are_not_all_there(rows, count, kinds):
    found = one(*rows)
    assert (len(found.turns), findings(found)) == (count, kinds)
    assert any(turn.unknown_words for turn in found.turns) == bool(kinds)


def trace(step, number=0, **more):
    about = {"sessionId": "s", "agentId": "a", "agentVersion": "3"}
    return {
        **about,
        "eventTime": f"2026-01-01T10:00:0{number}Z",
        "trace": {"orchestrationTrace": step},
        **more,
    }


DEEP = {"name": "deep", "type": "boolean", "value": "true"}
GET = {
    "actionGroupName": "orders",
    "function": "get",
    "parameters": [{"name": "id", "type": "integer", "value": "17"}, DEEP],
}  # fmt: skip
BEDROCK = [
    trace({"modelInvocationOutput": {"metadata": {"usage": {"inputTokens": 5, "outputTokens": 2}}}}, 1),
    trace({"invocationInput": {"invocationType": "ACTION_GROUP", "actionGroupInvocationInput": GET}}, 2),
    trace({"observation": {"type": "ACTION_GROUP", "actionGroupInvocationOutput": {"text": '{"a": 1}'}}}, 3),
    trace({"rationale": {"text": "Hm."}}, 4, collaboratorName="helper"),
    trace({"observation": {"type": "FINISH", "finalResponse": {"text": "Shipped."}}}, 5),
    trace({"observation": {"finalResponse": {"text": "Bye."}}}, 6),
]


def test_traces_of_bedrock_agents():
    found = one(*BEDROCK[::-1])
    assert turns(found) == [
        (None, [("get", {"id": 17, "deep": True})], [("get", {"a": 1})], "Shipped."),
        (None, [], [], "Bye."),
    ]
    assert (found.app_version, found.ended, tokens(found)[0]) == ("3", "normally", (5, 2))
    assert sorted(findings(found)) == ["MissingHistory", "MissingHistory", "SubAgent"]


def step(number, **kinds):
    return {**trace({}, number), "trace": kinds}


POLISHED = {"modelInvocationOutput": {"parsedResponse": {"text": "It was shipped."}}}
BLOCKED = step(6, guardrailTrace={"action": "INTERVENED"})


def test_a_final_response_that_was_processed_is_one_turn():
    found = one(BEDROCK[4], step(6, postProcessingTrace=POLISHED))
    assert turns(found) == [(None, [], [], "It was shipped.")]
    assert found.ended == "normally"


@pytest.mark.parametrize(
    ("records", "ended"),
    [([BEDROCK[4], BLOCKED], "agent_error"), ([BLOCKED, trace(BEDROCK[4]["trace"]["orchestrationTrace"], 7)],
     "agent_error"), ([step(1, failureTrace={"failureReason": "throttled"}), BEDROCK[4]], "normally")],
)  # fmt: skip
def test_a_guardrail_or_a_failure_counts_in_its_own_turn(records, ended):
    assert one(*records).ended == ended


@pytest.mark.parametrize("records", [[{"sessionEvents": EVENTS}], ROWS[1:2], BEDROCK[1:3]])
@given(data=st.data())
def test_no_value_crashes_a_reader(records, data):
    value = data.draw(changed(records[0]))
    found = read_value(value)
    assert len(found.conversations) + len(found.failures) == 1
    assert all(failure.error_type in ("ValueError", "WireError") for failure in found.failures)
