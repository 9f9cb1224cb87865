from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.transforms.metrics.tally import (
    ACCURACY,
    LARGEST,
    SMALLEST,
    add_value,
    bin_of,
    bin_value,
    value_at,
)

SIZES = st.floats(SMALLEST, LARGEST)
VALUES = st.one_of(SIZES, SIZES.map(lambda size: -size), st.just(0.0))


def bins_of(values):
    bins = {}
    for value in values:
        add_value(bins, value)
    return bins


@given(VALUES)
def test_a_bin_stands_for_its_values(value):
    assert bin_value(bin_of(value)) == pytest.approx(value, rel=ACCURACY * (1 + 1e-6), abs=0.0)


@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_bins_are_in_the_order_of_their_values(one, other):
    low, high = sorted((one, other))
    assert bin_of(low) <= bin_of(high)
    assert abs(bin_of(high)) <= 20_725


@given(st.lists(VALUES, min_size=1, max_size=60), st.floats(0, 1))
def test_ranks_are_those_of_the_values(values, share):
    rank = max(ceil(share * len(values)), 1) - 1
    wanted = sorted(values)[rank]
    assert value_at(bins_of(values), rank) == pytest.approx(wanted, rel=ACCURACY * (1 + 1e-6), abs=0.0)


EXTREMES = [
    (SMALLEST / 2, 0.0),
    (-SMALLEST / 2, 0.0),
    (1e300, pytest.approx(LARGEST, rel=0.001)),
    (-1e300, pytest.approx(-LARGEST, rel=0.001)),
]


@pytest.mark.parametrize(("value", "wanted"), EXTREMES)
def test_values_out_of_range_lie_at_its_ends(value, wanted):
    assert value_at(bins_of([value]), 0) == wanted
