"""Measures how much of a claim the evidence holds, and the probability that this gives.

With prose, the coverage is the mean of two shares of the weight of its words: that which the evidence holds,
and that which stands together in one passage. Function words weigh little there; names, negations, the
speaker and, in English, all other words weigh more if the evidence lacks them, while words of little meaning
then weigh nothing. With a record, such as JSON, which has few function words, it is the mean of the shares of
the content that the evidence and one passage hold, with a credit of two words. A logistic function turns it
into a probability (Platt 1999).
"""

import re
from collections.abc import Container, Iterable, Sequence
from itertools import chain, takewhile
from math import exp

from turnwise.transforms.local_judge.claims import Claim, quoted_names
from turnwise.transforms.local_judge.evidence import WINDOW, Evidence, EvidencePassage, NumberPlaces, alike
from turnwise.transforms.local_judge.meanings import LIGHT, words
from turnwise.transforms.text.sentences import guessed_language
from turnwise.transforms.text.words import WORD_WEIGHT, Word, is_run_of_characters, word_set

LOG_ODDS_OF_NOTHING = -9.20
"""Log odds where the coverage is 0. Both constants are those of `python -m benchmarks.local_judge_fit`."""
LOG_ODDS_OF_ALL = 2.24
"""Log odds where the coverage is 1."""
_FULL_WEIGHT = 3 * WORD_WEIGHT
_CREDIT = 2 * WORD_WEIGHT
_GRAMMAR = 2
"""What a function word weighs, as a multiple of its own weight."""
_STRANGE = 2 * WORD_WEIGHT
"""What the speaker weighs, and a strange name or negation beside its own weight."""
_MISSING = {"en": 1.0, None: 0.0}
_MISSING_ELSEWHERE = -0.5
"""What a word that the evidence lacks weighs beside its own weight, by the language of the claim.

Endings and compounds of other languages often hide a word that is there; English has the best stems.
"""
_SPEAKER = word_set("i me my mine myself ich mich mir mein meine je moi mon ma mes mi mis yo")
_CAPITALIZED = re.compile(r"(?<=[\w,;] )[A-ZÀ-ÖØ-ÞΑ-ΩА-Я]\w+")


def probability(parts: Sequence[tuple[float, float]]) -> float:
    """Returns how probably people call a text supported, 0..1, by coverage and weight of its claims."""
    share = sum(covered * weight for covered, weight in parts) / sum(weight for _, weight in parts)
    return 1 / (1 + exp(-LOG_ODDS_OF_NOTHING * (1 - share) - LOG_ODDS_OF_ALL * share))


def weight_in_answer(claim: Claim) -> float:
    """Returns how much a claim counts among the sentences of an answer, 0..1: with three content words, 1."""
    return min(1.0, sum(claim.content.values()) / _FULL_WEIGHT)


def coverage(
    claim: Claim, known: Evidence, passages: Sequence[EvidencePassage], mentioned: Evidence
) -> float:
    """Returns how much of a claim the evidence holds, 0..1. More evidence never lowers it.

    Args:
        claim: A claim with content.
        known: The evidence.
        passages: Its passages with content of the claim.
        mentioned: What the user said. It supports nothing, but a name in it is not strange.
    """
    compared = _Compared(claim, known, mentioned)
    return max([compared.held / 2, *map(compared.with_passage, passages)])


class _Compared:
    """A claim and evidence.

    Attributes:
        held: Share of the claim that the evidence holds.
    """

    def __init__(self, claim: Claim, known: Evidence, mentioned: Evidence) -> None:
        self._content = sum(claim.content.values())
        self._grammar = [
            (key, _STRANGE if key in _SPEAKER else _GRAMMAR * weight)
            for word in claim.words
            if not word.is_content
            for key, weight in word.features
        ]
        strange = _strange_names(claim, known.keys | mentioned.keys)
        strange += any(word.is_negation for word in claim.words) and not known.is_negated
        self._all = self._content + sum([weight for _, weight in self._grammar]) + _STRANGE * strange
        self._anywhere = sum([weight for key, weight in claim.content.items() if key in known.keys])
        light, other = _missing(claim, known.keys)
        if other:
            self._all += _MISSING.get(guessed_language(claim.text), _MISSING_ELSEWHERE) * other
        if self._anywhere:
            self._all -= light
        self._in_passage = min(1.0, WINDOW / len(claim.words))
        self.held = (self._anywhere + self._grammar_in(known.keys)) / self._all

    def with_passage(self, passage: EvidencePassage) -> float:
        # Of a long claim, only what a passage can hold must stand there.
        close = self._anywhere - (self._anywhere - passage.weight) * self._in_passage
        if not passage.piece.is_prose:
            return ((self._anywhere + close) / 2 + _CREDIT) / (self._content + _CREDIT)
        return self.held / 2 + (close + self._grammar_in(passage.keys())) / self._all / 2

    def _grammar_in(self, keys: Container[str]) -> float:
        return sum([weight for key, weight in self._grammar if key in keys])


