import pytest

from turnwise.schemas.conversation import ToolCall
from turnwise.transforms.effects.call_values import leaves
from turnwise.transforms.effects.claims import (
    Action,
    ActionClaim,
    ClaimedValue,
    MessageRange,
    compare_value,
    match_claims,
)

SAME, OTHER, OPEN = "same", "other", "not_compared"
EUR = {"currency": "EUR"}

CODES = [
    # argument, value, words, verdict
    ("seat", "14A", "14A", SAME),
    ("seat", "14A", "seat 14a", SAME),
    ("seat", "14A", "14 A", SAME),
    ("seat", "14A", "14B", OTHER),
    ("seat", "14A", "Platz 14B", OTHER),
    ("seat", "14A", "row 14", OPEN),
    ("seats", ["22C", "22D"], "22C and 22D", SAME),
    ("seats", ["22C", "22E"], "22C and 22D", OTHER),
    ("gate", "12A", "Gate 12B", OTHER),
    ("unit", "A-12B", "A-12", OPEN),
    ("street", "Hauptstraße 5b", "Hauptstraße 5a", OTHER),
    ("street", "Hauptstr. 5", "Hauptstraße 5", SAME),
    ("flight", "LH452", "Flight LH 452", SAME),
    ("flight", "LH452", "452", OPEN),
    ("code", "007", "7", OPEN),
    ("size", "5", "5°", OPEN),
    ("method", "gift_card_7091239", "gift card ending in 1239", SAME),
    ("method", "gift_card_7091239", "gift card ending in 1293", OTHER),
    ("method", "gift_card_7091239", "your gift card", SAME),
    ("method", "gift_card_7091239", "your credit card", OPEN),
    ("phone", "06601234567", "+43 660 1234567", OPEN),
    ("order_id", "7091239", "order 7091239", SAME),
    ("email", "anna@shop.de", "Anna@Shop.de", SAME),
    ("email", "anna@shop.de", "the e-mail mailto:anna@shop.de", OPEN),
    ("email", "anna@shop.de", "anna@shop.at", OTHER),
    ("email", "a.huber@shop.de", "anna.huber@shop.de", OTHER),
    ("email", "john.smith@acme.com", "johnsmith@acme.com", OTHER),
    ("email", "john@acme.com", "john@mail.acme.com", OTHER),
    ("email", "anna@shop.de", "shop.de", OPEN),
    ("url", "example.com/b", "example.com/a", OTHER),
    ("url", "https://www.example.com/a", "example.com/a", SAME),
    ("url", "https://example.com/a", "example.com", OPEN),
]

NUMBERS = [
    ("amount", 20, "20 thousand euros", OTHER),
    ("amount", 20000, "20 thousand euros", SAME),
    ("amount", 20, "20 lakh", OTHER),
    ("amount", 20, "20 dozen", OPEN),
    ("quantity", 20, "20 dozen", OPEN),
    ("quantity", 2, "2 more chairs", OPEN),
    ("quantity", 2, "2百", OPEN),
    ("quantity", 2, "2 chairs", SAME),
    ("n", 2, "two million", OTHER),
    ("amount", 21, "twenty-one dollars", SAME),
    ("amount", 20, "twenty-one dollars", OTHER),
    ("amount", 250, "two hundred and fifty", SAME),
    ("amount", 20, "minus twenty", OPEN),
    ("amount", 20, "negative 20", OPEN),
    ("amount", 20, "twenty%", OPEN),
    ("amount", 20, "half of 20 euros", OPEN),
    ("amount", 20, "20 euros per person", OPEN),
    ("amount", 20, "20 to 25 euros", OPEN),
    ("amount", 20, "20²", OPEN),
    ("amount", 0.99, "99 cents", OPEN),
    ("amount_cents", 2000, "20 euros", OPEN),
    ("amount", 2000, "$20", OPEN),
    ("amount", 2010, "$20", OTHER),
    ("amount", 1250, "1.250 €", SAME),
    ("amount", 1250.5, "1 250,50 €", SAME),
    ("amount", 1250, "1,250", SAME),
    ("amount", 1.25, "1,250 euros", OPEN),
    ("amount", 1250, "1.250", OPEN),
    ("amount", 2000000, "2 Mio. Euro", OPEN),
    ("rate", 0.1, "10%", OPEN),
    ("discount", "10%", "10 euros", OPEN),
    ("days", 2, "2 weeks", OPEN),
    ("days", 14, "2 weeks", OPEN),
    ("days", 2, "two days", SAME),
    ("data_mb", 5, "5 GB", OPEN),
    ("duration_hours", 1.5, "90 minutes", OPEN),
    ("duration", "60 minutes", "1 hour", OPEN),
    ("children", 2, "2 adults", OPEN),
    ("weight_lb", 20, "20 kg", OPEN),
    ("weight_kg", 20, "20 pounds", OPEN),
    ("bags", [1, 2], "3 bags", OPEN),
    ("amount", 10**400, "25 euros", OPEN),
]

