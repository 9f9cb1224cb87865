"""Why a conversation should be read, and how early."""

import json
from typing import ClassVar, get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import turnwise
from tests.samples import score_conversation
from tests.transforms.review.test_transcript import sample_of
from turnwise.schemas.run import RunInfo
from turnwise.schemas.score import SEVERITY_REASONS, CriterionSeverityReason
from turnwise.transforms.criteria.base import MeasuredCriterion
from turnwise.transforms.review.problems import ReviewProblem, severity_of
from turnwise.transforms.review.row import conversation_row, decide
from turnwise.transforms.scoring.config import build_criteria, parse_config

RUN = RunInfo("run-1", "2026-11-21T00:00:00.000Z")
TRAJECTORY = {"tool_trajectory_avg_score": 1.0}


def turn(made=None, wanted=None, **fields):
    """Returns a turn with calls, each a name or a name with arguments."""
    expected = {} if wanted is None else {"expected": {"tool_calls": list(map(called, wanted))}}
    return {"user": "Hi", "agent": "Hello", "tool_calls": list(map(called, made or [])), **expected, **fields}


def called(call):
    name, args = call if isinstance(call, tuple) else (call, {})
    return {"name": name, "args": args}


def reviewed(turns, criteria, case=None, run=RUN, **fields):
    if isinstance(criteria, dict):
        criteria = [*build_criteria(parse_config(json.dumps({"criteria": criteria})))]
    scored = score_conversation(sample_of(turns, case, **fields), criteria)
    return conversation_row(run, scored, decide(scored, run).verdict)


def test_the_config_decides_what_is_destructive():
    config = parse_config(json.dumps({"criteria": TRAJECTORY, "tools": {"ship": {"destructive": True}}}))
    run = RunInfo("run-1", RUN.create_time, tools=config.tools)
    assert reviewed([turn(["ship"], [])], TRAJECTORY, run=run)["severity_reason"] == "destructive"
    assert reviewed([turn(["ship"], [])], TRAJECTORY)["severity_reason"] == "expectations"


def test_transcripts_can_be_left_out():
    bare = RunInfo("run-1", RUN.create_time, transcripts=False)
    row = reviewed([turn([], ["find"])], TRAJECTORY, run=bare)
    assert row["transcript"] is None and row["why"] == "turn 1: missing find()"


class Failing(MeasuredCriterion):
    """Fails every turn; where a value is None, without one."""

    name: ClassVar[str] = "failing_example"
    value: float | None = 0.25
    threshold: float | None = 1.0

    def score(self, sample, pair):
        return turnwise.Score(self.value, explanation="a\nlong " + "text " * 100)


def test_a_line_is_short_and_one_line():
    why = reviewed([turn()], [Failing()])["why"] or ""
    assert why.startswith("turn 1: failing_example: a long text") and len(why) <= 200 and why.endswith("…")
    assert "\n" not in why


def test_of_turns_that_fail_alike_the_first_is_told():
    assert reviewed([turn(), turn()], [Failing()])["worst_turn"] == 0


problem = st.tuples(st.sampled_from(SEVERITY_REASONS), st.floats(0, 1)).map(
    lambda found: ReviewProblem(*found)
)
problems = st.lists(problem, max_size=6).map(
    lambda found: sorted(found, key=lambda p: SEVERITY_REASONS.index(p.term))
)


@given(problems, problems)
@example([ReviewProblem("destructive", 0.0)], [ReviewProblem(term, 1.0) for term in SEVERITY_REASONS[1:]])
def test_a_worse_kind_always_comes_first(left, right):
    kinds = [[SEVERITY_REASONS.index(p.term) for p in found] or [99] for found in (left, right)]
    if min(kinds[0]) < min(kinds[1]):
        assert severity_of(left) > severity_of(right)
    assert (severity_of(left) == 0) == (not left)


@given(problems, problem)
def test_one_more_problem_is_never_less_severe(found, more):
    both = sorted([*found, more], key=lambda p: SEVERITY_REASONS.index(p.term))
    assert severity_of(both) >= severity_of(found)


def test_every_kind_that_a_criterion_can_state_is_weighed():
    assert set(get_args(CriterionSeverityReason)) == set(SEVERITY_REASONS) - {"destructive", "no_verdict"}


@pytest.mark.parametrize(("number", "unclear"), [(20, []), (800, ["transfer_money"])])
@pytest.mark.parametrize("at", [0, -1])
def test_of_very_many_writes_the_last_are_expected_only_where_they_are_equal(number, unclear, at):
    wanted = [("transfer_money", {"to": f"account-{place}"}) for place in range(number)]
    made = [*wanted]
    made[at] = ("transfer_money", {"to": wanted[at][1]["to"].upper()})
    row = reviewed([turn(made, wanted)], {"turn_latency": {}})
    assert row["unclear_tools"] == (unclear if at == -1 else [])
