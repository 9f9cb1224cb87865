"""The rules of a config at the end of `turnwise run`, in `turnwise gate`, and in `turnwise.evaluate`."""

import pytest

import turnwise as api

STATED = [{"name": "cancel_order", "args": {"order": 1}}]
CONFIG = {
    "criteria": {"tool_trajectory_avg_score": 1.0},
    "tools": {"cancel_order": {"effect": "write", "destructive": True}},
}


def log(name, calls=None, **more):
    turn = {"user": f"Hi, I am {name}", "agent": "Done.", "tool_calls": STATED if calls is None else calls}
    return {"conversation_id": name, "app_version": "v1", "turns": [{**turn, **more}]}


def good(name):
    return log(name, expected={"tool_calls": STATED})


def bad(name):
    return log(name, expected={"tool_calls": []})


BOUND = {"rule": "bound", "criterion": "verdict", "side": "estimate", "at_least": 0.6}


CHAT = {
    "conversation_id": "b",
    "app_version": "v1",
    "messages": [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello", "tool_calls_v2": [{"id": 1}]},
    ],
}
HARMLESS = [{"rule": "no_destructive_calls"}]
NOT_WORSE = [{"rule": "not_worse", "margin": 0.1, "criterion": "tool_trajectory_avg_score"}]
CASES = [
    ([good("a"), good("b"), bad("c")], [BOUND], ""),
    ([good("a"), bad("b"), bad("c")], [BOUND], "pass rate at least 60% (v1): failed: 33.3%"),
    ([good("a"), {"no": "log"}], [BOUND, {"rule": "coverage", "at_least": 0.5}], ""),
    ([good("a")], HARMLESS, ""),
    ([good("a"), bad("c")], HARMLESS, "expected (v1): failed: found in 1 conversation: c"),
    ([log("a"), good("b")], HARMLESS, "what the tools do (cancel_order); state the effects in `tools` of"),
    ([good("a"), CHAT], HARMLESS, "calls may be missing in the logs of 1 conversation: b"),
    ([good("a")], NOT_WORSE, "by more than 10 points: inconclusive: there is no baseline"),
]


@pytest.mark.parametrize(("logs", "rules", "problem"), CASES)
def test_a_rule_that_does_not_pass_fails_the_run(score_logs, turnwise, logs, rules, problem):
    config = {**CONFIG, "gate": {"rules": rules}}
    done = score_logs(logs, config, "--judge", "none")
    document = done.document("run.json")
    assert done.status == document["exit_status"] == bool(problem), done.err
    assert [f"turnwise: {line}" for line in document["problems"]] == done.err.splitlines()
    assert [line.startswith("gate: ") and problem in line for line in document["problems"]] == (
        [True] if problem else []
    )
    # The command says the same of the finished run, and so does an evaluation in Python.
    assert turnwise("gate", done.directory).status == done.status
    result = api.evaluate(logs, config=config)
    found = [line for line in result.problems if line.startswith("gate: ") and ": every " not in line]
    assert [problem in line for line in found] == ([True] if problem else [])
