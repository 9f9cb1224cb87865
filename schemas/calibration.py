"""A run's criteria against human labels: what `calibration.json` holds.

Shares are 0..1. Figures have no value where nothing is known, and then say why.
"""

from typing import Literal

import msgspec

from turnwise.schemas.difference import Bounds

MeasuredLevel = Literal["turn", "conversation"]
CalibrationGroup = Literal["all", "app_version", "slice"]
LabelProblemKind = Literal[
    "unknown",
    "ambiguous",
    "contradiction",
    "mixed",
    "off_scale",
    "repeated",
    "no_label",
    "after_end",
]


class LabelProblem(msgspec.Struct, frozen=True, kw_only=True):
    """Lines of the label file that are not used, or not as they stand.

    Attributes:
        kind: `unknown`: the run has no such score; `ambiguous`: several scores fit; `contradiction`: one
            rater gave a score different labels; `mixed`: numbers and PASS or FAIL for one criterion;
            `off_scale`: no value of the criterion;
            `repeated`: the same label again, which counts once; `no_label`: the line has none; `after_end`:
            drawn, but after the last label in the order of drawing.
        count: Number of lines.
        names: The first of them, such as `c1 turn 2 safety_v1 (line 7)`.
    """

    kind: LabelProblemKind
    count: int
    names: list[str]


class LabelFigure(msgspec.Struct, frozen=True, kw_only=True):
    """A figure with its interval at 95 %.

    Attributes:
        value: The figure; None: not defined.
        interval: Its interval; None: not defined.
        count: Scores that it is of.
        reason: Why there is no value, or no interval.
    """

    value: float | None
    count: int
    interval: Bounds | None = None
    reason: str | None = None


class ConfusionCounts(msgspec.Struct, frozen=True, kw_only=True):
    """Scores by what people and the criterion say of them."""

    both_pass: int
    false_pass: int
    false_fail: int
    both_fail: int


class OutcomeAgreement(msgspec.Struct, frozen=True, kw_only=True):
    """Outcomes of a criterion against what people say.

    Attributes:
        confusion: Counts; of several raters the majority decides.
        tied: Scores whose raters are equally divided; they are not in the counts.
        undecided_pass: Scores that the criterion leaves undecided and people pass; not in the counts.
        undecided_fail: Those that people fail.
        agreement: Share of equal outcomes.
        kappa: Cohen's kappa.
        precision: Of what the criterion passes, the share that people pass.
        recall: Of what people pass, the share that the criterion passes.
        fail_precision: Of what the criterion fails, the share that people fail.
        fail_recall: Of what people fail, the share that the criterion fails.
    """

    confusion: ConfusionCounts
    tied: int
    undecided_pass: int
    undecided_fail: int
    agreement: LabelFigure
    kappa: LabelFigure
    precision: LabelFigure
    recall: LabelFigure
    fail_precision: LabelFigure
    fail_recall: LabelFigure


class NumberAgreement(msgspec.Struct, frozen=True, kw_only=True):
    """Values of a criterion against numbers that people give.

    Attributes:
        bias: Mean of value minus label; over the cases' means.
        distance: Mean of the absolute difference; over the cases' means.
        correlation: Pearson's correlation.
        alpha: Krippendorff's alpha of the value and the mean label.
    """

    bias: LabelFigure
    distance: LabelFigure
    correlation: LabelFigure
    alpha: LabelFigure


class ThresholdAdvice(msgspec.Struct, frozen=True, kw_only=True):
    """The threshold with the lowest cost of errors on the labels.

    Attributes:
        threshold: The threshold.
        range: Where it lies in 95 % of bootstrap samples of the cases.
        labels: Labelled scores that it rests on.
        cases: Their cases.
        cost: Mean cost of a score on the same labels, which is too low.
        validated_cost: Mean cost in ten-fold cross-validation over cases.
        present: The threshold of the run; None: it has none.
        present_cost: Its mean cost.
        saving: Mean cost of the present threshold minus the validated cost.
        word: What may be said.
    """

    threshold: float
    range: Bounds
    labels: int
    cases: int
    cost: float
    validated_cost: LabelFigure
    present: float | None
    present_cost: LabelFigure | None
    saving: LabelFigure | None
    word: Literal["better", "not shown to be better", "the present one", "no threshold to compare with"]


