"""Reads numbers and amounts of money as tools take them, and texts without their spelling."""

import math
import re
from functools import lru_cache
from typing import NamedTuple
from unicodedata import normalize

from turnwise.schemas.jsonio import JsonValue

_LONGEST_NUMBER = 40
_LONGEST_KEPT = 256
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


class Amount(NamedTuple):
    """A number, optionally with a currency.

    Attributes:
        currency: Code in lower case; "": none is stated.
    """

    value: float | int
    currency: str


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
