"""Outcomes: tests and intervals of shares against scipy, statsmodels and published examples."""

from fractions import Fraction
from functools import cache
from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.transforms.statistics.power import (
    detectable_difference,
    detectable_of_groups,
    fisher_power,
    mcnemar_power,
    needed_of_groups,
    needed_pairs,
)
from turnwise.transforms.statistics.tests import (
    Pairs,
    binomial_cdf,
    bounded_interval,
    cohens_h,
    difference_interval,
    exact_p,
    mcnemar,
    paired_interval,
    t_quantile,
    upper_share,
    upper_t,
    wilson_interval,
)

COUNTS = st.integers(0, 3000)
FEW = st.integers(0, 60)
RATES = st.floats(0.001, 0.999)


@given(COUNTS, COUNTS, RATES)
def test_the_binomial_distribution(stats, successes, more, rate):
    expected = stats.binom.cdf(successes, successes + more, rate)
    assert binomial_cdf(successes, successes + more, rate) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@given(st.floats(-30, 30), st.floats(1, 500), RATES)
def test_students_t(stats, value, freedom, share):
    assert upper_t(value, freedom) == pytest.approx(stats.t.sf(value, freedom), rel=1e-9, abs=1e-14)
    assert t_quantile(share, freedom) == pytest.approx(stats.t.ppf(share, freedom), rel=1e-8, abs=1e-8)


@given(COUNTS, COUNTS)
def test_mcnemar_is_the_binomial_test(stats, gained, lost):
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
def test_fishers_test(stats, passes, fails, base_passes, base_fails):
    if passes + fails and base_passes + base_fails:
        found = exact_p(passes, passes + fails, base_passes, base_passes + base_fails)
        expected = stats.fisher_exact([[passes, fails], [base_passes, base_fails]]).pvalue
        assert found == pytest.approx(expected, rel=1e-6)


def _rational_fisher(passes, count, base_passes, base_count):
    """Returns the p-value of Fisher's test in whole numbers, in which equally likely tables are equal."""
    together = passes + base_passes
    shown = range(max(0, together - base_count), min(count, together) + 1)
    chances = {k: comb(count, k) * comb(base_count, together - k) for k in shown}
    return Fraction(sum(c for c in chances.values() if c <= chances[passes]), sum(chances.values()))


def test_fishers_test_counts_tables_that_are_equally_likely():
    """Every table of two groups of up to 10: with rounded chances, 4 of 4 against 2 of 8 gives 0.030."""
    assert exact_p(4, 4, 2, 8) == pytest.approx(2 / 33) and exact_p(2, 8, 4, 4) == pytest.approx(2 / 33)
    for count, base_count in product(range(1, 11), repeat=2):
        for passes, base_passes in product(range(count + 1), range(base_count + 1)):
            table = passes, count, base_passes, base_count
            assert exact_p(*table) == pytest.approx(float(_rational_fisher(*table)), rel=1e-6), table


@pytest.mark.parametrize("sizes", [(4, 8), (8, 4), (3, 10), (12, 7)])
@pytest.mark.parametrize("alpha", [0.05])
def test_the_power_of_fishers_test_at_unequal_sizes(sizes, alpha):
    for low, difference in ((0.0, 0.9), (0.1, 0.7), (0.25, 0.5)):
        ends = (Fraction(low), Fraction(low + difference)), (Fraction(low + difference), Fraction(low))
        powers = [Fraction(0), Fraction(0)]
        for x, y in product(range(sizes[0] + 1), range(sizes[1] + 1)):
            if _rational_fisher(x, sizes[0], y, sizes[1]) <= Fraction(alpha):
                for i, (a, b) in enumerate(ends):
                    one = comb(sizes[0], x) * a**x * (1 - a) ** (sizes[0] - x)
                    powers[i] += one * comb(sizes[1], y) * b**y * (1 - b) ** (sizes[1] - y)
        found = fisher_power(difference, low + difference / 2, sizes, alpha)
        assert found == pytest.approx(float(min(powers)), rel=1e-6)


