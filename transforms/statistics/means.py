"""Means of two independent groups of values."""

from math import sqrt
from typing import NamedTuple

from turnwise.transforms.statistics.distributions import t_quantile, upper_t
from turnwise.transforms.statistics.interval import Interval


class SampleMoments(NamedTuple):
    """A group of at least two values: how many, their mean, and their sample variance."""

    size: int
    mean: float
    variance: float


class _Welch(NamedTuple):
    difference: float
    error: float
    freedom: float


def _welch(sample: SampleMoments, base: SampleMoments) -> _Welch:
    """Returns the difference, its standard error, and the degrees of freedom of Welch and Satterthwaite."""
    own, other = sample.variance / sample.size, base.variance / base.size
    if not own + other:
        return _Welch(sample.mean - base.mean, 0.0, 1.0)
    share = own / (own + other)
    freedom = 1 / (share**2 / (sample.size - 1) + (1 - share) ** 2 / (base.size - 1))
    return _Welch(sample.mean - base.mean, sqrt(own + other), freedom)


def lower_mean(sample: SampleMoments, base: SampleMoments) -> float:
    """Returns the p-value of a mean this far below the base's, if both were the same; 0..1.

    Welch's t test; NIST/SEMATECH e-Handbook of Statistical Methods, 7.3.1.
    """
    difference, error, freedom = _welch(sample, base)
    if not error:
        return 0.0 if difference < 0 else 1.0
    return upper_t(-difference / error, freedom)


def mean_difference_p(sample: SampleMoments, base: SampleMoments) -> float:
    """Returns the two-sided p-value of Welch's t test; 0..1."""
    return min(1.0, 2 * min(lower_mean(sample, base), lower_mean(base, sample)))


def mean_difference_interval(sample: SampleMoments, base: SampleMoments, level: float = 0.95) -> Interval:
    """Returns Welch's interval of the mean minus the base's mean."""
    difference, error, freedom = _welch(sample, base)
    half = error and t_quantile((1 + level) / 2, freedom) * error
    return Interval(difference - half, difference + half)


def mean_interval(sample: SampleMoments, level: float = 0.95) -> Interval | None:
    """Returns Student's interval of a mean; None: no spread was seen, which is not that there is none."""
    if not sample.variance:
        return None
    half = t_quantile((1 + level) / 2, sample.size - 1) * sqrt(sample.variance / sample.size)
    return Interval(sample.mean - half, sample.mean + half)
