"""Outcomes of the same cases in two versions: exact tests, intervals, and what could have been seen."""

from math import ceil, sqrt
from typing import NamedTuple

from turnwise.transforms.statistics.distributions import binomial_cdf, normal_quantile
from turnwise.transforms.statistics.interval import Interval
from turnwise.transforms.statistics.proportions import wilson_interval

POWER = 0.8
"""Probability with which a difference is to be seen."""


class Pairs(NamedTuple):
    """Cases by their outcome in the base version and in the candidate version.

    Attributes:
        both: Passed in both.
        gained: Failed in the base, passed in the candidate.
        lost: Passed in the base, failed in the candidate.
        neither: Failed in both.
    """

    both: int
    gained: int
    lost: int
    neither: int

    @property
    def size(self) -> int:
        """Number of cases."""
        return sum(self)

    @property
    def difference(self) -> float:
        """Pass share of the candidate minus that of the base, -1..1."""
        return (self.gained - self.lost) / self.size

    @property
    def discordant(self) -> float:
        """Share of the cases whose outcome differs, 0..1."""
        return (self.gained + self.lost) / self.size


class PairedTest(NamedTuple):
    """P-values of the hypothesis that gains and losses are equally likely; two-sided, 0..1."""

    p: float
    mid_p: float


def mcnemar(gained: int, lost: int) -> PairedTest:
    """Returns McNemar's exact test and its mid-p variant.

    p = min(1, 2 P(X <= min(gained, lost))) for X ~ Binomial(gained + lost, 1/2); mid-p leaves out half of the
    probability of what was seen on each side (Fagerland, Lydersen and Laake 2013).
    """
    trials, fewer = gained + lost, min(gained, lost)
    tail = binomial_cdf(fewer, trials, 0.5)
    seen = tail - binomial_cdf(fewer - 1, trials, 0.5)
    p = min(1.0, 2 * tail)
    return PairedTest(p, 1.0 if gained == lost else 2 * tail - seen)


def paired_interval(pairs: Pairs, level: float = 0.95) -> Interval:
    """Returns an interval of the difference of two paired shares; -1..1.

    Newcombe 1998, Improved confidence intervals for the difference between binomial proportions based on
    paired data, method 10. There must be at least one case.
    """
    n = pairs.size
    candidate = _limits(pairs.both + pairs.gained, n, level)
    base = _limits(pairs.both + pairs.lost, n, level)
    phi = _correlation(pairs)
    below = _side(candidate[0], base[1], phi)
    above = _side(candidate[1], base[0], phi)
    return Interval(max(-1.0, pairs.difference - below), min(1.0, pairs.difference + above))


def _limits(passes: int, count: int, level: float) -> tuple[float, float]:
    """Returns how far Wilson's bounds lie below and above a share."""
    found = wilson_interval(passes, count, level)
    if found is None:
        raise ValueError("an interval needs at least one case")
    return passes / count - found.low, found.high - passes / count


def _side(own: float, other: float, phi: float) -> float:
    return sqrt(max(0.0, own**2 - 2 * phi * own * other + other**2))


def _correlation(pairs: Pairs) -> float:
    """Returns the correlation of the two outcomes, with Newcombe's correction of positive ones."""
    both, gained, lost, neither = pairs
    margins = (both + gained) * (lost + neither) * (both + lost) * (gained + neither)
    if not margins:
        return 0.0
    determinant = float(both * neither - gained * lost)
    if determinant > 0:
        determinant = max(0.0, determinant - pairs.size / 2)
    return determinant / sqrt(margins)


def detectable_difference(discordant: float, count: int, alpha: float = 0.05) -> float:
    """Returns the smallest difference of paired shares that a test would have seen with a power of 80 %.

    Solves d = (z(1 - alpha / 2) + z(power)) sqrt((discordant - d^2) / count) for d, after Connor 1987.

    Args:
        discordant: Share of the cases whose outcome differs, 0..1.
        count: Number of cases, at least 1.
        alpha: Two-sided level of significance.
    """
    factor = _both_quantiles(alpha) ** 2 / count
    return sqrt(factor * discordant / (1 + factor))


def needed_pairs(difference: float, discordant: float, alpha: float = 0.05) -> int | None:
    """Returns how many cases a difference needs to be seen with a power of 80 %; None: there is none."""
    if not difference:
        return None
    return ceil(_both_quantiles(alpha) ** 2 * (discordant - difference**2) / difference**2)


def _both_quantiles(alpha: float) -> float:
    return normal_quantile(1 - alpha / 2) + normal_quantile(POWER)
