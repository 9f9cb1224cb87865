"""Scores of a run as they meet labels."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

from msgspec import Struct

from turnwise.schemas.calibration import MeasuredLevel
from turnwise.schemas.rows import ScoreRow

_TableRow = TypeVar("_TableRow", bound=Mapping[str, Any])


class CriterionKey(NamedTuple):
    """What is calibrated: a criterion at a level."""

    criterion: str
    level: MeasuredLevel


class JudgedScore(Struct, frozen=True, eq=False):
    """A score of a run.

    Attributes:
        score_id: Its id; None: the run wrote none.
        conversation_id: Its conversation.
        turn_index: 0-based turn; None: the whole conversation.
        key: Its criterion and level.
        case: What it depends on: the eval case, or the conversation without one.
        app_version: Version of the agent; None: not stated.
        slices: Names of its slices.
        value: Its value; None: unscored, or no part of means.
        passed: Its outcome; None: it has none.
        threshold: The applied threshold; None: there is none.
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
        turn = "" if self.turn_index is None else f" turn {self.turn_index}"
        return f"{self.conversation_id}{turn} {self.key.criterion}"


class Ruler(Struct, frozen=True):
    """What a criterion measures with.

    Attributes:
        scale: Lowest and highest value; None: open-ended, or not known.
        passes_from: Whether it passes from the threshold upwards.
        has_values: Whether labels may be numbers; verdicts have none.
    """

    scale: tuple[float, float] | None = None
    passes_from: bool = True
    has_values: bool = True


_OUTCOMES = {"PASS": True, "FAIL": False}


def outcome_of(text: str | None) -> bool | None:
    """Returns whether an outcome is PASS; None if it is neither PASS nor FAIL."""
    return _OUTCOMES.get(text or "")


def last_revisions(rows: Iterable[_TableRow]) -> Iterator[_TableRow]:
    """Yields the rows of the last revision of every conversation."""
    kept: dict[tuple[object, ...], tuple[int, list[_TableRow]]] = {}
    for row in rows:
        name = (row["conversation_id"], row["app_version"], row["eval_id"])
        revision = row["revision"] or 0
        found = kept.get(name)
        if found is None or found[0] < revision:
            found = kept[name] = (revision, [])
        if found[0] == revision:
            found[1].append(row)
    for _, own in kept.values():
        yield from own


def judged_scores(rows: Iterable[ScoreRow], rulers: Mapping[str, Ruler]) -> list[JudgedScore]:
    """Returns the scores of a run; of several revisions of a conversation those of the last."""
    return [_judged(row, rulers.get(row["criterion"], Ruler())) for row in last_revisions(rows)]


def _judged(row: ScoreRow, ruler: Ruler) -> JudgedScore:
    value, turn = row["value"], row["turn_index"]
    if value is not None and ruler.scale is not None and value < ruler.scale[0]:
        value = None
    language = row["language"]
    return JudgedScore(
        score_id=row.get("score_id"),
        conversation_id=row["conversation_id"],
        turn_index=turn,
        key=CriterionKey(row["criterion"], "conversation" if turn is None else "turn"),
        case=row["eval_id"] or row["conversation_id"],
        app_version=row["app_version"],
        slices=(*row["tags"], *([f"language:{language}"] if language else [])),
        value=value,
        passed=outcome_of(row["outcome"]),
        threshold=row["threshold"],
    )
