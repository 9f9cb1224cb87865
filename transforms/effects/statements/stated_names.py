"""Compares the names and other words that an agent states with those of an argument."""

import re
from collections.abc import Sequence
from typing import Literal
from unicodedata import combining, normalize

from turnwise.transforms.text.function_words import FUNCTION_WORDS, NUMBER_WORDS
from turnwise.transforms.text.words import Word, words

_VOWELS = frozenset("aeiou")
_CAPITALISED = re.compile(r"\b[^\W\d_a-z]\w*")
_CODES = re.compile(r"\b[A-Z]{2,3}\b")
_NO_NAMES = FUNCTION_WORDS | NUMBER_WORDS.keys() | {"mr", "mrs", "ms", "dr", "herr", "frau"}
_LONGEST_SHORT, _ENDINGS = 4, frozenset(("s", "es", "n", "en", "e"))

ValueVerdict = Literal["same", "other", "not_compared"]


def compare_names(text: str, argument: str) -> ValueVerdict | None:
    """Compares the words beside the numbers; None: one side has none.

    Words that differ are another value if both sides have numbers, as addresses have, or if they are
    capitalised, as names are. A short code may stand for any name.
    """
    names, others = _names(words(text)), _names(words(argument))
    if not names or not others:
        return None
    unheld = [name for name in names if not any(_are_alike(name, other) for other in others)]
    unsaid = [other for other in others if not any(_are_alike(name, other) for name in names)]
    if not unheld:
        return "same"
    capitals = {_without_accents(word.lower()) for word in _CAPITALISED.findall(f"{text} {argument}")}
    if not unsaid:
        return "not_compared" if capitals.intersection(unheld) else "same"
    if len(unheld) == len(names) or {word.lower() for word in _CODES.findall(argument)}.intersection(unsaid):
        return "not_compared"
    has_numbers = all(any(map(str.isdecimal, side)) for side in (text, argument))
    return "other" if has_numbers or capitals.issuperset((*unheld, *unsaid)) else "not_compared"


def _names(found: Sequence[Word]) -> list[str]:
    return [
        _without_accents(word.lower)
        for word in found
        if not word.demands and not word.month and word.lower not in _NO_NAMES
    ]


def _without_accents(word: str) -> str:
    return "".join(char for char in normalize("NFKD", word) if not combining(char))


def _are_alike(left: str, right: str) -> bool:
    """Returns whether two words are equal, or one shortens the other (`ave`, `avenue`; `rd`, `road`)."""
    short, long = sorted((left, right), key=len)
    if long.startswith(short) and (len(short) <= _LONGEST_SHORT or long[len(short) :] in {"", *_ENDINGS}):
        return True
    letters = iter(long)
    is_abbreviation = short[0] == long[0] and not _VOWELS.intersection(short[1:])
    return is_abbreviation and all(letter in letters for letter in short)
