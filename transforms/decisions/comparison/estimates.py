"""Estimates the difference of a criterion between two versions: paired by case, or of two groups."""

from collections.abc import Sequence
from math import sqrt
from statistics import fmean, variance
from typing import Literal, NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from turnwise.schemas.calibration import Calibration, Corrected
from turnwise.schemas.comparison import (
    Bounds,
    ComparisonWord,
    CorrectedDifference,
    CriterionComparison,
    Missing,
    MissingReading,
    PairedBy,
    VersionDifference,
)
from turnwise.transforms.decisions.comparison.side_values import CriterionMeasure, MatchedValues, Runs
from turnwise.transforms.decisions.comparison.sides import ComparedSide, Integers
from turnwise.transforms.decisions.comparison.words import FEWEST_CASES, corrected_text
from turnwise.transforms.statistics import power, tests
from turnwise.transforms.statistics.resampling import SEED, CaseMeans, sign_flip_p

FEWEST_ALIKE = 20
"""From so many cases (of each side) on outcomes may be called the same or not worse.

Below, Newcombe's intervals hold less often than they should: of 3 pairs, "not worse" would be said with a
chance of 11.8 % of a version that is worse by the margin.
"""


class PairedRuns(NamedTuple):
    """Values of the runs of A and of B by case, at least one each."""

    names: list[str]
    baseline: Runs
    candidate: Runs


class CompareOptions(Struct, frozen=True):
    """What a comparison is asked for.

    Attributes:
        by: What pairs conversations; None: the id that pairs most cases.
        margin: Largest difference that does not matter, as a share of the scale, 0..1.
        alpha: Level of significance of what decides; `q`: of the false discovery rate of what points.
        slices: Dimensions of slices; None: languages, tags, and agents where the config names them.
        any_verdicts: Whether verdicts are compared although different criteria decide them.
        details: Whether turns, flips, quantiles and votes of judges are looked at, too.
    """

    by: PairedBy | None = None
    margin: float = 0.02
    alpha: float = 0.05
    q: float = 0.1
    slices: Sequence[str] | None = None
    any_verdicts: bool = False
    details: bool = True


class Estimate(VersionDifference, frozen=True, kw_only=True):
    """A difference, and what its word and its criterion are made of.

    `equivalence` are bounds at level 1 - 2 alpha, that of two one-sided tests; `mid_p` is McNemar's.
    """

    equivalence: Bounds | None = None
    mid_p: float | None = None
    effect: float | None = None
    effect_kind: Literal["h", "d_z", "d"] | None = None

    def as_part(self, word: ComparisonWord) -> VersionDifference:
        """Returns the difference as part of the result, with its word."""
        fields = {name: getattr(self, name) for name in VersionDifference.__struct_fields__}
        return VersionDifference(**fields | {"word": word})


def within_scale(detectable: float | None, span: float | None) -> float | None:
    """Returns a detectable difference; None: it would be more than the whole scale."""
    return None if detectable is None or (span is not None and detectable > span) else detectable


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
    return on_both_sides(matched.names, a, b)


def on_both_sides(names: Sequence[str], a: Runs, b: Runs) -> PairedRuns:
    """Returns the runs of the cases that have values in A and in B."""
    kept = (a.counts > 0) & (b.counts > 0)
    return PairedRuns([names[case] for case in np.flatnonzero(kept).tolist()], a.at(kept), b.at(kept))


def _filled(runs: Runs, counts: Integers, value: float) -> Runs:
    """Returns runs with so many equal values in addition, of cases that have none."""
    means = runs.means.copy()
    for count in sorted(set(counts[counts > 0].tolist())):
        means[counts == count] = fmean([value] * count)
    return Runs(runs.counts + counts, means)


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
    sides = zip((matched.baseline, matched.candidate), missing, strict=True)
    a, b = (side.runs_alone(measure, is_missing) for side, is_missing in sides)
    return group_estimate(a, b, measure, options)


