"""Tests and intervals of shares and means, what may be said of a difference, and the distributions below."""

from collections.abc import Sequence
from functools import lru_cache
from math import asin, erfc, exp, hypot, inf, lgamma, log, log1p, pi, sqrt
from statistics import NormalDist
from typing import NamedTuple

from turnwise.schemas.comparison import Bounds, ComparisonWord

# P-values of several tests at once.


def holm(p_values: Sequence[float]) -> list[float]:
    """Returns p-values adjusted so that all tests together err with at most the level of one (Holm 1979)."""
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Returns p-values of independent tests for a false discovery rate (Benjamini and Hochberg 1995)."""
    adjusted, smallest = [0.0] * len(p_values), 1.0
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    for rank in range(len(order), 0, -1):
        index = order[rank - 1]
        smallest = min(smallest, p_values[index] * len(p_values) / rank)
        adjusted[index] = smallest
    return adjusted


def shrink(changes: Sequence[float], variances: Sequence[float], centre: float | None = None) -> list[float]:
    """Draws differences towards a centre (their weighted mean), the more the less certain each is.

    Empirical Bayes: the variance between them, which are above 0 each, is that of DerSimonian and Laird 1986,
    Meta-analysis in clinical trials.
    """
    weights = [1 / variance for variance in variances]
    total = sum(weights)
    if centre is None:
        centre = sum(w * change for w, change in zip(weights, changes, strict=True)) / total
    gaps = [change - centre for change in changes]
    excess = sum(w * gap**2 for w, gap in zip(weights, gaps, strict=True)) - len(weights) + 1
    scale = total - sum(weight**2 for weight in weights) / total
    between = max(0.0, excess / scale) if scale > 0 else 0.0
    return [centre + gap * between / (between + v) for gap, v in zip(gaps, variances, strict=True)]


# Two paired shares.


class Pairs(NamedTuple):
    """Cases by outcome: `fixed` failed in the base and passed in the candidate, `regressed` the reverse."""

    both: int
    fixed: int
    regressed: int
    neither: int

    @property
    def size(self) -> int:
        """Number of cases."""
        return sum(self)

    @property
    def difference(self) -> float:
        """Pass share of the candidate minus that of the base, -1..1."""
        return (self.fixed - self.regressed) / self.size

    @property
    def discordant(self) -> float:
        """Share of the cases whose outcome differs, 0..1."""
        return (self.fixed + self.regressed) / self.size


def mcnemar(fixed: int, regressed: int) -> tuple[float, float]:
    """Returns p and mid-p of McNemar's exact test that gains and losses are equally likely; two-sided, 0..1.

    p = min(1, 2 P(X <= min(fixed, regressed))) for X ~ Binomial(fixed + regressed, 1/2); mid-p leaves out
    half of the probability of what was seen on each side (Fagerland, Lydersen and Laake 2013).
    """
    trials, fewer = fixed + regressed, min(fixed, regressed)
    tail = binomial_cdf(fewer, trials, 0.5)
    seen = tail - binomial_cdf(fewer - 1, trials, 0.5)
    return min(1.0, 2 * tail), (1.0 if fixed == regressed else 2 * tail - seen)


def paired_interval(pairs: Pairs, level: float = 0.95) -> Bounds:
    """Returns an interval of the difference of two paired shares; -1..1.

    Newcombe 1998, Improved confidence intervals for the difference between binomial proportions based on
    paired data, method 10. There must be at least one case.
    """
    n = pairs.size
    candidate = _limits(pairs.both + pairs.fixed, n, level)
    base = _limits(pairs.both + pairs.regressed, n, level)
    # The correlation of the two outcomes, with Newcombe's correction of positive ones.
    both, fixed, regressed, neither = pairs
    determinant = float(both * neither - fixed * regressed)
    if determinant > 0:
        determinant = max(0.0, determinant - n / 2)
    margins = (both + fixed) * (regressed + neither) * (both + regressed) * (fixed + neither)
    phi = determinant / sqrt(margins) if margins else 0.0
    limits = (candidate[0], base[1]), (candidate[1], base[0])
    below, above = (sqrt(max(0.0, a**2 - 2 * phi * a * b + b**2)) for a, b in limits)
    return Bounds(max(-1.0, pairs.difference - below), min(1.0, pairs.difference + above))


def bounded_interval(pairs: Pairs, level: float = 0.95) -> Bounds:
    """Returns `paired_interval`, no narrower than the exact bounds of gains and losses allow; -1..1.

    Where hardly any case differs, Newcombe's may be too narrow: that of 100 cases without a difference may be
    within 2 points, and if 2 % of all cases are lost, none of 100 is with a chance of 13 %. The difference is
    at least the share fixed less the upper bound of the share that regressed.
    """
    newcombe, n = paired_interval(pairs, level), pairs.size
    low = pairs.fixed / n - upper_share(pairs.regressed, n, level)
    high = upper_share(pairs.fixed, n, level) - pairs.regressed / n
    return Bounds(min(newcombe.low, low), max(newcombe.high, high))


def _limits(passes: int, count: int, level: float) -> tuple[float, float]:
    """Returns how far Wilson's bounds lie below and above a share."""
    if (wilson := wilson_interval(passes, count, level)) is None:
        raise ValueError("an interval needs at least one case")
    return passes / count - wilson.low, wilson.high - passes / count


