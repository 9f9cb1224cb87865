"""A run held against human labels: agreement, thresholds, and figures without the judge's bias."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import correlation
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from turnwise.schemas import calibration
from turnwise.schemas.comparison import Bounds
from turnwise.schemas.jsonio import grouped
from turnwise.transforms.decisions.calibration.labels import (
    FEWEST_CASES,
    FEWEST_EFFECTIVE,
    CriterionKey,
    JoinedLabels,
    JudgedScore,
    LabelledScore,
    LabelLine,
    RandomPart,
    Scale,
    joined_labels,
    random_part,
)
from turnwise.transforms.statistics import agreement
from turnwise.transforms.statistics.resampling import SEED, CaseMeans, Numbers, generator_of
from turnwise.transforms.statistics.tests import wilson_interval


class ErrorCosts(NamedTuple):
    """Costs of the two errors: of a pass that people fail, and of a fail that people pass."""

    false_pass: float = 1.0
    false_fail: float = 1.0


_MOST_SLICES = 100


def calibrate(
    run_id: str,
    files: Sequence[str],
    lines: Sequence[LabelLine],
    scores: Sequence[JudgedScore],
    scales: Mapping[str, Scale],
    costs: ErrorCosts,
) -> calibration.Calibration:
    """Returns what labels say of the criteria of a run, whose scores include the verdicts."""
    joined = joined_labels(lines, scores, scales)
    by_key = grouped((score.key, score) for score in scores)
    scaled = ((key, scales.get(key.criterion, Scale())) for key in sorted(joined.groups))
    criteria = [_criterion(key, joined, by_key[key], scale, costs) for key, scale in scaled]
    return calibration.Calibration(
        run_id=run_id,
        labels=[*files],
        lines=len(lines),
        problems=joined.problems,
        false_pass_cost=costs.false_pass,
        false_fail_cost=costs.false_fail,
        criteria=criteria,
    )


def _criterion(
    key: CriterionKey, joined: JoinedLabels, scores: Sequence[JudgedScore], scale: Scale, costs: ErrorCosts
) -> calibration.CriterionCalibration:
    group, is_number = joined.groups[key], key in joined.numbers
    labelled = [judged for judged in group if judged.answers]
    number_random = sum(judged.is_random for judged in labelled)
    advice = "labels are numbers" if is_number else _threshold_advice(group, scale, costs)
    corrected, refusal = _corrected(group, scores, is_number, scale)
    units = [(judged.score.case, [*judged.answers.values()]) for judged in group if len(judged.answers) > 1]
    parts = [*_score_groups([judged.score for judged in labelled])][1 : _MOST_SLICES + 1]
    slices = []
    for part in parts if not is_number else ():
        if pairs := _outcome_pairs([judged for judged in labelled if part.holds(judged.score)]):
            figures = {"agreement": _share(pairs), "kappa": _kappa_figure(pairs)}
            slices.append(calibration.SliceAgreement(group=part.kind, name=part.name, **figures))
    return calibration.CriterionCalibration(
        criterion=key.criterion,
        level=key.level,
        kind="numbers" if is_number else "outcomes",
        scores=len(scores),
        no_score=sum(score.value is None and score.passed is None for score in scores),
        labelled=len(labelled),
        cases=len({judged.score.case for judged in labelled}),
        raters=len({rater for judged in labelled for rater in judged.answers}),
        random=number_random,
        hand_picked=len(labelled) - number_random,
        outcomes=None if is_number else _outcome_agreement(group),
        numbers=_number_agreement(group) if is_number else None,
        between_people=_alpha(units) if units else None,
        threshold=None if isinstance(advice, str) else advice,
        no_threshold=advice if isinstance(advice, str) else None,
        slices=slices,
        measure="mean" if is_number else "pass_rate",
        corrected=corrected,
        not_corrected=refusal,
    )


def _corrected(
    group: Sequence[LabelledScore], scores: Sequence[JudgedScore], is_number: bool, scale: Scale
) -> tuple[list[calibration.Corrected], str | None]:
    """Returns the corrected figures, and why there is none of all scores."""
    if not is_number and all(score.passed is None for score in scores):
        if any(score.value is not None for score in scores):
            return [], "the criterion has no threshold, so that there is no pass rate to correct"
        return [], f"none of the {len(scores)} scores is decided"
    if is_number and all(score.value is None for score in scores):
        return [], f"none of the {len(scores)} scores has a value"
    try:
        sample = random_part(group, scores)
    except ValueError as error:
        return [], str(error)
    judged = [score.value if is_number else score.passed for score in scores]
    # Nothing lacks a score, or labels tell what people say of what does.
    labelled = (score.value if is_number else score.passed for score in sample.labels)
    covers_all = None not in judged or None in labelled
    correction = _Correction(sample, is_number, scale.bounds if is_number else (0.0, 1.0), covers_all)
    groups = [*_score_groups(scores)][:_MOST_SLICES]
    figures = [correction.figure(part, scores) for part in groups]
    return figures, figures[0].reason


# The threshold with the lowest cost of errors, validated on labels that did not choose it.

FEWEST_LABELS = 20
_FOLDS = 10
_REPLICATES = 1_000


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
        passed, cost = self.values >= threshold, np.where(self.people, costs.false_fail, costs.false_pass)
        return np.where(passed != self.people, cost, 0.0)


def _threshold_advice(
    group: Sequence[LabelledScore], scale: Scale, costs: ErrorCosts
) -> calibration.ThresholdAdvice | str:
    """Returns the threshold to take, or why none can be suggested."""
    valued = [judged for judged in group if judged.answers and judged.score.value is not None]
    if not valued:
        return "the labelled scores have no value to hold against a threshold (verdicts have none)"
    known = [judged for judged in valued if judged.mean != 0.5]
    sign = 1.0 if scale.passes_from else -1.0
    values = np.asarray([sign * (judged.score.value or 0.0) for judged in known], dtype=float)
    people = np.asarray([judged.mean > 0.5 for judged in known], dtype=bool)
    data = _Labelled(values, people, [judged.score.case for judged in known], np.ones(len(known)))
    if (problem := _problem(data)) is not None:
        return problem
    thresholds = {judged.score.threshold for judged in known}
    present = thresholds.pop() if len(thresholds) == 1 else None
    present_cut = None if present is None else sign * present
    best = _best(data, costs, present_cut)
    # Of each score, the cost by the threshold that the other folds of cases choose.
    codes, validated = agreement.cluster_codes(data.cases), np.zeros(len(known))
    folds = generator_of(SEED, "folds").permutation(int(codes.max()) + 1)[codes] % _FOLDS
    for held in (folds == fold for fold in range(_FOLDS)):
        validated[held] = data.part(held).costs(_best(data.part(~held), costs, present_cut), costs)
    generator, size = generator_of(SEED, "thresholds"), int(codes.max()) + 1
    chosen = []
    for _ in range(_REPLICATES):
        weights = np.bincount(generator.integers(size, size=size), minlength=size)[codes].astype(float)
        drawn = data._replace(weights=weights).part(weights > 0)
        chosen.append(_best(drawn, costs, present_cut))
    ends = np.quantile(chosen, [0.025, 0.975], method="inverted_cdf")
    low, high = sorted(sign * float(end) for end in ends)
    present_costs = None if present_cut is None else data.costs(present_cut, costs)
    saving = None if present_costs is None else _case_mean(data.cases, present_costs - validated)
    word: calibration.ThresholdWord = "no threshold to compare with"
    if saving is not None:
        is_better = saving.interval is not None and saving.interval.low > 0
        word = "better" if is_better else "not shown to be better"
        word = "the present one" if best == present_cut else word
    return calibration.ThresholdAdvice(
        threshold=sign * best,
        range=Bounds(low, high),
        labels=len(known),
        cases=len(set(data.cases)),
        cost=float(data.costs(best, costs).mean()),
        validated_cost=_case_mean(data.cases, validated),
        present=present,
        present_cost=None if present_costs is None else _case_mean(data.cases, present_costs),
        saving=saving,
        word=word,
    )


def _problem(data: _Labelled) -> str | None:
    passes, size = int(data.people.sum()), len(data.people)
    if not size:
        return "the raters of every score with a value are equally divided"
    if passes in (0, size):
        return f"people {'pass' if passes else 'fail'} all {size} labelled scores"
    cases = len(set(data.cases))
    if size < FEWEST_LABELS or cases < _FOLDS:
        return f"too few labels: {size} of {cases} cases; {FEWEST_LABELS} of {_FOLDS} cases are needed"
    return "all values are the same" if np.ptp(data.values) == 0 else None


def _best(data: _Labelled, costs: ErrorCosts, present: float | None) -> float:
    """Returns the cheapest threshold; of several the one in whose gap the present one is, or the lowest.

    It is the number with the fewest digits nearest to the middle of the gap, above its low end and up to its
    high one.
    """
    order = np.argsort(data.values, kind="stable")
    values = data.values[order]
    steps = data.weights[order] * np.where(data.people[order], costs.false_fail, -costs.false_pass)
    starts = np.concatenate([[0], np.flatnonzero(np.diff(values)) + 1])
    total = np.concatenate([[0.0], np.cumsum(steps)])[starts]
    cheapest = starts[total <= total.min() + 1e-9]
    gaps = [(float(values[i - 1]) if i else -np.inf, float(values[i])) for i in cheapest]
    for low, high in gaps:
        if present is not None and low < present <= high:
            return present
    low, high = gaps[0]
    for digits in range(17) if low != -np.inf else ():
        number = round((low + high) / 2, digits)
        if low < number <= high:
            return number
    return high


# How far a criterion and people agree.


_CELLS = ("both_pass", "false_pass", "false_fail", "both_fail")
"""What `Confusion` counts, as a document names it."""


class _OutcomePair(NamedTuple):
    """What the majority of raters and the criterion say of one score."""

    case: str
    people: bool
    judged: bool


def _outcome_pairs(group: Sequence[LabelledScore]) -> list[_OutcomePair]:
    """Returns the scores with an outcome on both sides, without those whose raters are equally divided."""
    decided = (labelled for labelled in group if labelled.answers and labelled.mean != 0.5)
    outcomes = ((labelled.score.case, labelled.mean > 0.5, labelled.score.passed) for labelled in decided)
    return [_OutcomePair(case, people, judged) for case, people, judged in outcomes if judged is not None]


def _outcome_agreement(group: Sequence[LabelledScore]) -> calibration.OutcomeAgreement | None:
    if not (pairs := _outcome_pairs(group)):
        return None
    table = _confusion((pair.people, pair.judged) for pair in pairs)
    answered = [judged for judged in group if judged.answers]
    decided = [judged for judged in answered if judged.mean != 0.5]
    no_score = [judged.mean > 0.5 for judged in decided if judged.score.passed is None]
    return calibration.OutcomeAgreement(
        confusion=calibration.ConfusionCounts(**dict(zip(_CELLS, table, strict=True))),
        tied=len(answered) - len(decided),
        no_score_pass=sum(no_score),
        no_score_fail=len(no_score) - sum(no_score),
        agreement=_share(pairs),
        kappa=_kappa_figure(pairs),
        precision=_share([p for p in pairs if p.judged], "the criterion passes nothing"),
        recall=_share([p for p in pairs if p.people], "people pass nothing"),
        fail_precision=_share([p for p in pairs if not p.judged], "the criterion fails nothing"),
        fail_recall=_share([p for p in pairs if not p.people], "people fail nothing"),
    )


def _share(pairs: Sequence[_OutcomePair], nothing: str | None = None) -> calibration.LabelFigure:
    """Returns the share of equal outcomes; Wilson's interval with the effective number of scores."""
    if not pairs:
        return calibration.LabelFigure(value=None, count=0, reason=nothing)
    equal = np.asarray([pair.people == pair.judged for pair in pairs], dtype=float)
    value, size = agreement.clustered_share(equal, agreement.cluster_codes([pair.case for pair in pairs]))
    interval = wilson_interval(value * size, size)
    return calibration.LabelFigure(value=value, count=len(pairs), interval=interval)


