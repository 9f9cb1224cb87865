"""Conversations paired by case, and what criteria gave each case: counts and means."""

from collections.abc import Sequence
from functools import cached_property
from itertools import chain
from statistics import fmean
from typing import Literal, NamedTuple

import numpy as np
from msgspec import Struct

from turnwise.schemas.comparison import ComparedMeasure, PairedBy, Pairing
from turnwise.schemas.config import STATUS
from turnwise.transforms.criteria.base import CRITERIA
from turnwise.transforms.decisions.comparison import sides
from turnwise.transforms.statistics.resampling import Numbers

_EXACT = 2.0**53


class Runs(NamedTuple):
    """Number of values of the runs of every case, and their mean; without any, 0."""

    counts: sides.Integers
    means: Numbers

    def at(self, kept: sides.Bools) -> "Runs":
        """Returns those of some cases."""
        return Runs(self.counts[kept], self.means[kept])

    @property
    def total(self) -> int:
        """Number of values of all cases."""
        return int(self.counts.sum())


def _runs_at(values: Numbers, places: sides.Integers, size: int) -> Runs:
    """Returns counts and means of values whose places of cases ascend; means as `fmean` gives them."""
    counts = np.bincount(places, minlength=size).astype(np.int64)
    means = np.zeros(size)
    if len(places) == np.count_nonzero(counts):
        means[places] = values
    elif (values == np.rint(values)).all() and np.abs(values).sum() < _EXACT:
        # Sums of whole numbers are exact in any order.
        np.divide(np.bincount(places, values, size), counts, out=means, where=counts > 0)
    else:
        listed, ends = values.tolist(), np.cumsum(counts).tolist()
        for index in np.flatnonzero(counts).tolist():
            means[index] = fmean(listed[ends[index] - int(counts[index]) : ends[index]])
    return Runs(counts, means)


# What of a criterion is compared: pass shares or mean values, and which side is better.

SHARES: dict[str | None, float] = {"PASS": 1.0, "FAIL": 0.0}
"""Outcome -> its part of a pass rate; what has no outcome has none."""


class CriterionMeasure(Struct, frozen=True):
    """What of a criterion is compared.

    Attributes:
        measure: `pass_rate` where there are outcomes, or all values are 0 or 1; else `mean`.
        scale: Lowest and highest value; None: open, or not known.
        has_outcomes: Whether outcomes say what passes; else values of 1 do.
        threshold: The threshold of all scores; None: there is none, or they differ.
    """

    criterion: str
    measure: ComparedMeasure
    scale: tuple[float, float] | None
    unit: str
    better_is: Literal["more", "less", "neither"]
    has_outcomes: bool
    threshold: float | None = None

    @property
    def span(self) -> float | None:
        """Width of the scale of what is compared; None: it is open."""
        if self.measure == "pass_rate":
            return 1.0
        return None if self.scale is None else self.scale[1] - self.scale[0]

    @property
    def is_of_values(self) -> bool:
        """Whether values are compared; else outcomes are."""
        return self.measure == "mean" or not self.has_outcomes


def measure_of(
    criterion: str, columns: Sequence[sides.CriterionColumn], has_threshold: bool
) -> CriterionMeasure:
    """Returns what of a criterion is compared, of what it gave the conversations of both sides."""
    kind = CRITERIA.get(criterion)
    unit = kind.unit if kind else "score"
    kinds = {kind for column in columns for kind in column.kinds.used() if kind is not None}
    # A criterion may only inform in all conversations although the config gives it a threshold.
    has_values = [kind for kind in kinds if kind.has_value]
    only_informs = bool(has_values) and all(kind.threshold is None for kind in has_values)
    can_fail = criterion == STATUS or (has_threshold and not only_informs)
    has_outcomes = can_fail or any(kind.outcome for kind in kinds)
    values = np.concatenate([column.values[column.has_value] for column in columns])
    is_binary = bool(len(values)) and bool(np.isin(values, (0.0, 1.0)).all())
    is_share = has_outcomes or (unit == "score" and is_binary)
    measure: ComparedMeasure = "pass_rate" if is_share else "mean"
    # A pass is better, whichever side of the threshold it lies on.
    side = "more" if has_outcomes else better_side(criterion)
    thresholds = {kind.threshold for kind in kinds}
    threshold = thresholds.pop() if len(thresholds) == 1 else None
    return CriterionMeasure(criterion, measure, scale_of(criterion), unit, side, has_outcomes, threshold)


