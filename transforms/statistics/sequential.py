"""Always-valid tests whether a growing group lies below its base, for looking often without false alarms."""

from math import inf, log, log1p, sqrt

from turnwise.transforms.statistics.distributions import upper_normal
from turnwise.transforms.statistics.means import SampleMoments

_EXPECTED_EFFECT = 0.3
"""Typical drop that is looked for, in standard deviations: the scale of the mixture."""


def share_evidence(passes: int, count: int, base_passes: int, base_count: int) -> float:
    """Returns the logarithm of the evidence that a share lies below the base's share.

    The signed root of the deviance stands for z: near 0 and 1 it is closer to normal than the z of shares.
    Both counts must be positive.
    """
    together = _log_likelihood(passes + base_passes, count + base_count)
    apart = _log_likelihood(passes, count) + _log_likelihood(base_passes, base_count)
    z = sqrt(max(0.0, 2 * (apart - together)))
    is_lower = passes * base_count < base_passes * count
    return _mixture(z if is_lower else -z, count, base_count)


def mean_evidence(sample: SampleMoments, base: SampleMoments) -> float:
    """Returns the logarithm of the evidence that a mean lies below the base's mean."""
    error = sample.variance / sample.size + base.variance / base.size
    difference = base.mean - sample.mean
    if not error:
        return inf if difference > 0 else -inf
    return _mixture(difference / sqrt(error), sample.size, base.size)


def needed_evidence(window: int, alpha: float) -> float:
    """Returns the logarithm of the evidence that a window needs for an alarm.

    Window i gets alpha / (i (i + 1)), so that all windows of a stream together err with at most alpha,
    however often each is looked at.

    Args:
        window: Position of the window among those that were tested, from 1.
        alpha: Highest probability of any false alarm, between 0 and 1.
    """
    return log(window * (window + 1) / alpha)


def _mixture(z: float, count: int, base_count: int) -> float:
    """Returns the logarithm of Robbins' one-sided normal mixture of likelihood ratios.

    Its expectation without a difference is 1 at most at any time, for normal increments (Robbins 1970;
    Howard, Ramdas, McAuliffe and Sekhon 2021). The half-normal mixture has the scale `_EXPECTED_EFFECT`.
    """
    spread = _EXPECTED_EFFECT**2 / (1 / count + 1 / base_count)
    share = spread / (1 + spread)
    lower = upper_normal(-z * sqrt(share))
    if not lower:
        return -inf
    return log(2 * lower) - log1p(spread) / 2 + share * z * z / 2


def _log_likelihood(passes: int, count: int) -> float:
    fails = count - passes
    return (passes and passes * log(passes / count)) + (fails and fails * log(fails / count))
