"""What a comparison would have seen, and how many cases a difference needs."""

from collections.abc import Callable
from functools import lru_cache
from math import ceil, lgamma, log2, sqrt

import numpy as np

from turnwise.transforms.statistics.resampling import Numbers
from turnwise.transforms.statistics.tests import normal_quantile

POWER = 0.8
"""Probability with which a difference is to be seen."""


MOST_EXACT = 100
"""Up to so many discordant pairs, the power of the exact test is computed, above it the normal one."""
MOST_GROUPED = 200
"""The same of two groups: up to so many cases of both together."""


@lru_cache(maxsize=4096)
def detectable_difference(discordant: float, count: int, alpha: float = 0.05) -> float | None:
    """Returns the smallest difference of paired shares that a test would have seen with a power of 80 %.

    Up to 100 cases that differ: from the power of McNemar's exact test. Above: solves
    d = (z(1 - alpha / 2) + z(power)) sqrt((discordant - d^2) / count) for d, after Connor 1987. The
    discordant share is of cases whose outcome differs; a larger difference raises it. None: no difference,
    which is above 0 and at most 1, can be seen with so few cases.
    """
    if discordant * count > MOST_EXACT:
        factor = quantiles(alpha) ** 2 / count
        return sqrt(factor * discordant / (1 + factor))
    return _smallest_difference(lambda d: mcnemar_power(d, discordant, count, alpha))


@lru_cache(maxsize=4096)
def needed_pairs(difference: float, discordant: float, alpha: float = 0.05) -> int | None:
    """Returns how many cases a difference of paired shares needs to be seen with a power of 80 %.

    That of the exact test where at most 100 of them differ. None: there is no difference.
    """
    needed = needed_cases(difference, discordant - difference**2, alpha)
    if needed is None or needed * discordant > MOST_EXACT:
        return needed
    low, high = 1, 2 * needed
    while mcnemar_power(abs(difference), discordant, high, alpha) < POWER:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        is_enough = mcnemar_power(abs(difference), discordant, middle, alpha) >= POWER
        low, high = (low, middle) if is_enough else (middle, high)
    return high


@lru_cache(maxsize=4096)
def detectable_of_groups(pooled: float, sizes: tuple[int, int], alpha: float = 0.05) -> float | None:
    """Returns the smallest difference of the shares of two groups that is seen with a power of 80 %.

    Up to 200 cases of both together: from the power of Fisher's exact test. Above: the normal difference
    with the correction that this test needs (Fleiss, Tytun and Ury 1980), at least that of a share near 0.
    `pooled` is the share of both groups together. None: no difference can be seen with so few cases.
    """
    if sum(sizes) <= MOST_GROUPED:
        return _smallest_difference(lambda d: fisher_power(d, pooled, sizes, alpha))
    shares = 1 / sizes[0] + 1 / sizes[1]
    usual = detectable_mean(sqrt(pooled * (1 - pooled) * shares), alpha) + shares / 2
    detectable = max(usual, detectable_difference(0.0, min(sizes), alpha) or 0.0)
    return None if detectable > 1 else detectable


def needed_of_groups(difference: float, variance: float, alpha: float = 0.05) -> int | None:
    """Returns how many cases of each group a difference of shares needs to be seen with a power of 80 %.

    n / 4 (1 + sqrt(1 + 4 / (n difference)))^2 with the normal number n, as Fisher's exact test needs more
    (Casagrande, Pike and Smith 1978). None: there is no difference.
    """
    if (needed := needed_cases(difference, variance, alpha)) is None:
        return None
    return ceil(needed / 4 * (1 + sqrt(1 + 4 / (needed * abs(difference)))) ** 2)


def needed_cases(difference: float, variance: float, alpha: float = 0.05) -> int | None:
    """Returns how many cases a mean difference needs to be seen with a power of 80 %.

    None: there is none but in the last digits, in which means that are equal on paper may differ.
    `variance` is that of the differences over the cases; of two groups, the sum of their variances, and the
    number returned is that of each group.
    """
    deviation = sqrt(variance)
    if abs(difference) <= 1e-12 * deviation:
        return None
    # The size of one of the smallest groups for which the test is of use.
    return max(ceil(log2(2 / alpha)), ceil((quantiles(alpha) * deviation / difference) ** 2))


def detectable_mean(error: float, alpha: float = 0.05) -> float:
    """Returns the smallest mean difference that is seen with a power of 80 %, of its standard error."""
    return quantiles(alpha) * error


def quantiles(alpha: float) -> float:
    """Returns z(1 - alpha / 2) + z(power), 2.80 at alpha 0.05."""
    return normal_quantile(1 - alpha / 2) + normal_quantile(POWER)


