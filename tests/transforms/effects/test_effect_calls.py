import pytest

from turnwise.schemas.conversation import ToolCall
from turnwise.transforms.effects.equivalence import ArgumentComparison
from turnwise.transforms.matching.calls import ArgumentMatcher


def differing(expected, actual, compare=None, **fields):
    found = (compare or ArgumentComparison()).differences(
        ToolCall("t", expected, **fields), ToolCall("t", actual)
    )
    return [difference.parameter for difference in found]


CASES = [
    (None, {"a": 1}, ["a"]),
    ({"a": 1, "b": None, "c": False, "d": "", "e": []}, {"a": "1"}, []),
    ({"a": [1, 2]}, {"a": [2, 1]}, []),
    ({"seats": [1, 2], "new_seats": [3, 4]}, {"seats": [2, 1], "new_seats": [4, 3]}, []),
    (
        {"seats": [1, 2], "new_seats": [3, 4]},
        {"seats": [1, 2], "new_seats": [4, 3]},
        ["seats with new_seats"],
    ),
    ({"a": {"$matchType": "semantic", "$matchValue": "b"}}, {"a": "c"}, ["a"]),
]


@pytest.mark.parametrize(("expected", "actual", "wanted"), CASES)
def test_arguments(expected, actual, wanted):
    assert differing(expected, actual) == wanted


def test_lists_that_are_declared_ordered():
    ordered = ArgumentComparison(ordered={"*": ["a"], "t": ["b"]})
    assert differing({"a": [1, 2], "c": [1, 2]}, {"a": ["1", 2.0], "c": [2, 1]}, ordered) == []
    assert differing({"a": [1, 2], "b": [1, 2]}, {"a": [2, 1], "b": [2, 1]}, ordered) == ["a", "b"]


@pytest.mark.parametrize(
    ("matcher", "expected", "actual", "wanted"),
    [
        ("ignore", 1, 2, []),
        ("exact", "A", "a", ["p"]),
        ({"match": "number", "tolerance": 0.5}, 1, 1.4, []),
        ({"match": "regexp", "pattern": "^a"}, "x", "abc", []),
    ],
)
def test_matchers_of_the_config(matcher, expected, actual, wanted):
    for tool in ("t", "*"):
        compare = ArgumentComparison(matchers={tool: {"p": ArgumentMatcher.model_validate(matcher)}})
        assert differing({"p": expected}, {"p": actual}, compare) == wanted


@pytest.mark.parametrize(
    ("names", "wanted"), [(None, ["a", "b", "c"]), ([], []), (["a"], ["a"]), (["d"], [])]
)
def test_an_expected_call_may_say_which_arguments_matter(names, wanted):
    assert differing({"a": 1, "b": 1}, {"a": 2, "b": 2, "c": 2}, compare_args=names) == wanted


def test_what_only_a_judge_can_compare_counts_as_it_is_told():
    vague = {"a": {"$matchType": "semantic", "$matchValue": "b"}}
    assert differing(vague, {"a": "c"}, ArgumentComparison(undecided=True)) == []
