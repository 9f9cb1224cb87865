"""Checks sentences against evidence without a model, by their common words.

A sentence is supported if the evidence holds all of its numbers and most of its words. Words far from the
others count half. A credit of one word keeps a short sentence from failing because of one word.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from turnwise.transforms.local_judge.claims import (
    Claim,
    missing_numbers,
    missing_words,
    quoted_names,
    read_claim,
)
from turnwise.transforms.local_judge.contradictions import contradiction
from turnwise.transforms.local_judge.evidence import WINDOW, Evidence
from turnwise.transforms.local_judge.speech_acts import nothing_claimed, why_no_claim
from turnwise.transforms.text.features import WORD_WEIGHT

GroundingLabel = Literal["supported", "unsupported", "contradictory", "not_applicable"]

_COVERAGE = 0.75
_CREDIT = WORD_WEIGHT


class GroundingVerdict(NamedTuple):
    """Verdict on a sentence.

    Attributes:
        label: `not_applicable`: it claims nothing.
        quote: Words of the evidence that cover most of it; "": none.
        reason: One sentence for a reviewer.
        is_certain: Whether numbers, dates, identifiers or a negation decided it, not other words.
    """

    label: GroundingLabel
    quote: str
    reason: str
    is_certain: bool = False


def ground(sentences: Sequence[str], evidence: Sequence[str]) -> list[GroundingVerdict]:
    """Compares sentences with evidence.

    More evidence never makes a supported sentence unsupported. The order of pieces does not matter.

    Args:
        sentences: Sentences of the answer, in any language.
        evidence: Tool results, earlier turns, instructions.

    Returns:
        One verdict per sentence, in order.
    """
    known = Evidence(evidence)
    return [_verdict(read_claim(sentence), known) for sentence in sentences]


def _verdict(claim: Claim, known: Evidence) -> GroundingVerdict:
    if reason := nothing_claimed(claim):
        return GroundingVerdict("not_applicable", "", reason)
    span, together = known.look_up(claim.content)
    quote = span.quote if span else ""
    if span and (reason := contradiction(claim, span, together, "The evidence")):
        return GroundingVerdict("contradictory", quote, reason, is_certain=True)
    if missing := missing_numbers(claim, known.keys):
        return GroundingVerdict(
            "unsupported", quote, f"No evidence holds {quoted_names(missing)}.", is_certain=True
        )
    covered, total = _covered(claim.weights, known), sum(claim.weights.values())
    scattered = (_covered(claim.content, known) - together) * min(1.0, WINDOW / len(claim.words))
    if covered - scattered / 2 + _CREDIT >= _COVERAGE * (total + _CREDIT):
        return GroundingVerdict("supported", quote, f"The evidence holds {covered / total:.0%} of it.")
    if reason := why_no_claim(claim, together):
        return GroundingVerdict("not_applicable", quote, reason)
    return GroundingVerdict("unsupported", quote, _lack(claim, known))


def _covered(weights: Mapping[str, float], known: Evidence) -> float:
    keys = known.keys
    return sum([weight for key, weight in weights.items() if key in keys])


def _lack(claim: Claim, known: Evidence) -> str:
    unknown = missing_words(claim, known.keys)
    return (
        f"No evidence says {quoted_names(unknown)}."
        if unknown
        else "The evidence has its words, but not together."
    )
