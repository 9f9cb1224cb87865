"""Tests and intervals of shares and means: against scipy, statsmodels, whole numbers and published ones."""

import math
from fractions import Fraction
from functools import cache
from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.false_alarms import alarmed_streams
from tests.tables import stated
from turnwise.schemas.comparison import Bounds
from turnwise.transforms.statistics import power, resampling, tests

COUNTS = st.integers(0, 3000)
FEW = st.integers(0, 60)
RATES = st.floats(0.001, 0.999)


@given(COUNTS, COUNTS, RATES)
def test_the_binomial_distribution(stats, successes, more, rate):
    expected = stats.binom.cdf(successes, successes + more, rate)
    assert tests.binomial_cdf(successes, successes + more, rate) == pytest.approx(
        expected, rel=1e-9, abs=1e-12
    )


@given(st.floats(-30, 30), st.floats(1, 500), RATES)
def test_students_t(stats, value, freedom, share):
    value = round(value, 6)  # scipy takes what is much nearer to 0 for 0
    assert tests.upper_t(value, freedom) == pytest.approx(stats.t.sf(value, freedom), rel=1e-9, abs=1e-14)
    assert tests.t_quantile(share, freedom) == pytest.approx(stats.t.ppf(share, freedom), rel=1e-8, abs=1e-8)


def test_intervals_of_shares(packages_beside):
    from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

    generator = np.random.default_rng(0)
    for _ in range(300):
        count, base_count = (int(n) for n in generator.integers(1, 3000, 2))
        passes, base_passes = int(generator.integers(count + 1)), int(generator.integers(base_count + 1))
        own = tests.wilson_interval(passes, count)
        assert (*own,) == pytest.approx(proportion_confint(passes, count, method="wilson"), abs=1e-12)
        found = tests.difference_interval(passes, count, base_passes, base_count)
        expected = confint_proportions_2indep(passes, count, base_passes, base_count, method="newcomb")
        assert (*found,) == pytest.approx(expected, abs=1e-9)


@given(FEW, FEW, FEW, FEW)
def test_fishers_test(stats, passes, fails, base_passes, base_fails):
    if passes + fails and base_passes + base_fails:
        found = tests.exact_p(passes, passes + fails, base_passes, base_passes + base_fails)
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
    assert tests.exact_p(4, 4, 2, 8) == pytest.approx(2 / 33) and tests.exact_p(2, 8, 4, 4) == pytest.approx(
        2 / 33
    )
    for count, base_count in product(range(1, 11), repeat=2):
        for passes, base_passes in product(range(count + 1), range(base_count + 1)):
            table = passes, count, base_passes, base_count
            assert tests.exact_p(*table) == pytest.approx(float(_rational_fisher(*table)), rel=1e-6), table


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
        found = power.fisher_power(difference, low + difference / 2, sizes, alpha)
        assert found == pytest.approx(float(min(powers)), rel=1e-6)


def test_mcnemars_test_in_whole_numbers():
    for fixed, regressed in [*product(range(13), repeat=2), (900, 1000), (2000, 3), (1500, 1500)]:
        chances = [comb(fixed + regressed, k) for k in range(min(fixed, regressed) + 1)]
        tail, seen = (Fraction(own, 2 ** (fixed + regressed)) for own in (sum(chances), chances[-1]))
        p, mid_p = tests.mcnemar(fixed, regressed)
        assert p == pytest.approx(float(min(1, 2 * tail)))
        assert mid_p == pytest.approx(1.0 if fixed == regressed else float(2 * tail - seen))


@cache
def _rejecting(stats, size, alpha):
    """Returns how many of so many pairs that differ must be gains for scipy's test to reject."""
    return [x for x in range(size + 1) if 2 * x > size and stats.binomtest(x, size).pvalue <= alpha]


def _exact_power(stats, difference, discordant, count, alpha=0.05):
    """Returns the power of scipy's binomial test, over all numbers of cases that differ."""
    psi = max(discordant, difference)
    total = 0.0
    for m in range(count + 1):
        seen = stats.binom.pmf(_rejecting(stats, m, alpha), m, (1 + difference / psi) / 2).sum()
        total += stats.binom.pmf(m, count, psi) * seen
    return total


@pytest.mark.parametrize("alpha", [0.05, 0.01])
def test_the_power_of_mcnemars_test(stats, alpha):
    for own in ((0.3, 0.4, 25), (0.2, 0.2, 40), (0.5, 0.9, 12)):
        assert power.mcnemar_power(*own, alpha) == pytest.approx(_exact_power(stats, *own, alpha), rel=1e-6)


@pytest.mark.parametrize("passes, count", [(0, 5), (1, 5), (4, 5), (5, 5), (3, 17), (40, 90)])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_the_exact_upper_bound_of_a_share(stats, passes, count, level):
    expected = stats.binomtest(passes, count).proportion_ci(level, "exact").high
    assert tests.upper_share(passes, count, level) == pytest.approx(expected, abs=1e-8)


