import pytest

from turnwise.transforms.effects.statements.claimed_values import ClaimedValue, argument_paths, compare_value

ARGS = {
    "order_id": "#W1",
    "amount": 45.2,
    "price": "€1,234.50",
    "day": "2024-05-20",
    "at": "2024-05-20T10:00:00",
    "to": {"street": "12 Main Street", "zip": "94110"},
    "unit": "Apt 5",
    "items": [{"id": "A1", "count": 2}, {"id": "B2", "count": 3}],
    "city": "SFO",
    "name": "Ana García",
    "note": "please leave it at the door of the house",
    "gift": True,
    "coupon": None,
}

TABLE = [
    # argument, words, verdict
    ("amount", "$45.20", "same"),
    ("amount", "45,20 Euro", "same"),
    ("amount", "a refund of $45.20", "same"),
    ("amount", "$54.20", "other"),
    ("price", "1.234,50 €", "same"),
    ("price", "$1,234.50", "other"),
    ("day", "May 20", "same"),
    ("day", "20 May 2024", "same"),
    ("day", "5月20日", "same"),
    ("day", "May 21", "other"),
    ("day", "May 20, 2025", "other"),
    ("day", "tomorrow", "not_compared"),
    ("at", "10 am on May 20", "same"),
    ("at", "11 am on May 20", "other"),
    ("to.street", "12 Main St", "same"),
    ("to.street", "15 Main St", "other"),
    ("to.street", "12 Oak Street", "other"),
    ("to.zip", "94111", "other"),
    ("unit", "apartment 5", "same"),
    ("unit", "apartment 6", "other"),
    ("items.count", "two", "same"),
    ("items.count", "three chairs", "same"),
    ("items.count", "four chairs", "other"),
    ("items.id", "b2", "same"),
    ("items.id", "B3", "other"),
    ("order_id", "W1", "same"),
    ("order_id", "W2", "other"),
    ("city", "SFO", "same"),
    ("city", "San Francisco", "not_compared"),
    ("name", "Ana Garcia", "same"),
    ("name", "Anna García", "other"),
    ("note", "at the back door", "not_compared"),
    ("gift", "as a gift", "not_compared"),
    ("coupon", "SAVE10", "not_compared"),
    ("missing", "5", "not_compared"),
    ("", "5", "not_compared"),
    ("amount", "", "not_compared"),
]


@pytest.mark.parametrize(("argument", "words", "verdict"), TABLE)
def test_stated_values_are_compared_by_value(argument, words, verdict):
    assert compare_value(ClaimedValue(argument, words), ARGS) == verdict


def test_paths_of_arguments():
    assert argument_paths(ARGS)[5:10] == ["to.street", "to.zip", "unit", "items.id", "items.count"]
    assert argument_paths(None) == []
    assert compare_value(ClaimedValue("amount", "5"), None) == "not_compared"
