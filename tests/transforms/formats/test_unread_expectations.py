"""What a case or a record expects and nothing reads is never taken for nothing expected."""

import json

import turnwise
from tests.tables import rows_test
from turnwise.schemas.config import CesConfig
from turnwise.schemas.conversation import Record
from turnwise.transforms.formats.reading import CaseReader
from turnwise.transforms.scoring.selection import UNREAD_EXPECTATION

CALL = {"name": "book", "args": {"n": 1}}
CRITERIA = {"tool_trajectory_avg_score": 1.0, "tool_effects_v1": 0.5, "response_match_score": 0.8}


test_rows = rows_test(globals(), "unread_expectations")


def conversation(expected=None, **fields):
    turn = {"user": "book it", "agent": "Done.", "tool_calls": [CALL]}
    turn |= {"expected": expected} if expected else {}
    return {"conversation_id": "c", "turns": [turn], **fields}


def evaluated(log, cases=None):
    return turnwise.evaluate(log, cases=cases, criteria=CRITERIA)


def values(found, name="tool_trajectory_avg_score"):
    return [row["value"] for row in found.scores if row["criterion"] == name]


def reason(found):
    return found.conversations[0]["reason"].split("; ")[0]


def unread(log):
    """It is a finding, and never a pass."""
    found = evaluated(log)
    assert (found.status, reason(found).count("is not read")) == (None, 1)
    (failure,) = found.failures
    assert (failure["stage"], failure["error_type"]) == ("check", UNREAD_EXPECTATION)
    assert values(found) in ([None, None], [None], [])
    (case,) = CaseReader(CesConfig()).read(Record("log.jsonl", 1, json.dumps(log).encode()))
    assert "is not read" in (case.unread or case.turns[0].unread)


def test_the_whole_is_not_read_but_its_turns_are():
    log = conversation({"tool_calls": [CALL]})
    found = evaluated({**log, "expected": {"database": {"n": 1}}})
    assert (found.status, reason(found).count("'expected.database'")) == (None, 1)
    assert values(found) == [1.0, 1.0]


def test_what_is_certain_fails_all_the_same():
    expected = {"response": "Sorry, that is not possible at all", "must_call": ["x"]}
    assert evaluated(conversation(expected)).status == "FAIL"


def no_finding(log):
    found = evaluated(log)
    assert (found.status, found.failures) == ("PASS", [])


def invocation(*parts):
    steps = [{"author": "a", "content": {"parts": [part]}} for part in ({"function_call": CALL}, *parts)]
    return {
        "user_content": {"parts": [{"text": "book it"}]},
        "final_response": {"parts": [{"text": "Done."}]},
        "intermediate_data": {"invocation_events": steps},
    }


def held_against(part):
    case = {"eval_id": "e", "conversation": [invocation(part)]}
    return evaluated(conversation(eval_id="e"), {"eval_set_id": "s", "eval_cases": [case]})


def result_of(made, wanted):
    pair = {"actual_invocation": invocation(*made), "expected_invocation": invocation(*wanted)}
    result = {"eval_id": "e", "eval_metric_result_per_invocation": [pair], "session_id": "x"}
    return {"eval_set_result_id": "r", "eval_case_results": [result]}


def golden_turn(part):
    """It has work that is not read."""
    found = held_against(part)
    assert (found.status, next(iter(part)) in reason(found)) == (None, True)
    assert values(found) == [None, None]
    assert values(found, "response_match_score") == [1.0, 1.0]
    assert [failure["error_type"] for failure in found.failures] == [UNREAD_EXPECTATION]


def result_turn(part):
    """The golden turn of a result has work that is not read."""
    found = evaluated(result_of([], [part]))
    assert (found.status, next(iter(part)) in reason(found)) == (None, True)


def odd_shape(made, wanted):
    """With adk_compat what google-adk does not look at is not missed."""
    wanted = [wanted] if wanted else []
    criteria = {name: CRITERIA[name] for name in ("tool_trajectory_avg_score", "response_match_score")}
    for adk_compat, status, value in ((True, "PASS", 1.0), (False, None, None)):
        config = turnwise.EvalConfig(criteria=criteria, adk_compat=adk_compat)
        found = turnwise.evaluate(result_of([made], wanted), config=config)
        assert (found.status, values(found)) == (status, [value, value])
    strange = result_of([made, {"hologram": {"calls": [1]}}], wanted)
    config = turnwise.EvalConfig(criteria=criteria, adk_compat=True)
    assert turnwise.evaluate(strange, config=config).status is None


def ran_code(part):
    """Which code is right no case of google-adk states, so that its calls are compared without it."""
    found = evaluated(result_of([part], []))
    assert (values(found), values(found, "response_match_score")) == ([1.0, 1.0], [1.0, 1.0])
    assert "code_execution" in reason(found)  # its effect is unknown


def user_alone(adk_compat, made, agent, wanted):
    """A turn of google-adk that states only the user's words expects nothing; to google-adk, no call."""
    case = {"eval_id": "e", "conversation": [{"user_content": {"parts": [{"text": "book it"}]}}]}
    turn = {"user": "book it", "agent": agent, "tool_calls": made}
    config = turnwise.EvalConfig(criteria={"tool_trajectory_avg_score": 1.0}, adk_compat=adk_compat)
    log, cases = {"conversation_id": "c", "eval_id": "e", "turns": [turn]}, {"eval_set_id": "s"}
    found = turnwise.evaluate(log, cases=cases | {"eval_cases": [case]}, config=config)
    assert [found.status, *values(found)] == wanted


def test_a_golden_turn_that_is_read_in_full():
    assert held_against({"inline_data": {"mime_type": "image/png", "data": ""}}).status == "PASS"
