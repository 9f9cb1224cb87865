"""Detects sentences that claim nothing: questions, requests, introductions and courtesies.

In doubt, a sentence is a claim.
"""

import re
from collections.abc import Set

from turnwise.transforms.local_judge.claims import Claim
from turnwise.transforms.local_judge.courtesies import adds_nothing, asks_or_offers_help, is_courtesy

QUESTION = "A question claims nothing."
NOTHING_SAID = "No word in it claims anything."
REQUEST = "A request to the user or an offer of help claims nothing."
INTRODUCTION = "It only introduces what follows."
COURTESY = "A courtesy claims nothing."

_END = r"[^\w?？!！:：]*$"
_QUESTION = re.compile(rf"(?:[?？⸮؟\u037e՞፧]|(?:です|ます|でしょう|ません)か|까요?|나요){_END}")
_STATED = re.compile(
    r"[,;–—]\s*(?:(?:is|are|was|were|do|does|did|has|have|had|can|could|will|wo|ca|would|should|must)(?:n['’]?t)?"
    r"\s+(?:i|you|he|she|it|we|they|there|one)(?:\s+not)?|right|correct|no|yes|true|ok|okay|(?:did )?you know"
    r"|nicht(?:\s+wahr)?|oder(?:\s+nicht)?|richtig|stimmt['’]?s|n['’]est-ce\s+pas|non|¿?verdad|¿?no)\s*[?？]\W*$"
    r"|(?:よね|ですね|ますね|でしょう|죠|지요|잖아요)[?？]\W*$"
    r"|^\W*(?:did you know|would you believe|wussten sie|weißt du|wusstest du|saviez-vous|sabía"
    r"|(?:is|are|was|were)(?:n['’]t)? (?:it|that) (?:not )?(?:[a-z]+ )?that|do you know that|who knew"
    r"|you (?:do )?know that"
    r"|(?:can|could) you (?:believe|imagine)|ist es nicht \w+, dass)\b",
    re.IGNORECASE,
)
_DECLARED = re.compile(
    r"\W*(?:the|a|an|he|she|it|they|this|these|our)\s[^,;:?？]{0,80}"
    r"\s(?:is|are|was|were|has|have|had)\s[^,;:?？]{1,80}\?\W*",
    re.IGNORECASE,
)
_INTRODUCTION = re.compile(rf"[:：]{_END}")
_BREAK = re.compile(r"[,;:，、；：](?=\s|[^\W\d])")
_INTRODUCING = re.compile(
    r"\W*(?:here(?:['’]s| is| are)|below (?:is|are)|the following|these are|hier (?:ist|sind)"
    r"|im folgenden|folgende)\b"
    r"|[^:：]{0,20}(?:以下|次の|다음|아래)",
    re.IGNORECASE,
)
_HEADING = re.compile(r"\W*(?:[A-ZÄÖÜ\d][\w'’-]*[\s/&]*|(?:of|and|for|to|the|in|und|der)\s){1,5}\W*")
_PREDICATE = re.compile(
    r"\b(?:is|are|was|were|been|died|ist|sind|war|waren|wurde|wurden|wird)\b(?!\W*$)"
    r"(?!\s(?:the|your|some|a|an|my|what|as follows|ihre?|die|der|das|einige)\b)"
    r"|(?:니다|어요|です|ます|した)[*\s]*[:：]",
    re.IGNORECASE,
)
_TAIL = 32


def nothing_claimed(claim: Claim) -> str | None:
    """Returns why a sentence is no claim, independent of the evidence; None: it may be one."""
    if not claim.content:
        return NOTHING_SAID
    return QUESTION if _is_question(claim.text) else None


def _is_question(text: str) -> bool:
    """Returns whether a text asks; one with a question tag, or with `did you know`, states."""
    if not _QUESTION.search(text[-_TAIL:]):
        return False
    return not (_STATED.search(text[:_TAIL]) or _STATED.search(text[-_TAIL:]) or _DECLARED.fullmatch(text))


def why_no_claim(claim: Claim, known: Set[str]) -> str | None:
    """Returns why an unsupported sentence is no claim; None: it is one.

    Args:
        claim: The sentence.
        known: Keys of the words that the evidence or the user said.
    """
    if _introduces(claim.text, known):
        return INTRODUCTION
    if asks_or_offers_help(claim.text, known):
        return REQUEST
    return COURTESY if is_courtesy(claim.text) else None


def _introduces(text: str, known: Set[str]) -> bool:
    """Returns whether a sentence only introduces what follows, or is a heading."""
    if not _INTRODUCTION.search(text[-_TAIL:]) or _BREAK.search(text) or _PREDICATE.search(text):
        return False
    return bool(_INTRODUCING.match(text) or _HEADING.fullmatch(text)) or adds_nothing(text, known)
