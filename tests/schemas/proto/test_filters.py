"""Filter expressions, by examples and by a law."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tables import rows_test
from turnwise.schemas.proto.masks import FieldComparison, FilterError, Junction, Negation, parse_filter

test_rows = rows_test(globals(), "filters")


def shape(condition):
    """Returns a condition as rows have it: `{"AND": [...]}`, `{"NOT": ...}` or a comparison."""
    match condition:
        case Junction():
            return {condition.kind: list(map(shape, condition.parts))}
        case Negation():
            return {"NOT": shape(condition.part)}
        case FieldComparison():
            return [condition.field, condition.operator, condition.value]


def read(text, condition):
    assert shape(parse_filter(text)) == condition


def wrong(text, why, times=1):
    with pytest.raises(FilterError, match=why) as caught:
        parse_filter(text * times)
    assert "\n" not in str(caught.value)


PIECES = st.sampled_from([*"ab=!<>:()\"'\\-, \n\0é", " AND ", " OR ", "NOT ", "a=1"])


@given(st.lists(PIECES, max_size=30).map("".join))
def test_any_text_is_a_filter_or_refused(text):
    try:
        parse_filter(text)
    except FilterError as error:
        assert "\n" not in str(error)
