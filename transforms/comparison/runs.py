"""Values of the runs of cases: how many, and their mean."""

from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from turnwise.transforms.statistics.resampling import Numbers

Bools = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]
_EXACT = 2.0**53


class Runs(NamedTuple):
    """Values of the runs of every case.

    Attributes:
        counts: Number of values.
        means: Their mean; without any, 0.
    """

    counts: Integers
    means: Numbers

    def at(self, kept: Bools) -> "Runs":
        """Returns those of some cases."""
        return Runs(self.counts[kept], self.means[kept])

    @property
    def total(self) -> int:
        """Number of values of all cases."""
        return int(self.counts.sum())


def runs_of(cases: Iterable[Sequence[float]]) -> Runs:
    """Returns the values of each case, at least one, as counts and means."""
    lists = list(cases)
    return Runs(np.asarray([*map(len, lists)], np.int64), np.asarray([*map(fmean, lists)], np.float64))


def runs_at(values: Numbers, places: Integers, size: int) -> Runs:
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
        for place in np.flatnonzero(counts).tolist():
            means[place] = fmean(listed[ends[place] - int(counts[place]) : ends[place]])
    return Runs(counts, means)
