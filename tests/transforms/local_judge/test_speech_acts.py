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
        ("👍👍", NOTHING_SAID),
        ("Yes!", NOTHING_SAID),
        ("ありがとうございます。", NOTHING_SAID),
        ("2.", NOTHING_SAID),
        ("Would you like a lamp?", QUESTION),
        ("Haben Sie noch Fragen?", QUESTION),
        ("何かお手伝いできることはありますか。", QUESTION),
        ("무엇을 도와드릴까요", QUESTION),
        ("هل تحتاج إلى مساعدة؟", QUESTION),
        ("I can help you with your suitcase.", REQUEST),
        ("Please tell me your passport number.", REQUEST),
        ("Gerne kann ich Ihnen mit Ihrem Koffer helfen.", REQUEST),
        ("パスポート番号を教えてください。", REQUEST),
        ("여권 번호를 알려주세요.", REQUEST),
        ("If you need further assistance, feel free to ask!", REQUEST),
        ("Here are the upcoming excursions:", INTRODUCTION),
        ("Here is what I found:", INTRODUCTION),
        ("Flight Details:", INTRODUCTION),
        ("The details are as follows:", INTRODUCTION),
        ("Hier sind Ihre Optionen:", INTRODUCTION),
        ("다음은 예약 내용:", INTRODUCTION),
        ("以下のとおり:", INTRODUCTION),
        ("Safe travels!", COURTESY),
        ("Great news!", COURTESY),
        ("Good question!", COURTESY),
        ("Glad I could help!", COURTESY),
        ("I'll check that for you.", COURTESY),
        ("One moment please.", COURTESY),
        ("Please hold on while I look it up.", COURTESY),
        ("Have a great day ahead!", COURTESY),
        ("Let me help you with that.", COURTESY),
        ("I apologize for the inconvenience this may have caused.", COURTESY),
        ("Einen Moment bitte.", COURTESY),
        ("Schönen Aufenthalt!", COURTESY),
        ("Bei weiteren Fragen stehe ich Ihnen gerne zur Verfügung.", COURTESY),
        ("Lassen Sie mich wissen, wenn Sie noch etwas brauchen.", COURTESY),
        ("ご利用いただきありがとうございます。", COURTESY),
        ("またのご利用をお待ちしております。", COURTESY),
        ("이용해 주셔서 감사합니다.", COURTESY),
        ("좋은 소식입니다!", COURTESY),
        ("If you have any more questions or need further assistance, feel free to ask!", COURTESY),
        ("Please let me know if you need anything else!", REQUEST),
        ("Please confirm if you would like to proceed with this booking.", REQUEST),
        ("감사합니다.", COURTESY),
        ("I hope this helps!", COURTESY),
        ("Have a nice day!", COURTESY),
        ("Thank you for your patience.", COURTESY),
        ("I'm happy to help.", COURTESY),
        ("Vielen Dank für Ihre Geduld.", COURTESY),
        ("도움이 되었기를 바랍니다!", COURTESY),
        ("お役に立てれば幸いです。", COURTESY),
        ("Bitte nennen Sie mir Ihre Passnummer.", REQUEST),
        ("여권 번호를 알려주시기 바랍니다.", REQUEST),
        ("Let me check that for you.", REQUEST),
    ],
)
def test_what_claims_nothing(sentence, reason):
    assert verdict(sentence) == GroundingVerdict("not_applicable", verdict(sentence).quote, reason)


