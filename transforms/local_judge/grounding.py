"""Checks sentences against evidence without a model, by their common words.

Every sentence that claims something has a coverage and with it a probability of being supported. What a
missing number, date or identifier, or a contradiction, refutes has a coverage of 0.
"""

from collections.abc import Sequence
from itertools import chain
from typing import Literal, NamedTuple

from turnwise.transforms.local_judge.claims import (
    Claim,
    missing_numbers,
    missing_words,
    quoted_names,
    read_claim,
)
from turnwise.transforms.local_judge.codes import missing_codes
from turnwise.transforms.local_judge.contradictions import contradiction, overstated
from turnwise.transforms.local_judge.coverage import coverage, probability, weight_in_answer
from turnwise.transforms.local_judge.evidence import Evidence, EvidencePassage
from turnwise.transforms.local_judge.records import UNKNOWN
from turnwise.transforms.local_judge.replaced_numbers import replaced_number
from turnwise.transforms.local_judge.speech_acts import (
    NOTHING_SAID,
    nothing_claimed,
    why_no_claim,
    without_talk,
)
from turnwise.transforms.local_judge.spellings import as_spelled, has_code, missing_endings, names_ending
from turnwise.transforms.local_judge.statuses import denying_status

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
    """Returns one sentence on how the evidence contradicts a claim; None: it does not."""
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
