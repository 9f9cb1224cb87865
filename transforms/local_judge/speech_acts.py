"""Detects sentences that claim nothing: questions, requests, offers, introductions and small talk."""

import re
from itertools import pairwise

from turnwise.transforms.local_judge.claims import Claim
from turnwise.transforms.text.features import WORD_WEIGHT
from turnwise.transforms.text.function_words import (
    CONDITIONS,
    FIRST_PERSONS,
    MODALS,
    OFFERS,
    REQUESTING_PARTS,
    REQUESTS,
    SECOND_PERSONS,
)

QUESTION = "A question claims nothing."
NOTHING_SAID = "No word in it claims anything."
REQUEST = "A request, an offer or a condition claims nothing."
INTRODUCTION = "It only introduces what follows."
SMALL_TALK = "It says too little to be held against evidence."

_END = r"[^\w?？!！:：]*$"
_QUESTION = re.compile(rf"(?:[?？⸮؟\u037e՞፧]|(?:です|ます|でしょう|ません)か|까요?|나요){_END}")
_INTRODUCTION = re.compile(rf"[:：]{_END}")
_EXCLAMATION = re.compile(rf"[!！]{_END}")
_ASKING_WORDS = REQUESTS | OFFERS
_FEW_WORDS = 2 * WORD_WEIGHT
_SOME_WORDS = 3 * WORD_WEIGHT
_SMALL_SHARE = 0.3
_TAIL = 16


def nothing_claimed(claim: Claim) -> str | None:
    """Returns why a sentence is no claim, independent of the evidence; None: it may be one."""
    if not claim.content:
        return NOTHING_SAID
    return QUESTION if _QUESTION.search(claim.text[-_TAIL:]) else None


def why_no_claim(claim: Claim, known: float) -> str | None:
    """Returns why an unsupported sentence is no claim; None: it is one.

    Args:
        claim: The sentence; the evidence holds all its numbers.
        known: Weight of its content that the evidence holds.
    """
    if _INTRODUCTION.search(claim.text[-_TAIL:]):
        return INTRODUCTION
    if _asks(claim):
        return REQUEST
    return SMALL_TALK if not claim.demands and _is_small_talk(claim, known) else None


def _asks(claim: Claim) -> bool:
    said = [word.lower for word in claim.words]
    if said[0] in CONDITIONS or not _ASKING_WORDS.isdisjoint(said):
        return True
    if any(part in claim.text for part in REQUESTING_PARTS):
        return True
    return any(
        (one in MODALS and other in FIRST_PERSONS) or (other in MODALS and one in FIRST_PERSONS)
        for one, other in pairwise(said)
    )


def _is_small_talk(claim: Claim, known: float) -> bool:
    size = sum(claim.content.values())
    if known >= _SMALL_SHARE * size:
        return False
    if size <= _FEW_WORDS and all(word.is_content for word in claim.words):
        return True
    is_wish = _EXCLAMATION.search(claim.text[-_TAIL:]) and size <= _SOME_WORDS
    return bool(is_wish) and not SECOND_PERSONS.isdisjoint(word.lower for word in claim.words)
