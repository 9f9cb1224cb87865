"""Counts what is undecided in three ways: left out, worst for B, best for B."""

from collections.abc import Callable, Sequence
from functools import partial

from msgspec import Struct

from turnwise.schemas.comparison import ComparisonWord, Undecided, UndecidedReading
from turnwise.transforms.comparison.measures import CriterionMeasure
from turnwise.transforms.comparison.runs import Bools
from turnwise.transforms.comparison.words import bounds_of, word_for
from turnwise.transforms.decisions.comparison.estimates import Estimate, Setup
from turnwise.transforms.decisions.comparison.side_values import MatchedValues
from turnwise.transforms.decisions.comparison.values import estimate
from turnwise.transforms.statistics.tests import holm


def three_readings(
    matched: MatchedValues,
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


def _counts(matched: MatchedValues, measure: CriterionMeasure) -> tuple[int, int]:
    """Returns how many conversations of A and of B have no value, and should have one."""
    own, other = (
        side.count_undecided(measure) + int(side.count_drawn(measure)[is_missing].sum())
        for side, is_missing in zip((matched.a, matched.b), _missing(matched, measure), strict=True)
    )
    return own, other


def _missing(matched: MatchedValues, measure: CriterionMeasure) -> tuple[Bools, Bools]:
    """Returns which cases a criterion applies to in B alone, and in A alone."""
    own, other = (side.count_seen(measure) > 0 for side in (matched.a, matched.b))
    return other & ~own, own & ~other


def _concern(matched: MatchedValues, measure: CriterionMeasure) -> bool:
    """Returns whether something undecided belongs to what is compared."""
    sides = matched.a, matched.b
    if matched.pairing.by == "nothing":
        return any(side.count_undecided(measure) for side in sides)
    own, other = _missing(matched, measure)
    is_open = own | other
    for side in sides:
        is_open = is_open | (side.count_seen(measure) > side.runs(measure).counts)
    for side in sides:
        is_open = is_open & (side.count_drawn(measure) > 0)
    return bool(is_open.any())


class Reader(Struct, frozen=True):
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
