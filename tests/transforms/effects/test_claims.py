import pytest

from turnwise.schemas.conversation import ToolCall
from turnwise.transforms.effects.call_values import argument_paths, leaves
from turnwise.transforms.effects.claims import (
    Action,
    ActionClaim,
    ClaimedValue,
    MessageRange,
    compare_value,
    match_claims,
)

ARGS = {
    "order_id": "#W1",
    "amount": 45.2,
    "day": "2024-05-20",
    "to": {"street": "12 Main Street", "zip": "94110"},
    "unit": "Apt 5",
    "items": [{"id": "A1", "count": 2}, {"id": "B2", "count": 3}],
    "city": "SFO",
    "name": "Ana García",
    "note": "please leave it at the door of the house",
    "gift": True,
    "coupon": None,
    "jacket": "Blue Denim Jacket",
    "guest": "Anna Huber",
    "phone": "+15550102000",
    "card": "4000123412344242",
    "tags": ["vip", "new"],
}
SAME, OTHER, OPEN = "same", "other", "not_compared"
EUR = {"currency": "EUR"}
STATED = [
    # argument, its value or all arguments, words, verdict
    ("amount", ARGS, "$45.20", SAME),
    ("day", ARGS, "20 May 2024", SAME),
    ("day", ARGS, "5月20日", SAME),
    ("day", ARGS, "tomorrow", OPEN),
    ("to.street", ARGS, "15 Main St", OTHER),
    ("unit", ARGS, "apartment 6", OTHER),
    ("items.count", ARGS, "three chairs", SAME),
    ("items.count", ARGS, "four chairs", OTHER),
    ("items.count", ARGS, "five chairs", OPEN),
    ("items.count", {"items": [{"count": 3}, {"count": 4}]}, "two chairs", OPEN),
    ("order_id", ARGS, "W1", SAME),
    ("name", ARGS, "Anna García", OTHER),
    ("gift", ARGS, "as a gift", OPEN),
    ("day", ARGS, "Monday", SAME),
    ("items[0].count", ARGS, "four chairs", OTHER),
    ("items[1].count", ARGS, "three chairs", SAME),
    ("items.count", ARGS, "two and three", SAME),
    ("tags", ARGS, "vip and old", OPEN),
    ("city", ARGS, "the city that you gave me some days ago", OPEN),
    ("jacket", ARGS, "the blue jacket you ordered", OPEN),
    ("guest", ARGS, "Mr. Huber", SAME),
    ("phone", ARGS, "+1 (555) 010-2000", SAME),
    ("phone", ARGS, "010-2000-555", OTHER),
    ("card", ARGS, "ending in 4243", OTHER),
    ("amount", ARGS, "forty-five", OPEN),
    ("amount", ARGS, "45.2%", OPEN),
    ("missing", ARGS, "5", OPEN),
    ("seat", "14A", "14A", SAME),
    ("gate", "12A", "Gate 12B", OTHER),
    ("street", "Hauptstr. 5", "Hauptstraße 5", SAME),
    ("size", "5", "5°", OPEN),
    ("email", "anna@shop.de", "the e-mail mailto:anna@shop.de", OPEN),
    ("email", "anna@shop.de", "anna@shop.at", OTHER),
    ("email", "john@acme.com", "john@mail.acme.com", OTHER),
    ("url", "https://www.example.com/a", "example.com/a", SAME),
    ("url", "https://example.com/a", "example.com", OPEN),
    ("amount", 20, "20 thousand euros", OTHER),
    ("quantity", 2, "2 more chairs", OPEN),
    ("n", 2, "two million", OTHER),
    ("amount", 250, "two hundred and fifty", SAME),
    ("amount", 20, "twenty%", OPEN),
    ("amount", 20, "20 euros per person", OPEN),
    ("amount", 0.99, "99 cents", OPEN),
    ("amount", 1250, "1,250", SAME),
    ("amount", 1250, "1.250", OPEN),
    ("rate", 0.1, "10%", OPEN),
    ("discount", "10%", "10 euros", OPEN),
    ("weight_lb", 20, "20 kg", OPEN),
    ("amount", 10**400, "25 euros", OPEN),
    ("date", "2026-03-14", "Saturday, March 14th", SAME),
    ("date", "2026-03-14", "im April 2026", OTHER),
    ("date", "2026-03-14", "14/03/26", OPEN),
    ("date", "2026-03-14", "14:00", OPEN),
    ("date", "2026-03-14", "March 14 to 16", OPEN),
    ("date", "2026-03-14", "3月14日(日)", OTHER),
    ("month", "March 2026", "2026년 3월", SAME),
    ("time", "19:00", "7 in the evening", OPEN),
    ("time", "15:30", "午後3時半", SAME),
    ("at", "2026-03-14T22:30:00Z", "March 14 at 10:30 pm", SAME),
    ("at", "2026-03-14T22:30:00Z", "11:30 pm", OPEN),
    ("at", "2026-03-14T22:30:00Z", "April 3", OTHER),
    ("cabin", "economy", "premium economy", OPEN),
    ("cabin", "business", "business class", SAME),
    ("model", "iPhone 15 Pro", "iPhone 15", OPEN),
    ("plan", "gold", "the gold plan", SAME),
    ("guest", "Anna Huber", "Ann Huber", OPEN),
    ("city", "y", "x", OPEN),
    ("price_per", "€20/night", "$20/night", OPEN),
    ("to", "12 Oak Street, Springfield, IL 62701", "21 Oak Street", OTHER),
    ("amount", {"amount": 20, "currency": "EUR"}, "20 euros", SAME),
    ("amount", {"amount": 20, "currency": "EUR"}, "$20", OTHER),
    ("amount", {"amount": 20, "currency": "CAD"}, "20 dollars", SAME),
    ("amount", {"amount": 20, "currency": "CAD"}, "20 US dollars", OTHER),
    ("amount", {"amount": 20, "currency": "points"}, "20 dollars", OPEN),
    ("amount", {"amount": 20, "currency": "€"}, "20 dollars", OTHER),
    ("amount", {"amount": 20, "currency": "978"}, "20 dollars", OPEN),
    ("amount_eur", {"amount_eur": 20}, "20 dollars", OTHER),
    ("prices", {"prices": [20, 30], **EUR}, "20 and 30 euros", SAME),
    ("amount", {"amount": 20, **EUR}, "20 Franken", OPEN),
    ("fee.amount", {"amount": 20, **EUR}, "25 euros", OPEN),
    ("", {"amount": 20, "quantity": 3, **EUR}, "20 euros", SAME),
    ("amount", None, "5", OPEN),
]