@stated("paired", "table, expected")
def test_the_interval_of_paired_shares(table, expected):
    both, fixed, regressed, neither = table
    found = tests.paired_interval(tests.Pairs(both, fixed, regressed, neither))
    assert (*found,) == pytest.approx(expected, abs=6e-5)
    turned = tests.paired_interval(tests.Pairs(both, regressed, fixed, neither))
    assert (*turned,) == pytest.approx((-found.high, -found.low), abs=1e-12)


@cache
def _lower_ends(size):
    """Returns all tables of so many pairs, and the lower bound of each."""
    tables = [
        (both, fixed, regressed, size - both - fixed - regressed)
        for regressed in range(size + 1)
        for fixed in range(size + 1 - regressed)
        for both in range(size + 1 - regressed - fixed)
    ]
    return np.array(tables), np.array([tests.bounded_interval(tests.Pairs(*own)).low for own in tables])


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
        found = tests.bounded_interval(tests.Pairs(size // 2, 0, 0, size // 2))
        assert (*found,) == pytest.approx((-exact, exact), abs=1e-6)


@stated("shown", "fixed, regressed, size, p, sees, needs")
def test_what_a_comparison_of_pairs_shows(fixed, regressed, size, p, sees, needs):
    pairs = tests.Pairs(size - fixed - regressed, fixed, regressed, 0)
    assert tests.mcnemar(fixed, regressed)[0] == pytest.approx(p, abs=6e-4)
    assert power.detectable_difference(pairs.discordant, pairs.size) == pytest.approx(sees, abs=6e-4)
    assert power.needed_pairs(pairs.difference, pairs.discordant) == needs
    assert power.needed_pairs(0.0, pairs.discordant) is None


@pytest.mark.parametrize("size, sees", [(5, None), (6, 0.9635), (20, 0.3667), (60, 0.1287)])
def test_pairs_that_all_agree_could_have_shown_something_only_if_they_are_enough(size, sees):
    """An exact test of 5 cases is never below 0.05: 2 / 2^5 is more."""
    assert power.detectable_difference(0.0, size) == (sees and pytest.approx(sees, rel=2e-3))


@pytest.mark.parametrize("discordant, size", [(0.0, 60), (0.12, 50), (0.3, 90)])
def test_the_detectable_difference_has_a_power_of_four_fifths(stats, discordant, size):
    difference = power.detectable_difference(discordant, size)
    assert _exact_power(stats, difference, discordant, size) == pytest.approx(0.8, abs=3e-3)
    assert _exact_power(stats, difference - 0.01, discordant, size) < 0.8


@pytest.mark.parametrize("difference, discordant", [(0.1, 0.1), (7 / 21, 15 / 21), (-0.5, 0.5), (0.2, 0.4)])
def test_so_many_pairs_show_the_difference_and_hardly_fewer(stats, difference, discordant):
    needed = power.needed_pairs(difference, discordant)
    assert _exact_power(stats, abs(difference), discordant, needed) >= 0.8
    assert _exact_power(stats, abs(difference), discordant, round(0.95 * needed) - 1) < 0.8


@pytest.mark.parametrize("pooled, sizes", [(0.0, (30, 30)), (0.8, (10, 25)), (1.0, (12, 8))])
def test_the_detectable_difference_of_groups_has_a_power_of_four_fifths(pooled, sizes):
    found = power.detectable_of_groups(pooled, sizes)
    low = min(max(0.0, pooled - found / 2), 1 - found)
    assert power.fisher_power(found, low + found / 2, sizes, 0.05) == pytest.approx(0.8, abs=3e-3)


def test_groups_that_cannot_show_anything_say_so():
    assert power.detectable_of_groups(0.0, (3, 3)) is None
    assert power.detectable_of_groups(0.5, (201, 200)) == pytest.approx(
        power.detectable_of_groups(0.5, (200, 200)), rel=0.02
    )
    assert power.detectable_of_groups(0.0, (500, 500)) == pytest.approx(0.0158, abs=1e-4)
    # 2.8016 sqrt(0.25 (1 / 100 + 1 / 900)) + (1 / 100 + 1 / 900) / 2, whichever group is the smaller one.
    for sizes in ((100, 900), (900, 100)):
        assert power.detectable_of_groups(0.5, sizes) == pytest.approx(0.1532, abs=1e-4)


@pytest.mark.parametrize("a, b", [(0.6, 0.8), (0.4, 0.1), (0.5, 0.9)])
def test_so_many_cases_of_each_group_show_the_difference(a, b):
    needed = power.needed_of_groups(b - a, a * (1 - a) + b * (1 - b))
    assert power.fisher_power(abs(b - a), (a + b) / 2, (needed, needed), 0.05) == pytest.approx(0.8, abs=0.02)


def test_cohens_h():
    assert tests.cohens_h(0.75, 0.5) == pytest.approx(0.5236, abs=1e-4)  # Cohen 1988: phi 2.094 - 1.571
    assert tests.cohens_h(0.5, 0.75) == pytest.approx(-0.5236, abs=1e-4) and tests.cohens_h(0.3, 0.3) == 0


def named(values):
    return {f"case {i:03}": float(value) for i, value in enumerate(values)}


@given(st.lists(st.floats(-1e9, 1e9), min_size=1), st.floats(0, 1))
def test_interpolated_quantiles_are_numpys(values, share):
    assert resampling.interpolated_quantile(np.sort(values), share) == np.quantile(values, share)


def test_means_of_two_groups_are_welchs(stats):
    generator = np.random.default_rng(3)
    own, base = generator.normal(0, 1, 20), generator.normal(0.7, 2, 31)
    moments = [tests.SampleMoments(len(x), float(x.mean()), float(x.var(ddof=1))) for x in (own, base)]
    expected = stats.ttest_ind(own, base, equal_var=False)
    assert tests.mean_difference_p(*moments) == pytest.approx(expected.pvalue, rel=1e-9)
    assert (*tests.mean_difference_interval(*moments),) == pytest.approx(
        tuple(expected.confidence_interval()), rel=1e-9
    )
    bounds = stats.ttest_1samp(own, 0).confidence_interval()
    assert (*tests.mean_interval(moments[0]),) == pytest.approx(tuple(bounds), rel=1e-9)
    less = stats.ttest_ind(own, base, equal_var=False, alternative="less")
    assert tests.lower_mean(*moments) == pytest.approx(less.pvalue, rel=1e-9)


CONSTANT = [(0.9, 1.0, 0.0), (1.0, 1.0, 1.0), (1.0, 0.9, 1.0)]


@pytest.mark.parametrize(("now", "before", "wanted"), CONSTANT)
def test_groups_that_do_not_vary(now, before, wanted):
    assert tests.lower_mean(tests.SampleMoments(20, now, 0.0), tests.SampleMoments(20, before, 0.0)) == wanted


def test_adjusted_p_values(packages_beside):
    from statsmodels.stats.multitest import multipletests

    generator = np.random.default_rng(0)
    for size in (1, 2, 5, 30):
        p_values = [float(p) for p in np.round(generator.random(size) ** 3, 3)]
        for adjust, method in ((tests.holm, "holm"), (tests.benjamini_hochberg, "fdr_bh")):
            expected = multipletests(p_values, method=method)[1]
            assert adjust(p_values) == pytest.approx(list(expected), abs=1e-12)
    assert tests.holm([]) == [] == tests.benjamini_hochberg([])


def test_the_bootstrap_is_scipys_within_its_noise(stats):
    values = np.random.default_rng(2).exponential(size=40)
    for level in (0.95, 0.9):
        how = {"n_resamples": 20_000, "method": "BCa", "rng": np.random.default_rng(0)}
        expected = stats.bootstrap((values,), np.mean, confidence_level=level, **how).confidence_interval
        found = resampling.CaseMeans(named(values), 5).interval(level)
        assert (*found,) == pytest.approx((expected.low, expected.high), abs=0.01)
    assert (
        resampling.CaseMeans(named(values), 5).interval() != resampling.CaseMeans(named(values), 6).interval()
    )


def test_few_cases_have_students_interval(stats):
    values = np.random.default_rng(1).normal(size=7)
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.9)
    assert (*resampling.CaseMeans(named(values), 1).interval(0.9),) == pytest.approx(
        tuple(expected), rel=1e-9
    )


@pytest.mark.parametrize("values", [[0.1] * 9, [0.5]])
def test_values_that_do_not_vary_have_no_interval(values):
    """No spread was seen, which is not the same as that there is none."""
    assert resampling.CaseMeans(named(values), 1).interval() is None


@pytest.mark.parametrize("size", [8, 30])
def test_permutations_agree_with_scipy(stats, size):
    differences = np.random.default_rng(2).normal(0.3, 1, size)
    expected = stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=20_000, rng=np.random.default_rng(0)
    ).pvalue
    assert resampling.sign_flip_p(named(differences), 1) == pytest.approx(
        expected, abs=0.02 if size > 13 else 1e-9
    )


