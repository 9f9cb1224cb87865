"""Labels of several people: what to label next, files made one, and how far people agree."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from itertools import zip_longest
from typing import NamedTuple, TypeAlias

from msgspec import Struct

from turnwise.schemas.calibration import HumanLabel, LabelDraw, MeasuredLevel
from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.decisions.calibration.labels import CriterionKey, label_number
from turnwise.transforms.statistics.agreement import cohens_kappa, krippendorffs_alpha

_Unit: TypeAlias = tuple[str, str | None, str]
"""Conversation, app version and case: what a sample is drawn of."""


class LabelQueue(NamedTuple):
    """What to label next: a random part first, then what tells most.

    Attributes:
        of: Conversations that have such scores.
        picked: (app version, outcome) -> conversations that were picked of it.
        disputed: Picked ones about which the judge's votes differ.
    """

    lines: list[HumanLabel]
    drawn: int
    of: int
    picked: dict[tuple[str | None, str | None], int]
    disputed: int


def unit_of(row: Mapping[str, object]) -> _Unit:
    """Returns the conversation of a row of scores or conversations."""
    name, version, case = str(row["conversation_id"]), row["app_version"], row["eval_id"]
    return name, None if version is None else str(version), str(case or name)


def is_disputed(row: JsonObject) -> bool:
    """Returns whether votes of the judge, or members of its panel, differ about a score."""
    panel = (row["details"] or {}).get("panel") or {}
    return bool((row["judge"] or {}).get("flipped")) or (panel.get("agreement") or 1) < 1


def label_queue(
    rows: Iterable[JsonObject], disputed: set[_Unit], size: int, random: int, seed: str
) -> LabelQueue:
    """Returns which scores of a criterion at a level to label next.

    The order of drawing is that of hashes of the seed and the conversation, so that the same logs give the
    same queue.

    Args:
        rows: All scores of the criterion at the level.
        disputed: Conversations about which the judge's votes differ.
        size: Conversations of the queue.
        random: How many of them are a random sample; the others are picked in turn from every app version
            and outcome, disputed ones first.
        seed: Another one gives another sample.
    """
    units: dict[_Unit, list[JsonObject]] = defaultdict(list)
    for row in rows:
        units[unit_of(row)].append(row)
    order = sorted(units, key=lambda unit: blake2b("\0".join(map(str, (seed, *unit))).encode()).digest())
    drawn, rest = order[:random], order[random:]
    strata: dict[tuple[str | None, str | None], list[_Unit]] = defaultdict(list)
    for unit in sorted(rest, key=lambda unit: unit not in disputed):
        strata[unit[1], _outcome(units[unit])].append(unit)
    turns = zip_longest(*(strata[key] for key in sorted(strata, key=str)))
    picked = [unit for turn in turns for unit in turn if unit is not None][: max(0, size - len(drawn))]
    draw = LabelDraw(seed=seed, size=len(drawn), of=len(order), unit="conversation") if drawn else None
    lines = [_open(row, draw, number) for number, unit in enumerate(drawn, 1) for row in units[unit]]
    lines += [_open(row) for unit in picked for row in units[unit]]
    counts = {key: len(set(own) & set(picked)) for key, own in strata.items()}
    return LabelQueue(lines, len(drawn), len(order), counts, len(disputed.intersection(picked)))


def _outcome(rows: Sequence[JsonObject]) -> str | None:
    """Returns the outcome of a conversation's scores: FAIL if one fails, else none if one has none."""
    outcomes = {row["outcome"] for row in rows}
    return "FAIL" if "FAIL" in outcomes else None if None in outcomes else "PASS"


def _open(row: JsonObject, draw: LabelDraw | None = None, number: int | None = None) -> HumanLabel:
    """Returns the line of a score that has no label yet."""
    return HumanLabel(
        conversation_id=row["conversation_id"],
        criterion=row["criterion"],
        turn_index=row["turn_index"],
        score_id=row["score_id"],
        app_version=row["app_version"],
        chosen="random" if draw else "hand-picked",
        draw=draw,
        number=number,
    )


class Disagreement(Struct, frozen=True):
    """A score to which people gave different labels, by rater."""

    conversation_id: str
    turn_index: int | None
    app_version: str | None
    labels: dict[str, str | float]


class PeopleAgreement(Struct, frozen=True):
    """How far people agree on a criterion at a level.

    Attributes:
        labelled: Scores with a label.
        shared: Those with labels of two people or more.
        agreed: Those on which all of them agree.
        kappa: Cohen's kappa; None: there are not two raters, labels are numbers, or it is not defined.
        alpha: Krippendorff's alpha, of any number of raters; None: it is not defined.
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
    """Returns how far people agree, by criterion and level; a rater who contradicts himself has no say."""
    groups: dict[CriterionKey, list[list[HumanLabel]]] = defaultdict(list)
    for group in _by_score(labels).values():
        given = [label for label in group if label.label is not None]
        if given:
            level: MeasuredLevel = "conversation" if given[0].turn_index is None else "turn"
            groups[CriterionKey(given[0].criterion, level)].append(given)
    return [_agreement(key, group) for key, group in sorted(groups.items())]


def _agreement(key: CriterionKey, scores: Sequence[Sequence[HumanLabel]]) -> PeopleAgreement:
    raters = sorted({label.rater or "" for group in scores for label in group})
    answers = []
    for group in scores:
        by_rater: dict[str, set[float]] = defaultdict(set)
        for label in group:
            by_rater[label.rater or ""].add(label_number(label.label))
        answers.append({rater: min(values) for rater, values in by_rater.items() if len(values) == 1})
    shared = [(group, own) for group, own in zip(scores, answers, strict=True) if len(own) > 1]
    is_number = any(isinstance(label.label, float) for group in scores for label in group)
    pairs = [(own[raters[0]], own[raters[1]]) for _, own in shared] if len(raters) == 2 else []
    differ = [
        Disagreement(
            group[0].conversation_id,
            group[0].turn_index,
            next((label.app_version for label in group if label.app_version), None),
            {label.rater or "": label.label for label in group if label.label is not None},
        )
        for group, own in shared
        if len(set(own.values())) > 1
    ]
    return PeopleAgreement(
        *key,
        raters=raters,
        labelled=len(scores),
        shared=len(shared),
        agreed=len(shared) - len(differ),
        kappa=None if is_number else cohens_kappa(pairs),
        alpha=krippendorffs_alpha([list(own.values()) for _, own in shared]) if shared else None,
        disagreements=differ,
    )


def _by_score(labels: Iterable[HumanLabel]) -> dict[tuple[object, ...], list[HumanLabel]]:
    """Returns the labels by score; one without an id is of the only score that it fits."""
    places: dict[tuple[str, int | None, str], list[HumanLabel]] = defaultdict(list)
    for label in labels:
        places[label.conversation_id, label.turn_index, label.criterion].append(label)
    found: dict[tuple[object, ...], list[HumanLabel]] = defaultdict(list)
    for place, group in places.items():
        known = {(label.score_id, label.app_version) for label in group}
        with_id = {one for one in known if one[0]}
        for label in group:
            own = label.score_id, label.app_version
            fitting = [
                one for one in with_id or known - {(None, None)} if label.app_version in (None, one[1])
            ]
            is_other = label.score_id is None and len(fitting) == 1
            found[place, *(fitting[0] if is_other else own)].append(label)
    return found
