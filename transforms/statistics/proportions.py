"""Shares of two groups of conversations: intervals of them and of their difference."""

from math import hypot, sqrt

from turnwise.transforms.statistics.distributions import normal_quantile, upper_normal
from turnwise.transforms.statistics.interval import Interval


def wilson_interval(passes: float, count: int, level: float = 0.95) -> Interval | None:
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
    rate, base_rate = passes / count, base_passes / base_count
    below = hypot(rate - own.low, base.high - base_rate)
    above = hypot(own.high - rate, base_rate - base.low)
    return Interval(rate - base_rate - below, rate - base_rate + above)


def lower_share(passes: int, count: int, base_passes: int, base_count: int) -> float:
    """Returns the p-value of a share this far below the base's, if both were the same; 0..1.

    The two-proportion z test with the pooled share; NIST/SEMATECH e-Handbook of Statistical Methods, 7.3.3.
    Both counts must be positive.
    """
    pooled = (passes + base_passes) / (count + base_count)
    spread = sqrt(pooled * (1 - pooled) * (1 / count + 1 / base_count))
    if not spread:
        return 1.0
    return upper_normal((base_passes / base_count - passes / count) / spread)