# Shares of two groups of conversations: intervals of them and of their difference.


def wilson_interval(passes: float, count: float, level: float = 0.95) -> Bounds | None:
    """Returns Wilson's score interval of a share (Wilson 1927), 0..1; None without any trial."""
    if not count:
        return None
    z = normal_quantile((1 + level) / 2)
    rate, z2 = passes / count, z**2
    centre = (rate + z2 / (2 * count)) / (1 + z2 / count)
    half = z / (1 + z2 / count) * sqrt(rate * (1 - rate) / count + z2 / (4 * count**2))
    return Bounds(max(0.0, centre - half), min(1.0, centre + half))


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
) -> Bounds | None:
    """Returns Newcombe's interval (1998, method 10) of share minus base share; None: a group is empty."""
    interval = wilson_interval(passes, count, level)
    base = wilson_interval(base_passes, base_count, level)
    if interval is None or base is None:
        return None
    return estimated_difference(passes / count, interval, base_passes / base_count, base)


def estimated_difference(value: float, interval: Bounds, base_value: float, base: Bounds) -> Bounds:
    """Returns an interval of value minus base value, from those of both (Zou and Donner 2008)."""
    below = hypot(value - interval.low, base.high - base_value)
    above = hypot(interval.high - value, base_value - base.low)
    return Bounds(value - base_value - below, value - base_value + above)


def exact_p(passes: int, count: int, base_passes: int, base_count: int) -> float:
    """Returns the two-sided p-value of Fisher's exact test: of all tables no likelier; counts above 0."""
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


# Means of two independent groups of values.


class SampleMoments(NamedTuple):
    """A group of at least two values: how many, their mean, and their sample variance."""

    size: int
    mean: float
    variance: float


def _welch(sample: SampleMoments, base: SampleMoments) -> tuple[float, float, float]:
    """Returns the difference, its standard error, and the degrees of freedom of Welch and Satterthwaite."""
    error, other = sample.variance / sample.size, base.variance / base.size
    if not error + other:
        return sample.mean - base.mean, 0.0, 1.0
    share = error / (error + other)
    freedom = 1 / (share**2 / (sample.size - 1) + (1 - share) ** 2 / (base.size - 1))
    return sample.mean - base.mean, sqrt(error + other), freedom


def lower_mean(sample: SampleMoments, base: SampleMoments) -> float:
    """Returns the p-value (Welch's t test) of a mean this far below the base's, if both were the same."""
    difference, error, freedom = _welch(sample, base)
    if not error:
        return 0.0 if difference < 0 else 1.0
    return upper_t(-difference / error, freedom)


def mean_difference_p(sample: SampleMoments, base: SampleMoments) -> float:
    """Returns the two-sided p-value of Welch's t test; 0..1."""
    return min(1.0, 2 * min(lower_mean(sample, base), lower_mean(base, sample)))


def mean_difference_interval(sample: SampleMoments, base: SampleMoments, level: float = 0.95) -> Bounds:
    """Returns Welch's interval of the mean minus the base's mean."""
    difference, error, freedom = _welch(sample, base)
    half = error and t_quantile((1 + level) / 2, freedom) * error
    return Bounds(difference - half, difference + half)


def mean_interval(sample: SampleMoments) -> Bounds | None:
    """Returns Student's interval of a mean; None: no spread was seen, which is not that there is none."""
    if not sample.variance:
        return None
    half = t_quantile(0.975, sample.size - 1) * sqrt(sample.variance / sample.size)
    return Bounds(sample.mean - half, sample.mean + half)


# The word for a difference: what may be said about it, and what may not.


def word(
    difference: float, p: float, interval: Bounds, equivalence: Bounds, margin: float, alpha: float = 0.05
) -> ComparisonWord:
    """Returns what may be said of a candidate minus its base, in units in which more is better.

    `better`, `worse`: p is below alpha, and the interval does not hold 0.
    `same`: two one-sided tests at alpha place the difference within the margin (Schuirmann 1987).
    `not worse`: the interval's lower bound lies above -margin.

    `p` is two-sided and adjusted for the other criteria that decide, `interval` is at level 1 - alpha, and
    `equivalence`, that of two one-sided tests, at 1 - 2 alpha. `margin`: the largest difference that does not
    matter, in the same units, at least 0.
    """
    if p < alpha and difference and not interval.low <= 0 <= interval.high:
        return "better" if difference > 0 else "worse"
    if -margin < equivalence.low and equivalence.high < margin:
        return "same"
    return "not worse" if interval.low > -margin else "inconclusive"


