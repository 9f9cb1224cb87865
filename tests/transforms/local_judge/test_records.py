import json

import pytest

import turnwise
from turnwise.transforms.local_judge.grounding import ground


def verdict(sentence, evidence):
    (found,) = ground([sentence], evidence)
    return found


PRICES = '{"flight":"HAT001","prices":{"basic_economy":80,"economy":109,"business":338}}'
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
FLIGHT = '{"flight":"HAT1","departs":"14:00","price":140,"currency":"USD","date":"2024-05-24","n":[75,4]}'


@pytest.mark.parametrize(
    ("sentence", "evidence", "reason"),
    [
        ("Flight HAT1 departs at 02:00.", FLIGHT, "“02:00”"),
        ("The date of HAT1 is 2024-75-24.", FLIGHT, "“2024-75-24”"),
        ("The address is 10.0.0.14.", '{"ip":"10.0.0.12","port":14}', "“10.0.0.14”"),
        ("The phone is 555-124-2002.", '{"phone":"555-123-2002","n":124}', "“555-124-2002”"),
        ("The reservation is 4FBBAH.", '{"reservation":"2FBBAH","bags":4}', "“4FBBAH”"),
        ("The price of HAT1 is 140 euros.", FLIGHT, "“USD”, not “euros”"),
        ("The card ending in 4224 is active.", ACCOUNT, "“4224”"),
        ("The gift card ending in 6645 is valid.", ACCOUNT, "“6645”"),
        ("Your phone is 555-123-4576.", ACCOUNT, "“4576”"),
        ("The hotline is 0800 123 465.", ACCOUNT, "“465”"),
        ("You booked on March 15, 2026.", ACCOUNT, "“15”"),
        ("Your flight is LH425.", ACCOUNT, "“lh425”"),
        ("The serial is SN8824AB.", ACCOUNT, "“sn8824ab”"),
        ("Your room is 12b.", ACCOUNT, "“12b”"),
    ],
)
def test_codes_and_currencies_that_only_look_known(sentence, evidence, reason):
    found = verdict(sentence, [evidence])
    assert found.coverage == 0.0 and reason in found.reason


@pytest.mark.parametrize(
    ("sentence", "evidence"),
    [
        ("Flight HAT1 departs at 2:00 PM.", FLIGHT),
        ("The address is 10.0.0.12.", '{"address":"10.0.0.12"}'),
        ("HAT1 has 75 and 4 seats.", FLIGHT),
        ("The reservation is 2FBBAH.", '{"reservation":"2fbbah"}'),
        ("The total is 1.234.567 won.", '{"total":1234567}'),
        ("The card ending in 4242 is active.", ACCOUNT),
        ("Your IBAN is AT611904300234573201.", ACCOUNT),
        ("The serial is SN8842AB.", ACCOUNT),
        ("The old card is 4000123456789010.", ACCOUNT),
    ],
)
def test_codes_and_currencies_in_other_forms(sentence, evidence):
    assert verdict(sentence, [evidence]).coverage > 0.0


@pytest.mark.parametrize(
    ("code", "other"),
    [
        ("4000-1234-5678-9010", "9010 5678 1234 4000"),
        ("555-124-2002", "555-123-2002, 124"),
        ("2024-75-24", "2024, 24, 75"),
        ("10.2.33.4", "10.2.33.5, 4"),
    ],
)
@pytest.mark.parametrize("criterion", ["hallucination", "hallucinations_v1"])
def test_a_code_that_the_user_said_is_not_invented(code, other, criterion):
    """It supports nothing either: that a card is blocked stands in the tool's result alone."""
    said = {}
    for user in (code, code.replace("-", ""), other, "my card"):
        call = {
            "tool_calls": [{"name": "get_card"}],
            "tool_responses": [{"response": "The card is blocked."}],
        }
        turn = {"user": f"Please block {user} now.", "agent": f"The card {code} is blocked.", **call}
        log = {"conversation_id": "c", "turns": [turn]}
        (row, _) = turnwise.evaluate(log, criteria={criterion: 0.5}, judge="local").scores
        said[user] = row["explanation"]
        assert row["outcome"] == "FAIL"
    assert not any(said[own].startswith("No evidence holds") for own in (code, code.replace("-", "")))
    assert said[other].startswith("No evidence holds") and said["my card"].startswith("No evidence holds")


FLAGS = (
    '{"order":"A-77","paid":false,"cancelled":false,"status":"shipped","refundPossible":false,"total":149,'
    '"pets_allowed":false,"pool":null,"wifi":true,"stock":0}'
)


@pytest.mark.parametrize(
    ("sentence", "evidence", "said"),
    [
        ("There is a pool.", '{"pool":"false"}', "“pool”: false"),
        ("There is no wifi.", "pool: no\nwifi: yes", "“wifi”: true"),
        ("수영장이 있습니다.", '{"호텔":"그랜드","수영장":false}', "“수영장”: false"),
        ("プールがあります。", '{"ホテル":"グランド","プール":false}', "“プール”: false"),
    ],
)
def test_flags_in_other_forms(sentence, evidence, said):
    found = verdict(sentence, [evidence])
    assert found.coverage == 0.0 and said in found.reason
    assert (found.label == "unsupported") == ("no value" in said)


def test_a_flag_with_several_values_and_words_said_elsewhere_refute_nothing():
    assert verdict("Pets are allowed.", [FLAGS, '{"pets_allowed":true}']).label == "supported"
    assert verdict("Pets are allowed.", [FLAGS, "Pets are allowed."]).label == "supported"


