"""Means: Welch, bootstrap and permutation over cases, adjusted p-values and words."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnwise.transforms.statistics.power import detectable_mean, needed_cases
from turnwise.transforms.statistics.resampling import (
    CaseMeans,
    generator_of,
    interpolated_quantile,
    resampling_weights,
    sign_flip_p,
)
from turnwise.transforms.statistics.tests import (
    DifferenceEvidence,
    Interval,
    SampleMoments,
    benjamini_hochberg,
    holm,
    lower_mean,
    mean_difference_interval,
    mean_difference_p,
    mean_interval,
    standardised,
    word,
)


def named(values):
    return {f"case {i:03}": float(value) for i, value in enumerate(values)}


@given(st.lists(st.floats(-1e9, 1e9), min_size=1), st.floats(0, 1))
def test_interpolated_quantiles_are_numpys(values, share):
    assert interpolated_quantile(np.sort(values), share) == np.quantile(values, share)


def test_means_of_two_groups_are_welchs(stats):
    generator = np.random.default_rng(3)
    own, base = generator.normal(0, 1, 20), generator.normal(0.7, 2, 31)
    moments = [SampleMoments(len(x), float(x.mean()), float(x.var(ddof=1))) for x in (own, base)]
    expected = stats.ttest_ind(own, base, equal_var=False)
    assert mean_difference_p(*moments) == pytest.approx(expected.pvalue, rel=1e-9)
    assert mean_difference_interval(*moments) == pytest.approx(
        tuple(expected.confidence_interval()), rel=1e-9
    )
    bounds = stats.ttest_1samp(own, 0).confidence_interval()
    assert mean_interval(moments[0]) == pytest.approx(tuple(bounds), rel=1e-9)
    less = stats.ttest_ind(own, base, equal_var=False, alternative="less")
    assert lower_mean(*moments) == pytest.approx(less.pvalue, rel=1e-9)


CONSTANT = [(0.9, 1.0, 0.0), (1.0, 1.0, 1.0), (1.0, 0.9, 1.0)]


@pytest.mark.parametrize(("now", "before", "wanted"), CONSTANT)
def test_groups_that_do_not_vary(now, before, wanted):
    assert lower_mean(SampleMoments(20, now, 0.0), SampleMoments(20, before, 0.0)) == wanted


def test_adjusted_p_values(packages_beside):
    from statsmodels.stats.multitest import multipletests

    generator = np.random.default_rng(0)
    for size in (1, 2, 5, 30):
        p_values = [float(p) for p in np.round(generator.random(size) ** 3, 3)]
        for adjust, method in ((holm, "holm"), (benjamini_hochberg, "fdr_bh")):
            expected = multipletests(p_values, method=method)[1]
            assert adjust(p_values) == pytest.approx(list(expected), abs=1e-12)
    assert holm([]) == [] == benjamini_hochberg([])


def test_the_bootstrap_is_scipys_within_its_noise(stats):
    values = np.random.default_rng(1).exponential(size=40)
    for level in (0.95, 0.9):
        expected = stats.bootstrap(
            (values,),
            np.mean,
            n_resamples=20_000,
            method="BCa",
            confidence_level=level,
            rng=np.random.default_rng(0),
        ).confidence_interval
        found = CaseMeans(named(values), 5).interval(level)
        assert found == pytest.approx((expected.low, expected.high), abs=0.08)
    assert CaseMeans(named(values), 5).interval() != CaseMeans(named(values), 6).interval()


def test_few_cases_have_students_interval(stats):
    values = np.random.default_rng(1).normal(size=7)
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.9)
    assert CaseMeans(named(values), 1).interval(0.9) == pytest.approx(tuple(expected), rel=1e-9)


@pytest.mark.parametrize("values", [[0.1] * 9, [0.5]])
def test_values_that_do_not_vary_have_no_interval(values):
    """No spread was seen, which is not the same as that there is none."""
    assert CaseMeans(named(values), 1).interval() is None


@pytest.mark.parametrize("size", [8, 30])
def test_permutations_agree_with_scipy(stats, size):
    differences = np.random.default_rng(2).normal(0.3, 1, size)
    expected = stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=20_000, rng=np.random.default_rng(0)
    ).pvalue
    assert sign_flip_p(named(differences), 1) == pytest.approx(expected, abs=0.02 if size > 13 else 1e-9)


@pytest.mark.parametrize("tenths", [(1, 2, 3), (1, 1, 1, 1, 4), (1, 2, 3, 4, 5, -6)])
def test_exchanges_that_are_equally_far_from_zero_count(tenths):
    """0.1 + 0.2 is more than 0.3: sums are compared in whole numbers here."""
    sums = [sum(sign * own for sign, own in zip(signs, tenths, strict=True))
            for signs in product((1, -1), repeat=len(tenths))]  # fmt: skip
    expected = sum(abs(own) >= abs(sum(tenths)) for own in sums) / len(sums)
    for order in (tenths, tenths[::-1]):
        assert sign_flip_p(named([own / 10 for own in order]), 1) == expected


def test_beyond_all_exchanges_a_difference_is_never_certain():
    """All 40 differ alike, and hardly any of 10,000 exchanges does: that is 1 of 10,001, not 0."""
    assert sign_flip_p(named([1.0] * 40), 1) == 1 / 10_001


def test_permutations_where_nothing_differs():
    assert sign_flip_p({}, 1) == 1.0 == sign_flip_p({"a": 0.0, "b": 0.0}, 1)


def test_draws_depend_on_seed_and_case_alone():
    values = named(np.random.default_rng(1).exponential(size=30))
    turned = dict(reversed(values.items()))
    assert CaseMeans(values, 5).interval() == CaseMeans(turned, 5).interval()
    assert sign_flip_p(values, 5) == sign_flip_p(turned, 5)
    first = resampling_weights(7, "case", 1000)
    assert list(first) == list(resampling_weights(7, "case", 1000)) != list(resampling_weights(7, "c", 1000))
    # A known answer: the same on every machine and in every version of numpy.
    assert list(first[:12]) == [0, 3, 1, 0, 0, 1, 2, 2, 1, 2, 2, 0]
    assert generator_of(7, "case").integers(1000) != generator_of(8, "case").integers(1000)


def test_what_a_mean_needs():
    """Connor's formula for shares is that of a mean with the variance of the outcomes' differences."""
    assert needed_cases(0.022, 157 / 500 - 0.022**2) == 5085
    assert needed_cases(0.0, 1.0) is None and needed_cases(1.0, 0.0) == 6
    assert detectable_mean(0.1) == pytest.approx(0.2802, abs=1e-4)
    assert standardised(1.0, 4.0) == 0.5 and standardised(1.0, 0.0) is None


@pytest.mark.parametrize(
    "difference, p, interval, equivalence, expected",
    [
        (0.1, 0.01, (0.02, 0.2), (0.03, 0.19), "better"),
        (-0.1, 0.01, (-0.2, -0.02), (-0.19, -0.03), "worse"),
        (0.0, 0.9, (-0.018, 0.019), (-0.015, 0.016), "same"),
        (0.01, 0.4, (-0.019, 0.09), (-0.015, 0.07), "not worse"),
        (0.022, 0.42, (-0.027, 0.071), (-0.019, 0.063), "cannot tell"),
        (0.0, 0.9, (-0.03, 0.03), (-0.02, 0.01), "cannot tell"),
        (0.0, 0.9, (-0.02, 0.03), (-0.01, 0.02), "cannot tell"),
        (-0.01, 0.001, (-0.012, -0.008), (-0.012, -0.008), "worse"),
        (0.001, 0.001, (-0.16, 0.16), (-0.12, 0.12), "cannot tell"),
        (-0.001, 0.001, (-0.01, 0.009), (-0.008, 0.007), "same"),
    ],
)
def test_words(difference, p, interval, equivalence, expected):
    evidence = DifferenceEvidence(difference, p, Interval(*interval), Interval(*equivalence))
    assert word(evidence, margin=0.02) == expected
