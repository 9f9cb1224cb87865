"""Texts in one line."""

from hypothesis import given
from hypothesis import strategies as st

from turnwise.transforms.text.sentences import single_spaced

PIECES = st.lists(
    st.sampled_from(["word", "x" * 9, " ", "  ", "\n", "\t", "\u3000", "\xa0", "\x1c", "é"]), max_size=60
)


@given(PIECES, st.integers(1, 40))
def test_a_line_holds_the_words_of_a_text_or_more_than_enough_of_them(pieces: list[str], enough: int) -> None:
    text = "".join(pieces)
    whole, line = " ".join(text.split()), single_spaced(text, enough)
    assert whole.startswith(line)
    assert line == whole or len(line) > enough