def paired_estimate(cases: PairedRuns, measure: CriterionMeasure, options: CompareOptions) -> Estimate:
    """Estimates the difference over the same cases."""
    if measure.measure != "pass_rate":
        return _paired_means(cases, options, measure.span, is_share=False)
    sides = cases.baseline, cases.candidate
    is_single = bool(cases.names) and all((side.counts == 1).all() for side in sides)
    if not is_single or not all(np.isin(side.means, (0.0, 1.0)).all() for side in sides):
        # The mean of a case's runs is its value, as are values between 0 and 1, which turns may have.
        return _paired_means(cases, options, 1.0, is_share=True)
    kinds = (1, 1), (0, 1), (1, 0), (0, 0)
    base, other = (side.means for side in sides)
    pairs = tests.Pairs(*(int(((base == a) & (other == b)).sum()) for a, b in kinds))
    (p, mid_p), size = tests.mcnemar(pairs.fixed, pairs.regressed), pairs.size
    baseline_value, candidate_value = (pairs.both + pairs.regressed) / size, (pairs.both + pairs.fixed) / size
    return Estimate(
        *(size, size, size, baseline_value, candidate_value, pairs.difference),
        interval=tests.bounded_interval(pairs, 1 - options.alpha),
        equivalence=tests.bounded_interval(pairs, 1 - 2 * options.alpha),
        p=p,
        mid_p=mid_p,
        detectable=power.detectable_difference(pairs.discordant, size, options.alpha),
        pairs_needed=power.needed_pairs(pairs.difference, pairs.discordant, options.alpha),
        effect=tests.cohens_h(candidate_value, baseline_value),
        effect_kind="h",
        fewest_alike=FEWEST_ALIKE if size < FEWEST_ALIKE else None,
        method="exact McNemar test, Newcombe's paired interval",
    )


def _paired_means(cases: PairedRuns, options: CompareOptions, span: float | None, is_share: bool) -> Estimate:
    """Estimates a mean difference by bootstrap and permutation over cases; an open scale has no span."""
    size, counts = len(cases.names), (cases.baseline.total, cases.candidate.total)
    if not size:
        return Estimate(0, *counts)
    differences = dict(zip(cases.names, (cases.candidate.means - cases.baseline.means).tolist(), strict=True))
    sides = cases.baseline, cases.candidate
    baseline_value, candidate_value = (fmean(side.means.tolist()) for side in sides)
    drawn = CaseMeans(differences, SEED)
    is_too_few = size < FEWEST_CASES and not drawn.is_constant
    interval, equivalence = (
        None if is_too_few else drawn.interval(level) or _unseen_spread(drawn.mean, size, span, level)
        for level in (1 - options.alpha, 1 - 2 * options.alpha)
    )
    spread = drawn.variance
    seen = power.detectable_mean(sqrt(spread / size), options.alpha) if spread else None
    can_be_seen = 2 / 2**size <= options.alpha
    shares = candidate_value, baseline_value
    effect = tests.cohens_h(*shares) if is_share else tests.standardised(drawn.mean, spread)
    interval_of = "BCa bootstrap" if size >= 20 else "Student's t interval"
    return Estimate(
        *(size, *counts, baseline_value, candidate_value, drawn.mean),
        interval=interval,
        equivalence=equivalence,
        p=sign_flip_p(differences, SEED),
        detectable=within_scale(seen, span) if can_be_seen else None,
        pairs_needed=power.needed_cases(drawn.mean, spread, options.alpha) if size > 1 else None,
        effect=effect,
        effect_kind="h" if is_share else "d_z",
        fewest=FEWEST_CASES if is_too_few else None,
        method=f"exchange of versions within cases, {interval_of} over cases",
    )