def test_mcnemars_test_in_whole_numbers():
    for gained, lost in product(range(13), repeat=2):
        tail = Fraction(
            sum(comb(gained + lost, k) for k in range(min(gained, lost) + 1)), 2 ** (gained + lost)
        )
        seen = Fraction(comb(gained + lost, gained), 2 ** (gained + lost))
        p, mid_p = mcnemar(gained, lost)
        assert p == pytest.approx(float(min(1, 2 * tail)))
        assert mid_p == pytest.approx(1.0 if gained == lost else float(2 * tail - seen))


@pytest.mark.parametrize("alpha", [0.05, 0.01])
def test_the_power_of_mcnemars_test(stats, alpha):
    for difference, discordant, count in ((0.3, 0.4, 25), (0.2, 0.2, 40), (0.5, 0.9, 12)):
        total = 0.0
        for m in range(count + 1):
            wins = [x for x in range(m + 1) if 2 * x > m and stats.binomtest(x, m).pvalue <= alpha]
            seen = stats.binom.pmf(wins, m, (1 + difference / discordant) / 2).sum()
            total += stats.binom.pmf(m, count, discordant) * seen
        assert mcnemar_power(difference, discordant, count, alpha) == pytest.approx(total, rel=1e-6)


@pytest.mark.parametrize("passes, count", [(0, 5), (1, 5), (4, 5), (5, 5), (3, 17), (40, 90)])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_the_exact_upper_bound_of_a_share(stats, passes, count, level):
    expected = stats.binomtest(passes, count).proportion_ci(level, "exact").high
    assert upper_share(passes, count, level) == pytest.approx(expected, abs=1e-8)


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


@cache
def _lower_ends(size):
    """Returns all tables of so many pairs, and the lower bound of each."""
    tables = [
        (both, gained, lost, size - both - gained - lost)
        for lost in range(size + 1)
        for gained in range(size + 1 - lost)
        for both in range(size + 1 - lost - gained)
    ]
    return np.array(tables), np.array([bounded_interval(Pairs(*own)).low for own in tables])


def _chance_of_not_worse(size, margin):
    """Returns the largest chance of a lower bound above -margin, of a version worse by the margin."""
    from scipy.special import gammaln, xlogy

    tables, lowest = _lower_ends(size)
    shown = tables[lowest > -margin]
    logs = gammaln(size + 1) - gammaln(shown + 1).sum(axis=1)
    largest = 0.0
    for differ in np.linspace(margin, 1, 15):
        for passes in np.linspace(0, 1, 9):
            same = 1 - differ
            shares = [same * passes, (differ - margin) / 2, (differ + margin) / 2, same * (1 - passes)]
            largest = max(largest, np.exp(logs + xlogy(shown, shares).sum(axis=1)).sum())
    return largest


@pytest.mark.parametrize("size", [20, 23, 30])
@pytest.mark.parametrize("margin", [0.02, 0.05, 0.1, 0.2])
def test_not_worse_is_hardly_ever_said_of_what_is_worse(packages_beside, size, margin):
    """From `FEWEST_ALIKE` pairs on, where 2.5 % are nominal; of 3 pairs it would be 11.8 %."""
    assert _chance_of_not_worse(size, margin) < 0.04


