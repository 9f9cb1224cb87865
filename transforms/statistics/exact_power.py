"""Power of exact tests of shares: McNemar's of pairs, and Fisher's of two groups."""

from collections.abc import Callable
from functools import lru_cache
from math import lgamma

import numpy as np

from turnwise.transforms.statistics.resampling import Numbers

_MOST_DISCORDANT = 256
_CERTAIN = 150
"""So many discordant pairs, all in one direction, are always seen."""
_CLOSE = 1e-3


def smallest_difference(power: Callable[[float], float], wanted: float) -> float | None:
    """Returns the smallest difference in 0..1 with the wanted power, to 0.1 % of it; None: there is none."""
    low, high = 0.0, 1.0
    if power(high) < wanted:
        return None
    while high - low > _CLOSE * high:
        middle = (low + high) / 2
        low, high = (middle, high) if power(middle) < wanted else (low, middle)
    return high


def mcnemar_power(difference: float, discordant: float, count: int, alpha: float) -> float:
    """Returns the probability that McNemar's exact test shows a difference, in its direction.

    The number m of cases that differ is binomial; of these, those in favour are binomial with the share
    (1 + difference / discordant) / 2.

    Args:
        difference: Difference of the shares, above 0 and at most 1.
        discordant: Share of the cases whose outcome differs; it is at least the difference. Of so many cases
            as it is used for at most about 100 may differ.
        count: Number of cases, at least 1.
        alpha: Two-sided level of significance.
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

    Of the two directions, the one that is seen less often counts.

    Args:
        difference: Difference of the shares, 0..1.
        pooled: Share of both groups together, 0..1; both shares are as far from it as the scale allows.
        sizes: Size of each group, at least 1.
        alpha: Two-sided level of significance.
    """
    low = min(max(0.0, pooled - difference / 2), 1 - difference)
    rejects = _fisher_rejects(*sizes, alpha)
    ends = (low, low + difference), (low + difference, low)
    return min(float(_binomial(sizes[0], a) @ rejects @ _binomial(sizes[1], b)) for a, b in ends)


@lru_cache(maxsize=256)
def _fisher_rejects(first: int, second: int, alpha: float) -> "np.typing.NDArray[np.bool_]":
    """Returns for every pair of passes whether the two-sided test rejects."""
    logs = _log_factorials(max(first, second))
    own, other = (logs[n] - logs[: n + 1] - logs[: n + 1][::-1] for n in (first, second))
    result = np.zeros((first + 1, second + 1), dtype=bool)
    for together in range(first + second + 1):
        x = np.arange(max(0, together - second), min(first, together) + 1)
        chances = own[x] + other[together - x]
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
