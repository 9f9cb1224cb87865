"""Compares the names and other words that an agent states with those of an argument."""

import re
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple
from unicodedata import combining, normalize

from turnwise.transforms.effects.call_values import ValueVerdict, is_plain_word, path_words
from turnwise.transforms.effects.statements.stated_codes import codes_in, compare_codes, without_codes
from turnwise.transforms.effects.statements.written_words import NUMBERS_IN_WORDS
from turnwise.transforms.text.function_words import word_set
from turnwise.transforms.text.values import plain

_VOWELS = frozenset("aeiou")
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
_SIGN = re.compile(r"(?<![\w)])-(?=\d)|(?<=\w)[#+*]|[^\s\w.,:;!?'’\"“”„()…#*+/–-]")
_TOKEN = re.compile(rf"{_SIGN.pattern}|[^\W_]*\d[^\W_]*(?:[.,:/]\d+)*|[^\W\d_]+(?:-[^\W\d_]+)*")
_CODES = re.compile(r"\b[A-Z]{2,3}\b")
_SEGMENT = re.compile(r"[,;\n]+")
_LETTER_DIGIT = re.compile(r"(?<=[^\W\d_])[\s_-]+(?=\d)|(?<=\d)\s+(?=[^\W\d_])")
_HYPHEN = re.compile(r"(?<=[^\W\d_])-(?=[^\W\d_])")
_UNSAID_NUMBER = re.compile(r"(?<=_)\d{4,}\b")
_LONGEST_SHORT, _ENDINGS = 4, frozenset(("s", "es", "n", "en", "e"))
_TITLE = re.compile(r"(?:mrs?|ms|dr|prof|herrn?|frau|madame|monsieur|señora?)\b\.?\s", re.IGNORECASE)
_PERSONS = word_set(
    "guest passenger customer person recipient attendee patient contact user client surname first last full"
)
_KINDS = word_set("ending class room seat size shipping delivery color colour meal")
_SHORT = {
    **{"st": "street", "ave": "avenue", "rd": "road", "blvd": "boulevard", "ln": "lane", "dr": "drive"},
    **{"apt": "apartment", "ct": "court", "pl": "place", "sq": "square", "hwy": "highway", "ste": "suite"},
}
_LEAST_SUFFIX, _LEAST_LONG = 4, 7


class _WordsAndNumbers(NamedTuple):
    words: list[str]
    numbers: list[str]


def compare_names(text: str, argument: str, path: str) -> ValueVerdict:
    """Compares words, codes and numbers with those of an argument.

    They are the same if all of them are equal but function words and words of the argument's name. Whole
    parts between commas may be left out, the number at the end of `credit_card_4421`, and all but one name of
    a person. Words that differ are another value if all of them are capitalised, as names are; numbers, if
    all stated words are held.
    """
    if _joined(text, path) == _joined(argument, path) != "":
        return "same"
    verdict = compare_codes(text, argument)
    if verdict:
        return verdict
    if _SIGN.findall(text) != _SIGN.findall(argument):
        return "not_compared"
    said, given = _parts(text), _parts(argument)
    words = [word for word in said.words if not any(_is_alike(word, other) for other in given.words)]
    words = [word for word in words if word not in _KINDS and word.removesuffix("s") not in path_words(path)]
    numbers = [one for one in said.numbers if not any(map(partial(_is_number, one), given.numbers))]
    unsaid = [word for word in given.words if not any(_is_alike(word, other) for other in said.words)]
    if numbers:
        is_number_alone = not words and bool(said.words or not given.words)
        return "other" if is_number_alone and _are_other(numbers, given.numbers, argument) else "not_compared"
    if words:
        return _compare_unheld(words, unsaid, said.words, f"{text} {argument}", argument)
    if not (said.words or said.numbers or codes_in(text)):
        return "not_compared"
    return "same" if _may_leave_out(text, argument, path, said) else "not_compared"


def _compare_unheld(
    words: Sequence[str], unsaid: Sequence[str], said: Sequence[str], both: str, argument: str
) -> ValueVerdict:
    if not unsaid or len(words) == len(said) or any(_may_be_alike(a, b) for a in words for b in unsaid):
        return "not_compared"
    if {word.lower() for word in _CODES.findall(argument)}.intersection(unsaid):
        return "not_compared"
    capitals = {_folded(word) for word in _WORD.findall(both) if word[0].isupper()}
    return "other" if capitals.issuperset((*words, *unsaid)) else "not_compared"