def _unseen_spread(mean: float, size: int, span: float | None, level: float) -> Bounds | None:
    """Returns the interval of a mean whose values do not vary: some share of further cases may differ.

    The share is the upper Wilson bound of 0 in `size`. Each of them may differ by all that the scale allows;
    towards 0, where there are enough cases, by what the test exchanges: as much in the other direction.
    """
    if span is None:
        return None
    z2 = tests.normal_quantile((1 + level) / 2) ** 2
    share = z2 / (size + z2)
    half, nearer = (span + abs(mean)) * share, mean * (1 - 2 * share)
    low, high = max(-span, mean - half), min(span, mean + half)
    if size < FEWEST_CASES:
        return Bounds(low, high)
    return Bounds(max(low, nearer) if mean > 0 else low, min(high, nearer) if mean < 0 else high)


# Estimates the difference of two groups whose cases are not the same.


def group_estimate(a: Runs, b: Runs, measure: CriterionMeasure, options: CompareOptions) -> Estimate:
    """Estimates the difference of two groups; the case is the unit, and the mean of its runs its value."""
    values, other = a.means.tolist(), b.means.tolist()
    sizes, is_share = (len(values), len(other)), measure.measure == "pass_rate"
    if not is_share or not {*values, *other} <= {0.0, 1.0}:
        estimated = _means(values, other, options, measure.span, is_share=is_share)
    elif not values or not other:
        shares = [fmean(side) if side else None for side in (values, other)]
        estimated = Estimate(0, *sizes, baseline_value=shares[0], candidate_value=shares[1])
    else:
        passes, base_passes = round(sum(other)), round(sum(values))
        base, candidate = base_passes / len(values), passes / len(other)
        groups = (passes, len(other), base_passes, len(values))
        pooled = (base_passes + passes) / sum(sizes)
        spread = base * (1 - base) + candidate * (1 - candidate)
        estimated = Estimate(
            *(0, *sizes, base, candidate, candidate - base),
            interval=tests.difference_interval(*groups, 1 - options.alpha),
            equivalence=tests.difference_interval(*groups, 1 - 2 * options.alpha),
            p=tests.exact_p(*groups),
            detectable=power.detectable_of_groups(pooled, sizes, options.alpha),
            pairs_needed=power.needed_of_groups(candidate - base, spread, options.alpha),
            effect=tests.cohens_h(candidate, base),
            effect_kind="h",
            fewest_alike=FEWEST_ALIKE if min(sizes) < FEWEST_ALIKE else None,
            method="Fisher's exact test, Newcombe's interval",
        )
    if (a.total, b.total) == sizes:
        return estimated
    cases = {"baseline_cases": sizes[0], "candidate_cases": sizes[1]}
    return replace(estimated, baseline_count=a.total, candidate_count=b.total, **cases)


def _means(
    a: Sequence[float], b: Sequence[float], options: CompareOptions, span: float | None, *, is_share: bool
) -> Estimate:
    values = fmean(a) if a else None, fmean(b) if b else None
    if len(a) < 2 or len(b) < 2 or values[0] is None or values[1] is None:
        return Estimate(0, len(a), len(b), *values)
    base = tests.SampleMoments(len(a), values[0], variance(a))
    candidate = tests.SampleMoments(len(b), values[1], variance(b))
    difference, spread = candidate.mean - base.mean, candidate.variance + base.variance
    if not spread:
        return Estimate(0, len(a), len(b), *values, difference)
    if min(len(a), len(b)) < FEWEST_CASES:
        return Estimate(0, len(a), len(b), *values, difference, fewest=FEWEST_CASES)
    error = sqrt(candidate.variance / candidate.size + base.variance / base.size)
    shares, deviation = (candidate.mean, base.mean), (difference, spread / 2)
    levels = 1 - options.alpha, 1 - 2 * options.alpha
    interval, equivalence = (tests.mean_difference_interval(candidate, base, level) for level in levels)
    if span is not None:
        interval, equivalence = (
            Bounds(max(-span, low), min(span, high)) for low, high in (interval, equivalence)
        )
    return Estimate(
        *(0, len(a), len(b), *values, difference),
        interval=interval,
        equivalence=equivalence,
        p=tests.mean_difference_p(candidate, base),
        detectable=within_scale(power.detectable_mean(error, options.alpha), span),
        pairs_needed=power.needed_cases(difference, spread, options.alpha),
        effect=tests.cohens_h(*shares) if is_share else tests.standardised(*deviation),
        effect_kind="h" if is_share else "d",
        method="Welch's t test and interval",
    )


