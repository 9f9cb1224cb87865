import pytest

from turnwise.transforms.effects.call_values import argument_paths, leaves
from turnwise.transforms.effects.claims import ClaimedValue, compare_value, held_values, unlisted_numbers

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
    "class": "business",
    "jacket": "Blue Denim Jacket",
    "guest": "Anna Huber",
    "place": "Philadelphia, PA",
    "phone": "+15550102000",
    "card": "4000123412344242",
    "discount_percent": 20,
    "debit": -20,
    "tags": ["vip", "new"],
    "count": 2,
}

TABLE = [
    # argument, words, verdict
    ("amount", "$45.20", "same"),
    ("day", "20 May 2024", "same"),
    ("day", "5月20日", "same"),
    ("day", "tomorrow", "not_compared"),
    ("to.street", "15 Main St", "other"),
    ("unit", "apartment 6", "other"),
    ("items.count", "three chairs", "same"),
    ("items.count", "four chairs", "other"),
    ("order_id", "W1", "same"),
    ("name", "Anna García", "other"),
    ("gift", "as a gift", "not_compared"),
    ("day", "Monday", "same"),
    ("items[0].count", "four chairs", "other"),
    ("items[1].count", "three chairs", "same"),
    ("items.count", "two and three", "same"),
    ("tags", "vip and old", "not_compared"),
    ("city", "the city that you gave me some days ago", "not_compared"),
    ("jacket", "the blue jacket you ordered", "not_compared"),
    ("guest", "Mr. Huber", "same"),
    ("phone", "+1 (555) 010-2000", "same"),
    ("phone", "010-2000-555", "other"),
    ("card", "ending in 4243", "other"),
    ("amount", "forty-five", "not_compared"),
    ("amount", "45.2%", "not_compared"),
    ("missing", "5", "not_compared"),
]


@pytest.mark.parametrize(("argument", "words", "verdict"), TABLE)
def test_stated_values_are_compared_by_value(argument, words, verdict):
    assert compare_value(ClaimedValue(argument, words), ARGS) == verdict


MONEY = [
    # currency of the call, words, verdict
    ("EUR", "20 euros", "same"),
    ("EUR", "$20", "other"),
    ("CAD", "20 dollars", "same"),
    ("CAD", "20 US dollars", "other"),
    ("points", "20 dollars", "not_compared"),
]


@pytest.mark.parametrize(("currency", "words", "verdict"), MONEY)
def test_an_amount_is_compared_with_the_currency_of_the_call(currency, words, verdict):
    assert compare_value(ClaimedValue("amount", words), {"amount": 20, "currency": currency}) == verdict


def test_a_value_without_an_argument_is_searched_in_the_whole_call():
    held = leaves({"confirmation": "r-55", "days": 3})
    words = "20 euros", "R-55", "25 euros", "55 euros", "20 dollars", "3 days"
    args = {"amount": 20, "currency": "EUR"}
    found = [compare_value(ClaimedValue("", one), args, held) for one in words]
    assert found == ["same", "same", *["not_compared"] * 3, "same"]


QUOTES = [
    # quote, what is listed, unlisted numbers
    ("I refunded 25 euros for order A-77", ["A-77"], ["25"]),
    ("I refunded 20 euros for order A-78", [], ["78"]),
    ("It is refunded", [], []),
    ("I refunded thirty euros", [], ["thirty"]),
    ("Both orders are moved to 8 August", ["8 August"], []),
]


@pytest.mark.parametrize(("quote", "listed", "numbers"), QUOTES)
def test_numbers_of_a_quote_that_no_action_holds(quote, listed, numbers):
    held = held_values(leaves({"order_id": "a-77", "amount": 20, "day": "2026-07-08"}))
    assert [value.text for value in unlisted_numbers(quote, listed, held)] == numbers


def test_paths_of_arguments():
    assert argument_paths(ARGS)[5:10] == ["to.street", "to.zip", "unit", "items.id", "items.count"]
    assert argument_paths(None) == []
    assert compare_value(ClaimedValue("amount", "5"), None) == "not_compared"
