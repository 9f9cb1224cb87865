"""Shares, means, agreement and corrected figures of scores that depend on each other."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tables import stated
from turnwise.schemas.comparison import Bounds
from turnwise.transforms.statistics import agreement
from turnwise.transforms.statistics.agreement import (
    SampleDesign,
    corrected_mean,
    corrected_rate,
    rogan_gladen,
)
from turnwise.transforms.statistics.tests import wilson_interval


@stated("effective", "values, clusters, expected")
def test_shares_with_their_effective_sizes(values, clusters, expected):
    found = agreement.clustered_share(np.asarray(values, dtype=float), agreement.cluster_codes(clusters))
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("clusters", ["aabbbc", "aaabbb", "abcdde", "aabbccdddd"])
def test_the_variance_of_clustered_shares_in_whole_numbers(clusters):
    """A ratio's variance over n clusters, times n / (n - 1): without it few cases would look too certain."""
    values = [0, 1, 1, 1, 1, 1, 0, 1, 1, 0][: len(clusters)]
    share = Fraction(sum(values), len(values))
    parts = [(value - share) / len(values) for value in values]
    sums = [sum(part for part, own in zip(parts, clusters, strict=True) if own == name)
            for name in dict.fromkeys(clusters)]  # fmt: skip
    variance = sum(own**2 for own in sums) * Fraction(len(sums), len(sums) - 1)
    codes = agreement.cluster_codes(clusters)
    assert agreement.clustered_variance(np.asarray(parts, dtype=float), codes) == pytest.approx(
        float(variance)
    )
    found = agreement.clustered_share(np.asarray(values, dtype=float), codes)
    size = min(len(values), share * (1 - share) / variance)
    assert found == pytest.approx((float(share), float(size)))


@pytest.mark.parametrize("weights", [[1.0] * 5, [4.0, 1.0, 1.0, 1.0, 1.0]])
def test_the_interval_of_few_labelled_cases(stats, weights):
    """All are labelled: the labels' own mean and spread, which their effective number widens once more."""
    labels, shares = np.asarray([1.0, 0.0, 0.5, 1.0, 0.25]), np.asarray(weights) / sum(weights)
    design = SampleDesign([*"abcde"], [], weights)
    found = corrected_mean(labels, [1.0, 0.0, 1.0, 1.0, 0.0], [], design)
    mean, known = shares @ labels, 1 / (shares**2).sum()
    variance = ((shares * (labels - mean)) ** 2).sum() * 5 / 4 * known / (known - 1)
    half = stats.t.ppf(0.975, known - 1) * np.sqrt(variance)
    assert (*found.interval,) == pytest.approx((mean - half, mean + half))


