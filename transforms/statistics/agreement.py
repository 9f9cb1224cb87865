"""Agreement between raters: a judge and people, or several people."""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from turnwise.transforms.statistics.interval import Interval
from turnwise.transforms.statistics.resampling import Numbers, replicates_for, resampling_weights

_ROUNDING = 1e-12


class Confusion(NamedTuple):
    """Labels of people against outcomes of a criterion.

    Attributes:
        true_pass: Both pass.
        false_pass: The criterion passes what people fail.
        false_fail: The criterion fails what people pass.
        true_fail: Both fail.
    """

    true_pass: int
    false_pass: int
    false_fail: int
    true_fail: int

    @property
    def agreement(self) -> float | None:
        """Share of equal outcomes; None without any."""
        return _share(self.true_pass + self.true_fail, sum(self))

    @property
    def precision(self) -> float | None:
        """Of what the criterion passes, the share that people pass; None if it passes nothing."""
        return _share(self.true_pass, self.true_pass + self.false_pass)

    @property
    def fail_precision(self) -> float | None:
        """Of what the criterion fails, the share that people fail; None if it fails nothing."""
        return _share(self.true_fail, self.true_fail + self.false_fail)

    @property
    def fail_recall(self) -> float | None:
        """Of what people fail, the share that the criterion fails; None if they fail nothing."""
        return _share(self.true_fail, self.true_fail + self.false_pass)

    @property
    def recall(self) -> float | None:
        """Of what people pass, the share that the criterion passes; None if they pass nothing."""
        return _share(self.true_pass, self.true_pass + self.false_fail)


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def cohens_kappa(pairs: Sequence[tuple[Hashable, Hashable]]) -> float | None:
    """Returns Cohen's kappa of two raters, at most 1; None if it is not defined.

    (observed - expected) / (1 - expected) (Cohen 1960); not defined without pairs, and where both raters give
    one and the same label to everything.
    """
    if not pairs:
        return None
    own, other = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    observed = sum(a == b for a, b in pairs) * len(pairs)
    expected, largest = sum(own[label] * other[label] for label in own), len(pairs) ** 2
    return (observed - expected) / (largest - expected) if largest > expected else None


def krippendorffs_alpha(units: Sequence[Sequence[float]]) -> float | None:
    """Returns Krippendorff's alpha for numbers (interval data), at most 1; None if it is not defined.

    1 - observed / expected squared difference (Krippendorff 2011, Computing Krippendorff's
    alpha-reliability). Of labels 0 and 1 it is the alpha for nominal data. Units with fewer than two labels
    do not count.

    Args:
        units: The labels of each unit, by whichever raters gave one.
    """
    (value,) = _alphas(_alpha_sums(units)[None])
    return None if np.isnan(value) else float(value)


def alpha_interval(
    units: Mapping[str, Sequence[Sequence[float]]], seed: int, level: float = 0.95
) -> Interval | None:
    """Returns the bootstrap's interval of Krippendorff's alpha, over cases; None if it is not defined.

    Args:
        units: Case -> its units.
        seed: Seed, such as `SEED`.
        level: Level of confidence, between 0 and 1.
    """
    return _percentiles({case: _alpha_sums(own) for case, own in units.items()}, _alphas, seed, level)


def kappa_interval(tables: Mapping[str, Confusion], seed: int, level: float = 0.95) -> Interval | None:
    """Returns the bootstrap's interval of Cohen's kappa, over cases; None if it is not defined.

    Args:
        tables: Case -> its outcomes.
        seed: Seed, such as `SEED`.
        level: Level of confidence, between 0 and 1.
    """
    parts = {case: np.asarray(table, dtype=float) for case, table in tables.items()}
    return _percentiles(parts, _kappas, seed, level)


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
    parts: Mapping[str, Numbers], figures: Callable[[Numbers], Numbers], seed: int, level: float
) -> Interval | None:
    """Returns the middle of a figure over replicates of the cases.

    None: it does not vary, or is not defined in more than a twentieth of the replicates.
    """
    if len(parts) < 2:
        return None
    replicates = replicates_for(len(parts))
    sums = np.zeros((replicates, 4))
    for case, own in parts.items():
        sums += resampling_weights(seed, case, replicates)[:, None] * own
    found = figures(sums)
    found = found[~np.isnan(found)]
    if len(found) < 0.95 * replicates or np.ptp(found) < _ROUNDING:
        return None
    low, high = np.quantile(found, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high))
