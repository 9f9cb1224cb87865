"""Stems are those of NLTK, which rouge-score uses."""

import re
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.stem.porter import PorterStemmer

from turnwise.transforms.text.porter import porter_stem

NLTK = PorterStemmer()
DOCS = Path(__file__).parents[3] / "docs"
ENDINGS = (
    *("", "s", "es", "ies", "ss", "sses", "y", "ied", "eed", "ed", "ing", "e", "ll", "logi", "fulli", "alli"),
    *(
        "ational",
        "tional",
        "enci",
        "anci",
        "izer",
        "bli",
        "entli",
        "eli",
        "ousli",
        "ization",
        "ation",
        "ator",
    ),
    *(
        "ator",
        "alism",
        "iveness",
        "fulness",
        "ousness",
        "aliti",
        "iviti",
        "biliti",
        "icate",
        "ative",
        "alize",
    ),
    *("iciti", "ical", "ful", "ness", "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement"),
    *("ment", "ent", "ion", "sion", "tion", "ou", "ism", "ate", "iti", "ous", "ive", "ize", "at", "bl", "iz"),
)
STARTS = ("", "b", "y", "a", "by", "ay", "tr", "st", "hop", "fil", "tan", "prob", "syzyg", "control", "x1")
IRREGULAR = (
    *("sky", "skies", "dying", "lying", "tying", "news", "innings", "inning", "outings", "outing", "howe"),
    *("cannings", "canning", "proceed", "exceed", "succeed"),
)


@pytest.mark.parametrize("end", ENDINGS)
def test_stems_are_those_of_nltk(end: str) -> None:
    words = [start + middle + end for start, middle in product(STARTS, ENDINGS)]
    assert [porter_stem(word) for word in words] == [NLTK.stem(word) for word in words]


def test_words_of_the_documentation_have_the_stems_of_nltk() -> None:
    words = {*re.findall(r"[a-z0-9]+", " ".join(page.read_text().lower() for page in DOCS.glob("*.md")))}
    words |= {*IRREGULAR}
    assert {word: porter_stem(word) for word in words} == {word: NLTK.stem(word) for word in words}


@given(st.text("abcdeilnorstuyz0", max_size=12))
def test_any_word_has_the_stem_of_nltk(word: str) -> None:
    assert porter_stem(word) == NLTK.stem(word)