def better_side(criterion: str) -> Literal["more", "less", "neither"]:
    """Returns which values of a criterion are better."""
    kind = CRITERIA.get(criterion)
    return "neither" if kind is None else "more" if kind.gate == "at_least" else "less"


def scale_of(criterion: str) -> tuple[float, float] | None:
    """Returns the lowest and highest value of a criterion; None: open-ended, or not known."""
    kind = CRITERIA.get(criterion)
    return (0.0, 1.0) if criterion == STATUS else kind.scale if kind else None


class _RowValues(NamedTuple):
    """What a criterion gave every conversation (missing: 0), whether it applies, whether it gave a value."""

    values: Numbers
    is_seen: sides.Bools
    is_decided: sides.Bools


class _ObservedColumns:
    """What criteria gave the conversations of a side; each is looked at once."""

    def __init__(self, conversations: sides.ConversationColumns) -> None:
        self.conversations = conversations
        self._values: dict[CriterionMeasure, _RowValues] = {}

    def values(self, measure: CriterionMeasure) -> _RowValues:
        """Returns what is compared of every conversation."""
        if measure not in self._values:
            column = self.column(measure)
            # A value outside the scale (CES's -1: no claim) does not count. Where outcomes are compared, one
            # that only informs does not either.
            counts = column.is_within(measure.scale)
            if measure.is_of_values:
                values = np.where(column.has_value, column.values, np.nan)
            else:
                counts &= column.where(lambda kind: kind.threshold is not None)
                outcomes = (None if kind is None else kind.outcome for kind in column.kinds.values)
                shares = [SHARES.get(outcome, np.nan) for outcome in outcomes]
                values = np.asarray(shares, np.float64)[column.kinds.places]
            is_seen = counts | column.where(lambda kind: kind.outcome is not None or not kind.has_value)
            is_decided = is_seen & ~np.isnan(values)
            self._values[measure] = _RowValues(np.where(is_decided, values, 0.0), is_seen, is_decided)
        return self._values[measure]

    def is_binary(self, measure: CriterionMeasure) -> bool:
        """Returns whether all values of a criterion are 0 or 1, where it applies."""
        column = self.column(measure)
        return bool(np.isin(column.values[self.values(measure).is_seen], (0.0, 1.0)).all())

    def column(self, measure: CriterionMeasure) -> sides.CriterionColumn:
        """Returns what a criterion gave every conversation."""
        column = self.conversations.criteria.get(measure.criterion)
        return sides.empty_column(len(self.conversations)) if column is None else column


