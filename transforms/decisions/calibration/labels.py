"""Labels: joined with scores, by several people, and what to label next; unused lines are named."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import zip_longest
from math import inf
from typing import Literal, NamedTuple, TypeAlias, get_args

from msgspec import Struct, field
from msgspec.structs import replace

from turnwise.schemas.calibration import HumanLabel, LabelDraw, LabelProblem, LabelProblemKind, MeasuredLevel
from turnwise.schemas.conversation import turn_name
from turnwise.schemas.jsonio import JsonObject, grouped
from turnwise.schemas.rows import ScoreRow
from turnwise.transforms.statistics.agreement import cohens_kappa, krippendorffs_alpha

# Scores of a run as they meet labels.


class CriterionKey(NamedTuple):
    """What is calibrated: a criterion at a level."""

    criterion: str
    level: MeasuredLevel


class JudgedScore(Struct, frozen=True, eq=False):
    """A score of a run; `case` is what it depends on: the eval case, or the conversation without one.

    A `value` of None is no score, or no part of means; `passed` is its outcome, if it has one.
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


class Scale(Struct, frozen=True):
    """The scale of a criterion, and whether it passes from the threshold upwards; verdicts have no values.

    `bounds` are the lowest and highest value; None: open-ended, or not known.
    """

    bounds: tuple[float, float] | None = None
    passes_from: bool = True
    has_values: bool = True


_OUTCOMES = {"PASS": True, "FAIL": False}


def judged_scores(rows: Iterable[ScoreRow], scales: Mapping[str, Scale]) -> Iterator[JudgedScore]:
    """Yields the scores of a run; a value below the scale (no claim) is none."""
    for row in rows:
        value, turn = row["value"], row["turn_index"]
        bounds = scales.get(row["criterion"], Scale()).bounds
        language = [f"language:{row['language']}"] if row["language"] else []
        yield JudgedScore(
            score_id=row.get("score_id"),
            conversation_id=row["conversation_id"],
            turn_index=turn,
            key=CriterionKey(row["criterion"], "conversation" if turn is None else "turn"),
            case=row["eval_id"] or row["conversation_id"],
            app_version=row["app_version"],
            slices=(*row["tags"], *language),
            value=None if value is None or (bounds is not None and value < bounds[0]) else value,
            passed=_OUTCOMES.get(row["outcome"] or ""),
            threshold=row["threshold"],
        )


_NAMED = 5
_PROBLEMS: tuple[LabelProblemKind, ...] = get_args(LabelProblemKind)
_ANSWERS = {"PASS": 1.0, "up": 1.0, "FAIL": 0.0, "down": 0.0}


class LabelLine(NamedTuple):
    """A label and where it stands."""

    label: HumanLabel
    where: str

    @property
    def name(self) -> str:
        """How texts name it."""
        turn = "" if self.label.turn_index is None else f" {turn_name(self.label.turn_index)}"
        return f"{self.label.conversation_id}{turn} {self.label.criterion} ({self.where})"


class LabelledScore(Struct):
    """A score with what people say of it; `answers`: rater -> 1 (PASS) or 0 (FAIL), or a number.

    `draw` is the random sample it is of; None: none, or one with weights.
    """

    score: JudgedScore
    lines: list[LabelLine] = field(default_factory=list)
    answers: dict[str | None, float] = field(default_factory=dict)
    draw: LabelDraw | None = None
    number: int | None = None
    weight: float | None = None
    is_random: bool = False

    def add(self, line: LabelLine) -> None:
        """Adds a line, and what it says of how the score was drawn."""
        self.lines.append(line)
        if line.label.chosen == "random":
            self.is_random = True
            self.draw = self.draw or line.label.draw
            self.number = self.number or line.label.number
            self.weight = self.weight or line.label.weight

    @property
    def mean(self) -> float:
        """Mean of the answers; of outcomes the share of raters that let it pass."""
        return sum(self.answers.values()) / len(self.answers)


