import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from turnwise.transforms.matching.calls import (
    ArgumentMatcher,
    ParameterScore,
    arguments_match,
    check_directives,
    frozen,
    is_directive,
    parameter_outcome,
    parameter_score,
    reaches,
    value_matches,
)


def directive(kind, value=None, **more):
    return {"$matchType": kind, "$matchValue": value, **more}


VALUES = [
    ("x", "x", True),
    (None, None, True),
    (directive("ignore"), "anything", True),
    (directive("contains", 5), 1500, True),
    (directive("contains", "a"), ["ab"], False),
    (directive("regexp", "^C1"), "AC123", False),
    (directive("semantic", "2 March 2026", **{"$originalValue": "2026-03-02"}), "2026-03-02", True),
    (directive("semantic", "2 March 2026", **{"$originalValue": "2026-03-02"}), "March 2nd", None),
    (directive("fuzzy", "x"), "xy", False),
    ({"$matchType": "contains", "$matchValue": "A", "value": "B"}, "xAx", True),
]


@pytest.mark.parametrize(("expected", "actual", "wanted"), VALUES)
def test_one_value(expected, actual, wanted):
    assert value_matches(expected, actual) is wanted


@pytest.mark.parametrize(
    ("value", "wanted"), [(directive("x"), True), ({}, False), ("$matchType", False), (["$matchType"], False)]
)
def test_what_a_directive_is(value, wanted):
    assert is_directive(value) is wanted


@pytest.mark.parametrize(
    "value", [directive("regexp", "("), {"$matchType": "regexp", "value": "["}, directive("regexp", "*a")]
)
def test_a_bad_pattern_in_a_directive_is_refused(value):
    with pytest.raises(ValueError, match="not a regular expression") as caught:
        check_directives({"fine": "(", "bad": value})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("regex", "$matchType: 'regex' is no type of a directive (did you mean regexp?)"),
        (
            "fuzzy",
            "'fuzzy' is no type of a directive (the types are semantic, ignore, contains, regexp, exact)",
        ),
        ("x\n" * 200, "(the types are semantic, ignore, contains, regexp, exact)"),
        (5, "$matchType: '5' is no type of a directive (the types are"),
        (None, "'None' is no type of a directive"),
        (["regexp"], "is no type of a directive"),
    ],
)
def test_a_directive_of_an_unknown_type_is_refused(kind, message):
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        check_directives({"fine": "(", "bad": directive(kind, "x")})
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 400


@pytest.mark.parametrize(
    "value",
    [
        *(directive(kind, "(") for kind in ("semantic", "ignore", "contains", "exact")),
        directive("regexp", "^a"),
        *("(", None, "$matchType", ["$matchType"], {"matchType": "regex"}, {"a": directive("regex", "a")}),
    ],
)
def test_good_directives_and_plain_values_are_let_through(value):
    check_directives({"a": value})


MATCHERS = [
    ("exact", {}, 1, 1.0, True),
    ("ignore", {}, "a", "b", True),
    ("contains", {}, 1, [1, 2], True),
    ("regexp", {"pattern": r"^\d{4}$"}, "2026", "26", False),
    ("number", {"tolerance": 5}, "a", "a", True),
    ("number", {"tolerance": 5}, "a", "b", False),
    ("number", {"tolerance": 5}, True, 2, False),
]


@pytest.mark.parametrize(("match", "fields", "expected", "actual", "wanted"), MATCHERS)
def test_matchers(match, fields, expected, actual, wanted):
    matcher = ArgumentMatcher(match=match, **fields)
    assert matcher.matches(expected, actual) is wanted


@pytest.mark.parametrize(
    "fields",
    [
        {"match": "fuzzy"},
        {"match": "regexp", "pattern": "("},
        {"match": "number", "tolerance": -1},
        {"match": "number", "toleranse": 1},
    ],
)
def test_matchers_that_are_refused(fields):
    with pytest.raises(ValidationError):
        ArgumentMatcher.model_validate(fields)


def test_a_matcher_may_be_its_name_alone():
    assert ArgumentMatcher.model_validate("ignore") == ArgumentMatcher(match="ignore")


