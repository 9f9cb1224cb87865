"""Texts in one line."""

from hypothesis import given
from hypothesis import strategies as st

from turnwise.transforms.text.sentences import sentences, single_spaced


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
