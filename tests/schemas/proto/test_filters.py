"""Filter expressions, by examples and by a law."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.schemas.proto.masks import FieldComparison, FilterError, Junction, Negation, parse_filter

A, B, C = (FieldComparison(name, "=", "1") for name in "abc")


def both(*parts):
    return Junction("AND", parts)


def either(*parts):
    return Junction("OR", parts)


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("", None),
        ("a=1", A),
        ("a=1 AND b=1", both(A, B)),
        ("a=1 b=1", both(A, B)),
        ("a=1 OR b=1", either(A, B)),
        ("a=1 AND b=1 OR c=1", both(A, either(B, C))),
        ("(a=1 AND b=1) OR c=1", either(both(A, B), C)),
        ("NOT a=1", Negation(A)),
        ("-a=1 b=1", both(Negation(A), B)),
        ("NOT (a=1 OR b=1)", Negation(either(A, B))),
        ('a = "x \\" y"', FieldComparison("a", "=", 'x " y')),
        ("a='b AND c'", FieldComparison("a", "=", "b AND c")),
        ('t >= "2026-01-01T00:00:00Z"', FieldComparison("t", ">=", "2026-01-01T00:00:00Z")),
        ("tags:slow", FieldComparison("tags", ":", "slow")),
        ("a != größe-1", FieldComparison("a", "!=", "größe-1")),
        ("v=projects/p/versions/v-1", FieldComparison("v", "=", "projects/p/versions/v-1")),
    ],
)
def test_filters_are_read(text, condition):
    assert parse_filter(text) == condition


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a", "compared with nothing"),
        ("a =", "no value"),
        ("a = 1 OR OR b = 1", "compared with nothing"),
        ("(a = 1", "closing parenthesis"),
        ('a = "x', "not understood"),
        ("a = 2026-01-01T00:00:00Z", "not expected|a field is expected|compared"),
        ("a = 1; DROP TABLE results", "compared with nothing"),
        ("(" * 30 + "a=1" + ")" * 30, "deeper than 20"),
        ("a=1 " * 2000, "longer than 4000"),
    ],
)
def test_wrong_filters_are_refused(text, why):
    with pytest.raises(FilterError, match=why) as caught:
        parse_filter(text)
    assert "\n" not in str(caught.value)


PIECES = st.sampled_from([*"ab=!<>:()\"'\\-, \n\0é", " AND ", " OR ", "NOT ", "a=1"])


@given(st.lists(PIECES, max_size=30).map("".join))
def test_any_text_is_a_filter_or_refused(text):
    try:
        parse_filter(text)
    except FilterError as error:
        assert "\n" not in str(error)