@pytest.mark.parametrize(
    "sentence",
    [
        "I cancelled your subscription yesterday.",
        "Please note the fee of 75 euros.",
        "Please note that the museum closed and the director died.",
        "Please tell your friends that the museum burned down.",
        "We can offer free parking and a castle.",
        "I can confirm that smoking is popular in the museum.",
        "If you ask me, Elvis murdered the cook.",
        "Elvis Presley lives in the museum, doesn't he?",
        "Elvis Presley wohnt im Museum, oder?",
        "Did you know that the museum burned down?",
        "Bitte beachten Sie, dass das Museum geschlossen ist.",
        "Wir können Ihnen einen kostenlosen Parkplatz anbieten.",
        "Ich kann bestätigen, dass der Eigentümer insolvent ist.",
        "박물관은 폐쇄되었으니 확인해 주세요.",
        "博物館は閉館しましたのでご連絡ください。",
        "Smoking kills!",
        "Also noteworthy, free champagne:",
        "The sauna burned down:",
        "Museum owner died:",
        "Your museum was closed:",
        "박물관은 폐쇄되었습니다:",
        "博物館は閉館しました:",
        "The owner was murdered?",
        "Isn't it great that champagne is free?",
        "Can you believe the owner was murdered?",
        "Do you know that the owner was murdered?",
        "Ist es nicht toll, dass der Champagner kostenlos ist?",
        "Please confirm the free parking in the cellar.",
        "Please wait while the museum burns down.",
        "Let me check the champagne in the cellar.",
        "Please contact the owner Elvis Presley in the bar.",
        "Ich helfe Ihnen mit dem kostenlosen Champagner weiter.",
        "Great news for smokers!",
    ],
)
def test_what_may_be_a_claim_is_one(sentence):
    assert verdict(sentence).label == "unsupported"


@pytest.mark.parametrize(
    "sentence",
    [
        "Feel free to ask the owner Elvis Presley.",
        "Please feel free to ask the dead owner why the pool exploded.",
        "Should you want some free champagne feel free to use the rooftop pool.",
        "We can help you with free parking and a swimming pool.",
        "If you need any champagne just ask the owner Elvis Presley.",
        "Please contact Elvis Presley who owns the hotel.",
    ],
)
def test_a_request_or_an_offer_with_more_in_it_is_a_claim(sentence):
    (found,) = ground([sentence], ["The Grand is a hotel in Rome."])
    assert found.label == "unsupported"


MUSEUM = ["The museum was founded by Anna Huber in 1912 and has a large garden with 300 roses."]
MUSEUM_DE = ["Das Museum wurde 1912 von Anna Huber gegründet und hat einen großen Garten mit 300 Rosen."]
MUSEUM_KO = ["박물관은 1912년에 안나 후버가 설립했으며 장미 300그루가 있는 큰 정원이 있다."]
MUSEUM_JA = ["博物館は1912年にアンナ・フーバーが設立し、300本のバラがある大きな庭がある。"]


@pytest.mark.parametrize(
    ("sentence", "evidence"),
    [
        ("Do you know that the museum was founded in 1912?", MUSEUM),
        ("Did you know the museum has a large garden with 300 roses?", MUSEUM),
        ("I think that the museum was founded by Anna Huber, you know.", MUSEUM),
        ("As far as I know, the founder of the museum was Anna Huber.", MUSEUM),
        ("For example, the museum has a big garden.", MUSEUM),
        ("You may like to know that the museum has a large garden with roses.", MUSEUM),
        ("Well, apparently it was actually established in 1912, if I remember correctly.", MUSEUM),
        ("Fun fact: the museum has a garden with 300 roses!", MUSEUM),
        ("Then you'd love the museum, it has a large garden with 300 roses.", MUSEUM),
        ("Keep in mind that the museum was founded by Anna Huber.", MUSEUM),
        ("My favorite is the museum, I'm afraid, which was founded by Anna Huber.", MUSEUM),
        ("Wusstest du, dass das Museum 1912 gegründet wurde?", MUSEUM_DE),
        ("Soweit ich weiß, hat das Museum einen großen Garten mit 300 Rosen.", MUSEUM_DE),
        ("Das Museum hat übrigens einen großen Garten, glaube ich.", MUSEUM_DE),
        ("제가 알기로는 박물관은 1912년에 안나 후버가 설립했어요.", MUSEUM_KO),
        ("혹시 박물관에 큰 정원이 있는 거 아세요?", MUSEUM_KO),
        ("ちなみに、博物館は1912年に設立されたそうです。", MUSEUM_JA),
        ("博物館には大きな庭があると思います。", MUSEUM_JA),
        ("Saviez-vous que le musée a un grand jardin ?", ["Le musée a un grand jardin."]),
        ("¿Sabías que el museo tiene un gran jardín?", ["El museo tiene un gran jardín."]),
    ],
)
def test_talk_around_a_fact_is_no_content(sentence, evidence):
    (found,) = ground([sentence], evidence)
    assert found.label == "supported"


