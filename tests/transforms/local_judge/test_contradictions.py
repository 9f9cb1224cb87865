import pytest

from turnwise.transforms.local_judge.claims import read_claim
from turnwise.transforms.local_judge.contradictions import contradiction
from turnwise.transforms.local_judge.evidence import Evidence
from turnwise.transforms.local_judge.grounding import ground


def verdict(sentence, evidence):
    (found,) = ground([sentence], [evidence])
    return found


RETURNS = "Returns, if unused, are not accepted."
DOGS = "Dogs are not allowed, but cats are welcome."
BUILT = "The hotel (built 1900) does not offer breakfast."
VERTRAG = "Der Vertrag beginnt am Montag, endet im Juni und kostet 100 Euro."
KEIYAKU = "契約は月曜日に始まり、6月に終わります。"
GYEYAK = "계약은 월요일에 시작하고, 6월에 끝납니다."
COUPON = "クーポンは12か月で失効し延長できません。"
FAIR = "The fair is on Monday. The market is on Friday."
MESSE = "Die Messe ist am Montag. Der Markt ist am Freitag."
TRIAL = "The trial lasts 30 days. The plan lasts 12 months."
SUITE = "The suite has three bedrooms and two bathrooms."
ACME = "Acme Corp. acquired Beta Ltd. in March 2019 for 3.5 million dollars."


@pytest.mark.parametrize(
    ("evidence", "sentence", "said"),
    [
        (RETURNS, "Returns, if unused, are accepted.", "contrary"),
        ("犬は、残念ですが、利用できません。", "犬は、残念ですが、利用できます。", "contrary"),
        (ACME, "Acme Corp. acquired Beta Ltd. in May 2019 for 3.5 million dollars.", "“march”, not “may”"),
        (VERTRAG, "Der Vertrag beginnt am Dienstag, endet im Juni und kostet 100 Euro.", "“montag”"),
        (VERTRAG, "Der Vertrag beginnt am Montag, endet im Juli und kostet 100 Euro.", "“juni”, not “juli”"),
        (KEIYAKU, "契約は火曜日に始まり、6月に終わります。", "“月曜日”, not “火曜日”"),
        (GYEYAK, "계약은 화요일에 시작하고, 6월에 끝납니다.", "“월요일”, not “화요일”"),
        ("회의는 오후 3시입니다.", "회의는 오전 3시입니다.", "“오후”, not “오전”"),
        ("価格は140ユーロです。", "価格は140ドルです。", "“ユーロ”, not “ドル”"),
        ("The distance is 12 km.", "The distance is 12 miles.", "“km”, not “miles”"),
        ("It is 20 °C outside.", "It is 20 °F outside.", "“°c”, not “°f”"),
        (MESSE, "Die Messe ist am Freitag.", "“montag”, not “freitag”"),
        ("The fair is in May. The market is in June.", "The fair is in June.", "“may”, not “june”"),
        (TRIAL, "The trial lasts 30 months.", "“days”, not “months”"),
        (SUITE, "The suite has two bedrooms.", "“three”, not “two”"),
        ("The guided tours start on Monday.", "The guided tour starts on Friday.", "“monday”, not “friday”"),
        ("La garantía es de 2 años.", "La garantía es de 2 meses.", "“años”, not “meses”"),
        ("Le parking est gratuit.", "Le parking n’est plus gratuit.", "contrary"),
        ("Il n'y a aucune piscine.", "Il y a une piscine.", "contrary"),
        ("The shop is closed on Sundays.", "The shop is closed on Mondays.", "“sundays”, not “mondays”"),
        ("朝食は料金に含まれていません。", "朝食は料金に含まれています。", "contrary"),
    ],
)
@pytest.mark.parametrize("around", ["{}", "Ada Vale wrote this guide. {} Zoe Quill drew the maps."])
def test_one_change_in_a_sentence_with_any_punctuation(evidence, sentence, said, around):
    found = verdict(sentence, around.format(evidence))
    assert found.label == "contradictory" and said in found.reason
    assert found.coverage == 0.0
    assert verdict(evidence, around.format(evidence)).label == "supported"


