"""Always-valid tests whether a growing group lies below its base, for looking often without false alarms."""

from math import exp, inf, log, log1p, sqrt

from turnwise.transforms.statistics.distributions import normal_quantile, upper_normal
from turnwise.transforms.statistics.means import SampleMoments, lower_mean

_EXPECTED_EFFECT = 0.3
"""Typical drop that is looked for, in standard deviations: the scale of the mixture."""
_TINY = 1e-300
_CLOSE = 1e-15


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
    if not sample.variance and not base.variance:
        is_lower = sample.mean < base.mean
        return share_evidence(0 if is_lower else sample.size, sample.size, base.size, base.size)
    p = lower_mean(sample, base)
    return _mixture(-normal_quantile(min(max(p, _TINY), 1 - _CLOSE)), sample.size, base.size)


def always_valid_p(evidence: float, window: int) -> float:
    """Returns the p-value of a window's evidence, valid however often it is looked at; 0..1.

    Window i is weighted by i (i + 1), so that all windows of a stream together fall below alpha with a
    probability of at most alpha, if nothing changes.

    Args:
        evidence: Logarithm of the evidence.
        window: Position of the window among all windows of the stream, from 1.
    """
    return min(1.0, exp(min(0.0, log(window * (window + 1)) - evidence)))


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
