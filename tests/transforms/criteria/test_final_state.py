import pytest

from tests.samples import scores_of
from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import Expectation, ExpectedTurn, Turn
from turnwise.transforms.criteria.base import CRITERIA
from turnwise.transforms.criteria.tool_effects import NO_STATE
from turnwise.transforms.matching.expectations import JUDGE_NEEDED

CRITERION = CRITERIA["final_state_v1"]()


def result_of(case, *turns, **fields):
    return scores_of(CRITERION, case, *turns, **fields)


CASES = [
    ({"a": 1}, {"a": "1.0", "b": 2}, 1.0),
    ({"a": 1, "b": 2}, {"a": 1}, 0.5),
    ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}}, 0.5),
    ({"a": {"b": 1, "c": 2}}, {"a": 5}, 0.0),
    ({"a": {"b": {"c": ["x", "y"]}}}, {"a": {"b": {"c": ["y", "x"], "d": 1}}}, 1.0),
    ({"a": None, "b": "", "c": {}}, {"z": 1}, 1.0),
    ({"a": None}, {"a": 5}, 0.0),
    ({"day": "2024-05-20"}, {"day": "May 20, 2024"}, 1.0),
    ({"a": {"$matchType": "contains", "$matchValue": "b"}}, {"a": "abc"}, 1.0),
    ({"a": 1}, {}, None),
    ({"a": {"$matchType": "semantic", "$matchValue": "b"}}, {"a": "c"}, None),
]


@pytest.mark.parametrize(("expected", "state", "value"), CASES)
def test_the_state_at_the_end(expected, state, value):
    overall = result_of(EvalCase(eval_id="e", final_session_state=expected), state=state).overall
    assert overall.value == value
    assert overall.outcome == (None if value is None else "PASS" if value == 1.0 else "FAIL")
    assert overall.reason == (None if value is not None else JUDGE_NEEDED if state else NO_STATE)


def test_the_details_name_every_differing_path():
    case = EvalCase(eval_id="e", final_session_state={"a": {"b": 1}, "c": 2, "d": 3})
    overall = result_of(case, state={"a": {"b": 5}, "d": 3}).overall
    assert overall.details == {
        "expected": 3,
        "matched": 1,
        "differing": [
            {"path": "a.b", "expected": 1, "actual": 5},
            {"path": "c", "expected": 2, "actual": None},
        ],
    }
    assert overall.explanation == "a.b is 5 instead of 1, c is nothing instead of 2."


def test_changes_of_turns_over_the_state_at_the_start():
    case = EvalCase(eval_id="e", session_state={"a": 1, "b": 1}, final_session_state={"a": 1, "b": 2, "c": 3})
    turns = [Turn(variables={"b": 5, "c": 3}), Turn(variables={"b": 2})]
    assert result_of(case, *turns).overall.value == 1.0
    assert result_of(case, *turns, state={"b": 9}).overall.value == pytest.approx(2 / 3)


def test_variables_after_each_turn():
    def wanted(skip=False, **variables):
        return ExpectedTurn(expectations=[Expectation("updated_variables", variables=variables, skip=skip)])

    golden = [wanted(a=1), wanted(a=1, b=2), ExpectedTurn(), wanted(a=9, skip=True)]
    turns = [Turn(variables={"a": "1"}), Turn(variables={"b": 3}), Turn(), Turn()]
    result = result_of(EvalCase(eval_id="e", dialect="ces", turns=golden), *turns)
    assert [(i, score.value) for i, score in result.turns] == [(0, 1.0), (1, 0.5)]
    assert result.overall.value == 0.75


@pytest.mark.parametrize("case", [None, EvalCase(eval_id="e"), EvalCase(eval_id="e", turns=[ExpectedTurn()])])
def test_nothing_expected_is_not_applicable(case):
    result = result_of(case, Turn(variables={"a": 1}))
    assert (result.turns, result.overall) == ([], None)
