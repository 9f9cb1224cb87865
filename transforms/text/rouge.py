"""ROUGE-1, ROUGE-2 and ROUGE-L of two texts in any script.

The scores are those of the `rouge-score` package over the tokens of google-adk 2.13, bit for bit:
`m = sum of min(count)`, `P = m / max(1, |candidate|)`, `R = m / max(1, |reference|)`, `F = 2PR / (P + R)`.
Stems and token counts are cached, because stemming takes nearly all of the time.
"""

import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple, TypeVar

from turnwise.transforms.text.porter import stem
from turnwise.transforms.text.subsequence import common_subsequence

RougeType = Literal["rouge1", "rouge2", "rougeL"]
Gram = str | tuple[str, str]
Token = TypeVar("Token", str, bytes)

_ASCII_WORDS = bytes(ord(chr(code).lower()) if chr(code).isalnum() else 32 for code in range(128)).ljust(256)
_ONE_TOKEN_EACH = ((0x4E00, 0x9FFF), (0x3040, 0x309F), (0x30A0, 0x30FF), (0xAC00, 0xD7AF))
_NEW_TOKEN_EACH = ((0x0E00, 0x0E7F), (0x0E80, 0x0EFF), (0x1780, 0x17FF), (0x1000, 0x109F))
_MAX_REMEMBERED_STEMS = 200_000
_SHORTEST_STEMMED = 4


class RougeScore(NamedTuple):
    """Precision, recall and F, each 0..1."""

    precision: float
    recall: float
    fmeasure: float


class _Stems(dict[str, str]):
    """Token -> stem of rouge-score; a token with a non-ASCII character is its own stem."""

    def __missing__(self, token: str) -> str:
        return _remembered(self, token, _stem(token) if token.isascii() else token)


class _AsciiStems(dict[bytes, str]):
    """The same for ASCII tokens as bytes, which split faster."""

    def __missing__(self, token: bytes) -> str:
        return _remembered(self, token, _stem(token.decode()))


def _stem(token: str) -> str:
    return stem(token) if len(token) >= _SHORTEST_STEMMED else token


def _remembered(stems: dict[Token, str], token: Token, found: str) -> str:
    """Returns the stem of a token, after adding it to those that are remembered."""
    if len(stems) >= _MAX_REMEMBERED_STEMS:
        stems.clear()
    stems[token] = found
    return found


class _Separated(dict[int, str]):
    """Code point -> replacement for `str.translate`, so that splitting at blanks gives the tokens."""

    def __missing__(self, code: int) -> str:
        text = self[code] = _separated(chr(code))
        return text


def _separated(char: str) -> str:
    if any(low <= ord(char) <= high for low, high in _ONE_TOKEN_EACH):
        return f" {char} "
    is_mark = unicodedata.category(char).startswith("M")
    if not is_mark and any(low <= ord(char) <= high for low, high in _NEW_TOKEN_EACH):
        return f" {char}"
    return char if is_mark or char.isalnum() else " "


_STEMS = _Stems()
_ASCII_STEMS = _AsciiStems()
_SEPARATED = _Separated()


def rouge_tokens(text: str) -> list[str]:
    """Splits a text into the tokens of google-adk 2.13.

    NFKC and lower case; every Han, Kana and Hangul character is a token of its own; a Thai, Lao, Khmer or
    Myanmar letter starts a token; other letters, digits and marks form words; ASCII words of more than three
    letters are Porter stems (NLTK's variant).
    """
    if text.isascii():
        return list(map(_ASCII_STEMS.__getitem__, text.encode().translate(_ASCII_WORDS).split()))
    normal = unicodedata.normalize("NFKC", text).lower()
    return list(map(_STEMS.__getitem__, normal.translate(_SEPARATED).split()))


@lru_cache(maxsize=1024)
def _reference_counts(text: str, rouge_type: RougeType) -> tuple[dict[Gram, int], int]:
    """Counts the n-grams of a reference; cached, because many conversations share one golden."""
    grams = _grams(text, rouge_type)
    return Counter(grams), len(grams)


def _grams(text: str, rouge_type: RougeType) -> Sequence[Gram]:
    tokens = rouge_tokens(text)
    return list(pairwise(tokens)) if rouge_type == "rouge2" else tokens


def rouge_score(matches: int, reference_size: int, candidate_size: int) -> RougeScore:
    """Returns the scores of two texts of so many tokens or pairs of tokens, of which so many match."""
    precision = matches / (candidate_size or 1)
    recall = matches / (reference_size or 1)
    both = precision + recall
    return RougeScore(precision, recall, 2 * precision * recall / both if both > 0 else 0.0)


def _common_count(reference: dict[Gram, int], candidate: Sequence[Gram]) -> int:
    left, common = dict(reference), 0
    for gram in candidate:
        count = left.get(gram)
        if count:
            left[gram] = count - 1
            common += 1
    return common


def _common_in_order(reference: Sequence[str], candidate: Sequence[str]) -> int:
    places: dict[str, int] = {}
    for place, token in enumerate(reference):
        places[token] = places.get(token, 0) | 1 << place
    return common_subsequence((places.get(token, 0) for token in candidate), len(reference))


def has_tokens(text: str) -> bool:
    """Returns whether a text has any token."""
    return _reference_counts(text, "rouge1")[1] > 0


def rouge(reference: str, candidate: str, rouge_type: RougeType = "rouge1") -> RougeScore:
    """Scores a candidate text against a reference text.

    Args:
        reference: The expected text.
        candidate: The actual text.
        rouge_type: `rouge1` (words), `rouge2` (word pairs) or `rougeL` (longest common subsequence).

    Returns:
        Precision, recall and F. Two texts without any token score 0.0, as in rouge-score.
    """
    if rouge_type == "rougeL":
        wanted, spoken = rouge_tokens(reference), rouge_tokens(candidate)
        return rouge_score(_common_in_order(wanted, spoken), len(wanted), len(spoken))
    counts, reference_size = _reference_counts(reference, rouge_type)
    said = _grams(candidate, rouge_type)
    return rouge_score(_common_count(counts, said), reference_size, len(said))
