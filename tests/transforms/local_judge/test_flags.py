import pytest

from turnwise.transforms.local_judge.grounding import ground


def verdict(sentence, evidence):
    (found,) = ground([sentence], evidence)
    return found


FLAGS = (
    '{"order":"A-77","paid":false,"cancelled":false,"status":"shipped","refundPossible":false,"total":149,'
    '"pets_allowed":false,"pool":null,"wifi":true,"stock":0}'
)


@pytest.mark.parametrize(
    ("sentence", "label"),
    [
        ("Your order A-77 was cancelled.", "contradictory"),
        ("There is a pool.", "unsupported"),
        ("There is no wifi.", "contradictory"),
        ("Order A-77 has shipped.", "supported"),
    ],
)
def test_flags_of_records_deny_or_affirm_the_words_of_their_key(sentence, label):
    assert verdict(sentence, [FLAGS]).label == label


@pytest.mark.parametrize(
    ("sentence", "evidence", "said"),
    [
        ("There is a pool.", '{"pool":"false"}', "“pool”: false"),
        ("There is a pool.", '{"pool":0.0}', "“pool”: 0"),
        ("There is no wifi.", "pool: no\nwifi: yes", "“wifi”: true"),
        ("The Grand has no wifi, but a pool.", '{"hotel":"Grand","pool":false,"wifi":true}', "“pool”: false"),
        ("수영장이 있습니다.", '{"호텔":"그랜드","수영장":false}', "“수영장”: false"),
        ("プールがあります。", '{"ホテル":"グランド","プール":false}', "“プール”: false"),
        ("There is a pool.", '{"hotel":"Grand","pool":""}', "no value of “pool”"),
    ],
)
def test_flags_in_other_forms(sentence, evidence, said):
    found = verdict(sentence, [evidence])
    assert found.coverage == 0.0 and said in found.reason
    assert (found.label == "unsupported") == ("no value" in said)


@pytest.mark.parametrize(
    ("sentence", "evidence"),
    [
        ("The hotel lacks a pool.", '{"hotel":"Grand","pool":false}'),
        ("The desk has a discount of 20.", '[{"name":"desk","discount":20},{"name":"lamp","discount":0}]'),
        ("The fee is 0.00 euros.", '{"fee":0,"currency":"euros"}'),
        ("There was no error.", '{"error":null,"order":"A-7","status":"shipped"}'),
        ("Your order A-7 needs to be paid.", '{"order":"A-7","paid":false}'),
        ("Your order A-7 remains to be paid.", '{"order":"A-7","paid":false}'),
        ("Die Bestellung A-7 ist noch zu bezahlen.", '{"Bestellung":"A-7","bezahlen":false}'),
        ("The fee for the bag is waived.", '{"fee":0,"item":"bag"}'),
        ("You declined insurance for flight LH12.", '{"insurance":false,"flight":"LH12"}'),
        ("Breakfast is included for 15 extra.", '{"breakfast_included":false,"breakfast_price":15}'),
        ("Pets are only allowed outside.", '{"pets_allowed":false}'),
        ("The total of 50 includes tax.", '{"total":50,"tax":0}'),
        ("The gift option was off for order A-7.", '{"order":"A-7","gift":false}'),
        ("There is no delay.", '{"flight":"LH12","delay":"none"}'),
        ("Not only delivered.", '{"delivered":true}'),
        ("Your message was sent.", '{"message":null,"sent":true}'),
        ("You have to add an email.", '{"id":77,"email":null}'),
        ("수영장은 없습니다.", '{"호텔":"그랜드","수영장":false}'),
        ("プールはありません。", '{"ホテル":"グランド","プール":false}'),
        ("Guests may cancel their booking.", "Guests can cancel their booking in March."),
        ("The trial lasts a week.", "The trial lasts 7 days."),
        ("The warranty ends after one year.", "The warranty ends after 12 months."),
    ],
)
def test_what_is_said_in_other_words_is_not_refuted(sentence, evidence):
    assert verdict(sentence, [evidence]).label != "contradictory"


@pytest.mark.parametrize(
    ("sentence", "evidence"),
    [
        ("There was no error.", '{"error":null,"order":"A-7","status":"shipped"}'),
        ("Das Grand hat keinen Pool.", '{"hotel":"Grand","pool":false}'),
        ("The next order is A-7.", '{"order":"A-7","next":null}'),
        ("ペットは可能です。", '{"ペット可能":true}'),
        ("반려동물 동반이 가능합니다.", '{"반려동물 동반 가능":true}'),
    ],
)
def test_what_flags_say_is_supported(sentence, evidence):
    assert verdict(sentence, [evidence]).label == "supported"


def test_a_flag_with_several_values_and_words_said_elsewhere_refute_nothing():
    assert verdict("Pets are allowed.", [FLAGS, '{"pets_allowed":true}']).label == "supported"
    assert verdict("Pets are allowed.", [FLAGS, "Pets are allowed."]).label == "supported"