class JoinedLabels(NamedTuple):
    """Labelled scores by criterion and level, the criteria whose labels are numbers, and unused lines."""

    groups: dict[CriterionKey, list[LabelledScore]]
    numbers: frozenset[CriterionKey]
    problems: list[LabelProblem]


_Unused: TypeAlias = defaultdict[LabelProblemKind, list[LabelLine]]


def joined_labels(
    lines: Sequence[LabelLine], scores: Sequence[JudgedScore], scales: Mapping[str, Scale]
) -> JoinedLabels:
    """Returns the labelled scores; those that were drawn and have no usable label are among them."""
    unused: _Unused = defaultdict(list)
    by_place = grouped(((s.conversation_id, s.turn_index, s.key.criterion), s) for s in scores)
    by_score: dict[JudgedScore, LabelledScore] = {}
    for line in lines:
        label = line.label
        fitting = by_place.get((label.conversation_id, label.turn_index, label.criterion), [])
        if label.score_id is not None and any(score.score_id for score in fitting):
            fitting = [score for score in fitting if score.score_id == label.score_id]
        elif label.app_version is not None:
            fitting = [score for score in fitting if score.app_version == label.app_version]
        if len(fitting) == 1:
            by_score.setdefault(fitting[0], LabelledScore(fitting[0])).add(line)
        else:
            unused["ambiguous" if fitting else "unknown"].append(line)
    groups = grouped((labelled.score.key, labelled) for labelled in by_score.values())
    scaled = ((key, group, scales.get(key.criterion, Scale())) for key, group in groups.items())
    numbers = {key for key, group, scale in scaled if _is_of_numbers(group, scale, unused)}
    for group in groups.values():
        for labelled in group:
            # What every rater says who gave one label, and not two different ones.
            given = (line for line in labelled.lines if line.label.label is not None)
            for rater, of_rater in grouped((line.label.rater, line) for line in given).items():
                values = [label_number(line.label.label) for line in of_rater]
                if len(set(values)) > 1:
                    unused["contradiction"] += of_rater
                else:
                    unused["repeated"] += of_rater[1:]
                    labelled.answers[rater] = values[0]
        last = max((s.number for s in group if s.number is not None and s.answers), default=None)
        for labelled in group:
            missing = [line for line in labelled.lines if line.label.label is None]
            if missing and not labelled.answers:
                is_after = labelled.number is not None and last is not None and labelled.number > last
                unused["after_end" if is_after else "no_label"] += missing
    used = {key: group for key, group in groups.items() if any(score.answers for score in group)}
    problems = []
    for kind in _PROBLEMS:
        if of_kind := unused[kind]:
            names = [line.name for line in of_kind[:_NAMED]]
            problems.append(LabelProblem(kind=kind, count=len(of_kind), names=names))
    return JoinedLabels(used, frozenset(numbers), problems)


def _is_of_numbers(group: Sequence[LabelledScore], scale: Scale, unused: _Unused) -> bool:
    """Returns whether the labels are numbers; takes away the lines of labels that are on no common scale."""
    lines = [line for labelled in group for line in labelled.lines]
    numbers = [line for line in lines if isinstance(line.label.label, float)]
    outcomes = [line for line in lines if isinstance(line.label.label, str)]
    low, high = scale.bounds or (-inf, inf)
    is_on = all(isinstance(x := line.label.label, float) and low <= x <= high for line in numbers)
    kind: LabelProblemKind | None = None if not numbers or (scale.has_values and is_on) else "off_scale"
    kind = "mixed" if numbers and outcomes else kind
    if kind is not None:
        unused[kind] += [*numbers, *outcomes]
        for labelled in group:
            labelled.lines = [line for line in labelled.lines if line.label.label is None]
    return bool(numbers) and kind is None


def label_number(label: str | float | None) -> float:
    """Returns a label as a number: 1 for PASS, 0 for FAIL."""
    return _ANSWERS[label] if isinstance(label, str) else float(label or 0.0)


