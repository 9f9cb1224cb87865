"""Checks sentences against evidence without a model, by their common words.

Every sentence that claims something has a coverage and with it a probability of being supported. What a
missing number, date or identifier, or a contradiction, refutes has a coverage of 0.
"""

import re
import unicodedata
from collections.abc import Sequence
from itertools import chain
from typing import Literal, NamedTuple

from turnwise.transforms.local_judge.claims import (
    NOTHING_SAID,
    Claim,
    missing_numbers,
    missing_words,
    nothing_claimed,
    quoted_names,
    read_claim,
    why_no_claim,
    without_talk,
)
from turnwise.transforms.local_judge.contradictions import contradiction, overstated
from turnwise.transforms.local_judge.coverage import coverage, probability, replaced_number, weight_in_answer
from turnwise.transforms.local_judge.evidence import Evidence, EvidencePassage
from turnwise.transforms.local_judge.records import UNKNOWN, denying_status
from turnwise.transforms.local_judge.spellings import (
    as_spelled,
    has_code,
    missing_codes,
    missing_endings,
    names_ending,
)
from turnwise.transforms.text.words import is_negated

GroundingLabel = Literal["supported", "unsupported", "contradictory", "not_applicable"]

PROBABLE = 0.5
"""Lowest probability of what counts as supported."""


class GroundingVerdict(NamedTuple):
    """Verdict on a sentence.

    Attributes:
        label: `not_applicable`: it claims nothing.
        quote: Words of the evidence that cover most of it; "": none.
        reason: One sentence for a reviewer.
        coverage: How much of it the evidence holds, 0..1, 0 if it is refuted; None: it claims nothing.
        weight: How much it counts among the sentences of an answer, 0..1: a short one counts less.
        is_certain: Whether numbers, dates, identifiers or a negation decided it, not other words.
        is_comparable: Whether the evidence is prose with a function word of it. A low coverage by records,
            or by text in another language, says little.
    """

    label: GroundingLabel
    quote: str
    reason: str
    coverage: float | None = None
    weight: float = 1.0
    is_certain: bool = False
    is_comparable: bool = True


def ground(
    sentences: Sequence[str], evidence: Sequence[str], asked: Sequence[str] = ()
) -> list[GroundingVerdict]:
    """Compares sentences with evidence.

    More evidence never makes a supported sentence unsupported. The order of pieces does not matter.

    Args:
        sentences: Sentences of the answer, in any language.
        evidence: Tool results, sources, instructions.
        asked: Messages of the user. They support nothing, but a number in them is not invented.

    Returns:
        One verdict per sentence, in order.
    """
    known, mentioned = Evidence(evidence), Evidence(asked)
    return [_verdict(read_claim(sentence), known, mentioned) for sentence in sentences]


def _verdict(said: Claim, known: Evidence, mentioned: Evidence) -> GroundingVerdict:
    if reason := nothing_claimed(said):
        return GroundingVerdict("not_applicable", "", reason)
    whole, said = said, without_talk(said)
    if not said.content:
        return GroundingVerdict("not_applicable", "", NOTHING_SAID)
    claim, missing = _as_spelled(said, known, mentioned)
    passages = known.passages(claim.content)
    quote = passages[0].span(claim.content).quote if passages else ""
    if reason := _refuting(claim, known, passages):
        return GroundingVerdict("contradictory", quote, reason, 0.0, is_certain=True)
    if (flag := known.flags.denying(claim, known.stated)) and flag.value == UNKNOWN:
        return GroundingVerdict("unsupported", quote, f"The evidence has no value of “{flag.name}”.", 0.0)
    if missing:
        reason = f"No evidence holds {quoted_names(missing)}."
        return GroundingVerdict("unsupported", quote, reason, 0.0, is_certain=True)
    if passages and (most := overstated(claim.text, passages[0].span(claim.content))):
        reason = f"The evidence says “{most}” of several."
        return GroundingVerdict("unsupported", quote, reason, 0.0, is_certain=True)
    covered, weight = coverage(claim, known, passages, mentioned), weight_in_answer(claim)
    if probability([(covered, weight)]) >= PROBABLE:
        held = f"The evidence holds {covered:.0%} of it."
        return GroundingVerdict("supported", quote, held, covered, weight)
    if reason := why_no_claim(whole, said.text, known.keys | mentioned.keys):
        return GroundingVerdict("not_applicable", quote, reason)
    comparable = _is_comparable(claim, known)
    lack = _lack(claim, known)
    return GroundingVerdict("unsupported", quote, lack, covered, weight, is_comparable=comparable)


