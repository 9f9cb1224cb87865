"""Byte offsets and code-point offsets."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnwise.transforms.text.cleaning import EMPTY, INSIDE, OUTSIDE, TextRange, Utf8Text

PIECES = [
    "a",
    "ß",
    "Gepäck ",
    "한국어",
    "\u1112\u1161\u11ab",
    "🧳",
    "👩\u200d👧",
    "e\u0301",
    "\u0308",
    "\n",
    "中",
]
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=3) | st.just("\ud800"), max_size=12).map("".join)
LONG = st.tuples(st.sampled_from(PIECES), st.integers(300, 1200), TEXTS).map(lambda p: p[0] * p[1] + p[2])


@settings(deadline=None)
@given(TEXTS | LONG, st.data())
def test_a_range_of_characters_comes_back(text, data):
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    before, marked = (t.encode("utf-8", "surrogatepass") for t in (text[:start], text[start:end]))
    place = Utf8Text(text).place(len(before), len(before) + len(marked))
    assert place == (TextRange(start, end) if start < end else TextRange(None, None, EMPTY))


@settings(deadline=None)
@given(TEXTS | LONG, st.integers(-3, 5000), st.integers(-3, 5000))
def test_a_range_is_valid_exactly_if_it_can_be_decoded(text, start, end):
    utf8 = Utf8Text(text)
    place, data = utf8.place(start, end), text.encode("utf-8", "surrogatepass")
    if not (0 <= start <= len(data) and 0 <= end <= len(data)):
        assert place.problem == OUTSIDE
        return
    try:
        whole = [data[:cut].decode("utf-8", "surrogatepass") for cut in (start, end)]
    except UnicodeDecodeError:
        assert place.problem == INSIDE
        return
    assert place == (TextRange(*map(len, whole)) if start < end else TextRange(None, None, EMPTY))


@settings(deadline=None)
@given(TEXTS, st.integers(-3, 60), st.integers(-3, 60))
def test_anything_can_be_shown(text, start, end):
    assert isinstance(Utf8Text(text).cut(start, end), str)


@pytest.mark.parametrize(
    ("text", "start", "end", "place"),
    [
        ("Gepäck 🧳", 0, 7, TextRange(0, 6)),
        ("Gepäck 🧳", -1, 3, TextRange(None, None, OUTSIDE)),
        ("", 0, 0, TextRange(None, None, EMPTY)),
        ("e\u0301x", 2, 3, TextRange(None, None, INSIDE)),
    ],
)
def test_places(text, start, end, place):
    assert Utf8Text(text).place(start, end) == place


def test_parts_of_characters_are_replaced():
    assert Utf8Text("Gepäck").cut(4, 7) == "\ufffdck"
