"""A run against human labels."""

from collections.abc import Mapping, Sequence

from turnwise.schemas.calibration import Calibration, Corrected, CriterionCalibration, SliceAgreement
from turnwise.transforms.calibration.agreement import (
    agreement_figure,
    kappa_figure,
    number_agreement,
    outcome_agreement,
    outcome_pairs,
    people_agreement,
)
from turnwise.transforms.calibration.correction import Correction, score_groups
from turnwise.transforms.calibration.sampling import NoCorrectionError, random_part
from turnwise.transforms.calibration.scores import CriterionKey, JudgedScore, Ruler
from turnwise.transforms.calibration.thresholds import ErrorCosts, threshold_advice
from turnwise.transforms.decisions.calibration.labels import (
    JoinedLabels,
    LabelledScore,
    LabelLine,
    LabelProblems,
    joined_labels,
)
from turnwise.transforms.statistics.resampling import SEED

_MOST_SLICES = 100


def calibrate(
    run_id: str,
    files: Sequence[str],
    lines: Sequence[LabelLine],
    scores: Sequence[JudgedScore],
    rulers: Mapping[str, Ruler],
    costs: ErrorCosts,
) -> Calibration:
    """Returns what labels say of the criteria of a run.

    Args:
        run_id: Id of the run.
        files: Names of the label files.
        lines: The labels.
        scores: All scores of the run, verdicts included.
        rulers: Criterion -> what it measures with.
        costs: Costs of errors, for thresholds.
    """
    problems = LabelProblems()
    joined = joined_labels(lines, scores, rulers, problems)
    by_key: dict[CriterionKey, list[JudgedScore]] = {key: [] for key in joined.groups}
    for score in scores:
        if score.key in by_key:
            by_key[score.key].append(score)
    criteria = [
        _criterion(key, joined, by_key[key], rulers.get(key.criterion, Ruler()), costs, SEED)
        for key in sorted(joined.groups)
    ]
    return Calibration(
        run_id=run_id,
        labels=[*files],
        lines=len(lines),
        problems=problems.found(),
        false_pass_cost=costs.false_pass,
        false_fail_cost=costs.false_fail,
        criteria=criteria,
    )


def _criterion(
    key: CriterionKey,
    joined: JoinedLabels,
    scores: Sequence[JudgedScore],
    ruler: Ruler,
    costs: ErrorCosts,
    seed: int,
) -> CriterionCalibration:
    group, is_number = joined.groups[key], key in joined.numbers
    labelled = [one for one in group if one.answers]
    advice = "labels are numbers" if is_number else threshold_advice(group, ruler, costs, seed)
    corrected, refusal = _corrected(group, scores, is_number, ruler, seed)
    return CriterionCalibration(
        criterion=key.criterion,
        level=key.level,
        kind="numbers" if is_number else "outcomes",
        scores=len(scores),
        unscored=sum(score.value is None and score.passed is None for score in scores),
        labelled=len(labelled),
        cases=len({one.score.case for one in labelled}),
        raters=len({rater for one in labelled for rater in one.answers}),
        random=sum(one.is_random for one in labelled),
        hand_picked=sum(not one.is_random for one in labelled),
        outcomes=None if is_number else outcome_agreement(group, seed),
        numbers=number_agreement(group, seed) if is_number else None,
        between_people=people_agreement(group, seed),
        threshold=None if isinstance(advice, str) else advice,
        no_threshold=advice if isinstance(advice, str) else None,
        slices=[] if is_number else _slices(labelled, seed),
        measure="mean" if is_number else "pass_rate",
        corrected=corrected,
        not_corrected=refusal,
    )


def _corrected(
    group: Sequence[LabelledScore], scores: Sequence[JudgedScore], is_number: bool, ruler: Ruler, seed: int
) -> tuple[list[Corrected], str | None]:
    """Returns the corrected figures, and why there is none of all scores."""
    if not is_number and all(score.passed is None for score in scores):
        if any(score.value is not None for score in scores):
            return [], "the criterion has no threshold, so that there is no pass rate to correct"
        return [], f"none of the {len(scores)} scores is decided"
    if is_number and all(score.value is None for score in scores):
        return [], f"none of the {len(scores)} scores has a value"
    try:
        sample = random_part(group, scores)
    except NoCorrectionError as error:
        return [], str(error)
    correction = Correction(sample, is_number, ruler.scale if is_number else (0.0, 1.0), seed)
    groups = [*score_groups(scores)][:_MOST_SLICES]
    found = [correction.figure(one, scores) for one in groups]
    return found, found[0].reason


def _slices(labelled: Sequence[LabelledScore], seed: int) -> list[SliceAgreement]:
    found = []
    for group in [*score_groups([one.score for one in labelled])][1 : _MOST_SLICES + 1]:
        pairs = outcome_pairs([one for one in labelled if group.holds(one.score)])
        if pairs and group.kind != "all":
            found.append(
                SliceAgreement(
                    group=group.kind,
                    name=group.name,
                    agreement=agreement_figure(pairs),
                    kappa=kappa_figure(pairs, seed),
                )
            )
    return found
