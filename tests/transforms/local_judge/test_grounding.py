import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnwise.transforms.local_judge.grounding import answer_similarity, compare_answers, ground

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


VERDICTS = [
    ("Your order W5918442 has shipped.", EVIDENCE, "supported", ""),
    ("The hotel does not allow pets.", EVIDENCE, "supported", ""),
    ("No, the hotel does not allow pets.", EVIDENCE, "supported", ""),
    ("Der Gesamtpreis beträgt 1200 Euro.", EVIDENCE, "supported", ""),
    ("料金は1,200円です。", EVIDENCE, "supported", ""),
    ("Your order W5918443 has shipped.", EVIDENCE, "unsupported", "“w5918443”"),
    ("The total is $1,300.50.", EVIDENCE, "unsupported", "“1,300.50”"),
    ("Der Gesamtpreis beträgt 1.500 Euro.", EVIDENCE, "unsupported", "“1.500”"),
    ("호텔은 바다 근처에 있습니다.", EVIDENCE, "unsupported", "“바다”"),
    ("الفندق قريب من الشاطئ الجميل.", EVIDENCE, "unsupported", "“الشاطئ”"),
    ("The hotel allows pets.", EVIDENCE, "contradictory", "The hotel does not allow pets"),
    ("Haustiere sind erlaubt.", EVIDENCE, "contradictory", "Haustiere sind nicht erlaubt"),
    ("料金は1,500円です。", EVIDENCE, "contradictory", "“１２００”, not “1,500”"),
    ("요금은 50만원입니다.", EVIDENCE, "contradictory", "“45만”, not “50만”"),
    ("السعر 55 دينارا.", EVIDENCE, "contradictory", "“٤٥”, not “55”"),
    ("개는 허용됩니다.", ["개는 허용되지 않습니다."], "contradictory", "개는 허용되지 않습니다"),
    (
        "호텔은 수영장을 운영하지 못합니다.",
        ["호텔은 수영장을 운영합니다."],
        "contradictory",
        "호텔은 수영장을 운영합니다",
    ),
    ("配達は火曜日です。", ["配達は月曜日です。"], "contradictory", "“月曜日”, not “火曜日”"),
    ("The battery lasts 12 days.", ["The battery lasts 12 hours."], "contradictory", "“hours”, not “days”"),
    ("A room costs $149 a night.", ["A room costs 149 euros a night."], "contradictory", "“euros”, not “$”"),
    (
        "It is the oldest bridge in Rome.",
        ["It is one of the oldest bridges in Rome."],
        "unsupported",
        "of several",
    ),
    (
        "It is one of the oldest bridges in Rome.",
        ["It is one of the oldest bridges in Rome."],
        "supported",
        "",
    ),
    (
        "It is the longest bridge.",
        ["It is the longest bridge and one of the oldest bridges."],
        "supported",
        "",
    ),
    ("C'est la plus grande ville.", ["C'est l'une des plus grandes villes."], "unsupported", "of several"),
]


@pytest.mark.parametrize(("sentence", "evidence", "label", "reason"), VERDICTS)
def test_a_sentence_and_why(sentence, evidence, label, reason):
    found = verdict(sentence, evidence)
    assert found.label == label and reason in found.reason
    assert any(found.quote in piece for piece in evidence) and (found.quote or label != "supported")
    assert found.coverage == 0.0 or label != "contradictory"
    if len(evidence) == 1:
        assert verdict(evidence[0], evidence).label == "supported"


PRICES = '{"outbound": {"flight": "HAT069", "price": 105}, "return": {"flight": "HAT258", "price": 102}}'


@pytest.mark.parametrize(
    ("sentences", "refuted"),
    [
        (["The outbound costs 105.", "The return costs 102.", "The total is 207."], []),
        (["The outbound costs 105, the return 102, so 207 in all.", "For 2 passengers that is 414."], []),
        (["The return at 102 is 3 cheaper than the outbound at 105."], []),
        (["Option 1: outbound 105", "Option 2: return 102"], []),
        (
            ["Trip 1: outbound 105", "Trip 2: return 102", "Trip 3: 105", "Trip 4: 102", "You have 4 bags."],
            [4],
        ),
        (["The outbound costs 105.", "The return costs 102.", "The total is 217."], [2]),
        (["The total is 207."], [0]),
        (["The outbound costs 115.", "The return costs 102.", "The total is 217."], [0, 2]),
        (["Gate 3: outbound at 105"], [0]),
    ],
)
def test_numbers_that_follow_from_others_of_the_answer_are_not_invented(sentences, refuted):
    verdicts = ground(sentences, [PRICES], ["Two tickets, we are 2."])
    assert [i for i, found in enumerate(verdicts) if found.is_certain] == refuted


ANSWERS = [
    ("Paris is the capital of France.", "The capital of France is Paris.", (3, 4), ""),
    (
        "The refund of $50 was issued to your card.",
        "I've issued the $50 refund to your credit card.",
        (3, 4),
        "",
    ),
    ("Ihr Termin ist am 5. März um 15 Uhr.", "Ihr Termin ist am 05.03. um 15:00 Uhr.", (3, 4), ""),
    ("그리고 호스트분들이 너무 친절하셨어요.", "그리고 호스트들이 너무 친절했어요.", (3, 4), ""),
    ("الرحلة تغادر في الساعة 10:30.", "تغادر الرحلة الساعة 10:30", (3, 4), ""),
    ("The hotel allows pets.", "The hotel does not allow pets.", (0,), "The hotel does not allow pets"),
    ("Order W123 has shipped.", "Order W124 has shipped.", (0,), "“w124”, not “w123”"),
    ("ホテルにはプールがあります。", "ホテルにはプールがありません。", (0,), "プールがありません"),
    ("料金は1,200円です。", "料金は1,500円です。", (0,), "“1,500”, not “1,200”"),
    ("الفندق يسمح بالحيوانات.", "الفندق لا يسمح بالحيوانات.", (0,), "لا يسمح"),
    ("The hotel has a garden.", "Your flight leaves tomorrow.", (0,), "nothing in common"),
    ("ホテルにはプールがあります。", "明日の便は満席です。", (0,), "lacks"),
    ("Paris London Rome Madrid Oslo", "Paris London Rome Madrid Kyiv", (4,), "lacks “oslo”"),
    ("", "Hello there.", (0,), "nothing in common"),
    ("The hotel has a garden.", "", (0,), "nothing in common"),
]


@pytest.mark.parametrize(("expected", "actual", "scores", "reason"), ANSWERS)
def test_an_answer_and_the_expected_one(expected, actual, scores, reason):
    found = compare_answers(expected, actual)
    assert found.score in scores and reason in found.reason


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
    figures = [answer_similarity(whole, part) for part in parts]
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
    assert answer_similarity(text, text) == 1.0
    assert compare_answers(text, f"  {text}\n").score == 4