# Whether labels are of a random sample of all scores, and of which.

FEWEST_CASES = 30
"""Labelled cases that a correction needs: with fewer, intervals hold the truth in less than 94 %."""
FEWEST_EFFECTIVE = 20
"""The same of labels with unequal weights: how many with equal weights have to tell as much."""


class RandomPart(Struct, frozen=True):
    """The scores that were drawn: labels, those without a usable one, sampling weights (None: the same)."""

    labels: dict[JudgedScore, float]
    missing: list[JudgedScore]
    weights: dict[JudgedScore, float] | None


def random_part(group: Sequence[LabelledScore], scores: Sequence[JudgedScore]) -> RandomPart:
    """Returns the random sample that the labelled scores of a criterion at a level are of, among all of them.

    Raises ValueError if there is none, or it is not whole.
    """
    drawn = [judged for judged in group if judged.is_random]
    if not drawn:
        step = "only labels of a random sample speak for all conversations"
        raise ValueError(f"the labels are hand-picked; {step}")
    # The order of drawing ends with the last label.
    last = max((s.number for s in drawn if s.number is not None and s.answers), default=None)
    draws = {judged.draw for judged in drawn if judged.draw is not None}
    if len(draws) > 1:
        raise ValueError(f"the labels are of {len(draws)} random samples; give those of one")
    weights = {judged.score: judged.weight for judged in drawn if judged.weight is not None}
    if weights and len(weights) < len(drawn):
        raise ValueError(f"{len(drawn) - len(weights)} of {len(drawn)} labels have no sampling weight")
    if last is not None and all(judged.number is not None for judged in drawn):
        drawn = [judged for judged in drawn if (judged.number or 0) <= last]
    else:
        last = None
    missing = [judged.score for judged in drawn if not judged.answers]
    for draw in draws:
        # Drawn scores that have no line are missing, too.
        units, what = {_unit(draw, score) for score in scores}, f"{draw.unit}s"
        if draw.of != len(units):
            of_run = f"the run has {len(units)} with this criterion"
            raise ValueError(f"the sample was drawn from {draw.of} {what}, but {of_run}")
        wanted = draw.size if last is None else min(last, draw.size)
        seen = {_unit(draw, judged.score) for judged in drawn}
        if len(seen) != wanted:
            lines = f"but the file has lines of {len(seen)} that fit the run"
            step = "every drawn score needs a line, with the label null where it has none"
            raise ValueError(f"the sample has {wanted} {what}, {lines}; {step}")
        known = {judged.score for judged in drawn}
        missing += [score for score in scores if _unit(draw, score) in seen and score not in known]
    labels = {judged.score: judged.mean for judged in drawn if judged.answers}
    return RandomPart(labels, missing, weights or None)


def _unit(draw: LabelDraw, score: JudgedScore) -> object:
    return score if draw.unit == "score" else (score.conversation_id, score.app_version, score.case)


# Labels of several people: what to label next, files made one, and how far people agree.

_Unit: TypeAlias = tuple[str, str | None, str]
"""Conversation, app version and case: what a sample is drawn of."""


class LabelQueue(NamedTuple):
    """What to label next: a random part of the conversations first, then what tells most.

    Figures are corrected by it if `needed` conversations are drawn (None: the run has too few cases).
    `picked` is (app version, outcome) -> number; the judge's votes differ about `disputed` of these.
    """

    lines: list[HumanLabel]
    drawn: int
    needed: int | None
    of: int
    picked: dict[tuple[str | None, str | None], int]
    disputed: int


def unit_of(row: Mapping[str, object]) -> _Unit:
    """Returns the conversation of a row of scores or conversations."""
    name, version, case = str(row["conversation_id"]), row["app_version"], row["eval_id"]
    return name, None if version is None else str(version), str(case or name)


