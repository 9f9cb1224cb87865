import pytest

from turnwise.transforms.local_judge.grounding import ground


def verdict(sentence, *evidence):
    (found,) = ground([sentence], evidence)
    return found


def order(status, key="status"):
    return f'{{"order_id":"W8821","{key}":"{status}","carrier":"DHL"}}'


JAPANESE = '{"注文番号":"J-2031","状態":"発送済み"}'


@pytest.mark.parametrize("status", ["shipped", "paid", "refunded", "approved"])
@pytest.mark.parametrize(
    "sentence",
    ["Your order W8821 has not been {}.", "The status of order W8821 is not {}.", "It hasn't been {} yet."],
)
def test_a_status_refutes_its_denial(status, sentence):
    found = verdict(sentence.format(status), order(status))
    assert (found.label, found.coverage) == ("contradictory", 0.0)
    assert status in found.reason


@pytest.mark.parametrize(
    ("sentence", "evidence"),
    [
        ("Your order W8821 has been shipped.", order("not shipped")),
        ("The parcel has not been shipped, but paid.", order("shipped", "order_status")),
        ("注文番号J-2031は発送済みではありません。", JAPANESE),
        ("注文番号J-2031は発送済みではありません。", "注文番号: J-2031\n状態: 発送済み"),
        ("주문은 배송중이 아닙니다.", '{"주문번호":"K-2031","상태":"배송중"}'),
        ("Your account is not active.", '{"account_status":"Active","status":"Suspended"}'),
        ("Die Bestellung ist nicht bezahlt.", '{"Bestellung":"B-7","Zustand":"bezahlt"}'),
    ],
)
def test_statuses_in_other_forms(sentence, evidence):
    assert verdict(sentence, evidence).label == "contradictory"


@pytest.mark.parametrize(
    ("sentence", "evidence"),
    [
        ("Your order W8821 has been shipped.", order("shipped")),
        ("Your order W8821 has not been shipped.", order("not shipped")),
        ("The invoice of order W8821 has not been paid.", order("paid")),
        ("Your line is not active.", '{"account_status":"Active","line":"L1","status":"Suspended"}'),
        ("Not only was your order shipped.", order("shipped")),
        ("注文番号J-2031は発送済みです。", JAPANESE),
    ],
)
def test_a_status_does_not_refute_what_is_about_something_else(sentence, evidence):
    assert verdict(sentence, evidence).label != "contradictory"


def test_two_statuses_decide_nothing():
    records = order("shipped"), '{"order_id":"W9000","status":"pending"}'
    assert verdict("Order W9000 has not been shipped.", *records).label != "contradictory"
