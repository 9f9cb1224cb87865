"""Reads whole numbers that are written as words."""

import re

from turnwise.transforms.effects.statements.call_values import CHANGING_WORDS
from turnwise.transforms.text.function_words import NUMBER_WORDS, word_set
from turnwise.transforms.text.numbers import SCALES

_TEENS = (
    "thirteen fourteen fifteen sixteen seventeen eighteen nineteen",
    "dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn",
    "treize quatorze quinze seize",
    "trece catorce quince dieciséis diecisiete dieciocho diecinueve",
)
_TENS = (
    "twenty thirty forty fifty sixty seventy eighty ninety",
    "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig",
    "vingt trente quarante cinquante soixante",
    "veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa",
)
_ORDINALS = word_set("first second third fourth fifth")
NUMBERS_IN_WORDS = {
    **{word: int(value) for word, value in NUMBER_WORDS.items() if word not in _ORDINALS},
    **{word: value for words in _TEENS for value, word in enumerate(words.split(), 13)},
    **{word: 10 * value for words in _TENS for value, word in enumerate(words.split(), 2)},
    "one": 1,
}
"""Number word in lower case -> its value."""

_LARGE = {
    **{word: 10**power for word, power in SCALES.items() if len(word) > 1},
    "hundred": 100,
    "lakh": 10**5,
    "crore": 10**7,
}
_NO_COUNTS = (
    NUMBERS_IN_WORDS.keys()
    | _LARGE.keys()
    | word_set(
        "hundreds thousands millions billions lakhs crores hundert cent cien",
        "dozen dozens dutzend douzaine docena",
        "pair pairs paar half halves quarter twice double triple minus negative percent prozent per each",
        "second seconds minute minutes hour hours day days week weeks month months year years night nights",
    )
)
"""Words that are not counted things, but belong to the number or are its unit."""

_WORD = re.compile(r"[^\W\d_]+")
_NUMERALS = frozenset("十百千万萬億亿兆十백천만억조십半반")
# Kinds of words: u below ten, t from ten, T whole tens, h hundred, m larger ones.
_GROUP = "(?:u?h)?(?:Tu|[Ttu])?"
_VALID = re.compile(rf"(?:{_GROUP}m)?{_GROUP}")


def may_be_counted(word: str) -> bool:
    """Returns whether a word beside a number may be the thing that is counted."""
    return word not in _NO_COUNTS and word not in CHANGING_WORDS and not _NUMERALS.intersection(word)


def number_in_words(text: str) -> tuple[int | None, str]:
    """Reads the number of a text, and the words beside it, in lower case.

    `twenty-one` and `two hundred and fifty` are read in English, single words in German, French and Spanish.

    Returns:
        None as number if there is none, several, or one that is not read.
    """
    found = _WORD.findall(text.lower())
    places = [place for place, word in enumerate(found) if word in NUMBERS_IN_WORDS or word in _LARGE]
    if not places:
        return None, " ".join(found)
    inside = [word for word in found[places[0] : places[-1] + 1] if word != "and"]
    rest = " ".join([*found[: places[0]], *found[places[-1] + 1 :]])
    kinds = "".join(map(_kind, inside))
    return (_value(inside) if kinds and _VALID.fullmatch(kinds) else None), rest


def _kind(word: str) -> str:
    value = NUMBERS_IN_WORDS.get(word, 0)
    if word in _LARGE or value >= 100:
        return "h" if word == "hundred" else "m"
    if word not in NUMBERS_IN_WORDS:
        return "?"
    return "u" if value < 10 else "T" if value % 10 == 0 and value > 10 else "t"


def _value(words: list[str]) -> int:
    total = current = 0
    for word in words:
        large = _LARGE.get(word, 0)
        if large == 100:
            current = max(1, current) * large
        elif large:
            total, current = total + max(1, current) * large, 0
        else:
            current += NUMBERS_IN_WORDS[word]
    return total + current
