"""Detects sentences that claim nothing: questions, requests, introductions and courtesies.

In doubt, a sentence is a claim.
"""

import re

from turnwise.transforms.local_judge.claims import Claim
from turnwise.transforms.local_judge.courtesies import asks_or_offers_help, is_courtesy

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
    r"|^\W*(?:did you know|would you believe|wussten sie|weißt du|wusstest du|saviez-vous|sabía)\b",
    re.IGNORECASE,
)
_INTRODUCTION = re.compile(rf"[:：]{_END}")
_BREAK = re.compile(r"[,;:，、；：](?=\s|[^\W\d])")
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
    return not (_STATED.search(text[:_TAIL]) or _STATED.search(text[-_TAIL:]))


def why_no_claim(claim: Claim) -> str | None:
    """Returns why an unsupported sentence is no claim; None: it is one."""
    if _INTRODUCTION.search(claim.text[-_TAIL:]) and not _BREAK.search(claim.text):
        return INTRODUCTION
    if asks_or_offers_help(claim.text):
        return REQUEST
    return COURTESY if is_courtesy(claim.text) else None