def _missing(claim: Claim, known: Container[str]) -> tuple[float, float]:
    """Returns the weights of words of alphabets that are not known: those of little meaning, and others."""
    light = other = 0.0
    for word in claim.words:
        if word.is_content and not is_run_of_characters(word.lower):
            weight = sum([weight for key, weight in word.features if key not in known])
            if word.lower in LIGHT:
                light += weight
            else:
                other += weight
    return light, other


def _strange_names(claim: Claim, known: Container[str]) -> int:
    """Returns how many capitalized words inside a sentence are not known; of German and of titles, none."""
    capitalized = _CAPITALIZED.findall(claim.text)
    found = [word for word in words(" ".join(capitalized)) if word.is_content]
    strange = sum(not any(key in known for key in word.keys) for word in found)
    if not strange or 2 * len(capitalized) > len(claim.words) or guessed_language(claim.text) == "de":
        return 0
    return strange


# Finds numbers in whose place the evidence has another one.
#
# A number of a claim may stand elsewhere in the evidence, as a year does in a text with several. So it is
# compared with the number that stands between the same words of a sentence.

_LEAST_WORDS = 3
_MOST_WORDS_A_SIDE = 4
_MOST_PLACES = 20


def replaced_number(claim: Claim, passage: EvidencePassage) -> str | None:
    """Returns one sentence on a number in whose place the evidence has another one; None: there is none.

    At least three words around both numbers must be the same, one of them on either side, and more than
    around the number of the claim wherever it stands.
    """
    piece = passage.piece
    for place, word in enumerate(claim.words[1:-1], 1):
        other = _in_place_of(claim.words, place, piece.words, piece.numbers()) if word.demands else None
        if other:
            return f"The evidence says {quoted_names([other])}, not {quoted_names([word.lower])}."
    return None


def _in_place_of(said: Sequence[Word], place: int, held: Sequence[Word], numbers: NumberPlaces) -> str | None:
    others = numbers.between.get((alike(said[place - 1]), alike(said[place + 1])), ())
    if not 0 < len(others) <= _MOST_PLACES:
        return None
    places = [numbers.of.get(key, ()) for keys in said[place].demands for key in keys]
    if any(len(own) > _MOST_PLACES for own in places):
        return None
    own = set(chain.from_iterable(places))
    if len(own) > _MOST_PLACES:
        return None
    if any(_has_its_name(said, place, held, number, others) for number in own):
        return None
    same, best = max((sum(_words_around(said, place, held, other)), -other) for other in others)
    if any(_has_its_place(said, place, held, number, -best) for number in own):
        return None
    least = max([sum(_words_around(said, place, held, number)) + 1 for number in own], default=0)
    return held[-best].lower if same >= max(least, _LEAST_WORDS) else None


def _has_its_name(
    said: Sequence[Word], place: int, held: Sequence[Word], own: int, others: Sequence[int]
) -> bool:
    """Returns whether a number follows the same name, such as `double` in `double 149`, as in the claim."""
    if not said[place - 1].is_content:
        return False
    before, _ = _words_around(said, place, held, own)
    return before > 0 and all(before >= _words_around(said, place, held, other)[0] for other in others)


def _has_its_place(said: Sequence[Word], place: int, held: Sequence[Word], own: int, other: int) -> bool:
    """Returns whether a number fits a side of the claim better than another one, or wholly.

    So do both numbers of `3 euros for adults and 2 euros for children`.
    """
    found, others = _words_around(said, place, held, own), _words_around(said, place, held, other)
    sides = place, len(said) - place - 1
    return any(
        one > another or 0 < side == one == another
        for one, another, side in zip(found, others, sides, strict=True)
    )


def _words_around(said: Sequence[Word], place: int, held: Sequence[Word], other: int) -> tuple[int, int]:
    """Returns how many words before and after two places are the same, without a gap, 0..4 each."""
    last = place + 1 + _MOST_WORDS_A_SIDE
    ours, theirs = (
        said[max(0, place - _MOST_WORDS_A_SIDE) : place],
        held[max(0, other - _MOST_WORDS_A_SIDE) : other],
    )
    return (
        _same(reversed(ours), reversed(theirs)),
        _same(said[place + 1 : last], held[other + 1 : other + 1 + _MOST_WORDS_A_SIDE]),
    )


def _same(ours: Iterable[Word], theirs: Iterable[Word]) -> int:
    pairs = zip(ours, theirs, strict=False)
    return sum(1 for _ in takewhile(lambda pair: alike(pair[0]) == alike(pair[1]), pairs))