def _as_spelled(claim: Claim, known: Evidence, mentioned: Evidence) -> tuple[Claim, list[str]]:
    """Returns a claim with its codes as the evidence spells them, and what is missing of its numbers."""
    missing = _missing(claim, known, mentioned)
    is_spelled = (missing and has_code(claim.text)) or names_ending(claim.text)
    texts = [*known.spelled(), *mentioned.spelled()] if is_spelled else []
    respelled = as_spelled(claim.text, texts)
    if respelled != claim.text:
        claim = read_claim(respelled)
        missing = _missing(claim, known, mentioned)
    return claim, missing or missing_endings(claim.text, texts)


def _missing(claim: Claim, known: Evidence, mentioned: Evidence) -> list[str]:
    missing = missing_numbers(claim, known.keys, mentioned.keys)
    return missing or missing_codes(claim.text, chain(known.parts(), mentioned.parts()))


def _refuting(claim: Claim, known: Evidence, passages: Sequence[EvidencePassage]) -> str | None:
    best = passages[0] if passages else None
    if best and (reason := contradiction(claim, best.span(claim.content), best.weight, "The evidence")):
        return reason
    flag = known.flags.denying(claim, known.stated)
    if flag is not None and flag.value != UNKNOWN:
        return f"The evidence says “{flag.name}”: {flag.value}."
    if status := denying_status(claim, known.statuses, known.keys):
        return f"The evidence says “{status.name}”: {status.value}."
    if best and (reason := replaced_number(claim, best)):
        return reason
    if currencies := known.other_currency(claim.text):
        return f"The evidence says {quoted_names(currencies[1:])}, not {quoted_names(currencies[:1])}."
    return None


def _is_comparable(claim: Claim, known: Evidence) -> bool:
    grammar = [key for word in claim.words if not word.is_content for key in word.keys]
    return known.is_prose and not known.keys.isdisjoint(grammar)


def _lack(claim: Claim, known: Evidence) -> str:
    unknown = missing_words(claim, known.keys)
    return (
        f"No evidence says {quoted_names(unknown)}."
        if unknown
        else "The evidence has its words, but not together."
    )


MAX_QUESTIONS = 1_000
"""Maximum number of sentences per call."""
MAX_READ = 1_000_000
"""Maximum number of characters of all sources per call."""


class TooLargeError(Exception):
    """The input of the local judge is too large; one line that states what exceeds the limit."""


class SupportQuestion(NamedTuple):
    """A sentence and its sources."""

    sentence: str
    sources: tuple[str, ...]


def supported(questions: Sequence[SupportQuestion]) -> list[GroundingVerdict]:
    """Compares every sentence with its own sources.

    Returns:
        One verdict per question, in order.

    Raises:
        TooLargeError: There are too many sentences or characters.
    """
    if len(questions) > MAX_QUESTIONS:
        raise TooLargeError(
            f"{len(questions)} sentences and sources; the local judge compares {MAX_QUESTIONS}"
        )
    places: dict[tuple[str, ...], list[int]] = {}
    for i, question in enumerate(questions):
        places.setdefault(question.sources, []).append(i)
    size = sum(len(source) for sources in places for source in sources)
    if size > MAX_READ:
        raise TooLargeError(f"sources of {size} characters; the local judge reads {MAX_READ}")
    verdicts: dict[int, GroundingVerdict] = {}
    for sources, indices in places.items():
        found = ground([questions[i].sentence for i in indices], sources)
        verdicts.update(zip(indices, found, strict=True))
    return [verdicts[i] for i in range(len(questions))]


# Compares an answer with the expected one without a model, by their common words.
#
# The similarity is a weighted F-measure in which recall counts four times as much as precision,
# F = 5PR / (4P + R). Missing numbers, a negation on one side and contradictions lower it.

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
