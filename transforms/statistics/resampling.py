"""Bootstrap and permutation over cases: the case is the unit, its runs are a cluster.

The random numbers of a case depend on the seed and the name of the case alone (Philox, a counter-based
generator: Salmon, Moraes, Dror and Shaw 2011). So the result is the same on every machine, in whatever
order cases come.
"""

from collections.abc import Mapping
from functools import lru_cache
from hashlib import sha256
from math import isclose, sqrt
from threading import local

import numpy as np
import numpy.typing as npt

from turnwise.schemas.comparison import Bounds
from turnwise.transforms.statistics.tests import normal_cdf, normal_quantile, t_quantile

REPLICATES = 10_000
_FEWEST_REPLICATES = 1_000
_MOST_DRAWS = 20_000_000
_KEPT_DRAWS = 1_000
"""Cases whose random numbers are kept for other criteria: 10 MB of weights, and 10 MB of signs."""
_ENUMERATED = 13
"""Up to so many cases all exchanges of their versions are looked at: 2^13 = 8,192."""
_BOOTSTRAPPED = 20
"""From so many cases on the bootstrap's interval is used; for fewer ones it is too narrow."""

LEVEL = 0.95
"""Level of confidence of all intervals for which none is chosen."""
SEED = 0
"""Seed of what people read. With the names of the cases, which are added to it, the content alone decides the
draws: the same input gives the same digits in every run."""

Numbers = npt.NDArray[np.float64]


def generator_of(seed: int, case: str = "") -> np.random.Generator:
    """Returns the generator of random numbers of a case; it gives the same on every machine."""
    return np.random.Generator(np.random.Philox(key=int.from_bytes(_key(seed, case), "big")))


def _key(seed: int, case: str) -> bytes:
    return sha256(seed.to_bytes(16, "big") + case.encode("utf-8", "replace")).digest()[:16]


class _Thread(local):
    """The generator of a thread, which draws for one case after another: making one takes twice as long."""

    def __init__(self) -> None:
        self._bits = np.random.Philox(key=0)
        self._generator, self._start = np.random.Generator(self._bits), self._bits.state

    def of_case(self, seed: int, case: str) -> np.random.Generator:
        """Returns what `generator_of` gives, until the next call in this thread."""
        self._start["state"]["key"] = np.frombuffer(_key(seed, case)[::-1], "<u8")
        self._bits.state = self._start
        return self._generator


_THREAD = _Thread()


@lru_cache(_KEPT_DRAWS)
def resampling_weights(seed: int, case: str, replicates: int) -> npt.NDArray[np.uint8]:
    """Returns how often a case is drawn in each replicate: Poisson(1), within 1/65,536.

    Independent draws stand for draws with replacement (Hanley and MacGibbon 2006), so that a case's draws do
    not depend on the other cases.
    """
    weights = _POISSON[_THREAD.of_case(seed, case).integers(65_536, size=replicates, dtype=np.uint16)]
    weights.flags.writeable = False
    return weights


@lru_cache(_KEPT_DRAWS)
def _signs(seed: int, case: str, replicates: int) -> npt.NDArray[np.int8]:
    """Returns whether the versions of a case are exchanged in each replicate: 1 or -1."""
    signs = _THREAD.of_case(seed, case).integers(2, size=replicates, dtype=np.int8) * 2 - 1
    signs.flags.writeable = False
    return signs


def _poisson_table() -> npt.NDArray[np.uint8]:
    """Returns 65,536 values that are distributed as Poisson(1)."""
    shares = np.exp(-1.0) / np.cumprod([1.0, *range(1, 9)])
    ends = np.round(np.cumsum(shares) * 65_536).astype(int)
    ends[-1] = 65_536
    return np.repeat(np.arange(9, dtype=np.uint8), np.diff(ends, prepend=0))


_POISSON = _poisson_table()


