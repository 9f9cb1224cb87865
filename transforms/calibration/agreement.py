"""How far a criterion and people agree."""

from collections import defaultdict
from collections.abc import Sequence
from statistics import correlation
from typing import NamedTuple

import numpy as np

from turnwise.schemas.calibration import ConfusionCounts, LabelFigure, NumberAgreement, OutcomeAgreement
from turnwise.schemas.comparison import Bounds
from turnwise.transforms.calibration.correction import confusion
from turnwise.transforms.decisions.calibration.labels import LabelledScore
from turnwise.transforms.statistics.agreement import (
    Confusion,
    alpha_interval,
    cluster_codes,
    clustered_share,
    cohens_kappa,
    kappa_interval,
    krippendorffs_alpha,
)
from turnwise.transforms.statistics.resampling import CaseMeans
from turnwise.transforms.statistics.tests import Interval, wilson_interval


class OutcomePair(NamedTuple):
    """What the majority of raters and the criterion say of one score."""

    case: str
    people: bool
    judged: bool


def outcome_pairs(group: Sequence[LabelledScore]) -> list[OutcomePair]:
    """Returns the scores with an outcome on both sides, without those whose raters are equally divided."""
    return [
        OutcomePair(one.score.case, one.mean > 0.5, one.score.passed)
        for one in group
        if one.answers and one.score.passed is not None and one.mean != 0.5
    ]


def outcome_agreement(group: Sequence[LabelledScore], seed: int) -> OutcomeAgreement | None:
    """Returns the agreement of outcomes; None: no score has one on both sides."""
    pairs = outcome_pairs(group)
    tied = sum(bool(one.answers) and one.mean == 0.5 for one in group)
    if not pairs:
        return None
    table = _table(pairs)
    undecided = [
        one.mean > 0.5 for one in group if one.answers and one.score.passed is None and one.mean != 0.5
    ]
    return OutcomeAgreement(
        confusion=ConfusionCounts(
            both_pass=table.true_pass,
            false_pass=table.false_pass,
            false_fail=table.false_fail,
            both_fail=table.true_fail,
        ),
        tied=tied,
        undecided_pass=sum(undecided),
        undecided_fail=len(undecided) - sum(undecided),
        agreement=agreement_figure(pairs),
        kappa=kappa_figure(pairs, seed),
        precision=_share([p for p in pairs if p.judged], "the criterion passes nothing"),
        recall=_share([p for p in pairs if p.people], "people pass nothing"),
        fail_precision=_share([p for p in pairs if not p.judged], "the criterion fails nothing"),
        fail_recall=_share([p for p in pairs if not p.people], "people fail nothing"),
    )


def agreement_figure(pairs: Sequence[OutcomePair]) -> LabelFigure:
    """Returns the share of equal outcomes."""
    return _share(pairs, "no score has an outcome on both sides")


def _share(pairs: Sequence[OutcomePair], nothing: str) -> LabelFigure:
    """Returns the share of equal outcomes; Wilson's interval with the effective number of scores."""
    if not pairs:
        return LabelFigure(value=None, count=0, reason=nothing)
    equal = np.asarray([pair.people == pair.judged for pair in pairs], dtype=float)
    share = clustered_share(equal, cluster_codes([pair.case for pair in pairs]))
    interval = wilson_interval(share.value * share.size, share.size)
    return LabelFigure(value=share.value, count=len(pairs), interval=_bounds(interval))


def kappa_figure(pairs: Sequence[OutcomePair], seed: int) -> LabelFigure:
    """Returns Cohen's kappa with the bootstrap's interval over cases."""
    value = cohens_kappa([(pair.people, pair.judged) for pair in pairs])
    if value is None:
        why = "people and the criterion give everything one and the same outcome" if pairs else "no score"
        return LabelFigure(value=None, count=len(pairs), reason=why)
    by_case: dict[str, list[OutcomePair]] = defaultdict(list)
    for pair in pairs:
        by_case[pair.case].append(pair)
    interval = kappa_interval({case: _table(own) for case, own in by_case.items()}, seed)
    return _with_interval(value, len(pairs), interval)


def people_agreement(group: Sequence[LabelledScore], seed: int) -> LabelFigure | None:
    """Returns Krippendorff's alpha between raters; None: no score has labels of two."""
    units = [(one.score.case, [*one.answers.values()]) for one in group if len(one.answers) > 1]
    return _alpha(units, seed) if units else None


def _alpha(units: Sequence[tuple[str, list[float]]], seed: int) -> LabelFigure:
    value = krippendorffs_alpha([labels for _, labels in units])
    if value is None:
        return LabelFigure(value=None, count=len(units), reason="all labels are one and the same")
    by_case: dict[str, list[list[float]]] = defaultdict(list)
    for case, labels in units:
        by_case[case].append(labels)
    return _with_interval(value, len(units), alpha_interval(by_case, seed))


def number_agreement(group: Sequence[LabelledScore], seed: int) -> NumberAgreement | None:
    """Returns the agreement of values with numbers; None: no score has both."""
    known = [
        (one.score.case, one.score.value, one.mean)
        for one in group
        if one.answers and one.score.value is not None
    ]
    if not known:
        return None
    values, labels = [value for _, value, _ in known], [label for *_, label in known]
    linked = LabelFigure(value=None, count=len(known), reason="labels or values do not vary")
    if len(set(values)) > 1 and len(set(labels)) > 1:
        linked = LabelFigure(value=correlation(values, labels), count=len(known))
    return NumberAgreement(
        bias=case_mean([(case, value - label) for case, value, label in known], seed),
        distance=case_mean([(case, abs(value - label)) for case, value, label in known], seed),
        correlation=linked,
        alpha=_alpha([(case, [value, label]) for case, value, label in known], seed),
    )


def case_mean(values: Sequence[tuple[str, float]], seed: int) -> LabelFigure:
    """Returns the mean over the means of the cases, with the bootstrap's interval."""
    by_case: dict[str, list[float]] = defaultdict(list)
    for case, value in values:
        by_case[case].append(value)
    means = CaseMeans({case: sum(own) / len(own) for case, own in by_case.items()}, seed)
    interval = means.interval()
    why = None if interval else "there is one case, or no two differ"
    return LabelFigure(value=means.mean, count=len(values), interval=_bounds(interval), reason=why)


def _table(pairs: Sequence[OutcomePair]) -> Confusion:
    return confusion([pair.people for pair in pairs], [pair.judged for pair in pairs])


def _with_interval(value: float, count: int, interval: Interval | None) -> LabelFigure:
    why = None if interval else "too few labels, or too few that differ, for an interval"
    return LabelFigure(value=value, count=count, interval=_bounds(interval), reason=why)


def _bounds(interval: Interval | None) -> Bounds | None:
    return Bounds(*interval) if interval else None
