"""Splits texts in any script into words with features, cached by token."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from turnwise.transforms.text.features import (
    CHARACTER_SCRIPTS,
    UNSPACED_SCRIPTS,
    WORD_WEIGHT,
    Features,
    add_features,
    is_run_of_characters,
)
from turnwise.transforms.text.function_words import MONTHS, NEGATING, NEGATIONS
from turnwise.transforms.text.numbers import NUMERAL, TIME_OF_A_HALF, Keys, day_key, read_numeral

_MAX_REMEMBERED_WORDS = 20_000
_LAST_DAY = 31
_DAY_BEFORE = 3


class Word(NamedTuple):
    """A word or a number.

    Attributes:
        lower: Text in lower case with straight apostrophes.
        features: Features with weights, for comparing it with other words.
        keys: Keys that it provides as evidence: its features, and all readings of a number.
        demands: For a number or identifier: the evidence must hold one key of every tuple.
        is_content: Whether it is a content word.
        is_negation: Whether it negates a statement.
        month: 1..12 for the name of a month, else 0.
        units: What stands in an order in a text: the characters of a run of Han, Kana or Hangul, the features
            of other words without capitals, else the stem or the number.
        shares: Features with their shares of the weight of the word, 0..1.
    """

    lower: str
    features: tuple[tuple[str, float], ...]
    keys: Keys
    demands: tuple[Keys, ...] = ()
    is_content: bool = True
    is_negation: bool = False
    month: int = 0
    units: Keys = ()
    shares: tuple[tuple[str, float], ...] = ()


def _combining_marks() -> str:
    """Returns the combining marks; there are none among Han and Hangul, which are not looked at."""
    chars = map(chr, (*range(0x300, 0x3400), *range(0xA000, 0xAC00), *range(0xFB00, 0xFE30)))
    return "".join([char for char in chars if unicodedata.category(char) in ("Mn", "Mc")])


@cache
def _token() -> re.Pattern[str]:
    """Returns the pattern for texts that are not ASCII, which takes 12 ms to make."""
    letters = f"(?!\\d)[^\\W_{CHARACTER_SCRIPTS}{UNSPACED_SCRIPTS}]{{1,32}}"
    part = f"{letters}(?:[{_combining_marks()}]{{1,8}}(?:{letters})?){{0,15}}"
    return re.compile(
        f"{part}(?:['’]{part}){{0,2}}|(?=\\d)(?:{NUMERAL})"
        f"|{TIME_OF_A_HALF}|(?:(?!{TIME_OF_A_HALF})[{CHARACTER_SCRIPTS}]){{1,32}}|[{UNSPACED_SCRIPTS}]{{1,32}}"
    )


_ASCII_LETTERS = "[A-Za-z][A-Za-z0-9]{0,31}"
_ASCII_TOKEN = re.compile(f"{_ASCII_LETTERS}(?:'{_ASCII_LETTERS}){{0,2}}|(?=\\d)(?:{NUMERAL})")


class _Words(dict[str, Word]):
    """Token -> word."""

    def __missing__(self, token: str) -> Word:
        if len(self) >= _MAX_REMEMBERED_WORDS:
            self.clear()
        word = self[token] = _read(token)
        return word


_WORDS = _Words()


def _read(token: str) -> Word:
    if token[0].isdecimal() or (is_run_of_characters(token) and any(map(str.isdecimal, token))):
        numeral = read_numeral(token)
        features = tuple((key, WORD_WEIGHT) for key in numeral.parts)
        return Word(
            token.lower(),
            features,
            numeral.keys,
            numeral.demands,
            units=numeral.keys[:1],
            shares=_shares(features),
        )
    lower = unicodedata.normalize("NFKC", token).lower().replace("’", "'")
    found: Features = {}
    is_content = add_features(lower, found)
    keys = tuple(found)
    demands = (keys,) if len(keys) == 1 and any(map(str.isdecimal, lower)) else ()
    return Word(
        lower,
        tuple(found.items()),
        keys,
        demands,
        is_content,
        _negates(lower),
        MONTHS.get(lower, 0),
        _units(lower, keys),
        _shares(tuple(found.items())),
    )


def _units(lower: str, keys: Keys) -> Keys:
    if is_run_of_characters(lower):
        return tuple(lower)
    return keys[:1] if lower[0].upper() != lower[0] else keys


def _shares(features: tuple[tuple[str, float], ...]) -> tuple[tuple[str, float], ...]:
    total = sum(weight for _, weight in features)
    return tuple((key, weight / total) for key, weight in features)


def _negates(lower: str) -> bool:
    if lower in NEGATIONS or lower.endswith("n't") or lower.startswith("n'"):
        return True
    return not lower.isascii() and NEGATING.search(lower) is not None


def tokenize(text: str) -> list[str]:
    """Splits a text into words and numbers, in order; longer runs are cut after 32 letters."""
    return (_ASCII_TOKEN if text.isascii() else _token()).findall(text)


def starts_of(tokens: Iterable[str], text: str) -> list[int]:
    """Returns the offsets of the tokens of a text, and its length as the last element."""
    starts, find, start = [], text.index, 0
    for token in tokens:
        start = find(token, start)
        starts.append(start)
        start += len(token)
    return [*starts, len(text)]


def read_words(tokens: Iterable[str]) -> list[Word]:
    """Returns the words of tokens."""
    return list(map(_WORDS.__getitem__, tokens))


def words(text: str) -> list[Word]:
    """Returns the words and numbers of a text, in order."""
    return read_words(tokenize(text))


def weigh(found: Iterable[Word], more: Mapping[str, float] | None = None) -> dict[str, float]:
    """Sums the feature weights of words, added to `more`."""
    weights = dict(more) if more else {}
    for word in found:
        for key, weight in word.features:
            weights[key] = weights.get(key, 0.0) + weight
    return weights


def is_negated(found: Iterable[Word]) -> bool:
    """Returns whether any of the words is a negation."""
    return any(word.is_negation for word in found)


def dates_in_words(found: Sequence[Word]) -> Iterator[tuple[Word, Keys]]:
    """Reads days with the name of a month, as in `May 5`, `5. Mai` and `5 de mayo`.

    Yields:
        The name of the month, and keys of the days that it may belong to.
    """
    for place in [place for place, word in enumerate(found) if word.month]:
        name, near = found[place], found[max(0, place - _DAY_BEFORE) : place + 2]
        days = tuple(day_key(name.month, day) for day in map(_day, near) if day)
        if days:
            yield name, days


def _day(word: Word) -> int:
    value = word.keys[0][1:] if word.demands and word.keys[0][0] == "#" else ""
    is_day = len(value) <= 2 and value.isdecimal() and 1 <= int(value) <= _LAST_DAY
    return int(value) if is_day else 0
