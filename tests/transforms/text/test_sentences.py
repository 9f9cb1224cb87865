"""Texts in one line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.transforms.text.sentences import guessed_language, sentences, single_spaced


def split(text, language=None):
    return [text[start:end] for start, end in sentences(text, language)]


SPLITS = [
    ("", []),
    ("--- *** 👍 !!", []),
    ("A sentence that is\nbroken. Next", ["A sentence that is\nbroken.", "Next"]),
    ("```py\nx = 1.\ny = 2.\n```\nDone.", ["```py\nx = 1.\ny = 2.\n```", "Done."]),
    ("7. ", ["7."]),
]


@pytest.mark.parametrize(("text", "wanted"), SPLITS)
def test_english(text, wanted):
    assert split(text, "en-GB") == wanted


SCRIPTS = [
    ("ko", "네, 예약되었습니다. 요금은 3.5만원입니다! 감사합니다.", 3),
    ("ja", "ご予約できました。７月８日です！よろしいですか？はい", 4),
    ("ar", "تم الحجز. هل تريد شيئا آخر؟ شكرا.", 3),
    ("de", "Wir sehen uns am 8.", 1),
    ("en", "It is gate 8. Then turn left.", 2),
    ("zh-CN", "已预订。还有别的吗？", 2),
]


@pytest.mark.parametrize(("language", "text", "wanted"), SCRIPTS)
def test_scripts(language, text, wanted):
    assert len(split(text, language)) == wanted
    assert len(split(text, None)) >= 1


WITHOUT_A_LANGUAGE = [
    ["Wir treffen uns am 3. Mai um 14 Uhr.", "Bitte kommen Sie."],
    ["Termin: 3. Mai, 14 Uhr.", "Treffpunkt: Nr. 5."],
    ["Wir öffnen am 1. August.", "Dann geht es los."],
    ["Der 2. Versuch hat geklappt.", "Danke."],
    ["Er kommt am 12.", "Der Zug fährt."],
    ["Das gilt z. B. für Kinder.", "Das ist gut."],
    ["Termin am 3. April bestätigt."],
    ["Ja, am 3. April!"],
    ["Kap. 3 Abs. 2."],
    ["Geburtstag: 3. 5. 1990"],
    ["Results: 3.", "5.", "7."],
    ["I am 3.", "April is nice."],
    ["It opens at 9 a.m. on Sunday.", "It closes at 5 p.m.", "Thanks."],
    ["De prijs is 30 euro excl. btw.", "Dat is goed."],
    ["Mødet er den 3. maj kl. 14.", "Det er bl.a. om dig."],
]


@pytest.mark.parametrize("wanted", WITHOUT_A_LANGUAGE)
def test_dots_that_end_nothing_in_texts_without_a_language(wanted):
    assert split(" ".join(wanted)) == wanted


GUESSES = [
    ("Wir sehen uns am Montag.", "de"),
    ("Nous sommes dans le train.", "fr"),
    ("Ваш заказ на складе.", "ru"),
    ("12345", None),
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


PIECES = st.lists(
    st.sampled_from(["word", "x" * 9, " ", "  ", "\n", "\t", "\u3000", "\xa0", "\x1c", "é"]), max_size=60
)


@given(PIECES, st.integers(1, 40))
def test_a_line_holds_the_words_of_a_text_or_more_than_enough_of_them(pieces, enough):
    text = "".join(pieces)
    whole, line = " ".join(text.split()), single_spaced(text, enough)
    assert whole.startswith(line)
    assert line == whole or len(line) > enough
