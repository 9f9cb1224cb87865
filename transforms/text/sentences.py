"""Splits answers into sentences."""

import re
from collections.abc import Iterator
from typing import NamedTuple

import sentencex

from turnwise.transforms.text.languages import (
    ABBREVIATIONS,
    ABBREVIATIONS_OF_FIGURES,
    ANY_ABBREVIATION,
    BEFORE_ORDINALS,
    CAPITAL_ABBREVIATIONS,
    FUNCTION_WORDS_BY_LANGUAGE,
    GERMAN_MONTHS,
    ORDINAL_DOTS,
    SHARED_MONTHS,
    guessed_language,
)
from turnwise.transforms.text.sanitize import sanitize

_BULLET = re.compile(r"[ \t]*(?:(?P<sign>[-*+•‣◦·–—]|[#♯]{1,6})|[0-9]{1,3}[.)]|[A-Za-z][.)])[ \t]+")
_END = re.compile(r"[.!?:;。！？：；۔؟।…][\"'”’)\]]*$")

_TAIL = 60
_NUMBER = re.compile(r"(?:^|[^\w.])[0-9]{1,2}\.\s*$")
_DATE = re.compile(
    r"(?<![\w.])(?:0?[1-9]|[12][0-9]|3[01])\.\s{0,2}(?:0?[1-9]|1[0-2])\.\s{0,2}(?:19|20)[0-9]{2}(?!\w)"
)
_SPACED = re.compile(r"(?<=\b[^\W\d_])\.\s+")  # `z. B.` counts as `z.B.`
_LAST = re.compile(r"(?:(?P<before>[^\W\d_]+)[\s,]+)?(?P<last>[^\s(\[\"'„“»«/]+)\.\s*$")
_FIRST = re.compile(r"[^\W\d_]+")

MAX_SENTENCES = 300
"""An answer of more sentences, or of more than MAX_SECTION characters, is not judged sentence by sentence."""


class SentenceSpan(NamedTuple):
    """Range of a sentence: half-open code-point offsets."""

    start: int
    end: int


def sentences(text: str, language: str | None) -> list[SentenceSpan]:
    """Splits an answer into its sentences, in any script.

    List entries and headings are separate and may hold several sentences; a table or a fenced block is one
    sentence. Text without a letter or digit is skipped.

    Args:
        text: The answer.
        language: BCP 47 code; None: detected from the text.
    """
    shown = sanitize(text)
    code = language.split("-")[0].lower() if language else guessed_language(shown)
    spans = [
        span
        for block in _blocks(shown)
        for span in ([block] if _is_whole(shown, block) else _split(shown, block, code))
    ]
    stripped = (_stripped(shown, span) for span in spans)
    return [span for span in stripped if any(map(str.isalnum, shown[slice(*span)]))]


def _lines(text: str) -> Iterator[SentenceSpan]:
    start = 0
    for line in text.split("\n"):
        yield SentenceSpan(start, start + len(line))
        start += len(line) + 1


def _blocks(text: str) -> Iterator[SentenceSpan]:
    block: SentenceSpan | None = None
    is_fenced = False
    for line in _lines(text):
        fence = text.startswith("```", _stripped(text, line).start)
        if block is not None and (is_fenced or (not fence and _goes_on(text, block, line))):
            block = SentenceSpan(block.start, line.end)
        else:
            if block is not None:
                yield block
            block = line
        if fence:
            is_fenced = not is_fenced
    if block is not None:
        yield block


def _goes_on(text: str, block: SentenceSpan, line: SentenceSpan) -> bool:
    """Returns whether a line continues the block: table rows, and sentences broken over lines."""
    this, previous = text[slice(*line)], text[slice(*block)]
    if _is_row(this) or _is_row(previous):
        return _is_row(this) and _is_row(previous)
    if not this.strip() or not previous.strip() or _BULLET.match(this):
        return False
    is_indented_bullet = bool(_BULLET.match(previous)) and this[0] in " \t"
    return is_indented_bullet or (this.lstrip()[0].islower() and not _END.search(previous.rstrip()))


def _is_row(line: str) -> bool:
    return line.lstrip().startswith("|") and line.count("|") > 1


def _is_whole(text: str, block: SentenceSpan) -> bool:
    first = text[slice(*block)].lstrip()
    return first.startswith("```") or _is_row(first)


def _split(text: str, block: SentenceSpan, language: str | None) -> Iterator[SentenceSpan]:
    """Splits a block; a bullet sign is dropped, a list number stays with the first sentence."""
    marker = _BULLET.match(text, block.start, block.end)
    start = marker.end() if marker else block.start
    first = block.start if marker and not marker["sign"] else start
    content = start
    for sentence in sentencex.segment(language or "en", text[start : block.end]):
        start += len(sentence)
        so_far = text[max(first, content, start - _TAIL) : start]
        if not _is_open(so_far, text[start : min(start + _TAIL, block.end)], language):
            yield SentenceSpan(first, start)
            first = start
    if first < start:
        yield SentenceSpan(first, start)


def _is_open(sentence: str, rest: str, language: str | None) -> bool:
    """Returns whether a piece ends with the dot of an abbreviation or an ordinal."""
    tail = _SPACED.sub(".", sentence[-_TAIL:])
    last = _LAST.search(tail)
    follows = rest.lstrip()
    if last is None or not follows:
        return False
    if language != "en" and follows[0].isdigit() and _is_in_date(tail, rest):
        return True
    if _NUMBER.search(tail):
        return _is_ordinal((last["before"] or "").lower(), follows, language)
    word = last["last"].lower()
    known = ANY_ABBREVIATION if language is None else ABBREVIATIONS.get(language, frozenset())
    if word in known or (language != "en" and len(word) == 1 and word.isalpha() and follows[0].islower()):
        return True
    if language is None and follows[0].isdigit() and last["last"] in CAPITAL_ABBREVIATIONS:
        return True
    figures = ABBREVIATIONS_OF_FIGURES.get(language, ABBREVIATIONS_OF_FIGURES[None])
    return (follows[0].isdigit() or follows[0].islower()) and word in figures


def _is_in_date(tail: str, rest: str) -> bool:
    """Returns whether a date in digits (`3. 5. 1990`) continues after the piece."""
    dates = _DATE.finditer(tail + rest)
    return any(found.start() < len(tail) < found.end() for found in dates)


def _is_ordinal(before: str, follows: str, language: str | None) -> bool:
    """Returns whether a small number with a dot is an ordinal, by the words around it."""
    word = _FIRST.match(follows)
    after = word.group().lower() if word else ""
    if after in GERMAN_MONTHS or (after in SHARED_MONTHS and language != "en"):
        return True
    if language is not None and language not in ORDINAL_DOTS:
        return False
    starts = FUNCTION_WORDS_BY_LANGUAGE.get(language or "de", frozenset())
    is_start = follows[0].isupper() and after in starts
    if is_start or follows[0].islower():
        return not is_start
    if language is None:
        return follows[0].isupper() and before in BEFORE_ORDINALS
    return language != "de" or not before or before in BEFORE_ORDINALS


def _stripped(text: str, span: SentenceSpan) -> SentenceSpan:
    piece = text[slice(*span)]
    start = span.start + len(piece) - len(piece.lstrip())
    return SentenceSpan(start, start + len(piece.strip()))
