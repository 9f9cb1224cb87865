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
    ("x", "X", False),
    (1, 1.0, True),
    (1, True, False),
    ("1", 1, False),
    (None, None, True),
    ([1, 2], [2, 1], False),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
    (directive("ignore"), "anything", True),
    (directive("contains", "Rome"), "flight to Rome, Italy", True),
    (directive("contains", "Rome"), "flight to rome", False),
    (directive("contains", 5), 1500, True),
    (directive("contains", "a"), ["a", "b"], True),
    (directive("contains", "a"), ["ab"], False),
    (directive("regexp", "^AC[0-9]+$"), "AC123", True),
    (directive("regexp", "C1"), "AC123", True),
    (directive("regexp", "^C1"), "AC123", False),
    (directive("regexp", r"^\d+$"), 42, True),
    (directive("semantic", "2 March 2026"), "2 March 2026", True),
    (directive("semantic", "2 March 2026", **{"$originalValue": "2026-03-02"}), "2026-03-02", True),
    (directive("semantic", "2 March 2026", **{"$originalValue": "2026-03-02"}), "March 2nd", None),
    (directive("fuzzy", "x"), "x", True),
    (directive("fuzzy", "x"), "xy", False),
    (directive("Contains", "x"), "xy", False),
    ({"$matchType": "contains", "value": "Rome"}, "in Rome", True),
    ({"$matchType": "contains", "value": "Rome"}, "in Paris", False),
    ({"$matchType": "regexp", "value": "^R"}, "Rome", True),
    ({"$matchType": "semantic", "value": "Rome"}, "Rome", True),
    ({"$matchType": "semantic", "value": "Rome"}, "Roma", None),
    ({"$matchType": "fuzzy", "value": "Rome"}, "Rome", True),
    ({"$matchType": "contains", "$matchValue": "A", "value": "B"}, "xAx", True),
    ({"matchType": "ignore"}, "anything", False),
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
        ("Contains", "$matchType: 'Contains' is no type of a directive (did you mean contains?)"),
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
    ("exact", {}, "1", 1, False),
    ("ignore", {}, "a", "b", True),
    ("contains", {}, "mid", "amidst", True),
    ("contains", {}, "mid", "middle", True),
    ("contains", {}, "amidst", "mid", False),
    ("contains", {}, 1, [1, 2], True),
    ("contains", {}, 3, [1, 2], False),
    ("regexp", {}, "^a.c$", "abc", True),
    ("regexp", {}, "^a.c$", "abcd", False),
    ("regexp", {"pattern": r"^\d{4}$"}, "ignored", "2026", True),
    ("regexp", {"pattern": r"^\d{4}$"}, "2026", "26", False),
    ("number", {}, 1, "1.0", True),
    ("number", {}, 1, 1.0001, False),
    ("number", {"tolerance": 0.5}, 10, 10.5, True),
    ("number", {"tolerance": 0.5}, 10, 10.6, False),
    ("number", {"relative_tolerance": 0.1}, 100, 109, True),
    ("number", {"relative_tolerance": 0.01}, 100, 109, False),
    ("number", {"tolerance": 5}, "a", "a", True),
    ("number", {"tolerance": 5}, "a", "b", False),
    ("number", {"tolerance": 5}, True, 2, False),
    ("number", {"tolerance": 5}, None, 2, False),
    ("number", {"tolerance": 5}, 10**400, 10**400, True),
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
        {"match": "number", "relative_tolerance": -0.1},
        {"match": "number", "tolerance": float("nan")},
        {"match": "number", "toleranse": 1},
        "fuzzy",
        7,
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
    (None, {}, {}, True),
    ({}, None, {}, True),
    (None, {"a": 1}, {}, False),
    ({"a": 1}, None, {}, False),
    ({}, {}, {}, True),
    ({"a": 1}, {"a": 1, "b": 2}, {}, False),
    ({"a": 1, "b": 2}, {"a": 1}, {}, False),
    ({"a": None}, {}, {}, False),
    ({"a": 1}, {"a": 1, "note": "x"}, IGNORE_NOTE, True),
    ({"a": 1}, {"a": 1, "other": "x"}, IGNORE_NOTE, False),
    ({"a": 1, "note": "y"}, {"a": 1}, IGNORE_NOTE, True),
    ({"a": 1, "note": "y"}, {"a": 2, "note": "y"}, IGNORE_NOTE, False),
    ({}, {"note": "x"}, IGNORE_NOTE, True),
    (None, {"note": "x"}, IGNORE_NOTE, True),
    ({}, {"note": "x", "b": 1}, IGNORE_NOTE, False),
    ({"note": "x"}, None, IGNORE_NOTE, True),
    ({"price": 10}, {"price": 10.5}, NEAR_PRICE, True),
    ({"price": 10}, {"price": 12}, NEAR_PRICE, False),
    ({"price": 10}, {}, NEAR_PRICE, False),
    ({"price": 10}, {"price": 10, "x": 1}, NEAR_PRICE, False),
    ({"a": directive("ignore")}, {"a": 5}, {}, True),
    ({"a": directive("ignore")}, {}, {}, True),
    ({"a": directive("contains", "x")}, {"a": "axb"}, {}, True),
    ({"a": directive("contains", "x")}, {"a": "ab"}, {}, False),
    ({"a": directive("contains", "x")}, {"a": "x", "b": 1}, {}, False),
    ({"a": directive("semantic", "x")}, {"a": "x"}, {}, True),
    ({"a": directive("semantic", "x")}, {"a": "y"}, {}, None),
    ({"a": directive("semantic", "x")}, {}, {}, False),
    ({"a": directive("semantic", "x"), "b": 1}, {"a": "y", "b": 1}, {}, None),
    ({"a": directive("semantic", "x"), "b": 1}, {"a": "y", "b": 2}, {}, False),
    ({"a": directive("semantic", "x")}, {"a": "y", "b": 1}, {}, False),
    ({"a": directive("semantic", "x")}, {"a": "y", "note": 1}, IGNORE_NOTE, None),
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
    ({}, {"a": 1}, 0, 0, 0, (), 1.0),
    ({"a": 1}, None, 0, 1, 0, ("a",), 0.0),
    ({"a": 1, "b": 2}, {"a": 1, "b": 3}, 1, 2, 0, ("b",), 0.5),
    ({"a": 1, "b": 2}, {"a": 1.0, "b": 2, "c": 3}, 2, 2, 0, (), 1.0),
    ({"a": 1, "b": 2, "c": 3}, {"c": 3}, 1, 3, 0, ("a", "b"), 1 / 3),
    ({"a": directive("ignore"), "b": 2}, {"a": 9, "b": 2}, 1, 1, 0, (), 1.0),
    ({"a": directive("ignore"), "b": 2}, {"b": 3}, 0, 1, 0, ("b",), 0.0),
    ({"a": directive("ignore")}, {}, 0, 0, 0, (), 1.0),
    ({"a": directive("semantic", "x")}, {"a": "y"}, 0, 1, 1, (), None),
    ({"a": directive("semantic", "x"), "b": 1}, {"a": "x", "b": 1}, 2, 2, 0, (), 1.0),
    ({"a": directive("semantic", "x"), "b": 1}, {"a": "y", "b": 2}, 0, 2, 1, ("b",), None),
    ({"a": directive("semantic", "x")}, {}, 0, 1, 0, ("a",), 0.0),
    ({"a": directive("fuzzy", "x")}, {"a": "x"}, 1, 1, 0, (), 1.0),
    ({"a": None}, {}, 0, 1, 0, ("a",), 0.0),
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
    (ParameterScore(1, 2), 1.0, "FAIL"),
    (ParameterScore(1, 2), 0.5, "PASS"),
    (ParameterScore(0, 0), 1.0, "PASS"),
    (ParameterScore(2, 3), 0.6666667, "PASS"),
    (ParameterScore(0, 1, undecided=1), 1.0, None),
    (ParameterScore(0, 1, undecided=1), 0.0, "PASS"),
    (ParameterScore(0, 2, undecided=1), 1.0, "FAIL"),
    (ParameterScore(0, 2, undecided=1), 0.5, None),
    (ParameterScore(1, 2, undecided=1), 0.5, "PASS"),
    (ParameterScore(1, 3, undecided=1), 0.6666667, None),
]


@pytest.mark.parametrize(("score", "threshold", "wanted"), OUTCOMES)
def test_a_parameter_score_is_undecided_only_while_a_judge_can_tip_it(score, threshold, wanted):
    assert parameter_outcome(score, threshold) == wanted


GATES = [
    (2 / 3, 0.6666667, True),
    (1 / 3, 0.33333334, True),
    (0.1, 0.1, True),
    (3 / 5, 0.6, True),
    (0.6666, 0.6666667, False),
    (0.999, 1.0, False),
    (1.0, 1.0, True),
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
        ({"a": [1, {"b": True}]}, {"a": [1.0, {"b": True}]}, True),
        ({"a": [1, {"b": True}]}, {"a": [1.0, {"b": 1}]}, False),
        (0, False, False),
    ],
)
def test_struct_values_are_compared_as_json(expected: object, actual: object, verdict: bool) -> None:
    assert value_matches(expected, actual) is verdict
