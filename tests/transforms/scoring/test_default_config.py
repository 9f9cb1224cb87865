"""What the default config decides: effects wherever calls are expected, order and wording where turns are."""

import pytest

import turnwise

CANCEL = {"name": "cancel_order", "args": {"id": 7}}
FIND = {"name": "get_order", "args": {"id": 7}}
SAID = "Order 7 is cancelled."
FAILURES = (
    {"error": "HTTP 503 backend down"},
    {"error": "timeout"},
    {"result": {"status": "error", "message": "not allowed"}},
    {"result": {"ok": False}},
    {"result": "Error: order not found"},
    {"result": {"code": 503, "message": "Service Unavailable"}},
    {"result": {"data": {"status": "error"}}},
    {"result": {"outcome": "failure"}},
    {"result": "Connection refused"},
    {"result": "Buchung fehlgeschlagen"},
    {"result": "No se pudo reservar"},
    {"result": "予約に失敗しました"},
    {"result": "예약 실패"},
    {"result": "预订失败"},
)


def one_turn(*calls, expected=(CANCEL,), said=SAID):
    wanted = {"response": SAID, "tool_calls": list(expected)}
    turn = {"user": "Cancel order 7", "agent": said, "tool_calls": list(calls), "expected": wanted}
    return {"conversation_id": "c1", "turns": [turn]}


def open_way(*calls, actions=(CANCEL,), **turn):
    """A conversation whose case states the actions of the whole."""
    said = {"user": "Cancel order 7", "agent": SAID, "tool_calls": list(calls), **turn}
    return {"conversation_id": "c1", "turns": [said], "expected": {"actions": list(actions)}}


@pytest.mark.parametrize("failure", FAILURES)
def test_a_failed_call_is_not_done_although_the_agent_says_so(failure):
    assert turnwise.evaluate(one_turn(CANCEL | failure)).status == "FAIL"
    assert turnwise.evaluate(open_way(CANCEL | failure)).status == "FAIL"
    assert turnwise.evaluate(one_turn(CANCEL | failure, CANCEL | failure)).status == "FAIL"


@pytest.mark.parametrize("failure", FAILURES)
def test_a_retry_that_works_is_right(failure):
    result = turnwise.evaluate(one_turn(CANCEL | failure, CANCEL | {"result": {"ok": True}}))
    assert result.status == "PASS"
    (score,) = (s for s in result.scores if s["criterion"] == "tool_trajectory_avg_score" and s["details"])
    assert score["details"]["retried"] == ["cancel_order"]
    assert turnwise.evaluate(open_way(CANCEL | failure, CANCEL | {"result": {"ok": True}})).status == "PASS"


@pytest.mark.parametrize(
    "answer",
    [
        {"error": "already cancelled"},
        {"result": "Order 7 already cancelled."},
        {"result": {"status": "already_cancelled"}},
        {"result": '{"message": "The order has already been cancelled"}'},
    ],
)
def test_a_change_that_is_asked_for_again_and_has_no_effect_is_right(answer):
    done = CANCEL | {"result": {"ok": True}}
    assert turnwise.evaluate(one_turn(done, CANCEL | answer)).status == "PASS"
    assert turnwise.evaluate(open_way(done, CANCEL | answer)).status == "PASS"
    log = one_turn(done)
    log["turns"] += one_turn(CANCEL | answer, expected=())["turns"]
    assert turnwise.evaluate(log).status == "PASS"


FAILED_FIND = FIND | {"error": "HTTP 503"}
INVENTED = "Order 7 ships on Monday."


@pytest.mark.parametrize(
    ("calls", "said", "status"),
    [
        ([FAILED_FIND], INVENTED, None),
        ([FAILED_FIND, FAILED_FIND], "Order 7 cannot be changed any more.", None),
        ([FAILED_FIND, {"name": "get_weather", "args": {}, "result": "sunny"}], INVENTED, None),
        ([{"name": "get_order", "args": {"id": "x"}, "result": "Order not found"}], INVENTED, None),
        ([FAILED_FIND, CANCEL], SAID, None),
        ([FAILED_FIND, FIND | {"result": {"id": 7}}], INVENTED, "PASS"),
        ([FIND | {"result": {"id": 7}}, FAILED_FIND], INVENTED, "PASS"),
        ([FIND | {"result": []}], INVENTED, "PASS"),
        ([{"name": "get_order", "args": {"id": "x"}, "error": "no"}, FIND], INVENTED, "PASS"),
        ([FAILED_FIND], "Sorry, I wasn't able to find your order.", "PASS"),
        ([FAILED_FIND], "Our system is currently unavailable.", "PASS"),
        ([FAILED_FIND], "Ich konnte die Bestellung leider nicht finden.", "PASS"),
    ],
)
def test_what_is_said_after_an_expected_look_up_that_failed(calls, said, status):
    actions = [FIND, CANCEL] if CANCEL in calls else [FIND]
    result = turnwise.evaluate(open_way(*calls, actions=actions, agent=said))
    assert result.status == status
    reasons = [s["reason"] for s in result.scores if s["criterion"] == "tool_effects_v1"]
    assert any("an expected look-up failed" in (reason or "") for reason in reasons) is (status is None)
    golden = turnwise.evaluate(one_turn(*calls, expected=actions, said=said))
    assert status or golden.status != "PASS"


@pytest.mark.parametrize(
    "calls",
    [(CANCEL, CANCEL), (CANCEL | {"error": "timeout"}, {"name": "cancel_order", "args": {"id": 8}}, CANCEL)],
    ids=["made twice", "another order cancelled too"],
)
def test_other_repetitions_are_not_expected(calls):
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


@pytest.mark.parametrize(
    "log, status",
    [
        (open_way(FIND, FIND, CANCEL), "PASS"),
        (open_way(CANCEL, actions=(FIND, CANCEL)), "PASS"),
        (open_way(FIND), "FAIL"),
        (open_way(CANCEL, {"name": "delete_account", "args": {"id": 1}}), "FAIL"),
        (open_way(actions=()), "PASS"),
        (open_way(CANCEL, expected={"response": "It has been done. Anything else?"}), "PASS"),
        (open_way(FIND, CANCEL, expected={"tool_calls": [CANCEL]}), "FAIL"),
    ],
    ids=["look-ups", "look-up left out", "missing", "extra", "none", "other words", "turns state calls too"],
)
def test_where_a_case_states_actions_effects_decide(log, status):
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


@pytest.mark.parametrize(
    ("case", "is_named"),
    [
        ({"actions": [FIND]}, True),
        ({"actions": []}, True),
        ({"actions": [CANCEL]}, False),
        ({"actions": [FIND], "outputs": ["cancelled"]}, False),
    ],
)
def test_a_pass_of_look_ups_alone_says_that_nothing_said_is_compared(case, is_named):
    log = open_way(*case["actions"]) | {"expected": case}
    result = turnwise.evaluate(log)
    assert result.status == "PASS"
    (score,) = (s for s in result.scores if s["criterion"] == "tool_effects_v1" and s["turn_index"] is None)
    assert (NOT_SAID in score["explanation"]) is is_named
