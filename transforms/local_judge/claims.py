"""Reads a sentence as a claim: its weighted features, and the keys that evidence must hold."""

import re
from collections.abc import Iterable, Set
from typing import NamedTuple

from turnwise.transforms.local_judge.meanings import words
from turnwise.transforms.text.numbers import Keys
from turnwise.transforms.text.words import Word, dates_in_words, weigh

_LIST_MARK = re.compile(r"\W*\d{1,3}[.)](?=\s|$)")
_NAMED = 5


class Claim(NamedTuple):
    """A sentence.

    Attributes:
        text: The sentence, without the number of a list entry.
        words: Its words, in order.
        content: Features of content words with their weights.
        demands: Numbers, dates and identifiers, each with the keys of which the evidence must hold one.
    """

    text: str
    words: list[Word]
    content: dict[str, float]
    demands: list[tuple[Word, Keys]]

    @property
    def weights(self) -> dict[str, float]:
        """All features with their weights."""
        return weigh([word for word in self.words if not word.is_content], self.content)


def read_claim(sentence: str) -> Claim:
    """Reads a sentence."""
    mark = _LIST_MARK.match(sentence)
    text = sentence[mark.end() :] if mark else sentence
    found = words(text)
    content = weigh([word for word in found if word.is_content])
    demands = [(word, keys) for word in found for keys in word.demands]
    return Claim(text, found, content, demands + list(dates_in_words(found)))


def missing_numbers(claim: Claim, *known: Set[str]) -> list[str]:
    """Returns the numbers, dates and identifiers of a claim that none of some texts holds.

    Args:
        claim: The claim.
        known: Keys of each text.
    """
    return [word.lower for word, keys in claim.demands if all(held.isdisjoint(keys) for held in known)]


def missing_words(claim: Claim, known: Set[str]) -> list[str]:
    """Returns the content words of a claim of which less than half is known."""
    return [word.lower for word in claim.words if not (word.demands or is_half_known(word, known))]


def is_half_known(word: Word, known: Set[str]) -> bool:
    """Returns whether half of the features of a word, by weight, are known, or it is no content word."""
    if not word.is_content or known.isdisjoint(word.keys):
        return not word.is_content
    return sum([weight if key in known else -weight for key, weight in word.features]) >= 0


def quoted_names(names: Iterable[str]) -> str:
    """Returns the first five distinct names in quotation marks."""
    shown = [f"“{name}”" for name in dict.fromkeys(names)]
    return ", ".join(shown[:_NAMED]) + (" and more" if len(shown) > _NAMED else "")
