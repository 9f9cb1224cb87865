"""Values of one criterion by case and side, and the difference of both sides."""

from statistics import fmean

import numpy as np

from turnwise.transforms.comparison.groups import group_difference
from turnwise.transforms.comparison.measures import CriterionMeasure
from turnwise.transforms.comparison.runs import Integers, Runs
from turnwise.transforms.decisions.comparison.estimates import (
    Estimate,
    PairedRuns,
    Setup,
    paired_means,
    paired_shares,
)
from turnwise.transforms.decisions.comparison.side_values import MatchedValues, SideValues


def paired_values(
    matched: MatchedValues,
    measure: CriterionMeasure,
    undecided: tuple[float | None, float | None] = (None, None),
) -> PairedRuns:
    """Returns the values by case, of the cases with a value on both sides.

    Where `undecided` stands for what has no value, it does for a side without any, too, unless sampling left
    it out.
    """
    a, b = matched.a.runs(measure, undecided[0]), matched.b.runs(measure, undecided[1])
    if undecided[0] is not None and undecided[1] is not None:
        lacks_a, lacks_b = (a.counts == 0) & (b.counts > 0), (b.counts == 0) & (a.counts > 0)
        a = _filled(a, np.where(lacks_a, matched.a.count_drawn(measure), 0), undecided[0])
        b = _filled(b, np.where(lacks_b, matched.b.count_drawn(measure), 0), undecided[1])
    kept = (a.counts > 0) & (b.counts > 0)
    names = [matched.names[place] for place in np.flatnonzero(kept).tolist()]
    return PairedRuns(names, a.at(kept), b.at(kept))


def _filled(runs: Runs, counts: Integers, value: float) -> Runs:
    """Returns runs with so many equal values in addition, of cases that have none."""
    means = runs.means.copy()
    for count in sorted(set(counts[counts > 0].tolist())):
        means[counts == count] = fmean([value] * count)
    return Runs(runs.counts + counts, means)


def paired_estimate(cases: PairedRuns, measure: CriterionMeasure, setup: Setup) -> Estimate:
    """Estimates the difference over paired cases."""
    if measure.measure == "pass_rate":
        return paired_shares(cases, setup)
    return paired_means(cases, setup, measure.span)


def group_values(side: SideValues, measure: CriterionMeasure, undecided: float | None = None) -> Runs:
    """Returns the values of a criterion by case of a side alone, of the cases that have one."""
    found = side.alone.runs(measure, undecided)
    return found.at(found.counts > 0)


def group_estimate(a: Runs, b: Runs, measure: CriterionMeasure, setup: Setup) -> Estimate:
    """Estimates the difference of two groups."""
    return group_difference(a, b, setup, measure.span, is_share=measure.measure == "pass_rate")


def estimate(
    matched: MatchedValues,
    measure: CriterionMeasure,
    setup: Setup,
    undecided: tuple[float | None, float | None] = (None, None),
) -> Estimate:
    """Estimates the difference of a criterion: paired where cases are, of two groups otherwise.

    Args:
        matched: The conversations.
        measure: What is compared.
        setup: What is asked for.
        undecided: What stands for undecided scores of A and of B; None: they do not count.
    """
    if matched.pairing.by != "nothing":
        return paired_estimate(paired_values(matched, measure, undecided), measure, setup)
    a, b = (
        group_values(side, measure, own) for side, own in zip((matched.a, matched.b), undecided, strict=True)
    )
    return group_estimate(a, b, measure, setup)