MOMENTS = [
    ("date", "2026-03-14", "Saturday, March 14th", SAME),
    ("date", "2026-03-14", "den 14. März", SAME),
    ("date", "2026-03-14", "14 de marzo de 2026", SAME),
    ("date", "2026-03-14", "3월 14일(토)", SAME),
    ("date", "2026-03-14", "March 2026", SAME),
    ("date", "2026-03-14", "im April 2026", OTHER),
    ("date", "2026-03-14", "avril 2026", OTHER),
    ("date", "2026-03-14", "3/14", SAME),
    ("date", "2026-03-14", "14/03/26", OPEN),
    ("date", "2026-03-14", "14:00", OPEN),
    ("date", "2026-03-14", "2 pm", OPEN),
    ("date", "2026-03-14", "March 14 to 16", OPEN),
    ("date", "2026-03-14", "before March 14", OPEN),
    ("date", "2026-03-14", "Sun, March 14", OTHER),
    ("date", "2026-03-14", "So, 14. März", OTHER),
    ("date", "2026-03-14", "3월 14일(일)", OTHER),
    ("date", "2026-03-14", "3月14日(日)", OTHER),
    ("date", "2026-03-14", "dim. 14 mars", OTHER),
    ("date", "2026-05-03", "5.3.2026", OTHER),
    ("date", "2026-03-05", "5.3.2026", SAME),
    ("date", "2026-05-03", "05/03/2026", OPEN),
    ("month", "March 2026", "March 5", OPEN),
    ("month", "March 2026", "2026년 3월", SAME),
    ("date", "2026-03-14", "3월 14일로", SAME),
    ("time", "19:00", "7 pm", SAME),
    ("time", "19:00", "7 Uhr", OPEN),
    ("time", "19:00", "7 Uhr morgens", OPEN),
    ("time", "19:00", "7:00 in the morning", OPEN),
    ("time", "19:00", "朝7時", OPEN),
    ("time", "19:00", "아침 7시", OPEN),
    ("time", "19:00", "7 in the evening", OPEN),
    ("time", "19:00", "7 am", OTHER),
    ("time", "15:30", "15.30 Uhr", SAME),
    ("time", "15:30", "午後3時半", SAME),
    ("time", "15:30", "午前3時半", OTHER),
    ("at", "2026-03-14T22:30:00Z", "March 14 at 10:30 pm", SAME),
    ("at", "2026-03-14T22:30:00Z", "11:30 pm", OPEN),
    ("at", "2026-03-14T22:30:00Z", "March 15", OPEN),
    ("at", "2026-03-14T22:30:00Z", "April 3", OTHER),
]

NAMES = [
    ("cabin", "economy", "premium economy", OPEN),
    ("cabin", "basic_economy", "economy", OPEN),
    ("cabin", "business", "business class", SAME),
    ("size", "large", "extra large", OPEN),
    ("size", "XL", "XXL", OPEN),
    ("model", "iPhone 15 Pro", "iPhone 15", OPEN),
    ("model", "iPhone 15", "iPhone 15 Pro", OPEN),
    ("plan", "gold plus", "gold", OPEN),
    ("plan", "gold", "the gold plan", SAME),
    ("room", "non-smoking", "smoking", OPEN),
    ("fare", "refundable", "non-refundable", OPEN),
    ("guest", "Anna Huber", "Ann Huber", OPEN),
    ("guest", "Paula Huber", "Paul Huber", OPEN),
    ("guest", "Anna Huber", "Anna Gruber", OTHER),
    ("guest", "Anna Mueller", "Anna Müller", SAME),
    ("city", "Portland", "Port", OPEN),
    ("city", "y", "x", OPEN),
    ("price_per", "€20/night", "$20/night", OPEN),
    ("to", "12 Oak Street, Springfield, IL 62701", "12 Oak St, Springfield", SAME),
    ("to", "12 Oak Street, Springfield, IL 62701", "21 Oak Street", OTHER),
    ("to", "12 rue de la Paix, 75002 Paris", "12 rue de la Paix", SAME),
    ("to", "12 Oak Street", "Oak Street", OPEN),
]


@pytest.mark.parametrize(("argument", "given", "words", "verdict"), [*CODES, *NUMBERS, *MOMENTS, *NAMES])
def test_what_is_not_shown_to_be_the_same_is_not_compared(argument, given, words, verdict):
    assert compare_value(ClaimedValue(argument, words), {argument: given}) == verdict


