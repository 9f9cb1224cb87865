"""Outcomes: tests and intervals of shares against scipy, statsmodels and published examples."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from turnwise.transforms.statistics.distributions import binomial_cdf, t_quantile, upper_t
from turnwise.transforms.statistics.effects import cohens_h
from turnwise.transforms.statistics.paired import Pairs, mcnemar, paired_interval
from turnwise.transforms.statistics.power import detectable_difference, needed_pairs
from turnwise.transforms.statistics.proportions import difference_interval, exact_p, wilson_interval

COUNTS = st.integers(0, 3000)
FEW = st.integers(0, 60)
RATES = st.floats(0.001, 0.999)


@given(COUNTS, COUNTS, RATES)
def test_the_binomial_distribution(successes, more, rate):
    expected = stats.binom.cdf(successes, successes + more, rate)
    assert binomial_cdf(successes, successes + more, rate) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@given(st.floats(-30, 30), st.floats(1, 500), RATES)
def test_students_t(value, freedom, share):
    assert upper_t(value, freedom) == pytest.approx(stats.t.sf(value, freedom), rel=1e-9, abs=1e-14)
    assert t_quantile(share, freedom) == pytest.approx(stats.t.ppf(share, freedom), rel=1e-8, abs=1e-8)


def test_the_ends_of_students_t():
    assert [upper_t(t, 4) for t in (float("inf"), float("-inf"), 0.0)] == [0.0, 1.0, 0.5]
    assert upper_t(1e200, 4) == 0.0


@given(COUNTS, COUNTS)
def test_mcnemar_is_the_binomial_test(gained, lost):
    found = mcnemar(gained, lost)
    if gained + lost:
        expected = stats.binomtest(gained, gained + lost).pvalue
        assert found.p == pytest.approx(expected, rel=1e-8, abs=1e-14)
    assert found == mcnemar(lost, gained) and found.mid_p <= found.p <= 1


def test_intervals_of_shares(packages_beside):
    from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

    generator = np.random.default_rng(0)
    for _ in range(300):
        count, base_count = (int(n) for n in generator.integers(1, 3000, 2))
        passes, base_passes = int(generator.integers(count + 1)), int(generator.integers(base_count + 1))
        own = wilson_interval(passes, count)
        assert own == pytest.approx(proportion_confint(passes, count, method="wilson"), abs=1e-12)
        found = difference_interval(passes, count, base_passes, base_count)
        expected = confint_proportions_2indep(passes, count, base_passes, base_count, method="newcomb")
        assert found == pytest.approx(expected, abs=1e-9)


@given(FEW, FEW, FEW, FEW)
def test_fishers_test(passes, fails, base_passes, base_fails):
    if passes + fails and base_passes + base_fails:
        found = exact_p(passes, passes + fails, base_passes, base_passes + base_fails)
        expected = stats.fisher_exact([[passes, fails], [base_passes, base_fails]]).pvalue
        assert found == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    "table, expected",
    [
        ((36, 12, 2, 0), (0.0569, 0.3404)),  # Newcombe 1998, table II
        ((53, 0, 0, 1), (-0.0729, 0.0729)),
        ((0, 0, 0, 7), (-0.3543, 0.3543)),
    ],
)
def test_the_interval_of_paired_shares(table, expected):
    both, gained, lost, neither = table
    found = paired_interval(Pairs(both, gained, lost, neither))
    assert found == pytest.approx(expected, abs=6e-5)
    turned = paired_interval(Pairs(both, lost, gained, neither))
    assert turned == pytest.approx((-found.high, -found.low), abs=1e-12)


@pytest.mark.parametrize(
    "gained, lost, size, p, sees, needs",
    [(84, 73, 500, 0.425, 0.0697, 5085), (7, 4, 20, 0.549, 0.3937, 185), (10, 0, 20, 0.00195, 0.3754, 8)],
)
def test_what_a_comparison_of_pairs_shows(gained, lost, size, p, sees, needs):
    pairs = Pairs(size - gained - lost, gained, lost, 0)
    assert mcnemar(gained, lost).p == pytest.approx(p, abs=6e-4)
    assert detectable_difference(pairs.discordant, pairs.size) == pytest.approx(sees, abs=6e-4)
    assert needed_pairs(pairs.difference, pairs.discordant) == needs
    assert needed_pairs(0.0, pairs.discordant) is None


@pytest.mark.parametrize("size, sees", [(5, None), (6, 1.0), (20, 0.3), (600, 0.01)])
def test_pairs_that_all_agree_could_have_shown_something_only_if_they_are_enough(size, sees):
    """An exact test of 5 cases is never below 0.05: 2 / 2^5 is more."""
    assert detectable_difference(0.0, size) == sees


def test_the_detectable_difference_is_seen_in_four_of_five_trials():
    generator, size, discordant = np.random.default_rng(0), 300, 0.3
    difference = detectable_difference(discordant, size)
    chances = [(discordant + difference) / 2, (discordant - difference) / 2, 1 - discordant]
    tables = generator.multinomial(size, chances, size=1000)
    seen = sum(mcnemar(int(gained), int(lost)).p < 0.05 for gained, lost, _ in tables)
    assert 0.74 <= seen / 1000 <= 0.84


def test_cohens_h():
    assert cohens_h(0.75, 0.5) == pytest.approx(0.5236, abs=1e-4)  # Cohen 1988: phi 2.094 - 1.571
    assert cohens_h(0.5, 0.75) == pytest.approx(-0.5236, abs=1e-4) and cohens_h(0.3, 0.3) == 0
