"""What the default config decides: effects wherever calls are expected, order and wording where turns are."""

import turnwise
from tests.tables import rows_test

CANCEL = {"name": "cancel_order", "args": {"id": 7}}
FIND = {"name": "get_order", "args": {"id": 7}}
SAID = "Order 7 is cancelled."


test_rows = rows_test(globals(), "default_config")


def one_turn(*calls, expected=(CANCEL,), said=SAID):
    wanted = {"response": SAID, "tool_calls": list(expected)}
    turn = {"user": "Cancel order 7", "agent": said, "tool_calls": list(calls), "expected": wanted}
    return {"conversation_id": "c1", "turns": [turn]}


def open_way(*calls, actions=(CANCEL,), **turn):
    """A conversation whose case states the actions of the whole."""
    said = {"user": "Cancel order 7", "agent": SAID, "tool_calls": list(calls), **turn}
    return {"conversation_id": "c1", "turns": [said], "expected": {"actions": list(actions)}}


def failure(answer):
    """A failed call is not done, although the agent says so; a retry that works is right."""
    assert turnwise.evaluate(one_turn(CANCEL | answer)).status == "FAIL"
    assert turnwise.evaluate(open_way(CANCEL | answer)).status == "FAIL"
    assert turnwise.evaluate(one_turn(CANCEL | answer, CANCEL | answer)).status == "FAIL"
    result = turnwise.evaluate(one_turn(CANCEL | answer, CANCEL | {"result": {"ok": True}}))
    assert result.status == "PASS"
    (score,) = (s for s in result.scores if s["criterion"] == "tool_trajectory_avg_score" and s["details"])
    assert score["details"]["retried"] == ["cancel_order"]
    assert turnwise.evaluate(open_way(CANCEL | answer, CANCEL | {"result": {"ok": True}})).status == "PASS"


def no_effect(answer):
    """A change that is asked for again and has no effect is right."""
    done = CANCEL | {"result": {"ok": True}}
    assert turnwise.evaluate(one_turn(done, CANCEL | answer)).status == "PASS"
    assert turnwise.evaluate(open_way(done, CANCEL | answer)).status == "PASS"
    log = one_turn(done)
    log["turns"] += one_turn(CANCEL | answer, expected=())["turns"]
    assert turnwise.evaluate(log).status == "PASS"


def look_up(calls, said, status):
    """What is said after an expected look-up that failed."""
    actions = [FIND, CANCEL] if CANCEL in calls else [FIND]
    result = turnwise.evaluate(open_way(*calls, actions=actions, agent=said))
    assert result.status == status
    reasons = [s["reason"] for s in result.scores if s["criterion"] == "tool_effects_v1"]
    assert any("an expected look-up failed" in (reason or "") for reason in reasons) is (status is None)
    golden = turnwise.evaluate(one_turn(*calls, expected=actions, said=said))
    assert status or golden.status != "PASS"


def not_expected(calls):
    """Other repetitions: made twice, or another order cancelled too."""
    assert turnwise.evaluate(one_turn(*calls)).status == "FAIL"


def test_a_retry_counts_against_a_golden_case_of_google_adk():
    call = {"name": "cancel_order", "args": {"id": 7}}
    turn = {
        "invocation_id": "i1",
        "user_content": {"role": "user", "parts": [{"text": "Cancel order 7"}]},
        "final_response": {"role": "model", "parts": [{"text": SAID}]},
        "intermediate_data": {"tool_uses": [call]},
    }
    case = {"eval_set_id": "s", "eval_cases": [{"eval_id": "e1", "conversation": [turn]}]}
    log = one_turn(CANCEL | {"error": "timeout"}, CANCEL | {"result": {"ok": True}})
    del log["turns"][0]["expected"]
    result = turnwise.evaluate(log | {"eval_id": "e1"}, cases=case)
    (score,) = (s for s in result.scores if s["criterion"] == "tool_trajectory_avg_score" and s["details"])
    assert (score["value"], score["outcome"]) == (0.0, "FAIL")


def actions(log, status):
    """Where a case states actions, effects decide."""
    result = turnwise.evaluate(log)
    assert result.status == status
    informing = [
        score["outcome"]
        for score in result.scores
        if score["criterion"] in ("tool_trajectory_avg_score", "response_match_score")
    ]
    by_turn = "tool_calls" in log["turns"][0].get("expected", {})
    assert by_turn or set(informing) == {None}


def test_criteria_that_a_config_states_keep_their_thresholds():
    criteria = {"tool_trajectory_avg_score": 1.0, "tool_effects_v1": 1.0}
    assert turnwise.evaluate(open_way(FIND, CANCEL), criteria=criteria).status == "FAIL"


def test_a_criterion_of_the_default_without_a_value_writes_nothing():
    log = one_turn(CANCEL) | {"labels": {"success": True}}
    assert "recorded_reward" not in {score["criterion"] for score in turnwise.evaluate(log).scores}


def test_adk_compat_alone_decides_by_the_criteria_of_google_adk():
    failed = one_turn(CANCEL | {"error": "timeout"})
    result = turnwise.evaluate(failed, config=turnwise.EvalConfig(adk_compat=True))
    assert result.status == "PASS"
    assert {s["outcome"] for s in result.scores if s["criterion"] == "tool_effects_v1"} == {None}


NOT_SAID = "The case states no change and no words, so that nothing that was said is compared."


def pass_of_look_ups(case, is_named):
    """A pass of look-ups alone says that nothing said is compared."""
    log = open_way(*case["actions"]) | {"expected": case}
    result = turnwise.evaluate(log)
    assert result.status == "PASS"
    (score,) = (s for s in result.scores if s["criterion"] == "tool_effects_v1" and s["turn_index"] is None)
    assert (NOT_SAID in score["explanation"]) is is_named
