"""The sentences of an answer, as a hallucination check counts them."""

import re
from collections.abc import Iterator
from typing import NamedTuple

import sentencex

from transforms.judging.sections import neutral

_BULLET = re.compile(r"[ \t]*(?:(?P<sign>[-*+•‣◦·–—]|#{1,6})|[0-9]{1,3}[.)]|[A-Za-z][.)])[ \t]+")
_END = re.compile(r"[.!?:;。！？：；۔؟।…][\"'”’)\]]*$")


_ORDINAL = re.compile(r"(?:^|[^\w.])[0-9]{1,2}\.\s*$")
_WITH_ORDINAL_DOTS = frozenset(
    (
        "bs",
        "cs",
        "da",
        "de",
        "et",
        "fi",
        "fo",
        "hr",
        "hu",
        "is",
        "lb",
        "lv",
        "nb",
        "nn",
        "no",
        "pl",
        "sk",
        "sl",
        "sr",
    )
)


MAX_SENTENCES = 300
"""An answer of more sentences, or of more than MAX_SECTION characters, is not judged sentence by sentence."""


class Span(NamedTuple):
    """Where a sentence stands: code-point offsets, half open."""

    start: int
    end: int


def sentences(text: str, language: str | None) -> list[Span]:
    """Splits an answer into its sentences, in any script.

    A bullet or a heading is apart from what surrounds it, and may hold several sentences; a table and a
    fenced block are one each. What holds neither a letter nor a digit is no sentence.

    Args:
        text: The answer.
        language: BCP 47 code; None: unknown.
    """
    shown = neutral(text)
    spans = [
        span
        for block in _blocks(shown)
        for span in ([block] if _is_whole(shown, block) else _split(shown, block, language or "en"))
    ]
    return [span for span in (_stripped(shown, span) for span in spans) if _has_words(shown, span)]


def _lines(text: str) -> Iterator[Span]:
    start = 0
    for line in text.split("\n"):
        yield Span(start, start + len(line))
        start += len(line) + 1


def _blocks(text: str) -> Iterator[Span]:
    """Joins the lines that belong together."""
    block: Span | None = None
    is_fenced = False
    for line in _lines(text):
        fence = text.startswith("```", _stripped(text, line).start)
        if block is not None and (is_fenced or (not fence and _goes_on(text, block, line))):
            block = Span(block.start, line.end)
        else:
            if block is not None:
                yield block
            block = line
        if fence:
            is_fenced = not is_fenced
    if block is not None:
        yield block


def _goes_on(text: str, block: Span, line: Span) -> bool:
    """Tells whether a line continues the block: rows of a table, and sentences broken over lines."""
    this, previous = text[slice(*line)], text[slice(*block)]
    if _is_row(this) or _is_row(previous):
        return _is_row(this) and _is_row(previous)
    if not this.strip() or not previous.strip() or _BULLET.match(this):
        return False
    is_indented_bullet = bool(_BULLET.match(previous)) and this[0] in " \t"
    return is_indented_bullet or (this.lstrip()[0].islower() and not _END.search(previous.rstrip()))


def _is_row(line: str) -> bool:
    return line.lstrip().startswith("|") and line.count("|") > 1


def _is_whole(text: str, block: Span) -> bool:
    first = text[slice(*block)].lstrip()
    return first.startswith("```") or _is_row(first)


def _split(text: str, block: Span, language: str) -> Iterator[Span]:
    """Splits a block; a bullet's sign is left off, a number stays with its first sentence.

    Where a dot makes an ordinal (`am 5. Mai`), a small number with one ends no sentence.
    """
    marker = _BULLET.match(text, block.start, block.end)
    start = marker.end() if marker else block.start
    first = block.start if marker and not marker["sign"] else start
    has_ordinals = language.split("-")[0].lower() in _WITH_ORDINAL_DOTS
    for sentence in sentencex.segment(language, text[start : block.end]):
        start += len(sentence)
        if not (has_ordinals and _ORDINAL.search(sentence) and text[start : block.end].strip()):
            yield Span(first, start)
            first = start
    if first < start:
        yield Span(first, start)


def _stripped(text: str, span: Span) -> Span:
    piece = text[slice(*span)]
    start = span.start + len(piece) - len(piece.lstrip())
    return Span(start, start + len(piece.strip()))


def _has_words(text: str, span: Span) -> bool:
    return any(char.isalnum() for char in text[slice(*span)])
