"""Finds numbers in whose place the evidence has another one.

A number of a claim may stand elsewhere in the evidence, as a year does in a text with several. So it is
compared with the number that stands between the same words.
"""

from collections.abc import Sequence
from itertools import chain

from turnwise.transforms.local_judge.claims import Claim, quoted_names
from turnwise.transforms.local_judge.evidence import EvidencePassage, NumberPlaces, alike
from turnwise.transforms.text.words import Word

_LEAST_WORDS = 3
_MOST_WORDS_A_SIDE = 4
_MOST_PLACES = 20


def replaced_number(claim: Claim, passage: EvidencePassage) -> str | None:
    """Returns one sentence on a number in whose place the evidence has another one; None: there is none.

    At least three words around both numbers must be the same, one of them on either side, and more than
    around the number of the claim wherever it stands.

    Args:
        claim: The claim.
        passage: The passage that covers most of it.
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
    same, best = max((_words_around(said, place, held, other), -other) for other in others)
    least = max([_words_around(said, place, held, other) + 1 for other in own], default=0)
    return held[-best].lower if same >= max(least, _LEAST_WORDS) else None


def _words_around(said: Sequence[Word], place: int, held: Sequence[Word], other: int) -> int:
    """Returns how many words before and after two places are the same, without a gap, 0..8."""
    first, last = max(0, place - _MOST_WORDS_A_SIDE), place + 1 + _MOST_WORDS_A_SIDE
    before = zip(
        reversed(said[first:place]), reversed(held[max(0, other - _MOST_WORDS_A_SIDE) : other]), strict=False
    )
    after = zip(said[place + 1 : last], held[other + 1 : other + 1 + _MOST_WORDS_A_SIDE], strict=False)
    count = 0
    for side in (before, after):
        for one, another in side:
            if alike(one) != alike(another):
                break
            count += 1
    return count
