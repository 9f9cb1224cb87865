"""Finds codes whose parts stand apart in the evidence.

A card or booking number, a phone number with hyphens, an address of e-mail or the internet, a version, and
what is no date or time (`2024-75-24`, `96:00`) are known only if the evidence has all parts one after
another.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import chain

from turnwise.transforms.text.numbers import read_numeral
from turnwise.transforms.text.words import words

_CODE = re.compile(
    r"(?<![\w.,/:-])(?:\d{1,4}(?:-\d{1,4}){2,5}|\d{1,5}(?:\.\d{1,5}){2,5}|\d{4}(?:[ -]\d{4}){2,4}"
    r"|(?:2[5-9]|[3-9]\d):\d\d|\d{1,2}:[6-9]\d|\d{1,8}[A-Z][A-Z\d]{3,15}|\d{1,3}[A-Fab])(?![\w/-]|[.,:]\d)"
    r"|[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,4}"
)
_LIST = re.compile(r"\[\s{0,4}(-?\d[\d.\s-]{0,40}(?:,[\d.\s-]{1,40}){1,999})\]")
_PARTS = re.compile(r"\d+|[^\W\d_]+")


def missing_codes(sentence: str, texts: Iterable[str]) -> list[str]:
    """Returns the codes of a sentence that none of some texts holds.

    Args:
        sentence: The sentence.
        texts: Texts of `parts_of`.
    """
    codes = [found[0] for found in _CODE.finditer(sentence) if not _is_number(found[0])]
    if not codes:
        return []
    known = list(texts)
    return [code for code in codes if not any(parts_of(code) in text for text in known)]


def parts_of(text: str) -> str:
    """Returns the runs of digits and of letters of a text in lower case, each between two spaces."""
    return f" {' '.join(_PARTS.findall(text.lower()))} "


def numbers_of_lists(text: str) -> Iterator[str]:
    """Yields the keys of the numbers in lists such as `[109,338]`, which read like one number."""
    for numbers in _LIST.findall(text):
        for number in numbers.split(","):
            yield from chain.from_iterable(word.keys for word in words(number))


def _is_number(code: str) -> bool:
    """Returns whether a code is one date or number, such as `24.12.2024` or `1.234.567`."""
    if not code.replace(".", "").replace("-", "").isdecimal() or " " in code:
        return False
    return any(
        key.startswith("#m") or len(key) > len(code) - code.count(".") for key in read_numeral(code).keys
    )
