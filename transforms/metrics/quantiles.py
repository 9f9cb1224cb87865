"""Quantiles within 0.1 % of the value, from counts in logarithmic bins that can be added and taken back.

The bins, and the value that stands for each, are those of DDSketch: Masson, Rim and Lee, "DDSketch: a fast
and fully-mergeable quantile sketch with relative-error guarantees", PVLDB 12(12), 2019.
"""

from math import ceil, log, log1p

ACCURACY = 0.001
SMALLEST, LARGEST = 1e-9, 1e9
_GROWTH = (1 + ACCURACY) / (1 - ACCURACY)
_PER_LOG = 1 / log1p(2 * ACCURACY / (1 - ACCURACY))
_SHIFT = ceil(log(LARGEST) * _PER_LOG) + 1

Bins = dict[int, int]
"""Bin -> how many values lie in it. Bins are numbered in the order of their values; 0 holds what is nearer to
0 than `SMALLEST`. Sizes beyond `LARGEST` count as that, so that there are 41,451 bins at most."""


def bin_of(value: float) -> int:
    """Returns the bin of a value."""
    size = abs(value)
    if size < SMALLEST:
        return 0
    place = ceil(log(min(size, LARGEST)) * _PER_LOG) + _SHIFT
    return place if value > 0 else -place


def bin_value(place: int) -> float:
    """Returns the value that stands for a bin: within 0.1 % of every value in it."""
    if not place:
        return 0.0
    size = 2 * _GROWTH ** (abs(place) - _SHIFT) / (1 + _GROWTH)
    return size if place > 0 else -size


def add_value(bins: Bins, value: float) -> None:
    """Counts a value, in place."""
    place = bin_of(value)
    bins[place] = bins.get(place, 0) + 1


def add_bins(bins: Bins, more: Bins, sign: int = 1) -> None:
    """Adds counts, in place, or takes them back (`sign` -1); a bin that falls to nothing goes."""
    for place, count in more.items():
        now = bins.get(place, 0) + sign * count
        if now:
            bins[place] = now
        else:
            bins.pop(place, None)


def rank_of(share: float, count: int) -> int:
    """Returns the 0-based rank of the smallest of some values that a share (0..1) of them does not exceed."""
    return max(ceil(share * count), 1) - 1


def value_at(bins: Bins, rank: int) -> float:
    """Returns the value of a 0-based rank, the smallest being 0; of a rank too high, the largest."""
    place, below = 0, 0
    for place in sorted(bins):
        below += bins[place]
        if below > rank:
            break
    return bin_value(place)
