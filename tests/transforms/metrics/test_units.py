"""Intervals count cases, however often each of them was recorded."""

import random

import pytest

import turnwise
from turnwise.transforms.metrics.state import Units
from turnwise.transforms.statistics.tests import wilson_interval


def run(case, trial, good, **fields):
    turn = {"user": f"hi {case}", "agent": "yes" if good else "no", "latency_ms": 10}
    turn["expected"] = {"response": "yes"}
    return {"conversation_id": f"c{case}-{trial}", "eval_id": f"e{case}", "turns": [turn, turn]} | fields


def golden(text, answer):
    turn = {"user": text, "agent": answer or "yes", "latency_ms": 10}
    return {"turns": [turn | ({"expected": {"response": answer}} if answer else {})]}


@pytest.mark.parametrize(
    ("logs", "of_turns", "trials"),
    [
        ([run(case, trial, True) for case in range(4) for trial in range(25)], False, (4, 4)),
        ([run(case, trial, True) for case in range(4) for trial in range(25)], True, (8, 8)),
        ([run(case, trial, case < 2) for case in range(4) for trial in range(25)], False, (2, 4)),
        ([run(case, 0, True, eval_id=None) for case in range(4)] * 25, False, (4, 4)),
        ([run(case, 0, case % 3 > 0) for case in range(30)], False, (20, 30)),
        ([run(case, 0, case % 3 > 0) for case in range(30)], True, (40, 60)),
        ([golden(f"text {i % 4}", "yes") for i in range(100)], False, (4, 4)),
        ([golden("hi", f"answer {i % 4}") for i in range(100)], False, (4, 4)),
        ([golden(f"text {i}", "yes") for i in range(100)], False, (100, 100)),
        ([golden(f"text {i % 4}", None) for i in range(100)], False, (100, 100)),
    ],
)
def test_trials_are_cases_by_name_or_by_what_they_say(logs, of_turns, trials):
    """Copies of a record are one trial, goldens without names copies by their words if any are expected."""
    logs = [{"conversation_id": f"c{place}", **log} for place, log in enumerate(logs)]
    rows = turnwise.evaluate(logs, criteria={"response_match_score": 1.0, "turn_latency": 5})
    of = ("response_match_score", "turn") if of_turns else ("verdict", "conversation")
    (row,) = (row for row in rows.metrics_by_app_version if (row["criterion"], row["level"]) == of)
    assert row["pass_rate"] == pytest.approx(trials[0] / trials[1])
    assert (row["pass_rate_low"], row["pass_rate_high"]) == pytest.approx(tuple(wilson_interval(*trials)))


def test_what_a_sample_left_out_is_in_no_count():
    """It has neither a score nor none, so that the shares are those of a fair sample."""
    said = "The pool is open."
    turn = {
        **{"user": "Is the pool open?", "agent": said, "expected": {"response": said}},
        **{"tool_calls": [{"name": "look"}], "tool_responses": [{"name": "look", "response": said}]},
    }
    logs = [{"conversation_id": f"c{i}", "turns": [turn]} for i in range(40)]
    criteria = {"response_match_score": 0.8, "hallucinations_v1": {"threshold": 0.5, "sample_rate": 0.5}}
    rows = turnwise.evaluate(logs, criteria=criteria, judge="local").metrics_by_app_version
    found = {row["criterion"]: row for row in rows if row["level"] == "conversation"}
    for name in ("verdict", "hallucinations_v1"):
        row = found[name]
        assert 10 < row["sampled_out"] < 30
        assert (row["count"], row["scored"], row["no_score"]) == (*[40 - row["sampled_out"]] * 2, 0)
    assert (found["response_match_score"]["count"], found["response_match_score"]["sampled_out"]) == (40, 0)


def test_what_claims_nothing_is_in_no_mean():
    """CES's -1 is a score of the turn, and neither a hallucination nor none."""
    tool = {"tool_calls": [{"name": "look"}], "tool_responses": [{"name": "look", "response": "It is open."}]}
    said = [("Is the pool open?", "It is open."), ("Thanks", "You are welcome! How can I help you?")]
    turns = [{"user": user, "agent": agent, **tool} for user, agent in said]
    result = turnwise.evaluate(
        {"conversation_id": "c", "turns": turns}, criteria={"hallucination": 0.5}, judge="local"
    )
    first, second = (row["value"] for row in result.scores if row["turn_index"] is not None)
    assert first > 0.5 and second == -1.0
    rows = [row for row in result.metrics_by_app_version if row["criterion"] == "hallucination"]
    assert [(row["level"], row["count"], row["mean"]) for row in rows] == [
        *(("turn", 1, pytest.approx(first)), ("conversation", 1, pytest.approx(first)))
    ]


def summed(units, *, parts=1):
    sums = [Units() for _ in range(parts)]
    for place, unit in enumerate(units):
        sums[place % parts].add(unit)
    whole = Units()
    for part in sums:
        whole.merge(part)
    return whole


def test_sums_add_up_in_any_order_and_can_be_taken_back():
    draw = random.Random(5)
    units = [f"e{draw.randrange(3_000)}" for _ in range(9_000)]
    whole = summed(units)
    for parts in (2, 7, 100):
        draw.shuffle(units)
        assert summed(units, parts=parts) == whole
    for few, many in ((300, 8_700), (700, 8_300)):
        for order in (units, units[::-1]):
            unequal = summed(order[:few])
            unequal.merge(summed(order[few:]))
            assert unequal == whole and few + many == len(units)
    few = summed(units[:50])
    few.merge(summed(units[20:50]), -1)
    assert few == summed(units[:20])


@pytest.mark.parametrize(("cases", "runs"), [(3, 1), (400, 5), (5_000, 1), (5_000, 4)])
def test_the_number_of_trials_is_that_of_the_cases(cases, runs):
    found = summed([f"e{case}" for case in range(cases) for _ in range(runs)])
    assert found.independent(cases * runs) == pytest.approx(cases, rel=0.01)
    assert len(found.kept) <= 500
    assert found.independent(1) >= 1 and found.independent(0) == 0


def test_a_few_cases_that_were_recorded_often_count_once_each():
    for draw in range(9):
        found = summed([*(f"{draw} e{n % 7}" for n in range(8_000)), *(f"{draw} f{n}" for n in range(1_000))])
        assert found.independent(9_000) == pytest.approx(1_007, rel=0.25)
