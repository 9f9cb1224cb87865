"""Numbers as a language writes them: `1.234,5` in German is `1,234.5` in English."""

import re
from typing import Literal


def _languages(codes: str) -> frozenset[str]:
    return frozenset(codes.split())


GROUPED_BY_SPACE = _languages("be bg cs et fi fr hu hy ka kk lt lv nb nn no pl pt ru sk sv uk uz")
"""Languages that put a space between groups of three digits."""

_WITH_COMMA = GROUPED_BY_SPACE | _languages(
    "af az bs ca da de el es eu fo gl hr id is it lb mk nl ro sl sq sr tr vi"
)
_WITH_POINT_THERE = re.compile(r"(?:de|fr|it)-(?:ch|li)|es-(?:mx|us|pr|gt|hn|ni|pa|pe|do|sv|419)")
_POINT = re.compile(r"(?:[1-9]\d{0,2}(?:[,'’]\d{3})+|[1-9]\d?(?:,\d\d)+,\d{3}|[1-9]\d*|0)(?:\.\d+)?|\.\d+")
_COMMA = re.compile(r"(?:[1-9]\d{0,2}(?:[.'’]\d{3})+|[1-9]\d*|0)(?:,\d+)?")
_CLEARLY_COMMA = re.compile(r"[1-9]\d{0,2}(?:\.\d{3})+,\d+|[1-9]\d{0,2}(?:\.\d{3}){2,}")
_DAY_FIRST = (_WITH_COMMA | _languages("ar bn gu he hi mr ms ta te th")) - _languages("af eu hu lt sv")
_ENGLISH_DAY_FIRST = _languages("001 150 au gb hk ie in nz sg za")
_ENGLISH_MONTH_FIRST = _languages("en en-ph en-us")
_LONGEST = 40


def language_root(language: str | None) -> str:
    """Returns the language of a BCP 47 code, in lower case; "": it is unknown."""
    return re.split("[-_]", (language or "").lower())[0]


def read_number(text: str, language: str | None) -> int | float | None:
    """Reads a number that is written in digits.

    The marks of decimals and groups are those of the language, of an unknown one those of English. A number
    that only the other marks explain is read by them (`2.5` in German, `1.234,50` in English).

    Args:
        text: ASCII digits with their marks.
        language: BCP 47 code; None: unknown.

    Returns:
        The number; None: it is none. A leading zero makes an identifier.
    """
    if len(text) > _LONGEST:
        return None
    if (_has_comma(language) or _CLEARLY_COMMA.fullmatch(text)) and _COMMA.fullmatch(text):
        return _value(re.sub("[.'’]", "", text).replace(",", "."))
    return _value(re.sub("[,'’]", "", text)) if _POINT.fullmatch(text) else None


def first_of_day_and_month(language: str | None) -> Literal["day", "month"] | None:
    """Returns what `05/06/2024` begins with in a language; None: the language is unknown or does not tell.

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
