"""The statistics against scipy and statsmodels, published examples, and their laws."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.inter_rater import cohens_kappa as oracle_kappa
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from turnwise.transforms.statistics.agreement import Confusion, cohens_kappa, krippendorffs_alpha
from turnwise.transforms.statistics.corrected import corrected_mean, corrected_rate
from turnwise.transforms.statistics.decision import Evidence, word
from turnwise.transforms.statistics.distributions import binomial_cdf, t_quantile, upper_t
from turnwise.transforms.statistics.interval import Interval
from turnwise.transforms.statistics.means import (
    SampleMoments,
    lower_mean,
    mean_difference_interval,
    mean_difference_p,
)
from turnwise.transforms.statistics.multiplicity import benjamini_hochberg, holm
from turnwise.transforms.statistics.paired import (
    Pairs,
    detectable_difference,
    mcnemar,
    needed_pairs,
    paired_interval,
)
from turnwise.transforms.statistics.proportions import difference_interval, wilson_interval
from turnwise.transforms.statistics.resampling import (
    bca_interval,
    resampling_seed,
    sign_flip_p,
    within_case_p,
)
from turnwise.transforms.statistics.sequential import mean_evidence, needed_evidence, share_evidence

COUNTS = st.integers(0, 3000)
RATES = st.floats(0.001, 0.999)


@given(COUNTS, COUNTS, RATES)
def test_the_binomial_distribution(successes, more, rate):
    expected = stats.binom.cdf(successes, successes + more, rate)
    assert binomial_cdf(successes, successes + more, rate) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@given(st.floats(-30, 30), st.floats(1, 500), RATES)
def test_students_t(value, freedom, share):
    assert upper_t(value, freedom) == pytest.approx(stats.t.sf(value, freedom), rel=1e-9, abs=1e-14)
    assert t_quantile(share, freedom) == pytest.approx(stats.t.ppf(share, freedom), rel=1e-8, abs=1e-8)


@given(COUNTS, COUNTS)
def test_mcnemar_is_the_binomial_test(gained, lost):
    found = mcnemar(gained, lost)
    if gained + lost:
        expected = stats.binomtest(gained, gained + lost).pvalue
        assert found.p == pytest.approx(expected, rel=1e-8, abs=1e-14)
    assert found == mcnemar(lost, gained) and found.mid_p <= found.p <= 1


@given(COUNTS, st.integers(1, 3000), COUNTS, st.integers(1, 3000))
def test_shares_of_two_groups(passes, fails, base_passes, base_fails):
    count, base_count = passes + fails, base_passes + base_fails
    own = wilson_interval(passes, count)
    assert own == pytest.approx(proportion_confint(passes, count, method="wilson"), abs=1e-12)
    found = difference_interval(passes, count, base_passes, base_count)
    expected = confint_proportions_2indep(passes, count, base_passes, base_count, method="newcomb")
    assert found == pytest.approx(expected, abs=1e-9)


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


def test_means_of_two_groups_are_welchs():
    generator = np.random.default_rng(3)
    own, base = generator.normal(0, 1, 20), generator.normal(0.7, 2, 31)
    moments = [SampleMoments(len(x), float(x.mean()), float(x.var(ddof=1))) for x in (own, base)]
    expected = stats.ttest_ind(own, base, equal_var=False)
    assert mean_difference_p(*moments) == pytest.approx(expected.pvalue, rel=1e-9)
    assert mean_difference_interval(*moments) == pytest.approx(
        tuple(expected.confidence_interval()), rel=1e-9
    )
    less = stats.ttest_ind(own, base, equal_var=False, alternative="less")
    assert lower_mean(*moments) == pytest.approx(less.pvalue, rel=1e-9)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_adjusted_p_values(p_values):
    for adjust, method in ((holm, "holm"), (benjamini_hochberg, "fdr_bh")):
        expected = multipletests(p_values, method=method)[1]
        assert adjust(p_values) == pytest.approx(list(expected), abs=1e-12)


def test_the_bootstrap_is_scipys_within_its_noise():
    values = np.random.default_rng(1).exponential(size=40)
    expected = stats.bootstrap(
        (values,), np.mean, n_resamples=20_000, method="BCa", rng=np.random.default_rng(0)
    ).confidence_interval
    found = bca_interval(list(values), 5)
    assert found == pytest.approx((expected.low, expected.high), abs=0.04)
    assert found == bca_interval(list(values), 5) != bca_interval(list(values), 6)
    assert bca_interval([0.5] * 9, 1) == (0.5, 0.5)


def test_the_bootstrap_covers():
    generator, hits = np.random.default_rng(0), 0
    for seed in range(400):
        low, high = bca_interval(list(generator.exponential(size=50)), seed)
        hits += low <= 1 <= high
    assert 0.91 <= hits / 400 <= 0.98


def test_permutations_agree_with_scipy_and_with_each_other():
    differences = list(np.random.default_rng(2).normal(0.3, 1, 30))
    expected = stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=20_000, rng=np.random.default_rng(0)
    ).pvalue
    assert sign_flip_p(differences, 1) == pytest.approx(expected, abs=0.02)
    assert within_case_p([([0.0], [value]) for value in differences], 1) == pytest.approx(expected, abs=0.02)
    assert sign_flip_p([0.0, 0.0], 1) == 1.0 == within_case_p([([1.0], [1.0, 1.0])], 1)


def test_runs_of_a_case_count_as_one_case():
    """Twenty equal runs of two cases are no more evidence than two cases."""
    cases = [([0.0] * 20, [1.0] * 20), ([1.0] * 20, [0.0] * 20)]
    assert within_case_p(cases, 1) > 0.9


def test_the_seed_depends_on_the_runs_alone():
    assert resampling_seed(["a", "b"]) == resampling_seed(["b", "a"]) != resampling_seed(["ab"])


@pytest.mark.parametrize(
    "difference, p, interval, equivalence, expected",
    [
        (0.1, 0.01, (0.02, 0.2), (0.03, 0.19), "better"),
        (-0.1, 0.01, (-0.2, -0.02), (-0.19, -0.03), "worse"),
        (0.0, 0.9, (-0.018, 0.019), (-0.015, 0.016), "same"),
        (0.01, 0.4, (-0.019, 0.09), (-0.015, 0.07), "not worse"),
        (0.022, 0.42, (-0.027, 0.071), (-0.019, 0.063), "cannot tell"),
        (-0.01, 0.001, (-0.012, -0.008), (-0.012, -0.008), "worse"),
    ],
)
def test_words(difference, p, interval, equivalence, expected):
    evidence = Evidence(difference, p, Interval(*interval), Interval(*equivalence))
    assert word(evidence, margin=0.02) == expected


@pytest.mark.parametrize("size, labelled, rate", [(500, 50, 0.9), (5000, 100, 0.8), (500, 200, 0.5)])
def test_corrected_rates_cover_with_a_judge_that_errs_in_a_fifth(size, labelled, rate):
    generator, hits, naive = np.random.default_rng(0), 0, 0
    for seed in range(1500):
        people = generator.random(size) < rate
        judge = np.where(generator.random(size) < 0.2, ~people, people)
        low, high = corrected_rate(people[:labelled], judge[:labelled], judge[labelled:], seed)
        hits += low <= rate <= high
        uncorrected = wilson_interval(float(judge.sum()), size)
        naive += uncorrected.low <= rate <= uncorrected.high
    assert 0.93 <= hits / 1500 <= 0.97
    assert rate == 0.5 or naive / 1500 < 0.1


def test_corrected_means_cover_and_are_narrower_than_labels_alone():
    generator, hits, widths, plain = np.random.default_rng(0), 0, 0.0, 0.0
    for _ in range(500):
        people = generator.normal(0.6, 0.2, 2000)
        judge = people + generator.normal(0.1, 0.1, 2000)
        value, (low, high), weight = corrected_mean(people[:100], judge[:100], judge[100:])
        hits += low <= 0.6 <= high
        widths += high - low
        plain += 2 * 1.96 * people[:100].std() / 10
        assert 0 < weight <= 1 and low < value < high
    assert 0.92 <= hits / 500 <= 0.98 and widths < 0.6 * plain


def test_a_correction_needs_labels():
    with pytest.raises(ValueError, match="at least two labels"):
        corrected_mean([1.0], [1.0], [0.0])
    assert corrected_mean([1.0, 0.0, 1.0], [1.0, 1.0, 1.0], []).value == pytest.approx(2 / 3)


def test_agreement():
    pairs = [("p", "p")] * 20 + [("p", "f")] * 5 + [("f", "p")] * 10 + [("f", "f")] * 15
    assert cohens_kappa(pairs) == pytest.approx(oracle_kappa([[20, 5], [10, 15]]).kappa)
    assert cohens_kappa([]) is None and cohens_kappa([("p", "p")] * 3) is None
    table = Confusion(20, 10, 5, 15)
    assert (table.agreement, table.precision, table.recall) == (0.7, 2 / 3, 0.8)
    assert Confusion(0, 0, 0, 3).precision is None


def test_krippendorffs_alpha():
    """The example of Krippendorff 2011, C: four raters, twelve units, missing ratings."""
    raters = [
        ["1", "2", "3", "3", "2", "1", "4", "1", "2", "*", "*", "*"],
        ["1", "2", "3", "3", "2", "2", "4", "1", "2", "5", "*", "3"],
        ["*", "3", "3", "3", "2", "3", "4", "2", "2", "5", "1", "*"],
        ["1", "2", "3", "3", "2", "4", "4", "1", "2", "5", "1", "*"],
    ]
    units = [[label for label in unit if label != "*"] for unit in zip(*raters, strict=True)]
    assert krippendorffs_alpha(units) == pytest.approx(0.743, abs=5e-4)
    assert krippendorffs_alpha([["p"], []]) is None and krippendorffs_alpha([["p", "p"]]) is None


@pytest.mark.parametrize("rate", [0.5, 0.9, 0.99])
def test_looking_often_alarms_falsely_in_few_streams(rate):
    generator, alarmed = np.random.default_rng(0), 0
    for _ in range(200):
        windows = generator.binomial(10, rate, size=(30, 20)).cumsum(axis=1)
        alarmed += any(
            share_evidence(int(passes), 10 * (pane + 1), int(before[-1]), 200) > needed_evidence(i, 0.05)
            for i, (before, window) in enumerate(pairwise(windows), 1)
            for pane, passes in enumerate(window)
        )
    assert alarmed <= 20


def test_a_drop_is_found():
    assert share_evidence(140, 200, 180, 200) > needed_evidence(10, 0.05) > share_evidence(170, 200, 180, 200)
    assert share_evidence(200, 200, 180, 200) < 0 == max(0.0, share_evidence(180, 200, 180, 200))
    base, lower = SampleMoments(200, 0.9, 0.04), SampleMoments(200, 0.8, 0.04)
    assert mean_evidence(lower, base) > needed_evidence(10, 0.05) > 0 > mean_evidence(base, lower)
    assert mean_evidence(SampleMoments(9, 0.0, 0.0), SampleMoments(9, 1.0, 0.0)) == float("inf")
