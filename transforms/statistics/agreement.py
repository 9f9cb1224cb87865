"""Agreement of raters, and shares and means of scores that depend on each other."""

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from math import inf, sqrt
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from turnwise.schemas.comparison import Bounds
from turnwise.transforms.statistics.resampling import LEVEL, Numbers, replicates_for, resampling_weights
from turnwise.transforms.statistics.tests import normal_quantile, t_quantile, wilson_interval

_ROUNDING = 1e-12


class Confusion(NamedTuple):
    """Outcomes of a criterion by the labels of people: a `false_pass` is one of what people fail."""

    true_pass: int
    false_pass: int
    false_fail: int
    true_fail: int


def cohens_kappa(pairs: Sequence[tuple[Hashable, Hashable]]) -> float | None:
    """Returns Cohen's kappa of two raters, at most 1; None if it is not defined.

    (observed - expected) / (1 - expected) (Cohen 1960); not defined without pairs, and where both raters give
    one and the same label to everything.
    """
    if not pairs:
        return None
    first, other = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    observed = sum(a == b for a, b in pairs) * len(pairs)
    expected, largest = sum(first[label] * other[label] for label in first), len(pairs) ** 2
    return (observed - expected) / (largest - expected) if largest > expected else None


def krippendorffs_alpha(units: Sequence[Sequence[float]]) -> float | None:
    """Returns Krippendorff's alpha for numbers (interval data), at most 1; None if it is not defined.

    1 - observed / expected squared difference (Krippendorff 2011, Computing Krippendorff's
    alpha-reliability). Of labels 0 and 1 it is the alpha for nominal data. Units with fewer than two labels
    do not count.
    """
    (value,) = _alphas(_alpha_sums(units)[None])
    return None if np.isnan(value) else float(value)


def alpha_interval(units: Mapping[str, Sequence[Sequence[float]]], seed: int) -> Bounds | None:
    """Returns the bootstrap's interval of Krippendorff's alpha, over cases; None: it is not defined."""
    return _percentiles({case: _alpha_sums(ratings) for case, ratings in units.items()}, _alphas, seed)


def kappa_interval(tables: Mapping[str, Confusion], seed: int) -> Bounds | None:
    """Returns the bootstrap's interval of Cohen's kappa, over cases; None: it is not defined."""
    parts = {case: np.asarray(table, dtype=float) for case, table in tables.items()}
    return _percentiles(parts, _kappas, seed)


def _kappas(cells: Numbers) -> Numbers:
    both, false_pass, false_fail, neither = cells.T
    size = cells.sum(axis=1)
    expected = (both + false_pass) * (both + false_fail) + (false_fail + neither) * (false_pass + neither)
    return _ratio((both + neither) * size - expected, size**2 - expected)


def _alpha_sums(units: Sequence[Sequence[float]]) -> Numbers:
    """Returns the sums that alpha is made of: observed differences, squares, values, labels."""
    sums = np.zeros(4)
    for labels in units:
        size, total, squares = len(labels), sum(labels), sum(x * x for x in labels)
        if size > 1:
            sums += ((size * squares - total**2) / (size - 1), squares, total, size)
    return sums


def _alphas(sums: Numbers) -> Numbers:
    observed, squares, total, size = sums.T
    expected = size * squares - total**2
    return 1 - _ratio((size - 1) * observed, np.where(expected > _ROUNDING * size * squares, expected, 0.0))


def _ratio(part: Numbers, whole: Numbers) -> Numbers:
    """Returns quotients; NaN where the divisor is 0."""
    return np.divide(part, whole, out=np.full(len(whole), np.nan), where=whole > 0)


def _percentiles(
    parts: Mapping[str, Numbers], figures: Callable[[Numbers], Numbers], seed: int
) -> Bounds | None:
    """Returns the middle of a figure over replicates; None: it does not vary, or in 1 of 20 is undefined."""
    if len(parts) < 2:
        return None
    replicates = replicates_for(len(parts))
    sums = np.zeros((replicates, 4))
    for case, part in parts.items():
        sums += resampling_weights(seed, case, replicates)[:, None] * part
    drawn = figures(sums)
    drawn = drawn[~np.isnan(drawn)]
    if len(drawn) < 0.95 * replicates or np.ptp(drawn) < _ROUNDING:
        return None
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Bounds(float(low), float(high))


# Agreement of several raters on labels without an order, without numpy.