def _kappa_figure(pairs: Sequence[_OutcomePair]) -> calibration.LabelFigure:
    value = agreement.cohens_kappa([(pair.people, pair.judged) for pair in pairs])
    if value is None:
        why = "people and the criterion give everything one and the same outcome" if pairs else "no score"
        return calibration.LabelFigure(value=None, count=len(pairs), reason=why)
    by_case = grouped((pair.case, (pair.people, pair.judged)) for pair in pairs)
    tables = {case: _confusion(of_case) for case, of_case in by_case.items()}
    return _with_interval(value, len(pairs), agreement.kappa_interval(tables, SEED))


def _alpha(units: Sequence[tuple[str, list[float]]]) -> calibration.LabelFigure:
    value = agreement.krippendorffs_alpha([labels for _, labels in units])
    if value is None:
        return calibration.LabelFigure(value=None, count=len(units), reason="all labels are one and the same")
    return _with_interval(value, len(units), agreement.alpha_interval(grouped(units), SEED))


def _number_agreement(group: Sequence[LabelledScore]) -> calibration.NumberAgreement | None:
    known = [judged for judged in group if judged.answers and judged.score.value is not None]
    if not known:
        return None
    cases, labels = [judged.score.case for judged in known], [judged.mean for judged in known]
    values = [judged.score.value or 0.0 for judged in known]
    gaps = [value - label for value, label in zip(values, labels, strict=True)]
    linked = calibration.LabelFigure(value=None, count=len(known), reason="labels or values do not vary")
    if len(set(values)) > 1 and len(set(labels)) > 1:
        linked = calibration.LabelFigure(value=correlation(values, labels), count=len(known))
    return calibration.NumberAgreement(
        bias=_case_mean(cases, gaps),
        distance=_case_mean(cases, map(abs, gaps)),
        correlation=linked,
        alpha=_alpha([(case, [*pair]) for case, *pair in zip(cases, values, labels, strict=True)]),
    )