# Sizes of effects, which do not grow with the number of cases.


def cohens_h(share: float, base_share: float) -> float:
    """Returns Cohen's h of two shares: 2 asin(sqrt(share)) - 2 asin(sqrt(base)); -pi..pi (Cohen 1988)."""
    return 2 * asin(sqrt(share)) - 2 * asin(sqrt(base_share))


def standardised(difference: float, variance: float) -> float | None:
    """Returns a mean difference in standard deviations (Cohen's d); None if nothing varies."""
    return difference / sqrt(variance) if variance > 0 else None


# Tails and quantiles of the normal, Student's t and the binomial distribution.

_STEPS = 10_000
_TINY = 1e-300
_CLOSE = 1e-15

normal_quantile, normal_cdf = NormalDist().inv_cdf, NormalDist().cdf
"""The value that a standard normal variable stays below with a probability in (0, 1), and the reverse."""


def upper_normal(value: float) -> float:
    """Returns the probability that a standard normal variable exceeds a value, exact in the far tail."""
    return erfc(value / sqrt(2)) / 2


def upper_t(t: float, freedom: float) -> float:
    """Returns the probability that Student's t exceeds a value, by the incomplete beta function."""
    if abs(t) == inf:
        return float(t < 0)
    square = t * t
    tail = _incomplete_beta(freedom / 2, 0.5, freedom / (freedom + square), square / (freedom + square)) / 2
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
    front = lgamma((freedom + 1) / 2) - lgamma(freedom / 2) - log(freedom * pi) / 2
    while value + step > value:
        value += step
        density = exp(front - (freedom + 1) / 2 * log1p(value * value / freedom))
        step = (upper_t(value, freedom) - (1 - share)) / density
    return value


def binomial_cdf(successes: int, trials: int, rate: float) -> float:
    """Returns the probability of at most so many successes in independent trials (DLMF 8.17.5)."""
    if successes < 0:
        return 0.0
    if successes >= trials:
        return 1.0
    return _incomplete_beta(trials - successes, successes + 1, 1 - rate, rate)


def _incomplete_beta(a: float, b: float, x: float, rest: float) -> float:
    """Returns the regularised incomplete beta function I_x(a, b) for positive a and b, and x in 0..1.

    The continued fraction of DLMF 8.17.22, 1 / (1 + d1 / (1 + d2 / (1 + ...))) with the coefficients of
    8.17.23, evaluated by Lentz's method on the side where it converges fast. `rest` is 1 - x, given apart
    because the difference would lose digits.
    """
    if x <= 0 or rest <= 0:
        return float(x > 0)
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(b, a, rest, x)
    log_rest = log(rest) if rest < 0.5 else log1p(-x)
    log_x = log(x) if x < 0.5 else log1p(-rest)
    front = exp(a * log_x + b * log_rest - log(a) - lgamma(a) - lgamma(b) + lgamma(a + b))
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
    return front * (1 / value)


# Always-valid tests whether a growing group lies below its base, for looking often without false alarms.

_EXPECTED_EFFECT = 0.3
"""Typical drop that is looked for, in standard deviations: the scale of the mixture."""


def share_evidence(passes: int, count: int, base_passes: int, base_count: int) -> float:
    """Returns the logarithm of the evidence that a share lies below the base's; counts are positive.

    The signed root of the deviance stands for z: near 0 and 1 it is closer to normal than the z of shares.
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
    """Returns the p-value of a window's evidence (its logarithm), valid however often it is looked at; 0..1.

    The i-th window of a stream is weighted by i (i + 1), so that all of them together fall below alpha with a
    probability of at most alpha, if nothing changes.
    """
    return min(1.0, exp(min(0.0, log(window * (window + 1)) - evidence)))


def _mixture(z: float, count: int, base_count: int) -> float:
    """Returns the logarithm of Robbins' one-sided normal mixture of likelihood ratios.

    Its expectation without a difference is 1 at most at any time, for normal increments (Robbins 1970;
    Howard, Ramdas, McAuliffe and Sekhon 2021). The half-normal mixture has the scale `_EXPECTED_EFFECT`.
    """
    spread = _EXPECTED_EFFECT**2 / (1 / count + 1 / base_count)
    share = spread / (1 + spread)
    if not (lower := upper_normal(-z * sqrt(share))):
        return -inf
    return log(2 * lower) - log1p(spread) / 2 + share * z * z / 2


def _log_likelihood(passes: int, count: int) -> float:
    fails = count - passes
    return (passes and passes * log(passes / count)) + (fails and fails * log(fails / count))