IGNORE_NOTE = {"note": ArgumentMatcher(match="ignore")}
NEAR_PRICE = {"price": ArgumentMatcher(match="number", tolerance=1)}
ARGUMENTS = [
    (None, None, {}, True),
    ({"a": None}, {}, {}, False),
    ({"a": 1}, {"a": 1, "note": "x"}, IGNORE_NOTE, True),
    ({"a": 1}, {"a": 1, "other": "x"}, IGNORE_NOTE, False),
    ({"a": 1, "note": "y"}, {"a": 1}, IGNORE_NOTE, True),
    ({"price": 10}, {}, NEAR_PRICE, False),
    ({"a": directive("ignore")}, {}, {}, True),
    ({"a": directive("contains", "x")}, {"a": "ab"}, {}, False),
    ({"a": directive("semantic", "x")}, {"a": "y"}, {}, None),
    ({"a": directive("semantic", "x"), "b": 1}, {"a": "y", "b": 2}, {}, False),
    ({"note": directive("semantic", "x")}, {"note": "y"}, IGNORE_NOTE, True),
]


@pytest.mark.parametrize(("expected", "actual", "matchers", "wanted"), ARGUMENTS)
def test_argument_objects(expected, actual, matchers, wanted):
    assert arguments_match(expected, actual, matchers) is wanted


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, 1.0, "a", "b", ""]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=5,
)
OBJECTS = st.none() | st.dictionaries(st.sampled_from("abc"), JSON, max_size=3)


@given(OBJECTS, OBJECTS)
def test_without_matchers_it_is_pythons_equality_and_no_arguments_are_empty_ones(expected, actual):
    assert arguments_match(expected, actual, {}) is ((expected or {}) == (actual or {}))


@given(JSON, JSON)
def test_frozen_values_are_equal_where_the_values_are(left, right):
    assert (frozen(left) == frozen(right)) is (left == right)
    assert left != right or hash(frozen(left)) == hash(frozen(right))


PARAMETERS = [
    (None, None, 0, 0, 0, (), 1.0),
    ({"a": 1}, None, 0, 1, 0, ("a",), 0.0),
    ({"a": 1, "b": 2}, {"a": 1, "b": 3}, 1, 2, 0, ("b",), 0.5),
    ({"a": 1, "b": 2, "c": 3}, {"c": 3}, 1, 3, 0, ("a", "b"), 1 / 3),
    ({"a": directive("semantic", "x"), "b": 1}, {"a": "y", "b": 2}, 0, 2, 1, ("b",), None),
    ({"a": directive("fuzzy", "x")}, {"a": "x"}, 1, 1, 0, (), 1.0),
]


@pytest.mark.parametrize(
    ("expected", "actual", "matched", "total", "undecided", "wrong", "value"), PARAMETERS
)
def test_parameter_score(expected, actual, matched, total, undecided, wrong, value):
    score = parameter_score(expected, actual)
    assert score == ParameterScore(matched, total, undecided, wrong)
    assert score.value == value


@given(OBJECTS, OBJECTS)
def test_parameter_score_counts_every_expected_parameter_once(expected, actual):
    score = parameter_score(expected, actual)
    assert score.total == len(expected or {})
    assert score.matched + score.undecided + len(score.wrong) == score.total
    assert 0.0 <= score.value <= 1.0
    assert parameter_score(expected, expected).value == 1.0


OUTCOMES = [
    (ParameterScore(2, 2), 1.0, "PASS"),
    (ParameterScore(1, 2), 0.5, "PASS"),
    (ParameterScore(2, 3), 0.6666667, "PASS"),
    (ParameterScore(0, 2, undecided=1), 1.0, "FAIL"),
    (ParameterScore(0, 2, undecided=1), 0.5, None),
]


@pytest.mark.parametrize(("score", "threshold", "wanted"), OUTCOMES)
def test_a_parameter_score_is_undecided_only_while_a_judge_can_tip_it(score, threshold, wanted):
    assert parameter_outcome(score, threshold) == wanted


GATES = [
    (2 / 3, 0.6666667, True),
    (0.1, 0.1, True),
    (0.999, 1.0, False),
    (0.0, 0.0, True),
]


@pytest.mark.parametrize(("value", "threshold", "wanted"), GATES)
def test_a_share_passes_a_float32_gate(value, threshold, wanted):
    assert reaches(value, threshold) is wanted


@pytest.mark.parametrize(
    ("expected", "actual", "verdict"),
    [
        ({"$matchType": "regexp", "$matchValue": "^5$"}, 5.0, True),
        ({"$matchType": "contains", "$matchValue": 5.0}, "order 5", True),
        ({"$matchType": "contains", "$matchValue": "true"}, True, True),
        (0, False, False),
    ],
)
def test_struct_values_are_compared_as_json(expected: object, actual: object, verdict: bool) -> None:
    assert value_matches(expected, actual) is verdict
