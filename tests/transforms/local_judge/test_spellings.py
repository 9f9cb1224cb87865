import json

import pytest

from turnwise.transforms.local_judge.grounding import ground

ACCOUNT = json.dumps(
    {
        "card": "4000123412344242",
        "old_card": "4000 1234 5678 9010",
        "gift": "gift_card_6276644",
        "iban": "AT61 1904 3002 3457 3201",
        "phone": "5551234567",
        "mobile": "01012345679",
        "hotline": "0800 123456",
        "booked": "20260314",
        "flight": "LH 452",
        "serial": "SN-8842-AB",
        "email": "anna@shop.de",
        "room": "12a",
        "days": 1500,
    }
)


@pytest.mark.parametrize(
    "sentence",
    [
        "The card ending in 4242 is active.",
        "card 끝자리 4242",
        "Your IBAN is AT611904300234573201.",
        "Your mobile is 010-1234-5679.",
        "The serial is SN8842AB.",
        "The old card is 4000123456789010.",
    ],
)
def test_a_code_in_another_spelling_is_known(sentence):
    (found,) = ground([sentence], [ACCOUNT])
    assert "No evidence holds" not in found.reason and found.coverage != 0.0


@pytest.mark.parametrize(
    ("sentence", "missing"),
    [
        ("The card ending in 4224 is active.", "4224"),
        ("The old card ending in 5678 is active.", "5678"),
        ("The gift card ending in 6645 is valid.", "6645"),
        ("Your IBAN is AT611904300234573202.", "at611904300234573202"),
        ("Your IBAN is AT61 1904 3002 3457 3202.", "3202"),
        ("Your phone is 555-123-4576.", "4576"),
        ("Your mobile is 010-1234-5697.", "5697"),
        ("The hotline is 0800 123 465.", "465"),
        ("You booked on March 15, 2026.", "15"),
        ("You booked on March 14, 2025.", "2025"),
        ("Your flight is LH425.", "lh425"),
        ("The serial is SN8824AB.", "sn8824ab"),
        ("The email is anna@shop.at.", "anna@shop.at"),
        ("Your room is 12b.", "12b"),
        ("The trial ends in 500 days.", "500"),
    ],
)
def test_another_code_is_missing(sentence, missing):
    (found,) = ground([sentence], [ACCOUNT])
    assert found.coverage == 0.0 and f"“{missing}”" in found.reason


def test_numbers_that_the_user_gave_are_known_in_another_spelling():
    (found,) = ground(["I call 555 987 6543."], ["The line is open."], ["My number is 5559876543."])
    assert found.reason == "No evidence says “call”."
