"""Pairs expected changes with the calls that were made, one to one."""

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import NamedTuple

from turnwise.schemas.conversation import ToolCall
from turnwise.transforms.effects.actor_calls import ActorCall
from turnwise.transforms.effects.calls import ArgumentComparison
from turnwise.transforms.effects.equivalence import key_of, nodes
from turnwise.transforms.matching.arguments import frozen
from turnwise.transforms.matching.assignment import best_assignment, count_matches, equal_matches
from turnwise.transforms.matching.calls import same_tool

_MOST_COMPARED = 250_000
_MOST_DESCRIBED = 256
_OTHER_ACTOR_FACTOR = 0.5


class Pair(NamedTuple):
    """An expected call and a made call of the same tool."""

    expected: ActorCall
    actual: ActorCall


class Matching(NamedTuple):
    """Expected and made calls, by their match.

    Attributes:
        matched: Expected calls with the equivalent calls that were made.
        missing: Expected calls without a partner.
        extra: Made calls without a partner.
        wrong: Expected calls with calls of the same tool that have other arguments.
    """

    matched: list[Pair]
    missing: list[ActorCall]
    extra: list[ActorCall]
    wrong: list[Pair]


def match_calls(
    expected: Sequence[ActorCall], actual: Sequence[ActorCall], compare: ArgumentComparison
) -> Matching:
    """Pairs as many equivalent calls as possible, then the remaining calls by similarity.

    The cost is bounded: of hundreds of calls of one tool, only those are paired by value that differ in
    nothing but the spelling of single values; the rest is paired in order.
    """
    matching = match_same(expected, actual, compare)
    match_rest(matching, compare)
    return matching


def match_same(
    expected: Sequence[ActorCall], actual: Sequence[ActorCall], compare: ArgumentComparison
) -> Matching:
    """Pairs as many equivalent calls as possible, calls of one actor first.

    A call of the other actor is paired only if the expected actor made no equivalent call.
    """
    matching = Matching([], [], [], [])
    made = _by_name(actual)
    for name, wanted in _by_name(expected).items():
        _match_tool(wanted, made.pop(name, []), compare, matching)
    for calls in made.values():
        matching.extra.extend(calls)
    return matching


def match_rest(matching: Matching, compare: ArgumentComparison) -> None:
    """Pairs missing calls with extra calls of the same tool, in place."""
    made, missing = _by_name(matching.extra), _by_name(matching.missing)
    matching.missing.clear()
    matching.extra.clear()
    for name, wanted in missing.items():
        calls = made.pop(name, [])
        is_many = _are_many(wanted, calls)
        partners = _in_place_of(wanted, calls, None if is_many else compare)
        for want, j in zip(wanted, partners, strict=True):
            if j is not None:
                is_same = is_many and _is_same_change(compare, False, want, calls[j])
                (matching.matched if is_same else matching.wrong).append(Pair(want, calls[j]))
        wanted, calls = _left(wanted, calls, partners)
        matching.missing.extend(wanted)
        matching.extra.extend(calls)
    for calls in made.values():
        matching.extra.extend(calls)


def _by_name(made: Sequence[ActorCall]) -> dict[str | None, list[ActorCall]]:
    groups: dict[str | None, list[ActorCall]] = {}
    for item in made:
        groups.setdefault(item.call.name, []).append(item)
    return groups


def _match_tool(
    wanted: list[ActorCall], made: list[ActorCall], compare: ArgumentComparison, matching: Matching
) -> None:
    is_many = _are_many(wanted, made)
    for key in (_exact_key, _equivalence_key) if is_many else ():
        for by_actor in (True, False):
            partners = _partners_by_key(key, wanted, made, compare, by_actor)
            wanted, made = _take(partners, wanted, made, matching)
    if not _are_many(wanted, made):
        of_one_actor: list[int | None] = []
        if len({item.actor for item in (*wanted, *made)}) > 1:
            of_one_actor = count_matches(wanted, made, partial(_is_same_change, compare, True))
        partners = count_matches(wanted, made, partial(_is_same_change, compare, False), of_one_actor)
        wanted, made = _take(partners, wanted, made, matching)
    matching.missing.extend(wanted)
    matching.extra.extend(made)


def _take(
    partners: list[int | None], wanted: list[ActorCall], made: list[ActorCall], matching: Matching
) -> tuple[list[ActorCall], list[ActorCall]]:
    """Adds the pairs to the matched calls and returns the remaining calls of both sides."""
    pairs = zip(wanted, partners, strict=True)
    matching.matched.extend(Pair(want, made[j]) for want, j in pairs if j is not None)
    return _left(wanted, made, partners)


def _are_many(wanted: list[ActorCall], made: list[ActorCall]) -> bool:
    return _nodes(wanted) * _nodes(made) > _MOST_COMPARED


def _nodes(made: list[ActorCall]) -> int:
    return sum(nodes(item.call.args or {}) for item in made)


def _left(
    wanted: list[ActorCall], made: list[ActorCall], partners: list[int | None]
) -> tuple[list[ActorCall], list[ActorCall]]:
    used = set(partners)
    unmet = [item for item, partner in zip(wanted, partners, strict=True) if partner is None]
    return unmet, [item for j, item in enumerate(made) if j not in used]


def _is_same_change(compare: ArgumentComparison, by_actor: bool, want: ActorCall, item: ActorCall) -> bool:
    if by_actor and want.actor != item.actor:
        return False
    return same_tool(want.call, item.call) and not compare.differences(want.call, item.call)


def _partners_by_key(
    key: Callable[[ToolCall], Hashable],
    wanted: list[ActorCall],
    made: list[ActorCall],
    compare: ArgumentComparison,
    by_actor: bool,
) -> list[int | None]:
    """Pairs calls with equal keys, and of equal actors if `by_actor`; keeps the equivalent pairs."""
    keys = [[(by_actor and item.actor, key(item.call)) for item in side] for side in (wanted, made)]
    pairs = zip(wanted, equal_matches(*keys), strict=True)
    return [
        j if j is not None and _is_same_change(compare, False, want, made[j]) else None for want, j in pairs
    ]


def _exact_key(call: ToolCall) -> Hashable:
    return frozen(call.args or None)


def _equivalence_key(call: ToolCall) -> Hashable:
    return key_of(call.args or {})


def _in_place_of(
    wanted: list[ActorCall], made: list[ActorCall], compare: ArgumentComparison | None
) -> list[int | None]:
    """Pairs each missing call with the most similar one; without `compare`, with the next one."""
    if not wanted or not made:
        return [None] * len(wanted)
    if compare is None or len(wanted) * len(made) > _MOST_DESCRIBED:
        return [i if i < len(made) else None for i in range(len(wanted))]
    return best_assignment([[_similarity(want, item, compare) for item in made] for want in wanted])


def _similarity(want: ActorCall, item: ActorCall, compare: ArgumentComparison) -> float:
    if not same_tool(want.call, item.call):
        return 0.0
    similarity = 1.0 / (1 + len(compare.differences(want.call, item.call)))
    return similarity if want.actor == item.actor else similarity * _OTHER_ACTOR_FACTOR
