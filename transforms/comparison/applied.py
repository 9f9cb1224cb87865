"""Finds, from scores alone, which thresholds were not the same: where a config is not at hand."""

from collections.abc import Iterator
from itertools import chain

from turnwise.schemas.comparison import RulerChange
from turnwise.transforms.comparison.coded import distinct_pairs
from turnwise.transforms.comparison.columns import ConversationColumns
from turnwise.transforms.comparison.observed import Observed
from turnwise.transforms.criteria import CRITERIA
from turnwise.transforms.scoring.verdict import STATUS

_Thresholds = set[float | None]
_ByCase = dict[str, dict[str | None, _Thresholds]]


def applied_thresholds(a: ConversationColumns, b: ConversationColumns) -> Iterator[RulerChange]:
    """Yields thresholds that differ, and the criteria with a threshold if they are not the same.

    Thresholds that differ from case to case are compared where both sides have the case.

    Args:
        a: Conversations of the base.
        b: Conversations of the candidate.
    """
    own, other = _by_criterion(a), _by_criterion(b)
    gates, other_gates = _gates(own), _gates(other)
    seen, other_seen = map(_seen, (a, b))
    if seen and other_seen and ({*gates} - other_seen or {*other_gates} - seen):
        before, after = (", ".join(names) or "none" for names in (gates, other_gates))
        yield RulerChange(what="criteria of the verdict", a=before, b=after, criteria=[STATUS])
    for criterion in sorted(own.keys() & other.keys()):
        sides = own[criterion], other[criterion]
        pairs = [tuple(set().union(*side.values()) for side in sides)]
        if any(len(found) > 1 for found in pairs[0]):
            cases = sorted(sides[0].keys() & sides[1].keys(), key=str)
            pairs = [tuple(side[case] for side in sides) for case in cases]
        change = next(((before, after) for before, after in pairs if before != after), None)
        if change is not None:
            before, after = map(_listed, change)
            yield RulerChange(what=f"criteria.{criterion}.threshold", a=before, b=after, criteria=[criterion])


def _by_criterion(conversations: ConversationColumns) -> _ByCase:
    """Returns the thresholds of scores by criterion and case; None: a score on the scale without one."""
    found: _ByCase = {}
    cases = conversations.eval_ids
    for name in {*chain.from_iterable(conversations.criteria.used())} - {STATUS}:
        given = conversations.given(name)
        thresholds = given.recoded(_thresholds(name, own) for own in given.values)
        for case, place in distinct_pairs(cases, thresholds):
            for threshold in thresholds.values[place]:
                found.setdefault(name, {}).setdefault(cases.values[case], set()).add(threshold)
    return found


def _thresholds(criterion: str, own: Observed | None) -> tuple[float | None, ...]:
    """Returns the threshold of a score; (): the score does not count."""
    if own is None or own.value is None:
        return ()
    return (own.threshold,) if own.threshold is not None or _is_claim(criterion, own.value) else ()


def _is_claim(criterion: str, value: float) -> bool:
    kind = CRITERIA.get(criterion)
    scale = kind.scale if kind else None
    return scale is None or scale[0] <= value <= scale[1]


def _seen(conversations: ConversationColumns) -> set[str]:
    """Returns the criteria that gave anything, or that a sample rate left out; without the verdicts."""
    columns = conversations.criteria, conversations.skipped, conversations.sampled_out
    return {*chain.from_iterable(own for column in columns for own in column.used())} - {STATUS}


def _gates(found: _ByCase) -> list[str]:
    return sorted(name for name, cases in found.items() if any(own != {None} for own in cases.values()))


def _listed(thresholds: _Thresholds) -> str:
    shown = sorted(value for value in thresholds if value is not None)
    return "; ".join([*(["not set"] if None in thresholds else []), *(f"{value:g}" for value in shown)])