def nominal_alpha(units: Mapping[str, int]) -> float | None:
    """Returns Krippendorff's alpha for nominal data, at most 1; None if it is not defined.

    1 - observed / expected disagreement (Krippendorff 2011, Computing Krippendorff's alpha-reliability).
    Units with fewer than two labels do not count. It is not defined without two labels on one unit, and where
    all labels are the same. A unit has one letter for each rater that gave a label; equal units are counted.

    >>> nominal_alpha({"PPP": 9, "FFF": 9}), nominal_alpha({"PP": 3})
    (1.0, None)
    """
    totals: Counter[str] = Counter()
    observed = 0.0
    for labels, number in sorted(units.items()):
        size, counts = len(labels), Counter(labels)
        if size < 2:
            continue
        observed += number * (size**2 - sum(count**2 for count in counts.values())) / (size - 1)
        for label, count in counts.items():
            totals[label] += number * count
    size = totals.total()
    expected = size**2 - sum(count**2 for count in totals.values())
    return 1 - (size - 1) * observed / expected if expected else None


# Means and shares of values that come in groups, such as the turns of a case; without numpy.


class GroupSum(NamedTuple):
    """The values of one group: how many, and their sum."""

    size: int
    total: float


def _mean(groups: Collection[GroupSum]) -> tuple[float, int]:
    count = sum(group.size for group in groups)
    return sum(group.total for group in groups) / count, count


def _variance(groups: Collection[GroupSum]) -> float:
    """Returns the variance of the mean of all groups, by linearisation (Cochran 1977, 6.3)."""
    mean, count = _mean(groups)
    return sum((group.total - mean * group.size) ** 2 for group in groups) / count**2


def grouped_mean_interval(groups: Collection[GroupSum], scale: tuple[float, float] | None) -> Bounds | None:
    """Returns the 95 % interval of a mean, within its scale (None: open); None: it cannot be told.

    It is Student's interval over groups. Where the means of all groups are the same, some further group may
    differ nevertheless: on a scale their share is taken to be the upper Wilson bound of 0 groups.
    """
    size = len(groups)
    if size < 2:
        return None
    mean, _ = _mean(groups)
    variance = _variance(groups) * size / (size - 1)
    if variance > ((1e-12 * max(1.0, abs(mean))) ** 2):
        half = t_quantile((1 + LEVEL) / 2, size - 1) * sqrt(variance)
        low, high = scale or (0.0 if all(group.total >= 0 for group in groups) else -inf, inf)
        return Bounds(max(low, mean - half), min(high, mean + half))
    if scale is None:
        return None
    z2 = normal_quantile((1 + LEVEL) / 2) ** 2
    other = z2 / (size + z2)
    return Bounds(mean - other * (mean - scale[0]), mean + other * (scale[1] - mean))


def grouped_share_interval(groups: Collection[GroupSum]) -> Bounds | None:
    """Returns Wilson's interval of a share, for as many trials as would tell as much; None: no trial."""
    if not groups:
        return None
    share, count = _mean(groups)
    size = float(len(groups))
    if 0 < share < 1:
        variance = _variance(groups)
        size = min(count, share * (1 - share) / variance) if variance else count
    return wilson_interval(share * size, size)


# Shares over scores that are not independent: several scores of a case, and sampling weights.

CaseCodes = npt.NDArray[np.int64]


class EffectiveShare(NamedTuple):
    """A share, 0..1, and how many independent trials would tell as much (at most as many as there are)."""

    value: float
    size: float


def cluster_codes(clusters: Sequence[Hashable]) -> CaseCodes:
    """Returns a number from 0 on for each cluster, in the order in which they come."""
    known: dict[Hashable, int] = {}
    return np.asarray([known.setdefault(cluster, len(known)) for cluster in clusters], dtype=np.int64)


def effective_size(weights: Numbers) -> float:
    """Returns how many scores with equal weights tell as much, (sum w)^2 / sum w^2 (Kish 1965); 0 of none."""
    return float(weights.sum()) ** 2 / float((weights**2).sum()) if len(weights) else 0.0


def clustered_share(values: Numbers, clusters: CaseCodes) -> EffectiveShare:
    """Returns the share of values 0..1 with its effective size, value (1 - value) / variance.

    The variance is that of a ratio over clusters, by linearisation (Cochran 1977, Sampling Techniques, 6.3).
    Where nothing varies, the clusters count instead of the scores.
    """
    count = len(values)
    if not count:
        return EffectiveShare(0.0, 0.0)
    value = float(values.sum()) / count
    of_cluster = np.bincount(clusters)
    of_cluster = of_cluster[of_cluster > 0]
    if len(of_cluster) == count:
        return EffectiveShare(value, float(count))
    variance = clustered_variance((values - value) / count, clusters)
    size = value * (1 - value) / variance if variance > 1e-15 else count**2 / float((of_cluster**2).sum())
    return EffectiveShare(value, min(float(count), size))


def clustered_variance(parts: Numbers, clusters: CaseCodes) -> float:
    """Returns the variance of a sum of parts that are independent between clusters and add up to 0."""
    sums = np.bincount(clusters, parts)[np.unique(clusters)]
    return float((sums**2).sum()) * len(sums) / max(len(sums) - 1, 1)
