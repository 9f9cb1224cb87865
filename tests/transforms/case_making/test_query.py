import pytest

from tests.tables import stated
from turnwise.schemas.proto.masks import FilterError, parse_filter
from turnwise.transforms.decisions.cases import check_fields, meets

FACTS = {
    "app_version": "v2",
    "tool": ["book_table", "find"],
    "turns": 3,
    "severity_score": 2.0,
    "verdict": None,
    "text": ["Where is IT?"],
}


@stated("meets", "text, wanted")
def test_what_meets_a_filter(text, wanted):
    condition = parse_filter(text)
    assert condition is not None and meets(condition, FACTS) is wanted


@pytest.mark.parametrize("text", ["gone = 1", "app_version > 1", "turns > many", "turns = 3 OR gone = 1"])
def test_what_no_filter_can_ask(text):
    condition = parse_filter(text)
    assert condition is not None
    with pytest.raises(FilterError):
        check_fields(condition, FACTS)
        meets(condition, FACTS)
