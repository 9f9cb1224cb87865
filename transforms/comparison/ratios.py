"""Ratios of quantiles of latencies and counts, with bootstrap intervals over cases."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from turnwise.schemas.comparison import QuantileRatio
from turnwise.transforms.comparison.measures import CriterionMeasure
from turnwise.transforms.comparison.words import bounds_of
from turnwise.transforms.decisions.comparison.estimates import Setup
from turnwise.transforms.decisions.comparison.side_values import MatchedValues, SideValues
from turnwise.transforms.statistics.resampling import Numbers, interpolated_quantile, resampling_weights
from turnwise.transforms.statistics.tests import Interval

QUANTILES = (0.5, 0.9, 0.99)
_REPLICATES = 1_000
_FEWEST_REPLICATES = 200
_MOST_DRAWS = 4_000_000
_FEWEST_CASES = 10


class _Values:
    """The values of one side in ascending order, each with its case."""

    def __init__(self, pairs: Iterable[tuple[str, float]]) -> None:
        ordered = sorted(pairs, key=lambda pair: pair[1])
        self.cases = [case for case, _ in ordered]
        self.values: Numbers = np.asarray([value for _, value in ordered], dtype=np.float64)


def quantile_ratios(matched: MatchedValues, measure: CriterionMeasure, setup: Setup) -> list[QuantileRatio]:
    """Returns the ratios of the quantiles over all single values, those of turns where there are any.

    Paired: over the cases on both sides. An interval needs 10 cases a side.
    """
    sides = zip((matched.a, matched.b), _sides(matched), strict=True)
    a, b = (_Values(_values(side, rows, measure)) for side, rows in sides)
    if not len(a.values) or not len(b.values):
        return []
    names = sorted({*a.cases, *b.cases})
    replicates = max(_FEWEST_REPLICATES, min(_REPLICATES, _MOST_DRAWS // max(len(a.cases), len(b.cases))))
    weights = {name: resampling_weights(setup.seed, name, replicates) for name in names}
    is_enough = min(len({*a.cases}), len({*b.cases})) >= _FEWEST_CASES
    drawn = [_drawn(own, weights, replicates) if is_enough else None for own in (a, b)]
    return [_ratio(place, a, b, drawn, setup) for place in range(len(QUANTILES))]


def _sides(matched: MatchedValues) -> tuple[list[tuple[str, int]], ...]:
    """Returns the rows of both sides, each with what is resampled: its case, or itself."""
    if matched.pairing.by == "nothing":
        return (
            [(f"a {place}", row) for place, row in enumerate(matched.a.rows.tolist())],
            [(f"b {place}", row) for place, row in enumerate(matched.b.rows.tolist())],
        )
    return tuple(
        [(name, row) for name, rows in zip(matched.names, side.cases, strict=True) for row in rows]
        for side in (matched.a, matched.b)
    )


def _values(
    side: SideValues, rows: Iterable[tuple[str, int]], measure: CriterionMeasure
) -> Iterator[tuple[str, float]]:
    for case, row in rows:
        found = side.observed.conversations.given(row, measure.criterion)
        if found is None:
            continue
        values = [turn.value for turn in found.turns] or [found.value]
        yield from ((case, value) for value in values if value is not None)


def _drawn(own: _Values, weights: dict[str, "np.typing.NDArray[np.uint8]"], replicates: int) -> Numbers:
    """Returns the quantiles of every replicate; an array of (quantiles, replicates)."""
    counts = np.stack([weights[case] for case in own.cases]).cumsum(axis=0, dtype=np.int32)
    totals = counts[-1]
    found = np.full((len(QUANTILES), replicates), np.nan)
    for place, quantile in enumerate(QUANTILES):
        positions = np.minimum((counts < quantile * totals).sum(axis=0), len(own.values) - 1)
        found[place] = np.where(totals > 0, own.values[positions], np.nan)
    return found


def _ratio(
    place: int, a: _Values, b: _Values, drawn: Sequence[Numbers | None], setup: Setup
) -> QuantileRatio:
    quantile = QUANTILES[place]
    value_a, value_b = (interpolated_quantile(own.values, quantile) for own in (a, b))
    return QuantileRatio(
        quantile=quantile,
        value_a=value_a,
        value_b=value_b,
        ratio=value_b / value_a if value_a else None,
        interval=bounds_of(_interval(drawn, place, setup)),
    )


def _interval(drawn: Sequence[Numbers | None], place: int, setup: Setup) -> Interval | None:
    own, other = drawn
    # A replicate that draws no case has no quantile (NaN), and is left out.
    if own is None or other is None or (own[place] <= 0).any():
        return None
    ratios = np.sort(other[place] / own[place])
    known = ratios[~np.isnan(ratios)]
    tails = setup.alpha / 2, 1 - setup.alpha / 2
    return Interval(*(interpolated_quantile(known, share) for share in tails))
