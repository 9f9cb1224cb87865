"""Compares all criteria of two sides, each in its family."""

from collections.abc import Mapping, Sequence

import msgspec

from turnwise.schemas.comparison import CriterionComparison, JudgeNoise, TurnDifference, VersionDifference
from turnwise.transforms.comparison.measures import CriterionMeasure, value_direction
from turnwise.transforms.comparison.ratios import quantile_ratios
from turnwise.transforms.comparison.undecided import lasting_word, three_readings
from turnwise.transforms.comparison.words import difference_of, word_for
from turnwise.transforms.decisions.comparison.estimates import Estimate, Setup
from turnwise.transforms.decisions.comparison.sentences import sentence
from turnwise.transforms.decisions.comparison.side_values import MatchedValues
from turnwise.transforms.decisions.comparison.values import (
    estimate,
    group_estimate,
    group_values,
    paired_values,
)
from turnwise.transforms.scoring.evaluate import STATUS
from turnwise.transforms.statistics.tests import holm


class Measured(msgspec.Struct, frozen=True):
    """One criterion with its difference over everything.

    Attributes:
        measure: What is compared.
        estimate: The difference.
        family: Criteria whose p-values are adjusted together: the verdicts alone; those with outcomes; those
            without.
    """

    measure: CriterionMeasure
    estimate: Estimate

    @property
    def family(self) -> str:
        """Name of the family."""
        if self.measure.criterion == STATUS:
            return "verdicts"
        return "outcomes" if self.measure.has_outcomes else "values"


def measure_all(matched: MatchedValues, measures: Sequence[CriterionMeasure], setup: Setup) -> list[Measured]:
    """Returns the criteria with their differences."""
    return [Measured(measure, estimate(matched, measure, setup)) for measure in measures]


def compare_criteria(
    matched: MatchedValues,
    measured: Sequence[Measured],
    turns: Mapping[str, Sequence[TurnDifference]],
    setup: Setup,
    names: tuple[str, str],
) -> list[CriterionComparison]:
    """Returns the compared criteria; the words rest on p-values adjusted by Holm within each family.

    Args:
        matched: The conversations.
        measured: The criteria with their differences.
        turns: Criterion -> differences by turn index.
        setup: What is asked for.
        names: How texts call A and B.
    """
    found = []
    for one in measured:
        others = [
            other.estimate.p
            for other in measured
            if other is not one and other.family == one.family and other.estimate.p is not None
        ]
        own = _compare(matched, one, others, list(turns.get(one.measure.criterion, ())), setup)
        said = sentence(own, *names, matched.pairing.by)
        found.append(msgspec.structs.replace(own, sentence=said))
    return found


def _compare(
    matched: MatchedValues,
    one: Measured,
    other_p: Sequence[float],
    turns: list[TurnDifference],
    setup: Setup,
) -> CriterionComparison:
    measure, whole = one.measure, one.estimate
    adjusted = None if whole.p is None else holm([whole.p, *other_p])[0]
    is_share, is_paired = measure.measure == "pass_rate", matched.pairing.by != "nothing"
    counts = _sides_alone(matched, measure) if is_paired else (0, 0)
    both = _both(matched, measure) if is_share and is_paired else (None, None)
    undecided = three_readings(matched, measure, setup, whole, other_p)
    said = lasting_word(word_for(whole, adjusted, measure, setup), undecided)
    with_quantiles = setup.details and measure.unit != "score"
    return CriterionComparison(
        criterion=measure.criterion,
        measure=measure.measure,
        unit=measure.unit,
        better_is=measure.better_is,
        threshold=measure.threshold,
        overall=difference_of(whole, said),
        p_adjusted=adjusted,
        mid_p=whole.mid_p,
        effect=whole.effect,
        effect_kind=whole.effect_kind,
        gained=whole.higher,
        lost=whole.lower,
        both_pass=both[0],
        both_fail=both[1],
        only_a=counts[0],
        only_b=counts[1],
        unpaired=_unpaired(matched, measure, setup) if is_paired else None,
        mean=_mean(matched, measure, setup) if measure.has_more_values and is_share else None,
        undecided=undecided,
        quantiles=quantile_ratios(matched, measure, setup) if with_quantiles else [],
        turns=turns,
        judge=_judge_noise(matched, measure) if setup.details else None,
    )


def _sides_alone(matched: MatchedValues, measure: CriterionMeasure) -> tuple[int, int]:
    """Returns how many paired cases have a value on one side alone: in A, in B."""
    has_a, has_b = (side.runs(measure).counts > 0 for side in (matched.a, matched.b))
    return int((has_a & ~has_b).sum()), int((has_b & ~has_a).sum())


def _both(matched: MatchedValues, measure: CriterionMeasure) -> tuple[int, int]:
    """Returns how many paired cases pass in all runs of both sides, and how many fail in all."""
    _, a, b = paired_values(matched, measure)
    # The mean of values from 0 to 1 is 1, or 0, where all of them are.
    passed, failed = (int(((a.means == value) & (b.means == value)).sum()) for value in (1, 0))
    return passed, failed


def _unpaired(matched: MatchedValues, measure: CriterionMeasure, setup: Setup) -> VersionDifference | None:
    """Returns the difference over all conversations, if some have no partner."""
    pairing = matched.pairing
    if not (pairing.only_a or pairing.only_b or pairing.unidentified_a or pairing.unidentified_b):
        return None
    found = group_estimate(group_values(matched.a, measure), group_values(matched.b, measure), measure, setup)
    return difference_of(found, word_for(found, found.p, measure, setup))


def _mean(matched: MatchedValues, measure: CriterionMeasure, setup: Setup) -> VersionDifference | None:
    """Returns the difference of the mean values beside that of the outcomes, if they say more."""
    if all(side.observed.is_binary(measure) for side in (matched.a, matched.b)):
        return None
    values = measure.as_mean(value_direction(measure.criterion))
    found = estimate(matched, values, setup)
    return difference_of(found, word_for(found, found.p, values, setup))


def _judge_noise(matched: MatchedValues, measure: CriterionMeasure) -> JudgeNoise | None:
    sides = matched.a, matched.b
    found = [own for side in sides for own in side.observed.at(side.rows.tolist(), measure)]
    voted = sum(own.voted for own in found)
    flipped = sum(own.flipped for own in found)
    return JudgeNoise(voted=voted, flipped=flipped, flip_rate=flipped / voted) if voted else None