def label_queue(
    rows: Iterable[JsonObject], scores: Iterable[JsonObject], size: int, random: int | None, seed: str
) -> LabelQueue:
    """Returns which scores of a criterion at a level, of all its `rows` there, to label next.

    Of so many conversations (`size`), `random` are a random sample (None: as many as a correction needs); the
    others are picked in turn from every app version and outcome, those first about whose `scores` the votes
    of the judge, or members of its panel, differ. The order of drawing is that of hashes of the seed and the
    conversation, so that the same logs give the same queue.
    """
    units, disputed = grouped((unit_of(row), row) for row in rows), set[_Unit]()
    for row in scores:
        panel = (row["details"] or {}).get("panel") or {}
        if (row["judge"] or {}).get("flipped") or (panel.get("agreement") or 1) < 1:
            disputed.add(unit_of(row))
    order = sorted(units, key=lambda unit: blake2b("\0".join(map(str, (seed, *unit))).encode()).digest())
    # A correction counts cases: a further version of one tells nothing new.
    first = sorted({unit[2]: number for number, unit in reversed([*enumerate(order, 1)])}.values())
    needed = first[FEWEST_CASES - 1] if len(first) >= FEWEST_CASES else None
    if random is None:
        random = needed if needed is not None and needed <= size else min(FEWEST_CASES, size)
    drawn, rest = order[:random], order[random:]
    in_turn = sorted(rest, key=lambda unit: unit not in disputed)
    strata: dict[tuple[str | None, str | None], list[_Unit]] = defaultdict(list)
    for unit in in_turn:
        outcomes = {row["outcome"] for row in units[unit]}
        outcome = "FAIL" if "FAIL" in outcomes else None if None in outcomes else "PASS"
        strata[unit[1], outcome].append(unit)
    turns = zip_longest(*(strata[key] for key in sorted(strata, key=str)))
    picked = [unit for turn in turns for unit in turn if unit is not None][: max(0, size - len(drawn))]
    draw = LabelDraw(seed=seed, size=len(drawn), of=len(order), unit="conversation") if drawn else None
    lines = [_open(row, draw, number) for number, unit in enumerate(drawn, 1) for row in units[unit]]
    lines += [_open(row) for unit in picked for row in units[unit]]
    counts = {key: len(set(members) & set(picked)) for key, members in strata.items()}
    return LabelQueue(lines, len(drawn), needed, len(order), counts, len(disputed.intersection(picked)))


def _open(row: JsonObject, draw: LabelDraw | None = None, number: int | None = None) -> HumanLabel:
    """Returns the line of a score that has no label yet."""
    stated = ("conversation_id", "criterion", "turn_index", "score_id", "app_version")
    chosen: Literal["random", "hand-picked"] = "random" if draw else "hand-picked"
    return HumanLabel(**{name: row[name] for name in stated}, chosen=chosen, draw=draw, number=number)


class Disagreement(Struct, frozen=True):
    """A score to which people gave different labels, by rater."""

    conversation_id: str
    turn_index: int | None
    app_version: str | None
    labels: dict[str, str | float]


class PeopleAgreement(Struct, frozen=True):
    """How far people agree on a criterion at a level: on `shared` scores, which two or more have labelled.

    Cohen's kappa needs two raters and outcomes, Krippendorff's alpha any number; None: it is not defined.
    """

    criterion: str
    level: MeasuredLevel
    raters: list[str]
    labelled: int
    shared: int
    agreed: int
    kappa: float | None
    alpha: float | None
    disagreements: list[Disagreement]


class Replaced(Struct, frozen=True):
    """A label in whose place the same person gave another one later."""

    rater: str
    conversation_id: str
    turn_index: int | None
    earlier: str | float
    later: str | float


