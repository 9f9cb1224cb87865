"""One difference between two versions, and what is said about it: parts of a comparison.

A is the base, B the candidate. Every difference is B minus A. Shares and differences of shares are 0..1 and
-1..1; other values are in the unit of their criterion. None: not known, or not defined.
"""

from typing import Literal

import msgspec

ComparisonWord = Literal["better", "worse", "not worse", "same", "cannot tell", "differs"]
"""What may be said of B against A; `differs`: a difference of a criterion that has no better side."""


class Bounds(msgspec.Struct, frozen=True):
    """An interval of confidence."""

    low: float
    high: float


class VersionDifference(msgspec.Struct, frozen=True, kw_only=True):
    """One difference and what may be said about it.

    Attributes:
        pairs: Cases with a value on both sides; for unpaired groups 0.
        count_a: Conversations of A with a value behind it.
        count_b: The same of B.
        value_a: Share or mean of A: over the pairs, or over all of A if unpaired.
        value_b: The same of B.
        difference: B minus A.
        interval: Its interval at the level 1 - alpha.
        p: Two-sided p-value.
        word: What may be said, whatever the undecided would have been.
        detectable: Smallest difference that would have been seen with a power of 80 %; None: not known, or
            more than the whole scale.
        pairs_needed: Cases (if unpaired: of each side) that this difference needs to be seen
            with a power of 80 %.
        cases_a: Unpaired cases of A with a value, where some have several; None: every conversation is one.
        cases_b: The same of B.
        fewest: Fewest cases (if unpaired: of each side) from which a word is given; None: there are enough.
        fewest_alike: Fewest cases (if unpaired: of each side) from which outcomes may be called the same or
            not worse; None: there are enough.
        method: Names of the test and of the interval.
    """

    pairs: int
    count_a: int
    count_b: int
    value_a: float | None = None
    value_b: float | None = None
    difference: float | None = None
    interval: Bounds | None = None
    p: float | None = None
    word: ComparisonWord = "cannot tell"
    detectable: float | None = None
    pairs_needed: int | None = None
    cases_a: int | None = None
    cases_b: int | None = None
    fewest: int | None = None
    fewest_alike: int | None = None
    method: str = ""


class UndecidedReading(msgspec.Struct, frozen=True, kw_only=True):
    """The difference under one reading of what is undecided.

    Attributes:
        pairs: Cases that count.
        value_a: Share of A.
        value_b: Share of B.
        difference: B minus A.
        interval: Its interval.
        p: Two-sided p-value, adjusted as that of the criterion.
        word: What may be said.
    """

    pairs: int
    value_a: float | None
    value_b: float | None
    difference: float | None
    interval: Bounds | None
    p: float | None
    word: ComparisonWord


class Undecided(msgspec.Struct, frozen=True, kw_only=True):
    """What is undecided on either side, counted in three ways.

    Attributes:
        undecided_a: Conversations of A without a value: the criterion was not decided or raised an error,
            or only the other side of their case has a score of it.
        undecided_b: The same of B.
        left_out: They do not count.
        worst_for_b: What is undecided passes in A and fails in B.
        best_for_b: What is undecided fails in A and passes in B.
        changes_the_word: The three do not agree on the word, or it is not known how far the undecided may lie
            (open scale). The word of the criterion is then what all three bear out.
    """

    undecided_a: int
    undecided_b: int
    left_out: UndecidedReading
    worst_for_b: UndecidedReading | None
    best_for_b: UndecidedReading | None
    changes_the_word: bool


class QuantileRatio(msgspec.Struct, frozen=True, kw_only=True):
    """One quantile of a latency or count, B's divided by A's.

    Attributes:
        quantile: 0.5, 0.9 or 0.99.
        value_a: Quantile of A.
        value_b: Quantile of B.
        ratio: B's divided by A's; None: A's is 0.
        interval: Bootstrap interval of the ratio.
    """

    quantile: float
    value_a: float
    value_b: float
    ratio: float | None
    interval: Bounds | None


class CorrectedDifference(msgspec.Struct, frozen=True, kw_only=True):
    """The difference between two sides whose figures are corrected by human labels.

    Attributes:
        labels_a: Labels behind the figure of A.
        labels_b: The same of B.
        value_a: Corrected share or mean of all conversations of A.
        value_b: The same of B.
        difference: B minus A.
        interval: Its interval at 95 %.
    """

    labels_a: int
    labels_b: int
    value_a: float
    value_b: float
    difference: float
    interval: Bounds


class JudgeNoise(msgspec.Struct, frozen=True, kw_only=True):
    """How much a judge disagrees with itself.

    Attributes:
        voted: Verdicts of a judge with two votes or more.
        flipped: Those of them whose votes are not all the same.
        flip_rate: Their share, 0..1.
    """

    voted: int
    flipped: int
    flip_rate: float


class TurnDifference(msgspec.Struct, frozen=True, kw_only=True):
    """The difference at one turn index.

    Attributes:
        turn_index: 0-based.
        difference: The difference.
        q: p-value adjusted by Benjamini and Hochberg over all slices and turn indices.
        stands_out: q is below the level.
    """

    turn_index: int
    difference: VersionDifference
    q: float | None
    stands_out: bool
