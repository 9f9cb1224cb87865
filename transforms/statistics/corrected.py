"""Pass rates and means without a judge's bias, from human labels of a random part."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

import numpy as np

from turnwise.transforms.statistics.agreement import Confusion
from turnwise.transforms.statistics.clusters import (
    CaseCodes,
    EffectiveShare,
    cluster_codes,
    clustered_variance,
)
from turnwise.transforms.statistics.distributions import normal_quantile, t_quantile
from turnwise.transforms.statistics.interval import Interval
from turnwise.transforms.statistics.resampling import REPLICATES, Numbers, generator_of


class CorrectedEstimate(NamedTuple):
    """A corrected figure.

    Attributes:
        value: The estimate.
        interval: Its interval of confidence.
        weight: How much the judge's scores count, 0 (not at all) to 1; of rates 1.
    """

    value: float
    interval: Interval
    weight: float = 1.0


@dataclass(frozen=True)
class SampleDesign:
    """How scores hang together and were drawn. Without it, all are independent, with the same probability.

    Attributes:
        labelled: The case of each labelled score.
        others: The case of each score without a label.
        weights: Sampling weight of each labelled score; None: all the same.
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
    level: float = 0.95,
) -> CorrectedEstimate:
    """Returns the mean that people would give to all conversations, by prediction-powered inference.

    value = w mean(judged of all) + mean(labels - w judged), with the weight w = cov(labels, judged) /
    var(judged), within 0..1, which makes the variance smallest (Angelopoulos, Bates, Fannjiang, Jordan and
    Zrnic 2023; Angelopoulos, Duchi and Zrnic 2023, PPI++, whose weight is w (1 - n / N) for the mean over
    what has no label). The variance is that of the linearised estimate over cases; Student's t with the
    number of labelled cases.

    Args:
        labels: What people said of a random part of the conversations; at least two.
        judged: What the judge said of the same conversations, in the same order.
        others: What the judge said of all conversations that have no label.
        design: Cases and sampling weights.
        level: Level of confidence, between 0 and 1.

    Raises:
        ValueError: There are labels of fewer than two cases, not as many judgements, or labels minus
            judgements do not vary, so that nothing is known about the error.
    """
    cases = len(set(design.labelled)) if design else len(labels)
    if cases < 2 or len(labels) != len(judged):
        raise ValueError("a correction needs at least two labels, each with a judgement")
    human, machine = np.asarray(labels, dtype=float), np.asarray(judged, dtype=float)
    whole = np.concatenate([machine, np.asarray(others, dtype=float)])
    codes = design.codes() if design else np.arange(len(whole))
    drawn = np.asarray(design.weights if design and design.weights else np.ones(len(human)), dtype=float)
    weight = _weight(human, machine, whole)
    residual = human - weight * machine
    if residual.max() - residual.min() < 1e-12:
        raise ValueError("labels and judgements do not differ, or all in the same way: the error is unknown")
    drawn /= drawn.sum()
    shift = float((drawn * residual).sum())
    parts = weight * (whole - whole.mean()) / len(whole)
    parts[: len(human)] += drawn * (residual - shift)
    # The few labelled cases decide how much the estimate of the variance itself varies.
    variance = clustered_variance(parts, codes) * cases / (cases - 1)
    half = t_quantile((1 + level) / 2, cases - 1) * sqrt(variance)
    value = weight * float(whole.mean()) + shift
    return CorrectedEstimate(value, Interval(value - half, value + half), weight)


