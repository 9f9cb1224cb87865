import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.transforms.text.sentences import guessed_language, sentences


def split(text, language=None):
    return [text[start:end] for start, end in sentences(text, language)]


SPLITS = [
    ("", []),
    (" \n\n ", []),
    ("--- *** 👍 !!", []),
    ("One. Two! Three?", ["One.", "Two!", "Three?"]),
    ("It costs $3.50. Dr. Lee came.", ["It costs $3.50.", "Dr. Lee came."]),
    (
        "Here you are:\n- AC457 at 14:05. Direct.\n* AC461",
        ["Here you are:", "AC457 at 14:05.", "Direct.", "AC461"],
    ),
    ("1. Open it.\n2) Press it.", ["1. Open it.", "2) Press it."]),
    ("- broken\n  over lines\nNew", ["broken\n  over lines", "New"]),
    ("A sentence that is\nbroken. Next", ["A sentence that is\nbroken.", "Next"]),
    ("Flight: AC457\nTime: 14:05", ["Flight: AC457", "Time: 14:05"]),
    ("# Title\nText.", ["Title", "Text."]),
    (
        "Table:\n| a | b. |\n|---|---|\n| 1 | 2. |\nAfter.",
        ["Table:", "| a | b. |\n|---|---|\n| 1 | 2. |", "After."],
    ),
    ("```py\nx = 1.\ny = 2.\n```\nDone.", ["```py\nx = 1.\ny = 2.\n```", "Done."]),
    ("```\nnever closed. x", ["```\nnever closed. x"]),
    ("👍 Done. 🧳 Bag", ["👍 Done.", "🧳 Bag"]),
    ("7. ", ["7."]),
]


@pytest.mark.parametrize(("text", "wanted"), SPLITS)
def test_english(text, wanted):
    assert split(text, "en-GB") == wanted


SCRIPTS = [
    ("ko", "네, 예약되었습니다. 요금은 3.5만원입니다! 감사합니다.", 3),
    ("ja", "ご予約できました。７月８日です！よろしいですか？はい", 4),
    ("ar", "تم الحجز. هل تريد شيئا آخر؟ شكرا.", 3),
    ("de", "Am 3. Mai kommt Dr. Müller. Das kostet z. B. 3,50 €. Gut.", 3),
    ("de-AT", "Gebucht: Mittwoch, 8. Juli. Der Diebstahl vom 5. September ist gemeldet.", 2),
    ("de", "Wir sehen uns am 8.", 1),
    ("en", "It is gate 8. Then turn left.", 2),
    ("hi", "बुकिंग हो गई। और कुछ?", 2),
    ("zh-CN", "已预订。还有别的吗？", 2),
    ("xx", "One. Two.", 2),
]


@pytest.mark.parametrize(("language", "text", "wanted"), SCRIPTS)
def test_scripts(language, text, wanted):
    assert len(split(text, language)) == wanted
    assert len(split(text, None)) >= 1


