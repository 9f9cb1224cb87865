"""Shares of two groups of conversations: intervals of them and of their difference."""

from functools import lru_cache
from math import exp, hypot, lgamma, sqrt

from turnwise.transforms.statistics.distributions import binomial_cdf, normal_quantile
from turnwise.transforms.statistics.interval import Interval


def wilson_interval(passes: float, count: float, level: float = 0.95) -> Interval | None:
    """Returns Wilson's score interval of a share; None without any trial.

    Wilson 1927, Probable inference, the law of succession, and statistical inference.

    Args:
        passes: Successes, 0..count.
        count: Trials.
        level: Level of confidence, between 0 and 1.
    """
    if not count:
        return None
    z = normal_quantile((1 + level) / 2)
    rate, z2 = passes / count, z**2
    centre = (rate + z2 / (2 * count)) / (1 + z2 / count)
    half = z / (1 + z2 / count) * sqrt(rate * (1 - rate) / count + z2 / (4 * count**2))
    return Interval(max(0.0, centre - half), min(1.0, centre + half))


@lru_cache(maxsize=4096)
def upper_share(passes: int, count: int, level: float = 0.95) -> float:
    """Returns the upper bound of a share's exact two-sided interval (Clopper and Pearson 1934), 0..1."""
    low, high = passes / count, 1.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        is_below = binomial_cdf(passes, count, middle) > (1 - level) / 2
        low, high = (middle, high) if is_below else (low, middle)
    return high


def difference_interval(
    passes: float, count: int, base_passes: float, base_count: int, level: float = 0.95
) -> Interval | None:
    """Returns an interval of share minus base share of two independent groups; None if one is empty.

    Newcombe 1998, Interval estimation for the difference between independent proportions, method 10.
    """
    own = wilson_interval(passes, count, level)
    base = wilson_interval(base_passes, base_count, level)
    if own is None or base is None:
        return None
    return estimated_difference(passes / count, own, base_passes / base_count, base)


def estimated_difference(value: float, own: Interval, base_value: float, base: Interval) -> Interval:
    """Returns an interval of value minus base value of two independent estimates, from their intervals.

    Zou and Donner 2008, Construction of confidence limits about effect measures: a general approach.
    """
    below = hypot(value - own.low, base.high - base_value)
    above = hypot(own.high - value, base_value - base.low)
    return Interval(value - base_value - below, value - base_value + above)


def exact_p(passes: int, count: int, base_passes: int, base_count: int) -> float:
    """Returns the two-sided p-value of Fisher's exact test of two independent shares; 0..1.

    The sum over the tables with the same margins that are no likelier than the one seen. Both counts must be
    positive.
    """
    together = passes + base_passes
    first, last = max(0, together - base_count), min(count, together)
    logs = [_log_choose(count, k) + _log_choose(base_count, together - k) for k in range(first, last + 1)]
    # Tables that are equally likely on paper differ in the last digits.
    seen = logs[passes - first] + 1e-7
    largest = max(logs)
    chances = [exp(log - largest) for log in logs]
    return min(1.0, sum(c for c, log in zip(chances, logs, strict=True) if log <= seen) / sum(chances))


def _log_choose(count: int, chosen: int) -> float:
    return lgamma(count + 1) - lgamma(chosen + 1) - lgamma(count - chosen + 1)
