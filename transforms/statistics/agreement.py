"""Agreement of raters; shares, means and intervals of scores that depend on each other."""

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from math import inf, sqrt
from threading import local
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from turnwise.schemas.comparison import Bounds
from turnwise.transforms.statistics.tests import normal_cdf, normal_quantile, t_quantile, wilson_interval

# Bootstrap and permutation over cases: the case is the unit, its runs are a cluster.
#
# The random numbers of a case depend on the seed and the name of the case alone (Philox, a counter-based
# generator: Salmon, Moraes, Dror and Shaw 2011). So the result is the same on every machine, in whatever
# order cases come.

REPLICATES = 10_000
_FEWEST_REPLICATES = 1_000
_MOST_DRAWS = 20_000_000
_KEPT_DRAWS = 1_000
"""Cases whose random numbers are kept for other criteria: 10 MB of weights, and 10 MB of signs."""
_ENUMERATED = 13
"""Up to so many cases all exchanges of their versions are looked at: 2^13 = 8,192."""
_BOOTSTRAPPED = 20
"""From so many cases on the bootstrap's interval is used; for fewer ones it is too narrow."""

LEVEL = 0.95
"""Level of confidence of all intervals for which none is chosen."""
SEED = 0
"""Seed of what people read. With the names of the cases, which are added to it, the content alone decides the
draws: the same input gives the same digits in every run."""

Numbers = npt.NDArray[np.float64]


def generator_of(seed: int, case: str = "") -> np.random.Generator:
    """Returns the generator of random numbers of a case; it gives the same on every machine."""
    return np.random.Generator(np.random.Philox(key=int.from_bytes(_key(seed, case), "big")))


def _key(seed: int, case: str) -> bytes:
    return sha256(seed.to_bytes(16, "big") + case.encode("utf-8", "replace")).digest()[:16]


class _Thread(local):
    """The generator of a thread, which draws for one case after another: making one takes twice as long."""

    def __init__(self) -> None:
        self._bits = np.random.Philox(key=0)
        self._generator, self._start = np.random.Generator(self._bits), self._bits.state

    def of_case(self, seed: int, case: str) -> np.random.Generator:
        """Returns what `generator_of` gives, until the next call in this thread."""
        self._start["state"]["key"] = np.frombuffer(_key(seed, case)[::-1], "<u8")
        self._bits.state = self._start
        return self._generator


_THREAD = _Thread()


@lru_cache(_KEPT_DRAWS)
def resampling_weights(seed: int, case: str, replicates: int) -> npt.NDArray[np.uint8]:
    """Returns how often a case is drawn in each replicate: Poisson(1), within 1/65,536.

    Independent draws stand for draws with replacement (Hanley and MacGibbon 2006), so that a case's draws do
    not depend on the other cases.
    """
    weights = _POISSON[_THREAD.of_case(seed, case).integers(65_536, size=replicates, dtype=np.uint16)]
    weights.flags.writeable = False
    return weights


@lru_cache(_KEPT_DRAWS)
def _signs(seed: int, case: str, replicates: int) -> npt.NDArray[np.int8]:
    """Returns whether the versions of a case are exchanged in each replicate: 1 or -1."""
    signs = _THREAD.of_case(seed, case).integers(2, size=replicates, dtype=np.int8) * 2 - 1
    signs.flags.writeable = False
    return signs


def _poisson_table() -> npt.NDArray[np.uint8]:
    """Returns 65,536 values that are distributed as Poisson(1)."""
    shares = np.exp(-1.0) / np.cumprod([1.0, *range(1, 9)])
    ends = np.round(np.cumsum(shares) * 65_536).astype(int)
    ends[-1] = 65_536
    return np.repeat(np.arange(9, dtype=np.uint8), np.diff(ends, prepend=0))


_POISSON = _poisson_table()


class CaseMeans:
    """Intervals of a mean over cases.

    From 20 cases on the bias-corrected and accelerated bootstrap (Efron 1987); below, Student's t.
    """

    def __init__(self, values: Mapping[str, float], seed: int) -> None:
        """Draws the replicates, of the value of every case; at least one."""
        cases = sorted(values)
        numbers = np.asarray([values[case] for case in cases], dtype=np.float64)
        self.size, self.mean = len(numbers), float(numbers.mean())
        deviations = numbers - self.mean
        # Numbers that are equal on paper differ in the last digits.
        self.is_constant = float(np.ptp(numbers)) <= 1e-12 * max(1.0, abs(self.mean))
        self.variance = 0.0 if self.is_constant else float(numbers.var(ddof=1))
        self._means: Numbers | None = None
        if self.size >= _BOOTSTRAPPED and not self.is_constant:
            self._means = _replicate_means(cases, deviations, seed)
            self._cubes = float((deviations**3).sum()) / (6 * float((deviations**2).sum()) ** 1.5)

    def interval(self, level: float = LEVEL) -> Bounds | None:
        """Returns the interval of the mean; None: the values do not vary, or there is one alone."""
        if self.is_constant:
            return None
        if self._means is None:
            half = t_quantile((1 + level) / 2, self.size - 1) * sqrt(self.variance / self.size)
            return Bounds(self.mean - half, self.mean + half)
        below = (np.searchsorted(self._means, 0.0, "left") + np.searchsorted(self._means, 0.0, "right")) / 2
        count = len(self._means)
        bias = normal_quantile(min(max(float(below), 0.5), count - 0.5) / count)
        tails = ((1 - level) / 2, (1 + level) / 2)
        low, high = (_bca_quantile(self._means, bias, self._cubes, tail) for tail in tails)
        return Bounds(self.mean + low, self.mean + high)


