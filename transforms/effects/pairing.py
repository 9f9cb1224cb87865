"""Which of the expected changes were made: pairs calls one to one, as well as possible."""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

from schemas.conversation import ToolCall
from schemas.values import JsonValue
from transforms.arguments import frozen
from transforms.assignment import best_assignment, count_matches, equal_matches
from transforms.effects.alike import key_of, nodes
from transforms.effects.book import ToolBook
from transforms.effects.calls import Comparison
from transforms.tools import same_tool

_MOST_COMPARED = 250_000
_MOST_DESCRIBED = 256


class Wrong(NamedTuple):
    """An expected call beside the call of the same tool that was made in its place."""

    expected: ToolCall
    actual: ToolCall


class Matching(NamedTuple):
    """What became of the expected calls, and of those that were made.

    Attributes:
        matched: Expected calls that were made.
        missing: Expected calls without one of the same tool in their place.
        extra: Calls that no expected one accounts for.
        wrong: Calls with other arguments than expected.
    """

    matched: list[ToolCall]
    missing: list[ToolCall]
    extra: list[ToolCall]
    wrong: list[Wrong]


def match_calls(expected: Sequence[ToolCall], actual: Sequence[ToolCall], compare: Comparison) -> Matching:
    """Pairs as many calls as possible that do the same, then the rest by what they share.

    The work is bounded: of hundreds of calls of one tool only those find each other that differ in nothing
    but the spelling of single values, and what is left is paired in order.
    """
    matching = Matching([], [], [], [])
    made = _by_name(actual)
    for name, wanted in _by_name(expected).items():
        _match_tool(wanted, made.pop(name, []), compare, matching)
    for calls in made.values():
        matching.extra.extend(calls)
    return matching


def _by_name(calls: Sequence[ToolCall]) -> dict[str | None, list[ToolCall]]:
    groups: dict[str | None, list[ToolCall]] = {}
    for call in calls:
        groups.setdefault(call.name, []).append(call)
    return groups


def _match_tool(
    wanted: list[ToolCall], made: list[ToolCall], compare: Comparison, matching: Matching
) -> None:
    for pair in (_equal_ones, _alike_ones) if _are_many(wanted, made) else ():
        wanted, made = _take(pair(wanted, made, compare), wanted, made, matching)
    is_many = _are_many(wanted, made)
    if not is_many:
        wanted, made = _take(_doing_the_same(wanted, made, compare), wanted, made, matching)
    partners = _in_place_of(wanted, made, None if is_many else compare)
    for want, call in ((want, made[j]) for want, j in zip(wanted, partners, strict=True) if j is not None):
        if is_many and _is_done(want, call, compare):
            matching.matched.append(want)
        else:
            matching.wrong.append(Wrong(want, call))
    wanted, made = _left(wanted, made, partners)
    matching.missing.extend(wanted)
    matching.extra.extend(made)


def _take(
    partners: list[int | None], wanted: list[ToolCall], made: list[ToolCall], matching: Matching
) -> tuple[list[ToolCall], list[ToolCall]]:
    """Notes the pairs that do the same, and returns what is left on both sides."""
    matching.matched.extend(call for call, j in zip(wanted, partners, strict=True) if j is not None)
    return _left(wanted, made, partners)


def _are_many(wanted: list[ToolCall], made: list[ToolCall]) -> bool:
    return _nodes(wanted) * _nodes(made) > _MOST_COMPARED


def _nodes(calls: list[ToolCall]) -> int:
    return sum(nodes(call.args or {}) for call in calls)


def _left(
    wanted: list[ToolCall], made: list[ToolCall], partners: list[int | None]
) -> tuple[list[ToolCall], list[ToolCall]]:
    used = set(partners)
    unmet = [call for call, partner in zip(wanted, partners, strict=True) if partner is None]
    return unmet, [call for j, call in enumerate(made) if j not in used]


def _is_done(want: ToolCall, call: ToolCall, compare: Comparison) -> bool:
    return same_tool(want, call) and not compare.differences(want, call)


def _verified(
    wanted: list[ToolCall], made: list[ToolCall], partners: list[int | None], compare: Comparison
) -> list[int | None]:
    pairs = zip(wanted, partners, strict=True)
    return [j if j is not None and _is_done(want, made[j], compare) else None for want, j in pairs]


def _equal_ones(wanted: list[ToolCall], made: list[ToolCall], compare: Comparison) -> list[int | None]:
    partners = equal_matches([frozen(call.args) for call in wanted], [frozen(call.args) for call in made])
    return _verified(wanted, made, partners, compare)


def _alike_ones(wanted: list[ToolCall], made: list[ToolCall], compare: Comparison) -> list[int | None]:
    keys = [[key_of(call.args or {}) for call in calls] for calls in (wanted, made)]
    return _verified(wanted, made, equal_matches(*keys), compare)


def _doing_the_same(wanted: list[ToolCall], made: list[ToolCall], compare: Comparison) -> list[int | None]:
    return count_matches(wanted, made, lambda want, call: _is_done(want, call, compare))


def _in_place_of(
    wanted: list[ToolCall], made: list[ToolCall], compare: Comparison | None
) -> list[int | None]:
    """Puts beside what is missing the call with the fewest differences; without `compare`, the next call."""
    if not wanted or not made:
        return [None] * len(wanted)
    if compare is None or len(wanted) * len(made) > _MOST_DESCRIBED:
        return [i if i < len(made) else None for i in range(len(wanted))]
    return best_assignment([[_likeness(want, call, compare) for call in made] for want in wanted])


def _likeness(want: ToolCall, call: ToolCall, compare: Comparison) -> float:
    if not same_tool(want, call):
        return 0.0
    return 1.0 / (1 + len(compare.differences(want, call)))


def once(calls: Sequence[ToolCall], book: ToolBook) -> list[ToolCall]:
    """Returns calls without the repetitions of idempotent ones."""
    seen: set[Hashable] = set()
    kept = []
    for call in calls:
        if book.effect_of(call).idempotent:
            key = call.name, call.resource, _in_order(call.args or {})
            if key in seen:
                continue
            seen.add(key)
        kept.append(call)
    return kept


def _in_order(value: JsonValue) -> Hashable:
    """Returns a key that keeps the order of lists, which may matter."""
    if isinstance(value, dict):
        return frozenset((name, _in_order(item)) for name, item in value.items())
    if isinstance(value, list):
        return tuple(map(_in_order, value))
    return key_of(value)
