"""Aligns two sequences in order, looking only near the diagonal where that is certain to be enough."""

from array import array
from collections.abc import Callable, Sequence
from itertools import accumulate

Similarities = Callable[[int, int, int], Sequence[float]]
"""Returns the similarities, 0..1, of a row with the columns from one on, up to another one."""

AlignedPlaces = list[tuple[int | None, int | None]]

_FIRST_WIDTH = 16
_WIDER = 4
_ROUNDING = 1e-6


class _Band:
    """Best sums of similarities from every place near the diagonal to the end; 0 elsewhere."""

    def __init__(self, rows: int, columns: int, width: int, similarities: Similarities) -> None:
        """Fills the band (Needleman-Wunsch with free gaps)."""
        self._rows, self._columns, self._similarities = rows, columns, similarities
        self._first = min(0, columns - rows) - width
        self._size = max(0, columns - rows) + width - self._first + 1
        self._best = [array("d", bytes(8 * (self._size + 2))) for _ in range(rows + 1)]
        for row in reversed(range(rows)):
            self._fill(row)

    def _fill(self, row: int) -> None:
        here, below, shift = self._best[row], self._best[row + 1], row + self._first - 1
        first, stop = max(0, shift + 1), min(self._columns, shift + 1 + self._size)
        similar, best = self._similarities(row, first, stop), 0.0
        for column in range(stop - 1, first - 1, -1):
            place = column - shift
            best = here[place] = max(below[place - 1], best, below[place] + similar[column - first])

    def best(self, row: int, column: int) -> float:
        """Returns the best sum from a place on."""
        place = column - row - self._first + 1
        return self._best[row][place] if 0 <= place < self._size + 2 else 0.0

    def pairs(self) -> AlignedPlaces:
        """Returns the pairs of a path of the best sum, in order; of equal ones the one that pairs first."""
        row, column, pairs = 0, 0, AlignedPlaces()
        while row < self._rows or column < self._columns:
            best, has_both = self.best(row, column), row < self._rows and column < self._columns
            similarity = self._similarities(row, column, column + 1)[0] if has_both else 0.0
            if similarity > 0 and best == self.best(row + 1, column + 1) + similarity:
                pairs.append((row, column))
                row, column = row + 1, column + 1
            elif column == self._columns or (row < self._rows and best == self.best(row + 1, column)):
                pairs.append((row, None))
                row += 1
            else:
                pairs.append((None, column))
                column += 1
        return pairs


def align_in_order(
    columns: int, largest: Sequence[float], similarities: Similarities, width: int = _FIRST_WIDTH
) -> AlignedPlaces:
    """Pairs two sequences in order, so that the summed similarity is as large as possible.

    Where the sequences are alike, only places near the diagonal are compared: a path that leaves a band
    passes over more than its width of the shorter sequence, so that it can be better only where the largest
    similarities of the remaining rows sum up to more.

    Args:
        columns: Length of the second sequence.
        largest: Of every place of the first sequence, a bound of its similarities.
        similarities: Similarities, the same whenever they are asked for.
        width: Width of the first band that is tried.

    Returns:
        Pairs (row, column) in order; None marks a place without a partner. Places without any
        similarity are never paired.
    """
    rows, shorter = len(largest), min(len(largest), columns)
    bounds = [0.0, *accumulate(sorted(largest, reverse=True))]
    while True:
        band = _Band(rows, columns, width, similarities)
        outside = bounds[max(0, shorter - width - 1)]
        if width >= max(rows, columns) or band.best(0, 0) > outside + _ROUNDING:
            return band.pairs()
        width = min((width + 1) * _WIDER, max(rows, columns))
