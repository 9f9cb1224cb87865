"""What a comparison would have seen, and how many cases a difference needs."""

from math import ceil, log2, sqrt

from turnwise.transforms.statistics.distributions import normal_quantile

POWER = 0.8
"""Probability with which a difference is to be seen."""


def detectable_difference(discordant: float, count: int, alpha: float = 0.05) -> float | None:
    """Returns the smallest difference of paired shares that a test would have seen with a power of 80 %.

    Solves d = (z(1 - alpha / 2) + z(power)) sqrt((discordant - d^2) / count) for d, after Connor 1987. An
    exact test also needs a number of cases that differ, all in one direction: 6 at alpha 0.05.

    Args:
        discordant: Share of the cases whose outcome differs, 0..1.
        count: Number of cases, at least 1.
        alpha: Two-sided level of significance.

    Returns:
        The difference, above 0 and at most 1; None: no difference can be seen with so few cases.
    """
    factor = quantiles(alpha) ** 2 / count
    fewest = ceil(log2(2 / alpha)) / count
    return None if fewest > 1 else max(fewest, sqrt(factor * discordant / (1 + factor)))


def needed_pairs(difference: float, discordant: float, alpha: float = 0.05) -> int | None:
    """Returns how many cases a difference of paired shares needs to be seen with a power of 80 %.

    None: there is no difference.
    """
    return needed_cases(difference, discordant - difference**2, alpha)


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