class SideValues:
    """The conversations of a side, or of a slice of it, by case; `observed` is of all of the side."""

    def __init__(self, observed: _ObservedColumns, rows: sides.Integers, cases: sides.CaseRows) -> None:
        self.observed, self.rows, self.cases = observed, rows, cases
        self._runs: dict[tuple[CriterionMeasure, float | None], Runs] = {}
        self._places = np.repeat(np.arange(len(cases)), cases.sizes)

    def count(self, is_counted: sides.Bools) -> sides.Integers:
        """Returns the number of conversations of each case that are counted."""
        counted = self._places[is_counted[self.cases.rows]]
        return np.bincount(counted, minlength=len(self.cases)).astype(np.int64)

    def count_drawn(self, measure: CriterionMeasure) -> sides.Integers:
        """Returns the number of conversations of each case that a sample rate did not leave out."""
        sampled_out = self.observed.conversations.sampled_out
        is_drawn = [measure.criterion not in left_out for left_out in sampled_out.values]
        return self.count(np.asarray(is_drawn, np.bool_)[sampled_out.places])

    def runs(self, measure: CriterionMeasure, missing: float | None = None) -> Runs:
        """Returns the values of a criterion by case; `missing` stands for those without a score."""
        key = measure, missing
        if key not in self._runs:
            values, is_seen, is_counted = self.observed.values(measure)
            if missing is not None:
                values, is_counted = np.where(is_counted, values, missing), is_seen
            kept = is_counted[self.cases.rows]
            self._runs[key] = _runs_at(values[self.cases.rows[kept]], self._places[kept], len(self.cases))
        return self._runs[key]

    def turn_runs(self, measure: CriterionMeasure) -> dict[int, Runs]:
        """Returns turn index -> one value a conversation, by case: the mean, or whether all scores pass."""
        if (details := self.observed.column(measure).details) is None:
            return {}
        rows = self.cases.rows
        turns = details.turns.at(rows)
        places = np.repeat(np.arange(len(rows)), turns.sizes)
        if measure.is_of_values:
            low, high = ((0.0, 1.0) if measure.measure == "pass_rate" else measure.scale) or (-np.inf, np.inf)
            values = np.where((turns.values >= low) & (turns.values <= high), turns.values, np.nan)
        else:
            shares = [SHARES.get(outcome, np.nan) for outcome in turns.outcomes.values]
            values = np.asarray(shares, np.float64)[turns.outcomes.places]
        by_turn = {}
        for index in np.unique(turns.indices).tolist():
            kept = (turns.indices == index) & ~np.isnan(values)
            runs = _runs_at(values[kept], places[kept], len(rows))
            has_value = runs.counts > 0
            one_each = runs.means[has_value]
            if measure.measure == "pass_rate" and len(one_each) < kept.sum():
                least = np.ones(len(rows))
                np.minimum.at(least, places[kept], values[kept])
                one_each = least[has_value]
            if len(one_each):
                by_turn[index] = _runs_at(one_each, self._places[has_value], len(self.cases))
        return by_turn

    def votes(self, measure: CriterionMeasure) -> tuple[int, int]:
        """Returns the verdicts of a judge with two votes or more, and how many of them are not unanimous."""
        if (details := self.observed.column(measure).details) is None:
            return 0, 0
        rows = self.rows[self.observed.values(measure).is_seen[self.rows]]
        return int(details.voted[rows].sum()), int(details.flipped[rows].sum())

    def single_values(
        self, measure: CriterionMeasure, rows: sides.Integers
    ) -> tuple[sides.Integers, Numbers]:
        """Returns all values of conversations, those of turns where there are any, each with its place."""
        column = self.observed.column(measure)
        whole = np.where(column.has_value, column.values, np.nan)[rows]
        if column.details is None:
            sizes, values = np.ones(len(rows), np.int64), whole
        else:
            turns = column.details.turns.at(rows)
            sizes = np.maximum(turns.sizes, 1)
            values = np.repeat(whole, sizes)
            values[np.repeat(turns.sizes > 0, sizes)] = turns.values
        places, is_known = np.repeat(np.arange(len(rows)), sizes), ~np.isnan(values)
        return places[is_known], values[is_known]

    def count_missing(self, measure: CriterionMeasure) -> int:
        """Returns to how many conversations a criterion applies without deciding."""
        _, is_seen, is_decided = self.observed.values(measure)
        return int((is_seen & ~is_decided)[self.rows].sum())

    @cached_property
    def alone(self) -> "SideValues":
        """The same conversations by the cases of the side alone; see `ConversationColumns.own_cases`."""
        names = self.observed.conversations.own_cases().at(self.rows).compact()
        rows = self.rows[np.argsort(names.places, kind="stable")]
        return SideValues(self.observed, self.rows, sides.CaseRows(rows, names.counts()))

    def runs_alone(self, measure: CriterionMeasure, missing: float | None = None) -> Runs:
        """Returns the values of a criterion by case of the side alone, of the cases that have one."""
        runs = self.alone.runs(measure, missing)
        return runs.at(runs.counts > 0)


# Pairs the conversations of two sides by case.

