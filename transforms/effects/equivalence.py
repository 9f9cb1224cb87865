"""Compares values of arguments and of session state by meaning, independent of spelling."""

import math
import re
from collections import Counter
from collections.abc import Hashable, Sequence
from functools import lru_cache
from typing import NamedTuple
from unicodedata import normalize

from turnwise.schemas.jsonio import json_structure
from turnwise.schemas.values import JsonObject, JsonValue
from turnwise.transforms.matching.assignment import count_matches, equal_matches
from turnwise.transforms.text.dates import DateReading, epoch_date, read_dates, same_date

_LONGEST_NUMBER = 40
_MOST_PAIRS = 20_000
_NODE_LENGTH = 4
_LONGEST_KEPT = 256
_PROSE = ("prose",)
_NUMBER = re.compile(
    r"([+-]?)(?P<before>[$€£¥₩₹]|[a-z]{3} ?)?([+-]?)"
    r"(?P<digits>(?:0|[1-9]\d{0,2}(?:,\d{3})+|[1-9]\d*)(?:\.\d+)?|\.\d+)"
    r"(?P<after> ?(?:[$€£¥₩₹]|[a-z]{3}))?"
)
CURRENCIES = dict(zip("$€£¥₩₹", ("usd", "eur", "gbp", "jpy", "krw", "inr"), strict=True))
"""Sign of a currency -> its code."""
CURRENCY_CODES = re.compile(
    "aed|ars|aud|bgn|brl|cad|chf|clp|cny|cop|czk|dkk|egp|eur|gbp|hkd|huf|idr|ils|inr|isk|jpy|krw|mxn|myr"
    "|nok|nzd|php|pln|qar|ron|rub|sar|sek|sgd|thb|try|twd|uah|usd|vnd|zar"
)
"""Matches the code of a currency."""
_TRUTHS = {"true": True, "yes": True, "false": False, "no": False}
_PROSE_WORDS = 6


class Amount(NamedTuple):
    """A number, optionally with a currency.

    Attributes:
        currency: Code in lower case; "": none is stated.
    """

    value: float | int
    currency: str


def equivalent(expected: JsonValue, actual: JsonValue) -> bool:
    """Returns whether two values mean the same.

    Numbers are compared by value (`"5"`, `5`, `5.0`, `"$5.00"`; a leading zero makes a text an identifier),
    dates and times by instant, other texts without regard to case, white space and width, `"true"` and
    `"yes"` as true, lists without regard to order, objects by the expected keys, JSON texts by their value.
    Empty values (null, false, an empty text, list or object) equal an absent value. Prose equals any text
    and an absent value.
    """
    if type(expected) is type(actual) and expected == actual:
        return True
    left, right = _structure(expected), _structure(actual)
    if is_empty(left) or is_empty(right):
        return _is_nothing(left) and _is_nothing(right)
    if isinstance(left, dict) and isinstance(right, dict):
        return objects_equivalent(left, right)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and None not in pair_equivalent(left, right)
    if isinstance(left, dict | list) or isinstance(right, dict | list):
        return False
    return _scalars_equivalent(left, right)


def is_empty(value: JsonValue) -> bool:
    """Returns whether a value is empty: null, false, an empty text or list, or an object of such values."""
    if isinstance(value, dict):
        return all(map(is_empty, value.values()))
    return value is None or value is False or value == [] or (isinstance(value, str) and not value.strip())


def _is_nothing(value: JsonValue) -> bool:
    return is_empty(value) or (
        isinstance(value, str) and (_TRUTHS.get(plain(value)) is False or is_prose(value))
    )


def objects_equivalent(expected: JsonObject, actual: JsonObject) -> bool:
    """Compares the expected keys only; an absent key equals an empty value."""
    return all(equivalent(value, actual.get(key)) for key, value in expected.items())


def pair_equivalent(expected: Sequence[JsonValue], actual: Sequence[JsonValue]) -> list[int | None]:
    """Pairs as many equivalent elements as possible, in any order.

    Returns:
        For every expected element the index of its partner, or None. In very long lists, only elements that
        differ in nothing but case and white space are paired.
    """
    partners = equal_matches([key_of(value) for value in expected], [key_of(value) for value in actual])
    used = set(partners)
    rows = [i for i, partner in enumerate(partners) if partner is None]
    columns = [j for j in range(len(actual)) if j not in used]
    size = sum(nodes(expected[i]) for i in rows) * sum(nodes(actual[j]) for j in columns)
    if 0 < size <= _MOST_PAIRS:
        found = count_matches([expected[i] for i in rows], [actual[j] for j in columns], equivalent)
        for i, column in zip(rows, found, strict=True):
            partners[i] = None if column is None else columns[column]
    return partners


