"""Reads numbers by the conventions of a language: `1.234,5` in German is `1,234.5` in English."""

import re
from typing import Literal

from turnwise.transforms.text.function_words import word_set

GROUPED_BY_SPACE = word_set("be bg cs et fi fr hu hy ka kk lt lv nb nn no pl pt ru sk sv uk uz")
"""Languages that put a space between groups of three digits."""

_WITH_COMMA = GROUPED_BY_SPACE | word_set(
    "af az bs ca da de el es eu fo gl hr id is it lb mk nl ro sl sq sr tr vi"
)
_WITH_POINT_THERE = re.compile(r"(?:de|fr|it)-(?:ch|li)|es-(?:mx|us|pr|gt|hn|ni|pa|pe|do|sv|419)")
_POINT = re.compile(r"(?:[1-9]\d{0,2}(?:[,'’]\d{3})+|[1-9]\d?(?:,\d\d)+,\d{3}|[1-9]\d*|0)(?:\.\d+)?|\.\d+")
_COMMA = re.compile(r"(?:[1-9]\d{0,2}(?:[.'’]\d{3})+|[1-9]\d*|0)(?:,\d+)?")
_CLEARLY_COMMA = re.compile(r"[1-9]\d{0,2}(?:\.\d{3})+,\d+|[1-9]\d{0,2}(?:\.\d{3}){2,}")
_DAY_FIRST = (_WITH_COMMA | word_set("ar bn gu he hi mr ms ta te th")) - word_set("af eu hu lt sv")
_ENGLISH_DAY_FIRST = word_set("001 150 au gb hk ie in nz sg za")
_ENGLISH_MONTH_FIRST = word_set("en en-ph en-us")
_LONGEST = 40


def language_root(language: str | None) -> str:
    """Returns the primary language of a BCP 47 code, in lower case; "": unknown."""
    return re.split("[-_]", (language or "").lower())[0]


def read_number(text: str, language: str | None) -> int | float | None:
    """Reads a number written in digits.

    Separators are those of the language, or of English if it is unknown. A number that is valid only with the
    other separators is read with them (`2.5` in German, `1.234,50` in English).

    Args:
        text: ASCII digits with separators.
        language: BCP 47 code; None: unknown.

    Returns:
        The number; None: it is none. A leading zero makes it an identifier.
    """
    if len(text) > _LONGEST:
        return None
    if (_has_comma(language) or _CLEARLY_COMMA.fullmatch(text)) and _COMMA.fullmatch(text):
        return _value(re.sub("[.'’]", "", text).replace(",", "."))
    return _value(re.sub("[,'’]", "", text)) if _POINT.fullmatch(text) else None


def first_of_day_and_month(language: str | None) -> Literal["day", "month"] | None:
    """Returns the first part of `05/06/2024` in a language; None: unknown.

    `en` without a region is read as in the United States.

    Args:
        language: BCP 47 code; None: unknown.
    """
    code = (language or "").lower().replace("_", "-")
    if code in _ENGLISH_MONTH_FIRST:
        return "month"
    root, _, region = code.partition("-")
    is_day = region in _ENGLISH_DAY_FIRST if root == "en" else root in _DAY_FIRST
    return "day" if is_day else None


def _has_comma(language: str | None) -> bool:
    code = (language or "").lower().replace("_", "-")
    return language_root(code) in _WITH_COMMA and not _WITH_POINT_THERE.match(code)


def _value(digits: str) -> int | float:
    return float(digits) if "." in digits else int(digits)
