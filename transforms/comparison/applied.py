"""Finds, from scores alone, which thresholds were not the same: where a config is not at hand."""

from collections.abc import Iterator
from itertools import chain

from turnwise.schemas.comparison import RulerChange
from turnwise.transforms.comparison.columns import ConversationColumns
from turnwise.transforms.comparison.criterion_column import CriterionColumn
from turnwise.transforms.comparison.runs import Bools
from turnwise.transforms.criteria.base import CRITERIA
from turnwise.transforms.decisions.comparison.sides import distinct_pairs
from turnwise.transforms.scoring.evaluate import STATUS

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
    for name, given in conversations.criteria.items():
        counts = _has_threshold(given) | given.is_within(_scale(name))
        cases, thresholds = conversations.eval_ids.at(counts), given.kinds.at(counts)
        for case, place in distinct_pairs(cases, thresholds) if name != STATUS else ():
            kind = thresholds.values[place]
            if kind is not None:
                found.setdefault(name, {}).setdefault(cases.values[case], set()).add(kind.threshold)
    return found


def _has_threshold(given: CriterionColumn) -> Bools:
    return given.where(lambda kind: kind.has_value and kind.threshold is not None)


def _scale(criterion: str) -> tuple[float, float] | None:
    kind = CRITERIA.get(criterion)
    return kind.scale if kind else None


def _seen(conversations: ConversationColumns) -> set[str]:
    """Returns the criteria that gave anything, or that a sample rate left out; without the verdicts."""
    left_out = [*conversations.skipped.used(), *conversations.sampled_out.used()]
    return {*conversations.criteria, *chain.from_iterable(left_out)} - {STATUS}


def _gates(found: _ByCase) -> list[str]:
    return sorted(name for name, cases in found.items() if any(own != {None} for own in cases.values()))


def _listed(thresholds: _Thresholds) -> str:
    shown = sorted(value for value in thresholds if value is not None)
    return "; ".join([*(["not set"] if None in thresholds else []), *(f"{value:g}" for value in shown)])
