import pytest

from schemas.case import EvalCase
from schemas.conversation import Conversation, ExpectedOutcome, ExpectedTurn, ToolCall, Turn
from transforms.match import CaseIndex, UnknownCaseError

LONG = "projects/p/locations/us/apps/a/evaluations/"


def index(*names):
    return CaseIndex([EvalCase(eval_id=name) for name in names])


def found(cases, name):
    case = cases.find(Conversation(conversation_id="c", eval_id=name))
    return case and case.eval_id


FINDS = [
    (("a", "b"), "a", "a"),
    ((LONG + "a",), LONG + "a", LONG + "a"),
    ((LONG + "a",), "a", LONG + "a"),
    (("a",), LONG + "a", "a"),
    (("a", LONG + "a"), "a", "a"),
    (("a", LONG + "a"), LONG + "a", LONG + "a"),
    (("p/evaluations/a", "q/evaluations/a"), "q/evaluations/a", "q/evaluations/a"),
    (("a", "b"), None, None),
    ((), None, None),
]


@pytest.mark.parametrize(("cases", "name", "wanted"), FINDS)
def test_cases_are_found_by_name(cases, name, wanted):
    assert found(index(*cases), name) == wanted


@pytest.mark.parametrize("name", ["a", LONG + "a", None])
def test_a_name_points_nowhere_where_no_cases_are_given(name):
    assert found(CaseIndex(None), name) is None


UNKNOWN = [
    ((), "a"),
    (("a",), "b"),
    (("a",), "A"),
    (("p/evaluations/a", "q/evaluations/a"), "a"),
    (("p/evaluations/a", "q/evaluations/a"), "r/evaluations/a"),
    (("projects/p/apps/one/evaluations/a",), "projects/p/apps/two/evaluations/a"),
    ((LONG + "a",), "evaluations/a"),
]


@pytest.mark.parametrize(("cases", "name"), UNKNOWN)
def test_unknown_and_ambiguous_names(cases, name):
    with pytest.raises(UnknownCaseError, match=f"no eval case is called '{name}'"):
        found(index(*cases), name)


def test_a_resource_name_does_not_find_the_case_of_another_app():
    with pytest.raises(UnknownCaseError):
        found(index("projects/p/apps/one/evaluations/a"), "projects/p/apps/two/evaluations/a")


def bringing(eval_id=None, **fields):
    return Conversation(conversation_id="c", eval_id=eval_id, **fields)


EXPECTING = {"turns": [Turn(user="q"), Turn(expected=ExpectedTurn(response="hi"))]}


def test_a_case_that_the_record_brings_along():
    for cases in (CaseIndex(None), index(), index("other")):
        case = cases.find(bringing(**EXPECTING))
        assert (case.eval_id, [turn.response for turn in case.turns]) == ("c", [None, "hi"])
    for cases in (CaseIndex(None), index()):
        assert cases.find(bringing("named", **EXPECTING)).eval_id == "named"
    assert index("other").find(bringing("named", **EXPECTING)).turns[1].response == "hi"


def test_the_named_case_goes_before_the_one_brought_along():
    assert index("named").find(bringing("named", **EXPECTING)).turns == []


def test_an_expected_outcome_is_a_case_without_turns():
    outcome = ExpectedOutcome(actions=[ToolCall(name="a")], outputs=["42"], rubric=["polite"])
    case = index().find(bringing(turns=[Turn()], expected=outcome))
    assert (case.turns, case.actions, case.outputs) == ([], [ToolCall(name="a")], ["42"])
    assert [(rubric.rubric_id, rubric.text) for rubric in case.rubrics] == [("0", "polite")]


def test_a_record_that_expects_nothing_brings_no_case():
    assert index().find(bringing(turns=[Turn(), Turn()])) is None
