"""A run's criteria against human labels: what `calibration.json` holds.

Shares are 0..1. Figures have no value where nothing is known, and then say why.
"""

from typing import Literal

import msgspec

from turnwise.schemas.comparison import Bounds

MeasuredLevel = Literal["turn", "conversation"]
CalibrationGroup = Literal["all", "app_version", "slice"]
ThresholdWord = Literal["better", "not shown to be better", "the present one", "no threshold to compare with"]
LabelProblemKind = Literal[
    "unknown", "ambiguous", "contradiction", "mixed", "off_scale", "repeated", "no_label", "after_end"
]


class LabelProblem(msgspec.Struct, frozen=True, kw_only=True):
    """Lines of the label file that are not used, or not as they stand.

    Attributes:
        kind: `unknown`: the run has no such score; `ambiguous`: several scores fit; `contradiction`: one
            rater gave a score different labels; `mixed`: numbers and PASS or FAIL for one criterion;
            `off_scale`: no value of the criterion; `repeated`: the same label again, which counts once;
            `no_label`: the line has none; `after_end`: drawn, but after the last label in that order.
        names: The first of them, such as `c1 turn 2 safety_v1 (line 7)`.
    """

    kind: LabelProblemKind
    count: int
    names: list[str]


class LabelFigure(msgspec.Struct, frozen=True, kw_only=True):
    """A figure with its interval at 95 %, of so many scores; None: not defined, and `reason` says why."""

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
        no_score_pass: Scores that the criterion gives no score and people pass; not in the counts.
        precision: Of what the criterion passes, the share that people pass.
    """

    confusion: ConfusionCounts
    tied: int
    no_score_pass: int
    no_score_fail: int
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
        range: Where it lies in 95 % of bootstrap samples of the cases.
        labels: Labelled scores that it rests on.
        cost: Mean cost of a score on the same labels, which is too low.
        validated_cost: Mean cost in ten-fold cross-validation over cases.
        present: The threshold of the run; None: it has none.
        saving: Mean cost of the present threshold minus the validated cost.
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
    word: ThresholdWord


class Corrected(msgspec.Struct, frozen=True, kw_only=True):
    """A figure of all scores of a group, without the judge's bias; intervals are at 95 %.

    Attributes:
        name: Version or slice; None: all, or a version that the logs do not state.
        covers: What the figure is of: `all` scores, or, where no label is of one without a score, the
            `decided` alone, which is not what was drawn from.
        no_score: Those without an outcome (of means: without a value).
        missing: Drawn scores without a usable label; the interval holds whatever they are.
        raw: The figure of the run, of what it decided.
        value: The corrected figure; None: it is not corrected.
        rogan_gladen: Rogan and Gladen's interval, a second opinion; None: undefined, or of dependent scores.
    """

    group: CalibrationGroup
    name: str | None
    covers: Literal["all", "decided"]
    scores: int
    no_score: int
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
        no_score: Those without a value and an outcome; a sample holds them, too.
        labelled: Scores with at least one usable label.
        cases: Their cases: eval cases, or conversations without one.
        random: Labelled scores of a random sample.
        outcomes: Agreement of outcomes; None: the labels are numbers, or there is no outcome.
        numbers: Agreement of numbers; None: the labels are outcomes.
        between_people: Krippendorff's alpha between raters; None: no score has labels of two raters.
        threshold: The threshold to take; None: see `no_threshold`.
        corrected: Corrected figures: all scores first, then app versions and slices.
    """

    criterion: str
    level: MeasuredLevel
    kind: Literal["outcomes", "numbers"]
    scores: int
    no_score: int
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
        labels: Paths of the label files, those of criteria kept from earlier calibrations included.
        lines: Lines of the last calibration with a label, or of a drawn score.
        problems: Lines that are not used, by kind.
    """

    run_id: str
    labels: list[str]
    lines: int
    problems: list[LabelProblem]
    false_pass_cost: float
    false_fail_cost: float
    criteria: list[CriterionCalibration]


_LARGEST_WEIGHT = 1e9
_LARGEST_NUMBER = 1e15

LabelAnswer = Literal["up", "down", "PASS", "FAIL"]
_LABELS = "label is PASS, FAIL, up, down, a number from -1e15 to 1e15, or null: none yet"
"""What a person says of an outcome; `up` means PASS, `down` FAIL."""


class LabelDraw(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a random sample was drawn. All labels of one sample have the same one.

    A sample is of one criterion and of one level (turns, or whole conversations), over a whole run: a sample
    of what a filter shows is `hand-picked`.

    Attributes:
        size: How many were drawn, each with the same probability and without replacement.
        of: From how many: all scores of the criterion at that level in the run, those without a value
            included, or all conversations that have such scores.
        unit: What was drawn: single scores, or conversations with all of their scores of the criterion.
    """

    seed: int | str
    size: int
    of: int
    unit: Literal["score", "conversation"] = "score"

    def __post_init__(self) -> None:
        if not 1 <= self.size <= self.of:
            raise ValueError("size is 1 or more, and not more than of")


