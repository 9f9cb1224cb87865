"""Bootstrap and permutation over cases: the case is the unit, its runs are a cluster."""

from collections.abc import Iterator, Sequence
from hashlib import sha256

import numpy as np
import numpy.typing as npt

from turnwise.transforms.statistics.distributions import normal_cdf, normal_quantile
from turnwise.transforms.statistics.interval import Interval

REPLICATES = 10_000
_FEWEST_REPLICATES = 1_000
_MOST_DRAWS = 50_000_000
_CHUNK = 1_000_000

Numbers = npt.NDArray[np.float64]


def resampling_seed(run_ids: Sequence[str]) -> int:
    """Returns the seed of a comparison: the same for the same runs, on every machine."""
    return int.from_bytes(sha256("\0".join(sorted(run_ids)).encode("utf-8", "replace")).digest()[:16], "big")


def bca_interval(values: Sequence[float], seed: int, level: float = 0.95) -> Interval:
    """Returns the bias-corrected and accelerated bootstrap interval of a mean (Efron 1987).

    Args:
        values: One value a case, at least one, in an order that depends on the cases alone.
        seed: Of `resampling_seed`.
        level: Level of confidence, between 0 and 1.
    """
    numbers = np.asarray(values, dtype=np.float64)
    mean = float(numbers.mean())
    deviations = numbers - mean
    squares = float((deviations**2).sum())
    if not squares:
        return Interval(mean, mean)
    means = np.sort(np.concatenate(list(_resampled_means(deviations, seed))))
    below = (np.searchsorted(means, 0.0, "left") + np.searchsorted(means, 0.0, "right")) / 2
    bias = normal_quantile(min(max(float(below), 0.5), len(means) - 0.5) / len(means))
    # A mean's jackknife values deviate by -deviation / (n - 1), so the sign is that of the deviations.
    acceleration = float((deviations**3).sum()) / (6 * squares**1.5)
    low, high = (
        _bca_quantile(means, bias, acceleration, tail) for tail in ((1 - level) / 2, (1 + level) / 2)
    )
    return Interval(mean + low, mean + high)


def _bca_quantile(ordered: Numbers, bias: float, acceleration: float, share: float) -> float:
    z = bias + normal_quantile(share)
    adjusted = normal_cdf(bias + z / (1 - acceleration * z))
    return float(np.quantile(ordered, adjusted))


def _resampled_means(values: Numbers, seed: int) -> Iterator[Numbers]:
    """Yields means of as many values, drawn with replacement."""
    generator, left = generator_of(seed), _replicates(len(values))
    while left:
        rows = min(left, max(1, _CHUNK // len(values)))
        yield values[generator.integers(len(values), size=(rows, len(values)))].mean(axis=1)
        left -= rows


def sign_flip_p(differences: Sequence[float], seed: int) -> float:
    """Returns the two-sided p-value of a mean of paired differences, by exchanging the versions within cases.

    (1 + replicates as far from 0) / (1 + replicates): Phipson and Smyth 2010.

    Args:
        differences: One difference a case, in an order that depends on the cases alone.
        seed: Of `resampling_seed`.
    """
    numbers = np.asarray([value for value in differences if value], dtype=np.float64)
    if not len(numbers):
        return 1.0
    # Sums that are equal on paper differ in the last digits.
    seen = abs(float(numbers.sum())) * (1 - 1e-12)
    generator, left, extreme = generator_of(seed), _replicates(len(numbers)), 0
    replicates = left
    while left:
        rows = min(left, max(1, _CHUNK // len(numbers)))
        signs = generator.integers(2, size=(rows, len(numbers)), dtype=np.int8) * 2 - 1
        extreme += int((np.abs(signs @ numbers) >= seen).sum())
        left -= rows
    return (1 + extreme) / (1 + replicates)


def within_case_p(cases: Sequence[tuple[Sequence[float], Sequence[float]]], seed: int) -> float:
    """Returns the two-sided p-value of the mean over cases of mean(candidate) - mean(base).

    Permutes the versions' labels within every case, which may have several runs of each.

    Args:
        cases: (values of the base's runs, values of the candidate's runs), each with at least one.
        seed: Of `resampling_seed`.
    """
    generator, replicates = generator_of(seed), _replicates(sum(len(b) + len(c) for b, c in cases))
    seen, sums = 0.0, np.zeros(replicates)
    for base, candidate in cases:
        values = np.asarray([*base, *candidate], dtype=np.float64)
        seen += float(values[len(base) :].mean() - values[: len(base)].mean())
        if values.min() == values.max():
            continue
        order = generator.random((replicates, len(values))).argsort(axis=1)
        drawn = values[order]
        sums += drawn[:, len(base) :].mean(axis=1) - drawn[:, : len(base)].mean(axis=1)
    extreme = int((np.abs(sums) >= abs(seen) * (1 - 1e-12)).sum())
    return (1 + extreme) / (1 + replicates)


def generator_of(seed: int) -> np.random.Generator:
    """Returns a generator of random numbers that gives the same on every machine."""
    return np.random.Generator(np.random.Philox(seed))


def _replicates(size: int) -> int:
    """Returns how often to draw: 10,000 times, less for very many values, so that it ends in seconds."""
    return max(_FEWEST_REPLICATES, min(REPLICATES, _MOST_DRAWS // size))
