"""Words for differences, from adjusted p-values and intervals."""

from turnwise.schemas.comparison import Bounds, ComparisonWord, VersionDifference
from turnwise.transforms.comparison.measures import CriterionMeasure
from turnwise.transforms.decisions.comparison.estimates import Estimate, Setup
from turnwise.transforms.statistics.tests import DifferenceEvidence, Interval, word


def margin_of(estimate: Estimate, measure: CriterionMeasure, setup: Setup) -> float:
    """Returns the largest difference that does not matter, in units of the values.

    A share of the scale; on an open scale, a share of A's mean.
    """
    if measure.span is not None:
        return setup.margin * measure.span
    return setup.margin * abs(estimate.value_a or 0.0)


def word_for(
    estimate: Estimate, p_adjusted: float | None, measure: CriterionMeasure, setup: Setup
) -> ComparisonWord:
    """Returns what may be said of a difference; "cannot tell" where something was not measured."""
    if estimate.difference is None or p_adjusted is None or estimate.fewest is not None:
        return "cannot tell"
    if measure.better_is == "neither" and _is_shown(estimate, p_adjusted, setup.alpha):
        return "differs"
    sign = -1 if measure.better_is == "less" else 1
    if estimate.interval is None or estimate.equivalence is None:
        if p_adjusted < setup.alpha and estimate.difference:
            return "better" if sign * estimate.difference > 0 else "worse"
        return "cannot tell"
    interval, equivalence = (_turned(own, sign) for own in (estimate.interval, estimate.equivalence))
    evidence = DifferenceEvidence(sign * estimate.difference, p_adjusted, interval, equivalence)
    found = word(evidence, margin_of(estimate, measure, setup), setup.alpha)
    if found in ("same", "not worse") and estimate.fewest_alike is not None:
        return "cannot tell"
    return "cannot tell" if measure.better_is == "neither" and found == "not worse" else found


def _is_shown(estimate: Estimate, p_adjusted: float, alpha: float) -> bool:
    """Returns whether the test and the interval, if there is one, both show a difference."""
    interval = estimate.interval
    return (
        bool(estimate.difference)
        and p_adjusted < alpha
        and (interval is None or not interval.low <= 0 <= interval.high)
    )


def _turned(interval: Interval, sign: int) -> Interval:
    return interval if sign > 0 else Interval(-interval.high, -interval.low)


def difference_of(estimate: Estimate, said: ComparisonWord) -> VersionDifference:
    """Returns an estimate as part of the result, with its word."""
    return VersionDifference(
        pairs=estimate.pairs,
        count_a=estimate.count_a,
        count_b=estimate.count_b,
        value_a=estimate.value_a,
        value_b=estimate.value_b,
        difference=estimate.difference,
        interval=bounds_of(estimate.interval),
        p=estimate.p,
        word=said,
        detectable=estimate.detectable,
        pairs_needed=estimate.needed,
        cases_a=estimate.cases_a,
        cases_b=estimate.cases_b,
        fewest=estimate.fewest,
        fewest_alike=estimate.fewest_alike,
        method=estimate.method,
    )


def bounds_of(interval: Interval | None) -> Bounds | None:
    """Returns an interval as part of the result."""
    return None if interval is None else Bounds(*interval)
