"""Aligns a claim with the evidence, and finds the only negation or named value in which they differ.

Both are read as tokens. A claim may begin and end anywhere in the evidence (semi-global alignment with the
least cost of unaligned tokens, after Needleman and Wunsch 1970). Articles, auxiliaries, endings and
punctuation may be unaligned, and what stands in brackets is left out.
"""

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple

from turnwise.transforms.local_judge.aligned_tokens import (
    BREAK,
    COLON,
    END,
    NOT,
    PRONOUNS,
    AlignedText,
    AlignedToken,
    fillers,
)
from turnwise.transforms.local_judge.held_values import is_held
from turnwise.transforms.text.function_words import word_set

_MOST_CLAIMED, _MOST_HELD = 100, 400
_LONGEST = 1_000
_AROUND = " .!?。！？\n*"
_JOINS = word_set("and but because that und aber denn dass daß weil et mais que y pero") | {BREAK, END, COLON}
_LISTED, _NEAR = ("zqmonth", "zqweekday"), 3
_UNALIGNED, _DENIED, _FILLED, _OTHER_VALUE = 100, 90, 1, 2
_TOO_MUCH = 2 * _UNALIGNED
_LEAST_ALIGNED, _LEAST_OF_A_PRONOUN = 2, 4


class OneDifference(NamedTuple):
    """The only difference between a claim and the evidence.

    Attributes:
        said: The month, weekday, half of the day, unit or number word of the claim; "": one of both is
            negated.
        held: That of the evidence.
    """

    said: str = ""
    held: str = ""


class _Pair(NamedTuple):
    said: AlignedToken | None
    place: int


def only_difference(said: str, held: str) -> OneDifference | None:
    """Returns the only difference between a claim and the part of the evidence that says the same.

    Args:
        said: The claim.
        held: The evidence around its most similar sentence.
    """
    if len(said) > _LONGEST:
        return None
    claim, evidence = AlignedText(said.strip(_AROUND)), AlignedText(held)
    if not claim.may_differ(evidence):
        return None
    if len(claim.tokens) > _MOST_CLAIMED or len(evidence.tokens) > _MOST_HELD:
        return None
    pairs = _align(claim.tokens, evidence.tokens)
    least = _LEAST_OF_A_PRONOUN if _has_a_pronoun_alone(pairs) else _LEAST_ALIGNED
    if sum(map(_is_content, pairs)) < least or _is_name(pairs, evidence.tokens):
        return None
    return _denial(pairs, claim, evidence.tokens) or _other_value(pairs, claim, evidence)


def _cost(token: AlignedToken) -> int:
    if token.kind == NOT:
        return _DENIED
    return _FILLED if token.kind in fillers() else _UNALIGNED


def _align(said: Sequence[AlignedToken], held: Sequence[AlignedToken]) -> list[_Pair]:
    """Returns the tokens of a claim with their places in the evidence, -1 where they have none.

    Unaligned tokens of the evidence in between are pairs without a token of the claim.
    """
    rows, steps = [0] * (len(held) + 1), list[list[int]]()
    costs = [_cost(token) for token in held]
    for token in said:
        cost, row, step = _cost(token), [rows[0] + _cost(token)], [1]
        for place, other in enumerate(held):
            best, move = rows[place + 1] + cost, 1
            if (left := row[place] + costs[place]) < best:
                best, move = left, 2
            if token.aligns(other):
                same = rows[place] + (_OTHER_VALUE if token.differs(other) else 0)
                if same <= best:
                    best, move = same, 0
            row.append(best)
            step.append(move)
        rows = row
        steps.append(step)
        if min(rows) >= _TOO_MUCH:
            return []
    return list(_traced(said, steps, min(range(len(rows)), key=rows.__getitem__)))[::-1]


