"""What a reader does not understand is a finding, and what rests on it is not scored."""

import asyncio
import json
from typing import Any

import pytest

import turnwise
from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import Conversation, Expectation, ExpectedTurn, Record, ToolCall, Turn
from turnwise.schemas.run import RunInfo
from turnwise.transforms.criteria.base import CRITERIA, JudgedCriterion
from turnwise.transforms.formats.reading import LogReader
from turnwise.transforms.matching.sample import Sample
from turnwise.transforms.review.row import decide
from turnwise.transforms.scoring.evaluate import judge_conversation, score_conversation

RUN = RunInfo("r", "2026-01-01T00:00:00Z")


def read(value: Any, hint: str = "auto") -> Conversation:
    found = LogReader(hint).read(Record("f.jsonl", 1, json.dumps(value).encode()))
    assert isinstance(found, list | tuple)
    (one,) = found
    assert isinstance(one, Conversation), one
    return one


def canonical(**fields: Any) -> Any:
    return {"conversation_id": "c", "turns": [{"user": "q", "agent": "a", **fields}]}


def gap_case(golden: EvalCase | None = None, **gaps: Any) -> Sample:
    turns = [
        Turn(turn_index=0, user="q", agent="Done.", tool_calls=[ToolCall(name="look_up", args={})], **gaps),
        Turn(turn_index=1, user="thanks", agent="Bye."),
    ]
    return Sample(Conversation(conversation_id="c", turns=turns), golden, Record("f", 1, b"{}"))


def golden(**fields: Any) -> EvalCase:
    first = ExpectedTurn(user="q", response="Done.", tool_calls=[ToolCall(name="look_up", args={})])
    return EvalCase(
        eval_id="e", turns=[first, ExpectedTurn(user="thanks", response="Bye.", tool_calls=[])], **fields
    )


def measured(*names: str) -> list[Any]:
    return [CRITERIA[name]() for name in names]


WRONG = golden()
WRONG.turns[1].response = "Something else entirely."
CALLS_UNKNOWN, WORDS_UNKNOWN = {"unknown_calls": "why"}, {"unknown_words": "why"}


@pytest.mark.parametrize(
    ("case", "gaps", "values", "status"),
    [
        (golden(), CALLS_UNKNOWN, {"tool_trajectory_avg_score": ["why", 1.0, 1.0]}, None),
        (golden(), CALLS_UNKNOWN, {"tool_effects_v1": ["why", 1.0, 1.0]}, None),
        (golden(), CALLS_UNKNOWN, {"tool_call_count_v1": ["why", 0.0, 0.0]}, None),
        (golden(), CALLS_UNKNOWN, {"response_match_score": [1.0, 1.0, 1.0]}, None),
        (golden(), WORDS_UNKNOWN, {"response_match_score": ["why", 1.0, 1.0]}, None),
        (golden(), WORDS_UNKNOWN, {"tool_trajectory_avg_score": [1.0, 1.0, 1.0]}, None),
        (EvalCase(eval_id="e", actions=[]), CALLS_UNKNOWN, {"tool_effects_v1": ["turn 1: why"]}, None),
        (WRONG, CALLS_UNKNOWN, {"response_match_score": [1.0, 0.0, 0.5]}, "FAIL"),
    ],
)
def test_what_rests_on_a_gap_has_no_score_and_nothing_passes(case, gaps, values, status):
    scored = score_conversation(gap_case(case, **gaps), measured(*values))
    for scores in scored.scores:
        held = [score for _, score in scores.turns] + ([scores.overall] if scores.overall else [])
        found = [score.reason if score.value is None else score.value for score in held]
        assert found == values[scores.criterion.name]
        assert "why" not in found or (scores.overall and scores.overall.outcome is None)
    decided = decide(scored, RUN)
    assert decided.verdict.status == status
    if status is None:
        assert decided.verdict.reasons[0] == "turn 1: why"
        assert "evaluationStatus" not in decided.results[0]["result"]
        assert "turn 1: why" in decided.results[0]["result"]["errorInfo"]["errorMessage"]


def test_a_judge_is_not_asked_about_what_the_log_does_not_show(scripted):
    judge = scripted(lambda question, number: "asked")
    case = gap_case(golden(), unknown_calls="why")
    names = (
        "hallucinations_v1",
        "multi_turn_tool_use_quality_v1",
        "final_response_match_v2",
        "hallucination",
    )
    scored = score_conversation(case, [])
    criteria = [CRITERIA[name]() for name in (*names, "hallucination")]
    assert all(isinstance(criterion, JudgedCriterion) for criterion in criteria)
    asyncio.run(judge_conversation(scored, criteria, judge))  # type: ignore[arg-type]
    reasons = {e.criterion.name: [score.reason for _, score in e.turns] for e in scored.scores}
    assert reasons["hallucinations_v1"] == ["why", "turn 1: why"]
    assert reasons["hallucination"] == ["why"]
    assert set(reasons["final_response_match_v2"]) == {"asked"}
    assert scored.scores[1].overall.reason == "turn 1: why"  # type: ignore[union-attr]
    assert scored.failures == []


