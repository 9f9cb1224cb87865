"""Agreement of raters; shares and means of dependent scores, also without the bias of a judge."""

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from math import inf, sqrt
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from turnwise.schemas.comparison import Bounds
from turnwise.transforms.statistics import resampling
from turnwise.transforms.statistics.resampling import LEVEL, Numbers
from turnwise.transforms.statistics.tests import normal_quantile, t_quantile, wilson_interval

_ROUNDING = 1e-12


class Confusion(NamedTuple):
    """Outcomes of a criterion by the labels of people: a `false_pass` is one of what people fail."""

    true_pass: int
    false_pass: int
    false_fail: int
    true_fail: int


def cohens_kappa(pairs: Sequence[tuple[Hashable, Hashable]]) -> float | None:
    """Returns Cohen's kappa of two raters, at most 1; None if it is not defined.

    (observed - expected) / (1 - expected) (Cohen 1960); not defined without pairs, and where both raters give
    one and the same label to everything.
    """
    if not pairs:
        return None
    first, other = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    observed = sum(a == b for a, b in pairs) * len(pairs)
    expected, largest = sum(first[label] * other[label] for label in first), len(pairs) ** 2
    return (observed - expected) / (largest - expected) if largest > expected else None


def krippendorffs_alpha(units: Sequence[Sequence[float]]) -> float | None:
    """Returns Krippendorff's alpha for numbers (interval data), at most 1; None if it is not defined.

    1 - observed / expected squared difference (Krippendorff 2011, Computing Krippendorff's
    alpha-reliability). Of labels 0 and 1 it is the alpha for nominal data. Units with fewer than two labels
    do not count.
    """
    (value,) = _alphas(_alpha_sums(units)[None])
    return None if np.isnan(value) else float(value)


def alpha_interval(units: Mapping[str, Sequence[Sequence[float]]], seed: int) -> Bounds | None:
    """Returns the bootstrap's interval of Krippendorff's alpha, over cases; None: it is not defined."""
    return _percentiles({case: _alpha_sums(ratings) for case, ratings in units.items()}, _alphas, seed)


def kappa_interval(tables: Mapping[str, Confusion], seed: int) -> Bounds | None:
    """Returns the bootstrap's interval of Cohen's kappa, over cases; None: it is not defined."""
    parts = {case: np.asarray(table, dtype=float) for case, table in tables.items()}
    return _percentiles(parts, _kappas, seed)


def _kappas(cells: Numbers) -> Numbers:
    both, false_pass, false_fail, neither = cells.T
    size = cells.sum(axis=1)
    expected = (both + false_pass) * (both + false_fail) + (false_fail + neither) * (false_pass + neither)
    return _ratio((both + neither) * size - expected, size**2 - expected)


def _alpha_sums(units: Sequence[Sequence[float]]) -> Numbers:
    """Returns the sums that alpha is made of: observed differences, squares, values, labels."""
    sums = np.zeros(4)
    for labels in units:
        size, total, squares = len(labels), sum(labels), sum(x * x for x in labels)
        if size > 1:
            sums += ((size * squares - total**2) / (size - 1), squares, total, size)
    return sums


def _alphas(sums: Numbers) -> Numbers:
    observed, squares, total, size = sums.T
    expected = size * squares - total**2
    return 1 - _ratio((size - 1) * observed, np.where(expected > _ROUNDING * size * squares, expected, 0.0))


def _ratio(part: Numbers, whole: Numbers) -> Numbers:
    """Returns quotients; NaN where the divisor is 0."""
    return np.divide(part, whole, out=np.full(len(whole), np.nan), where=whole > 0)


def _percentiles(
    parts: Mapping[str, Numbers], figures: Callable[[Numbers], Numbers], seed: int
) -> Bounds | None:
    """Returns the middle of a figure over replicates; None: it does not vary, or in 1 of 20 is undefined."""
    if len(parts) < 2:
        return None
    replicates = resampling.replicates_for(len(parts))
    sums = np.zeros((replicates, 4))
    for case, part in parts.items():
        sums += resampling.resampling_weights(seed, case, replicates)[:, None] * part
    drawn = figures(sums)
    drawn = drawn[~np.isnan(drawn)]
    if len(drawn) < 0.95 * replicates or np.ptp(drawn) < _ROUNDING:
        return None
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Bounds(float(low), float(high))


# Agreement of several raters on labels without an order, without numpy.


