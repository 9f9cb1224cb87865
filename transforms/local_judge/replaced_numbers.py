"""Finds numbers in whose place the evidence has another one.

A number of a claim may stand elsewhere in the evidence, as a year does in a text with several. So it is
compared with the number that stands between the same words of a sentence.
"""

from collections.abc import Iterable, Sequence
from itertools import chain, takewhile

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
