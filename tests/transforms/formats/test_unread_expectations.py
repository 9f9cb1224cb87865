"""What a case or a record expects and nothing reads is never taken for nothing expected."""

import json
from typing import Any

import pytest

import turnwise
from turnwise.schemas.config import CesConfig
from turnwise.schemas.conversation import Record
from turnwise.schemas.run import RunInfo
from turnwise.transforms.criteria.base import CRITERIA
from turnwise.transforms.formats.reading import CaseReader, LogReader
from turnwise.transforms.matching.sample import CaseIndex, Sample
from turnwise.transforms.review.row import EvaluatedConversation, decide
from turnwise.transforms.scoring.evaluate import evaluate
from turnwise.transforms.scoring.panels import UNREAD_EXPECTATION
from turnwise.transforms.scoring.selection import Criteria

RUN = RunInfo("r", "2026-01-01T00:00:00Z")
CALL = {"name": "book", "args": {"n": 1}}
ANSWERED = {"user": "book it", "agent": "Done.", "tool_calls": [CALL]}


def record(value: Any) -> Record:
    return Record("log.jsonl", 1, json.dumps(value).encode())


def conversation(turn: Any = (), **fields: Any) -> dict[str, Any]:
    return {"conversation_id": "c", "turns": [{**ANSWERED, **dict(turn)}], **fields}


def evaluated(value: Any, cases: Any = None) -> EvaluatedConversation:
    found = LogReader().read(record(value))
    given = CaseReader(CesConfig()).read(record(cases)) if cases else None
    case = Sample(found[0], CaseIndex(given).find(found[0]), record(value))
    names = ("tool_trajectory_avg_score", "tool_effects_v1", "response_match_score", "total_turn_latency")
    gates = {"tool_trajectory_avg_score": 1.0, "tool_effects_v1": 0.5, "response_match_score": 0.8}
    criteria = [CRITERIA[n](threshold=gates.get(n)) for n in names if n in CRITERIA]
    return decide(evaluate(case, Criteria(criteria))[0], RUN)


def status(found: EvaluatedConversation) -> str | None:
    return found.verdict.status


def values(found: EvaluatedConversation, name: str) -> list[float | None]:
    scores = next(s for s in found.scored.scores if s.criterion.name == name)
    overall = [] if scores.overall is None else [scores.overall.value]
    return [score.value for _, score in scores.turns] + overall


@pytest.mark.parametrize(
    "value",
    [
        conversation({"expected": {"tool_calls": [CALL], "assertions": ["books one"]}}),
        conversation(expected={"actions": [CALL], "nl_assertions": ["books one"]}),
        conversation({"expected": {"expectations": [{"kind": "tool_call", "tool_call": CALL, "by": 3}]}}),
        conversation({"expected": {"tool_calls": [{**CALL, "result": {"ok": True}}]}}),
        conversation({"expected_state": {"n": 1}, "expected": {"tool_calls": [CALL]}}),
    ],
)
def test_an_expectation_that_is_not_read_is_a_finding_and_never_a_pass(value):
    found = evaluated(value)
    assert (status(found), found.verdict.reasons[0].count("is not read")) == (None, 1)
    (failure,) = found.scored.failures
    assert (failure.stage, failure.error_type) == ("check", UNREAD_EXPECTATION)
    assert values(found, "tool_trajectory_avg_score") in ([None, None], [None], [])
    (case,) = CaseReader(CesConfig()).read(record(value))
    assert "is not read" in (case.unread or case.turns[0].unread)


def test_the_whole_is_not_read_but_its_turns_are():
    found = evaluated(conversation({"expected": {"tool_calls": [CALL]}}, expected={"database": {"n": 1}}))
    assert (status(found), found.verdict.reasons[0].count("'expected.database'")) == (None, 1)
    assert values(found, "tool_trajectory_avg_score") == [1.0, 1.0]


def test_what_is_certain_fails_all_the_same():
    value = conversation({"expected": {"response": "Sorry, that is not possible at all", "must_call": ["x"]}})
    assert status(evaluated(value)) == "FAIL"