def nodes(value: JsonValue) -> int:
    """Returns the number of nodes of a value; comparing two values costs at most their product."""
    if isinstance(value, dict):
        return 1 + sum(map(nodes, value.values()))
    if isinstance(value, list):
        return 1 + sum(map(nodes, value))
    return (
        1 + len(value) // _NODE_LENGTH if isinstance(value, str) and value.lstrip()[:1] in ("{", "[") else 1
    )


def key_of(value: JsonValue) -> Hashable:
    """Returns a hashable key that only equivalent values share; most equivalent values share it."""
    value = _structure(value)
    if isinstance(value, dict):
        return frozenset((key, key_of(item)) for key, item in value.items() if not is_empty(item))
    if isinstance(value, list):
        return "list", frozenset(Counter(map(key_of, value)).items())
    if isinstance(value, bool):
        return value, "truth"
    number = amount(value)
    if number is not None:
        return number
    return _key_of_text(value) if isinstance(value, str) else repr(value)


def _key_of_text(text: str) -> Hashable:
    if is_prose(text):
        return _PROSE
    read = read_dates(plain(text))
    return read[0].key if len(read) == 1 else plain(text)


def _structure(value: JsonValue) -> JsonValue:
    """Returns the object or list that a text spells, and any other value as it is."""
    found = json_structure(value) if isinstance(value, str) else None
    return value if found is None else found


def _scalars_equivalent(left: JsonValue, right: JsonValue) -> bool:
    if isinstance(left, str) and isinstance(right, str) and (is_prose(left) or is_prose(right)):
        return True
    if isinstance(left, bool) or isinstance(right, bool):
        truth = _truth(left)
        return truth is not None and truth == _truth(right)
    first, second = amount(left), amount(right)
    if first and second:
        return same_amount(first, second)
    return plain(left) == plain(right) or same_date(_dates(left, first), _dates(right, second))


def _dates(value: JsonValue, number: Amount | None) -> tuple[DateReading, ...]:
    if number is None:
        return read_dates(plain(value))
    return () if number.currency else epoch_date(number.value) or read_dates(plain(value))


def _truth(value: JsonValue) -> bool | None:
    return value if isinstance(value, bool) else _TRUTHS.get(plain(value)) if isinstance(value, str) else None


def same_amount(left: Amount, right: Amount) -> bool:
    """Returns whether two amounts are equal; an amount without a currency matches any currency."""
    if left.currency and right.currency and left.currency != right.currency:
        return False
    if left.value == right.value or (_is_whole(left.value) and _is_whole(right.value)):
        return left.value == right.value
    try:
        return math.isclose(left.value, right.value, rel_tol=1e-9, abs_tol=1e-9)
    except OverflowError:
        return False


def _is_whole(value: float) -> bool:
    return isinstance(value, int) or value.is_integer()


def amount(value: JsonValue) -> Amount | None:
    """Parses a number, or a text that holds only a number with an optional currency; None: it is neither."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if not isinstance(value, str):
        return Amount(value, "")
    return _amount_of(plain(value)) if len(value) <= _LONGEST_NUMBER else None


@lru_cache(maxsize=4096)
def _amount_of(text: str) -> Amount | None:
    found = _NUMBER.fullmatch(text)
    if found is None or (found[1] and found[3]):
        return None
    marks = [mark.strip() for mark in (found["before"], found["after"]) if mark]
    named = {CURRENCIES.get(mark, mark) for mark in marks}
    if len(named) > 1 or not all(map(CURRENCY_CODES.fullmatch, named)):
        return None
    digits = (found[1] or found[3]) + found["digits"].replace(",", "")
    return Amount(float(digits) if "." in digits else int(digits), next(iter(named), ""))


@lru_cache(maxsize=4096)
def _plain_text(text: str) -> str:
    return " ".join(normalize("NFKC", text).casefold().split())


def plain(value: JsonValue) -> str:
    """Returns a value as text with case, width and white space normalised."""
    if not isinstance(value, str):
        return str(value)
    return _plain_text(value) if len(value) <= _LONGEST_KEPT else _plain_text.__wrapped__(value)


def is_prose(value: JsonValue) -> bool:
    """Returns whether a text is free prose: six words or more, most of them in lower case.

    In scripts without spaces, four letters count as a word. Words that begin with a capital letter or a
    digit are taken for names, titles and addresses, which are compared.
    """
    if not isinstance(value, str):
        return False
    words = value.split()
    if not value.isascii():
        words = [
            word[i : i + 4]
            for word in words
            for i in range(0, len(word), 4 if _is_unspaced(word) else len(word))
        ]
    small = sum(word[0].isalpha() and not word[0].isupper() for word in words)
    return len(words) >= _PROSE_WORDS and 2 * small > len(words)


def _is_unspaced(word: str) -> bool:
    return any("぀" <= char <= "ヿ" or "一" <= char <= "鿿" or "฀" <= char <= "๿" for char in word)
