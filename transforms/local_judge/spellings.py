"""Writes the codes of a sentence as the evidence spells them.

A phone, card, account or flight number is the same with and without spaces, hyphens and brackets. `card
ending in 4242` names a number that ends so.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from turnwise.transforms.text.numbers import read_numeral
from turnwise.transforms.text.words import words

_RUN = re.compile(r"[A-Za-z0-9]{1,64}")
_GAP = re.compile(r"[ \u00a0‐‑()-]{1,2}")
_MOST_RUNS, _LONGEST = 9, 2_000
_FEWEST_DIGITS, _SHORTEST, _LONGEST_LETTERS = 6, 3, 5
_ENDING = re.compile(
    r"(?:\bending\s+(?:in|with)|\b(?:card|account|number|phone|certificate|iban)\s+ends\s+(?:in|with)"
    r"|\blast\s+(?:four|4)\s+digits(?:\s+of\s+(?:the|your)\s+\w{1,20})?(?:\s+(?:are|is))?|\bend(?:et|end)\s+auf|\bEndziffern"
    r"|\btermin(?:ée?|ada|ado|a|e)\s+(?:par|en)|末尾が?|下4桁[がは]?|끝자리[가는]?|[*•]{2,20}|\b[xX]{3,20})"
    r"[\s:*#•-]{0,20}(\d{4})(?!\d)",
    re.IGNORECASE,
)
_MAY_BE_CODE = re.compile(r"\d[\d \u00a0‐‑()-]{4,}\d|[A-Z][ -]?\d|\d[ -]?[A-Z]|[a-z]\d|\d[a-z]")
_YEAR = re.compile(r"(?:19|20)\d\d")


class SpelledText:
    """A text without the spaces, hyphens and brackets between runs of letters and digits."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts: list[int] = []
        self._ends: dict[int, int] = {}
        self._places: list[int] = []
        parts, size, last = list[str](), 0, 0
        for run in _RUN.finditer(text):
            if last and not _GAP.fullmatch(text, last, run.start()):
                parts.append(" ")
                size += 1
            self._starts.append(size)
            self._places.append(run.start())
            parts.append(run[0])
            size, last = size + len(run[0]), run.end()
            self._ends[size] = last
        self._compact = "".join(parts)

    def find(self, code: str) -> str | None:
        """Returns how the text spells a code without spaces and hyphens; None: it has no such code."""
        starts, start = self._starts, self._compact.find(code)
        while start >= 0:
            index, end = bisect_left(starts, start), start + len(code)
            is_start = index < len(starts) and starts[index] == start
            if is_start and end in self._ends:
                return self._text[self._places[index] : self._ends[end]]
            index += is_start
            start = self._compact.find(code, starts[index]) if index < len(starts) else -1
        return None

    def ending_in(self, digits: str) -> str | None:
        """Returns a number of the text that ends in some digits; None: it has none."""
        number = re.search(rf"\d{{0,30}}{digits}(?!\d|[ -]\d{{4}}(?!\d))", self._text)
        return number[0] if number else None


def as_spelled(sentence: str, texts: Sequence[SpelledText]) -> str:
    """Returns a sentence with its codes as texts spell them, and whole numbers for their last digits."""
    if not texts or len(sentence) > _LONGEST:
        return sentence

    def whole(ending: re.Match[str]) -> str:
        number = _first(text.ending_in(ending[1]) for text in texts) or ""
        return number if len(number) >= _FEWEST_DIGITS else ending[0]

    return "".join(_respelled(_ENDING.sub(whole, sentence), texts))


def names_ending(sentence: str) -> bool:
    """Returns whether a sentence names a number by its last digits."""
    return re.search(r"\d{4}", sentence) is not None and _ENDING.search(sentence) is not None


def has_code(sentence: str) -> bool:
    """Returns whether a sentence has a number that may be spelled in several ways."""
    return _MAY_BE_CODE.search(sentence) is not None


def missing_endings(sentence: str, texts: Sequence[SpelledText]) -> list[str]:
    """Returns the last digits that a sentence states and in which no number of the texts ends."""
    ends = [ending[1] for ending in _ENDING.finditer(sentence)]
    return [end for end in ends if not (_YEAR.match(end) or any(text.ending_in(end) for text in texts))]


def _respelled(sentence: str, texts: Sequence[SpelledText]) -> Iterator[str]:
    runs, done, first = list(_RUN.finditer(sentence)), 0, 0
    while first < len(runs):
        end = first
        while end < min(len(runs), first + _MOST_RUNS) and _is_part(runs[end][0]):
            if end > first and not _GAP.fullmatch(sentence, runs[end - 1].end(), runs[end].start()):
                break
            end += 1
        for last in reversed(range(first, end)):
            code = "".join(run[0] for run in runs[first : last + 1])
            least = _FEWEST_DIGITS if code.isdigit() else _SHORTEST
            is_code = len(code) >= least and any(map(str.isdigit, code))
            if is_code and (held := _first(text.find(code) for text in texts)):
                yield sentence[done : runs[first].start()] + held
                done, first = runs[last].end(), last
                break
        first += 1
    yield sentence[done:]


def _is_part(run: str) -> bool:
    return any(map(str.isdigit, run)) or (run.isupper() and len(run) <= _LONGEST_LETTERS)


def _first(texts: Iterable[str | None]) -> str | None:
    return next((text for text in texts if text), None)


# A card or booking number, a phone number with hyphens, an address of e-mail or the internet, a version, and
# what is no date or time (`2024-75-24`, `96:00`): known only if the evidence has all parts one after another.
_CODE = re.compile(
    r"(?<![\w.,/:-])(?:\d{1,4}(?:-\d{1,4}){2,5}|\d{1,5}(?:\.\d{1,5}){2,5}|\d{4}(?:[ -]\d{4}){2,4}"
    r"|(?:2[5-9]|[3-9]\d):\d\d|\d{1,2}:[6-9]\d|\d{1,8}[A-Z][A-Z\d]{3,15}|\d{1,3}[A-Fab])(?![\w/-]|[.,:]\d)"
    r"|[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,4}"
)
_LIST = re.compile(r"\[\s{0,4}(-?\d[\d.\s-]{0,40}(?:,[\d.\s-]{1,40}){1,999})\]")
_PARTS = re.compile(r"\d+|[^\W\d_]+")


def missing_codes(sentence: str, texts: Iterable[str]) -> list[str]:
    """Returns the codes of a sentence that none of some texts of `parts_of` holds."""
    codes = [match[0] for match in _CODE.finditer(sentence) if not _is_number(match[0])]
    known = list(texts) if codes else []
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