@pytest.mark.parametrize(
    "value",
    [
        conversation({"expected": {"tool_calls": [CALL], "response": "Done."}}),
        conversation({"expected": {"tool_calls": [{**CALL, "type": "function", "id": 1}]}}),
        conversation({"expected": {"tool_calls": [CALL], "tool_responses": [], "assertions": []}}),
        conversation(
            expected={"actions": [{**CALL, "action_id": "a", "info": None}], "reward_basis": ["DB"]}
        ),
        conversation({"expected": {"tool_calls": [CALL]}, "note": "x"}, notes="x", category="y"),
    ],
)
def test_what_expects_nothing_is_no_finding(value):
    found = evaluated(value)
    assert (status(found), found.scored.failures) == ("PASS", [])


PARTS = [{"executable_code": {"code": "delete()", "language": "PYTHON"}}, {"tool_response": {"id": "1"}}]


def invocation(*parts: Any) -> dict[str, Any]:
    call = {"function_call": CALL}
    steps = [{"author": "a", "content": {"parts": [part]}} for part in (call, *parts)]
    return {
        "user_content": {"parts": [{"text": "book it"}]},
        "final_response": {"parts": [{"text": "Done."}]},
        "intermediate_data": {"invocation_events": steps},
    }


@pytest.mark.parametrize("part", PARTS)
def test_a_golden_turn_with_work_that_is_not_read(part):
    golden = {"eval_set_id": "s", "eval_cases": [{"eval_id": "e", "conversation": [invocation(part)]}]}
    found = evaluated(conversation(eval_id="e"), golden)
    assert (status(found), next(iter(part)) in found.verdict.reasons[0]) == (None, True)
    assert values(found, "tool_trajectory_avg_score") == [None, None]
    assert values(found, "response_match_score") == [1.0, 1.0]
    assert [f.error_type for f in found.scored.failures] == [UNREAD_EXPECTATION]


@pytest.mark.parametrize("part", [*PARTS, {"new_tool_use": {"name": "delete"}}])
def test_a_result_whose_golden_turn_has_work_that_is_not_read(part):
    pair = {"actual_invocation": invocation(), "expected_invocation": invocation(part)}
    result = {"eval_id": "e", "eval_metric_result_per_invocation": [pair], "session_id": "x"}
    found = evaluated({"eval_set_result_id": "r", "eval_case_results": [result]})
    assert (status(found), next(iter(part)) in found.verdict.reasons[0]) == (None, True)


ODD_SHAPES = {
    "a call without a name": ({"function_call": {"args": {"n": 1}}}, {"function_call": {"args": {"n": 1}}}),
    "a result without its call": ({"function_response": {"name": "g", "response": {}}}, None),
    "code that ran": (PARTS[0], PARTS[0]),
    "a text that spells a call": ({"text": '{"tool_calls": [{"name": "book"}]}'}, None),
}


@pytest.mark.parametrize("name", ODD_SHAPES)
def test_with_adk_compat_what_google_adk_does_not_look_at_is_not_missed(name):
    made, wanted = ODD_SHAPES[name]
    pair = {
        "actual_invocation": invocation(made),
        "expected_invocation": invocation(*([wanted] if wanted else [])),
    }
    result = {"eval_id": "e", "eval_metric_result_per_invocation": [pair], "session_id": "x"}
    log = {"eval_set_result_id": "r", "eval_case_results": [result]}
    criteria = {"tool_trajectory_avg_score": 1.0, "response_match_score": 0.8}
    for adk_compat, status, value in ((True, "PASS", 1.0), (False, None, None)):
        config = turnwise.EvalConfig(criteria=criteria, adk_compat=adk_compat)
        found = turnwise.evaluate(log, config=config)
        assert found.status == status
        calls = [row["value"] for row in found.scores if row["criterion"] == "tool_trajectory_avg_score"]
        assert calls == [value, value]
    strange = {"hologram": {"calls": [1]}}
    pair["actual_invocation"] = invocation(made, strange)
    assert (
        turnwise.evaluate(log, config=turnwise.EvalConfig(criteria=criteria, adk_compat=True)).status is None
    )


def test_a_golden_turn_that_is_read_in_full():
    picture = {"inline_data": {"mime_type": "image/png", "data": ""}}
    golden = {"eval_set_id": "s", "eval_cases": [{"eval_id": "e", "conversation": [invocation(picture)]}]}
    assert status(evaluated(conversation(eval_id="e"), golden)) == "PASS"
