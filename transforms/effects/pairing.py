"""Which of the expected changes were made: pairs calls one to one, as well as possible."""

from collections.abc import Sequence
from typing import NamedTuple

from turnwise.transforms.effects.calls import ArgumentComparison
from turnwise.transforms.effects.deeds import Deed
from turnwise.transforms.effects.equivalence import key_of, nodes
from turnwise.transforms.matching.arguments import frozen
from turnwise.transforms.matching.assignment import best_assignment, count_matches, equal_matches
from turnwise.transforms.matching.calls import same_tool

_MOST_COMPARED = 250_000
_MOST_DESCRIBED = 256
_OTHER_SIDE = 0.5


class Pair(NamedTuple):
    """An expected call beside one of the same tool that was made."""

    expected: Deed
    actual: Deed


class Matching(NamedTuple):
    """What became of the expected calls, and of those that were made.

    Attributes:
        matched: Expected calls that were made, each with the one that did it.
        missing: Expected calls without one of the same tool in their place.
        extra: Calls that no expected one accounts for.
        wrong: Expected calls, each with a call of other arguments that was made in its place.
    """

    matched: list[Pair]
    missing: list[Deed]
    extra: list[Deed]
    wrong: list[Pair]


def match_calls(expected: Sequence[Deed], actual: Sequence[Deed], compare: ArgumentComparison) -> Matching:
    """Pairs as many calls as possible that do the same, then the rest by what they share.

    The work is bounded: of hundreds of calls of one tool only those find each other that differ in nothing
    but the spelling of single values, and what is left is paired in order.
    """
    matching = match_same(expected, actual, compare)
    match_rest(matching, compare)
    return matching


def match_same(expected: Sequence[Deed], actual: Sequence[Deed], compare: ArgumentComparison) -> Matching:
    """Pairs as many calls as possible that do the same; of those, first the ones that one side makes.

    What one side was to do and the other did is paired only where its own side did not do it.
    """
    matching = Matching([], [], [], [])
    made = _by_name(actual)
    for name, wanted in _by_name(expected).items():
        _match_tool(wanted, made.pop(name, []), compare, matching)
    for calls in made.values():
        matching.extra.extend(calls)
    return matching


def match_rest(matching: Matching, compare: ArgumentComparison) -> None:
    """Puts beside what is missing what was done in its place, a call of the same tool."""
    made, missing = _by_name(matching.extra), _by_name(matching.missing)
    matching.missing.clear()
    matching.extra.clear()
    for name, wanted in missing.items():
        calls = made.pop(name, [])
        is_many = _are_many(wanted, calls)
        partners = _in_place_of(wanted, calls, None if is_many else compare)
        for want, j in zip(wanted, partners, strict=True):
            if j is not None:
                is_same = is_many and _is_done(want, calls[j], compare)
                (matching.matched if is_same else matching.wrong).append(Pair(want, calls[j]))
        wanted, calls = _left(wanted, calls, partners)
        matching.missing.extend(wanted)
        matching.extra.extend(calls)
    for calls in made.values():
        matching.extra.extend(calls)


def _by_name(made: Sequence[Deed]) -> dict[str | None, list[Deed]]:
    groups: dict[str | None, list[Deed]] = {}
    for deed in made:
        groups.setdefault(deed.call.name, []).append(deed)
    return groups


def _match_tool(
    wanted: list[Deed], made: list[Deed], compare: ArgumentComparison, matching: Matching
) -> None:
    is_many = _are_many(wanted, made)
    partners: list[int | None] = []
    for pair in (_equal_ones, _alike_ones) if is_many else ():
        for by_side in (True, False):
            wanted, made = _take(pair(wanted, made, compare, by_side), wanted, made, matching)
    if not _are_many(wanted, made):
        if len({deed.by for deed in (*wanted, *made)}) > 1:
            partners = count_matches(
                wanted, made, lambda want, deed: want.by == deed.by and _is_done(want, deed, compare)
            )
        partners = count_matches(wanted, made, lambda want, deed: _is_done(want, deed, compare), partners)
        wanted, made = _take(partners, wanted, made, matching)
    matching.missing.extend(wanted)
    matching.extra.extend(made)


def _take(
    partners: list[int | None], wanted: list[Deed], made: list[Deed], matching: Matching
) -> tuple[list[Deed], list[Deed]]:
    """Keeps the pairs that do the same, and returns what is left on both sides."""
    pairs = zip(wanted, partners, strict=True)
    matching.matched.extend(Pair(want, made[j]) for want, j in pairs if j is not None)
    return _left(wanted, made, partners)


def _are_many(wanted: list[Deed], made: list[Deed]) -> bool:
    return _nodes(wanted) * _nodes(made) > _MOST_COMPARED


def _nodes(made: list[Deed]) -> int:
    return sum(nodes(deed.call.args or {}) for deed in made)


def _left(wanted: list[Deed], made: list[Deed], partners: list[int | None]) -> tuple[list[Deed], list[Deed]]:
    used = set(partners)
    unmet = [deed for deed, partner in zip(wanted, partners, strict=True) if partner is None]
    return unmet, [deed for j, deed in enumerate(made) if j not in used]


def _is_done(want: Deed, deed: Deed, compare: ArgumentComparison) -> bool:
    return same_tool(want.call, deed.call) and not compare.differences(want.call, deed.call)


def _equal_ones(
    wanted: list[Deed], made: list[Deed], compare: ArgumentComparison, by_side: bool
) -> list[int | None]:
    keys = [[(by_side and deed.by, frozen(deed.call.args)) for deed in side] for side in (wanted, made)]
    return _verified(wanted, made, equal_matches(*keys), compare)


def _alike_ones(
    wanted: list[Deed], made: list[Deed], compare: ArgumentComparison, by_side: bool
) -> list[int | None]:
    keys = [[(by_side and deed.by, key_of(deed.call.args or {})) for deed in side] for side in (wanted, made)]
    return _verified(wanted, made, equal_matches(*keys), compare)


def _verified(
    wanted: list[Deed], made: list[Deed], partners: list[int | None], compare: ArgumentComparison
) -> list[int | None]:
    pairs = zip(wanted, partners, strict=True)
    return [j if j is not None and _is_done(want, made[j], compare) else None for want, j in pairs]


def _in_place_of(
    wanted: list[Deed], made: list[Deed], compare: ArgumentComparison | None
) -> list[int | None]:
    """Puts beside what is missing the call with the fewest differences; without `compare`, the next call."""
    if not wanted or not made:
        return [None] * len(wanted)
    if compare is None or len(wanted) * len(made) > _MOST_DESCRIBED:
        return [i if i < len(made) else None for i in range(len(wanted))]
    return best_assignment([[_likeness(want, deed, compare) for deed in made] for want in wanted])


def _likeness(want: Deed, deed: Deed, compare: ArgumentComparison) -> float:
    if not same_tool(want.call, deed.call):
        return 0.0
    likeness = 1.0 / (1 + len(compare.differences(want.call, deed.call)))
    return likeness if want.by == deed.by else likeness * _OTHER_SIDE