def _case_mean(cases: Sequence[str], values: Iterable[float]) -> calibration.LabelFigure:
    by_case = grouped(zip(cases, map(float, values), strict=True))
    means = CaseMeans({case: sum(of_case) / len(of_case) for case, of_case in by_case.items()}, SEED)
    interval = means.interval()
    why = None if interval else "there is one case, or no two differ"
    return calibration.LabelFigure(value=means.mean, count=len(cases), interval=interval, reason=why)


def _confusion(pairs: Iterable[tuple[bool, bool]]) -> agreement.Confusion:
    """Returns the counts of whether people and a criterion pass scores."""
    counts, outcomes = Counter(pairs), ((True, True), (False, True), (True, False), (False, False))
    return agreement.Confusion(*(counts[pair] for pair in outcomes))


def _with_interval(value: float, count: int, interval: Bounds | None) -> calibration.LabelFigure:
    why = None if interval else "too few labels, or too few that differ, for an interval"
    return calibration.LabelFigure(value=value, count=count, interval=interval, reason=why)


# Figures of all scores without the judge's bias, by labels of a random sample.


class _ScoreGroup(NamedTuple):
    """A part of the scores: all, an app version, or a slice."""

    kind: calibration.CalibrationGroup
    name: str | None

    def holds(self, score: JudgedScore) -> bool:
        if self.kind == "app_version":
            return score.app_version == self.name
        return self.kind == "all" or self.name in score.slices