CURRENCIES = [
    # arguments, argument, words, verdict
    ({"amount": 20, "currency": "€"}, "amount", "20 dollars", OTHER),
    ({"amount": 20, "currency": "euro"}, "amount", "20 euros", SAME),
    ({"amount": 20, "currency": "978"}, "amount", "20 dollars", OPEN),
    ({"amount": 20, "currency": "points"}, "amount", "20 points", OPEN),
    ({"amount_eur": 20}, "amount_eur", "20 dollars", OTHER),
    ({"amount": {"value": 20, "unit": "EUR"}}, "amount.value", "20 dollars", OTHER),
    (
        {"amount": {"value": 20, **EUR}, "fee": {"value": 1, "currency": "USD"}},
        "amount.value",
        "20 dollars",
        OTHER,
    ),
    ({"prices": [20, 30], **EUR}, "prices", "$20 and $30", OTHER),
    ({"prices": [20, 30], **EUR}, "prices", "20 and 30 euros", SAME),
    ({"amount": 20, **EUR}, "amount", "20달러", OTHER),
    ({"amount": 20, **EUR}, "amount", "20 dólares", OTHER),
    ({"amount": 20, **EUR}, "amount", "20 Franken", OPEN),
    ({"amount": 20, **EUR}, "amount", "20 Pfund", OPEN),
    ({"amount": 20, **EUR}, "amount", "20 zł", OPEN),
    ({"amount": 20, **EUR}, "Amount", "20 euros", SAME),
    ({"amount": 20, **EUR}, "args.amount", "20유로를", SAME),
    ({"amount": 20, **EUR}, "fee.amount", "25 euros", OPEN),
    ({"quantity": 3, **EUR}, "quantity", "3 euros", OPEN),
    ({"amount": 20, "quantity": 3, **EUR}, "", "3 euros", OPEN),
    ({"amount": 20, "quantity": 3, **EUR}, "", "20 euros", SAME),
    ({"total_passengers": 3}, "total_passengers", "3 euros", OPEN),
]


@pytest.mark.parametrize(("args", "argument", "words", "verdict"), CURRENCIES)
def test_a_currency_is_that_of_the_call_or_the_value_is_no_pass(args, argument, words, verdict):
    assert compare_value(ClaimedValue(argument, words), args) == verdict


ARGS = {
    "order_id": "A-77",
    "seat": "14A",
    "email": "anna@shop.de",
    "date": "2026-03-14",
    "time": "19:00",
    "amount": 20,
    "quantity": 3,
    "card": "gift_card_7091239",
}

QUOTES = [
    # quote of a claim that lists no value, identifier, verdict
    ("I moved you to seat 14A", "A-77", "done"),
    ("I moved you to seat 14B", "A-77", "not_compared"),
    ("I changed it to anna@shop.at", "A-77", "not_compared"),
    ("I changed it to anna@shop.de", "A-77", "done"),
    ("I moved A-77 to April", "A-77", "not_compared"),
    ("I moved A-77 to March 3", "A-77", "not_compared"),
    ("I moved A-77 to Saturday", "A-77", "done"),
    ("I moved A-77 to Sunday", "A-77", "not_compared"),
    ("A-77を日曜日に変更しました", "A-77", "not_compared"),
    ("It is now at 7:00", "A-77", "not_compared"),
    ("It is now at 7 pm", "A-77", "done"),
    ("I refunded 20 euros", "A-77", "done"),
    ("I refunded 3 euros", "A-77", "not_compared"),
    ("I refunded 20 thousand euros", "A-77", "not_compared"),
    ("I booked thirteen seats", "A-77", "not_compared"),
    ("I used your card ending in 1239", "A-77", "done"),
    ("I used your card ending in 1293", "A-77", "not_compared"),
    ("I changed it", "order A-77", "done"),
    ("I changed it", "A77", "done"),
    ("I changed it", "order A-78", "not_done"),
    ("I changed it", "77A", "not_done"),
    ("I changed it", "your trip", "not_compared"),
    ("I changed it", "amount", "not_compared"),
    ("I changed it", "true", "not_compared"),
]


@pytest.mark.parametrize(("quote", "identifier", "verdict"), QUOTES)
def test_what_a_claim_says_without_listing_it(quote, identifier, verdict):
    call = ToolCall("change", ARGS)
    action = Action(0, "change", call, leaves([ARGS, {"ok": True}]))
    claim = ActionClaim(MessageRange(0, 0, 0, len(quote)), quote, "change", identifier)
    match_claims([claim], [action])
    assert claim.verdict == verdict


def test_deeply_nested_arguments_are_read():
    nested = {"amount": 20}
    for _ in range(3000):
        nested = {"in": nested}
    assert [leaf.value for leaf in leaves(nested)] == [20]