class HumanLabel(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one person says of one score. Every line stands for itself: files may be joined.

    Attributes:
        turn_index: 0-based turn; None: the whole conversation.
        score_id: Id of the score, as in the table of scores; None: found by the three columns above.
        app_version: Version of the agent; needed where a run has the same conversation id in several.
        label: An answer, or a number on the scale of the criterion. None: the score was drawn, and has no
            label (yet). A sample has a line for everything drawn.
        rater: Who labelled; None: one person.
        chosen: How the score was chosen: `random` needs `draw` or `weight`.
        draw: The random sample it was drawn in.
        number: 1-based place of what was drawn (the conversation, or the score) in the order of drawing.
            Labels in that order may end early: what comes after the last label is not of the sample.
        weight: Sampling weight, 1 divided by the probability of being drawn, 1e-9 to 1e9; None: `draw`'s.
    """

    conversation_id: str
    criterion: str
    turn_index: int | None = None
    score_id: str | None = None
    app_version: str | None = None
    label: LabelAnswer | float | None = None
    comment: str | None = None
    rater: str | None = None
    chosen: Literal["hand-picked", "random"] = "hand-picked"
    draw: LabelDraw | None = None
    number: int | None = None
    weight: float | None = None

    def __post_init__(self) -> None:
        if self.chosen == "random" and self.draw is None and self.weight is None:
            raise ValueError("a random label needs draw or weight")
        if self.chosen != "random" and (self.draw or self.number or self.weight) is not None:
            raise ValueError("draw, number and weight are of random labels")
        if self.weight is not None and not 1 / _LARGEST_WEIGHT <= self.weight <= _LARGEST_WEIGHT:
            raise ValueError("weight is 1 divided by the probability of being drawn, from 1e-9 to 1e9")
        if isinstance(self.label, float) and not abs(self.label) <= _LARGEST_NUMBER:
            raise ValueError(_LABELS)
        if self.number is not None and self.number < 1:
            raise ValueError("number is 1 or more")


def parse_label(line: bytes | str) -> HumanLabel:
    """Returns a label from one line of JSON; raises ValueError, which says which key is wrong.

    >>> parse_label('{"conversation_id": "c1", "criterion": "safety_v1", "label": "down"}').label
    'down'
    """
    try:
        return msgspec.json.decode(line, type=HumanLabel)
    except msgspec.ValidationError as error:
        fault = str(error)
        if fault.endswith("`$.label`"):
            fault += f"; {_LABELS}"
        elif "unknown field" in fault:
            fault += f"; there are {', '.join(HumanLabel.__struct_fields__)}"
        elif fault.endswith("`$.chosen`"):
            fault += "; chosen is hand-picked or random"
        elif fault.startswith("Expected `object`"):
            fault += "; each line is one label, a JSON object"
        raise ValueError(fault) from None
    except msgspec.DecodeError as error:  # a CSV file, or an object over several lines
        raise ValueError(f"{error}; each line is one label, a JSON object") from None


# How stable the verdicts of a judge are: what `judge_check.json` holds. Shares are 0..1.


class CheckFigure(msgspec.Struct, frozen=True, kw_only=True):
    """The verdicts of one criterion under one perturbation.

    Attributes:
        changed: Those of them that changed.
        unmeasured: Reason -> verdicts not measured; a question of which nothing is known counts as one.
    """

    questions: int
    verdicts: int
    changed: int
    share: float | None
    interval: Bounds | None
    unmeasured: dict[str, int]


class CheckedCriterion(msgspec.Struct, frozen=True, kw_only=True):
    """One judged criterion.

    Attributes:
        conversations: Conversations of the sample about which it asks.
        questions: Its questions about them.
        errors: How often it failed with an error, so that questions are missing.
        repeat: Verdicts whose votes on the same question are not all the same; None: it asks nothing.
        swap: Verdicts that change with the order of what is interchangeable; None: does not apply.
        paraphrase: Verdicts that change with other words of the instructions; None: does not apply.
    """

    criterion: str
    conversations: int
    questions: int
    errors: int
    repeat: CheckFigure | None
    swap: CheckFigure | None
    paraphrase: CheckFigure | None


class CheckCost(msgspec.Struct, frozen=True, kw_only=True):
    """Calls of a check, estimated or made; None: a model states no tokens, or (of the cost) has no price."""

    calls: int
    tokens_in: int | None
    tokens_out: int | None
    cost: float | None


class JudgeCheck(msgspec.Struct, frozen=True, kw_only=True):
    """A check of a judge.

    Attributes:
        model: The models that are asked, as the config names them, with commas between them.
        votes: How often each question was asked in each form.
        problems: Why the exit status is 1, one line each.
    """

    model: str
    votes: int
    sample: int
    seed: int
    conversations: int
    records_rejected: int
    estimate: CheckCost
    used: CheckCost | None
    criteria: list[CheckedCriterion]
    problems: list[str]
