"""Columns that list each of their values once: comparisons go over values, not over conversations."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any, Generic, TypeVar

import numpy as np
from msgspec import Struct

from turnwise.transforms.comparison.runs import Bools, Integers

_Held = TypeVar("_Held")
_Hashed = TypeVar("_Hashed", bound=Hashable)


class CodedColumn(Struct, Generic[_Held], eq=False):
    """A column of some rows.

    Attributes:
        values: Its values, each once; some may be of no row.
        places: Place in `values`, for every row.
    """

    values: list[_Held]
    places: Integers

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, row: int) -> _Held:
        return self.values[self.places[row]]

    def __iter__(self) -> Iterator[_Held]:
        return map(self.values.__getitem__, self.places.tolist())

    def put(self, row: int, value: _Held) -> None:
        """Sets the value of one row.

        Columns of other rows of the same column get a new one as a value of no row.
        """
        if value not in self.values:
            self.values.append(value)
        self.places[row] = self.values.index(value)

    def at(self, rows: Integers | Bools) -> "CodedColumn[_Held]":
        """Returns the column of some rows."""
        return CodedColumn(self.values, self.places[rows])

    def counts(self) -> Integers:
        """Returns the number of rows of every value."""
        return np.bincount(self.places, minlength=len(self.values))

    def used(self) -> list[_Held]:
        """Returns the values that any row has."""
        return [self.values[place] for place in np.flatnonzero(self.counts()).tolist()]

    def compact(self) -> "CodedColumn[_Held]":
        """Returns the column with the values of its rows alone, by the first row of each."""
        used = np.flatnonzero(self.counts())
        rows = np.empty(len(self.values), np.int64)
        rows[self.places[::-1]] = np.arange(len(self))[::-1]
        ordered = used[np.argsort(rows[used])]
        rows[ordered] = np.arange(len(used))
        return CodedColumn([self.values[place] for place in ordered.tolist()], rows[self.places])

    def recoded(self, values: Iterable[_Hashed]) -> "CodedColumn[_Hashed]":
        """Returns the column with other values in place of its own, which may be equal to each other."""
        own = coded(values)
        return CodedColumn(own.values, own.places[self.places])


def coded(rows: Iterable[_Hashed]) -> CodedColumn[_Hashed]:
    """Returns the column of the values of all rows."""
    listed = list(rows)
    seen = dict.fromkeys(listed)
    if len(seen) == len(listed):
        return CodedColumn(listed, np.arange(len(listed)))
    place_of = dict(zip(seen, range(len(seen)), strict=True))
    places = np.fromiter(map(place_of.__getitem__, listed), np.int64, len(listed))
    return CodedColumn([*seen], places)


def constant(value: _Hashed, size: int) -> CodedColumn[_Hashed]:
    """Returns the column of so many rows of one value."""
    return CodedColumn([value], np.zeros(size, np.int64))


def stacked(columns: Sequence[CodedColumn[_Hashed]]) -> CodedColumn[_Hashed]:
    """Returns columns under each other."""
    none = np.zeros(0, np.int64)
    if len({id(own.values) for own in columns}) == 1:
        return CodedColumn(columns[0].values, np.concatenate([none, *(own.places for own in columns)]))
    values = [value for own in columns for value in own.values]
    starts = accumulate((len(own.values) for own in columns), initial=0)
    places = [own.places + start for own, start in zip(columns, starts, strict=False)]
    return CodedColumn(values, np.concatenate([none, *places])).recoded(values)


def chosen(a: CodedColumn[_Hashed], b: CodedColumn[_Hashed], is_b: Bools) -> CodedColumn[_Hashed]:
    """Returns the values of `a`, in some rows those of `b`."""
    values = [*a.values, *b.values]
    return CodedColumn(values, np.where(is_b, b.places + len(a.values), a.places)).recoded(values)


def distinct_pairs(a: CodedColumn[Any], b: CodedColumn[Any]) -> list[tuple[int, int]]:
    """Returns the pairs of places in the values of two columns that any row has, ascending."""
    pairs = a.places * len(b.values) + b.places
    if len(a.values) * len(b.values) <= len(pairs):
        found = np.flatnonzero(np.bincount(pairs))
    else:
        ordered = np.sort(pairs)
        found = ordered[np.diff(ordered, prepend=-1) > 0]
    first, second = np.divmod(found, max(1, len(b.values)))
    return [*zip(first.tolist(), second.tolist(), strict=True)]


def common(a: CodedColumn[Any], b: CodedColumn[Any]) -> set[Any]:
    """Returns the values that rows of both columns have."""
    if a.values is not b.values:
        return {*a.used()} & {*b.used()}
    return {a.values[place] for place in np.flatnonzero((a.counts() > 0) & (b.counts() > 0)).tolist()}
