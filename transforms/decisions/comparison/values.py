"""Values of one criterion by case and side, and the difference of both sides."""

from collections.abc import Sequence
from math import sqrt
from statistics import fmean, variance

import numpy as np
from msgspec.structs import replace

from turnwise.schemas.comparison import Bounds, ComparisonWord, Missing, MissingReading
from turnwise.transforms.decisions.comparison.estimates import (
    FEWEST_ALIKE,
    FEWEST_CASES,
    CompareOptions,
    Estimate,
    PairedRuns,
    paired_estimate,
    within_scale,
    word_for,
)
from turnwise.transforms.decisions.comparison.side_values import (
    CriterionMeasure,
    MatchedValues,
    Runs,
    SideValues,
)
from turnwise.transforms.decisions.comparison.sides import Bools, Integers
from turnwise.transforms.statistics.power import (
    detectable_mean,
    detectable_of_groups,
    needed_cases,
    needed_of_groups,
)
from turnwise.transforms.statistics.tests import (
    SampleMoments,
    cohens_h,
    difference_interval,
    exact_p,
    holm,
    mean_difference_interval,
    mean_difference_p,
    standardised,
)


def paired_values(
    matched: MatchedValues,
    measure: CriterionMeasure,
    missing: tuple[float | None, float | None] = (None, None),
) -> PairedRuns:
    """Returns the values by case, of the cases with a value on both sides.

    Where `missing` stands for what has no value, it does for a side without any, too, unless sampling left
    it out.
    """
    a, b = matched.baseline.runs(measure, missing[0]), matched.candidate.runs(measure, missing[1])
    if missing[0] is not None and missing[1] is not None:
        lacks_a, lacks_b = (a.counts == 0) & (b.counts > 0), (b.counts == 0) & (a.counts > 0)
        a = _filled(a, np.where(lacks_a, matched.baseline.count_drawn(measure), 0), missing[0])
        b = _filled(b, np.where(lacks_b, matched.candidate.count_drawn(measure), 0), missing[1])
    kept = (a.counts > 0) & (b.counts > 0)
    names = [matched.names[case] for case in np.flatnonzero(kept).tolist()]
    return PairedRuns(names, a.at(kept), b.at(kept))


def _filled(runs: Runs, counts: Integers, value: float) -> Runs:
    """Returns runs with so many equal values in addition, of cases that have none."""
    means = runs.means.copy()
    for count in sorted(set(counts[counts > 0].tolist())):
        means[counts == count] = fmean([value] * count)
    return Runs(runs.counts + counts, means)


def group_values(side: SideValues, measure: CriterionMeasure, missing: float | None = None) -> Runs:
    """Returns the values of a criterion by case of a side alone, of the cases that have one."""
    runs = side.alone.runs(measure, missing)
    return runs.at(runs.counts > 0)


def estimate(
    matched: MatchedValues,
    measure: CriterionMeasure,
    options: CompareOptions,
    missing: tuple[float | None, float | None] = (None, None),
) -> Estimate:
    """Estimates the difference of a criterion: paired where cases are, of two groups otherwise.

    `missing` stands for missing scores of A and of B; None: they do not count.
    """
    if matched.pairing.by != "nothing":
        return paired_estimate(paired_values(matched, measure, missing), measure, options)
    a, b = (
        group_values(side, measure, is_missing)
        for side, is_missing in zip((matched.baseline, matched.candidate), missing, strict=True)
    )
    return group_estimate(a, b, measure, options)


# Counts what has no score in three ways: left out, worst for B, best for B.


def three_readings(
    matched: MatchedValues,
    measure: CriterionMeasure,
    options: CompareOptions,
    main: Estimate,
    other_p: Sequence[float],
) -> Missing | None:
    """Returns the difference under three readings of what has no score; None: nothing is.

    On an open scale nothing says how far the missing values may lie: the word may change. `main` leaves the
    missing ones out; `other_p` are the p-values of the other criteria of the family.
    """
    sides = matched.baseline, matched.candidate
    counts = [
        side.count_missing(measure) + int(side.count_drawn(measure)[is_missing].sum())
        for side, is_missing in zip(sides, _missing(matched, measure), strict=True)
    ]
    if not any(counts):
        return None

    def read(estimated: Estimate) -> MissingReading:
        p = None if estimated.p is None else holm([estimated.p, *other_p])[0]
        return MissingReading(
            pairs=estimated.pairs,
            baseline_value=estimated.baseline_value,
            candidate_value=estimated.candidate_value,
            difference=estimated.difference,
            interval=estimated.interval,
            p=p,
            word=word_for(estimated, p, measure, options),
        )

    left_out = read(main)
    worst = best = None
    ends = _ends(measure)
    if ends is not None:
        worst, best = (read(estimate(matched, measure, options, missing)) for missing in (ends[::-1], ends))
    words = {reading.word for reading in (left_out, worst, best) if reading is not None}
    return Missing(
        baseline_missing=counts[0],
        candidate_missing=counts[1],
        left_out=left_out,
        worst_for_candidate=worst,
        best_for_candidate=best,
        changes_the_word=len(words) > 1 or (ends is None and _concern(matched, measure)),
    )


def _missing(matched: MatchedValues, measure: CriterionMeasure) -> tuple[Bools, Bools]:
    """Returns which cases a criterion applies to in B alone, and in A alone."""
    is_seen, other = (side.count_seen(measure) > 0 for side in (matched.baseline, matched.candidate))
    return other & ~is_seen, is_seen & ~other


