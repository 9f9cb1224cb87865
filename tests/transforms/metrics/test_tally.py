from math import ceil
from statistics import stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.transforms.metrics.state import ACCURACY, LARGEST, SMALLEST, Tally
from turnwise.transforms.statistics.tests import wilson_interval


def test_no_trial_has_no_interval():
    assert wilson_interval(0, 0) is None


VALUES = st.none() | st.floats(0.001, 1000.0)
SCORES = st.lists(st.tuples(VALUES, st.sampled_from(["PASS", "FAIL", "SKIPPED", None])), max_size=30)


def tally(scores, with_quantiles=True):
    made = Tally()
    for value, outcome in scores:
        made.add(value, outcome, with_quantiles)
    return made


def counts(made):
    return made.scored, made.no_score, made.errors, made.passes, made.fails


def test_merging_leaves_the_other_side_alone():
    one, other = Tally(), tally([(1.0, "PASS")] * 3)
    one.merge(other)
    one.add(1000.0, "FAIL", True)
    assert counts(other) == (3, 0, 0, 3, 0)
    assert other.quantile(1.0) == pytest.approx(1.0, rel=0.002)
    other.add(5000.0, None, True)
    assert one.quantile(1.0) == pytest.approx(1000.0, rel=0.002)


@given(SCORES)
def test_sums_and_counts_are_those_of_the_scores(scores):
    made = tally(scores)
    values = [value for value, _ in scores if value is not None]
    assert made.scored == len(values)
    assert made.no_score == len(scores) - len(values)
    assert made.passes == sum(outcome == "PASS" for _, outcome in scores)
    assert made.fails == sum(outcome == "FAIL" for _, outcome in scores)
    assert made.mean == (pytest.approx(sum(values) / len(values)) if values else None)
    if len(values) < 2:
        assert made.stddev is None
    else:
        assert made.stddev == pytest.approx(stdev(values), rel=1e-6, abs=1e-3)


@given(st.lists(st.floats(0.0, 1.0), max_size=8), st.integers(0, 8))
def test_the_coverage_bounds_hold_whatever_is_missing_would_have_been(values, no_score):
    made = tally([*[(value, None) for value in values], *[(None, None)] * no_score])
    low, high = made.mean_if_missing(0.0), made.mean_if_missing(1.0)
    if not values and not no_score:
        assert (low, high) == (None, None)
        return
    assert low <= high
    for guess in (0.0, 0.3, 1.0):
        filled = sum(values) + guess * no_score
        assert low - 1e-9 <= filled / (len(values) + no_score) <= high + 1e-9
    if values and not no_score:
        assert low == high == made.mean
    if not values:
        assert (low, high) == (0.0, 1.0)


SIZES = st.floats(SMALLEST, LARGEST)
BINNED = st.one_of(SIZES, SIZES.map(lambda size: -size), st.just(0.0))


@given(st.lists(BINNED, min_size=1, max_size=200), st.floats(0, 1) | st.sampled_from([0.5, 0.9, 0.99]))
def test_quantiles_are_near_the_values_of_their_ranks(values, share):
    found = tally([(value, None) for value in values]).quantile(share)
    nearest = sorted(values)[max(ceil(share * len(values)), 1) - 1]
    assert found == pytest.approx(nearest, rel=ACCURACY * (1 + 1e-6), abs=0.0)


def test_without_a_sketch_there_is_no_quantile():
    assert tally([(1.0, None)], with_quantiles=False).quantile(0.5) is None
    assert tally([(None, None)]).quantile(0.5) is None


@pytest.mark.parametrize("value", [0.1, 0.001, 1 / 3, 1e-9, 1e9, 123456.789, -0.7])
def test_equal_values_have_themselves_as_mean_and_do_not_spread(value):
    made = tally([(value, None)] * 7)
    assert (made.mean, made.stddev) == (value, 0.0)


def test_values_without_measure_are_cut_off():
    made = tally([(1e300, None), (-1e300, None), (1e15, None)])
    assert made.mean == pytest.approx(1e15 / 3)
    assert tally([(1e300, None)]).mean == 1e15 and tally([(-1e20, None)]).mean == -1e15


@pytest.mark.parametrize(("value", "wanted"), [(SMALLEST / 2, 0.0), (1e300, LARGEST)])
def test_values_out_of_range_lie_at_its_ends(value, wanted):
    for sign in (1, -1):
        made = tally([(sign * value, None)] * 2)
        assert made.quantile(0.5) == pytest.approx(sign * wanted, rel=0.001, abs=0)
        assert made.sketch.keys() <= set(range(-20_725, 20_726)), "few bins hold all that there is"
