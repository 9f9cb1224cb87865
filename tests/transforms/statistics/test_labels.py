"""Estimates corrected by labels, and the agreement of raters."""

import numpy as np
import pytest

from turnwise.transforms.statistics.agreement import Confusion, cohens_kappa, krippendorffs_alpha
from turnwise.transforms.statistics.corrected import corrected_mean, corrected_rate, rogan_gladen
from turnwise.transforms.statistics.tests import wilson_interval


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


@pytest.mark.parametrize("table", [Confusion(0, 5, 0, 5), Confusion(2, 8, 8, 2)])
def test_a_judge_that_says_nothing_cannot_be_corrected(table):
    assert rogan_gladen(5, 10, table) is None and rogan_gladen(0, 0, Confusion(9, 1, 1, 9)) is None


def test_agreement(packages_beside):
    from statsmodels.stats.inter_rater import cohens_kappa as oracle_kappa

    pairs = [("p", "p")] * 20 + [("p", "f")] * 5 + [("f", "p")] * 10 + [("f", "f")] * 15
    assert cohens_kappa(pairs) == pytest.approx(oracle_kappa([[20, 5], [10, 15]]).kappa)
    assert cohens_kappa([]) is None and cohens_kappa([("p", "p")] * 3) is None
    table = Confusion(20, 10, 5, 15)
    assert (table.agreement, table.precision, table.recall) == (0.7, 2 / 3, 0.8)
    assert Confusion(0, 0, 0, 3).precision is None


def test_krippendorffs_alpha():
    """The example of Krippendorff 2011, D: four raters, twelve units, missing ratings, numbers."""
    raters = ["123321412***", "1233224125*3", "*3332342251*", "12332441251*"]
    units = [[float(label) for label in unit if label != "*"] for unit in zip(*raters, strict=True)]
    assert krippendorffs_alpha(units) == pytest.approx(0.849, abs=5e-4)
    assert krippendorffs_alpha([[1.0], []]) is None and krippendorffs_alpha([[1.0, 1.0]]) is None
