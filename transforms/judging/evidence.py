"""Evidence, indexed by what it says and where it says it."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from itertools import chain, pairwise
from typing import NamedTuple

from transforms.judging.words import Word, dates_in_words, read_words, starts_of, tokenize

_BLOCK = 24
WINDOW = 2 * _BLOCK
"""How many words are close together."""


_SENTENCE_END = re.compile(r"[.!?](?=\s)|[。！？؟।\n;{}]")


class Span(NamedTuple):
    """A stretch of evidence, `context[start:end]`.

    Attributes:
        context: The stretch and up to 24 words on either side; a line break stands for the end of the piece.
        start: Where the first word begins that a claim shares.
        end: Where the last one ends.
    """

    context: str
    start: int
    end: int

    @property
    def quote(self) -> str:
        """The stretch itself."""
        return self.context[self.start : self.end]


class _Piece:
    """A piece of evidence: its words, and where they stand."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokenize(text)
        self.words = read_words(self.tokens)
        self._starts: list[int] = []

    def starts(self) -> list[int]:
        """Gives where every word begins, and at last where the text ends."""
        self._starts = self._starts or starts_of(self.tokens, self.text)
        return self._starts


class Evidence:
    """Pieces of evidence, cut into blocks of 24 words.

    Two neighbouring blocks make a window, which has the number of the first. What is said of one thing is
    said close together, while the words of a false claim are scattered over a long text.

    Attributes:
        keys: Everything that is said anywhere.
    """

    def __init__(self, pieces: Iterable[str]) -> None:
        """Reads pieces; neither their order nor a repeated one makes a difference."""
        self.keys: set[str] = set()
        self._pieces: list[_Piece] = []
        self._first_blocks: list[int] = []
        self._next_block = 0
        self._windows_of: dict[str, list[int]] = {}
        for piece in sorted(set(pieces)):
            self._read(piece)

    def _read(self, text: str) -> None:
        piece = _Piece(text)
        self._pieces.append(piece)
        self._first_blocks.append(self._next_block)
        for start in range(0, len(piece.words), _BLOCK):
            self._index(piece.words[start : start + _BLOCK])
        self._next_block += 1
        self.keys.update(chain.from_iterable([word.keys for word in piece.words]))
        self.keys.update(*(days for _, days in dates_in_words(piece.words)))

    def _index(self, block: list[Word]) -> None:
        number, windows_of = self._next_block, self._windows_of
        for key in chain.from_iterable([word.keys for word in block if word.is_content]):
            windows = windows_of.get(key)
            if windows is None:
                windows_of[key] = [number - 1, number]
            elif windows[-1] == number - 1:
                windows.append(number)
            elif windows[-1] != number:
                windows += number - 1, number
        self._next_block += 1

    def best_window(self, content: Mapping[str, float]) -> tuple[int, float]:
        """Finds the window that covers most of a claim.

        Args:
            content: Features of the claim with their weights.

        Returns:
            The number of its first block and the weight that it covers; (0, 0.0) where there is nothing.
        """
        covered: dict[int, float] = {}
        windows_of = self._windows_of
        for key, weight in content.items():
            for window in windows_of.get(key, ()):
                covered[window] = covered.get(window, 0.0) + weight
        return max(covered.items(), key=lambda item: (item[1], -item[0]), default=(0, 0.0))

    def span(self, window: int, content: Mapping[str, float]) -> Span | None:
        """Finds the sentence of a window that says most of a claim's content; None where none says any."""
        number = bisect_right(self._first_blocks, window + 1) - 1
        if number < 0:
            return None
        piece = self._pieces[number]
        first = max(0, (window - self._first_blocks[number]) * _BLOCK)
        nearby, shares_nothing = piece.words[first : first + WINDOW], content.keys().isdisjoint
        shared = [place for place, word in enumerate(nearby, first) if not shares_nothing(word.keys)]
        best = max(_sentences(piece, shared), key=lambda places: _weight(piece, places, content))
        return _stretch(piece, best, range(first, first + len(nearby))) if best else None


def _sentences(piece: _Piece, places: list[int]) -> list[list[int]]:
    """Parts words where a sentence ends between them."""
    text, tokens, starts = piece.text, piece.tokens, piece.starts()
    sentences = [places[:1]]
    for last, place in pairwise(places):
        if _SENTENCE_END.search(text, starts[last] + len(tokens[last]), starts[place]):
            sentences.append([])
        sentences[-1].append(place)
    return sentences


def _weight(piece: _Piece, places: Iterable[int], content: Mapping[str, float]) -> float:
    keys = dict.fromkeys(chain.from_iterable(piece.words[place].keys for place in places))
    return sum([content.get(key, 0.0) for key in keys])


def _stretch(piece: _Piece, places: list[int], window: range) -> Span:
    text, starts = piece.text, piece.starts()
    start, end = starts[places[0]], starts[places[-1]] + len(piece.tokens[places[-1]])
    begin, after = window.start - _BLOCK, window.stop + _BLOCK
    before = text[starts[begin] : start] if begin > 0 else "\n" + text[:start]
    rest = text[end : starts[after]] if after < len(piece.words) else text[end:] + "\n"
    return Span(before + text[start:end] + rest, len(before), len(before) + end - start)
