"""The rules of a config at the end of `turnwise run`, in a stream, and in `turnwise.evaluate`."""

from collections.abc import Callable
from typing import Any

import pytest

import turnwise as api
from turnwise.pipeline.cli.main import main

Run = Callable[..., Any]
STATED = [{"name": "cancel_order", "args": {"order": 1}}]
CONFIG = {
    "criteria": {"tool_trajectory_avg_score": 1.0},
    "tools": {"cancel_order": {"effect": "write", "destructive": True}},
}


def log(name: str, calls: list[Any] | None = None, **more: Any) -> dict[str, Any]:
    turn = {"user": f"Hi, I am {name}", "agent": "Done.", "tool_calls": STATED if calls is None else calls}
    return {"conversation_id": name, "app_version": "v1", "turns": [{**turn, **more}]}


def good(name: str) -> dict[str, Any]:
    return log(name, expected={"tool_calls": STATED})


def bad(name: str) -> dict[str, Any]:
    return log(name, expected={"tool_calls": []})


def rule(**more: Any) -> dict[str, Any]:
    return {"rule": "bound", "criterion": "verdict", "side": "estimate", "at_least": 0.6, **more}


@pytest.fixture
def run(score_logs: Callable[..., Any]) -> Run:
    """Returns a function that runs over logs with rules."""

    def runs(
        logs: list[Any], *rules: dict[str, Any], options: tuple[Any, ...] = (), name: str = "out"
    ) -> Any:
        config = {**CONFIG, "gate": {"rules": list(rules)}}
        return score_logs(logs, config, "--judge", "none", *options, name=name)

    return runs


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
CASES: list[tuple[list[Any], list[Any], str]] = [
    ([good("a"), good("b"), bad("c")], [rule()], ""),
    ([good("a"), bad("b"), bad("c")], [rule()], "pass rate at least 60% (v1): failed: 33.3%"),
    ([good("a"), {"no": "log"}], [rule(), {"rule": "coverage", "at_least": 0.5}], ""),
    ([good("a")], HARMLESS, ""),
    ([good("a"), bad("c")], HARMLESS, "expected (v1): failed: found in 1 conversation: c"),
    ([log("a"), good("b")], HARMLESS, "what the tools do (cancel_order); state the effects in `tools` of"),
    ([good("a"), CHAT], HARMLESS, "calls may be missing in the logs of 1 conversation: b"),
    ([good("a")], NOT_WORSE, "by more than 10 points: inconclusive: there is no baseline"),
]


@pytest.mark.parametrize(("logs", "rules", "problem"), CASES)
def test_a_rule_that_does_not_pass_fails_the_run(run, logs, rules, problem):
    done = run(logs, *rules)
    document = done.document("run.json")
    assert done.status == document["exit_status"] == bool(problem), done.err
    assert [f"turnwise: {line}" for line in document["problems"]] == done.err.splitlines()
    assert [line.startswith("gate: ") and problem in line for line in document["problems"]] == (
        [True] if problem else []
    )
    # The command says the same of the finished run, and so does an evaluation in Python.
    assert main(["gate", str(done.directory)]) == done.status
    result = api.evaluate(logs, config={**CONFIG, "gate": {"rules": rules}})
    found = [line for line in result.problems if line.startswith("gate: ") and ": every " not in line]
    assert [problem in line for line in found] == ([True] if problem else [])


@pytest.mark.parametrize("kind", [(), ("--streaming", "--stop_after", "2")])
def test_fail_on_is_short_for_a_rule(run, kind):
    fail_on = ("--fail_on", "tool_trajectory_avg_score", *kind)
    logs, rules = [good("a"), bad("c")], [{"rule": "all_pass", "criterion": "tool_trajectory_avg_score"}]
    done = run(logs, options=fail_on, name="short")
    stated = run(logs, *rules, options=kind, name="stated")
    told = "failed: 1 failed, 0 without an outcome: c"
    said = f"gate: tool_trajectory_avg_score: every conversation passes: {told}"
    for one in (done, stated):
        document = one.document("run.json")
        assert one.status == 1 and document["problems"] == [said]
        assert document["config"]["gate"]["rules"] == rules
        assert main(["gate", str(one.directory)]) == 1
    both = run([good("a"), good("b")], rule(), options=fail_on, name="both")
    assert both.status == 0 == main(["gate", str(both.directory)])


