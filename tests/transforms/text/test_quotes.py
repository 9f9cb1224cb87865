import pytest

from turnwise.transforms.text.cleaning import contains_quote, find_span, quoted

TEXT = 'Your flight AC457 leaves at 14:05.\n\n**Gate** {"gate": "B 12"}, Straße, 항공편은 취소되었습니다.'

IN = [
    ("flight AC457 leaves", True),
    ("gate: B 12", True),
    ("취소되었습니다", True),
    ("14:05 … Your", False),
    ("", False),
]


@pytest.mark.parametrize(("quote", "wanted"), IN)
def test_whether_a_quote_is_in_a_text(quote, wanted):
    assert contains_quote(quote, TEXT) is wanted


def test_the_detail():
    assert quoted(" AC457 ", TEXT) == {"quote": "AC457", "quote_found": True}
    assert quoted("AC999", TEXT, "x") == {"x": "AC999", "x_found": False}
    assert quoted(" ", TEXT) == {"quote": None, "quote_found": None}


SPANS = [
    ("AC457 leaves", "AC457 leaves"),
    ("14:05. **Gate**", "14:05.\n\n**Gate**"),
    ('"취소되었습니다."', "취소되었습니다."),
    ("", None),
    ('""', None),
]


@pytest.mark.parametrize(("quote", "wanted"), SPANS)
def test_spans_are_code_points(quote, wanted):
    found = find_span(quote, TEXT)
    assert (TEXT[slice(*found)] if found else None) == wanted


def test_spans_are_of_the_text_as_it_was():
    text = "\u202e👍 bad\r\nword \ud800 there"
    start, end = find_span("bad \nword \ufffd", text)
    assert text[start:end] == "bad\r\nword \ud800"


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("Done. Refund [20261123: 45 EUR] is booked.", "[20261123: 45 EUR] is booked"),
        ("Here:\n[20261123: 45 EUR] is booked.", "Here: [20261123: 45 EUR]"),
        ("It says <user> there.", "⟦"),
    ],
)
def test_brackets_are_found_whatever_is_around_them(text, quote):
    is_there = quote != "⟦"
    assert contains_quote(quote, text) is is_there
    assert (find_span(quote, text) is not None) is is_there