WITHOUT_A_LANGUAGE = [
    ["Wir treffen uns am 3. Mai um 14 Uhr.", "Bitte kommen Sie."],
    ["am 3. Mai um 14 Uhr"],
    ["Termin: 3. Mai, 14 Uhr.", "Treffpunkt: Nr. 5."],
    ["Ihr Umzug ist am 3. Mai 2026.", "Wir kommen zu dritt."],
    ["Das Angebot gilt vom 3. bis 5. Mai.", "Danke."],
    ["Wir öffnen am 1. August.", "Dann geht es los."],
    ["Der 2. Versuch hat geklappt.", "Danke."],
    ["Es geht um die 1. Mahnung.", "Die 2. Mahnung folgt am 4. Juni."],
    ["Er kommt am 12.", "Der Zug fährt."],
    ["Die Antwort ist 12.", "Bitte warten."],
    ["Die Wohnung hat die Nummer 12.", "Frühstück gibt es nicht."],
    ["Das gilt z. B. für Kinder.", "Das ist gut."],
    ["Das gilt z.B. für Kinder.", "Das ist gut."],
    ["Das ist, d. h. morgen, gut.", "Gerne."],
    ["Der Preis beträgt 30 Euro inkl. Mehrwertsteuer.", "Danke."],
    ["Preis inkl. Frühstück: 80 EUR."],
    ["Kinder bzw. Jugendliche zahlen ca. 20 Euro.", "Nr. 5 ist frei."],
    ["Das dauert max. 3 Tage, mind. 1 Tag, ggf. länger.", "Gut."],
    ["Ihr Termin: Mo. 3. Mai, Hr. Müller, Tel. 0761 123.", "Danke."],
    ["Termin am 3. April bestätigt."],
    ["Abholung am 3. August möglich."],
    ["Abflug am 12. November, Gate 4."],
    ["Ja, am 3. April!"],
    ["Ab 3. August in Berlin."],
    ["Siehe Abs. 3 Nr. 2 BGB."],
    ["Kap. 3 Abs. 2."],
    ["Die 3. Mahnung folgt."],
    ["Max. 5 Personen, mind. 2."],
    ["Geburtstag: 3. 5. 1990"],
    ["Geburtstag: 03.05. 1990"],
    ["Results: 3.", "5.", "7."],
    ["Strong abs.", "3 sets daily."],
    ["Never mind.", "2 people came."],
    ["I am 3.", "April is nice."],
    ["Who am I?", "Gate 3.", "August was hot."],
    ["Come at 9 am on day 3.", "April waits."],
    ["I have 3.", "May I go?"],
    ["We met on gate 3.", "August is hot.", "March is cold."],
    ["Your appointment is on 3. Mai 2026.", "See you there."],
    ["It is gate 8.", "Then turn left."],
    ["Never mind.", "We go.", "I think so.", "3 people came."],
    ["It opens at 9 a.m. on Sunday.", "It closes at 5 p.m.", "Thanks."],
    ["It takes approx. 30 minutes.", "The price is 30 dollars incl. tax."],
    ["El precio es de aprox. 30 euros.", "La Sra. López lo sabe."],
    ["De prijs is 30 euro excl. btw.", "Dat is goed."],
    ["O preço é de aprox. 30 euros, p. ex. em Lisboa.", "Obrigado."],
    ["Spotkanie jest o godz. 14 na ul. Długiej 3.", "To jest blisko."],
    ["Mødet er den 3. maj kl. 14.", "Det er bl.a. om dig."],
]


@pytest.mark.parametrize("wanted", WITHOUT_A_LANGUAGE)
def test_dots_that_end_nothing_in_texts_without_a_language(wanted):
    assert split(" ".join(wanted)) == wanted


GUESSES = [
    ("Wir sehen uns am Montag.", "de"),
    ("You can see us on Monday.", "en"),
    ("Nous sommes dans le train.", "fr"),
    ("Estamos en el tren con usted.", "es"),
    ("Ваш заказ на складе.", "ru"),
    ("12345", None),
    ("", None),
    ("예약되었습니다", None),
    ("de en", None),
]


@pytest.mark.parametrize(("text", "language"), GUESSES)
def test_the_guessed_language(text, language):
    assert guessed_language(text) == language


def test_a_long_word_is_quick():
    assert len(sentences("x" * 20_000 + "." + "1" * 20_000 + ". " + ". a" * 5_000, None)) > 0


@given(st.text(alphabet=st.sampled_from("aZ1 .!?。\n-*|#`👍가\r\u202e\ud800"), max_size=60))
def test_sentences_come_in_order_and_hold_all_the_words(text):
    found = sentences(text, "en")
    ends = [0, *(end for _, end in found)]
    assert all(before <= start < end for before, (start, end) in zip(ends, found, strict=False))
    assert sentences(text, None) or not any(c.isalnum() for c in text)
    kept = "".join(text[start:end] for start, end in found)
    assert [c for c in kept if c in "aZ가"] == [c for c in text if c in "aZ가"]


def test_a_long_table_is_quick():
    rows = "| a | b |\n" * 5000
    assert len(sentences(rows, "en")) == 1
