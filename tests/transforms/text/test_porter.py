"""Stems against those of the `rouge-score` package, which NLTK makes."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.tokenizers import DefaultTokenizer

from turnwise.transforms.text.porter import stem

REFERENCE = DefaultTokenizer(use_stemmer=True)._stemmer.stem
ENDS = (
    "s es sses ies ed eed ied ing at bl iz y ational tional enci anci izer bli abli alli entli eli ousli ll "
    "ization ation ator alism iveness fulness ousness aliti iviti biliti fulli logi icate ative alize iciti "
    "ical ful ness al ance ence er ic able ible ant ement ment ent ion sion tion ou ism ate iti ous ive ize e"
)
IRREGULAR = (
    "sky skies dying lying tying news inning innings outing outings canning cannings howe proceed exceed "
    "succeed"
)
WORDS = st.builds(
    lambda start, suffixes: start + "".join(suffixes),
    st.text("aeioybcdhlstwxz5", max_size=5),
    st.lists(st.sampled_from(ENDS.split()), max_size=3),
)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("ponies", "poni"),
        ("dies", "die"),
        ("agreed", "agre"),
        ("hopping", "hop"),
        ("falling", "fall"),
        ("filing", "file"),
        ("enjoy", "enjoy"),
        ("spy", "spi"),
        ("relational", "relat"),
        ("generalizations", "gener"),
        ("adoption", "adopt"),
        ("onion", "onion"),
        ("controlled", "control"),
        ("yyyyy", "yyyyy"),
        ("g47923", "g47923"),
        ("", ""),
        ("y" * 200_001, "y" * 200_001),
    ],
)
def test_stems(word: str, expected: str) -> None:
    assert stem(word) == expected == REFERENCE(word)


@pytest.mark.parametrize("word", IRREGULAR.split())
def test_irregular_words(word: str) -> None:
    assert stem(word) == REFERENCE(word)


def test_the_words_of_the_license_and_the_pages() -> None:
    root = Path(__file__).parents[3]
    texts = [path.read_text(encoding="utf-8") for path in (root / "LICENSE", *root.glob("docs/*.md"))]
    words = {word for text in texts for word in text.lower().split() if word.isascii() and word.isalnum()}
    assert len(words) > 1000
    assert {word: stem(word) for word in words} == {word: REFERENCE(word) for word in words}


@given(WORDS)
def test_any_word(word: str) -> None:
    assert stem(word) == REFERENCE(word)