class Corrected(msgspec.Struct, frozen=True, kw_only=True):
    """A figure of all scores of a group, without the judge's bias.

    Attributes:
        group: `all`, `app_version` or `slice`.
        name: Version or slice; None: all, or a version that the logs do not state.
        covers: What the figure is of: `all` scores, or, where no label is of an undecided one, the
            `decided` alone, which is not what was drawn from.
        scores: Scores of the group.
        undecided: Those without an outcome (of means: without a value).
        labels: Labelled scores that it rests on.
        cases: Cases of the labelled scores.
        missing: Drawn scores without a usable label; the interval holds whatever they are.
        raw: The figure of the run, of what it decided.
        value: The corrected figure; None: it is not corrected.
        interval: Its interval at 95 %.
        rogan_gladen: Rogan and Gladen's interval, a second opinion; None: not defined, or the scores are not
            independent.
        reason: Why it is not corrected.
    """

    group: CalibrationGroup
    name: str | None
    covers: Literal["all", "decided"]
    scores: int
    undecided: int
    labels: int
    cases: int
    missing: int
    raw: float | None
    value: float | None = None
    interval: Bounds | None = None
    rogan_gladen: Bounds | None = None
    reason: str | None = None


class SliceAgreement(msgspec.Struct, frozen=True, kw_only=True):
    """Agreement in an app version or a slice."""

    group: CalibrationGroup
    name: str | None
    agreement: LabelFigure
    kappa: LabelFigure | None


class CriterionCalibration(msgspec.Struct, frozen=True, kw_only=True):
    """One criterion, at one level, against its labels.

    Attributes:
        criterion: Name of the criterion; `evaluation_status`: the verdicts.
        level: MeasuredLevel of its scores and labels.
        kind: Whether the labels are outcomes or numbers.
        scores: Scores of the run.
        unscored: Those without a value and an outcome; a sample holds them, too.
        labelled: Scores with at least one usable label.
        cases: Their cases: eval cases, or conversations without one.
        raters: Number of raters.
        random: Labelled scores of a random sample.
        hand_picked: The others.
        outcomes: Agreement of outcomes; None: the labels are numbers, or there is no outcome.
        numbers: Agreement of numbers; None: the labels are outcomes.
        between_people: Krippendorff's alpha between raters; None: no score has labels of two raters.
        threshold: The threshold to take; None: see `no_threshold`.
        no_threshold: Why none is suggested.
        slices: Agreement by app version and slice.
        measure: What is corrected.
        corrected: Corrected figures: all scores first, then app versions and slices.
        not_corrected: Why nothing is corrected.
    """

    criterion: str
    level: MeasuredLevel
    kind: Literal["outcomes", "numbers"]
    scores: int
    unscored: int
    labelled: int
    cases: int
    raters: int
    random: int
    hand_picked: int
    outcomes: OutcomeAgreement | None = None
    numbers: NumberAgreement | None = None
    between_people: LabelFigure | None = None
    threshold: ThresholdAdvice | None = None
    no_threshold: str | None = None
    slices: list[SliceAgreement] = []
    measure: Literal["pass_rate", "mean"] = "pass_rate"
    corrected: list[Corrected] = []
    not_corrected: str | None = None


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """The criteria of a run against human labels.

    Attributes:
        run_id: Id of the run.
        labels: Paths of the label files, those of criteria kept from earlier calibrations included.
        lines: Lines of the last calibration with a label, or of a drawn score.
        problems: Lines that are not used, by kind.
        false_pass_cost: Cost of a pass that people fail.
        false_fail_cost: Cost of a fail that people pass.
        criteria: One entry per criterion and level that has labels.
    """

    run_id: str
    labels: list[str]
    lines: int
    problems: list[LabelProblem]
    false_pass_cost: float
    false_fail_cost: float
    criteria: list[CriterionCalibration]