def test_pairs_that_are_alike_may_lose_as_much_as_the_exact_bound(stats):
    for size in (20, 100, 1000):
        exact = stats.beta.ppf(0.975, 1, size)
        assert bounded_interval(Pairs(size // 2, 0, 0, size // 2)) == pytest.approx((-exact, exact), abs=1e-6)


@pytest.mark.parametrize(
    "gained, lost, size, p, sees, needs",
    [(84, 73, 500, 0.425, 0.0697, 5085), (7, 4, 20, 0.549, 0.4552, 185), (10, 0, 20, 0.00195, 0.4314, 15)],
)
def test_what_a_comparison_of_pairs_shows(gained, lost, size, p, sees, needs):
    pairs = Pairs(size - gained - lost, gained, lost, 0)
    assert mcnemar(gained, lost).p == pytest.approx(p, abs=6e-4)
    assert detectable_difference(pairs.discordant, pairs.size) == pytest.approx(sees, abs=6e-4)
    assert needed_pairs(pairs.difference, pairs.discordant) == needs
    assert needed_pairs(0.0, pairs.discordant) is None


@pytest.mark.parametrize("size, sees", [(5, None), (6, 0.9635), (20, 0.3667), (60, 0.1287)])
def test_pairs_that_all_agree_could_have_shown_something_only_if_they_are_enough(size, sees):
    """An exact test of 5 cases is never below 0.05: 2 / 2^5 is more."""
    assert detectable_difference(0.0, size) == (sees and pytest.approx(sees, rel=2e-3))


@cache
def _rejecting(stats, size):
    """Returns how many of so many pairs that differ must be gains for scipy's test to reject."""
    return [x for x in range(size + 1) if 2 * x > size and stats.binomtest(x, size).pvalue <= 0.05]


def _exact_power(stats, difference, discordant, count):
    """Returns the power of scipy's binomial test, over all numbers of cases that differ."""
    psi = max(discordant, difference)
    total = 0.0
    for m in range(count + 1):
        seen = stats.binom.pmf(_rejecting(stats, m), m, (1 + difference / psi) / 2).sum()
        total += stats.binom.pmf(m, count, psi) * seen
    return total


@pytest.mark.parametrize("discordant, size", [(0.0, 60), (0.12, 50), (0.3, 90)])
def test_the_detectable_difference_has_a_power_of_four_fifths(stats, discordant, size):
    difference = detectable_difference(discordant, size)
    assert _exact_power(stats, difference, discordant, size) == pytest.approx(0.8, abs=3e-3)
    assert _exact_power(stats, difference - 0.01, discordant, size) < 0.8


@pytest.mark.parametrize("difference, discordant", [(0.1, 0.1), (7 / 21, 15 / 21), (-0.5, 0.5), (0.2, 0.4)])
def test_so_many_pairs_show_the_difference_and_hardly_fewer(stats, difference, discordant):
    needed = needed_pairs(difference, discordant)
    assert _exact_power(stats, abs(difference), discordant, needed) >= 0.8
    assert _exact_power(stats, abs(difference), discordant, round(0.95 * needed) - 1) < 0.8


def _fisher_power(stats, difference, low, sizes):
    tables = [
        (x, y)
        for x in range(sizes[0] + 1)
        for y in range(sizes[1] + 1)
        if stats.fisher_exact([[x, sizes[0] - x], [y, sizes[1] - y]]).pvalue <= 0.05
    ]
    x, y = np.transpose(tables)
    ends = (low, low + difference), (low + difference, low)
    return min((stats.binom.pmf(x, sizes[0], a) * stats.binom.pmf(y, sizes[1], b)).sum() for a, b in ends)


@pytest.mark.parametrize("pooled, sizes", [(0.0, (30, 30)), (0.8, (10, 25)), (1.0, (12, 8))])
def test_the_detectable_difference_of_groups_has_a_power_of_four_fifths(stats, pooled, sizes):
    found = detectable_of_groups(pooled, sizes)
    low = min(max(0.0, pooled - found / 2), 1 - found)
    assert _fisher_power(stats, found, low, sizes) == pytest.approx(0.8, abs=3e-3)


def test_groups_that_cannot_show_anything_say_so():
    assert detectable_of_groups(0.0, (3, 3)) is None
    assert detectable_of_groups(0.5, (201, 200)) == pytest.approx(
        detectable_of_groups(0.5, (200, 200)), rel=0.02
    )
    assert detectable_of_groups(0.0, (500, 500)) == pytest.approx(0.0158, abs=1e-4)


@pytest.mark.parametrize("a, b", [(0.6, 0.8), (0.4, 0.1), (0.5, 0.9)])
def test_so_many_cases_of_each_group_show_the_difference(a, b):
    needed = needed_of_groups(b - a, a * (1 - a) + b * (1 - b))
    assert fisher_power(abs(b - a), (a + b) / 2, (needed, needed), 0.05) == pytest.approx(0.8, abs=0.02)


def test_cohens_h():
    assert cohens_h(0.75, 0.5) == pytest.approx(0.5236, abs=1e-4)  # Cohen 1988: phi 2.094 - 1.571
    assert cohens_h(0.5, 0.75) == pytest.approx(-0.5236, abs=1e-4) and cohens_h(0.3, 0.3) == 0