@pytest.mark.parametrize("tenths", [(1, 2, 3), (1, 1, 1, 1, 4), (1, 2, 3, 4, 5, -6), (1, -1)])
def test_exchanges_that_are_equally_far_from_zero_count(tenths):
    """0.1 + 0.2 is more than 0.3: sums are compared in whole numbers here."""
    sums = [sum(sign * own for sign, own in zip(signs, tenths, strict=True))
            for signs in product((1, -1), repeat=len(tenths))]  # fmt: skip
    expected = sum(abs(own) >= abs(sum(tenths)) for own in sums) / len(sums)
    for order in (tenths, tenths[::-1]):
        assert resampling.sign_flip_p(named([own / 10 for own in order]), 1) == expected


def test_beyond_all_exchanges_a_difference_is_never_certain():
    """All 40 differ alike, and hardly any of 10,000 exchanges does: that is 1 of 10,001, not 0."""
    assert resampling.sign_flip_p(named([1.0] * 40), 1) == 1 / 10_001


def test_permutations_where_nothing_differs():
    assert resampling.sign_flip_p({}, 1) == 1.0 == resampling.sign_flip_p({"a": 0.0, "b": 0.0}, 1)


def test_draws_depend_on_seed_and_case_alone():
    values = named(np.random.default_rng(1).exponential(size=30))
    turned = dict(reversed(values.items()))
    assert resampling.CaseMeans(values, 5).interval() == resampling.CaseMeans(turned, 5).interval()
    assert resampling.sign_flip_p(values, 5) == resampling.sign_flip_p(turned, 5)
    first = resampling.resampling_weights(7, "case", 1000)
    assert (
        list(first)
        == list(resampling.resampling_weights(7, "case", 1000))
        != list(resampling.resampling_weights(7, "c", 1000))
    )
    # A known answer: the same on every machine and in every version of numpy.
    assert list(first[:12]) == [0, 3, 1, 0, 0, 1, 2, 2, 1, 2, 2, 0]
    assert resampling.generator_of(7, "case").integers(1000) != resampling.generator_of(8, "case").integers(
        1000
    )


