import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnwise.transforms.text.words import (
    dates_in_words,
    is_negated,
    read_words,
    starts_of,
    tokenize,
    weigh,
    words,
)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Don't ship W5918442, it's $1,200.50!", ["Don't", "ship", "W5918442", "it's", "1,200.50"]),
        ("L’hôtel n’est pas complet", ["L’hôtel", "n’est", "pas", "complet"]),
        ("料金は1,200円、３頭です。", ["料金は", "1,200", "円", "３", "頭です"]),
        ("दिल्ली में है", ["दिल्ली", "में", "है"]),
        ("\u200b...", []),
    ],
)
def test_tokens(text, tokens):
    assert tokenize(text) == tokens


def test_no_combining_mark_ends_a_word():
    texts = [
        f"é{mark}é" for mark in map(chr, range(0x300, 0xFE30)) if unicodedata.category(mark) in ("Mn", "Mc")
    ]
    assert [text for text in texts if tokenize(text) != [text]] == []


def alike(first, second):
    ours, theirs = weigh(words(first)), weigh(words(second))
    return sum(min(weight, theirs.get(key, 0)) for key, weight in ours.items()) / sum(ours.values())


@pytest.mark.parametrize(
    ("first", "second", "least"),
    [
        ("refunded", "refunds", 0.99),
        ("отеля", "отелей", 0.3),
        ("بالحيوانات", "الحيوانات", 0.5),
        ("깨끗합니다", "깨끗했어요", 0.6),
        ("three", "3", 0.99),
        ("二", "2", 0.1),
    ],
)
def test_forms_of_a_word_are_alike(first, second, least):
    assert alike(first, second) >= least


@pytest.mark.parametrize(
    ("first", "second"), [("hotel", "flight"), ("予約", "料金"), ("환불", "예약"), ("مطار", "فندق")]
)
def test_different_words_are_not(first, second):
    assert alike(first, second) == 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [("It is not open", True), ("予約できません", True), ("환불이 가능합니다", False), ("не работает", True)],
)
def test_negation(text, expected):
    assert is_negated(words(text)) is expected


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("on May 5, 2024", [("#m5d5",)]),
        ("le 5 mai", [("#m5d5",)]),
        ("20 June", [("#m6d20",)]),
        ("May 1955", []),
    ],
)
def test_days_with_the_name_of_a_month(text, days):
    assert [keys for _, keys in dates_in_words(words(text))] == days


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
