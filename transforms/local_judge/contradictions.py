"""Detects contradictions between two clauses, with few false positives.

Both must be single clauses with nearly the same content. They contradict each other if only one of them is
negated, or if they differ in one number, month, weekday or unit.
"""

import re
from collections.abc import Iterable

from turnwise.transforms.local_judge.claims import Claim, quoted_names
from turnwise.transforms.local_judge.evidence import EvidenceSpan
from turnwise.transforms.local_judge.named_values import other_named_value, without_named_values
from turnwise.transforms.text.function_words import NEGATING
from turnwise.transforms.text.korean import without_korean_endings
from turnwise.transforms.text.words import Word, is_negated, weigh, words

_BREAK = re.compile(r"[.,:](?=[\s*_]|$)|[!?;。！？；؟،、，\n(){}\[\]|\"“”«»—–]")
_ANSWER = re.compile(
    r"\W*(?:yes|no|ja|nein|oui|non|sí|はい|いいえ|네|아니요)\s*[,，、،.!。！]\s*", re.IGNORECASE
)
_IS_KEY = re.compile(r'(?:\\?")?\s{0,4}:')
_WORTH_A_LOOK = 0.5
_KIND = re.compile(r"^#[mt]?")
_SAME = 0.9
_ALIKE = 0.75


def contradiction(claim: Claim, span: EvidenceSpan, together: float, source: str) -> str | None:
    """Returns one sentence on how a text contradicts a claim; None: no clear contradiction.

    Args:
        claim: The claim.
        span: The most similar range of the text.
        together: Weight of the claim's content around the range.
        source: Name of the text in the sentence.
    """
    if together < _WORTH_A_LOOK * sum(claim.content.values()):
        return None
    said, held = _only_clause(claim.text), _clause_around(span)
    if said is None or held is None:
        return None
    if _is_denial(said, held):
        return f"{source} says the contrary: “{held.strip()}”."
    other = _other_number(words(said), words(held)) or _other_name(said, held)
    return f"{source} says {quoted_names(other[1:])}, not {quoted_names(other[:1])}." if other else None


def _only_clause(sentence: str) -> str | None:
    answer = _ANSWER.match(sentence)
    clause = sentence[answer.end() if answer else 0 :].strip(" .!。！\n*")
    return None if _BREAK.search(clause) else clause


def _clause_around(span: EvidenceSpan) -> str | None:
    if _BREAK.search(span.quote):
        return None
    before, after = span.context[: span.start], span.context[span.end :]
    if _IS_KEY.match(after) or not _BREAK.search(before) or not _BREAK.search(after):
        return None
    return _BREAK.split(before)[-1] + span.quote + _BREAK.split(after, maxsplit=1)[0]


def _is_denial(said: str, held: str) -> bool:
    if is_negated(words(said)) == is_negated(words(held)):
        return False
    both = (said, held)
    return any(
        _is_same_content(*(words(NEGATING.sub("", shorten(clause))) for clause in both))
        for shorten in (str, without_korean_endings)
    )


def _other_name(said: str, held: str) -> list[str]:
    """Returns the only month, weekday or unit in which clauses differ, the claimed one first; else []."""
    names = other_named_value(said, held)
    if names is None or _numbers_missing(words(said), words(held)):
        return []
    is_same = _is_same_content(*(words(without_named_values(clause)) for clause in (said, held)))
    return list(names) if is_same else []


def _other_number(claimed: list[Word], known: list[Word]) -> list[str]:
    """Returns the only unknown number of a claim and the number in its place; else an empty list."""
    ours, theirs = _numbers_missing(claimed, known), _numbers_missing(known, claimed)
    if len(ours) != 1 or len(theirs) != 1 or _kind(ours[0]) != _kind(theirs[0]):
        return []
    if not _is_same_content(*([word for word in side if not word.demands] for side in (claimed, known))):
        return []
    return [ours[0].lower, theirs[0].lower]


def _kind(number: Word) -> str:
    return "".join(_KIND.findall(number.keys[0]))


def _numbers_missing(found: Iterable[Word], others: Iterable[Word]) -> list[Word]:
    keys = {key for word in others for key in word.keys}
    return [word for word in found if any(keys.isdisjoint(demand) for demand in word.demands)]


def _is_same_content(claimed: Iterable[Word], known: Iterable[Word]) -> bool:
    ours, theirs = (weigh(word for word in side if word.is_content) for side in (claimed, known))
    shared = sum(min(weight, theirs.get(key, 0.0)) for key, weight in ours.items())
    return shared > 0 and shared >= _SAME * sum(ours.values()) and shared >= _ALIKE * sum(theirs.values())
