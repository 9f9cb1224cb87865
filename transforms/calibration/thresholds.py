"""The threshold with the lowest cost of errors, validated on labels that did not choose it."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from turnwise.schemas.calibration import LabelFigure, ThresholdAdvice
from turnwise.schemas.comparison import Bounds
from turnwise.transforms.calibration.agreement import case_mean
from turnwise.transforms.calibration.scores import Ruler
from turnwise.transforms.decisions.calibration.labels import LabelledScore
from turnwise.transforms.statistics.agreement import cluster_codes
from turnwise.transforms.statistics.resampling import Numbers, generator_of

FEWEST_LABELS = 20
_FOLDS = 10
_REPLICATES = 1_000


class ErrorCosts(NamedTuple):
    """Costs of the two errors.

    Attributes:
        false_pass: Of a pass that people fail.
        false_fail: Of a fail that people pass.
    """

    false_pass: float = 1.0
    false_fail: float = 1.0


class _Labelled(NamedTuple):
    """Scores with a value and an outcome by people; values have the other sign where less is better."""

    values: Numbers
    people: npt.NDArray[np.bool_]
    cases: list[str]
    weights: Numbers

    def part(self, chosen: npt.NDArray[np.bool_]) -> "_Labelled":
        cases = [case for case, is_in in zip(self.cases, chosen, strict=True) if is_in]
        return _Labelled(self.values[chosen], self.people[chosen], cases, self.weights[chosen])

    def costs(self, threshold: float, costs: ErrorCosts) -> Numbers:
        """Returns the cost of each score."""
        passed = self.values >= threshold
        return np.where(passed & ~self.people, costs.false_pass, 0) + np.where(
            ~passed & self.people, costs.false_fail, 0
        )


def threshold_advice(
    group: Sequence[LabelledScore], ruler: Ruler, costs: ErrorCosts, seed: int
) -> ThresholdAdvice | str:
    """Returns the threshold to take, or why none can be suggested."""
    valued = [one for one in group if one.answers and one.score.value is not None]
    if not valued:
        return "the labelled scores have an outcome and no value (as verdicts do) to hold against a threshold"
    known = [one for one in valued if one.mean != 0.5]
    sign = 1.0 if ruler.passes_from else -1.0
    found = _Labelled(
        np.asarray([sign * (one.score.value or 0.0) for one in known], dtype=float),
        np.asarray([one.mean > 0.5 for one in known], dtype=bool),
        [one.score.case for one in known],
        np.ones(len(known)),
    )
    problem = _problem(found)
    if problem is not None:
        return problem
    thresholds = {one.score.threshold for one in known}
    present = thresholds.pop() if len(thresholds) == 1 else None
    own = None if present is None else sign * present
    best = _best(found, costs, own)
    validated = _validated(found, costs, own, seed)
    low, high = sorted(sign * end for end in _range(found, costs, own, seed))
    present_costs = None if own is None else found.costs(own, costs)
    saving = None if present_costs is None else _mean(found, present_costs - validated, seed)
    return ThresholdAdvice(
        threshold=sign * best,
        range=Bounds(low, high),
        labels=len(known),
        cases=len(set(found.cases)),
        cost=float(found.costs(best, costs).mean()),
        validated_cost=_mean(found, validated, seed),
        present=present,
        present_cost=None if present_costs is None else _mean(found, present_costs, seed),
        saving=saving,
        word=_word(best == own, saving),
    )


def _problem(found: _Labelled) -> str | None:
    passes, size = int(found.people.sum()), len(found.people)
    if not size:
        return "the raters of every score with a value are equally divided"
    if passes in (0, size):
        return f"people {'pass' if passes else 'fail'} all {size} labelled scores"
    cases = len(set(found.cases))
    if size < FEWEST_LABELS or cases < _FOLDS:
        return f"too few labels: {size} of {cases} cases; {FEWEST_LABELS} of {_FOLDS} cases are needed"
    return "all values are the same" if np.ptp(found.values) == 0 else None


def _word(
    is_present: bool, saving: LabelFigure | None
) -> Literal["better", "not shown to be better", "the present one", "no threshold to compare with"]:
    if saving is None:
        return "no threshold to compare with"
    if is_present:
        return "the present one"
    is_better = saving.interval is not None and saving.interval.low > 0
    return "better" if is_better else "not shown to be better"


def _best(found: _Labelled, costs: ErrorCosts, present: float | None) -> float:
    """Returns the cheapest threshold; of several the one in whose gap the present one is, or the lowest."""
    order = np.argsort(found.values, kind="stable")
    values, people, weights = found.values[order], found.people[order], found.weights[order]
    steps = weights * np.where(people, costs.false_fail, -costs.false_pass)
    starts = np.concatenate([[0], np.flatnonzero(np.diff(values)) + 1])
    total = np.concatenate([[0.0], np.cumsum(steps)])[starts]
    cheapest = starts[total <= total.min() + 1e-9]
    gaps = [(float(values[i - 1]) if i else -np.inf, float(values[i])) for i in cheapest]
    for low, high in gaps:
        if present is not None and low < present <= high:
            return present
    return _shortest(*gaps[0])


def _shortest(low: float, high: float) -> float:
    """Returns the number with the fewest digits nearest to the middle of a gap, above low and up to high."""
    if low == -np.inf:
        return high
    for digits in range(17):
        number = round((low + high) / 2, digits)
        if low < number <= high:
            return number
    return high


def _validated(found: _Labelled, costs: ErrorCosts, present: float | None, seed: int) -> Numbers:
    """Returns the cost of each score by the threshold that the other folds of cases choose."""
    codes = cluster_codes(found.cases)
    folds = generator_of(seed, "folds").permutation(int(codes.max()) + 1)[codes] % _FOLDS
    result = np.zeros(len(codes))
    for fold in range(_FOLDS):
        held = folds == fold
        result[held] = found.part(held).costs(_best(found.part(~held), costs, present), costs)
    return result


def _range(found: _Labelled, costs: ErrorCosts, present: float | None, seed: int) -> tuple[float, float]:
    codes = cluster_codes(found.cases)
    generator, size = generator_of(seed, "thresholds"), int(codes.max()) + 1
    chosen = []
    for _ in range(_REPLICATES):
        weights = np.bincount(generator.integers(size, size=size), minlength=size)[codes].astype(float)
        drawn = found._replace(weights=weights).part(weights > 0)
        chosen.append(_best(drawn, costs, present))
    low, high = np.quantile(chosen, [0.025, 0.975], method="inverted_cdf")
    return float(low), float(high)


def _mean(found: _Labelled, costs: Numbers, seed: int) -> LabelFigure:
    return case_mean([*zip(found.cases, map(float, costs), strict=True)], seed)