# Words for differences, from adjusted p-values and intervals.


def word_for(
    estimate: Estimate, p_adjusted: float | None, measure: CriterionMeasure, options: CompareOptions
) -> ComparisonWord:
    """Returns what may be said of a difference; "inconclusive" where something was not measured."""
    difference, interval, equivalence = estimate.difference, estimate.interval, estimate.equivalence
    if difference is None or p_adjusted is None or estimate.fewest is not None:
        return "inconclusive"
    is_shown = bool(difference) and p_adjusted < options.alpha
    may_be_none = interval is not None and interval.low <= 0 <= interval.high
    if measure.better_is == "neither" and is_shown and not may_be_none:
        return "differs"
    sign = -1 if measure.better_is == "less" else 1
    if interval is None or equivalence is None:
        return ("better" if sign * difference > 0 else "worse") if is_shown else "inconclusive"
    if sign < 0:
        interval, equivalence = (Bounds(-high, -low) for low, high in (interval, equivalence))
    # What does not matter is a share of the scale; on an open scale, a share of A's mean.
    unit = abs(estimate.baseline_value or 0.0) if measure.span is None else measure.span
    bounds = interval, equivalence, options.margin * unit
    decided = tests.word(sign * difference, p_adjusted, *bounds, options.alpha)
    if decided in ("same", "not worse") and estimate.fewest_alike is not None:
        return "inconclusive"
    return "inconclusive" if measure.better_is == "neither" and decided == "not worse" else decided


# Counts what has no score in three ways: left out, worst for B, best for B.


def three_readings(
    matched: MatchedValues,
    measure: CriterionMeasure,
    options: CompareOptions,
    main: Estimate,
    other_p: Sequence[float],
) -> tuple[ComparisonWord, Missing | None]:
    """Returns what may be said whatever is missing would have been, and how; None: nothing is missing.

    On an open scale nothing says how far the missing values may lie: the word may change. `main` leaves the
    missing ones out; `other_p` are the p-values of the other criteria of the family.
    """

    def read(estimated: Estimate) -> MissingReading:
        p = None if estimated.p is None else tests.holm([estimated.p, *other_p])[0]
        part = replace(estimated, p=p, word=word_for(estimated, p, measure, options))
        return MissingReading(**{name: getattr(part, name) for name in MissingReading.__struct_fields__})

    left_out, sides = read(main), (matched.baseline, matched.candidate)
    seen = [side.count(side.observed.values(measure).is_seen) for side in sides]
    missing = [side.count_missing(measure) for side in sides]
    # To some cases a criterion applies on the other side alone.
    alone = (seen[1] > 0) & (seen[0] == 0), (seen[0] > 0) & (seen[1] == 0)
    drawn = [side.count_drawn(measure) for side in sides]
    counts = [number + int(of[there].sum()) for number, of, there in zip(missing, drawn, alone, strict=True)]
    if not any(counts):
        return left_out.word, None
    worst = best = None
    ends = (0.0, 1.0) if measure.measure == "pass_rate" else measure.scale
    if ends is not None and (measure.measure == "pass_rate" or measure.better_is != "neither"):
        # What the missing ones of the baseline and of the candidate stand for.
        for_candidate = ends if measure.better_is == "more" else ends[::-1]
        worst = read(estimate(matched, measure, options, for_candidate[::-1]))
        best = read(estimate(matched, measure, options, for_candidate))
        changes = len({left_out.word, worst.word, best.word}) > 1
    elif matched.pairing.by == "nothing":
        changes = any(missing)
    else:  # whether something without a score belongs to what is compared
        is_open = alone[0] | alone[1]
        for side, of_side in zip(sides, seen, strict=True):
            is_open |= of_side > side.runs(measure).counts
        changes = bool((is_open & (drawn[0] > 0) & (drawn[1] > 0)).any())
    word = left_out.word
    if changes:
        words = {None if reading is None else reading.word for reading in (left_out, worst, best)}
        word = "not worse" if words <= {"better", "same", "not worse"} else "inconclusive"
    return word, Missing(
        baseline_missing=counts[0],
        candidate_missing=counts[1],
        left_out=left_out,
        worst_for_candidate=worst,
        best_for_candidate=best,
        changes_the_word=changes,
    )


