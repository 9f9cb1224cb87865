"""Means and shares of values that come in groups, such as the turns of a case; without numpy."""

from collections.abc import Collection
from math import inf, sqrt
from typing import NamedTuple

from turnwise.transforms.statistics.distributions import normal_quantile, t_quantile
from turnwise.transforms.statistics.interval import Interval
from turnwise.transforms.statistics.proportions import wilson_interval

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


def grouped_mean_interval(groups: Collection[GroupSum], scale: tuple[float, float] | None) -> Interval | None:
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
    if variance > _rounding(mean):
        half = t_quantile((1 + _LEVEL) / 2, size - 1) * sqrt(variance)
        low, high = scale or (0.0 if all(group.total >= 0 for group in groups) else -inf, inf)
        return Interval(max(low, mean - half), min(high, mean + half))
    if scale is None:
        return None
    z2 = normal_quantile((1 + _LEVEL) / 2) ** 2
    other = z2 / (size + z2)
    return Interval(mean - other * (mean - scale[0]), mean + other * (scale[1] - mean))


def _rounding(mean: float) -> float:
    return (1e-12 * max(1.0, abs(mean))) ** 2


def grouped_share_interval(groups: Collection[GroupSum]) -> Interval | None:
    """Returns Wilson's 95 % interval of a share, for as many trials as would tell as much; None: no trial.

    Args:
        groups: The groups with their number of trials and of successes.
    """
    if not groups:
        return None
    share, count = _mean(groups)
    size = float(len(groups))
    if 0 < share < 1:
        variance = _variance(groups)
        size = min(count, share * (1 - share) / variance) if variance else count
    return wilson_interval(share * size, size)
