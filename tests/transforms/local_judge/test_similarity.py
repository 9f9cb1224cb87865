import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnwise.transforms.local_judge.grounding import answer_similarity, compare_answers

WORDS = st.lists(
    st.sampled_from(
        ["the", "hotel", "is", "not", "open", "5", "days", "1,200", "March", "できません", "환불", "."]
    )
)
TEXTS = st.text(max_size=80) | WORDS.map(" ".join)


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        ("Paris is the capital of France.", "The capital of France is Paris."),
        (
            "Your order W123 has shipped and will arrive on Monday.",
            "Order W123 shipped and should arrive Monday.",
        ),
        ("The refund of $50 was issued to your card.", "I've issued the $50 refund to your credit card."),
        ("The total is 1,200.00.", "THE TOTAL IS 1200"),
        ("Ja, das Hotel hat ein Schwimmbad.", "Das Hotel verfügt über ein Schwimmbad."),
        ("Ihr Termin ist am 5. März um 15 Uhr.", "Ihr Termin ist am 05.03. um 15:00 Uhr."),
        ("ご予約は3月5日の午後3時です。", "3月5日の午後3時にご予約いただいております。"),
        ("그리고 호스트분들이 너무 친절하셨어요.", "그리고 호스트들이 너무 친절했어요."),
        ("الرحلة تغادر في الساعة 10:30.", "تغادر الرحلة الساعة 10:30"),
        ("You get a refund.", "Good news! You get a refund. It takes a few days, and we will write to you."),
    ],
)
def test_the_same_in_other_words(expected, actual):
    assert compare_answers(expected, actual).score >= 3


@pytest.mark.parametrize(
    ("expected", "actual", "said"),
    [
        ("The hotel allows pets.", "The hotel does not allow pets.", "The hotel does not allow pets"),
        ("The refund of $50 was issued.", "The refund of $60 was issued.", "“60”, not “50”"),
        ("Order W123 has shipped.", "Order W124 has shipped.", "“w124”, not “w123”"),
        ("Das Zimmer hat einen Balkon.", "Das Zimmer hat keinen Balkon.", "keinen Balkon"),
        ("ホテルにはプールがあります。", "ホテルにはプールがありません。", "プールがありません"),
        ("料金は1,200円です。", "料金は1,500円です。", "“1,500”, not “1,200”"),
        ("환불이 가능합니다.", "환불이 불가능합니다.", "불가능합니다"),
        ("الفندق يسمح بالحيوانات.", "الفندق لا يسمح بالحيوانات.", "لا يسمح"),
        (
            "Hello. The pool is open on Sunday. Bring a towel.",
            "Bring a towel. The pool is not open on Sunday. Hello.",
            "not open",
        ),
    ],
)
def test_contradictory(expected, actual, said):
    found = compare_answers(expected, actual)
    assert found.score == 0
    assert said in found.reason


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        ("The hotel has a garden.", "Your flight leaves tomorrow."),
        ("호텔에 수영장이 있습니다.", "내일 비행기가 출발해요."),
        ("ホテルにはプールがあります。", "明日の便は満席です。"),
        ("👍", "👎"),
        ("", "Hello there."),
        ("The hotel has a garden.", ""),
        ("The hotel has a garden.", "👍"),
    ],
)
def test_nothing_alike(expected, actual):
    assert compare_answers(expected, actual).score == 0


def test_omissions_cost_more_the_more_they_are():
    sentences = [
        "The pool is open daily.",
        "Breakfast costs 12 euros.",
        "Parking needs a permit.",
        "Checkout is at noon.",
    ]
    figures = [answer_similarity(" ".join(sentences), " ".join(sentences[:count])) for count in range(5)]
    assert figures == sorted(figures)
    assert [compare_answers(" ".join(sentences), " ".join(sentences[:count])).score for count in (1, 4)] == [
        1,
        4,
    ]


def test_more_information_costs_less_than_an_omission():
    short, long = "The pool is open daily.", "The pool is open daily. Breakfast costs 12 euros."
    assert answer_similarity(short, long) > answer_similarity(long, short)


def test_missing_numbers_are_named():
    expected = "You have 3 bags, of which 2 are free, and each other bag costs $50, as the airline says."
    found = compare_answers(
        expected, "You have bags, some are free, and each other bag costs money, as the airline says."
    )
    assert found.score < 3
    assert "“3”, “2”, “50”" in found.reason


@settings(deadline=None)
@given(TEXTS)
def test_a_text_is_fully_consistent_with_itself(text):
    assert answer_similarity(text, text) == 1.0
    assert compare_answers(text, f"  {text}\n").score == 4


@settings(deadline=None)
@given(TEXTS, TEXTS)
def test_any_two_texts_have_a_score(expected, actual):
    found = compare_answers(expected, actual)
    assert 0 <= answer_similarity(expected, actual) <= 1
    assert found.score in range(5)
    assert found.quote in actual
    assert found.reason


@pytest.mark.parametrize("piece", ["The order W1 ships on May 5. ", "1", "?", "'a", "。"])
def test_huge_texts(piece):
    text = (piece * 100_000)[:100_000]
    assert compare_answers(text, text).score == 4
    assert compare_answers(text, text[5:]).score in range(5)