def nominal_alpha(units: Mapping[str, int]) -> float | None:
    """Returns Krippendorff's alpha for nominal data, at most 1; None if it is not defined.

    1 - observed / expected disagreement (Krippendorff 2011, Computing Krippendorff's alpha-reliability).
    Units with fewer than two labels do not count. It is not defined without two labels on one unit, and where
    all labels are the same. A unit has one letter for each rater that gave a label; equal units are counted.

    >>> nominal_alpha({"PPP": 9, "FFF": 9}), nominal_alpha({"PP": 3})
    (1.0, None)
    """
    totals: Counter[str] = Counter()
    observed = 0.0
    for labels, number in sorted(units.items()):
        size, counts = len(labels), Counter(labels)
        if size < 2:
            continue
        observed += number * (size**2 - sum(count**2 for count in counts.values())) / (size - 1)
        for label, count in counts.items():
            totals[label] += number * count
    size = totals.total()
    expected = size**2 - sum(count**2 for count in totals.values())
    return 1 - (size - 1) * observed / expected if expected else None


# Means and shares of values that come in groups, such as the turns of a case; without numpy.


class GroupSum(NamedTuple):
    """The values of one group: how many, and their sum."""

    size: int
    total: float


def _mean(groups: Collection[GroupSum]) -> tuple[float, int]:
    count = sum(group.size for group in groups)
    return sum(group.total for group in groups) / count, count


def _variance(groups: Collection[GroupSum]) -> float:
    """Returns the variance of the mean of all groups, by linearisation (Cochran 1977, 6.3)."""
    mean, count = _mean(groups)
    return sum((group.total - mean * group.size) ** 2 for group in groups) / count**2


def grouped_mean_interval(groups: Collection[GroupSum], scale: tuple[float, float] | None) -> Bounds | None:
    """Returns the 95 % interval of a mean, within its scale (None: open); None: it cannot be told.

    It is Student's interval over groups. Where the means of all groups are the same, some further group may
    differ nevertheless: on a scale their share is taken to be the upper Wilson bound of 0 groups.
    """
    size = len(groups)
    if size < 2:
        return None
    mean, _ = _mean(groups)
    variance = _variance(groups) * size / (size - 1)
    if variance > ((1e-12 * max(1.0, abs(mean))) ** 2):
        half = t_quantile((1 + LEVEL) / 2, size - 1) * sqrt(variance)
        low, high = scale or (0.0 if all(group.total >= 0 for group in groups) else -inf, inf)
        return Bounds(max(low, mean - half), min(high, mean + half))
    if scale is None:
        return None
    z2 = normal_quantile((1 + LEVEL) / 2) ** 2
    other = z2 / (size + z2)
    return Bounds(mean - other * (mean - scale[0]), mean + other * (scale[1] - mean))


def grouped_share_interval(groups: Collection[GroupSum]) -> Bounds | None:
    """Returns Wilson's interval of a share, for as many trials as would tell as much; None: no trial."""
    if not groups:
        return None
    share, count = _mean(groups)
    size = float(len(groups))
    if 0 < share < 1:
        variance = _variance(groups)
        size = min(count, share * (1 - share) / variance) if variance else count
    return wilson_interval(share * size, size)


# Shares over scores that are not independent: several scores of a case, and sampling weights.

CaseCodes = npt.NDArray[np.int64]


class EffectiveShare(NamedTuple):
    """A share, 0..1, and how many independent trials would tell as much (at most as many as there are)."""

    value: float
    size: float


def cluster_codes(clusters: Sequence[Hashable]) -> CaseCodes:
    """Returns a number from 0 on for each cluster, in the order in which they come."""
    known: dict[Hashable, int] = {}
    return np.asarray([known.setdefault(cluster, len(known)) for cluster in clusters], dtype=np.int64)


def effective_size(weights: Numbers) -> float:
    """Returns how many scores with equal weights tell as much, (sum w)^2 / sum w^2 (Kish 1965); 0 of none."""
    return float(weights.sum()) ** 2 / float((weights**2).sum()) if len(weights) else 0.0


def clustered_share(values: Numbers, clusters: CaseCodes) -> EffectiveShare:
    """Returns the share of values 0..1 with its effective size, value (1 - value) / variance.

    The variance is that of a ratio over clusters, by linearisation (Cochran 1977, Sampling Techniques, 6.3).
    Where nothing varies, the clusters count instead of the scores.
    """
    if not (count := len(values)):
        return EffectiveShare(0.0, 0.0)
    value = float(values.sum()) / count
    of_cluster = np.bincount(clusters)
    of_cluster = of_cluster[of_cluster > 0]
    if len(of_cluster) == count:
        return EffectiveShare(value, float(count))
    variance = clustered_variance((values - value) / count, clusters)
    size = value * (1 - value) / variance if variance > 1e-15 else count**2 / float((of_cluster**2).sum())
    return EffectiveShare(value, min(float(count), size))


def clustered_variance(parts: Numbers, clusters: CaseCodes) -> float:
    """Returns the variance of a sum of parts that are independent between clusters and add up to 0."""
    sums = np.bincount(clusters, parts)[np.unique(clusters)]
    return float((sums**2).sum()) * len(sums) / max(len(sums) - 1, 1)


