"""What a comparison would have seen, and how many cases a difference needs."""

from functools import lru_cache
from math import ceil, log2, sqrt

from turnwise.transforms.statistics.distributions import normal_quantile
from turnwise.transforms.statistics.exact_power import fisher_power, mcnemar_power, smallest_difference

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
    d = (z(1 - alpha / 2) + z(power)) sqrt((discordant - d^2) / count) for d, after Connor 1987.

    Args:
        discordant: Share of the cases whose outcome differs, 0..1. A larger difference raises it.
        count: Number of cases, at least 1.
        alpha: Two-sided level of significance.

    Returns:
        The difference, above 0 and at most 1; None: no difference can be seen with so few cases.
    """
    if discordant * count > MOST_EXACT:
        factor = quantiles(alpha) ** 2 / count
        return sqrt(factor * discordant / (1 + factor))
    return smallest_difference(lambda d: mcnemar_power(d, discordant, count, alpha), POWER)


@lru_cache(maxsize=4096)
def needed_pairs(difference: float, discordant: float, alpha: float = 0.05) -> int | None:
    """Returns how many cases a difference of paired shares needs to be seen with a power of 80 %.

    As with `detectable_difference`, that of the exact test where at most 100 of them differ. None: there is
    no difference.
    """
    found = needed_cases(difference, discordant - difference**2, alpha)
    if found is None or found * discordant > MOST_EXACT:
        return found
    low, high = 1, 2 * found
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

    Args:
        pooled: Share of both groups together, 0..1.
        sizes: Size of each group, at least 1.
        alpha: Two-sided level of significance.

    Returns:
        The difference, above 0 and at most 1; None: no difference can be seen with so few cases.
    """
    if sum(sizes) <= MOST_GROUPED:
        return smallest_difference(lambda d: fisher_power(d, pooled, sizes, alpha), POWER)
    each = 1 / sizes[0] + 1 / sizes[1]
    usual = detectable_mean(sqrt(pooled * (1 - pooled) * each), alpha) + each / 2
    found = max(usual, detectable_difference(0.0, min(sizes), alpha) or 0.0)
    return None if found > 1 else found


def needed_of_groups(difference: float, variance: float, alpha: float = 0.05) -> int | None:
    """Returns how many cases of each group a difference of shares needs to be seen with a power of 80 %.

    n / 4 (1 + sqrt(1 + 4 / (n difference)))^2 with the normal number n, as Fisher's exact test needs more
    (Casagrande, Pike and Smith 1978). None: there is no difference.
    """
    found = needed_cases(difference, variance, alpha)
    if found is None:
        return None
    return ceil(found / 4 * (1 + sqrt(1 + 4 / (found * abs(difference)))) ** 2)


def needed_cases(difference: float, variance: float, alpha: float = 0.05) -> int | None:
    """Returns how many cases a mean difference needs to be seen with a power of 80 %; None: there is none.

    Args:
        difference: Mean over the cases.
        variance: Variance of the differences over the cases; of two groups, the sum of their variances, and
            the number returned is that of each group.
        alpha: Two-sided level of significance.
    """
    if not difference:
        return None
    # The size of one of the smallest groups for which the test is of use.
    return max(ceil(log2(2 / alpha)), ceil(quantiles(alpha) ** 2 * variance / difference**2))


def detectable_mean(error: float, alpha: float = 0.05) -> float:
    """Returns the smallest mean difference that would have been seen with a power of 80 %.

    Args:
        error: Standard error of the mean difference.
        alpha: Two-sided level of significance.
    """
    return quantiles(alpha) * error


def quantiles(alpha: float) -> float:
    """Returns z(1 - alpha / 2) + z(power), 2.80 at alpha 0.05."""
    return normal_quantile(1 - alpha / 2) + normal_quantile(POWER)
