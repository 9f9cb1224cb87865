"""ROUGE-1, ROUGE-2 and ROUGE-L of two texts in any script.

The scores are those of the `rouge-score` package over the tokens of google-adk 2.13, bit for bit:
`m = sum of min(count)`, `P = m / max(1, |candidate|)`, `R = m / max(1, |reference|)`, `F = 2PR / (P + R)`.
rouge-score makes the tokens and their stems. They are remembered by word, because stemming takes nearly
all of the time.
"""

import unicodedata
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cache
from itertools import pairwise, zip_longest
from typing import TYPE_CHECKING, Any, Literal

from rouge_score.tokenize import tokenize

from turnwise.transforms.text.cleaning import Remembered

if TYPE_CHECKING:
    from nltk.stem.porter import PorterStemmer


RougeType = Literal["rouge1", "rouge2", "rougeL"]

_ONE_TOKEN_EACH = ((0x4E00, 0x9FFF), (0x3040, 0x309F), (0x30A0, 0x30FF), (0xAC00, 0xD7AF))
_NEW_TOKEN_EACH = ((0x0E00, 0x0E7F), (0x0E80, 0x0EFF), (0x1780, 0x17FF), (0x1000, 0x109F))


_SUFFIXES: dict[str, tuple[str, ...]] = {
    "_step1a": ("s",),
    "_step1b": ("ed", "ing"),
    "_step1c": ("y",),
    "_step2": (
        *("ational", "tional", "enci", "anci", "izer", "bli", "alli", "entli", "eli", "ousli", "ization"),
        *("ation", "ator", "alism", "iveness", "fulness", "ousness", "aliti", "iviti", "biliti", "fulli"),
        "logi",
    ),
    "_step3": ("icate", "ative", "alize", "iciti", "ical", "ful", "ness"),
    "_step4": (
        *("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ment", "ent", "ion", "ou", "ism", "ate"),
        *("iti", "ous", "ive", "ize"),
    ),
    "_step5b": ("ll",),
}
"""Step of NLTK's stemmer -> the suffixes that it looks for; it leaves every other word as it is."""


@cache
def _stemmer() -> "PorterStemmer":
    # nltk has 250 modules, which a run without words to stem need not load.
    from nltk.stem.porter import PorterStemmer

    def quick(step: Callable[[Any, str], str], suffixes: tuple[str, ...]) -> Callable[[Any, str], str]:
        return lambda self, word: step(self, word) if word.endswith(suffixes) else word

    # Most steps find no suffix, and take most of the time to look for it.
    steps = {name: quick(getattr(PorterStemmer, name), suffixes) for name, suffixes in _SUFFIXES.items()}
    return type("QuickStemmer", (PorterStemmer,), steps)()


def stem(word: str) -> str:
    """Returns the stem of an ASCII word, of any length, as rouge-score's stemmer makes it."""
    return _stemmer().stem(word)


def _token(word: bytes) -> str:
    """Returns the token of rouge-score; a word with a non-ASCII character is its own token."""
    # The stemmer leaves a word that ends with a digit as it is; numbers are many, and it takes 8 us.
    is_plain = word.isascii() and not word[-1:].isdigit()
    return tokenize(word.decode(), _stemmer())[0] if is_plain else word.decode()


def _separated(char: str) -> str:
    if any(low <= ord(char) <= high for low, high in _ONE_TOKEN_EACH):
        return f" {char} "
    is_mark = unicodedata.category(char).startswith("M")
    if not is_mark and any(low <= ord(char) <= high for low, high in _NEW_TOKEN_EACH):
        return f" {char}"
    return char if is_mark or char.isalnum() else " "


_token_of = Remembered(_token, 200_000).__getitem__
# Code point -> replacement for `str.translate`, so that splitting at blanks gives the tokens.
_SEPARATED = Remembered[int, str](lambda code: _separated(chr(code)))
_ASCII_SEPARATED = "".join(_separated(chr(code).lower()) for code in range(128)).encode() + bytes(128)


