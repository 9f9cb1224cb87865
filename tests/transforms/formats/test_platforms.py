"""Logs of agent platforms, by their schema: Agent Engine, Dialogflow CX, Bedrock Agents."""

import json

import pytest

from tests.readings import findings, one


def row(position, given, *messages, **result):
    response = {"queryResult": {"responseMessages": list(messages), **result}}
    about = {"conversation_name": "projects/p/c/1", "turn_position": position, "language_code": "en"}
    return {**about, "request": json.dumps({"queryInput": given}), "response": json.dumps(response)}


def text(said):
    return {"text": {"text": [said]}}


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


LAST = trace({"observation": {"type": "FINISH", "finalResponse": {"text": "Shipped."}}}, 5)


def step(number, **kinds):
    return {**trace({}, number), "trace": kinds}


BLOCKED = step(6, guardrailTrace={"action": "INTERVENED"})


@pytest.mark.parametrize(
    ("records", "ended"),
    [([LAST, BLOCKED], "agent_error"), ([BLOCKED, trace(LAST["trace"]["orchestrationTrace"], 7)],
     "agent_error"), ([step(1, failureTrace={"failureReason": "throttled"}), LAST], "normally")],
)  # fmt: skip
def test_a_guardrail_or_a_failure_counts_in_its_own_turn(records, ended):
    assert one(*records).ended == ended
