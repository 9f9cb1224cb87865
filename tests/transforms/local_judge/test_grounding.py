import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnwise.transforms.local_judge.grounding import compare_answers, ground

ORDER = (
    '{"order_id": "W5918442", "status": "shipped", "eta": "2024-03-05T15:00:00Z", "total": 1200.5,'
    ' "items": [{"name": "Blue Lamp", "qty": 2}]}'
)
HOTEL = (
    "The hotel does not allow pets. Breakfast is served from 7:00 to 10:30. The pool is open 5 days a week."
    " Guests may cancel until noon, but the deposit is not refunded."
)
GERMAN = (
    "Ihr Umzugstermin ist am 05.03.2024. Der Gesamtpreis beträgt 1.200,00 €. Haustiere sind nicht erlaubt."
    " Das Zimmer hat einen Balkon."
)
JAPANESE = "ご予約は2024年3月5日の午後3時です。料金は１２００円です。ペットは利用できません。"
KOREAN = "예약은 2024년 3월 5일 오후 3시입니다. 요금은 45만원입니다. 반려동물은 입장할 수 없습니다."
ARABIC = "موعدك يوم الاثنين الساعة 10:30. السعر ٤٥ دينارا. الفندق لا يسمح بالحيوانات الأليفة."
EVIDENCE = [ORDER, HOTEL, GERMAN, JAPANESE, KOREAN, ARABIC]
PIECES = st.lists(st.text(max_size=60) | st.sampled_from(EVIDENCE), max_size=4)
WORDS = st.lists(st.sampled_from(["hotel", "is", "not", "open", "5", "days", "1,200", "できません", "환불"]))
SENTENCES = st.text(max_size=80) | WORDS.map(" ".join)


def verdict(sentence, evidence=EVIDENCE):
    (found,) = ground([sentence], evidence)
    return found


def test_words_must_stand_together():
    filler = [f"Paragraph {number} treats of something else entirely, at length." for number in range(40)]
    parts = ("The ferry", "leaves", "Naples", "every Tuesday", "at sunset", "without stopping")
    scattered = " ".join(" ".join((part, *filler)) for part in parts)
    sentence = "The ferry leaves Naples every Tuesday at sunset without stopping."
    together = "Every Tuesday at sunset the ferry leaves Naples without stopping."
    assert verdict(sentence, [scattered]).label == "unsupported"
    assert verdict(sentence, [scattered, together]).label == "supported"


@settings(deadline=None)
@given(SENTENCES, PIECES)
def test_a_text_never_denies_itself(sentence, others):
    assert verdict(sentence, [sentence]).label in ("supported", "not_applicable")
    assert verdict(sentence, [sentence, *others]).label != "unsupported"


@settings(deadline=None)
@given(st.lists(SENTENCES, max_size=3), PIECES)
def test_the_order_of_evidence_makes_no_difference(sentences, pieces):
    assert ground(sentences, pieces) == ground(sentences, [*reversed(pieces), *pieces])


@settings(deadline=None)
@given(SENTENCES, PIECES, PIECES)
def test_more_evidence_never_makes_a_supported_sentence_unsupported(sentence, pieces, more):
    if verdict(sentence, pieces).label == "supported":
        assert verdict(sentence, pieces + more).label in ("supported", "contradictory")


@settings(deadline=None)
@given(st.text(), st.lists(st.text()))
def test_quotes_are_words_of_the_evidence(sentence, pieces):
    quote = verdict(sentence, pieces).quote
    assert not quote or any(quote in piece for piece in pieces)


@pytest.mark.parametrize("piece", ["The order W1 ships on May 5. ", "호텔은 ", "(5. ", "\n\u0301"])
def test_huge_texts(piece):
    text = (piece * 100_000)[:100_000]
    assert {verdict.label for verdict in ground([text], [text])} <= {"supported", "not_applicable"}
    assert len(ground([text[:100]] * 500, [text])) == 500


def test_omissions_cost_more_the_more_they_are():
    whole = "The pool is open daily. Breakfast costs 12 euros. Parking needs a permit. Checkout is at noon."
    parts = ["", whole[:23], whole[:49], whole[:73], whole]
    figures = [compare_answers(whole, part).similarity for part in parts]
    assert figures == sorted(figures)
    assert [compare_answers(whole, part).score for part in (parts[1], whole)] == [1, 4]


def test_missing_numbers_are_named():
    expected = "You have 3 bags, of which 2 are free, and each other bag costs $50, as the airline says."
    found = compare_answers(
        expected, "You have bags, some are free, and each other bag costs money, as the airline says."
    )
    assert found.score < 3
    assert "“3”, “2”, “50”" in found.reason


@settings(deadline=None)
@given(SENTENCES)
def test_a_text_is_fully_consistent_with_itself(text):
    assert compare_answers(text, text).similarity == 1.0
    assert compare_answers(text, f"  {text}\n").score == 4


def test_a_short_sentence_counts_less_in_an_answer():
    museum = "The museum was founded by Anna Huber in 1912 and has a large garden with 300 roses."
    known, short = ground(["The museum has a large garden with 300 roses.", "It flourishes."], [museum])
    assert known.weight == 1.0 and 0.0 < short.weight < 0.5


def test_numbers_that_the_user_gave_are_known_in_another_spelling():
    (found,) = ground(["I call 555 987 6543."], ["The line is open."], ["My number is 5559876543."])
    assert found.reason == "No evidence says “call”."
