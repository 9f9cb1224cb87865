"""Computes weighted features of single words, for comparing texts in any script.

- Alphabets with capitals: the stem (Porter's for ASCII, as ROUGE has it) and its beginning, so that `Umzug`
  and `Umzugstermin` share a feature. Accents are ignored.
- Other alphabets: all runs of three letters, because their words carry prefixes as well.
- Han, Kana and Hangul: every character and every pair of them. Hiragana and the syllables of Korean particles
  and endings weigh little.
- Thai, Lao, Khmer and Burmese, which have no spaces: all runs of three letters.
"""

import unicodedata
from bisect import bisect_right
from itertools import pairwise

from turnwise.transforms.text.function_words import (
    FUNCTION_WORDS,
    KOREAN_GRAMMAR,
    MONTHS,
    NEGATIONS,
    NUMBER_WORDS,
)
from turnwise.transforms.text.numbers import month_key
from turnwise.transforms.text.rouge import rouge_tokens

Features = dict[str, float]

WORD_WEIGHT = 4.0
"""Weight of a content word of an alphabet, and of a number."""
_GRAMMAR_WEIGHT = 0.5
_CHARACTER_WEIGHT = 1.5
_GRAMMAR_CHARACTER_WEIGHT = 0.15
_PAIR_SHARE = 0.5
_BEGINNING = 4
_BEGINNING_SHARE = 0.4
_LAST_ACCENT = "\u08ff"

CHARACTER_SCRIPTS = (
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
    "\u1100-\u11ff\uac00-\ud7ff"
)
"""Han, Kana and Hangul, as ranges of a character class."""
UNSPACED_SCRIPTS = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u0edc-\u0edf\u1000-\u103f\u1050-\u109f\u1780-\u17d3"
)
"""Thai, Lao, Burmese and Khmer without their digits, as ranges of a character class."""
_BEGINNINGS, _LASTS = CHARACTER_SCRIPTS[::3], CHARACTER_SCRIPTS[2::3]
_BOUNDS = sorted((*_BEGINNINGS, *(chr(ord(last) + 1) for last in _LASTS)))
_HAN_DIGITS = {char: f"#{value}" for value, char in enumerate("〇一二三四五六七八九十")}


def is_run_of_characters(word: str) -> bool:
    """Returns whether a word is written in Han, Kana or Hangul."""
    return bisect_right(_BOUNDS, word) % 2 == 1


def add_features(word: str, features: Features) -> bool:
    """Adds the features of a lower-case word of one script; returns whether it is a content word."""
    if word in NUMBER_WORDS:
        _add(features, f"#{NUMBER_WORDS[word]}", WORD_WEIGHT)
        return True
    add = _add_characters if is_run_of_characters(word) else _add_letters
    return add(word, features)


def _add(features: Features, key: str, weight: float) -> None:
    features[key] = features.get(key, 0.0) + weight


def _character_weight(char: str) -> float:
    is_grammar = "\u3040" <= char <= "\u309f" or char == "ー" or char in KOREAN_GRAMMAR
    return _GRAMMAR_CHARACTER_WEIGHT if is_grammar else _CHARACTER_WEIGHT


def _add_characters(run: str, features: Features) -> bool:
    weights = [_character_weight(char) for char in run]
    for char, weight in zip(run, weights, strict=True):
        _add(features, _HAN_DIGITS.get(char, char), weight)
    for pair, both in zip(pairwise(run), pairwise(weights), strict=True):
        _add(features, "".join(pair), _PAIR_SHARE * sum(both) / 2)
    return max(weights) == _CHARACTER_WEIGHT


def _add_letters(said: str, features: Features) -> bool:
    word = without_clitic(said)
    if _is_grammar(word):
        _add(features, word, _GRAMMAR_WEIGHT)
        return False
    if word in MONTHS:
        _add(features, month_key(MONTHS[word]), WORD_WEIGHT)
    elif any(map(str.isdecimal, word)):
        _add(features, word, WORD_WEIGHT)
    elif word[0].upper() != word[0]:
        _add_stem(word, features)
    else:
        _add_trigrams(without_accents(word), features)
    return True


def _is_grammar(word: str) -> bool:
    is_short = len(word) < 2 or (len(word) == 2 and not word.isascii())
    return is_short or word in FUNCTION_WORDS or word in NEGATIONS or word.endswith("n't")


def without_clitic(word: str) -> str:
    """Removes `l'`, `d'`, `qu'` from the beginning of a word and `'s`, `'ll` from its end."""
    before, _, after = word.partition("'")
    if word.endswith("n't") or not after:
        return word.strip("'")
    return after if len(after) > len(before) else before


def without_accents(word: str) -> str:
    """Removes diacritics of alphabets in which they do not distinguish words."""
    letters = unicodedata.normalize("NFKD", word)
    return "".join(char for char in letters if char > _LAST_ACCENT or not unicodedata.combining(char)) or word


def _add_stem(word: str, features: Features) -> None:
    """Adds the stem and its beginning."""
    stem = "".join(rouge_tokens(word)) if word.isascii() else without_accents(word)
    _add(features, stem, WORD_WEIGHT * (1 - _BEGINNING_SHARE))
    _add(features, stem[:_BEGINNING], WORD_WEIGHT * _BEGINNING_SHARE)


def _add_trigrams(word: str, features: Features) -> None:
    grams = [word[start : start + 3] for start in range(max(1, len(word) - 2))]
    for gram in grams:
        _add(features, gram, WORD_WEIGHT / len(grams))
