"""Tails and quantiles of the normal, Student's t and the binomial distribution."""

from functools import lru_cache
from math import erfc, exp, inf, lgamma, log, log1p, pi, sqrt
from statistics import NormalDist

_STEPS = 10_000
_TINY = 1e-300
_CLOSE = 1e-15
_NORMAL = NormalDist()


def normal_quantile(share: float) -> float:
    """Returns the value that a standard normal variable stays below with a probability in (0, 1)."""
    return _NORMAL.inv_cdf(share)


def normal_cdf(value: float) -> float:
    """Returns the probability that a standard normal variable does not exceed a value."""
    return _NORMAL.cdf(value)


def upper_normal(value: float) -> float:
    """Returns the probability that a standard normal variable exceeds a value, exact in the far tail."""
    return erfc(value / sqrt(2)) / 2


def upper_t(t: float, freedom: float) -> float:
    """Returns the probability that Student's t exceeds a value, by the incomplete beta function."""
    if abs(t) == inf:
        return float(t < 0)
    square = t * t
    tail = incomplete_beta(freedom / 2, 0.5, freedom / (freedom + square), square / (freedom + square)) / 2
    return tail if t > 0 else 1 - tail


@lru_cache(maxsize=1024)
def t_quantile(share: float, freedom: float) -> float:
    """Returns the value that Student's t stays below with a probability in (0, 1).

    Newton's method, from the quantile of the normal distribution. That is nearer to the middle, and the tail
    is convex, so that every step stays below the quantile and the first that does not grow ends the search.
    """
    if share < 0.5:
        return -t_quantile(1 - share, freedom)
    value, step = 0.0, normal_quantile(share)
    while value + step > value:
        value += step
        step = (upper_t(value, freedom) - (1 - share)) / _t_density(value, freedom)
    return value


def _t_density(t: float, freedom: float) -> float:
    front = lgamma((freedom + 1) / 2) - lgamma(freedom / 2) - log(freedom * pi) / 2
    return exp(front - (freedom + 1) / 2 * log1p(t * t / freedom))


def binomial_cdf(successes: int, trials: int, rate: float) -> float:
    """Returns the probability of at most so many successes in independent trials (DLMF 8.17.5)."""
    if successes < 0:
        return 0.0
    if successes >= trials:
        return 1.0
    return incomplete_beta(trials - successes, successes + 1, 1 - rate, rate)


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
        below, c = 1 + part * d, 1 + part / c
        if abs(below) <= _TINY:
            below = _TINY
        if abs(c) <= _TINY:
            c = _TINY
        d = 1 / below
        value *= c * d
        if abs(c * d - 1) < _CLOSE:
            break
    return 1 / value
