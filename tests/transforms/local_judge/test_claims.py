import pytest

from turnwise.transforms.local_judge.claims import COURTESY, INTRODUCTION, NOTHING_SAID, QUESTION, REQUEST
from turnwise.transforms.local_judge.grounding import GroundingVerdict, ground

EVIDENCE = ["The hotel does not allow pets. The pool is open 5 days a week.", "Das Zimmer hat einen Balkon."]


def verdict(sentence):
    (found,) = ground([sentence], EVIDENCE)
    return found


@pytest.mark.parametrize(
    ("sentence", "reason"),
    [
        ("", NOTHING_SAID),
        ("Yes!", NOTHING_SAID),
        ("Would you like a lamp?", QUESTION),
        ("무엇을 도와드릴까요", QUESTION),
        ("Please tell me your passport number.", REQUEST),
        ("パスポート番号を教えてください。", REQUEST),
        ("Here are the upcoming excursions:", INTRODUCTION),
        ("以下のとおり:", INTRODUCTION),
        ("I'll check that for you.", COURTESY),
        ("Have a great day ahead!", COURTESY),
        ("Einen Moment bitte.", COURTESY),
        ("Schönen Aufenthalt!", COURTESY),
        ("またのご利用をお待ちしております。", COURTESY),
        ("If you have any more questions or need further assistance, feel free to ask!", COURTESY),
        ("감사합니다.", COURTESY),
        ("That's really interesting!", COURTESY),
        ("Das ist verständlich.", COURTESY),
        ("네, 정말 좋아해요!", COURTESY),
        ("Do you know who owns the cinema?", QUESTION),
        ("Vielen Dank für Ihre Geduld.", COURTESY),
        ("Bitte nennen Sie mir Ihre Passnummer.", REQUEST),
    ],
)
def test_what_claims_nothing(sentence, reason):
    assert verdict(sentence) == GroundingVerdict("not_applicable", verdict(sentence).quote, reason)


@pytest.mark.parametrize(
    "sentence",
    [
        "I cancelled your subscription yesterday.",
        "I can confirm that smoking is popular in the museum.",
        "Also noteworthy, free champagne:",
        "The owner was murdered?",
        "Please confirm the free parking in the cellar.",
        "Please wait because your booking was cancelled.",
        "Feel free to ask the owner Elvis Presley.",
        "Should you want some free champagne feel free to use the rooftop pool.",
        "If you need any champagne just ask the owner Elvis Presley.",
        "Please contact Elvis Presley who owns the hotel.",
    ],
)
def test_what_may_be_a_claim_is_one(sentence):
    assert verdict(sentence).label == "unsupported"


MUSEUM = ["The museum was founded by Anna Huber in 1912 and has a large garden with 300 roses."]
MUSEUM_DE = ["Das Museum wurde 1912 von Anna Huber gegründet und hat einen großen Garten mit 300 Rosen."]
MUSEUM_KO = ["박물관은 1912년에 안나 후버가 설립했으며 장미 300그루가 있는 큰 정원이 있다."]
MUSEUM_JA = ["博物館は1912年にアンナ・フーバーが設立し、300本のバラがある大きな庭がある。"]
SUPPORTED, NOT = ("supported",), ("unsupported", "contradictory")
TALK = [
    (
        "I'm sorry, the cancellation of order 7 failed.",
        ['cancel_order {"id": 7}', "the call failed: timeout"],
        ("supported",),
    ),
    ("Do you know that the museum was founded in 1912?", MUSEUM, SUPPORTED),
    ("You may like to know that the museum has a large garden with roses.", MUSEUM, SUPPORTED),
    ("Then you'd love the museum, it has a large garden with 300 roses.", MUSEUM, SUPPORTED),
    ("Wusstest du, dass das Museum 1912 gegründet wurde?", MUSEUM_DE, SUPPORTED),
    ("혹시 박물관에 큰 정원이 있는 거 아세요?", MUSEUM_KO, SUPPORTED),
    ("ちなみに、博物館は1912年に設立されたそうです。", MUSEUM_JA, SUPPORTED),
    ("¿Sabías que el museo tiene un gran jardín?", ["El museo tiene un gran jardín."], SUPPORTED),
    ("Do you know that the museum was founded in 1913?", MUSEUM, NOT),
    ("It's not true that the museum has a large garden.", MUSEUM, NOT),
    ("For example, the museum has a cinema with an organ.", MUSEUM, NOT),
    ("Soweit ich weiß, hat das Museum ein Kino im Keller.", MUSEUM_DE, NOT),
    ("제가 알기로는 박물관은 1913년에 설립됐어요.", MUSEUM_KO, NOT),
    ("博物館には映画館とホテルがあると思います。", MUSEUM_JA, NOT),
    ("The museum has 300 large flowers.", ["The museum has 300 large flights."], NOT),
    (
        "The firm began to sell cars in 1990.",
        ["The company started the sale of automobiles in 1990."],
        SUPPORTED,
    ),
    (
        "Her novel was written in the US.",
        ["She is the author of the book, which was written in the US."],
        SUPPORTED,
    ),
    ("가장 높은 산이에요.", ["제일 높은 산이다."], SUPPORTED),
    ("日本で一番高い山です。", ["日本で最も高い山である。"], SUPPORTED),
]


@pytest.mark.parametrize(("sentence", "evidence", "labels"), TALK)
def test_talk_is_no_content_and_synonyms_are_the_same_word(sentence, evidence, labels):
    (found,) = ground([sentence], evidence)
    assert found.label in labels


def test_a_short_sentence_counts_less_in_an_answer():
    known, short = ground(["The museum has a large garden with 300 roses.", "It flourishes."], MUSEUM)
    assert known.weight == 1.0 and 0.0 < short.weight < 0.5
