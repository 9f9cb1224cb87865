"""Logs that stop before the agent answered: none of them passes, unless no answer was due."""

import json

import pytest

from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import Expectation, ExpectedTurn, Record, ToolCall
from turnwise.schemas.run import RunInfo
from turnwise.transforms.formats.reading import LogReader
from turnwise.transforms.matching.sample import Sample, inline_case
from turnwise.transforms.scoring.config import build_criteria, parse_config
from turnwise.transforms.scoring.conversation import evaluate_sample

CALLS = build_criteria(parse_config(json.dumps({"criteria": {"tool_effects_v1": {}}})))
PAY = {"id": "1", "type": "function", "function": {"name": "pay", "arguments": "{}"}}
CALLED = {"role": "assistant", "content": "One moment.", "tool_calls": [PAY]}
PAID = {"role": "tool", "tool_call_id": "1", "content": "paid"}
WANTED = {"name": "pay", "arguments": {}}
HI, HELLO = {"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}


def verdict(record, case=None):
    source = Record("log.jsonl", 1, json.dumps(record).encode())
    (found,) = LogReader().read(source)
    sample = Sample(found, case or inline_case(found), source)
    return evaluate_sample(sample, CALLS, RunInfo("r", "2026-01-01T00:00:00Z")).verdict


def chat(*messages, actions=(), **fields):
    return {"id": "c", "messages": list(messages), "info": {"task": {"actions": list(actions)}}, **fields}


def canonical(*turns, **fields):
    return {"conversation_id": "c", "turns": list(turns), "expected": {"actions": []}, **fields}


def adk(*events):
    return {"id": "s", "events": [{"invocation_id": "i", **event} for event in events]}


ASKED = {"author": "user", "content": {"parts": [{"text": "hi"}]}}


@pytest.mark.parametrize(
    "record",
    [
        chat(HI, {"role": "assistant", "content": ""}),
        chat(HI, CALLED),
        chat(HI, {**CALLED, "finish_reason": "tool_calls"}),
        chat(HI, {"role": "assistant", "tool_calls": [PAY]}, PAID, actions=[WANTED]),
        canonical({"user": "hi", "agent": "hello"}, {"user": "pay"}),
        canonical({"user": "hi", "agent": "a", "expected": {"tool_calls": []}}, {"user": "x"}),
    ],
)
def test_a_log_that_stops_without_an_answer_does_not_pass(record):
    found = verdict(record)
    assert found.status is None
    assert "has no answer" in found.reasons[0] or "without its result" in " ".join(found.reasons)


@pytest.mark.parametrize(
    "parts",
    [{"parts": [{"text": ""}]}, {"parts": [{"text": "hm", "thought": True}]}, {"parts": []}],
)
def test_an_adk_session_whose_last_event_says_nothing_does_not_pass(parts):
    said = {"author": "agent", "content": parts, "finishReason": "STOP"}
    found = verdict(adk(ASKED, said), EvalCase(eval_id="e", actions=[]))
    assert found.status != "PASS" and "no answer" in found.reasons[0]


@pytest.mark.parametrize(
    "record",
    [
        chat(HI, HELLO),
        chat(HI, HELLO, {"role": "user", "content": "Bye. ###STOP###"}),
        chat(HI, HELLO, HI, termination_reason="user_stop"),
        canonical({"user": "hi", "agent": "hello"}, {"user": "bye"}, ended="user_left"),
    ],
)
def test_where_no_answer_is_due_the_scores_decide(record):
    assert verdict(record).status == "PASS"


@pytest.mark.parametrize(
    ("turn", "status"),
    [
        (ExpectedTurn(tool_calls=[ToolCall(name="pay")]), "PASS"),
        (ExpectedTurn(tool_calls=[ToolCall(name="pay")], response="Paid."), None),
        (
            ExpectedTurn(
                tool_calls=[ToolCall(name="pay")],
                expectations=[Expectation(kind="agent_response", text="Paid.")],
            ),
            None,
        ),
    ],
)
def test_the_case_says_whether_an_answer_is_due(turn, status):
    record = {"conversation_id": "c", "turns": [{"user": "pay", "tool_calls": [{"name": "pay", "args": {}}]}]}
    assert verdict(record, EvalCase(eval_id="e", turns=[turn])).status == status