@pytest.mark.parametrize(
    ("sentence", "evidence"),
    [
        ("Do you know that the museum was founded in 1913?", MUSEUM),
        ("I think that the museum was founded by Anna Gruber.", MUSEUM),
        ("As far as I know, the museum was sold to a bank.", MUSEUM),
        ("I don't think that the museum has a garden.", MUSEUM),
        ("It's not true that the museum has a large garden.", MUSEUM),
        ("For example, the museum has a cinema with an organ.", MUSEUM),
        ("Ich glaube nicht, dass das Museum einen großen Garten hat.", MUSEUM_DE),
        ("Soweit ich weiß, hat das Museum ein Kino im Keller.", MUSEUM_DE),
        ("제가 알기로는 박물관은 1913년에 설립됐어요.", MUSEUM_KO),
        ("혹시 박물관에 극장이 있는 거 아세요?", MUSEUM_KO),
        ("ちなみに、博物館は1913年に設立されたそうです。", MUSEUM_JA),
        ("博物館には映画館とホテルがあると思います。", MUSEUM_JA),
        ("I love my garden.", MUSEUM),
        ("I'm afraid not all roses of the museum are in the garden.", MUSEUM),
        ("The garden of the museum wasn't that large.", MUSEUM),
        ("You should try the museum, it has a cinema with an organ.", MUSEUM),
        ("Good news, the owner of the bank bought the garden.", MUSEUM),
        ("The museum has a large animal.", ["The museum has a large cartoon."]),
        ("The museum has 300 large flowers.", ["The museum has 300 large flights."]),
    ],
)
def test_talk_around_what_is_not_known_supports_nothing(sentence, evidence):
    (found,) = ground([sentence], evidence)
    assert found.label in ("unsupported", "contradictory")


@pytest.mark.parametrize(
    "sentence",
    [
        "That's really interesting!",
        "Wow, they're awesome!",
        "I love it!",
        "Cool!",
        "I have no idea.",
        "That must be so exciting!",
        "Oh no, sorry to hear that!",
        "I'd love to visit it some day.",
        "Das ist verständlich.",
        "Das ist ja toll!",
        "Das weiß ich leider nicht.",
        "네, 정말 좋아해요!",
        "はい、大好きです。",
    ],
)
def test_a_reaction_claims_nothing(sentence):
    (found,) = ground([sentence], MUSEUM)
    assert found.label == "not_applicable"


def test_a_question_about_what_somebody_knows_is_one():
    (found,) = ground(["Do you know who owns the cinema?"], MUSEUM)
    assert (found.label, found.reason) == ("not_applicable", QUESTION)


@pytest.mark.parametrize(
    ("sentence", "evidence"),
    [
        (
            "The painter who created it died in Rome.",
            "The artist painted and made it before his death in Rome.",
        ),
        ("The firm began to sell cars in 1990.", "The company started the sale of automobiles in 1990."),
        ("Her novel was written in the US.", "She is the author of the book, which was written in the US."),
        ("Die Firma wurde 1990 gegründet.", "Die Gründung des Unternehmens war 1990."),
        ("가장 높은 산이에요.", "제일 높은 산이다."),
        ("日本で一番高い山です。", "日本で最も高い山である。"),
    ],
)
def test_synonyms_and_derivations_count(sentence, evidence):
    (found,) = ground([sentence], [evidence])
    assert found.label == "supported"


def test_a_short_sentence_counts_less_in_an_answer():
    known, short = ground(["The museum has a large garden with 300 roses.", "It flourishes."], MUSEUM)
    assert known.weight == 1.0 and 0.0 < short.weight < 0.5