def corrected_rate(
    labels: Sequence[float],
    judged: Sequence[bool],
    others: Sequence[bool],
    seed: int,
    design: SampleDesign | None = None,
    level: float = 0.95,
) -> CorrectedEstimate:
    """Returns the share of all conversations that people would let pass.

    share = q a + (1 - q) b: a and b are the shares of passes by people among what the judge passed and
    failed, q the judge's share of passes. All three have Jeffreys' prior Beta(1/2, 1/2), and sizes divided
    by the design effect; the interval holds the middle of 10,000 draws of the posterior, the value is their
    mean (Hofer, Maynez, Dhingra, Fisch, Globerson and Cohen 2024, Bayesian prediction-powered inference). At
    rates near 0 and 1 it covers better than a normal interval.

    Args:
        labels: What people said of a random part of the conversations, 0..1 (the share of raters that let it
            pass); at least one.
        judged: What the judge said of the same conversations, in the same order.
        others: What the judge said of all conversations that have no label.
        seed: Of `resampling_seed`.
        design: Cases and sampling weights.
        level: Level of confidence, between 0 and 1.
    """
    human, machine = np.asarray(labels, dtype=float), np.asarray(judged, dtype=bool)
    whole = np.concatenate([machine, np.asarray(others, dtype=bool)])
    drawn = np.asarray(design.weights if design and design.weights else np.ones(len(human)), dtype=float)
    strata = [_share(human[part], drawn[part]) for part in (machine, ~machine)]
    shares = [*strata, EffectiveShare(float(whole.mean()), float(len(whole)))]
    effect = _design_effect(shares, human, whole, drawn, design.codes()) if design else 1.0
    generator = generator_of(seed)
    passed, failed, share = (_posterior(generator, one, effect) for one in shares)
    draws = share * passed + (1 - share) * failed
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    return CorrectedEstimate(float(draws.mean()), Interval(float(low), float(high)))


def _share(people: Numbers, weights: Numbers) -> EffectiveShare:
    value = float((people * weights).sum() / weights.sum()) if len(people) else 0.0
    return EffectiveShare(value, float(len(people)))


def _design_effect(
    shares: Sequence[EffectiveShare],
    human: Numbers,
    whole: "np.typing.NDArray[np.bool_]",
    drawn: Numbers,
    codes: CaseCodes,
) -> float:
    """Returns how many times the variance is that of independent scores with equal weights; at least 1."""
    passed, failed, share = shares
    count, machine = len(human), whole[: len(human)]
    parts = (passed.value - failed.value) * (whole - share.value) / len(whole)
    for stratum, chosen, part in ((passed, machine, share.value), (failed, ~machine, 1 - share.value)):
        if chosen.any():
            weights = drawn[chosen] / drawn[chosen].sum()
            parts[:count][chosen] += part * weights * (human[chosen] - stratum.value)
    simple = sum(
        part**2 * one.value * (1 - one.value) / max(one.size, 1)
        for one, part in (
            (passed, share.value),
            (failed, 1 - share.value),
            (share, passed.value - failed.value),
        )
    )
    weight = count * float((drawn**2).sum()) / float(drawn.sum()) ** 2
    if len(np.unique(codes)) == len(codes) and weight < 1 + 1e-9:
        return 1.0
    cases = len(np.unique(codes[:count]))
    found = clustered_variance(parts, codes) * cases / max(cases - 1, 1) / simple if simple else count / cases
    return max(1.0, found)


def rogan_gladen(passes: int, count: int, table: Confusion, level: float = 0.95) -> Interval | None:
    """Returns an interval of the share that people would let pass, from a judge's error rates.

    (share + specificity - 1) / (sensitivity + specificity - 1) (Rogan and Gladen 1978), with the interval of
    Lang and Reiczigel 2014, Confidence limits for prevalence of disease adjusted for estimated sensitivity
    and specificity. The error rates may come from labels of other conversations.

    Args:
        passes: Conversations that the judge passed.
        count: Judged conversations.
        table: Labels against the judge's outcomes.
        level: Level of confidence, between 0 and 1.

    Returns:
        The interval within 0..1; None: the judge is no better than chance, or people passed or failed none.
    """
    human_passes, human_fails = table.true_pass + table.false_fail, table.false_pass + table.true_fail
    if not count or not human_passes or not human_fails:
        return None
    z = normal_quantile((1 + level) / 2)
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
    own = share * (1 - share) / (count + z * z)
    half = z * sqrt(own + centre**2 * hits + (1 - centre) ** 2 * misses) / gain
    return Interval(*(min(1.0, max(0.0, bound)) for bound in (centre + shift - half, centre + shift + half)))


def _posterior(generator: np.random.Generator, share: EffectiveShare, effect: float) -> Numbers:
    size = share.size / effect
    return generator.beta(share.value * size + 0.5, (1 - share.value) * size + 0.5, REPLICATES)


def _weight(human: Numbers, machine: Numbers, whole: Numbers) -> float:
    """Returns the weight that makes the variance smallest, within 0..1; 0 where the judge never differs."""
    spread = float(whole.var())
    if len(whole) == len(human) or not spread:
        return 0.0
    return min(1.0, max(0.0, float(np.cov(human, machine)[0, 1]) / spread))