# Power of exact tests of shares: McNemar's of pairs, and Fisher's of two groups.

_MOST_DISCORDANT = 256
_CERTAIN = 150
"""So many discordant pairs, all in one direction, are always seen."""
_CLOSE = 1e-3


def _smallest_difference(power: Callable[[float], float]) -> float | None:
    """Returns the smallest difference in 0..1 with a power of 80 %, to 0.1 % of it; None: there is none."""
    low, high = 0.0, 1.0
    if power(high) < POWER:
        return None
    while high - low > _CLOSE * high:
        middle = (low + high) / 2
        low, high = (middle, high) if power(middle) < POWER else (low, middle)
    return high


def mcnemar_power(difference: float, discordant: float, count: int, alpha: float) -> float:
    """Returns the probability that McNemar's exact test shows a difference, in its direction.

    The number m of cases that differ is binomial; of these, those in favour are binomial with the share
    (1 + difference / discordant) / 2. It is used for at most about 100 cases that differ; shares are 0..1.
    """
    psi = max(discordant, difference)
    if psi == difference and psi * count > _CERTAIN:
        return 1.0
    most = min(count, _MOST_DISCORDANT)
    of_m = _binomial(count, psi)[: most + 1]
    known = np.flatnonzero(of_m > 1e-10)
    rows = slice(int(known[0]), int(known[-1]) + 1)
    m, x = np.arange(most + 1)[rows, None], np.arange(most + 1)[None, :]
    share = min((1 + difference / psi) / 2, 1 - 1e-12)
    chances = np.exp(_chosen()[rows, : most + 1] + x * np.log(share) + (m - x) * np.log1p(-share))
    return float(of_m[rows] @ (chances * _mcnemar_rejects(alpha)[rows, : most + 1]).sum(axis=1))


@lru_cache(maxsize=1)
def _chosen() -> Numbers:
    """Returns log(m over x) for all m and x up to the largest; -inf where x is above m."""
    logs = _log_factorials(_MOST_DISCORDANT)
    m, x = np.indices((_MOST_DISCORDANT + 1, _MOST_DISCORDANT + 1))
    return np.where(x <= m, logs[m] - logs[x] - logs[np.abs(m - x)], -np.inf)


@lru_cache(maxsize=4)
def _mcnemar_rejects(alpha: float) -> "np.typing.NDArray[np.bool_]":
    """Returns for m cases that differ, x of them in favour, whether the test says so."""
    halves = np.exp(_chosen() - np.arange(_MOST_DISCORDANT + 1)[:, None] * np.log(2))
    tails = np.cumsum(halves[:, ::-1], axis=1)[:, ::-1]
    return (halves > 0) & (2 * tails <= alpha)


def fisher_power(difference: float, pooled: float, sizes: tuple[int, int], alpha: float) -> float:
    """Returns the probability that Fisher's exact test shows a difference of two groups.

    Of the two directions, the one that is seen less often counts. Both shares are as far from the pooled one
    as the scale allows.
    """
    low = min(max(0.0, pooled - difference / 2), 1 - difference)
    rejects = _fisher_rejects(*sizes, alpha)
    ends = (low, low + difference), (low + difference, low)
    return min(float(_binomial(sizes[0], a) @ rejects @ _binomial(sizes[1], b)) for a, b in ends)


@lru_cache(maxsize=256)
def _fisher_rejects(first: int, second: int, alpha: float) -> "np.typing.NDArray[np.bool_]":
    """Returns for every pair of passes whether the two-sided test rejects."""
    logs = _log_factorials(max(first, second))
    left, other = (logs[n] - logs[: n + 1] - logs[: n + 1][::-1] for n in (first, second))
    result = np.zeros((first + 1, second + 1), dtype=bool)
    for together in range(first + second + 1):
        x = np.arange(max(0, together - second), min(first, together) + 1)
        chances = left[x] + other[together - x]
        chances = np.exp(chances - chances.max())
        order = np.argsort(chances)
        sums = np.cumsum(chances[order]) / chances.sum()
        # Tables that are equally likely on paper differ in the last digits.
        ends = np.searchsorted(chances[order], chances * (1 + 1e-7), side="right") - 1
        result[x, together - x] = sums[ends] <= alpha
    return result


def _binomial(count: int, share: float) -> Numbers:
    if share <= 0 or share >= 1:
        return np.eye(1, count + 1, count if share >= 1 else 0)[0]
    x, logs = np.arange(count + 1), _log_factorials(count)
    return np.exp(logs[count] - logs - logs[::-1] + x * np.log(share) + (count - x) * np.log1p(-share))


@lru_cache(maxsize=256)
def _log_factorials(most: int) -> Numbers:
    return np.asarray([lgamma(n + 1) for n in range(most + 1)])