# Pass rates and means without a judge's bias, from human labels of a random part.


class CorrectedEstimate(NamedTuple):
    """A corrected figure; the judge's scores count from 0 (not at all) to 1, for rates 1."""

    value: float
    interval: Bounds
    weight: float = 1.0


class SampleDesign(Struct, frozen=True):
    """The cases of labelled and other scores, and sampling weights of the labelled ones (None: all the same).

    Without it, all scores are independent, drawn with the same probability.
    """

    labelled: Sequence[str]
    others: Sequence[str]
    weights: Sequence[float] | None = None


def corrected_mean(
    labels: Sequence[float],
    judged: Sequence[float],
    others: Sequence[float],
    design: SampleDesign | None = None,
) -> CorrectedEstimate:
    """Returns the mean that people would give to all conversations, by prediction-powered inference.

    value = w mean(judged of all) + mean(labels - w judged), with the weight w = cov(labels, judged) /
    var(judged), within 0..1, which makes the variance smallest (Angelopoulos, Bates, Fannjiang, Jordan and
    Zrnic 2023; Angelopoulos, Duchi and Zrnic 2023, PPI++, whose weight is w (1 - n / N) for the mean over
    what has no label). The variance is that of the linearised estimate over cases; Student's t with the
    number of labelled cases, or the effective number of labels if their weights make that smaller.

    `labels` is what people said of a random part of the conversations, `judged` what the judge said of the
    same in the same order, `others` of all that have no label. Raises ValueError if there are labels of fewer
    than two cases, not as many judgements, or labels minus judgements do not vary, so that nothing is known
    about the error.
    """
    cases = len(set(design.labelled)) if design else len(labels)
    if cases < 2 or len(labels) != len(judged):
        raise ValueError("a correction needs at least two labels, each with a judgement")
    human, machine = np.asarray(labels, dtype=float), np.asarray(judged, dtype=float)
    whole = np.concatenate([machine, np.asarray(others, dtype=float)])
    codes = cluster_codes([*design.labelled, *design.others]) if design else np.arange(len(whole))
    drawn = np.asarray(design.weights if design and design.weights else np.ones(len(human)), dtype=float)
    spread, weight = float(whole.var()), 0.0
    if len(whole) > len(human) and spread:
        weight = min(1.0, max(0.0, float(np.cov(human, machine)[0, 1]) / spread))
    residual = human - weight * machine
    if residual.max() - residual.min() < 1e-12:
        raise ValueError("labels and judgements do not differ, or all in the same way: the error is unknown")
    drawn /= drawn.sum()
    shift = float((drawn * residual).sum())
    parts = weight * (whole - whole.mean()) / len(whole)
    parts[: len(human)] += drawn * (residual - shift)
    # The few labelled cases decide how much the estimate of the variance itself varies.
    known = max(1.5, min(cases, effective_size(drawn)))
    variance = clustered_variance(parts, codes) * known / (known - 1)
    half = t_quantile((1 + LEVEL) / 2, known - 1) * sqrt(variance)
    value = weight * float(whole.mean()) + shift
    return CorrectedEstimate(value, Bounds(value - half, value + half), weight)


_UNDECIDED = 2
"""Stratum of what the judge left without a score; 0: it passed it, 1: it failed it."""


class _Stratum(NamedTuple):
    """The conversations of which the judge says the same: what people let pass of them, and their share."""

    people: EffectiveShare
    drawn: "np.typing.NDArray[np.bool_]"
    share: float
    size: int


