"""Pass rates and means without a judge's bias, from human labels of a random part."""

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from turnwise.schemas.comparison import Bounds
from turnwise.transforms.statistics.agreement import (
    CaseCodes,
    Confusion,
    EffectiveShare,
    cluster_codes,
    clustered_variance,
    effective_size,
)
from turnwise.transforms.statistics.resampling import LEVEL, REPLICATES, Numbers, generator_of
from turnwise.transforms.statistics.tests import normal_quantile, t_quantile


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

    def codes(self) -> CaseCodes:
        """Returns the numbers of the cases, those of the labelled scores first."""
        return cluster_codes([*self.labelled, *self.others])


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
    codes = design.codes() if design else np.arange(len(whole))
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
    human, machine = np.asarray(labels, dtype=float), _answers(judged)
    whole = np.concatenate([machine, _answers(others)])
    drawn = np.asarray(design.weights if design and design.weights else np.ones(len(human)), dtype=float)
    answers = range(3 if (whole == _UNDECIDED).any() else 2)
    strata = []
    for everything in (whole == answer for answer in answers):
        part = everything[: len(human)]
        rate = float((human[part] * drawn[part]).sum() / drawn[part].sum()) if part.any() else 0.0
        people = EffectiveShare(rate, effective_size(drawn[part]))
        strata.append(_Stratum(people, part, float(everything.mean()), int(everything.sum())))
    effect = _design_effect(strata, human, whole, drawn, design.codes()) if design else 1.0
    generator = generator_of(seed)
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


_UNDECIDED = 2


def _answers(judged: Sequence[bool | None]) -> CaseCodes:
    """Returns the judge's answers as numbers of strata: 0 passed, 1 failed, 2 no score."""
    return np.asarray(
        [_UNDECIDED if is_pass is None else int(not is_pass) for is_pass in judged], dtype=np.int64
    )


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
    return generator.beta(share.value * size + 0.5, (1 - share.value) * size + 0.5, REPLICATES)