def test_what_a_mean_needs():
    """Connor's formula for shares is that of a mean with the variance of the outcomes' differences."""
    assert power.needed_cases(0.022, 157 / 500 - 0.022**2) == 5085
    assert power.needed_cases(0.0, 1.0) is None is power.needed_cases(-1.9e-17, 0.7)
    assert power.needed_cases(1.0, 0.0) == 6 == power.needed_cases(1e-200, 0.0)
    assert power.detectable_mean(0.1) == pytest.approx(0.2802, abs=1e-4)
    assert tests.standardised(1.0, 4.0) == 0.5 and tests.standardised(1.0, 0.0) is None


@stated("word", "difference, p, interval, equivalence, expected")
def test_words(difference, p, interval, equivalence, expected):
    assert tests.word(difference, p, Bounds(*interval), Bounds(*equivalence), margin=0.02) == expected


@pytest.mark.parametrize("measure, rate", [("pass_rate", 0.97), ("mean", 0.8)])
def test_looking_often_alarms_falsely_in_few_streams(measure, rate):
    found = alarmed_streams(measure, rate, streams=100, windows=12)
    assert found.sequential <= 5 < 30 < found.fixed, "of 100 streams without any change"


def test_a_year_of_nights_alarms_falsely_in_few_rows_of_nights_and_a_loss_alarms():
    found = alarmed_streams("pass_rate", 0.9, streams=60, windows=365, panes=1)
    assert found.sequential <= 3 < 60 == found.fixed, "level 5 %, of 60 rows without any change"
    lost = alarmed_streams("pass_rate", 0.9, streams=20, windows=365, drop=0.4, panes=1)
    assert lost.sequential == 20


def test_a_drop_is_found():
    lower, same = tests.share_evidence(140, 200, 180, 200), tests.share_evidence(180, 200, 180, 200)
    assert tests.always_valid_p(lower, 10) < 0.01 and tests.always_valid_p(same, 1) == 1.0
    assert tests.always_valid_p(lower, 10) == pytest.approx(tests.always_valid_p(lower, 1) * 55)
    assert tests.share_evidence(200, 200, 180, 200) < 0 == max(0.0, same)
    base, below = tests.SampleMoments(200, 0.9, 0.04), tests.SampleMoments(200, 0.8, 0.04)
    assert tests.always_valid_p(tests.mean_evidence(below, base), 10) < 0.01
    assert tests.mean_evidence(base, below) < 0


def test_groups_that_do_not_vary_are_compared_as_shares():
    none, every = tests.SampleMoments(9, 0.2, 0.0), tests.SampleMoments(9, 0.8, 0.0)
    assert tests.mean_evidence(none, every) == tests.share_evidence(0, 9, 9, 9) > 0
    assert tests.mean_evidence(every, none) == tests.share_evidence(9, 9, 9, 9) < 0
    assert math.isfinite(
        tests.mean_evidence(tests.SampleMoments(3, -1e9, 1e-9), tests.SampleMoments(3, 1e9, 1e-9))
    )
