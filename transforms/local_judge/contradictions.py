"""Detects contradictions between two clauses, with few false positives.

Two clauses with nearly the same content contradict each other if only one of them is negated, or if they
differ in one number. Longer texts do if all their words are aligned but one negation, month, weekday or unit.
"""

import re
from collections.abc import Iterable

from turnwise.transforms.local_judge.alignment import only_difference
from turnwise.transforms.local_judge.claims import Claim, quoted_names
from turnwise.transforms.local_judge.evidence import EvidenceSpan
from turnwise.transforms.local_judge.meanings import words
from turnwise.transforms.local_judge.negations import (
    denies,
    is_denied,
    replace_idioms,
    with_single_negations,
)
from turnwise.transforms.text.function_words import NEGATING
from turnwise.transforms.text.korean import without_korean_endings
from turnwise.transforms.text.words import Word, weigh

_BREAK = re.compile(r"[.,:](?=[\s*_]|$)|[!?;。！？；؟،、，\n(){}\[\]|\"“”«»—–]")
_ANSWER = re.compile(
    r"\W*(?:yes|no|ja|nein|oui|non|sí|はい|いいえ|네|아니요)\s*[,，、،.!。！]\s*", re.IGNORECASE
)
_IS_KEY = re.compile(r'(?:\\?")?\s{0,4}:')
_SENTENCE_END = re.compile(r"[.!?](?=\s)|[。！？\n]")
_CONDITION = re.compile(
    r"\b(?:if|when|unless|until|except|wenn|falls|sofern|solange|außer|si|sauf)\b|場合|限り|なければ|たら|경우|[으하]면\b",
    re.IGNORECASE,
)
# A superlative of which evidence says that it holds of several, and the same one without that.
_SUPERLATIVES = [
    (re.compile(limited, re.IGNORECASE), re.compile(whole, re.IGNORECASE))
    for limited, whole in (
        (
            r"\b(?:one|some|many|among|amongst)\b(?: of)? (?:the|its|his|her|their) (?:\w+ ){0,2}?"
            r"(most \w+|\w{2,}est)\b",
            r"\bthe (?:\w+ )?(most \w+|\w{2,}est)\b",
        ),
        (
            r"\b(?:eine[rsm]?|zu|unter) de[rn] (?:\w+ )?(\w{2,}[sß]t)en\b",
            r"\b(?:der|die|das) (\w{2,}[sß]t)e\b",
        ),
        (r"\bl'une? des (?:\w+ )?(plus \w+?)s?\b", r"\b(?:le|la) (?:\w+ la )?(plus \w+?)s?\b"),
        (r"\b(?:uno|una) de l[oa]s \w+ (más \w+?)s?\b", r"\b(?:el|la) \w+ (más \w+?)s?\b"),
    )
]
_WORTH_A_LOOK = 0.3
_KIND = re.compile(r"^#[mt]?")
_SAME = 0.9
_ALIKE = 0.75
_MARGIN = 40


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
    is_limited = _is_limited(claim.text, span)
    if said is not None and held is not None:
        if not is_limited and _is_denial(said, held):
            return f"{source} says the contrary: “{held.strip()}”."
        if other := _other_number(words(said), words(held)):
            return f"{source} says {quoted_names(other[1:])}, not {quoted_names(other[:1])}."
    found = (
        None if is_limited else only_difference(_without_answer(claim.text), _around(span, len(claim.text)))
    )
    if found is None:
        return None
    if found.said:
        return f"{source} says {quoted_names([found.held])}, not {quoted_names([found.said])}."
    return f"{source} says the contrary: “{span.quote}”."


def overstated(said: str, span: EvidenceSpan) -> str | None:
    """Returns a superlative of a claim that holds of several by the evidence; None: there is none.

    Args:
        said: The claim.
        span: The most similar range of the evidence.
    """
    for limited, whole in _SUPERLATIVES:
        held = {found[1].lower() for found in limited.finditer(span.context)}
        held -= {found[1].lower() for found in whole.finditer(limited.sub(" ", span.context))}
        for found in whole.finditer(limited.sub(" ", said)) if held else ():
            if found[1].lower() in held:
                return found[1]
    return None


def _is_limited(said: str, span: EvidenceSpan) -> bool:
    """Returns whether a sentence of the evidence denies something under a condition that a claim lacks."""
    before, after = span.context[: span.start], span.context[span.end :]
    sentence = _SENTENCE_END.split(before)[-1] + span.quote + _SENTENCE_END.split(after, maxsplit=1)[0]
    return bool(_CONDITION.search(sentence)) and not (_CONDITION.search(said) or is_denied(said))


def _without_answer(sentence: str) -> str:
    answer = _ANSWER.match(sentence)
    return sentence[answer.end() if answer else 0 :]


def _around(span: EvidenceSpan, size: int) -> str:
    """Returns a range with text on either side; a text that is cut begins and ends with `zqcut`."""
    start, end = max(0, span.start - size // 2 - _MARGIN), span.end + size // 2 + _MARGIN
    cut = "zqcut " if start else "", " zqcut" if end < len(span.context) else ""
    return cut[0] + span.context[start:end] + cut[1]


def _only_clause(sentence: str) -> str | None:
    clause = _without_answer(sentence).strip(" .!。！\n*")
    return None if _BREAK.search(clause) else clause


def _clause_around(span: EvidenceSpan) -> str | None:
    if _BREAK.search(span.quote):
        return None
    before, after = span.context[: span.start], span.context[span.end :]
    if _IS_KEY.match(after) or not _BREAK.search(before) or not _BREAK.search(after):
        return None
    return _BREAK.split(before)[-1] + span.quote + _BREAK.split(after, maxsplit=1)[0]


def _is_denial(said: str, held: str) -> bool:
    both = with_single_negations(said), with_single_negations(held)
    if is_denied(said) == is_denied(held) or any(replace_idioms(clause) != clause for clause in both):
        return False
    if any(sum(word.is_negation for word in words(clause)) > 1 for clause in both):
        return False
    negated, other = both if is_denied(said) else both[::-1]
    if not denies(negated, {key for word in words(other) for key in word.keys}):
        return False
    return any(
        _is_same_content(*(words(NEGATING.sub("", shorten(clause))) for clause in both))
        for shorten in (str, without_korean_endings)
    )


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
