"""Whether a judge's quote stands in the text, and where."""

import re
from functools import lru_cache
from unicodedata import normalize

from turnwise.schemas.values import JsonObject
from turnwise.transforms.text.neutral import neutral

_MARKS = str.maketrans("", "", "\\\"'`*_“”„‘’«»")
_ELLIPSIS = re.compile(r"\[?(?:\.\.\.|…)\]?")


def quoted(quote: str, evidence: str, name: str = "quote") -> JsonObject:
    """Returns a quote and whether the evidence holds it, as `{name: …, name_found: …}`; None: no quote."""
    text = quote.strip()
    return {name: text or None, f"{name}_found": is_in(text, evidence) if text else None}


def is_in(quote: str, text: str) -> bool:
    """Tells whether a text holds a quote, but for white space, letter case, quotation marks and markup.

    An ellipsis stands for anything; what it separates must follow in order. A quote without a letter or a
    digit is in no text.
    """
    parts = [_flat(part) for part in _ELLIPSIS.split(quote)]
    place, flat = 0, _flat(text)
    if not any(char.isalnum() for part in parts for char in part):
        return False
    for part in parts:
        found = flat.find(part, place)
        if found < 0:
            return False
        place = found + len(part)
    return True


def span(quote: str, text: str) -> tuple[int, int] | None:
    """Returns the code-point offsets (half open) of a quote's first occurrence; None: it is not there.

    White space in the quote may stand for any other white space.
    """
    words = quote.strip(" \t\n\"'“”„«»").split()
    match = re.search(r"\s+".join(map(re.escape, words)), neutral(text)) if words else None
    return match.span() if match else None


@lru_cache(maxsize=16)
def _flat(text: str) -> str:
    return " ".join(normalize("NFKC", text).translate(_MARKS).casefold().split())
