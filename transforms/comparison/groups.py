"""Estimates the difference of two groups whose cases are not the same."""

from collections.abc import Sequence
from math import sqrt
from statistics import fmean, variance

from msgspec.structs import replace

from turnwise.transforms.comparison.runs import Runs
from turnwise.transforms.decisions.comparison.estimates import (
    FEWEST_ALIKE,
    FEWEST_CASES,
    Estimate,
    Setup,
    within_scale,
)
from turnwise.transforms.statistics.power import (
    detectable_mean,
    detectable_of_groups,
    needed_cases,
    needed_of_groups,
)
from turnwise.transforms.statistics.tests import (
    Interval,
    SampleMoments,
    cohens_h,
    difference_interval,
    exact_p,
    mean_difference_interval,
    mean_difference_p,
    standardised,
)


def group_difference(a: Runs, b: Runs, setup: Setup, span: float | None, *, is_share: bool) -> Estimate:
    """Estimates the difference of two groups; the case is the unit, and the mean of its runs its value.

    Args:
        a: Values of the base by case, at least one each.
        b: Values of the candidate by case, at least one each.
        setup: What is asked for.
        span: Width of the scale; None: it is open.
        is_share: Whether values are 1 (pass) and 0.
    """
    own, other = a.means.tolist(), b.means.tolist()
    if is_share and {*own, *other} <= {0.0, 1.0}:
        found = _shares(own, other, setup)
    else:
        found = _means(own, other, setup, span, is_share=is_share)
    if (a.total, b.total) == (len(own), len(other)):
        return found
    return replace(found, count_a=a.total, count_b=b.total, cases_a=len(own), cases_b=len(other))


def _shares(a: Sequence[float], b: Sequence[float], setup: Setup) -> Estimate:
    if not a or not b:
        return Estimate(0, len(a), len(b), fmean(a) if a else None, fmean(b) if b else None)
    passes_a, passes_b = round(sum(a)), round(sum(b))
    value_a, value_b = passes_a / len(a), passes_b / len(b)
    groups = (passes_b, len(b), passes_a, len(a))
    pooled = (passes_a + passes_b) / (len(a) + len(b))
    spread = value_a * (1 - value_a) + value_b * (1 - value_b)
    return Estimate(
        *(0, len(a), len(b), value_a, value_b, value_b - value_a),
        interval=difference_interval(*groups, 1 - setup.alpha),
        equivalence=difference_interval(*groups, 1 - 2 * setup.alpha),
        p=exact_p(*groups),
        detectable=detectable_of_groups(pooled, (len(a), len(b)), setup.alpha),
        needed=needed_of_groups(value_b - value_a, spread, setup.alpha),
        effect=cohens_h(value_b, value_a),
        effect_kind="h",
        fewest_alike=FEWEST_ALIKE if min(len(a), len(b)) < FEWEST_ALIKE else None,
        method="Fisher's exact test, Newcombe's interval",
    )


def _means(
    a: Sequence[float], b: Sequence[float], setup: Setup, span: float | None, *, is_share: bool
) -> Estimate:
    values = fmean(a) if a else None, fmean(b) if b else None
    if len(a) < 2 or len(b) < 2 or values[0] is None or values[1] is None:
        return Estimate(0, len(a), len(b), *values)
    own, base = SampleMoments(len(b), values[1], variance(b)), SampleMoments(len(a), values[0], variance(a))
    difference, spread = own.mean - base.mean, own.variance + base.variance
    if not spread:
        return Estimate(0, len(a), len(b), *values, difference)
    if min(len(a), len(b)) < FEWEST_CASES:
        return Estimate(0, len(a), len(b), *values, difference, fewest=FEWEST_CASES)
    error = sqrt(own.variance / own.size + base.variance / base.size)
    return Estimate(
        *(0, len(a), len(b), *values, difference),
        interval=_clipped(mean_difference_interval(own, base, 1 - setup.alpha), span),
        equivalence=_clipped(mean_difference_interval(own, base, 1 - 2 * setup.alpha), span),
        p=mean_difference_p(own, base),
        detectable=within_scale(detectable_mean(error, setup.alpha), span),
        needed=needed_cases(difference, spread, setup.alpha),
        effect=cohens_h(own.mean, base.mean) if is_share else standardised(difference, spread / 2),
        effect_kind="h" if is_share else "d",
        method="Welch's t test and interval",
    )


def _clipped(interval: Interval, span: float | None) -> Interval:
    return interval if span is None else Interval(max(-span, interval.low), min(span, interval.high))