def order(status, key="status"):
    return f'{{"order_id":"W8821","{key}":"{status}","carrier":"DHL"}}'


JAPANESE = '{"注文番号":"J-2031","状態":"発送済み"}'


@pytest.mark.parametrize("status", ["shipped", "paid", "refunded", "approved"])
@pytest.mark.parametrize(
    "sentence",
    ["Your order W8821 has not been {}.", "The status of order W8821 is not {}.", "It hasn't been {} yet."],
)
def test_a_status_refutes_its_denial(status, sentence):
    found = verdict(sentence.format(status), [order(status)])
    assert (found.label, found.coverage) == ("contradictory", 0.0)
    assert status in found.reason


LABELS = [
    ("Cabin: Basic Economy ($80), Business ($338)", PRICES, "supported"),
    ("Basic economy 85, business 338", PRICES, "unsupported"),
    ("Double: 149, suite: 300", "Double: 149, family double: 199, suite: 300", "supported"),
    ("Doppel: 149, Suite: 300", '{"Doppel":149,"Familie Doppel":199,"Suite":300}', "supported"),
    (
        "The hotel was opened in 1999 by Maria Huber.",
        '{"text":"The hotel was opened in 1987 by Maria Huber and sold in 1999."}',
        "contradictory",
    ),
    ("Your order A-77 was cancelled.", FLAGS, "contradictory"),
    ("There is a pool.", FLAGS, "unsupported"),
    ("There is no wifi.", FLAGS, "contradictory"),
    ("Order A-77 has shipped.", FLAGS, "supported"),
    ("There was no error.", '{"error":null,"order":"A-7","status":"shipped"}', "supported"),
    ("Das Grand hat keinen Pool.", '{"hotel":"Grand","pool":false}', "supported"),
    ("The next order is A-7.", '{"order":"A-7","next":null}', "supported"),
    ("ペットは可能です。", '{"ペット可能":true}', "supported"),
    ("반려동물 동반이 가능합니다.", '{"반려동물 동반 가능":true}', "supported"),
    ("Your order W8821 has been shipped.", order("not shipped"), "contradictory"),
    ("注文番号J-2031は発送済みではありません。", JAPANESE, "contradictory"),
    ("주문은 배송중이 아닙니다.", '{"주문번호":"K-2031","상태":"배송중"}', "contradictory"),
    ("Your account is not active.", '{"account_status":"Active","status":"Suspended"}', "contradictory"),
]


@pytest.mark.parametrize(("sentence", "evidence", "label"), LABELS)
def test_what_records_say(sentence, evidence, label):
    assert verdict(sentence, [evidence]).label == label


NOT_REFUTED = [
    ("The hotel lacks a pool.", '{"hotel":"Grand","pool":false}'),
    ("The fee is 0.00 euros.", '{"fee":0,"currency":"euros"}'),
    ("Your order A-7 remains to be paid.", '{"order":"A-7","paid":false}'),
    ("The fee for the bag is waived.", '{"fee":0,"item":"bag"}'),
    ("You declined insurance for flight LH12.", '{"insurance":false,"flight":"LH12"}'),
    ("Pets are only allowed outside.", '{"pets_allowed":false}'),
    ("The total of 50 includes tax.", '{"total":50,"tax":0}'),
    ("There is no delay.", '{"flight":"LH12","delay":"none"}'),
    ("You have to add an email.", '{"id":77,"email":null}'),
    ("Guests may cancel their booking.", "Guests can cancel their booking in March."),
    ("The warranty ends after one year.", "The warranty ends after 12 months."),
    ("Im Hotel fehlt ein Pool.", '{"hotel":"Grand","pool":false}'),
    ("Your order A-7 has yet to be paid.", '{"order":"A-7","paid":false}'),
    ("The gift option was off for order A-7.", '{"order":"A-7","gift":false}'),
    ("The wifi is off.", '{"hotel":"Grand","wifi":false}'),
    ("The hotel lacks a pool.", '{"hotel":"Grand","pool":false}\nThe bar lacks a terrace.'),
    ("Im Hotel fehlt der Pool.", '{"hotel":"Grand","pool":false}\nIm Zimmer fehlt der Balkon.'),
    ("Parking is free.", '{"parking":false,"hotel":"Grand"}\nBreakfast is free.'),
    ("Order A-7 is only shipped in part.", '{"order_id":"A-7","status":"not shipped"}'),
    ("Your order W8821 has been shipped.", order("shipped")),
    ("Your order W8821 has not been shipped.", order("not shipped")),
    ("The invoice of order W8821 has not been paid.", order("paid")),
    ("Your line is not active.", '{"account_status":"Active","line":"L1","status":"Suspended"}'),
    ("Not only was your order shipped.", order("shipped")),
    ("注文番号J-2031は発送済みです。", JAPANESE),
    ("Order W9000 has not been shipped.", order("shipped") + '\n{"order_id":"W9000","status":"pending"}'),
]


@pytest.mark.parametrize(("sentence", "evidence"), NOT_REFUTED)
def test_what_records_do_not_refute(sentence, evidence):
    assert verdict(sentence, [evidence]).label != "contradictory"


def test_numbers_that_the_user_gave_are_known_in_another_spelling():
    (found,) = ground(["I call 555 987 6543."], ["The line is open."], ["My number is 5559876543."])
    assert found.reason == "No evidence says “call”."
