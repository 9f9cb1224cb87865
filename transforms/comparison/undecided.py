"""Counts what is undecided in three ways: left out, worst for B, best for B."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from turnwise.schemas.difference import ComparisonWord, Undecided, UndecidedReading
from turnwise.transforms.comparison.estimates import Estimate, Setup
from turnwise.transforms.comparison.measures import CriterionMeasure
from turnwise.transforms.comparison.observed import ComparedConversation
from turnwise.transforms.comparison.pairing import Matched
from turnwise.transforms.comparison.values import drawn, estimate, observed_in, values_of
from turnwise.transforms.comparison.words import bounds_of, word_for
from turnwise.transforms.statistics.multiplicity import holm


def count_undecided(conversations: Sequence[ComparedConversation], measure: CriterionMeasure) -> int:
    """Returns to how many conversations a criterion applies without deciding."""
    return len(observed_in(conversations, measure)) - len(values_of(conversations, measure))


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
    counts = _counts(matched, measure)
    if not any(counts):
        return None
    filled = partial(estimate, matched, measure, setup)
    return read_three_ways(counts, main, filled, Reader(measure, setup, other_p), _concern(matched, measure))


def _counts(matched: Matched, measure: CriterionMeasure) -> tuple[int, int]:
    """Returns how many conversations of A and of B have no value, and should have one."""
    counts = [sum(count_undecided(part, measure) for part in side) for side in matched.parts]
    for case in matched.cases:
        is_seen = [bool(observed_in(side, measure)) for side in (case.a, case.b)]
        for place, side in enumerate((case.a, case.b)):
            if not is_seen[place] and is_seen[1 - place]:
                counts[place] += len(drawn(side, measure))
    return counts[0], counts[1]


def _concern(matched: Matched, measure: CriterionMeasure) -> bool:
    """Returns whether something undecided belongs to what is compared."""
    if matched.pairing.by == "nothing":
        return any(count_undecided(side, measure) for side in (matched.a, matched.b))
    for case in matched.cases:
        sides = [drawn(side, measure) for side in (case.a, case.b)]
        seen = [observed_in(side, measure) for side in sides]
        if not all(sides):
            continue
        if any(seen) and (not all(seen) or any(measure.value(own) is None for side in seen for own in side)):
            return True
    return False


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
    concerns: bool = True,
) -> Undecided | None:
    """Returns the difference under three readings; None: nothing is undecided.

    On an open scale nothing says how far the undecided values may lie: the word may change.

    Args:
        counts: Undecided conversations of A and of B.
        main: The estimate that leaves them out.
        filled: Returns the estimate with two values in place of the undecided ones of A and of B.
        reader: Gives the words.
        concerns: Whether something undecided belongs to what is compared.
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
        changes_the_word=len(words) > 1 or (ends is None and concerns),
    )


def lasting_word(said: ComparisonWord, undecided: Undecided | None) -> ComparisonWord:
    """Returns what may be said of a difference whatever the undecided would have been."""
    if undecided is None or not undecided.changes_the_word:
        return said
    readings = (undecided.left_out, undecided.worst_for_b, undecided.best_for_b)
    words = {None if reading is None else reading.word for reading in readings}
    return "not worse" if words <= {"better", "same", "not worse"} else "cannot tell"


def _ends(measure: CriterionMeasure) -> tuple[float, float] | None:
    """Returns the worst and the best value; None: they are not known."""
    if measure.measure == "pass_rate":
        ends = (0.0, 1.0)
    elif measure.scale is None or measure.better_is == "neither":
        return None
    else:
        ends = measure.scale
    return ends if measure.better_is == "more" else (ends[1], ends[0])
