"""Decides whether evidence has a value of a claim at another place, so that the claim may mean that place.

A unit, a half of the day or a number word counts with what stands beside it (`20 dollars`), a month or
weekday unless it stands in a sentence about something else.
"""

from collections.abc import Iterator, Sequence

from turnwise.transforms.local_judge.aligned_tokens import END, NUMBER, PRONOUNS, AlignedToken, fillers
from turnwise.transforms.text.function_words import FUNCTION_WORDS, word_set

_SIDES = {"zqunit": (-1,), "zqhalf": (-1, 1), NUMBER: (1, 2)}
_REFERS = PRONOUNS | word_set(
    "this that these those there also too again auch dies diese dieser dieses ebenfalls wieder aussi también"
)


def is_held(
    said: AlignedToken, claim: Sequence[AlignedToken], place: int, held: Sequence[AlignedToken]
) -> bool:
    """Returns whether evidence has a value of a claim apart from the place with which it is aligned.

    Args:
        said: The value.
        claim: Tokens of the claim.
        place: Place in the evidence with which the value is aligned.
        held: Tokens of the evidence.
    """
    others = [other for other, token in enumerate(held) if token.value == said.value]
    if sides := _SIDES.get(said.kind):
        beside = [token for token in _beside(claim, claim.index(said), sides) if _counts(said, token)]
        return any(
            not beside or any(mine.aligns(token) for mine in beside for token in _beside(held, other, sides))
            for other in others
        )
    return any(other in _sentence(held, place) or _may_be_meant(held, other, claim) for other in others)


def _beside(tokens: Sequence[AlignedToken], place: int, sides: Sequence[int]) -> Iterator[AlignedToken]:
    return (tokens[place + side] for side in sides if 0 <= place + side < len(tokens))


def _counts(said: AlignedToken, beside: AlignedToken) -> bool:
    return said.kind == NUMBER or beside.kind == NUMBER


def _sentence(tokens: Sequence[AlignedToken], place: int) -> range:
    ends = [-1, *(i for i, token in enumerate(tokens) if token.kind == END), len(tokens)]
    return range(max(end for end in ends if end < place) + 1, min(end for end in ends if end > place))


def _may_be_meant(held: Sequence[AlignedToken], other: int, claim: Sequence[AlignedToken]) -> bool:
    """Returns whether a sentence refers to another one or has no content of its own, as `On Friday, too`."""
    kinds = {held[i].kind for i in _sentence(held, other)}
    own = kinds - {token.kind for token in claim} - fillers() - FUNCTION_WORDS - {NUMBER}
    return not own or not kinds.isdisjoint(_REFERS)
