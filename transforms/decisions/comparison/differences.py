"""Differences by slice and by turn index: they point, they do not decide."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean

import numpy as np
from msgspec import Struct

from turnwise.schemas.comparison import ComparisonWord, SliceDifference, TurnDifference
from turnwise.schemas.config import ConfigError
from turnwise.transforms.comparison.columns import ConversationColumns
from turnwise.transforms.comparison.measures import CriterionMeasure
from turnwise.transforms.comparison.runs import runs_of
from turnwise.transforms.comparison.words import difference_of, word_for
from turnwise.transforms.decisions.comparison.estimates import Estimate, PairedRuns, Setup
from turnwise.transforms.decisions.comparison.side_values import MatchedValues, SideValues
from turnwise.transforms.decisions.comparison.values import estimate, group_estimate, paired_estimate
from turnwise.transforms.metrics.repeats import LANGUAGE, TAG, is_wanted
from turnwise.transforms.statistics.tests import benjamini_hochberg, normal_quantile

MOST_SLICES = 100
MOST_TURNS = 30
_NAMES_SHOWN = 20


class _Part(Struct, frozen=True):
    """A slice, or a turn index, of one criterion."""

    measure: CriterionMeasure
    estimate: Estimate
    slice: str = ""
    turn_index: int = -1


class Parts(Struct, frozen=True):
    """Where the versions differ.

    Attributes:
        slices: Those that stand out first, then by p-value.
        turns: Criterion -> its turn indices, in order.
        left_out: Number of slices that were not compared, because there are too many.
    """

    slices: list[SliceDifference]
    turns: dict[str, list[TurnDifference]]
    left_out: int


NO_PARTS = Parts([], {}, 0)


def compare_parts(
    matched: MatchedValues,
    overall: Sequence[tuple[CriterionMeasure, Estimate]],
    wanted: Sequence[str],
    setup: Setup,
) -> Parts:
    """Compares every slice and turn index, with q-values over all of them together.

    Args:
        matched: The conversations.
        overall: The criteria with their differences over everything.
        wanted: Dimensions of the slices, as in the config.
        setup: What is asked for.
    """
    slices = _slices(matched, wanted)
    kept = sorted(slices, key=lambda name: (-_size(slices[name]), name))[:MOST_SLICES]
    parts = [part for name in sorted(kept) for part in _of_slice(name, slices[name], overall, setup)]
    parts += [part for measure, _ in overall for part in _of_turns(matched, measure, setup)]
    with_p = [part for part in parts if part.estimate.p is not None]
    q_values = benjamini_hochberg([part.estimate.p or 0.0 for part in with_p])
    q_of = {id(part): q for part, q in zip(with_p, q_values, strict=True)}
    shrunk = _shrunk(
        [part for part in parts if part.slice], dict((m.criterion, e) for m, e in overall), setup
    )
    found = [_slice(part, q_of.get(id(part)), shrunk.get(id(part)), setup) for part in parts if part.slice]
    turns: dict[str, list[TurnDifference]] = {}
    for part in parts:
        if not part.slice:
            turns.setdefault(part.measure.criterion, []).append(_turn(part, q_of.get(id(part)), setup))
    ordered = sorted(
        found, key=lambda s: (not s.stands_out, 2.0 if s.difference.p is None else s.difference.p)
    )
    return Parts(ordered, turns, len(slices) - len(kept))


def _size(matched: MatchedValues) -> int:
    return len(matched.names) or len(matched.a.rows) + len(matched.b.rows)


def _slices(matched: MatchedValues, wanted: Sequence[str]) -> dict[str, MatchedValues]:
    """Returns the conversations of each slice; a slice that holds everything is none."""
    if not wanted:
        return {}
    a, b = (slice_names(side.observed.conversations, wanted) for side in (matched.a, matched.b))
    names = {name for side in (a, b) for own in side for name in own}
    found = {name: _within(matched, [name in own for own in a], [name in own for own in b]) for name in names}
    return {name: own for name, own in found.items() if 0 < _size(own) < _size(matched)}


def check_slices(sides: Sequence[ConversationColumns], wanted: Sequence[str]) -> None:
    """Holds names of slices against the conversations.

    Args:
        sides: The conversations of both sides.
        wanted: Dimensions of the slices, as in the config.

    Raises:
        ConfigError: No conversation has a slice of one of the names.
    """
    for name in wanted:
        if not any(any(slice_names(side, [name])) for side in sides):
            tags = {tag for side in sides for own in side.tags.used() for tag in own}
            has_language = any(any(side.languages) for side in sides)
            named = sorted({tag.partition(":")[0] for tag in tags if ":" in tag})
            known = [*([LANGUAGE] if has_language else ()), *named, *([TAG] if tags else ())]
            shown = ", ".join(known[:_NAMES_SHOWN]) + (", ..." if len(known) > _NAMES_SHOWN else "")
            raise ConfigError(f"--slices {name}: no conversation has one (there are: {shown or 'none'})")


def slice_names(conversations: ConversationColumns, wanted: Sequence[str]) -> list[set[str]]:
    """Returns the slices of every conversation."""
    found = [{tag for tag in tags if is_wanted(tag, wanted)} for tags in conversations.tags]
    if LANGUAGE in wanted:
        for names, language in zip(found, conversations.languages, strict=True):
            names |= {f"{LANGUAGE}:{language}"} if language else set()
    return found


def _within(matched: MatchedValues, is_in_a: Sequence[bool], is_in_b: Sequence[bool]) -> MatchedValues:
    """Returns the part of the conversations in a slice; a case belongs to it if any of its runs does."""
    own, other = np.asarray(is_in_a, np.bool_), np.asarray(is_in_b, np.bool_)
    kept = matched.a.count(own) + matched.b.count(other) > 0
    names = [name for name, is_kept in zip(matched.names, kept.tolist(), strict=True) if is_kept]
    return MatchedValues(names, matched.a.within(own, kept), matched.b.within(other, kept), matched.pairing)


def _of_slice(
    name: str, matched: MatchedValues, overall: Sequence[tuple[CriterionMeasure, Estimate]], setup: Setup
) -> Iterator[_Part]:
    for measure, _ in overall:
        found = estimate(matched, measure, setup)
        if found.count_a or found.count_b:
            yield _Part(measure, found, slice=name)


def _of_turns(matched: MatchedValues, measure: CriterionMeasure, setup: Setup) -> Iterator[_Part]:
    """Yields the turn indices at which both sides have scores."""
    if matched.pairing.by == "nothing":
        sides = [_turn_cases(side, measure) for side in (matched.a, matched.b)]
        for turn in sorted(sides[0].keys() & sides[1].keys())[:MOST_TURNS]:
            a, b = (runs_of(side[turn]) for side in sides)
            yield _Part(measure, group_estimate(a, b, measure, setup), "", turn)
        return
    by_turn: dict[int, dict[str, tuple[Sequence[float], Sequence[float]]]] = {}
    for place, name in enumerate(matched.names):
        own, other = (_turn_values(side, side.cases[place], measure) for side in (matched.a, matched.b))
        for turn in own.keys() & other.keys():
            by_turn.setdefault(turn, {})[name] = (own[turn], other[turn])
    for turn in sorted(by_turn)[:MOST_TURNS]:
        a, b = (runs_of(values) for values in zip(*by_turn[turn].values(), strict=True))
        yield _Part(measure, paired_estimate(PairedRuns([*by_turn[turn]], a, b), measure, setup), "", turn)


def _turn_cases(side: SideValues, measure: CriterionMeasure) -> dict[int, list[list[float]]]:
    """Returns the values of every case at every turn index."""
    found: dict[int, list[list[float]]] = {}
    for rows in side.alone.cases:
        for turn, values in _turn_values(side, rows, measure).items():
            found.setdefault(turn, []).append(values)
    return found


def _turn_values(side: SideValues, rows: Iterable[int], measure: CriterionMeasure) -> dict[int, list[float]]:
    """Returns one value a conversation at every turn index: the mean, or whether all scores pass."""
    found: dict[int, list[float]] = {}
    for row in rows:
        own = side.observed.conversations.given(row, measure.criterion)
        values: dict[int, list[float]] = {}
        for score in own.turns if own is not None else ():
            value = measure.value_of(score.value, score.outcome)
            if value is not None:
                values.setdefault(score.turn_index, []).append(value)
        for turn, scores in values.items():
            is_share = measure.measure == "pass_rate"
            found.setdefault(turn, []).append(min(scores) if is_share else fmean(scores))
    return found


def _shrunk(parts: Sequence[_Part], overall: Mapping[str, Estimate], setup: Setup) -> dict[int, float]:
    """Returns the differences of slices, pulled towards the overall one by how noisy they are.

    Empirical Bayes: the variance between the slices of a criterion is that of DerSimonian and Laird 1986.
    """
    found: dict[int, float] = {}
    for criterion, whole in overall.items():
        own = [part for part in parts if part.measure.criterion == criterion and _variance(part, setup)]
        if whole.difference is None or not own:
            continue
        weights = [1 / _variance(part, setup) for part in own]
        gaps = [(part.estimate.difference or 0.0) - whole.difference for part in own]
        total, squares = sum(weights), sum(w * w for w in weights)
        excess = sum(w * gap * gap for w, gap in zip(weights, gaps, strict=True)) - (len(own) - 1)
        scale = total - squares / total
        between = max(0.0, excess / scale) if scale > 0 else 0.0
        for part, weight, gap in zip(own, weights, gaps, strict=True):
            found[id(part)] = whole.difference + gap * between / (between + 1 / weight)
    return found


def _variance(part: _Part, setup: Setup) -> float:
    """Returns the variance of a difference, from its interval; 0: not known."""
    interval = part.estimate.interval
    if interval is None or part.estimate.difference is None:
        return 0.0
    return ((interval.high - interval.low) / 2 / normal_quantile(1 - setup.alpha / 2)) ** 2


def _slice(part: _Part, q: float | None, shrunk: float | None, setup: Setup) -> SliceDifference:
    return SliceDifference(
        slice=part.slice,
        criterion=part.measure.criterion,
        difference=difference_of(part.estimate, _word(part, q, setup)),
        shrunk=shrunk,
        q=q,
        stands_out=_stands_out(q, setup),
    )


def _turn(part: _Part, q: float | None, setup: Setup) -> TurnDifference:
    return TurnDifference(
        turn_index=part.turn_index,
        difference=difference_of(part.estimate, _word(part, q, setup)),
        q=q,
        stands_out=_stands_out(q, setup),
    )


def _word(part: _Part, q: float | None, setup: Setup) -> ComparisonWord:
    """Returns the word of a part; it is better or worse where it stands out."""
    scaled = None if q is None else q * setup.alpha / setup.q
    return word_for(part.estimate, scaled, part.measure, setup)


def _stands_out(q: float | None, setup: Setup) -> bool:
    return q is not None and q < setup.q
