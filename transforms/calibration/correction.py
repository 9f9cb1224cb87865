"""Figures of all scores without the judge's bias, by labels of a random sample."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from turnwise.schemas.calibration import CalibrationGroup, Corrected
from turnwise.schemas.comparison import Bounds
from turnwise.transforms.calibration.sampling import FEWEST_CASES, FEWEST_EFFECTIVE, RandomPart
from turnwise.transforms.calibration.scores import JudgedScore
from turnwise.transforms.statistics.agreement import Confusion, effective_size
from turnwise.transforms.statistics.corrected import (
    CorrectedEstimate,
    SampleDesign,
    corrected_mean,
    corrected_rate,
    rogan_gladen,
)


class ScoreGroup(NamedTuple):
    """A part of the scores: all, an app version, or a slice."""

    kind: CalibrationGroup
    name: str | None

    def holds(self, score: JudgedScore) -> bool:
        """Returns whether a score is of the group."""
        if self.kind == "app_version":
            return score.app_version == self.name
        return self.kind == "all" or self.name in score.slices


def score_groups(scores: Sequence[JudgedScore]) -> Iterator[ScoreGroup]:
    """Yields all scores as one group, then the app versions if there are several, then the slices."""
    yield ScoreGroup("all", None)
    versions = dict.fromkeys(score.app_version for score in scores)
    yield from (
        ScoreGroup("app_version", name)
        for name in sorted(versions, key=lambda name: name or "")
        if len(versions) > 1
    )
    yield from (ScoreGroup("slice", name) for name in sorted({n for score in scores for n in score.slices}))


class _GroupParts(NamedTuple):
    """The scores of a group: those with a label, those that were drawn without one, and the others."""

    labelled: list[JudgedScore]
    missing: list[JudgedScore]
    others: list[JudgedScore]


class Correction(NamedTuple):
    """How the figures of a criterion are corrected.

    Attributes:
        sample: The random sample.
        is_mean: Whether values are corrected, not outcomes.
        scale: Lowest and highest label; None: not known.
        seed: Seed, such as `SEED`.
    """

    sample: RandomPart
    is_mean: bool
    scale: tuple[float, float] | None
    seed: int

    def figure(self, group: ScoreGroup, scores: Sequence[JudgedScore]) -> Corrected:
        """Returns the corrected figure of a group, or why there is none."""
        of_group = [score for score in scores if group.holds(score)]
        decided = [score for score in of_group if self._judged(score) is not None]
        known = of_group if self._covers_all(scores) else decided
        missing = {*self.sample.missing}
        part = _GroupParts(
            [score for score in known if score in self.sample.labels],
            [score for score in known if score in missing],
            [score for score in known if score not in self.sample.labels and score not in missing],
        )
        cases = len({score.case for score in part.labelled})
        judged = [self._judged(score) or 0.0 for score in decided]
        found = Corrected(
            group=group.kind,
            name=group.name,
            covers="all" if self._covers_all(scores) else "decided",
            scores=len(of_group),
            undecided=len(of_group) - len(decided),
            labels=len(part.labelled),
            cases=cases,
            missing=len(part.missing),
            raw=float(np.mean(judged)) if judged else None,
        )
        try:
            return self._with_estimate(found, part)
        except ValueError as error:
            return replace(found, reason=str(error))

    def _covers_all(self, scores: Sequence[JudgedScore]) -> bool:
        """Returns whether nothing is undecided, or labels tell what people say of the undecided."""
        judged_by_people = any(self._judged(score) is None for score in self.sample.labels)
        return judged_by_people or all(self._judged(score) is not None for score in scores)

    def _judged(self, score: JudgedScore) -> float | None:
        if self.is_mean:
            return score.value
        return None if score.passed is None else float(score.passed)

    def _with_estimate(self, found: Corrected, part: _GroupParts) -> Corrected:
        """Raises ValueError if there are too few labels, or what is missing has no bounds."""
        if found.cases < FEWEST_CASES:
            raise ValueError(
                f"too few labels: {found.labels} of {found.cases} cases; {FEWEST_CASES} cases are needed"
            )
        if self.sample.weights:
            weights = [self.sample.weights[score] for score in part.labelled]
            effective = effective_size(np.asarray(weights, dtype=float))
            if effective < FEWEST_EFFECTIVE:
                raise ValueError(
                    f"the sampling weights rest on too few labels: {found.labels} tell as much as "
                    f"{effective:.1f} with equal weights; {FEWEST_EFFECTIVE} are needed"
                )
        if part.missing and self.scale is None:
            raise ValueError(f"{len(part.missing)} drawn scores have no label, and the scale has no bounds")
        ends = self.scale or (0.0, 0.0)
        estimates = [self._estimate(part, end) for end in (ends if part.missing else ends[:1])]
        low, high = (
            min(one.interval.low for one in estimates),
            max(one.interval.high for one in estimates),
        )
        if self.scale is not None:
            low, high = max(low, self.scale[0]), min(high, self.scale[1])
        value = min(high, max(low, sum(one.value for one in estimates) / len(estimates)))
        other = self._rogan_gladen(part) if not self.is_mean and not part.missing else None
        return replace(found, value=value, interval=Bounds(low, high), rogan_gladen=other)

    def _estimate(self, part: _GroupParts, missing_label: float) -> CorrectedEstimate:
        """Returns the estimate if everything that has no label had this one."""
        drawn = [*part.labelled, *part.missing]
        labels = [self.sample.labels.get(score, missing_label) for score in drawn]
        weights = self.sample.weights
        design = SampleDesign(
            [score.case for score in drawn],
            [score.case for score in part.others],
            [weights[score] for score in drawn] if weights else None,
        )
        if self.is_mean:
            usual = _mean_value([*drawn, *part.others])
            values, rest = (
                [usual if score.value is None else score.value for score in some]
                for some in (drawn, part.others)
            )
            return corrected_mean(labels, values, rest, design)
        judged, others = ([score.passed for score in some] for some in (drawn, part.others))
        return corrected_rate(labels, judged, others, self.seed, design)

    def _rogan_gladen(self, part: _GroupParts) -> Bounds | None:
        everything = [*part.labelled, *part.others]
        labels = [self.sample.labels[score] for score in part.labelled]
        if (
            self.sample.weights
            or len({s.case for s in everything}) < len(everything)
            or {*labels} - {0.0, 1.0}
            or any(score.passed is None for score in everything)
        ):
            return None
        table = confusion(labels, [bool(score.passed) for score in part.labelled])
        found = rogan_gladen(sum(bool(score.passed) for score in everything), len(everything), table)
        return Bounds(*found) if found else None


def _mean_value(scores: Sequence[JudgedScore]) -> float:
    """Returns the mean of the values that there are; a score without one gets it, and labels correct that."""
    known = [score.value for score in scores if score.value is not None]
    return sum(known) / len(known) if known else 0.0


def confusion(people: Sequence[float], judged: Sequence[bool]) -> Confusion:
    """Returns the counts of what people (1: pass, 0: fail) and a criterion say."""
    pairs = [(bool(own), other) for own, other in zip(people, judged, strict=True)]
    return Confusion(
        *(pairs.count(pair) for pair in ((True, True), (False, True), (True, False), (False, False)))
    )