class CaseMeans:
    """Intervals of a mean over cases: from 20 on the BCa bootstrap (Efron 1987), below, Student's t."""

    def __init__(self, values: Mapping[str, float], seed: int) -> None:
        """Draws the replicates, of the value of every case; at least one."""
        cases = sorted(values)
        numbers = np.asarray([values[case] for case in cases], dtype=np.float64)
        self.size, self.mean = len(numbers), float(numbers.mean())
        deviations = numbers - self.mean
        # Numbers that are equal on paper differ in the last digits.
        self.is_constant = float(np.ptp(numbers)) <= 1e-12 * max(1.0, abs(self.mean))
        self.variance = 0.0 if self.is_constant else float(numbers.var(ddof=1))
        self._means: Numbers | None = None
        if self.size >= _BOOTSTRAPPED and not self.is_constant:
            replicates = replicates_for(self.size)
            sums, counts = np.zeros(replicates), np.zeros(replicates)
            for case, deviation in zip(cases, deviations, strict=True):
                weights = resampling_weights(seed, case, replicates)
                sums += weights * deviation
                counts += weights
            self._means = np.sort(sums[counts > 0] / counts[counts > 0])
            self._cubes = float((deviations**3).sum()) / (6 * float((deviations**2).sum()) ** 1.5)

    def interval(self, level: float = LEVEL) -> Bounds | None:
        """Returns the interval of the mean; None: the values do not vary, or there is one alone."""
        if self.is_constant:
            return None
        if self._means is None:
            half = t_quantile((1 + level) / 2, self.size - 1) * sqrt(self.variance / self.size)
            return Bounds(self.mean - half, self.mean + half)
        below = (np.searchsorted(self._means, 0.0, "left") + np.searchsorted(self._means, 0.0, "right")) / 2
        count = len(self._means)
        bias = normal_quantile(min(max(float(below), 0.5), count - 0.5) / count)
        ends = []
        for tail in ((1 - level) / 2, (1 + level) / 2):
            # A mean's jackknife values deviate by -deviation / (n - 1): the sign is that of the deviations.
            z = bias + normal_quantile(tail)
            ends.append(interpolated_quantile(self._means, normal_cdf(bias + z / (1 - self._cubes * z))))
        # A mean of 0 on paper differs from it in the last digits, and its sign decides.
        return Bounds(*(0.0 if isclose(-end, self.mean) else self.mean + end for end in ends))


def interpolated_quantile(ordered: Numbers, share: float) -> float:
    """Returns a quantile of ascending values (type 7 of Hyndman and Fan 1996), sooner than numpy does."""
    rank = share * (len(ordered) - 1)
    before = int(rank)
    low, high = float(ordered[before]), float(ordered[min(before + 1, len(ordered) - 1)])
    part = rank - before
    return low + (high - low) * part if part < 0.5 else high - (high - low) * (1 - part)


def sign_flip_p(differences: Mapping[str, float], seed: int) -> float:
    """Returns the two-sided p-value of a mean of paired differences, by exchanging the versions within cases.

    Up to 13 cases that differ, of all exchanges; beyond, (1 + replicates as far from 0) / (1 + replicates):
    Phipson and Smyth 2010.
    """
    cases = [case for case in sorted(differences) if differences[case]]
    if not cases:
        return 1.0
    # Sums that are equal on paper differ in the last digits.
    seen = abs(sum(differences[case] for case in cases)) * (1 - 1e-12)
    if len(cases) <= _ENUMERATED:
        sums = np.zeros(1)
        for case in cases:
            sums = np.concatenate([sums + differences[case], sums - differences[case]])
        return float((np.abs(sums) >= seen).mean())
    replicates = replicates_for(len(cases))
    sums = np.zeros(replicates)
    for case in cases:
        sums += _signs(seed, case, replicates) * differences[case]
    return (1 + int((np.abs(sums) >= seen).sum())) / (1 + replicates)


def replicates_for(size: int) -> int:
    """Returns how often to draw: 10,000 times, less for very many values, so that it ends in seconds."""
    return max(_FEWEST_REPLICATES, min(REPLICATES, _MOST_DRAWS // size))
