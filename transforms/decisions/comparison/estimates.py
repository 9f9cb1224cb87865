"""Estimates one difference between two versions: paired by case, or of two groups."""

from math import sqrt
from statistics import fmean
from typing import Literal, NamedTuple

import numpy as np
from msgspec import Struct

from turnwise.transforms.comparison.runs import Runs
from turnwise.transforms.statistics.power import (
    detectable_difference,
    detectable_mean,
    needed_cases,
    needed_pairs,
)
from turnwise.transforms.statistics.resampling import CaseMeans, sign_flip_p
from turnwise.transforms.statistics.tests import (
    Interval,
    Pairs,
    bounded_interval,
    cohens_h,
    mcnemar,
    normal_quantile,
    standardised,
)

FEWEST_CASES = 6
"""From so many cases (of each side) on the spread of values is estimated from them.

Fewer may be nearly equal by chance, and Student's t takes their spread for that of all.
"""
FEWEST_ALIKE = 20
"""From so many cases (of each side) on outcomes may be called the same or not worse.

Below, Newcombe's intervals hold less often than they should: of 3 pairs, "not worse" would be said with a
chance of 11.8 % of a version that is worse by the margin.
"""


class PairedRuns(NamedTuple):
    """Values of the runs of A and of B by case, at least one each.

    Attributes:
        names: The cases.
        a: Values of A.
        b: Values of B.
    """

    names: list[str]
    a: Runs
    b: Runs


class Setup(Struct, frozen=True):
    """What a comparison is asked for.

    Attributes:
        alpha: Level of significance of what decides.
        margin: Largest share of a scale that does not matter.
        q: Level of the false discovery rate of what points.
        seed: Seed, such as `SEED`.
        details: Whether more than the criteria as a whole is asked for: turns, quantiles, votes of judges.
    """

    alpha: float
    margin: float
    q: float
    seed: int
    details: bool = True


class Estimate(Struct, frozen=True):
    """A difference, B minus A; see `turnwise.schemas.comparison.VersionDifference` for the common fields.

    Attributes:
        equivalence: Interval at level 1 - 2 alpha, that of two one-sided tests.
        mid_p: McNemar's mid-p; None: another test.
        higher: Cases with a higher value in B; None: not paired.
        lower: Cases with a lower value in B.
    """

    pairs: int
    count_a: int
    count_b: int
    value_a: float | None = None
    value_b: float | None = None
    difference: float | None = None
    interval: Interval | None = None
    equivalence: Interval | None = None
    p: float | None = None
    mid_p: float | None = None
    detectable: float | None = None
    needed: int | None = None
    effect: float | None = None
    effect_kind: Literal["h", "d_z", "d"] | None = None
    higher: int | None = None
    lower: int | None = None
    cases_a: int | None = None
    cases_b: int | None = None
    fewest: int | None = None
    fewest_alike: int | None = None
    method: str = ""


def within_scale(detectable: float | None, span: float | None) -> float | None:
    """Returns a detectable difference; None: it would be more than the whole scale."""
    return None if detectable is None or (span is not None and detectable > span) else detectable


