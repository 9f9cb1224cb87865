"""Brings labels and scores together. Every line that is not used is named, with why."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, get_args

from msgspec import Struct, field

from turnwise.schemas.calibration import HumanLabel, LabelDraw, LabelProblem, LabelProblemKind, MeasuredLevel
from turnwise.schemas.conversation import turn_name
from turnwise.schemas.rows import ScoreRow

# Scores of a run as they meet labels.


class CriterionKey(NamedTuple):
    """What is calibrated: a criterion at a level."""

    criterion: str
    level: MeasuredLevel


class JudgedScore(Struct, frozen=True, eq=False):
    """A score of a run.

    Attributes:
        score_id: Its id; None: the run wrote none.
        case: What it depends on: the eval case, or the conversation without one.
        value: Its value; None: no score, or no part of means.
        passed: Its outcome; None: it has none.
    """

    score_id: str | None
    conversation_id: str
    turn_index: int | None
    key: CriterionKey
    case: str
    app_version: str | None
    slices: tuple[str, ...]
    value: float | None
    passed: bool | None
    threshold: float | None

    @property
    def name(self) -> str:
        """How texts name it."""
        turn = "" if self.turn_index is None else f" {turn_name(self.turn_index)}"
        return f"{self.conversation_id}{turn} {self.key.criterion}"


class Scale(Struct, frozen=True):
    """The scale of a criterion, and which way it passes.

    Attributes:
        bounds: Lowest and highest value; None: open-ended, or not known.
        passes_from: Whether it passes from the threshold upwards.
        has_values: Whether labels may be numbers; verdicts have none.
    """

    bounds: tuple[float, float] | None = None
    passes_from: bool = True
    has_values: bool = True


_OUTCOMES = {"PASS": True, "FAIL": False}


def judged_scores(rows: Iterable[ScoreRow], scales: Mapping[str, Scale]) -> list[JudgedScore]:
    """Returns the scores of a run."""
    return [_judged(row, scales.get(row["criterion"], Scale())) for row in rows]


def _judged(row: ScoreRow, scale: Scale) -> JudgedScore:
    value, turn = row["value"], row["turn_index"]
    if value is not None and scale.bounds is not None and value < scale.bounds[0]:
        value = None
    language = [f"language:{row['language']}"] if row["language"] else []
    return JudgedScore(
        score_id=row.get("score_id"),
        conversation_id=row["conversation_id"],
        turn_index=turn,
        key=CriterionKey(row["criterion"], "conversation" if turn is None else "turn"),
        case=row["eval_id"] or row["conversation_id"],
        app_version=row["app_version"],
        slices=(*row["tags"], *language),
        value=value,
        passed=_OUTCOMES.get(row["outcome"] or ""),
        threshold=row["threshold"],
    )


_NAMED = 5
_ANSWERS = {"PASS": 1.0, "up": 1.0, "FAIL": 0.0, "down": 0.0}


class LabelLine(NamedTuple):
    """A label and where it stands."""

    label: HumanLabel
    place: str

    @property
    def name(self) -> str:
        """How texts name it."""
        turn = "" if self.label.turn_index is None else f" {turn_name(self.label.turn_index)}"
        return f"{self.label.conversation_id}{turn} {self.label.criterion} ({self.place})"


class LabelledScore(Struct):
    """A score with what people say of it.

    Attributes:
        answers: Rater -> 1 (PASS) or 0 (FAIL), or a number.
        draw: The random sample it is of; None: none, or one with weights.
    """

    score: JudgedScore
    lines: list[LabelLine] = field(default_factory=list)
    answers: dict[str | None, float] = field(default_factory=dict)
    draw: LabelDraw | None = None
    number: int | None = None
    weight: float | None = None
    is_random: bool = False

    @property
    def mean(self) -> float:
        """Mean of the answers; of outcomes the share of raters that let it pass."""
        return sum(self.answers.values()) / len(self.answers)


class LabelProblems:
    """Collects lines that are not used."""

    def __init__(self) -> None:
        self._lines: dict[LabelProblemKind, list[str]] = defaultdict(list)

    def add(self, kind: LabelProblemKind, lines: Iterable[LabelLine]) -> None:
        """Adds lines of a kind."""
        self._lines[kind] += [line.name for line in lines]

    def found(self) -> list[LabelProblem]:
        """Returns the kinds that there are, in the order of their definition."""
        kinds = (kind for kind in get_args(LabelProblemKind) if self._lines.get(kind))
        return [
            LabelProblem(kind=kind, count=len(self._lines[kind]), names=self._lines[kind][:_NAMED])
            for kind in kinds
        ]


class JoinedLabels(NamedTuple):
    """Labelled scores by criterion and level, and the criteria whose labels are numbers."""

    groups: dict[CriterionKey, list[LabelledScore]]
    numbers: frozenset[CriterionKey]


def joined_labels(
    lines: Sequence[LabelLine],
    scores: Sequence[JudgedScore],
    scales: Mapping[str, Scale],
    problems: LabelProblems,
) -> JoinedLabels:
    """Returns the labelled scores; those that were drawn and have no usable label are among them."""
    groups: dict[CriterionKey, list[LabelledScore]] = defaultdict(list)
    for labelled in _by_score(lines, scores, problems).values():
        groups[labelled.score.key].append(labelled)
    numbers = {key for key, group in groups.items() if _is_of_numbers(key, group, scales, problems)}
    for group in groups.values():
        for labelled in group:
            _answer(labelled, problems)
        _name_missing(group, problems)
    used = {key: group for key, group in groups.items() if any(score.answers for score in group)}
    return JoinedLabels(used, frozenset(numbers))


def _by_score(
    lines: Sequence[LabelLine], scores: Sequence[JudgedScore], problems: LabelProblems
) -> dict[JudgedScore, LabelledScore]:
    by_id: dict[str, list[JudgedScore]] = defaultdict(list)
    by_place: dict[tuple[str, int | None, str], list[JudgedScore]] = defaultdict(list)
    for score in scores:
        by_place[score.conversation_id, score.turn_index, score.key.criterion].append(score)
        if score.score_id is not None:
            by_id[score.score_id].append(score)
    by_score: dict[JudgedScore, LabelledScore] = {}
    for line in lines:
        label = line.label
        fitting = by_place.get((label.conversation_id, label.turn_index, label.criterion), [])
        if label.score_id is not None and any(score.score_id for score in fitting):
            fitting = [score for score in fitting if score in by_id.get(label.score_id, ())]
        elif label.app_version is not None:
            fitting = [score for score in fitting if score.app_version == label.app_version]
        if len(fitting) != 1:
            problems.add("ambiguous" if fitting else "unknown", [line])
            continue
        labelled = by_score.setdefault(fitting[0], LabelledScore(fitting[0]))
        labelled.lines.append(line)
        if label.chosen == "random":
            labelled.is_random = True
            labelled.draw = labelled.draw or label.draw
            labelled.number = labelled.number or label.number
            labelled.weight = labelled.weight or label.weight
    return by_score


def _is_of_numbers(
    key: CriterionKey, group: Sequence[LabelledScore], scales: Mapping[str, Scale], problems: LabelProblems
) -> bool:
    """Returns whether the labels are numbers; takes away the lines of labels that are on no common scale."""
    lines = [line for labelled in group for line in labelled.lines]
    numbers = [line for line in lines if isinstance(line.label.label, float)]
    outcomes = [line for line in lines if isinstance(line.label.label, str)]
    scale = scales.get(key.criterion, Scale())
    kind: LabelProblemKind | None = "mixed" if numbers and outcomes else None
    if numbers and kind is None and not (scale.has_values and all(_is_on(line, scale) for line in numbers)):
        kind = "off_scale"
    if kind is not None:
        problems.add(kind, [*numbers, *outcomes])
        for labelled in group:
            labelled.lines = [line for line in labelled.lines if line.label.label is None]
    return bool(numbers) and kind is None


def _is_on(line: LabelLine, scale: Scale) -> bool:
    value = line.label.label
    return scale.bounds is None or (isinstance(value, float) and scale.bounds[0] <= value <= scale.bounds[1])


def _answer(labelled: LabelledScore, problems: LabelProblems) -> None:
    """Sets the answer of every rater who gave one, and not two different ones."""
    by_rater: dict[str | None, list[LabelLine]] = defaultdict(list)
    for line in labelled.lines:
        if line.label.label is not None:
            by_rater[line.label.rater].append(line)
    for rater, lines in by_rater.items():
        values = [label_number(line.label.label) for line in lines]
        if len(set(values)) > 1:
            problems.add("contradiction", lines)
            continue
        problems.add("repeated", lines[1:])
        labelled.answers[rater] = values[0]


def label_number(label: str | float | None) -> float:
    """Returns a label as a number: 1 for PASS, 0 for FAIL."""
    return _ANSWERS[label] if isinstance(label, str) else float(label or 0.0)


def _name_missing(group: Sequence[LabelledScore], problems: LabelProblems) -> None:
    last = _last_number(group)
    for labelled in group:
        missing = [line for line in labelled.lines if line.label.label is None]
        if missing and not labelled.answers:
            is_after = labelled.number is not None and last is not None and labelled.number > last
            problems.add("after_end" if is_after else "no_label", missing)


def _last_number(group: Iterable[LabelledScore]) -> int | None:
    """Returns the last place in the order of drawing that has a label; None without such places."""
    return max(
        (judged.number for judged in group if judged.number is not None and judged.answers), default=None
    )


# Whether labels are of a random sample of all scores, and of which.

FEWEST_CASES = 30
"""Labelled cases that a correction needs: with fewer, intervals hold the truth in less than 94 %."""
FEWEST_EFFECTIVE = 20
"""The same of labels with unequal weights: how many with equal weights have to tell as much."""


class NoCorrectionError(ValueError):
    """Nothing can be corrected; the message is why, in one line."""


class RandomPart(Struct, frozen=True):
    """The scores that were drawn.

    Attributes:
        missing: Drawn scores without a usable label.
        weights: Score -> sampling weight; None: all the same.
    """

    labels: dict[JudgedScore, float]
    missing: list[JudgedScore]
    weights: dict[JudgedScore, float] | None


def random_part(group: Sequence[LabelledScore], scores: Sequence[JudgedScore]) -> RandomPart:
    """Returns the random sample that labels are of.

    Args:
        group: The labelled scores of a criterion at a level.
        scores: All of its scores at that level.

    Raises:
        NoCorrectionError: There is none, or it is not whole.
    """
    drawn = [judged for judged in group if judged.is_random]
    if not drawn:
        raise NoCorrectionError(
            "the labels are hand-picked; only labels of a random sample speak for all conversations"
        )
    last = _last_number(drawn)
    draws = {judged.draw for judged in drawn if judged.draw is not None}
    if len(draws) > 1:
        raise NoCorrectionError(f"the labels are of {len(draws)} random samples; give those of one")
    weights = {judged.score: judged.weight for judged in drawn if judged.weight is not None}
    if weights and len(weights) < len(drawn):
        raise NoCorrectionError(f"{len(drawn) - len(weights)} of {len(drawn)} labels have no sampling weight")
    if last is not None and all(judged.number is not None for judged in drawn):
        drawn = [judged for judged in drawn if (judged.number or 0) <= last]
    else:
        last = None
    left_out = _check_draw(next(iter(draws)), drawn, scores, last) if draws else []
    missing = [judged.score for judged in drawn if not judged.answers] + left_out
    labels = {judged.score: judged.mean for judged in drawn if judged.answers}
    return RandomPart(labels, missing, weights or None)


def _check_draw(
    draw: LabelDraw, drawn: Sequence[LabelledScore], scores: Sequence[JudgedScore], last: int | None
) -> list[JudgedScore]:
    """Returns drawn scores that have no line; raises NoCorrectionError if the sample is not of the run."""
    units = {_unit(draw, score) for score in scores}
    what = f"{draw.unit}s"
    if draw.of != len(units):
        raise NoCorrectionError(
            f"the sample was drawn from {draw.of} {what}, but the run has {len(units)} with this criterion"
        )
    wanted = draw.size if last is None else min(last, draw.size)
    seen = {_unit(draw, judged.score) for judged in drawn}
    if len(seen) != wanted:
        raise NoCorrectionError(
            f"the sample has {wanted} {what}, but the file has lines of {len(seen)} that fit the run; every "
            "drawn score needs a line, with the label null where it has none"
        )
    known = {judged.score for judged in drawn}
    return [score for score in scores if _unit(draw, score) in seen and score not in known]


def _unit(draw: LabelDraw, score: JudgedScore) -> object:
    return score if draw.unit == "score" else (score.conversation_id, score.app_version, score.case)
