"""Pass rates and means without a judge's bias, from human labels of a random part."""

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from turnwise.transforms.statistics.agreement import Confusion
from turnwise.transforms.statistics.distributions import normal_quantile, t_quantile
from turnwise.transforms.statistics.interval import Interval
from turnwise.transforms.statistics.resampling import REPLICATES, Numbers, generator_of


class CorrectedMean(NamedTuple):
    """A corrected figure.

    Attributes:
        value: The estimate.
        interval: Its interval of confidence.
        weight: How much the judge's scores count, 0 (not at all) to 1.
    """

    value: float
    interval: Interval
    weight: float


def corrected_mean(
    labels: Sequence[float], judged: Sequence[float], others: Sequence[float], level: float = 0.95
) -> CorrectedMean:
    """Returns the mean that people would give to all conversations, by prediction-powered inference.

    value = w mean(judged of all others) + mean(labels - w judged), with the weight w of the smallest variance
    (Angelopoulos, Bates, Fannjiang, Jordan and Zrnic 2023; Angelopoulos, Duchi and Zrnic 2023, PPI++).

    Args:
        labels: What people said of a random part of the conversations; at least two.
        judged: What the judge said of the same conversations, in the same order.
        others: What the judge said of all conversations that have no label.
        level: Level of confidence, between 0 and 1.

    Raises:
        ValueError: There are fewer than two labels, or not as many judgements.
    """
    if len(labels) < 2 or len(labels) != len(judged):
        raise ValueError("a correction needs at least two labels, each with a judgement")
    human, machine = np.asarray(labels, dtype=float), np.asarray(judged, dtype=float)
    rest = np.asarray(others, dtype=float)
    weight = _weight(human, machine, rest)
    residual = human - weight * machine
    value = float(residual.mean())
    variance = float(residual.var(ddof=1)) / len(human)
    if len(rest):
        value += weight * float(rest.mean())
        variance += weight**2 * float(rest.var()) / len(rest)
    half = t_quantile((1 + level) / 2, len(human) - 1) * sqrt(variance)
    return CorrectedMean(value, Interval(value - half, value + half), weight)


def corrected_rate(
    labels: Sequence[bool], judged: Sequence[bool], others: Sequence[bool], seed: int, level: float = 0.95
) -> Interval:
    """Returns an interval of the share of all conversations that people would let pass.

    share = q a + (1 - q) b: a and b are the shares of passes by people among what the judge passed and
    failed, q the judge's share of passes. All three have Jeffreys' prior Beta(1/2, 1/2); the interval holds
    the middle of 10,000 draws of the posterior (Hofer, Maynez, Dhingra, Fisch, Globerson and Cohen 2024,
    Bayesian prediction-powered inference). At rates near 0 and 1 it covers better than a normal interval.

    Args:
        labels: What people said of a random part of the conversations; at least one.
        judged: What the judge said of the same conversations, in the same order.
        others: What the judge said of all conversations that have no label.
        seed: Of `resampling_seed`.
        level: Level of confidence, between 0 and 1.
    """
    human, machine = np.asarray(labels, dtype=bool), np.asarray(judged, dtype=bool)
    generator = generator_of(seed)
    passed = _posterior(generator, human[machine])
    failed = _posterior(generator, human[~machine])
    share = _posterior(generator, np.concatenate([machine, np.asarray(others, dtype=bool)]))
    draws = share * passed + (1 - share) * failed
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high))


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


def _posterior(generator: np.random.Generator, outcomes: npt.NDArray[np.bool_]) -> Numbers:
    passes = int(outcomes.sum())
    return generator.beta(passes + 0.5, len(outcomes) - passes + 0.5, REPLICATES)


def _weight(human: Numbers, machine: Numbers, rest: Numbers) -> float:
    """Returns the weight that makes the variance smallest, within 0..1; 0 where the judge never differs."""
    spread = float(np.concatenate([machine, rest]).var())
    if not len(rest) or not spread:
        return 0.0
    shared = float(np.cov(human, machine)[0, 1])
    return min(1.0, max(0.0, shared / (spread * (1 + len(human) / len(rest)))))