def rouge_tokens(text: str) -> list[str]:
    """Splits a text into the tokens of google-adk 2.13.

    NFKC and lower case; every Han, Kana and Hangul character is a token of its own; a Thai, Lao, Khmer or
    Myanmar letter starts a token; other letters, digits and marks form words. ASCII words are rouge-score's
    tokens: those of more than three letters are Porter stems (NLTK's variant).
    """
    return [*map(_token_of, _spaced(text).split())]


def _spaced(text: str) -> bytes:
    """Returns the words of a text with blanks between them; equal words make equal tokens."""
    if text.isascii():  # bytes are translated several times faster than characters
        return text.encode().translate(_ASCII_SEPARATED)
    return unicodedata.normalize("NFKC", text).lower().translate(_SEPARATED).encode()


def has_tokens(text: str) -> bool:
    """Returns whether a text has any token."""
    return bool(_spaced(text).strip())


def rouge(reference: str, candidate: str, rouge_type: RougeType = "rouge1") -> tuple[float, float, float]:
    """Scores a candidate (actual) text against a reference (expected) text.

    `rouge1` counts words, `rouge2` word pairs, `rougeL` the longest common subsequence. Two texts without any
    token score 0.0, as in rouge-score.

    Returns:
        Precision, recall and F, each 0..1.
    """
    equal = 0
    wanted: Sequence[Hashable]
    spoken: Sequence[Hashable]
    if rouge_type == "rouge1":
        equal, wanted, spoken = _unequal_tokens(reference, candidate)
    else:
        wanted, spoken = rouge_tokens(reference), rouge_tokens(candidate)
    if rouge_type == "rougeL":
        masks: dict[Hashable, int] = {}
        for i, token in enumerate(wanted):
            masks[token] = masks.get(token, 0) | 1 << i
        matches = common_subsequence((masks.get(token, 0) for token in spoken), len(wanted))
    else:
        if rouge_type == "rouge2":
            wanted, spoken = [*pairwise(wanted)], [*pairwise(spoken)]
        matches = equal
        counts: dict[Hashable, int] = {}
        for gram in wanted:
            counts[gram] = counts[gram] + 1 if gram in counts else 1
        for gram in spoken:
            if count := counts.get(gram):
                counts[gram] = count - 1
                matches += 1
    precision, recall = matches / (equal + len(spoken) or 1), matches / (equal + len(wanted) or 1)
    return precision, recall, 2 * precision * recall / (precision + recall) if matches else 0.0


def _unequal_tokens(reference: str, candidate: str) -> tuple[int, list[str], list[str]]:
    """Returns how many words are equal at equal places, which need no token, and the tokens of the others.

    Places are compared clause by clause, and word by word in two clauses of as many words.
    """
    equal = 0
    wanted: list[bytes] = []
    spoken: list[bytes] = []
    clauses, other_clauses = _spaced(reference).split(b"  "), _spaced(candidate).split(b"  ")
    for clause, other in zip_longest(clauses, other_clauses, fillvalue=b""):
        if clause == other:
            clause = clause.strip()
            equal += clause.count(b" ") + 1 if clause else 0
            continue
        words, others = clause.split(), other.split()
        if len(words) != len(others):
            wanted += words
            spoken += others
            continue
        equal += len(words)
        for i, word in enumerate(words):
            if word != others[i]:
                equal -= 1
                wanted.append(word)
                spoken.append(others[i])
    return equal, [*map(_token_of, wanted)], [*map(_token_of, spoken)]


# Computes the longest common subsequence.


def common_subsequence(places: Iterable[int], size: int) -> int:
    """Returns the length of the longest common subsequence of two lists (bit-parallel, after Hyyro 2004).

    `places` holds for every element of the first list a bit mask of the matching indexes of the second, which
    has `size` elements.
    """
    everywhere = (1 << size) - 1
    free = everywhere
    for matching in places:
        taken = free & matching
        free = ((free + taken) | (free - taken)) & everywhere
    return size - free.bit_count()
