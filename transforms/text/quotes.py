"""Finds a judge's quotes in a text."""

import re
from functools import lru_cache
from unicodedata import normalize

from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.text.sanitize import HIDDEN, sanitize, visible, visible_places

_MARKS = str.maketrans("", "", "\\\"'`*_“”„‘’«»\u200c\u200d")
_BRACKETS = str.maketrans("‹›⟦⟧♯", "<>[]#")
"""What `sanitize` writes in place of brackets and heading signs, which depends on what is around them."""

_ELLIPSIS = re.compile(r"\[?(?:\.\.\.|…)\]?")


def quoted(quote: str, evidence: str, name: str = "quote") -> JsonObject:
    """Returns `{name: quote, name_found: whether the evidence holds it}`; both None for an empty quote."""
    text = quote.strip()
    return {name: text or None, f"{name}_found": contains_quote(text, evidence) if text else None}


def contains_quote(quote: str, text: str) -> bool:
    """Returns whether a text holds a quote, ignoring white space, letter case, quotation marks and markup.

    Both are compared as a judge is shown them, with their own brackets, and without characters that have no
    width and without joiners. An ellipsis matches any text between its parts. A quote without a letter or
    digit is never found.
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


def find_span(quote: str, text: str) -> tuple[int, int] | None:
    """Returns the half-open code-point range of a quote's first occurrence; None: not found.

    Any white space in the quote matches any white space in the text.
    """
    words = _shown(quote).strip(" \t\n\"'“”„«»").split()
    shown = sanitize(text).translate(_BRACKETS)
    seen = shown.replace(HIDDEN, "")
    match = re.search(r"\s+".join(map(re.escape, words)), seen) if words else None
    if match is None or len(seen) == len(shown):
        return match.span() if match else None
    places = visible_places(shown)
    return places[match.start()], places[match.end() - 1] + 1


@lru_cache(maxsize=16)
def _flat(text: str) -> str:
    return " ".join(normalize("NFKC", _shown(text)).translate(_MARKS).casefold().split())


def _shown(text: str) -> str:
    return visible(text).translate(_BRACKETS)
