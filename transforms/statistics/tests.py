"""Outcomes of the same cases in two versions: exact test and interval."""

from math import sqrt
from typing import NamedTuple

from turnwise.transforms.statistics.distributions import binomial_cdf
from turnwise.transforms.statistics.interval import Interval
from turnwise.transforms.statistics.proportions import upper_share, wilson_interval


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


def bounded_interval(pairs: Pairs, level: float = 0.95) -> Interval:
    """Returns `paired_interval`, no narrower than the exact bounds of gains and losses allow; -1..1.

    Where hardly any case differs, Newcombe's may be too narrow: that of 100 cases without a difference may be
    within 2 points, and if 2 % of all cases are lost, none of 100 is with a chance of 13 %. The difference is
    at least the share gained less the upper bound of the share lost.
    """
    found, n = paired_interval(pairs, level), pairs.size
    low = pairs.gained / n - upper_share(pairs.lost, n, level)
    high = upper_share(pairs.gained, n, level) - pairs.lost / n
    return Interval(min(found.low, low), max(found.high, high))


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
