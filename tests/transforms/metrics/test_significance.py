from math import atan, pi, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.transforms.metrics.significance import (
    SampleMoments,
    incomplete_beta,
    lower_mean,
    lower_share,
    upper_t,
)

# Upper critical values of Student's t, from the table of the NIST/SEMATECH e-Handbook, 1.3.6.7.2.
CRITICAL = [
    (3.078, 1, 0.10),
    (6.314, 1, 0.05),
    (63.657, 1, 0.005),
    (318.313, 1, 0.001),
    (2.920, 2, 0.05),
    (2.015, 5, 0.05),
    (5.893, 5, 0.001),
    (1.812, 10, 0.05),
    (2.764, 10, 0.01),
    (2.086, 20, 0.025),
    (1.697, 30, 0.05),
    (2.660, 60, 0.005),
    (1.290, 100, 0.10),
    (3.174, 100, 0.001),
    (1.645, 1e7, 0.05),
]


@pytest.mark.parametrize(("t", "freedom", "share"), CRITICAL)
def test_tails_of_students_t(t, freedom, share):
    assert upper_t(t, freedom) == pytest.approx(share, rel=2e-3)
    assert upper_t(-t, freedom) == pytest.approx(1 - share, rel=2e-3)


@given(st.floats(-1e6, 1e6))
def test_one_and_two_degrees_of_freedom_have_closed_forms(t):
    assert upper_t(t, 1) == pytest.approx(0.5 - atan(t) / pi, abs=1e-12)
    assert upper_t(t, 2) == pytest.approx(0.5 - t / (2 * sqrt(2 + t * t)), abs=1e-12)


@given(st.floats(0.1, 1000), st.floats(0.1, 1000), st.floats(0, 1))
def test_the_incomplete_beta_function_is_symmetrical(a, b, x):
    one, other = incomplete_beta(a, b, x, 1 - x), incomplete_beta(b, a, 1 - x, x)
    assert 0 <= one <= 1 + 1e-12
    assert one + other == pytest.approx(1, abs=1e-9)


# I_x(a, b) in closed form: x^a for b = 1; 1 - (1 - x)^b for a = 1; the binomial tail for whole numbers.
BETA = [(3, 1, 0.4, 0.064), (1, 3, 0.4, 0.784), (2, 2, 0.5, 0.5), (2, 3, 0.5, 0.6875), (0.5, 0.5, 0.5, 0.5)]


@pytest.mark.parametrize(("a", "b", "x", "wanted"), BETA)
def test_the_incomplete_beta_function(a, b, x, wanted):
    assert incomplete_beta(a, b, x, 1 - x) == pytest.approx(wanted, rel=1e-12)


def test_the_ends():
    assert [upper_t(t, 4) for t in (float("inf"), float("-inf"), 0.0)] == [0.0, 1.0, 0.5]
    assert upper_t(1e200, 4) == 0.0


def test_welchs_t_test():
    # t = 1.58114 with 8 degrees of freedom lies between the table's 0.10 (1.397) and 0.05 (1.860)
    now, before = SampleMoments(5, 2.0, 1.0), SampleMoments(5, 3.0, 1.0)
    assert lower_mean(now, before) == pytest.approx(upper_t(1.5811388, 8), rel=1e-6)
    assert 0.05 < lower_mean(now, before) < 0.10
    assert lower_mean(before, now) == pytest.approx(1 - lower_mean(now, before))


def test_welchs_degrees_of_freedom():
    # variances 4 of 10 and 1 of 5 values: (0.4 + 0.2)^2 / (0.16 / 9 + 0.04 / 4) = 12.96
    now, before = SampleMoments(10, 0.0, 4.0), SampleMoments(5, 1.0, 1.0)
    assert lower_mean(now, before) == pytest.approx(upper_t(1 / sqrt(0.6), 12.96), rel=1e-9)


CONSTANT = [(0.9, 1.0, 0.0), (1.0, 1.0, 1.0), (1.0, 0.9, 1.0)]


@pytest.mark.parametrize(("now", "before", "wanted"), CONSTANT)
def test_samples_that_do_not_vary(now, before, wanted):
    assert lower_mean(SampleMoments(20, now, 0.0), SampleMoments(20, before, 0.0)) == wanted


# z = (p2 - p1) / sqrt(p (1 - p) (1/n1 + 1/n2)); normal tails of 1.6449, 1.96 and 2.3263
SHARES = [
    (50, 100, 50, 100, 0.5),
    (40, 100, 50, 100, 0.07756),
    (30, 100, 50, 100, 0.00195),
    (50, 100, 30, 100, 1 - 0.00195),
    (0, 20, 20, 20, 1.27e-10),
    (20, 20, 20, 20, 1.0),
    (0, 20, 0, 20, 1.0),
]


@pytest.mark.parametrize(("passes", "count", "base_passes", "base_count", "wanted"), SHARES)
def test_two_proportions(passes, count, base_passes, base_count, wanted):
    assert lower_share(passes, count, base_passes, base_count) == pytest.approx(wanted, rel=3e-3)


@given(st.integers(1, 500), st.integers(1, 500), st.data())
def test_a_share_is_lower_or_the_other_one_is(count, base_count, data):
    passes, base = data.draw(st.integers(0, count)), data.draw(st.integers(0, base_count))
    one, other = lower_share(passes, count, base, base_count), lower_share(base, base_count, passes, count)
    assert 0 <= one <= 1
    if 0 < passes + base < count + base_count:
        assert one + other == pytest.approx(1)
