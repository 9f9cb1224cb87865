"""Counts what is undecided in three ways: left out, worst for B, best for B."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from turnwise.schemas.difference import Undecided, UndecidedReading
from turnwise.transforms.comparison.estimates import Estimate, Setup
from turnwise.transforms.comparison.measures import CriterionMeasure
from turnwise.transforms.comparison.observed import ComparedConversation
from turnwise.transforms.comparison.pairing import Matched
from turnwise.transforms.comparison.values import estimate, observed_in
from turnwise.transforms.comparison.words import bounds_of, word_for
from turnwise.transforms.statistics.multiplicity import holm


def count_undecided(conversations: Sequence[ComparedConversation], measure: CriterionMeasure) -> int:
    """Returns to how many conversations a criterion applies without deciding."""
    return sum(measure.value(own) is None for own in observed_in(conversations, measure))


def three_readings(
    matched: Matched,
    measure: CriterionMeasure,
    setup: Setup,
    main: Estimate,
    other_p: Sequence[float],
) -> Undecided | None:
    """Returns the difference under three readings of what is undecided; None: nothing is.

    Args:
        matched: The conversations.
        measure: What is compared.
        setup: What is asked for.
        main: The estimate that leaves the undecided ones out.
        other_p: p-values of the other criteria of the family.
    """
    counts = count_undecided(matched.a, measure), count_undecided(matched.b, measure)
    filled = partial(estimate, matched, measure, setup)
    return read_three_ways(counts, main, filled, Reader(measure, setup, other_p))


@dataclass(frozen=True, slots=True)
class Reader:
    """Gives estimates their words.

    Attributes:
        measure: What is compared.
        setup: What is asked for.
        other_p: p-values of the other criteria of the family.
    """

    measure: CriterionMeasure
    setup: Setup
    other_p: Sequence[float] = ()

    def read(self, found: Estimate) -> UndecidedReading:
        """Returns an estimate with its word."""
        p = None if found.p is None else holm([found.p, *self.other_p])[0]
        return UndecidedReading(
            pairs=found.pairs,
            value_a=found.value_a,
            value_b=found.value_b,
            difference=found.difference,
            interval=bounds_of(found.interval),
            p=p,
            word=word_for(found, p, self.measure, self.setup),
        )


def read_three_ways(
    counts: tuple[int, int],
    main: Estimate,
    filled: Callable[[tuple[float, float]], Estimate],
    reader: Reader,
) -> Undecided | None:
    """Returns the difference under three readings; None: nothing is undecided.

    Args:
        counts: Undecided conversations of A and of B.
        main: The estimate that leaves them out.
        filled: Returns the estimate with two values in place of the undecided ones of A and of B.
        reader: Gives the words.
    """
    if not any(counts):
        return None
    left_out = reader.read(main)
    worst = best = None
    ends = _ends(reader.measure)
    if ends is not None:
        low, high = ends
        worst = reader.read(filled((high, low)))
        best = reader.read(filled((low, high)))
    words = {reading.word for reading in (left_out, worst, best) if reading is not None}
    return Undecided(
        undecided_a=counts[0],
        undecided_b=counts[1],
        left_out=left_out,
        worst_for_b=worst,
        best_for_b=best,
        changes_the_word=len(words) > 1,
    )


def _ends(measure: CriterionMeasure) -> tuple[float, float] | None:
    """Returns the worst and the best value; None: they are not known."""
    if measure.measure == "pass_rate":
        ends = (0.0, 1.0)
    elif measure.scale is None or measure.better_is == "neither":
        return None
    else:
        ends = measure.scale
    return ends if measure.better_is == "more" else (ends[1], ends[0])
