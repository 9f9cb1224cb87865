"""Values of one criterion by case and side."""

from collections.abc import Iterable, Sequence

from turnwise.transforms.comparison.estimates import (
    CaseValues,
    Estimate,
    Setup,
    group_means,
    group_shares,
    paired_means,
    paired_shares,
)
from turnwise.transforms.comparison.measures import CriterionMeasure
from turnwise.transforms.comparison.observed import ComparedConversation, Observed
from turnwise.transforms.comparison.pairing import Case, Matched


def observed_in(conversations: Iterable[ComparedConversation], measure: CriterionMeasure) -> list[Observed]:
    """Returns what a criterion gave some conversations, where it applies."""
    found = (own.criteria.get(measure.criterion) for own in conversations)
    return [own for own in found if own is not None and measure.applies(own)]


def values_of(
    conversations: Iterable[ComparedConversation], measure: CriterionMeasure, undecided: float | None = None
) -> list[float]:
    """Returns the values of a criterion; `undecided` stands for those that it left undecided."""
    values = (measure.value(own) for own in observed_in(conversations, measure))
    filled = (undecided if value is None else value for value in values)
    return [value for value in filled if value is not None]


def paired_values(
    cases: Iterable[Case],
    measure: CriterionMeasure,
    undecided: tuple[float | None, float | None] = (None, None),
) -> CaseValues:
    """Returns the values by case, of the cases with a value on both sides."""
    found = {
        case.name: (values_of(case.a, measure, undecided[0]), values_of(case.b, measure, undecided[1]))
        for case in cases
    }
    return {name: values for name, values in found.items() if all(values)}


def paired_estimate(cases: CaseValues, measure: CriterionMeasure, setup: Setup) -> Estimate:
    """Estimates the difference over paired cases."""
    if measure.measure == "pass_rate":
        return paired_shares(cases, setup)
    return paired_means(cases, setup, measure.span)


def group_estimate(
    a: Sequence[float], b: Sequence[float], measure: CriterionMeasure, setup: Setup
) -> Estimate:
    """Estimates the difference of two groups."""
    return group_shares(a, b, setup) if measure.measure == "pass_rate" else group_means(a, b, setup)


def estimate(
    matched: Matched,
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
        return paired_estimate(paired_values(matched.cases, measure, undecided), measure, setup)
    a, b = (values_of(s, measure, u) for s, u in zip((matched.a, matched.b), undecided, strict=True))
    return group_estimate(a, b, measure, setup)