def _traced(said: Sequence[AlignedToken], steps: Sequence[Sequence[int]], place: int) -> Iterator[_Pair]:
    row = len(steps)
    while row:
        move = steps[row - 1][place]
        if move == 1:
            yield _Pair(said[row - 1], -1)
        else:
            yield _Pair(said[row - 1] if move == 0 else None, place - 1)
        row, place = row - (move != 2), place - (move != 1)


def _is_content(pair: _Pair) -> bool:
    return pair.place >= 0 and pair.said is not None and not (pair.said.value or pair.said.kind in fillers())


def _has_a_pronoun_alone(pairs: Sequence[_Pair]) -> bool:
    """Returns whether a claim has a pronoun in the place of a name of the evidence."""
    return any(pair.said is not None and pair.place < 0 and pair.said.kind in PRONOUNS for pair in pairs)


def _is_name(pairs: Sequence[_Pair], held: Sequence[AlignedToken]) -> bool:
    """Returns whether the evidence only names what it states after a colon, as the key of a record does."""
    last = max(pair.place for pair in pairs)
    return any(token.kind == COLON for token in _until_a_word(held[last + 1 :]))


def _until_a_word(tokens: Sequence[AlignedToken]) -> Iterator[AlignedToken]:
    return takewhile(lambda token: token.kind in (BREAK, END, COLON), tokens)


def _denial(pairs: Sequence[_Pair], claim: AlignedText, held: Sequence[AlignedToken]) -> OneDifference | None:
    """Returns a difference if one negation is the only one."""
    aligned = [pair.place for pair in pairs if pair.said and pair.place >= 0]
    last = aligned[-1]
    unaligned = [pair.said or held[pair.place] for pair in pairs if not (pair.said and pair.place >= 0)]
    before, after = _start(pairs, held), _edge(held[last + 1 :])
    if before is None or (after is None and not claim.is_negated):
        return None
    denying = [token for token in unaligned if token.kind not in fillers()]
    denials = len(denying) + before + (after or 0)
    is_same = not any(pair.said.differs(held[pair.place]) for pair in pairs if pair.said and pair.place >= 0)
    return (
        OneDifference() if is_same and denials == 1 and all(token.kind == NOT for token in denying) else None
    )


def _start(pairs: Sequence[_Pair], held: Sequence[AlignedToken]) -> int | None:
    """Returns the number of negations before the first aligned token, 0..1; None: more is there."""
    first = next(pair.place for pair in pairs if pair.said and pair.place >= 0)
    return 0 if _has_a_pronoun_alone(pairs) else _edge(held[:first][::-1])


def _edge(outside: Sequence[AlignedToken]) -> int | None:
    """Returns the number of negations between a part and the end of its clause, 0..1; None: more is there."""
    denials = 0
    for token in outside:
        if token.kind in _JOINS:
            break
        if token.kind == NOT and not denials:
            denials = 1
        elif token.kind not in fillers():
            return None
    return denials


def _other_value(pairs: Sequence[_Pair], claim: AlignedText, evidence: AlignedText) -> OneDifference | None:
    """Returns the only named value in which both differ."""
    held = evidence.tokens
    if any(
        _cost(pair.said or held[pair.place]) > _FILLED
        for pair in pairs
        if not (pair.said and pair.place >= 0)
    ):
        return None
    aligned = [(pair.said, pair.place) for pair in pairs if pair.said and pair.place >= 0]
    others = [(said, place) for said, place in aligned if said.differs(held[place])]
    if len(others) != 1 or _start(pairs, held) != 0:
        return None
    ((said, place),) = others
    if is_held(said, claim.tokens, place, held) or _is_in_a_list(place, held):
        return None
    return OneDifference(claim.names[said.value], evidence.names[held[place].value])


def _is_in_a_list(place: int, held: Sequence[AlignedToken]) -> bool:
    """Returns whether a month or weekday stands beside another one, as in `Monday to Friday`."""
    kind, near = (
        held[place].kind,
        [*held[max(0, place - _NEAR) : place], *held[place + 1 : place + 1 + _NEAR]],
    )
    return kind in _LISTED and any(token.kind == kind for token in near)