@pytest.mark.parametrize(("ratio", "status"), [((), 1), (("--max_failure_ratio", "0.5"), 0)])
def test_lost_records_are_allowed_in_the_run_and_after_it(run, ratio, status):
    done = run([good("a"), {"no": "log"}], options=("--fail_on", "verdict", *ratio))
    assert done.status == status == main(["gate", str(done.directory)])
    assert ("(1 record rejected); missing: " in done.err) == (status == 1)


def test_a_stream_does_not_compare_for_fail_on(run):
    base = run([good("a")], rule(), name="base")
    options = ("--fail_on", "verdict", "--baseline", base.directory)
    assert run([good("a")], options=options, name="batch").status == 0
    done = run([good("a")], options=(*options, "--streaming", "--stop_after", "1"), name="stream")
    assert done.status == 2 and "the config has no rule that compares" in done.err


def test_a_baseline_is_compared_with_at_the_end(run):
    not_worse = {"rule": "not_worse", "margin": 0.2}
    logs = [good(f"c{i}") for i in range(40)]
    base = run(logs, rule(), name="base")
    newer = [{**one, "app_version": "v2"} for one in logs]
    same = run(newer, not_worse, options=("--baseline", base.directory), name="same")
    assert same.status == 0, same.err
    worse = [{**log(f"c{i}", [], expected={"tool_calls": STATED}), "app_version": "v2"} for i in range(40)]
    rejected = run(worse, not_worse, options=("--baseline", base.directory), name="regressed")
    assert rejected.status == 1 and "(v2): failed: -100.0 points" in rejected.err


def test_a_baseline_may_be_a_version_of_the_run(run, capsys):
    logs = [good(f"{i}") | {"app_version": "v1"} for i in range(30)]
    logs += [bad(f"{i}") | {"app_version": "v2"} for i in range(30)]
    logs = [one | {"eval_id": one["conversation_id"]} for one in logs]
    for one in logs[30:]:
        one["turns"] = [one["turns"][0] | {"expected": {"tool_calls": STATED}, "tool_calls": []}]
    done = run(logs, {"rule": "not_worse", "margin": 0.1}, options=("--baseline", "v1"))
    assert "v2 is worse than v1: 0.0% pass against 100.0%" in done.out
    (problem,) = done.document("run.json")["problems"]
    assert done.status == 1 and "by more than 10 points (v2): failed: -100.0 points" in problem
    assert main(["gate", str(done.directory)]) == 1
    told = "No baseline is named: v1 and v2 are not compared; 50.0% pass, 60 with a verdict, 0 without."
    assert told in capsys.readouterr().out
    done = run(logs, {"rule": "not_worse", "margin": 0.1}, options=("--baseline", "v3"), name="other")
    assert done.status == 1 and done.err.count("--baseline v3: is neither an app version") == 1


def test_a_baseline_that_cannot_be_compared_with_leaves_the_run_undecided(run):
    base = run([good("a"), {**good("b"), "app_version": "v2"}], rule(), name="base")
    done = run([good("a")], {"rule": "not_worse", "margin": 0.2}, options=("--baseline", base.directory))
    (problem,) = done.document("run.json")["problems"]
    assert done.status == 1 and problem.startswith("gate: inconclusive: ") and "2 app versions" in problem
    assert len(done.rows("scores")) == 2, "everything is written all the same"


def test_a_wrong_baseline_is_refused_before_anything_runs(run, tmp_path):
    done = run([good("a")], rule(), options=("--baseline", tmp_path / "nowhere"))
    assert done.status == 2 and "nowhere: is no output directory of a run" in done.err
    assert not list(tmp_path.glob("out/*"))
    assert run([good("a")], options=("--baseline", tmp_path)).status == 2


def test_wrong_rules_are_refused_before_anything_runs(run, tmp_path):
    done = run([good("a")], rule(criterion="safety_v1"))
    assert done.status == 2 and "config: gate.rules.0.criterion: 'safety_v1' is not among" in done.err
    misspelt = run([good("a")], {"rule": "coverage", "at_lest": 1})
    assert misspelt.status == 2 and "at_lest: unknown field (did you mean at_least?)" in misspelt.err
    config = {"criteria": {"turn_latency": {}}, "gate": {"rules": [rule(criterion="turn_latency")]}}
    with pytest.raises(api.ConfigError, match=r"gate\.rules\.0\.criterion: turn_latency has no threshold"):
        api.evaluate(good("a"), config=config)


def test_without_transcripts_the_gate_decides_the_same(run):
    rule = {"rule": "no_destructive_calls"}
    assert run([good("a")], rule, options=("--no_transcripts",)).status == 0
    assert run([log("a")], rule, options=("--no_transcripts",), name="silent").status == 1