# Differences between figures that human labels have corrected.


def with_correction(result: CriterionComparison, a: ComparedSide, b: ComparedSide) -> CriterionComparison:
    """Returns a criterion with the corrected difference, if the figures of both sides are corrected."""
    base, candidate = _corrected(result, a), _corrected(result, b)
    if base is None or candidate is None or base.covers != candidate.covers:
        return result
    if base.value is None or candidate.value is None or base.interval is None or candidate.interval is None:
        return result
    corrected = CorrectedDifference(
        baseline_labels=base.labels,
        candidate_labels=candidate.labels,
        baseline_value=base.value,
        candidate_value=candidate.value,
        difference=candidate.value - base.value,
        interval=tests.estimated_difference(candidate.value, candidate.interval, base.value, base.interval),
    )
    decided = "" if base.covers == "all" else ", of what the criterion decided alone"
    text = f"{corrected_text(corrected, result.measure)}{decided}"
    return replace(result, corrected=corrected, sentence=f"{result.sentence}; {text}")


def calibration_notes(criteria: Sequence[CriterionComparison], a: ComparedSide, b: ComparedSide) -> list[str]:
    """Returns notes about words that corrected differences do not bear out, and sides without labels."""
    notes, uneven = [], []
    for result in criteria:
        word, corrected = result.overall.word, result.corrected
        if corrected is not None and word in ("better", "worse"):
            is_above = (word == "better") == (result.better_is != "less")
            if not (corrected.interval.low > 0 if is_above else corrected.interval.high < 0):
                shown = "not shown by the figures that labels correct"
                notes.append(f"{result.criterion}: {word} by the scores, but {shown}")
        if len({figure.covers for side in (a, b) if (figure := _corrected(result, side)) is not None}) > 1:
            cover = "the labels of one side cover what has no score, those of the other do not"
            uneven.append(f"{result.criterion}: {cover}: no difference is corrected")
    notes += uneven
    for calibrated, other in ((a, b), (b, a)):
        if calibrated.calibration is not None and other.calibration is None:
            which = f"{calibrated.name} is calibrated by labels, {other.name} is not"
            notes.append(f"{which}: no difference is corrected")
    return notes


def _corrected(result: CriterionComparison, side: ComparedSide) -> Corrected | None:
    """Returns the figure of whole conversations of a side; None: it is not corrected."""
    versions = {*side.conversations.app_versions.used()}
    return corrected_figure(side.calibration, result.criterion, result.measure, versions)


def corrected_figure(
    calibration: Calibration | None, criterion: str, measure: str, versions: set[str | None]
) -> Corrected | None:
    """Returns what labels say of the whole conversations of app versions; None: nothing."""
    for calibrated in calibration.criteria if calibration is not None else ():
        key = calibrated.criterion, calibrated.level, calibrated.measure
        if key == (criterion, "conversation", measure):
            of_versions = [figure for figure in calibrated.corrected if figure.group == "app_version"]
            if not of_versions:
                return next((figure for figure in calibrated.corrected if figure.group == "all"), None)
            return next((figure for figure in of_versions if {figure.name} == versions), None)
    return None
