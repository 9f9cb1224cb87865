"""Shares over scores that are not independent: several scores of a case, and sampling weights."""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from turnwise.transforms.statistics.resampling import Numbers

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


def clustered_share(values: Numbers, clusters: CaseCodes, weights: Numbers | None = None) -> EffectiveShare:
    """Returns a weighted share with its effective size, value (1 - value) / variance.

    The variance is that of a ratio over clusters, by linearisation (Cochran 1977, Sampling Techniques, 6.3).
    Where nothing varies, the clusters count instead of the scores.

    Args:
        values: 0..1 each.
        clusters: Code of the cluster of each.
        weights: Sampling weights; None: all the same.
    """
    if not len(values):
        return EffectiveShare(0.0, 0.0)
    weights = np.ones(len(values)) if weights is None else weights
    total = float(weights.sum())
    value = float((weights * values).sum()) / total
    most = effective_size(weights)
    of_cluster = np.bincount(clusters, weights)
    of_cluster = of_cluster[of_cluster > 0]
    if len(of_cluster) == len(values) and most > len(values) - 1e-9:
        return EffectiveShare(value, float(len(values)))
    variance = clustered_variance(weights * (values - value) / total, clusters)
    groups = total**2 / float((of_cluster**2).sum())
    return EffectiveShare(
        value, min(most, value * (1 - value) / variance) if variance > 1e-15 else min(most, groups)
    )


def clustered_variance(parts: Numbers, clusters: CaseCodes) -> float:
    """Returns the variance of a sum of parts that are independent between clusters and add up to 0.

    Args:
        parts: The part of each score in the sum.
        clusters: Code of its cluster.
    """
    sums = np.bincount(clusters, parts)[np.unique(clusters)]
    return float((sums**2).sum()) * len(sums) / max(len(sums) - 1, 1)