def latest_labels(labels: Sequence[HumanLabel]) -> tuple[list[HumanLabel], list[Replaced]]:
    """Returns the last label of every person for every score, in the place of earlier ones, and what changed.

    The order is that of the labels. What an earlier line says of the drawing of its score stays.
    """
    kept: list[HumanLabel] = []
    replaced: list[Replaced] = []
    for group in _by_score(labels).values():
        at: dict[str | None, int] = {}
        for label in group:
            index = at.get(label.rater) if label.label is not None else None
            if index is None:
                if label.label is not None:
                    at[label.rater] = len(kept)
                kept.append(label)
                continue
            held = kept[index]
            assert held.label is not None and label.label is not None
            if label.label != held.label:
                where = held.conversation_id, held.turn_index
                replaced.append(Replaced(held.rater or "", *where, held.label, label.label))
            known = label if label.chosen == "random" else held
            kept[index] = replace(known, label=label.label, comment=label.comment or held.comment)
    return kept, replaced


def merged_labels(labels: Sequence[HumanLabel]) -> list[HumanLabel]:
    """Returns the labels of several files without repeated ones, those of a score together.

    A line without a label stays where nobody gave one, or where it alone says that its score was drawn.
    """
    merged = []
    for group in _by_score(labels).values():
        given = [label for label in group if label.label is not None]
        is_drawn = any(label.chosen == "random" for label in given)
        missing = [label for label in group if label.label is None and (label.draw or not given)]
        merged += [*given, *(missing[:1] if not given or not is_drawn else [])]
    return list(dict.fromkeys(merged))


def people_agreement(labels: Sequence[HumanLabel]) -> list[PeopleAgreement]:
    """Returns how far people agree, by criterion and level; who contradicts himself has no say."""
    by_key: dict[CriterionKey, list[list[HumanLabel]]] = defaultdict(list)
    for group in _by_score(labels).values():
        if given := [label for label in group if label.label is not None]:
            level: MeasuredLevel = "conversation" if given[0].turn_index is None else "turn"
            by_key[CriterionKey(given[0].criterion, level)].append(given)
    agreements = []
    for key, scores in sorted(by_key.items()):
        raters = sorted({label.rater or "" for group in scores for label in group})
        is_number = any(isinstance(label.label, float) for group in scores for label in group)
        shared: list[dict[str, float]] = []
        differ = []
        for group in scores:
            by_rater = grouped((label.rater or "", label_number(label.label)) for label in group)
            answers = {rater: values[0] for rater, values in by_rater.items() if len({*values}) == 1}
            if len(answers) > 1:
                shared.append(answers)
            if len(set(answers.values())) > 1:
                version = next((label.app_version for label in group if label.app_version), None)
                stated: dict[str, str | float] = {}
                stated |= {label.rater or "": label.label for label in group if label.label is not None}
                differ.append(Disagreement(group[0].conversation_id, group[0].turn_index, version, stated))
        pairs = [(given[raters[0]], given[raters[1]]) for given in shared] if len(raters) == 2 else []
        agreement = PeopleAgreement(
            *key,
            raters=raters,
            labelled=len(scores),
            shared=len(shared),
            agreed=len(shared) - len(differ),
            kappa=None if is_number else cohens_kappa(pairs),
            alpha=krippendorffs_alpha([[*given.values()] for given in shared]) if shared else None,
            disagreements=differ,
        )
        agreements.append(agreement)
    return agreements


def _by_score(labels: Iterable[HumanLabel]) -> dict[tuple[object, ...], list[HumanLabel]]:
    """Returns the labels by score; one without an id is of the only score that it fits."""
    by_score: dict[tuple[object, ...], list[HumanLabel]] = defaultdict(list)
    places = grouped(((label.conversation_id, label.turn_index, label.criterion), label) for label in labels)
    for scored_turn, group in places.items():
        known = {(label.score_id, label.app_version) for label in group}
        with_id = {name for name in known if name[0]}
        for label in group:
            named_score, stated = (label.score_id, label.app_version), with_id or known - {(None, None)}
            fitting = [name for name in stated if label.app_version in (None, name[1])]
            is_other = label.score_id is None and len(fitting) == 1
            by_score[scored_turn, *(fitting[0] if is_other else named_score)].append(label)
    return by_score
