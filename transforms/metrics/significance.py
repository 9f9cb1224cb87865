"""Intervals of pass rates, and one-sided tests whether one sample lies below another, from sums alone."""

from math import erfc, exp, inf, lgamma, log, log1p, sqrt
from typing import NamedTuple

_Z95 = 1.959963984540054
_STEPS = 10_000
_TINY = 1e-300
_CLOSE = 1e-15


class Interval(NamedTuple):
    """A lower and an upper bound."""

    low: float
    high: float


def wilson_interval(passes: float, count: int) -> Interval | None:
    """Returns the 95 % Wilson score interval of a pass rate; None without any trial."""
    if not count:
        return None
    rate, z2 = passes / count, _Z95**2
    centre = (rate + z2 / (2 * count)) / (1 + z2 / count)
    half = _Z95 / (1 + z2 / count) * sqrt(rate * (1 - rate) / count + z2 / (4 * count**2))
    return Interval(max(0.0, centre - half), min(1.0, centre + half))


class SampleMoments(NamedTuple):
    """Moments of a sample of at least two values, for Welch's test."""

    size: int
    mean: float
    variance: float


def lower_share(passes: int, count: int, base_passes: int, base_count: int) -> float:
    """Returns the p-value of shares this far below the base, if both were the same; 0..1.

    The two-proportion z test with the pooled share; NIST/SEMATECH e-Handbook of Statistical Methods, 7.3.3.
    Both counts must be positive.
    """
    pooled = (passes + base_passes) / (count + base_count)
    spread = sqrt(pooled * (1 - pooled) * (1 / count + 1 / base_count))
    if not spread:
        return 1.0
    return erfc((base_passes / base_count - passes / count) / spread / sqrt(2)) / 2


def lower_mean(sample: SampleMoments, base: SampleMoments) -> float:
    """Returns the p-value of a mean this far below the base's, if both were the same; 0..1.

    Welch's t test with the degrees of freedom of Welch and Satterthwaite; NIST/SEMATECH e-Handbook of
    Statistical Methods, 7.3.1.
    """
    error, base_error = sample.variance / sample.size, base.variance / base.size
    difference = base.mean - sample.mean
    if not error + base_error:
        return 0.0 if difference > 0 else 1.0
    t = difference / sqrt(error + base_error)
    share = error / (error + base_error)
    freedom = 1 / (share**2 / (sample.size - 1) + (1 - share) ** 2 / (base.size - 1))
    return upper_t(t, freedom)


def upper_t(t: float, freedom: float) -> float:
    """Returns how likely Student's t is to exceed a value, by way of the incomplete beta function."""
    if abs(t) == inf:
        return float(t < 0)
    square = t * t
    tail = incomplete_beta(freedom / 2, 0.5, freedom / (freedom + square), square / (freedom + square)) / 2
    return tail if t > 0 else 1 - tail


def incomplete_beta(a: float, b: float, x: float, rest: float) -> float:
    """Returns the regularised incomplete beta function I_x(a, b) for positive a and b.

    The continued fraction of DLMF 8.17.22, evaluated by Lentz's method on the side where it converges fast.

    Args:
        a: First parameter.
        b: Second parameter.
        x: 0..1.
        rest: 1 - x, given apart because the difference would lose digits.
    """
    if x <= 0 or rest <= 0:
        return float(x > 0)
    if x > (a + 1) / (a + b + 2):
        return 1 - incomplete_beta(b, a, rest, x)
    log_rest = log(rest) if rest < 0.5 else log1p(-x)
    log_x = log(x) if x < 0.5 else log1p(-rest)
    front = exp(a * log_x + b * log_rest - log(a) - lgamma(a) - lgamma(b) + lgamma(a + b))
    return front * _fraction(a, b, x)


def _fraction(a: float, b: float, x: float) -> float:
    """Returns 1 / (1 + d1 / (1 + d2 / (1 + ...))) with the coefficients of DLMF 8.17.23."""
    value, c, d = 1.0, 1.0, 0.0
    for step in range(1, _STEPS):
        m = step // 2
        if step % 2:
            part = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            part = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d = 1 / _not_zero(1 + part * d)
        c = _not_zero(1 + part / c)
        value *= c * d
        if abs(c * d - 1) < _CLOSE:
            break
    return 1 / value


def _not_zero(number: float) -> float:
    return number if abs(number) > _TINY else _TINY
