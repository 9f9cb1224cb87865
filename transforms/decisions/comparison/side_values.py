"""What criteria gave the conversations of a side, by case: counts and means."""

from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

import numpy as np

from turnwise.schemas.comparison import Pairing
from turnwise.transforms.comparison.case_rows import CaseRows, rows_by_case
from turnwise.transforms.comparison.columns import ConversationColumns
from turnwise.transforms.comparison.criterion_column import CriterionColumn, are_binary, empty_column
from turnwise.transforms.comparison.measures import CriterionMeasure
from turnwise.transforms.comparison.observed import Observed
from turnwise.transforms.comparison.pairing import Matched
from turnwise.transforms.comparison.runs import Bools, Integers, Runs, runs_at
from turnwise.transforms.statistics.resampling import Numbers


class RowValues(NamedTuple):
    """What a criterion gave every conversation of a side.

    Attributes:
        values: What is compared; undecided, 0.
        is_seen: Whether the criterion applies.
        is_decided: Whether it gave a value.
    """

    values: Numbers
    is_seen: Bools
    is_decided: Bools


class ObservedColumns:
    """What criteria gave the conversations of a side; each is looked at once."""

    def __init__(self, conversations: ConversationColumns) -> None:
        self.conversations = conversations
        self._values: dict[CriterionMeasure, RowValues] = {}
        self._drawn: dict[str, Bools] = {}

    def at(self, rows: Iterable[int], measure: CriterionMeasure) -> list[Observed]:
        """Returns what a criterion gave some conversations, where it applies."""
        is_seen = self.values(measure).is_seen
        found = (self.conversations.given(row, measure.criterion) for row in rows if is_seen[row])
        return [own for own in found if own is not None]

    def values(self, measure: CriterionMeasure) -> RowValues:
        """Returns what a criterion gave every conversation."""
        if measure not in self._values:
            found = self._column(measure)
            values, is_seen = measure.values_of(found), measure.applies(found)
            is_decided = is_seen & ~np.isnan(values)
            self._values[measure] = RowValues(np.where(is_decided, values, 0.0), is_seen, is_decided)
        return self._values[measure]

    def is_binary(self, measure: CriterionMeasure) -> bool:
        """Returns whether all values of a criterion are 0 or 1, where it applies."""
        found = self._column(measure)
        return are_binary(found.values[self.values(measure).is_seen])

    def _column(self, measure: CriterionMeasure) -> CriterionColumn:
        found = self.conversations.criteria.get(measure.criterion)
        return empty_column(len(self.conversations)) if found is None else found

    def is_drawn(self, criterion: str) -> Bools:
        """Returns which conversations a sample rate did not leave out of a criterion."""
        if criterion not in self._drawn:
            sampled_out = self.conversations.sampled_out
            is_drawn = np.asarray([criterion not in own for own in sampled_out.values], np.bool_)
            self._drawn[criterion] = is_drawn[sampled_out.places]
        return self._drawn[criterion]


class SideValues:
    """The conversations of a side, or of a slice of it, by case.

    Attributes:
        observed: What criteria gave all conversations of the side.
        rows: Rows of the conversations.
        cases: Rows of the conversations of every case.
    """

    def __init__(self, observed: ObservedColumns, rows: Integers, cases: CaseRows) -> None:
        self.observed, self.rows, self.cases = observed, rows, cases
        self._runs: dict[tuple[CriterionMeasure, float | None], Runs] = {}
        self._places = np.repeat(np.arange(len(cases)), cases.sizes)

    def count(self, is_counted: Bools) -> Integers:
        """Returns the number of conversations of each case that are counted."""
        counted = self._places[is_counted[self.cases.rows]]
        return np.bincount(counted, minlength=len(self.cases)).astype(np.int64)

    def count_seen(self, measure: CriterionMeasure) -> Integers:
        """Returns the number of conversations of each case that a criterion applies to."""
        return self.count(self.observed.values(measure).is_seen)

    def count_drawn(self, measure: CriterionMeasure) -> Integers:
        """Returns the number of conversations of each case that a sample rate did not leave out."""
        return self.count(self.observed.is_drawn(measure.criterion))

    def runs(self, measure: CriterionMeasure, undecided: float | None = None) -> Runs:
        """Returns the values of a criterion by case; `undecided` stands for those that it left undecided."""
        key = measure, undecided
        if key not in self._runs:
            self._runs[key] = self._find_runs(measure, undecided)
        return self._runs[key]

    def _find_runs(self, measure: CriterionMeasure, undecided: float | None) -> Runs:
        values, is_seen, is_decided = self.observed.values(measure)
        is_counted = is_decided
        if undecided is not None:
            values, is_counted = np.where(is_decided, values, undecided), is_seen
        kept = is_counted[self.cases.rows]
        return runs_at(values[self.cases.rows[kept]], self._places[kept], len(self.cases))

    def at(self, place: int, measure: CriterionMeasure) -> list[Observed]:
        """Returns what a criterion gave the conversations of one case, where it applies."""
        return self.observed.at(self.cases[place], measure)

    def count_undecided(self, measure: CriterionMeasure) -> int:
        """Returns to how many conversations a criterion applies without deciding."""
        _, is_seen, is_decided = self.observed.values(measure)
        return int((is_seen & ~is_decided)[self.rows].sum())

    @cached_property
    def alone(self) -> "SideValues":
        """The same conversations by the cases of the side alone; see `ConversationColumns.own_cases`."""
        own = rows_by_case(self.observed.conversations.own_cases().at(self.rows).compact())
        return SideValues(self.observed, self.rows, CaseRows(self.rows[own.rows], own.sizes))

    def within(self, is_in: Bools, is_kept: Bools) -> "SideValues":
        """Returns a slice: its conversations, and the cases that are kept."""
        return SideValues(
            self.observed, self.rows[is_in[self.rows]], self.cases.take(np.flatnonzero(is_kept))
        )


class MatchedValues(NamedTuple):
    """The conversations of two sides, or of a slice of them, by case.

    Attributes:
        names: Cases of both sides, by name; none if nothing pairs them.
        a: Conversations of A.
        b: Conversations of B.
        pairing: How they were paired.
    """

    names: list[str]
    a: SideValues
    b: SideValues
    pairing: Pairing


def values_of(matched: Matched) -> MatchedValues:
    """Returns what criteria gave matched conversations."""
    a, b = (
        SideValues(ObservedColumns(side), np.arange(len(side)), cases)
        for side, cases in ((matched.a, matched.cases_a), (matched.b, matched.cases_b))
    )
    return MatchedValues(matched.names, a, b, matched.pairing)