def _score_groups(scores: Sequence[JudgedScore]) -> Iterator[_ScoreGroup]:
    yield _ScoreGroup("all", None)
    versions = dict.fromkeys(score.app_version for score in scores)
    if len(versions) > 1:
        yield from (_ScoreGroup("app_version", name) for name in sorted(versions, key=lambda v: v or ""))
    yield from (_ScoreGroup("slice", name) for name in sorted({n for score in scores for n in score.slices}))


class _Correction(NamedTuple):
    """How the figures of a criterion are corrected; without a scale, its labels have no bounds."""

    sample: RandomPart
    is_mean: bool
    scale: tuple[float, float] | None
    covers_all: bool

    def figure(self, group: _ScoreGroup, scores: Sequence[JudgedScore]) -> calibration.Corrected:
        """Returns the corrected figure of a group, or why there is none."""
        of_group = [score for score in scores if group.holds(score)]
        judged = [score.value if self.is_mean else score.passed for score in of_group]
        decided = [score for score, value in zip(of_group, judged, strict=True) if value is not None]
        known = of_group if self.covers_all else decided
        labels, unlabelled = self.sample.labels, {*self.sample.missing}
        labelled = [score for score in known if score in labels]
        missing = [score for score in known if score in unlabelled]
        others = [score for score in known if score not in labels and score not in unlabelled]
        known_values = [float(value) for value in judged if value is not None]
        corrected = calibration.Corrected(
            group=group.kind,
            name=group.name,
            covers="all" if self.covers_all else "decided",
            scores=len(of_group),
            no_score=len(of_group) - len(decided),
            labels=len(labelled),
            cases=len({score.case for score in labelled}),
            missing=len(missing),
            raw=float(np.mean(known_values)) if known_values else None,
        )
        ends = self.scale or (0.0, 0.0)
        try:
            self._check(corrected, labelled)
            drawn = [*labelled, *missing]
            estimates = [self._estimate(drawn, others, end) for end in (ends if missing else ends[:1])]
        except ValueError as error:
            return replace(corrected, reason=str(error))
        low = min(estimate.interval.low for estimate in estimates)
        high = max(estimate.interval.high for estimate in estimates)
        if self.scale is not None:
            low, high = max(low, self.scale[0]), min(high, self.scale[1])
        value = min(high, max(low, sum(estimate.value for estimate in estimates) / len(estimates)))
        everything = [*labelled, *others]
        is_repeated = len({score.case for score in everything}) < len(everything)
        is_divided = {labels[score] for score in labelled} - {0.0, 1.0}
        is_open = any(score.passed is None for score in everything)
        other = None
        if not (self.is_mean or missing or self.sample.weights or is_repeated or is_divided or is_open):
            table = _confusion((bool(labels[score]), bool(score.passed)) for score in labelled)
            passes = sum(bool(score.passed) for score in everything)
            other = agreement.rogan_gladen(passes, len(everything), table)
        return replace(corrected, value=value, interval=Bounds(low, high), rogan_gladen=other)

    def _check(self, corrected: calibration.Corrected, labelled: Sequence[JudgedScore]) -> None:
        """Raises ValueError if there are too few labels, or what is missing has no bounds."""
        if corrected.cases < FEWEST_CASES:
            few = f"{corrected.labels} of {corrected.cases} cases"
            raise ValueError(f"too few labels: {few}; {FEWEST_CASES} cases are needed")
        if self.sample.weights:
            weights = [self.sample.weights[score] for score in labelled]
            effective = agreement.effective_size(np.asarray(weights, dtype=float))
            if effective < FEWEST_EFFECTIVE:
                few = f"{corrected.labels} tell as much as {effective:.1f} with equal weights"
                why = "the sampling weights rest on too few labels"
                raise ValueError(f"{why}: {few}; {FEWEST_EFFECTIVE} are needed")
        if corrected.missing and self.scale is None:
            raise ValueError(f"{corrected.missing} drawn scores have no label, and the scale has no bounds")

    def _estimate(
        self, drawn: Sequence[JudgedScore], others: Sequence[JudgedScore], missing_label: float
    ) -> agreement.CorrectedEstimate:
        """Returns the estimate if every drawn score that has no label had this one."""
        parts, weights = (drawn, others), self.sample.weights
        labels = [self.sample.labels.get(score, missing_label) for score in drawn]
        drawn_cases, other_cases = ([score.case for score in part] for part in parts)
        drawn_weights = [weights[score] for score in drawn] if weights else None
        design = agreement.SampleDesign(drawn_cases, other_cases, drawn_weights)
        if self.is_mean:
            known = [score.value for score in (*drawn, *others) if score.value is not None]
            usual = sum(known) / len(known) if known else 0.0
            values, rest = ([usual if s.value is None else s.value for s in part] for part in parts)
            return agreement.corrected_mean(labels, values, rest, design)
        judged, of_others = ([score.passed for score in part] for part in parts)
        return agreement.corrected_rate(labels, judged, of_others, SEED, design)