_NAMES_SHOWN = 20
KEYS: tuple[PairedBy, ...] = ("eval_id", "conversation_id", "task")


class MatchedValues(NamedTuple):
    """The conversations of two sides, or a slice; `names`: cases on both sides that expect the same."""

    names: list[str]
    baseline: SideValues
    candidate: SideValues
    pairing: Pairing


class _Cases:
    """The cases of a side by name: places in the values of the column that names them, and digests."""

    def __init__(self, side: sides.ConversationColumns, by: PairedBy) -> None:
        names = side.case_names(by)
        self.rows = sides.CaseRows(np.argsort(names.places, kind="stable"), names.counts())
        sizes = enumerate(zip(names.values, self.rows.sizes.tolist(), strict=True))
        self.places = {name: code for code, (name, size) in sizes if name and size}
        self.digests: dict[str, set[str | None]] = {name: set() for name in self.places}
        for case, code in sides.distinct_pairs(names, side.case_digests):
            if name := names.values[case]:
                self.digests[name].add(side.case_digests.values[code])

    def of(self, names: Sequence[str]) -> sides.CaseRows:
        return self.rows.take([self.places[name] for name in names])


def match(
    a: sides.ConversationColumns, b: sides.ConversationColumns, by: PairedBy | None = None
) -> MatchedValues:
    """Pairs conversations by an id; by default, by the one that pairs most cases, `nothing` if none does.

    Copies are not cases: if eval ids or tasks bring as many conversations together, and several are runs of
    one, they do.
    """
    if by is None:
        pairs = {key: _common(a.case_names(key), b.case_names(key)) for key in KEYS}
        best = max(KEYS, key=lambda key: pairs[key][0])
        number, runs = pairs[best]
        of_cases: dict[PairedBy, tuple[int, int]] = {
            "eval_id": pairs["eval_id"],
            "task": _common(a.golden_tasks(), b.golden_tasks()),
        }
        for key, (fewer, runs_of_fewer) in of_cases.items():
            if fewer < number and runs_of_fewer >= runs:
                best, number = key, fewer
        by = best if pairs[best][0] else "nothing"
    cases, other = _Cases(a, by), _Cases(b, by)
    named = sorted(cases.places.keys() & other.places.keys())
    digests = ((name, cases.digests[name], other.digests[name]) for name in named)
    # Something else is expected in A than in B only as far as it is known.
    both = [name for name, expected, of_b in digests if expected == of_b or None in expected | of_b]
    changed = sorted({*named}.difference(both))
    baseline_only = sorted(cases.places.keys() - other.places.keys())
    candidate_only = sorted(other.places.keys() - cases.places.keys())
    pairing = Pairing(
        by=by,
        pairs=len(both),
        baseline_only=len(baseline_only),
        candidate_only=len(candidate_only),
        baseline_unidentified=len(a) - len(cases.of([*cases.places]).rows),
        candidate_unidentified=len(b) - len(other.of([*other.places]).rows),
        baseline_only_names=baseline_only[:_NAMES_SHOWN],
        candidate_only_names=candidate_only[:_NAMES_SHOWN],
        changed=len(changed),
        changed_names=changed,
    )
    baseline = SideValues(_ObservedColumns(a), np.arange(len(a)), cases.of(both))
    candidate = SideValues(_ObservedColumns(b), np.arange(len(b)), other.of(both))
    return MatchedValues(both, baseline, candidate, pairing)


def _common(a: sides.CaseNames, b: sides.CaseNames) -> tuple[int, int]:
    """Returns how many cases are on both sides, and how many conversations of both are runs of them."""
    counts, of_b = a.counts(), b.counts()
    if a.values is b.values:
        names = {a.values[code] for code in np.flatnonzero((counts > 0) & (of_b > 0)).tolist()}
    else:
        names = {*a.used()} & {*b.used()}
    names -= {None, ""}
    sizes = chain(zip(a.values, counts.tolist(), strict=True), zip(b.values, of_b.tolist(), strict=True))
    return len(names), sum(number for name, number in sizes if name in names)