@pytest.mark.parametrize(("argument", "given", "words", "verdict"), STATED)
def test_stated_values_are_compared_by_value(argument, given, words, verdict):
    """What is not shown to be the same is not compared."""
    args = given if given is None or isinstance(given, dict) else {argument: given}
    assert compare_value(ClaimedValue(argument, words), args) == verdict


def test_a_value_without_an_argument_is_searched_in_the_whole_call():
    held = leaves({"confirmation": "r-55", "days": 3})
    words = "20 euros", "R-55", "25 euros", "55 euros", "20 dollars", "3 days"
    found = [compare_value(ClaimedValue("", one), {"amount": 20, **EUR}, held) for one in words]
    assert found == [SAME, SAME, OPEN, OPEN, OPEN, SAME]


def test_paths_of_arguments():
    assert argument_paths(ARGS)[3:8] == ["to.street", "to.zip", "unit", "items.id", "items.count"]
    assert argument_paths(None) == []


CHANGED = {
    "order_id": "A-77",
    "seat": "14A",
    "email": "anna@shop.de",
    "date": "2026-03-14",
    "time": "19:00",
    "amount": 20,
    "quantity": 3,
    "card": "gift_card_7091239",
}
CLAIMS = [
    # quote, identifier, stated amount, verdict
    ("I moved you to seat 14A", "A-77", "", "done"),
    ("I moved you to seat 14B", "A-77", "", "not_compared"),
    ("I changed it to anna@shop.at", "A-77", "", "not_compared"),
    ("I moved A-77 to April", "A-77", "", "not_compared"),
    ("A-77を日曜日に変更しました", "A-77", "", "not_compared"),
    ("It is now at 7 pm", "A-77", "", "done"),
    ("I refunded 20 euros", "A-77", "", "done"),
    ("I refunded 25 euros for order A-77", "A-77", "", "not_compared"),
    ("I refunded thirty euros", "A-77", "", "not_compared"),
    ("I merged it with order A-78", "A-77", "", "not_compared"),
    ("Both are moved to 14 March", "A-77", "", "done"),
    ("I changed it", "order A-78", "", "not_done"),
    ("I changed it", "amount", "", "not_compared"),
    ("x", "A-77", "20 euros", "done"),
    ("x", "A-77", "30 euros", "other_values"),
    ("x", "A-77", "some", "not_compared"),
]


@pytest.mark.parametrize(("quote", "identifier", "amount", "verdict"), CLAIMS)
def test_what_a_claim_says_and_lists(quote, identifier, amount, verdict):
    action = Action(0, "change", ToolCall("change", CHANGED), leaves([CHANGED, {"ok": True}]))
    values = [ClaimedValue("amount", amount)] if amount else []
    claim = ActionClaim(MessageRange(0, 0, 0, len(quote)), quote, "change", identifier, values)
    match_claims([claim], [action])
    assert claim.verdict == verdict


@pytest.mark.parametrize(("turn", "verdict"), [(0, "other_values"), (1, "done")])
def test_a_call_that_comes_later_does_not_make_a_claim_true(turn, verdict):
    calls = [ToolCall("change", {"amount": amount}) for amount in (30, 20)]
    actions = [Action(i, "change", call, leaves([call.args])) for i, call in enumerate(calls)]
    claim = ActionClaim(MessageRange(turn, 0, 0, 1), "x", "change", "", [ClaimedValue("amount", "20 euros")])
    match_claims([claim], actions)
    assert claim.verdict == verdict


def test_deeply_nested_arguments_are_read():
    nested = {"amount": 20}
    for _ in range(3000):
        nested = {"in": nested}
    assert [leaf.value for leaf in leaves(nested)] == [20]