def test_scores_of_a_case_that_differ_narrow_nothing():
    """Each case has one pass and one fail: its scores say no more than as many of different cases."""
    labels, judged = [1.0, 0.0] * 10, [True, True] * 10
    design = SampleDesign([str(i // 2) for i in range(20)], [])
    assert corrected_rate(labels, judged, [], 0, design) == corrected_rate(labels, judged, [], 0)


def test_intervals_that_nothing_supports_are_none():
    assert agreement.kappa_interval({"a": agreement.Confusion(3, 1, 1, 3)}, 0) is None
    assert agreement.kappa_interval({str(i): agreement.Confusion(1, 0, 0, 0) for i in range(30)}, 0) is None
    # A third of the replicates draws a single fail not at all, and kappa is not defined there.
    tables = {str(i): agreement.Confusion(1, 0, 0, 0) for i in range(6)} | {
        "other": agreement.Confusion(0, 1, 0, 0)
    }
    for fails, is_told in ((1, False), (5, True)):
        fewer = tables | {f"fail {i}": agreement.Confusion(0, 0, 0, 1) for i in range(fails)}
        assert (agreement.kappa_interval(fewer, 0) is not None) is is_told
    assert agreement.alpha_interval({str(i): [[1.0, 1.0]] for i in range(30)}, 0) is None
    units = [[float(i % 2), float(i % 2 if i % 7 else 0)] for i in range(60)]
    found = agreement.alpha_interval({str(i): [labels] for i, labels in enumerate(units)}, 0)
    assert found.low < agreement.krippendorffs_alpha(units) < found.high


def test_corrected_rates_cover_with_unequal_weights():
    """80 labels of the fifth that is flagged, 20 of the rest: these decide, and the judge errs in a fifth."""
    generator, hits, runs = np.random.default_rng(1), 0, 150
    flagged = np.arange(1000) < 200
    chosen = np.r_[0:80, 200:220]
    weights = [2.5] * 80 + [40.0] * 20
    rest = np.setdiff1d(np.arange(1000), chosen)
    design = SampleDesign([str(i) for i in chosen], [str(i) for i in rest], weights)
    for seed in range(runs):
        people = generator.random(1000) < np.where(flagged, 0.5, 0.9)
        judge = np.where(generator.random(1000) < 0.2, ~people, people)
        found = corrected_rate(people[chosen], list(judge[chosen]), list(judge[rest]), seed, design).interval
        hits += found.low <= people.mean() <= found.high
    assert hits / runs >= 0.93


def test_labels_of_next_to_no_weight_narrow_nothing():
    people, judge = [True, True, False] + [True] * 97, [True] * 100
    few = corrected_rate(people[:3], judge[:3], [True] * 900, 1).interval
    names = [str(i) for i in range(1000)]
    design = SampleDesign(names[:100], names[100:], [1e9] * 3 + [1.0] * 97)
    found = corrected_rate(people, judge, [True] * 900, 1, design).interval
    assert found.high - found.low > 0.9 * (few.high - few.low)
    mean = corrected_mean([float(own) for own in people], [1.0] * 100, [1.0] * 900, design).interval
    assert mean.high - mean.low > 1


def test_students_t_widens_a_corrected_rate_of_labels_with_unequal_weights():
    """Six labels decide: as wide as six of equal weights, times 2.571 / 1.960 for five degrees of freedom."""
    labels = [1.0, 0.0] * 3
    design = SampleDesign([*"abcdefghij"], [str(i) for i in range(990)], [1e9] * 6 + [1.0] * 4)
    six = corrected_rate(labels, [True] * 6, [True] * 994, 0).interval
    ten = corrected_rate(labels + [1.0] * 4, [True] * 10, [True] * 990, 0, design).interval
    assert (ten.high - ten.low) / (six.high - six.low) == pytest.approx(2.571 / 1.960, rel=0.06)
    best, worst = (
        corrected_rate([own] * 10, [own == 1] * 10, [own == 1] * 990, 0, design) for own in (1.0, 0.0)
    )
    assert (best.interval.high, worst.interval.low) == (1.0, 0.0)


def test_copies_of_scores_narrow_no_interval():
    generator = np.random.default_rng(0)
    people = generator.random(1000) < 0.8
    judge = np.where(generator.random(1000) < 0.2, ~people, people)
    cases = [str(i) for i in range(1000)]
    once = corrected_rate(people[:100], judge[:100], judge[100:], 1).interval
    people, judge, cases = np.repeat(people, 4), np.repeat(judge, 4), [c for c in cases for _ in range(4)]
    design = SampleDesign(cases[:400], cases[400:])
    four = corrected_rate(people[:400], judge[:400], judge[400:], 1, design).interval
    assert four.high - four.low == pytest.approx(once.high - once.low, rel=0.1)
    naive = corrected_rate(people[:400], judge[:400], judge[400:], 1).interval
    assert naive.high - naive.low < 0.6 * (four.high - four.low)
    mean = corrected_mean(people[:400] * 1.0, judge[:400] * 1.0, judge[400:] * 1.0, design)
    assert mean.interval.high - mean.interval.low == pytest.approx(once.high - once.low, rel=0.15)


def test_few_cases_with_many_copies_widen_the_interval_of_a_corrected_rate():
    """Three cases of eight equal scores: as wide as the posterior of 24 / (8 (3 / 2)^2) scores."""
    labels, size = [1.0] * 16 + [0.0] * 8, 24 / (8 * (3 / 2) ** 2)
    design = SampleDesign([str(i // 8) for i in range(24)], [])
    found = corrected_rate(labels, [True] * 24, [], 0, design).interval
    draw = np.random.default_rng(1).beta
    people, unlabelled = draw(2 / 3 * size + 0.5, size / 3 + 0.5, 1_000_000), draw(0.5, 0.5, 1_000_000)
    passed = draw(size + 0.5, 0.5, 1_000_000)
    expected = np.quantile(passed * people + (1 - passed) * unlabelled, [0.025, 0.975])
    assert (*found,) == pytest.approx(tuple(expected), abs=0.012)


def test_rates_corrected_by_error_rates_cover():
    generator, hits = np.random.default_rng(0), 0
    for _ in range(400):
        people = generator.random(600) < 0.9
        judge = np.where(generator.random(600) < 0.2, ~people, people)
        one, other = map(int, generator.binomial([60, 60], 0.8))
        found = rogan_gladen(int(judge.sum()), 600, agreement.Confusion(one, 60 - other, 60 - one, other))
        hits += found.low <= 0.9 <= found.high
    assert 0.92 <= hits / 400 <= 0.995


def test_weights_count_by_how_unequal_they_are():
    assert agreement.effective_size(np.full(7, 3.0)) == pytest.approx(7)
    assert agreement.effective_size(np.asarray([1e9] * 3 + [1.0] * 97)) == pytest.approx(3, abs=1e-4)
    assert agreement.effective_size(np.empty(0)) == 0


SCALE = (0.0, 1.0)


def groups(*values: list[float]) -> list[agreement.GroupSum]:
    return [agreement.GroupSum(len(own), sum(own)) for own in values]


@given(st.lists(st.integers(-50, 50), min_size=2, max_size=30).filter(lambda own: len(set(own)) > 1))
def test_single_values_give_students_interval(stats, values):
    error = np.std(values, ddof=1) / len(values) ** 0.5
    wanted = stats.t.interval(0.95, len(values) - 1, np.mean(values), error)
    found = agreement.grouped_mean_interval(groups(*([value] for value in values)), (-1000.0, 1000.0))
    assert (*found,) == pytest.approx(wanted, rel=1e-6, abs=1e-6)


def test_repeated_values_tell_no_more():
    once, often = (groups([0.2] * n, [0.4] * n, [0.9] * n) for n in (1, 10))
    ends = [agreement.grouped_mean_interval(own, SCALE) or () for own in (often, once)]
    assert [*ends[0]] == pytest.approx([*ends[1]])


def test_an_open_scale_starts_at_0_unless_values_are_below():
    ends = [agreement.grouped_mean_interval(groups([first], [9.0]), None) for first in (1.0, -1.0)]
    assert ends[0] is not None and ends[0].low == 0.0
    assert ends[1] is not None and ends[1].low < -1.0
    assert agreement.grouped_mean_interval(groups([1.0], [9.0]), (0.0, 10.0)) == Bounds(0.0, 10.0)


@stated("no spread", "values, scale, interval")
def test_without_spread_nothing_is_certain(values, scale, interval):
    found = agreement.grouped_mean_interval(groups(*values), scale)
    assert (found and (*found,)) == (None if interval is None else pytest.approx(interval, abs=1e-4))


@pytest.mark.parametrize(
    ("values", "trials"), [([[1, 1, 1, 1], [0, 0, 0, 0]], (1, 2)), ([[1, 0, 1], [1], [0]], (3, 5))]
)
def test_trials_of_a_group_are_not_independent(values, trials):
    found = agreement.grouped_share_interval(groups(*values))
    wanted = wilson_interval(*trials)
    assert found is not None and wanted is not None
    assert found == pytest.approx(wanted)


@pytest.mark.parametrize("size, labelled, rate", [(500, 50, 0.9), (5000, 100, 0.8)])
def test_corrected_rates_cover_with_a_judge_that_errs_in_a_fifth(size, labelled, rate):
    generator, hits, naive = np.random.default_rng(0), 0, 0
    for seed in range(400):
        people = generator.random(size) < rate
        judge = np.where(generator.random(size) < 0.2, ~people, people)
        low, high = corrected_rate(people[:labelled], judge[:labelled], judge[labelled:], seed).interval
        hits += low <= rate <= high
        uncorrected = wilson_interval(float(judge.sum()), size)
        naive += uncorrected.low <= rate <= uncorrected.high
    assert 0.91 <= hits / 400 <= 0.98
    assert rate == 0.5 or naive / 400 < 0.1


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


@pytest.mark.parametrize("table", [agreement.Confusion(0, 5, 0, 5), agreement.Confusion(2, 8, 8, 2)])
def test_a_judge_that_says_nothing_cannot_be_corrected(table):
    assert rogan_gladen(5, 10, table) is None and rogan_gladen(0, 0, agreement.Confusion(9, 1, 1, 9)) is None


def test_agreement(packages_beside):
    from statsmodels.stats.inter_rater import cohens_kappa as oracle_kappa

    pairs = [("p", "p")] * 20 + [("p", "f")] * 5 + [("f", "p")] * 10 + [("f", "f")] * 15
    assert agreement.cohens_kappa(pairs) == pytest.approx(oracle_kappa([[20, 5], [10, 15]]).kappa)
    assert agreement.cohens_kappa([]) is None and agreement.cohens_kappa([("p", "p")] * 3) is None


def test_krippendorffs_alpha():
    """The example of Krippendorff 2011, D: four raters, twelve units, missing ratings, numbers."""
    raters = ["123321412***", "1233224125*3", "*3332342251*", "12332441251*"]
    units = [[float(label) for label in unit if label != "*"] for unit in zip(*raters, strict=True)]
    assert agreement.krippendorffs_alpha(units) == pytest.approx(0.849, abs=5e-4)
    assert (
        agreement.krippendorffs_alpha([[1.0], []]) is None
        and agreement.krippendorffs_alpha([[1.0, 1.0]]) is None
    )
