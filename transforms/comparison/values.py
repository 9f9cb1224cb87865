"""Values of one criterion by case and side."""

from collections.abc import Iterable, Sequence

from turnwise.transforms.comparison.estimates import (
    CaseValues,
    Estimate,
    Setup,
    paired_means,
    paired_shares,
)
from turnwise.transforms.comparison.groups import GroupValues, group_difference
from turnwise.transforms.comparison.measures import CriterionMeasure
from turnwise.transforms.comparison.observed import ComparedConversation, ComparedConversations, Observed
from turnwise.transforms.comparison.pairing import Case, Matched, grouped


def observed_in(conversations: Iterable[ComparedConversation], measure: CriterionMeasure) -> list[Observed]:
    """Returns what a criterion gave some conversations, where it applies."""
    kept = conversations.observed if isinstance(conversations, ComparedConversations) else {}
    if measure.criterion not in kept:
        found = [own.criteria.get(measure.criterion) for own in conversations]
        kept[measure.criterion] = [own for own in found if own is not None and measure.applies(own)]
    return kept[measure.criterion]


def drawn(
    conversations: Iterable[ComparedConversation], measure: CriterionMeasure
) -> list[ComparedConversation]:
    """Returns the conversations that a sample rate did not leave out of a criterion."""
    return [own for own in conversations if measure.criterion not in own.sampled_out]


def values_of(
    conversations: Iterable[ComparedConversation], measure: CriterionMeasure, undecided: float | None = None
) -> list[float]:
    """Returns the values of a criterion; `undecided` stands for those that it left undecided."""
    kept = (
        conversations.values if isinstance(conversations, ComparedConversations) and undecided is None else {}
    )
    key = measure.criterion, measure.measure, measure.has_outcomes
    if key not in kept:
        values = measure.values(observed_in(conversations, measure))
        filled = values if undecided is None else [undecided if own is None else own for own in values]
        kept[key] = [value for value in filled if value is not None]
    return kept[key]


def paired_values(
    cases: Iterable[Case],
    measure: CriterionMeasure,
    undecided: tuple[float | None, float | None] = (None, None),
) -> CaseValues:
    """Returns the values by case, of the cases with a value on both sides.

    Where `undecided` stands for what has no value, it does for a side without any, too, unless sampling left
    it out.
    """
    found = {}
    for case in cases:
        a, b = values_of(case.a, measure, undecided[0]), values_of(case.b, measure, undecided[1])
        if (a or b) and None not in undecided:
            a = a or _alike(drawn(case.a, measure), undecided[0])
            b = b or _alike(drawn(case.b, measure), undecided[1])
        if a and b:
            found[case.name] = (a, b)
    return found


def _alike(conversations: Sequence[ComparedConversation], value: float | None) -> list[float]:
    return [] if value is None else [value] * len(conversations)


def paired_estimate(cases: CaseValues, measure: CriterionMeasure, setup: Setup) -> Estimate:
    """Estimates the difference over paired cases."""
    if measure.measure == "pass_rate":
        return paired_shares(cases, setup)
    return paired_means(cases, setup, measure.span)


def group_values(
    conversations: Iterable[ComparedConversation], measure: CriterionMeasure, undecided: float | None = None
) -> list[list[float]]:
    """Returns the values of a criterion by case, of the cases that have one."""
    found = (values_of(case, measure, undecided) for case in grouped(conversations))
    return [values for values in found if values]


def group_estimate(a: GroupValues, b: GroupValues, measure: CriterionMeasure, setup: Setup) -> Estimate:
    """Estimates the difference of two groups."""
    return group_difference(a, b, setup, measure.span, is_share=measure.measure == "pass_rate")


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
    a, b = (group_values(s, measure, u) for s, u in zip((matched.a, matched.b), undecided, strict=True))
    return group_estimate(a, b, measure, setup)
