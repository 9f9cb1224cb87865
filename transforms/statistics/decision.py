"""The word for a difference: what may be said about it, and what may not."""

from msgspec import Struct

from turnwise.schemas.comparison import ComparisonWord
from turnwise.transforms.statistics.interval import Interval


class DifferenceEvidence(Struct, frozen=True):
    """A difference between a candidate and its base, in units in which more is better.

    Attributes:
        difference: Candidate minus base.
        p: Two-sided p-value, adjusted for the other criteria that decide.
        interval: Its interval at level 1 - alpha.
        equivalence: Its interval at level 1 - 2 alpha, that of two one-sided tests.
    """

    difference: float
    p: float
    interval: Interval
    equivalence: Interval


def word(evidence: DifferenceEvidence, margin: float, alpha: float = 0.05) -> ComparisonWord:
    """Returns what may be said.

    `better`, `worse`: p is below alpha, and the interval does not hold 0.
    `same`: two one-sided tests at alpha place the difference within the margin (Schuirmann 1987).
    `not worse`: the interval's lower bound lies above -margin.

    Args:
        evidence: The difference.
        margin: Largest difference that does not matter, in the same units, at least 0.
        alpha: Level of significance.
    """
    if (
        evidence.p < alpha
        and evidence.difference
        and not evidence.interval.low <= 0 <= evidence.interval.high
    ):
        return "better" if evidence.difference > 0 else "worse"
    if -margin < evidence.equivalence.low and evidence.equivalence.high < margin:
        return "same"
    return "not worse" if evidence.interval.low > -margin else "cannot tell"
