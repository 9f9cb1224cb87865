"""Rows of the conversations of cases."""

from collections.abc import Iterator, Sequence

import numpy as np

from turnwise.transforms.comparison.columns import CaseNames
from turnwise.transforms.comparison.runs import Integers


class CaseRows:
    """Rows of the conversations of every case: their places in the columns of a side.

    Attributes:
        rows: The rows, those of one case together.
        sizes: Number of rows of every case.
    """

    def __init__(self, rows: Integers, sizes: Integers) -> None:
        self.rows, self.sizes = rows, sizes
        self._starts = np.cumsum(sizes) - sizes

    def __len__(self) -> int:
        return len(self.sizes)

    def __getitem__(self, case: int) -> list[int]:
        start = int(self._starts[case])
        return self.rows[start : start + int(self.sizes[case])].tolist()

    def __iter__(self) -> Iterator[list[int]]:
        return map(self.__getitem__, range(len(self)))

    def take(self, cases: Sequence[int] | Integers) -> "CaseRows":
        """Returns the rows of some cases, in their order."""
        chosen = np.asarray(cases, np.int64)
        sizes = self.sizes[chosen]
        # Of every row of the result: how far its case has moved, and its place in the result.
        moved = np.repeat(self._starts[chosen] - (np.cumsum(sizes) - sizes), sizes)
        return CaseRows(self.rows[moved + np.arange(len(moved))], sizes)


def rows_by_case(names: CaseNames) -> CaseRows:
    """Returns the rows of every value of a column, in order; none for a value of no row."""
    return CaseRows(np.argsort(names.places, kind="stable"), names.counts())