@pytest.mark.parametrize(
    ("evidence", "sentence"),
    [
        (DOGS, "Dogs are not allowed."),
        (BUILT, "The hotel does not offer breakfast."),
        ("Die Zahlung ist nicht möglich, wenn das Konto gesperrt ist.", "Die Zahlung ist möglich."),
        ("계좌가 정지된 경우, 결제할 수 없습니다.", "결제할 수 있습니다."),
        (FAIR, "The market is on Friday."),
        ("The museum costs 20 euros. In Boston it costs 20 dollars.", "The museum costs 20 dollars."),
        (TRIAL, "The plan lasts 12 months."),
        ("The tour takes 2 hours. Three guides lead it.", "The tour takes two hours."),
        (COUPON, "クーポンは12か月で失効します。"),
        ("The plan costs $20 a month with no contract.", "The plan costs $20 a month."),
        ("The store does not open on Sundays and closes at 6 pm.", "The store closes at 6 pm."),
        ("Guests without a reservation pay 20 euros.", "Guests pay 20 euros."),
        ("Der Gutschein gilt zwölf Monate und ist nicht übertragbar.", "Der Gutschein gilt zwölf Monate."),
        ("Le bon est valable 12 mois et n'est pas remboursable.", "Le bon est valable 12 mois."),
        ("Le billet n'est valable que 12 mois.", "Le billet est valable 12 mois."),
        ("The lamp is not in stock.", "The lamp is out of stock."),
        ("Guests cannot enter with no reservation.", "Guests can enter with reservation."),
        ("The pool is currently closed.", "The pool is closed."),
        ("Pets are currently not allowed.", "Pets are not allowed."),
        ("Valet parking is free.", "Parking is not free."),
        ("The shop is open Monday to Friday.", "The shop is open Wednesday."),
        ("店は月曜日から金曜日まで開いています。", "店は水曜日開いています。"),
        ("가게는 월요일부터 금요일까지 엽니다.", "가게는 수요일 엽니다."),
        ("The trip takes 24 hours, more or less.", "The trip takes one day, more or less."),
        ("No later than 5 May the parcel arrives.", "The parcel arrives by 5 May."),
        ("Not only dogs, but cats are allowed in the garden.", "Dogs, cats are allowed in the garden."),
        ("Das Zimmer ist nicht nur groß.", "Das Zimmer ist groß."),
        ("이 방은 넓을 뿐만 아니라 조용합니다.", "이 방은 넓고 조용합니다."),
        ("会議は午後3時です。", "会議は15時です。"),
        ("会議は15時です。", "会議は午後3時です。"),
        ("価格は3万5千円です。", "価格は35000円です。"),
        ("価格は35,000円です。", "価格は3万5千円です。"),
        ("The suite has not three bedrooms, but 2.", "The suite has 2 bedrooms."),
        ('{"seats_left":0,"id":5}', "No seats are left."),
        ("The gym opens at 6 am on weekdays and at 8 am on weekends.", "The gym opens at 8 am on weekends."),
        ("The march on Rome, it seems, may be on Monday.", "The march on Rome, it seems, may be on Monday."),
        ("A room costs 149 euros a night.", "A room costs 149 € a night."),
        ("The mayor is there in may.", "The mayor is there in May."),
        ("배터리는 교체되지 않습니다.", "배터리는 교체되지 못합니다."),
    ],
)
@pytest.mark.parametrize("around", ["{}", "Ada Vale wrote this guide. {} Zoe Quill drew the maps."])
def test_the_same_in_other_words_is_not_refuted(evidence, sentence, around):
    found = verdict(sentence, around.format(evidence))
    assert found.label != "contradictory" and "No evidence holds" not in found.reason


def look(claim, *pieces):
    content = read_claim(claim).content
    return *Evidence(pieces).look_up(content), sum(content.values())


@pytest.mark.parametrize("filler", [0, 23, 47, 49, 200])
def test_neighbouring_words_are_found_wherever_they_stand(filler):
    span, weight, total = look(
        "The sauna is open.", "word " * filler + "the sauna is open" + " word" * filler
    )
    assert span.quote == "sauna is open"
    assert weight == total


def test_a_clause_that_is_not_whole_is_no_ground_for_a_contradiction():
    for count, is_contradicted in ((30, True), (120, False)):
        claim = " ".join(["open"] * count)
        span, weight, _ = look(claim, "not " + claim)
        assert (contradiction(read_claim(claim), span, weight, "It") is not None) is is_contradicted