def _parts(text: str) -> _WordsAndNumbers:
    """Returns the words and numbers of a text; function words in lower case are left out."""
    rest = without_codes(normalize("NFKC", text).replace("_", " "))
    found = _WORD.findall(rest)
    found = [word for word in found if not _is_function_word(word, "")]
    numbers = [str(NUMBERS_IN_WORDS[word.lower()]) for word in found if word.lower() in NUMBERS_IN_WORDS]
    words = [_folded(word) for word in found if word.lower() not in NUMBERS_IN_WORDS]
    words = [word for word in words if not _TITLE.fullmatch(f"{word} ")]
    return _WordsAndNumbers(words, [*_NUMBER.findall(rest), *numbers])


def _may_leave_out(text: str, argument: str, path: str, said: _WordsAndNumbers) -> bool:
    """Returns whether all parts of an argument are stated, or those left out are details of it."""
    if _PERSONS.intersection(path_words(path)) or _TITLE.match(text):
        return True
    kept = _UNSAID_NUMBER.sub("", argument)
    stated = [_is_said(segment, text, said) for segment in _SEGMENT.split(kept)]
    return True in stated and False not in stated


def _is_said(segment: str, text: str, said: _WordsAndNumbers) -> bool | None:
    """Returns whether a segment is stated as a whole; None: nothing of it is."""
    own, codes = _parts(segment), codes_in(segment)
    held = [
        *(any(_is_alike(word, other) for other in said.words) for word in own.words),
        *(any(_is_number(other, one) for other in said.numbers) for one in own.numbers),
        *(code in codes_in(text) for code in codes),
    ]
    return None if not any(held) else all(held)


def _is_number(said: str, given: str) -> bool:
    """Returns whether numbers are equal, or one has the last digits of a long one."""
    is_end = len(said) >= _LEAST_SUFFIX and len(given) >= _LEAST_LONG and given.isdecimal()
    return said == given or (is_end and given.endswith(said))


def _are_other(numbers: Sequence[str], given: Sequence[str], argument: str) -> bool:
    """Returns whether whole numbers are shown to differ: `7` may be `007`, and 452 stands in `LH452`."""
    if not given or not all(map(str.isdecimal, (*numbers, *given))):
        return False
    codes = codes_in(argument)
    is_part = any(number in code for number in numbers for code in codes)
    return not is_part and not set(map(int, numbers)).intersection(map(int, given))


def _joined(text: str, path: str) -> str:
    """Returns the words of a text without those of the argument's name, and without gaps beside digits."""
    found = (plain(word) for word in _TOKEN.findall(text) if not _is_function_word(word, path))
    return _LETTER_DIGIT.sub("", _HYPHEN.sub(" ", " ".join(found)))


def _is_function_word(word: str, path: str) -> bool:
    is_small = word == word.lower() or word.lower() in path_words(path)
    return len(word) > 1 and word.isalpha() and is_small and is_plain_word(word.lower(), path)


def _folded(word: str) -> str:
    word = "".join(char for char in normalize("NFKD", word.casefold()) if not combining(char))
    return re.sub(r"(?<=\w)strasse$", "str", word)


def _is_alike(left: str, right: str) -> bool:
    """Returns whether two words are equal, with `ue` for `ü` and `st` for `street`."""
    return _SHORT.get(left, left) == _SHORT.get(right, right) or _plain(left) == _plain(right)


def _plain(word: str) -> str:
    return re.sub(r"([aou])e", r"\1", word)


def _may_be_alike(left: str, right: str) -> bool:
    """Returns whether one word may shorten the other, as names are shortened (`Alex`, `Alexandra`)."""
    short, long = sorted((left, right), key=len)
    if long.startswith(short) and (len(short) <= _LONGEST_SHORT or long[len(short) :] in {"", *_ENDINGS}):
        return True
    letters = iter(long)
    is_abbreviation = short[0] == long[0] and not _VOWELS.intersection(short[1:])
    return is_abbreviation and all(letter in letters for letter in short)
