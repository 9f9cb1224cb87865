"""The digest of what an eval case expects."""

import pytest
from msgspec.structs import replace

from turnwise.schemas.case import CaseThresholds, EvalCase
from turnwise.schemas.conversation import Expectation, ExpectedTurn, Rubric, ToolCall, ToolResponse
from turnwise.transforms.matching.sample import case_digest

CALL = ToolCall(name="book", args={"day": 2, "room": "a"}, id="1")
TURN = ExpectedTurn(user="Hi", response="Hello", tool_calls=[CALL])
CASE = EvalCase(eval_id="e1", turns=[TURN], actions=[CALL], outputs=["42"], rubrics=[Rubric("r1", "polite")])


def with_turn(**changes):
    return replace(CASE, turns=[replace(TURN, **changes)])


@pytest.mark.parametrize(
    "same",
    [
        replace(CASE, eval_id="e2", eval_set_id="s", tags=["a:b"], display_name="x", language="ko"),
        replace(CASE, turns=[TURN, ExpectedTurn(user="Bye")]),
        replace(CASE, actions=[replace(CALL, id="2", args={"room": "a", "day": 2})]),
        with_turn(user="Good day"),
    ],
)
def test_what_is_no_expectation_does_not_change_it(same):
    assert case_digest(same) == case_digest(CASE)


@pytest.mark.parametrize(
    "other",
    [
        replace(CASE, turns=[]),
        replace(CASE, user_actions=[CALL]),
        replace(CASE, rubrics=[Rubric("r1", "brief")]),
        replace(CASE, thresholds=CaseThresholds(semantic_similarity=2)),
        with_turn(tool_calls=[replace(CALL, args={"day": 3, "room": "a"})]),
        with_turn(expectations=[Expectation("tool_response", tool_response=ToolResponse("t", response=2))]),
    ],
)
def test_another_expectation_changes_it(other):
    assert case_digest(other) not in (None, case_digest(CASE))


def test_it_tells_all_apart_and_is_the_same_in_every_run():
    assert case_digest(CASE) == "58238b524d61458f"
    none = (None, EvalCase(eval_id="e1"), EvalCase(eval_id="e1", turns=[ExpectedTurn(user="Hi")]))
    assert [case_digest(case) for case in none] == [None] * 3


@pytest.mark.parametrize("value", ["\ud800", 10**30, float("inf"), {"a": [None, True]}])
def test_arguments_of_every_kind_have_a_digest(value):
    own = EvalCase(eval_id="e1", actions=[ToolCall(name="book", args={"a": value})])
    assert len(case_digest(own) or "") == 16
