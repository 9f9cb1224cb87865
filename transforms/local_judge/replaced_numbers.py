"""Finds numbers in whose place the evidence has another one.

A number of a claim may stand elsewhere in the evidence, as a year does in a text with several. So it is
compared with the number that stands between the same words, as many of them as possible.
"""

from collections.abc import Sequence

from turnwise.transforms.local_judge.claims import Claim, quoted_names
from turnwise.transforms.local_judge.evidence import Passage, alike
from turnwise.transforms.text.words import Word

_LEAST_WORDS = 3
_MOST_WORDS_A_SIDE = 4
_MOST_PLACES = 20


def replaced_number(claim: Claim, passage: Passage) -> str | None:
    """Returns one sentence on a number in whose place the evidence has another one; None: there is none.

    At least three words around the number must be the same, one of them on either side. If several numbers
    stand between as many of these words, none of them may be that of the claim.

    Args:
        claim: The claim.
        passage: The passage that covers most of it.
    """
    between = passage.piece.numbers_between()
    for place, word in enumerate(claim.words[1:-1], 1):
        if word.demands:
            around = alike(claim.words[place - 1]), alike(claim.words[place + 1])
            other = _in_place_of(claim.words, place, passage.piece.words, between.get(around, ()))
            if other:
                return f"The evidence says {quoted_names([other])}, not {quoted_names([word.lower])}."
    return None


def _in_place_of(said: Sequence[Word], place: int, held: Sequence[Word], others: Sequence[int]) -> str | None:
    if not 0 < len(others) <= _MOST_PLACES:
        return None
    same = {other: _words_around(said, place, held, other) for other in others}
    most = max(same.values())
    best = [held[other] for other in others if same[other] == most]
    if most < _LEAST_WORDS or any(_is_held(said[place], other) for other in best):
        return None
    return best[0].lower


def _is_held(number: Word, other: Word) -> bool:
    return all(not set(keys).isdisjoint(other.keys) for keys in number.demands)


def _words_around(said: Sequence[Word], place: int, held: Sequence[Word], other: int) -> int:
    """Returns how many words before and after two places are the same, without a gap, 2..8."""
    before = zip(
        reversed(said[:place]), reversed(held[max(0, other - _MOST_WORDS_A_SIDE) : other]), strict=False
    )
    after = zip(said[place + 1 :], held[other + 1 : other + 1 + _MOST_WORDS_A_SIDE], strict=False)
    count = 0
    for side in (before, after):
        for one, another in side:
            if alike(one) != alike(another):
                break
            count += 1
    return count