def corrected_rate(
    labels: Sequence[float],
    judged: Sequence[bool | None],
    others: Sequence[bool | None],
    seed: int,
    design: SampleDesign | None = None,
) -> CorrectedEstimate:
    """Returns the share of all conversations that people would let pass.

    share = q a + (1 - q) b: a and b are the shares of passes by people among what the judge passed and
    failed, q the judge's share of passes. All three have Jeffreys' prior Beta(1/2, 1/2), and sizes divided
    by the design effect (of labels with unequal weights, the effective number counts, and Student's t of it
    widens the interval); the interval holds the middle of 10,000 draws of the posterior, the value is their
    mean (Hofer, Maynez, Dhingra, Fisch, Globerson and Cohen 2024, Bayesian prediction-powered inference). At
    rates near 0 and 1 it covers better than a normal interval. What the judge left without a score is a third
    stratum with labels of its own: d (q a + (1 - q) b) + (1 - d) c, with the share d of what is decided.

    The labels, at least one, are of a random part of the conversations: 0..1, the share of raters that let it
    pass. `judged` is of the same in the same order, `others` of all without a label; None: no score.
    """
    human, stratum_of = np.asarray(labels, dtype=float), {True: 0, False: 1, None: _UNDECIDED}
    whole = np.asarray([stratum_of[is_pass] for is_pass in (*judged, *others)], dtype=np.int64)
    drawn = np.asarray(design.weights if design and design.weights else np.ones(len(human)), dtype=float)
    answers = range(3 if (whole == _UNDECIDED).any() else 2)
    strata = []
    for everything in (whole == answer for answer in answers):
        part = everything[: len(human)]
        rate = float((human[part] * drawn[part]).sum() / drawn[part].sum()) if part.any() else 0.0
        people = EffectiveShare(rate, effective_size(drawn[part]))
        strata.append(_Stratum(people, part, float(everything.mean()), int(everything.sum())))
    effect = 1.0
    if design:
        codes = cluster_codes([*design.labelled, *design.others])
        effect = _design_effect(strata, human, whole, drawn, codes)
    generator = resampling.generator_of(seed)
    let_pass = [_posterior(generator, stratum.people, effect) for stratum in strata]
    draws, size = let_pass[0], strata[0].size
    for stratum, share in zip(strata[1:], let_pass[1:], strict=True):
        # The strata are joined one by one, each with a share of its own.
        joined = size + stratum.size
        before = _posterior(generator, EffectiveShare(size / joined if joined else 0.0, joined), effect)
        draws, size = before * draws + (1 - before) * share, joined
    low, high = map(float, np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]))
    value, known, end = float(draws.mean()), effective_size(drawn), (1 + LEVEL) / 2
    # With unequal weights, Student's t with the effective number of labels is wider.
    is_equal = known > len(drawn) - 1e-6
    wider = 1.0 if is_equal else t_quantile(end, max(0.5, known - 1)) / normal_quantile(end)
    bounds = Bounds(max(0.0, value - wider * (value - low)), min(1.0, value + wider * (high - value)))
    return CorrectedEstimate(value, bounds)


def _design_effect(
    strata: Sequence[_Stratum], human: Numbers, whole: CaseCodes, drawn: Numbers, codes: CaseCodes
) -> float:
    """Returns how many times the variance is that of so many independent scores; at least 1."""
    count, values = len(human), np.asarray([stratum.people.value for stratum in strata])
    total = sum(stratum.share * stratum.people.value for stratum in strata)
    parts = (values[whole] - total) / len(whole)
    simple = sum(stratum.share * (stratum.people.value - total) ** 2 for stratum in strata) / len(whole)
    for stratum in strata:
        value, size = stratum.people
        simple += stratum.share**2 * value * (1 - value) / max(size, 1)
        if stratum.drawn.any():
            weights = drawn[stratum.drawn] / drawn[stratum.drawn].sum()
            parts[:count][stratum.drawn] += stratum.share * weights * (human[stratum.drawn] - value)
    if len(np.unique(codes)) == len(codes) and effective_size(drawn) > count - 1e-6:
        return 1.0
    cases = len(np.unique(codes[:count]))
    ratio = clustered_variance(parts, codes) * cases / max(cases - 1, 1) / simple if simple else count / cases
    return max(1.0, ratio)


def rogan_gladen(passes: int, count: int, table: Confusion) -> Bounds | None:
    """Returns an interval of the share that people would let pass, from a judge's error rates.

    (share + specificity - 1) / (sensitivity + specificity - 1) (Rogan and Gladen 1978), with the interval of
    Lang and Reiczigel 2014, Confidence limits for prevalence of disease adjusted for estimated sensitivity
    and specificity, within 0..1. The error rates may come from labels of other conversations. None: the judge
    is no better than chance, or people passed or failed none.
    """
    human_passes, human_fails = table.true_pass + table.false_fail, table.false_pass + table.true_fail
    if not count or not human_passes or not human_fails:
        return None
    z = normal_quantile((1 + LEVEL) / 2)
    share = (passes + z * z / 2) / (count + z * z)
    sensitivity = (table.true_pass + 1) / (human_passes + 2)
    specificity = (table.true_fail + 1) / (human_fails + 2)
    gain = sensitivity + specificity - 1
    if gain <= 0:
        return None
    centre = (share + specificity - 1) / gain
    hits = sensitivity * (1 - sensitivity) / (human_passes + 2)
    misses = specificity * (1 - specificity) / (human_fails + 2)
    shift = 2 * z * z * (centre * hits - (1 - centre) * misses)
    spread = share * (1 - share) / (count + z * z)
    half = z * sqrt(spread + centre**2 * hits + (1 - centre) ** 2 * misses) / gain
    return Bounds(*(min(1.0, max(0.0, bound)) for bound in (centre + shift - half, centre + shift + half)))


def _posterior(generator: np.random.Generator, share: EffectiveShare, effect: float) -> Numbers:
    size = share.size / effect
    return generator.beta(share.value * size + 0.5, (1 - share.value) * size + 0.5, resampling.REPLICATES)
