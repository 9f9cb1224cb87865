"""Compares an answer with the expected one without a model, by their common words.

The similarity is a weighted F-measure in which recall counts four times as much as precision,
F = 5PR / (4P + R). Missing numbers, a negation on one side and contradictions lower it.
"""

import re
import unicodedata
from typing import NamedTuple

from turnwise.transforms.local_judge.claims import (
    Claim,
    missing_numbers,
    missing_words,
    quoted_names,
    read_claim,
)
from turnwise.transforms.local_judge.contradictions import contradiction
from turnwise.transforms.local_judge.evidence import Evidence
from turnwise.transforms.text.words import is_negated

_RECALL_FACTOR = 4.0
_ALL_NUMBERS_MISSING = 0.5
_ONE_IS_NEGATED = 0.9
_CONTRADICTED = 0.05
_LEAST = (0.1, 0.3, 0.48, 0.8)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")


class AnswerComparison(NamedTuple):
    """Comparison of an answer with the expected one.

    Attributes:
        score: 4 fully consistent, 3 mostly, 2 partially (minor omissions), 1 largely inconsistent (major
            omissions), 0 completely inconsistent or contradictory.
        quote: Words of the answer that cover most of the expected one; "": none.
        reason: One sentence for a reviewer.
    """

    score: int
    quote: str
    reason: str


def compare_answers(expected: str, actual: str) -> AnswerComparison:
    """Compares an answer with the expected one, in any language; additional information is allowed."""
    figure, quote, reason = _compare(expected, actual)
    return AnswerComparison(sum(figure >= least for least in _LEAST), quote, reason)


def answer_similarity(expected: str, actual: str) -> float:
    """Returns the similarity behind the score of `compare_answers`, 0..1; 1 for equal texts."""
    return _compare(expected, actual)[0]


def _compare(expected: str, actual: str) -> tuple[float, str, str]:
    """Returns figure, quote and reason."""
    if _normal(expected) == _normal(actual):
        return 1.0, actual.strip(), "The texts are the same."
    wanted, said, known = read_claim(expected), read_claim(actual), Evidence([actual])
    span, _ = known.look_up(wanted.content)
    figure, numbers = _overlap(wanted, said), missing_numbers(wanted, known.keys)
    if numbers:
        figure *= 1 - (1 - _ALL_NUMBERS_MISSING) * len(numbers) / len(wanted.demands)
    is_denied = is_negated(wanted.words) != is_negated(said.words)
    if is_denied:
        figure *= _ONE_IS_NEGATED
    contrary = _contradiction(expected, known)
    if contrary:
        figure *= _CONTRADICTED
    missing = numbers + missing_words(wanted, known.keys)
    return figure, span.quote if span else "", contrary or _reason(figure, missing, is_denied)


def _normal(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _overlap(wanted: Claim, said: Claim) -> float:
    there = said.weights
    common = sum(min(weight, there.get(key, 0.0)) for key, weight in wanted.weights.items())
    if not common:
        return 0.0
    both = _RECALL_FACTOR * sum(wanted.weights.values()) + sum(there.values())
    return min(1.0, (1 + _RECALL_FACTOR) * common / both)


def _contradiction(expected: str, known: Evidence) -> str | None:
    for sentence in _SENTENCE_END.split(expected):
        claim = read_claim(sentence)
        span, together = known.look_up(claim.content)
        if span and (reason := contradiction(claim, span, together, "The answer")):
            return reason
    return None


def _reason(figure: float, missing: list[str], is_denied: bool) -> str:
    if not figure:
        return "The texts have nothing in common."
    if missing:
        return f"The answer lacks {quoted_names(missing)}."
    return "Only one of the texts denies something." if is_denied else "The answer has all expected words."