def paired_shares(cases: PairedRuns, setup: Setup) -> Estimate:
    """Estimates the difference of pass shares over the same cases.

    One run of every case on both sides: McNemar's exact test and Newcombe's interval, widened. Several: the
    mean of a case's runs is its value, as are values between 0 and 1, which turns may have.
    """
    sides = cases.a, cases.b
    is_single = bool(cases.names) and all((side.counts == 1).all() for side in sides)
    if not is_single or not all(np.isin(side.means, (0.0, 1.0)).all() for side in sides):
        return _paired(cases, setup, 1.0, is_share=True)
    kinds = (1, 1), (0, 1), (1, 0), (0, 0)
    pairs = Pairs(*(int(((cases.a.means == a) & (cases.b.means == b)).sum()) for a, b in kinds))
    test, size = mcnemar(pairs.gained, pairs.lost), pairs.size
    value_a, value_b = (pairs.both + pairs.lost) / size, (pairs.both + pairs.gained) / size
    return Estimate(
        *(size, size, size, value_a, value_b, pairs.difference),
        interval=bounded_interval(pairs, 1 - setup.alpha),
        equivalence=bounded_interval(pairs, 1 - 2 * setup.alpha),
        p=test.p,
        mid_p=test.mid_p,
        detectable=detectable_difference(pairs.discordant, size, setup.alpha),
        needed=needed_pairs(pairs.difference, pairs.discordant, setup.alpha),
        effect=cohens_h(value_b, value_a),
        effect_kind="h",
        higher=pairs.gained,
        lower=pairs.lost,
        fewest_alike=FEWEST_ALIKE if size < FEWEST_ALIKE else None,
        method="exact McNemar test, Newcombe's paired interval",
    )


def paired_means(cases: PairedRuns, setup: Setup, span: float | None) -> Estimate:
    """Estimates the mean difference over the same cases, by bootstrap and permutation over cases.

    Args:
        cases: Values by case.
        setup: What is asked for.
        span: Width of the scale; None: it is open.
    """
    return _paired(cases, setup, span, is_share=False)


def _paired(cases: PairedRuns, setup: Setup, span: float | None, *, is_share: bool) -> Estimate:
    size, counts = len(cases.names), (cases.a.total, cases.b.total)
    if not size:
        return Estimate(0, *counts)
    differences = dict(zip(cases.names, (cases.b.means - cases.a.means).tolist(), strict=True))
    value_a, value_b = fmean(cases.a.means.tolist()), fmean(cases.b.means.tolist())
    drawn = CaseMeans(differences, setup.seed)
    is_too_few = size < FEWEST_CASES and not drawn.is_constant
    interval, equivalence = (
        None if is_too_few else drawn.interval(level) or _unseen_spread(drawn.mean, size, span, level)
        for level in (1 - setup.alpha, 1 - 2 * setup.alpha)
    )
    spread = drawn.variance
    seen = detectable_mean(sqrt(spread / size), setup.alpha) if spread else None
    can_be_seen = 2 / 2**size <= setup.alpha
    return Estimate(
        *(size, *counts, value_a, value_b, drawn.mean),
        interval=interval,
        equivalence=equivalence,
        p=sign_flip_p(differences, setup.seed),
        detectable=within_scale(seen, span) if can_be_seen else None,
        needed=needed_cases(drawn.mean, spread, setup.alpha) if size > 1 else None,
        effect=cohens_h(value_b, value_a) if is_share else standardised(drawn.mean, spread),
        effect_kind="h" if is_share else "d_z",
        higher=sum(value > 0 for value in differences.values()),
        lower=sum(value < 0 for value in differences.values()),
        fewest=FEWEST_CASES if is_too_few else None,
        method="exchange of versions within cases, " + _interval_name(size),
    )


def _interval_name(size: int) -> str:
    return "BCa bootstrap over cases" if size >= 20 else "Student's t interval over cases"


def _unseen_spread(mean: float, size: int, span: float | None, level: float) -> Interval | None:
    """Returns the interval of a mean whose values do not vary: some share of further cases may differ.

    The share is the upper Wilson bound of 0 in `size`. Each of them may differ by all that the scale allows;
    towards 0, where there are enough cases, by what the test exchanges: as much in the other direction.
    """
    if span is None:
        return None
    z2 = normal_quantile((1 + level) / 2) ** 2
    share = z2 / (size + z2)
    half, nearer = (span + abs(mean)) * share, mean * (1 - 2 * share)
    low, high = max(-span, mean - half), min(span, mean + half)
    if size < FEWEST_CASES:
        return Interval(low, high)
    return Interval(max(low, nearer) if mean > 0 else low, min(high, nearer) if mean < 0 else high)