def of_ces(kind: str, *expectations: Expectation) -> EvalCase:
    if kind == "scenario":
        wanted = list(expectations)
        return EvalCase(
            eval_id="e", kind="scenario", dialect="ces", expectations=wanted, user_goal_enabled=False
        )
    turn = ExpectedTurn(user="q", expectations=list(expectations))
    return EvalCase(eval_id="e", dialect="ces", turns=[turn])


LOOK_UP = Expectation("tool_call", tool_call=ToolCall(name="look_up", args={}))
DELETE = Expectation("tool_call", tool_call=ToolCall(name="delete", args={}))
WORDING = Expectation("agent_response", text="Deleted.", comparison="EQUALS")


def ces_decision(case: EvalCase, **gaps: Any) -> Any:
    turn = Turn(user="q", agent="Done.", tool_calls=[ToolCall(name="look_up", args={})], **gaps)
    matched = Sample(Conversation(conversation_id="c", turns=[turn]), case, Record("f", 1, b"{}"))
    return decide(score_conversation(matched, []), RUN)


SPOKEN = Expectation("agent_response", text="Done.", comparison="EQUALS")


@pytest.mark.parametrize(
    ("expectations", "gaps", "status"),
    [
        ((LOOK_UP, SPOKEN), {}, "PASS"),
        ((LOOK_UP, SPOKEN), {"unknown_calls": "why"}, None),
        ((LOOK_UP, SPOKEN), {"unknown_words": "why"}, None),
        ((LOOK_UP, DELETE, SPOKEN), {}, "FAIL"),
        ((LOOK_UP, WORDING), {"unknown_calls": "why"}, "FAIL"),
        ((LOOK_UP, WORDING), {"unknown_words": "why"}, None),
        ((Expectation("no_tool_calls"), SPOKEN), {"unknown_calls": "why"}, "FAIL"),
        ((LOOK_UP, Expectation("agent_transfer", target_agent="x"), SPOKEN), {"unknown_calls": "why"}, None),
    ],
)
def test_golden_ces_cases_are_decided_by_what_is_certain(expectations, gaps, status):
    decided = ces_decision(of_ces("golden", *expectations), **gaps)
    assert decided.verdict.status == status
    (turn,) = decided.results[0]["result"]["goldenResult"]["turnReplayResults"]
    assert ("overallToolInvocationResult" in turn) == (
        "unknown_calls" not in gaps and expectations[0].tool_call is not None
    )


@pytest.mark.parametrize(
    ("expectations", "gaps", "status"),
    [
        ((LOOK_UP,), {}, "PASS"),
        ((LOOK_UP,), {"unknown_calls": "why"}, None),
        ((DELETE,), {}, "FAIL"),
        ((DELETE,), {"unknown_calls": "why"}, None),
        ((DELETE,), {"unknown_words": "why"}, "FAIL"),
    ],
)
def test_ces_scenarios_are_decided_by_what_is_certain(expectations, gaps, status):
    assert ces_decision(of_ces("scenario", *expectations), **gaps).verdict.status == status


def test_no_calls_are_not_certain_where_calls_may_be_missing():
    case = of_ces("golden", Expectation("no_tool_calls"), SPOKEN)
    turn = Turn(user="q", agent="Done.", unknown_calls="why")
    matched = Sample(Conversation(conversation_id="c", turns=[turn]), case, Record("f", 1, b"{}"))
    decided = decide(score_conversation(matched, measured("expectations_met")), RUN)
    assert decided.verdict.status is None
    assert decided.scores[0].reason == "why"


def test_the_result_of_a_plain_golden_says_nothing_about_calls_that_may_be_missing():
    missed = golden()
    missed.turns[0].tool_calls = [ToolCall(name="delete", args={})]
    decided = decide(score_conversation(gap_case(missed, unknown_calls="why"), []), RUN)
    first, second = decided.results[0]["result"]["goldenResult"]["turnReplayResults"]
    assert "outcome" not in first["expectationOutcome"][0]
    assert "overallToolInvocationResult" not in first
    assert second["expectationOutcome"][0]["outcome"] == "PASS"


def test_findings_are_rows_with_their_place():
    conversation = read(canonical(toolCalls=[{"name": "f"}]))
    case = Sample(conversation, None, Record("f.jsonl", 7, b"{}"))
    (row,) = score_conversation(case, []).failures
    assert (row.stage, row.error_type, row.source, row.position) == ("check", "UnreadPart", "f.jsonl", 7)
    assert (row.conversation_id, row.turn_index) == ("c", 0)


def findings(record):
    (read,) = turnwise.read_conversations(record)
    return {each.kind for turn in read.turns for each in turn.findings}, read.turns[-1].unknown_calls
