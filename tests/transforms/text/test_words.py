import re
import unicodedata

from hypothesis import given, settings
from hypothesis import strategies as st

from turnwise.transforms.text.words import NUMERAL, read_numeral, read_words, starts_of, tokenize


def test_no_combining_mark_ends_a_word():
    texts = [
        f"é{mark}é" for mark in map(chr, range(0x300, 0xFE30)) if unicodedata.category(mark) in ("Mn", "Mc")
    ]
    assert [text for text in texts if tokenize(text) != [text]] == []


@settings(deadline=None)
@given(st.text())
def test_tokens_are_found_where_they_start(text):
    tokens = tokenize(text)
    starts = starts_of(tokens, text)
    assert [text[start : start + len(token)] for token, start in zip(tokens, starts, strict=False)] == tokens
    assert starts[-1] == len(text)
    assert starts == sorted(starts)


@settings(deadline=None)
@given(st.text())
def test_every_word_has_weighty_features_and_gives_them_as_keys(text):
    for word in read_words(tokenize(text)):
        assert word.features
        assert all(weight > 0 for _, weight in word.features)
        assert {key for key, _ in word.features} <= set(word.keys)
        assert all(set(keys) & set(word.keys) for keys in word.demands)


PATTERN = re.compile(NUMERAL)


def keys(text):
    return {key for match in PATTERN.finditer(text) for key in read_numeral(match[0]).keys}


def demands(text):
    return [keys for match in PATTERN.finditer(text) for keys in read_numeral(match[0]).demands]


def holds_number(evidence, claim):
    return all(not keys(evidence).isdisjoint(wanted) for wanted in demands(claim))


@settings(deadline=None)
@given(st.text(alphabet="0123456789.,:-/ 'kmMapT年月日万億٠٥", max_size=40))
def test_every_numeral_holds_itself(text):
    assert holds_number(text, text)


@settings(deadline=None)
@given(st.integers(min_value=0, max_value=10**12))
def test_grouped_digits_say_the_same(number):
    grouped = f"{number:,}"
    assert holds_number(str(number), grouped)
    assert holds_number(grouped, str(number))
    assert holds_number(grouped.replace(",", "."), grouped)


def test_digits_without_end_are_read():
    assert keys("9" * 100_000) == {"#" + "9" * 64, "#" + "9" * 32}
