"""What one criterion gave the conversations of a side, as columns of numbers."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from msgspec import Struct, field

from turnwise.transforms.comparison.observed import Observed
from turnwise.transforms.comparison.runs import Bools
from turnwise.transforms.decisions.comparison.sides import CodedColumn, chosen, coded, constant, stacked
from turnwise.transforms.statistics.resampling import Numbers


class ScoreKind(NamedTuple):
    """What many scores of a criterion have in common; see `Observed`.

    Attributes:
        has_value: Whether they have a value.
    """

    outcome: str | None
    threshold: float | None
    is_summed: bool
    has_value: bool


class CriterionColumn(Struct, eq=False):
    """What a criterion gave conversations.

    Attributes:
        values: Value of every conversation; without one, 0.
        kinds: The rest of what comparisons go over; None: the criterion gave nothing.
        details: Row -> all that it gave, where reasons, turns and votes are known.
    """

    values: Numbers
    kinds: CodedColumn[ScoreKind | None]
    details: dict[int, Observed] = field(default_factory=dict)

    def __getitem__(self, row: int) -> Observed | None:
        kind = self.kinds[row]
        if row in self.details or kind is None:
            return self.details.get(row)
        value = float(self.values[row]) if kind.has_value else None
        return Observed(value, kind.outcome, kind.threshold, is_summed=kind.is_summed)

    def put(self, row: int, found: Observed) -> None:
        """Sets what the criterion gave one conversation."""
        self.values[row] = found.value or 0.0
        self.kinds.put(row, kind_of(found))
        self.details[row] = found

    def without(self, rows: Bools) -> "CriterionColumn":
        """Returns a column without details where the criterion gave some conversations nothing."""
        nothing: CodedColumn[ScoreKind | None] = constant(None, len(self.kinds))
        return CriterionColumn(np.where(rows, 0.0, self.values), chosen(self.kinds, nothing, rows))

    def where(self, is_wanted: Callable[[ScoreKind], bool]) -> Bools:
        """Returns whether each conversation has a score of some kinds."""
        found = [kind is not None and is_wanted(kind) for kind in self.kinds.values]
        return np.asarray(found, np.bool_)[self.kinds.places]

    @property
    def is_given(self) -> Bools:
        """Whether each conversation has a score, with a value or without."""
        return self.where(lambda _: True)

    @property
    def has_value(self) -> Bools:
        """Whether each conversation has a value."""
        return self.where(lambda kind: kind.has_value)

    def is_within(self, scale: tuple[float, float] | None) -> Bools:
        """Returns whether the value of each conversation is on a scale; None: all values are."""
        if scale is None:
            return self.has_value
        return self.has_value & (self.values >= scale[0]) & (self.values <= scale[1])


def are_binary(values: Numbers) -> bool:
    """Returns whether all values are 0 or 1."""
    return bool(np.isin(values, (0.0, 1.0)).all())


def empty_column(size: int) -> CriterionColumn:
    """Returns what a criterion gave so many conversations that it gave nothing."""
    return _column([None] * size)


def stacked_criteria(columns: Sequence[CriterionColumn]) -> CriterionColumn:
    """Returns columns without details under each other."""
    values = np.concatenate([own.values for own in columns])
    return CriterionColumn(values, stacked([own.kinds for own in columns]))


def columns_by_criterion(rows: Sequence[Mapping[str, Observed]]) -> dict[str, CriterionColumn]:
    """Returns what criteria gave conversations, by criterion, in order of appearance.

    Args:
        rows: Criterion -> what it gave, for every conversation.
    """
    names = dict.fromkeys(chain.from_iterable(rows))
    return {name: _column([row.get(name) for row in rows]) for name in names}


def _column(found: Sequence[Observed | None]) -> CriterionColumn:
    values: Iterable[float | None] = (None if own is None else own.value for own in found)
    return CriterionColumn(
        values=np.asarray([value or 0.0 for value in values], np.float64),
        kinds=coded(None if own is None else kind_of(own) for own in found),
        details={row: own for row, own in enumerate(found) if own is not None},
    )


def kind_of(found: Observed) -> ScoreKind:
    """Returns what a score has in common with others."""
    return ScoreKind(found.outcome, found.threshold, found.is_summed, found.value is not None)
