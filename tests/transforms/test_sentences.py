import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.judging.sentences import sentences


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


@given(st.text(alphabet=st.sampled_from("aZ1 .!?。\n-*|#`👍가\r\u202e\ud800"), max_size=60))
def test_sentences_come_in_order_and_hold_all_the_words(text):
    found = sentences(text, "en")
    ends = [0, *(end for _, end in found)]
    assert all(before <= start < end for before, (start, end) in zip(ends, found, strict=False))
    kept = "".join(text[start:end] for start, end in found)
    assert [c for c in kept if c in "aZ가"] == [c for c in text if c in "aZ가"]


def test_a_long_table_is_quick():
    rows = "| a | b |\n" * 5000
    assert len(sentences(rows, "en")) == 1