def _bca_quantile(ordered: Numbers, bias: float, acceleration: float, share: float) -> float:
    # A mean's jackknife values deviate by -deviation / (n - 1), so the sign is that of the deviations.
    z = bias + normal_quantile(share)
    adjusted = normal_cdf(bias + z / (1 - acceleration * z))
    return interpolated_quantile(ordered, adjusted)


def interpolated_quantile(ordered: Numbers, share: float) -> float:
    """Returns a quantile of ascending values, at least one; equal to `numpy.quantile`, in less time.

    Linear interpolation: type 7 of Hyndman and Fan 1996, Sample quantiles in statistical packages.
    """
    rank = share * (len(ordered) - 1)
    before = int(rank)
    low, high = float(ordered[before]), float(ordered[min(before + 1, len(ordered) - 1)])
    part = rank - before
    return low + (high - low) * part if part < 0.5 else high - (high - low) * (1 - part)


def _replicate_means(cases: Sequence[str], values: Numbers, seed: int) -> Numbers:
    """Returns the sorted means of the replicates."""
    replicates = replicates_for(len(cases))
    sums, counts = np.zeros(replicates), np.zeros(replicates)
    for case, value in zip(cases, values, strict=True):
        weights = resampling_weights(seed, case, replicates)
        sums += weights * value
        counts += weights
    return np.sort(sums[counts > 0] / counts[counts > 0])


def sign_flip_p(differences: Mapping[str, float], seed: int) -> float:
    """Returns the two-sided p-value of a mean of paired differences, by exchanging the versions within cases.

    Up to 13 cases that differ, of all exchanges; beyond, (1 + replicates as far from 0) / (1 + replicates):
    Phipson and Smyth 2010.
    """
    cases = [case for case in sorted(differences) if differences[case]]
    if not cases:
        return 1.0
    # Sums that are equal on paper differ in the last digits.
    seen = abs(sum(differences[case] for case in cases)) * (1 - 1e-12)
    if len(cases) <= _ENUMERATED:
        sums = np.zeros(1)
        for case in cases:
            sums = np.concatenate([sums + differences[case], sums - differences[case]])
        return float((np.abs(sums) >= seen).mean())
    replicates = replicates_for(len(cases))
    sums = np.zeros(replicates)
    for case in cases:
        sums += _signs(seed, case, replicates) * differences[case]
    return (1 + int((np.abs(sums) >= seen).sum())) / (1 + replicates)


def replicates_for(size: int) -> int:
    """Returns how often to draw: 10,000 times, less for very many values, so that it ends in seconds."""
    return max(_FEWEST_REPLICATES, min(REPLICATES, _MOST_DRAWS // size))


_ROUNDING = 1e-12


class Confusion(NamedTuple):
    """Labels of people against outcomes of a criterion.

    Attributes:
        false_pass: The criterion passes what people fail.
        false_fail: The criterion fails what people pass.
        true_fail: Both fail.
    """

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
    """Returns the middle of a figure over replicates of the cases.

    None: it does not vary, or is not defined in more than a twentieth of the replicates.
    """
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
    all labels are the same.

    Args:
        units: The labels of a unit, one letter for each rater that gave one -> number of such units.

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

_LEVEL = 0.95


class GroupSum(NamedTuple):
    """The values of one group: how many, and their sum."""

    size: int
    total: float


def _mean(groups: Collection[GroupSum]) -> tuple[float, int]:
    count = sum(group.size for group in groups)
    return sum(group.total for group in groups) / count, count


def _variance(groups: Collection[GroupSum]) -> float:
    """Returns the variance of the mean as if the groups were all there are.

    By linearisation of the ratio (Cochran 1977, Sampling Techniques, 6.3).
    """
    mean, count = _mean(groups)
    return sum((group.total - mean * group.size) ** 2 for group in groups) / count**2


def grouped_mean_interval(groups: Collection[GroupSum], scale: tuple[float, float] | None) -> Bounds | None:
    """Returns the 95 % interval of a mean, within its scale; None: it cannot be told.

    It is Student's interval over groups. Where the means of all groups are the same, some further group may
    differ nevertheless: on a scale their share is taken to be the upper Wilson bound of 0 groups.

    Args:
        groups: The groups, each with a value.
        scale: Lowest and highest possible value; None: open.
    """
    size = len(groups)
    if size < 2:
        return None
    mean, _ = _mean(groups)
    variance = _variance(groups) * size / (size - 1)
    if variance > ((1e-12 * max(1.0, abs(mean))) ** 2):
        half = t_quantile((1 + _LEVEL) / 2, size - 1) * sqrt(variance)
        low, high = scale or (0.0 if all(group.total >= 0 for group in groups) else -inf, inf)
        return Bounds(max(low, mean - half), min(high, mean + half))
    if scale is None:
        return None
    z2 = normal_quantile((1 + _LEVEL) / 2) ** 2
    other = z2 / (size + z2)
    return Bounds(mean - other * (mean - scale[0]), mean + other * (scale[1] - mean))


def grouped_share_interval(groups: Collection[GroupSum]) -> Bounds | None:
    """Returns Wilson's 95 % interval of a share, for as many trials as would tell as much; None: no trial.

    Of every group, the number of trials and of successes is given.
    """
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
    """Returns a share with its effective size, value (1 - value) / variance.

    The variance is that of a ratio over clusters, by linearisation (Cochran 1977, Sampling Techniques, 6.3).
    Where nothing varies, the clusters count instead of the scores.

    Args:
        values: 0..1 each.
        clusters: Code of the cluster of each.
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
