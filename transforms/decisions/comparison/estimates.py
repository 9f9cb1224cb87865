"""Estimates one difference between two versions: paired by case, or of two groups."""

from collections.abc import Sequence
from math import sqrt
from statistics import fmean
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
    PairedBy,
    VersionDifference,
)
from turnwise.transforms.decisions.comparison.side_values import CriterionMeasure, Runs
from turnwise.transforms.decisions.comparison.sides import ComparedSide
from turnwise.transforms.statistics.power import (
    detectable_difference,
    detectable_mean,
    needed_cases,
    needed_pairs,
)
from turnwise.transforms.statistics.resampling import SEED, CaseMeans, sign_flip_p
from turnwise.transforms.statistics.tests import (
    Pairs,
    bounded_interval,
    cohens_h,
    estimated_difference,
    mcnemar,
    normal_quantile,
    standardised,
    word,
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
    """Values of the runs of A and of B by case, at least one each."""

    names: list[str]
    baseline: Runs
    candidate: Runs


class CompareOptions(Struct, frozen=True):
    """What a comparison is asked for.

    Attributes:
        by: What pairs conversations; None: the id that pairs most cases.
        margin: Largest difference that does not matter, as a share of the scale, 0..1.
        alpha: Level of significance of what decides, between 0 and 1.
        q: Level of the false discovery rate of what points, between 0 and 1.
        slices: Dimensions of the slices, as in the config.
        any_verdicts: Whether verdicts are compared although different criteria decide them.
        details: Whether turns, slices, flips, quantiles and votes of judges are looked at, too.
    """

    by: PairedBy | None = None
    margin: float = 0.02
    alpha: float = 0.05
    q: float = 0.1
    slices: Sequence[str] = ()
    any_verdicts: bool = False
    details: bool = True


class Estimate(VersionDifference, frozen=True, kw_only=True):
    """A difference, and what its word and its criterion are made of.

    Attributes:
        equivalence: Bounds at level 1 - 2 alpha, that of two one-sided tests.
        mid_p: McNemar's mid-p; None: another test.
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
    pairs = Pairs(
        *(int(((cases.baseline.means == a) & (cases.candidate.means == b)).sum()) for a, b in kinds)
    )
    test, size = mcnemar(pairs.fixed, pairs.regressed), pairs.size
    baseline_value, candidate_value = (pairs.both + pairs.regressed) / size, (pairs.both + pairs.fixed) / size
    return Estimate(
        *(size, size, size, baseline_value, candidate_value, pairs.difference),
        interval=bounded_interval(pairs, 1 - options.alpha),
        equivalence=bounded_interval(pairs, 1 - 2 * options.alpha),
        p=test.p,
        mid_p=test.mid_p,
        detectable=detectable_difference(pairs.discordant, size, options.alpha),
        pairs_needed=needed_pairs(pairs.difference, pairs.discordant, options.alpha),
        effect=cohens_h(candidate_value, baseline_value),
        effect_kind="h",
        fewest_alike=FEWEST_ALIKE if size < FEWEST_ALIKE else None,
        method="exact McNemar test, Newcombe's paired interval",
    )


def _paired_means(
    cases: PairedRuns, options: CompareOptions, span: float | None, *, is_share: bool
) -> Estimate:
    """Estimates a mean difference by bootstrap and permutation over cases; an open scale has no span."""
    size, counts = len(cases.names), (cases.baseline.total, cases.candidate.total)
    if not size:
        return Estimate(0, *counts)
    differences = dict(zip(cases.names, (cases.candidate.means - cases.baseline.means).tolist(), strict=True))
    baseline_value, candidate_value = (
        fmean(cases.baseline.means.tolist()),
        fmean(cases.candidate.means.tolist()),
    )
    drawn = CaseMeans(differences, SEED)
    is_too_few = size < FEWEST_CASES and not drawn.is_constant
    interval, equivalence = (
        None if is_too_few else drawn.interval(level) or _unseen_spread(drawn.mean, size, span, level)
        for level in (1 - options.alpha, 1 - 2 * options.alpha)
    )
    spread = drawn.variance
    seen = detectable_mean(sqrt(spread / size), options.alpha) if spread else None
    can_be_seen = 2 / 2**size <= options.alpha
    return Estimate(
        *(size, *counts, baseline_value, candidate_value, drawn.mean),
        interval=interval,
        equivalence=equivalence,
        p=sign_flip_p(differences, SEED),
        detectable=within_scale(seen, span) if can_be_seen else None,
        pairs_needed=needed_cases(drawn.mean, spread, options.alpha) if size > 1 else None,
        effect=cohens_h(candidate_value, baseline_value) if is_share else standardised(drawn.mean, spread),
        effect_kind="h" if is_share else "d_z",
        fewest=FEWEST_CASES if is_too_few else None,
        method="exchange of versions within cases, "
        + ("BCa bootstrap over cases" if size >= 20 else "Student's t interval over cases"),
    )


def _unseen_spread(mean: float, size: int, span: float | None, level: float) -> Bounds | None:
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
        return Bounds(low, high)
    return Bounds(max(low, nearer) if mean > 0 else low, min(high, nearer) if mean < 0 else high)


# Words for differences, from adjusted p-values and intervals.


def word_for(
    estimate: Estimate, p_adjusted: float | None, measure: CriterionMeasure, options: CompareOptions
) -> ComparisonWord:
    """Returns what may be said of a difference; "inconclusive" where something was not measured."""
    difference, interval, equivalence = estimate.difference, estimate.interval, estimate.equivalence
    if difference is None or p_adjusted is None or estimate.fewest is not None:
        return "inconclusive"
    is_shown = bool(difference) and p_adjusted < options.alpha
    if (
        measure.better_is == "neither"
        and is_shown
        and (interval is None or not interval.low <= 0 <= interval.high)
    ):
        return "differs"
    sign = -1 if measure.better_is == "less" else 1
    if interval is None or equivalence is None:
        return ("better" if sign * difference > 0 else "worse") if is_shown else "inconclusive"
    if sign < 0:
        interval, equivalence = (Bounds(-high, -low) for low, high in (interval, equivalence))
    # What does not matter is a share of the scale; on an open scale, a share of A's mean.
    unit = abs(estimate.baseline_value or 0.0) if measure.span is None else measure.span
    decided = word(sign * difference, p_adjusted, interval, equivalence, options.margin * unit, options.alpha)
    if decided in ("same", "not worse") and estimate.fewest_alike is not None:
        return "inconclusive"
    return "inconclusive" if measure.better_is == "neither" and decided == "not worse" else decided


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
        interval=estimated_difference(candidate.value, candidate.interval, base.value, base.interval),
    )
    decided = "" if base.covers == "all" else ", of what the criterion decided alone"
    scale, digits, unit = (100, 1, " points") if result.measure == "pass_rate" else (1, 3, "")
    value, low, high = (
        f"{scale * number:+.{digits}f}"
        for number in (corrected.difference, corrected.interval.low, corrected.interval.high)
    )
    labels = f"{corrected.baseline_labels} and {corrected.candidate_labels} labels"
    text = f"corrected by {labels} of people: {value}{unit} ({low} to {high}){decided}"
    return replace(result, corrected=corrected, sentence=f"{result.sentence}; {text}")


def calibration_notes(criteria: Sequence[CriterionComparison], a: ComparedSide, b: ComparedSide) -> list[str]:
    """Returns notes about words that corrected differences do not bear out, and sides without labels."""
    notes = [
        f"{result.criterion}: {result.overall.word} by the scores, but not shown by the figures that labels "
        "correct"
        for result in criteria
        if result.corrected is not None and not _bears_out(result, result.corrected)
    ]
    notes += [
        f"{result.criterion}: the labels of one side cover what has no score, those of the "
        "other do not: no difference is corrected"
        for result in criteria
        if len({figure.covers for side in (a, b) if (figure := _corrected(result, side)) is not None}) > 1
    ]
    for calibrated, other in ((a, b), (b, a)):
        if calibrated.calibration is not None and other.calibration is None:
            notes.append(
                f"{calibrated.name} is calibrated by labels, {other.name} is not: no difference is corrected"
            )
    return notes


def _bears_out(result: CriterionComparison, corrected: CorrectedDifference) -> bool:
    word, is_more = result.overall.word, result.better_is != "less"
    if word in ("better", "worse"):
        return corrected.interval.low > 0 if (word == "better") == is_more else corrected.interval.high < 0
    return True


def _corrected(result: CriterionComparison, side: ComparedSide) -> Corrected | None:
    """Returns the figure of whole conversations of a side; None: it is not corrected."""
    if side.calibration is None:
        return None
    versions = {*side.conversations.app_versions}
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