def _concern(matched: MatchedValues, measure: CriterionMeasure) -> bool:
    """Returns whether something without a score belongs to what is compared."""
    sides = matched.baseline, matched.candidate
    if matched.pairing.by == "nothing":
        return any(side.count_missing(measure) for side in sides)
    is_missing, other = _missing(matched, measure)
    is_open = is_missing | other
    for side in sides:
        is_open = is_open | (side.count_seen(measure) > side.runs(measure).counts)
    for side in sides:
        is_open = is_open & (side.count_drawn(measure) > 0)
    return bool(is_open.any())


def lasting_word(word: ComparisonWord, missing: Missing | None) -> ComparisonWord:
    """Returns what may be said of a difference whatever is missing would have been."""
    if missing is None or not missing.changes_the_word:
        return word
    readings = (missing.left_out, missing.worst_for_candidate, missing.best_for_candidate)
    words = {None if reading is None else reading.word for reading in readings}
    return "not worse" if words <= {"better", "same", "not worse"} else "inconclusive"


def _ends(measure: CriterionMeasure) -> tuple[float, float] | None:
    """Returns the worst and the best value; None: they are not known."""
    if measure.measure == "pass_rate":
        ends = (0.0, 1.0)
    elif measure.scale is None or measure.better_is == "neither":
        return None
    else:
        ends = measure.scale
    return ends if measure.better_is == "more" else (ends[1], ends[0])


# Estimates the difference of two groups whose cases are not the same.


def group_estimate(a: Runs, b: Runs, measure: CriterionMeasure, options: CompareOptions) -> Estimate:
    """Estimates the difference of two groups; the case is the unit, and the mean of its runs its value."""
    values, other = a.means.tolist(), b.means.tolist()
    is_share = measure.measure == "pass_rate"
    if is_share and {*values, *other} <= {0.0, 1.0}:
        estimated = _shares(values, other, options)
    else:
        estimated = _means(values, other, options, measure.span, is_share=is_share)
    if (a.total, b.total) == (len(values), len(other)):
        return estimated
    return replace(
        estimated,
        baseline_count=a.total,
        candidate_count=b.total,
        baseline_cases=len(values),
        candidate_cases=len(other),
    )


def _shares(a: Sequence[float], b: Sequence[float], options: CompareOptions) -> Estimate:
    if not a or not b:
        return Estimate(0, len(a), len(b), fmean(a) if a else None, fmean(b) if b else None)
    passes_a, passes_b = round(sum(a)), round(sum(b))
    baseline_value, candidate_value = passes_a / len(a), passes_b / len(b)
    groups = (passes_b, len(b), passes_a, len(a))
    pooled = (passes_a + passes_b) / (len(a) + len(b))
    spread = baseline_value * (1 - baseline_value) + candidate_value * (1 - candidate_value)
    return Estimate(
        *(0, len(a), len(b), baseline_value, candidate_value, candidate_value - baseline_value),
        interval=difference_interval(*groups, 1 - options.alpha),
        equivalence=difference_interval(*groups, 1 - 2 * options.alpha),
        p=exact_p(*groups),
        detectable=detectable_of_groups(pooled, (len(a), len(b)), options.alpha),
        pairs_needed=needed_of_groups(candidate_value - baseline_value, spread, options.alpha),
        effect=cohens_h(candidate_value, baseline_value),
        effect_kind="h",
        fewest_alike=FEWEST_ALIKE if min(len(a), len(b)) < FEWEST_ALIKE else None,
        method="Fisher's exact test, Newcombe's interval",
    )


def _means(
    a: Sequence[float], b: Sequence[float], options: CompareOptions, span: float | None, *, is_share: bool
) -> Estimate:
    values = fmean(a) if a else None, fmean(b) if b else None
    if len(a) < 2 or len(b) < 2 or values[0] is None or values[1] is None:
        return Estimate(0, len(a), len(b), *values)
    candidate, base = (
        SampleMoments(len(b), values[1], variance(b)),
        SampleMoments(len(a), values[0], variance(a)),
    )
    difference, spread = candidate.mean - base.mean, candidate.variance + base.variance
    if not spread:
        return Estimate(0, len(a), len(b), *values, difference)
    if min(len(a), len(b)) < FEWEST_CASES:
        return Estimate(0, len(a), len(b), *values, difference, fewest=FEWEST_CASES)
    error = sqrt(candidate.variance / candidate.size + base.variance / base.size)
    return Estimate(
        *(0, len(a), len(b), *values, difference),
        interval=_clipped(mean_difference_interval(candidate, base, 1 - options.alpha), span),
        equivalence=_clipped(mean_difference_interval(candidate, base, 1 - 2 * options.alpha), span),
        p=mean_difference_p(candidate, base),
        detectable=within_scale(detectable_mean(error, options.alpha), span),
        pairs_needed=needed_cases(difference, spread, options.alpha),
        effect=cohens_h(candidate.mean, base.mean) if is_share else standardised(difference, spread / 2),
        effect_kind="h" if is_share else "d",
        method="Welch's t test and interval",
    )


def _clipped(interval: Bounds, span: float | None) -> Bounds:
    return interval if span is None else Bounds(max(-span, interval.low), min(span, interval.high))
