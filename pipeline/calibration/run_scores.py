"""The scores and verdicts of a run, and the rulers of its criteria."""

from collections.abc import Collection, Iterator, Mapping

from turnwise.pipeline.io.run_reader import RunDirectory
from turnwise.schemas.rows import ScoreRow
from turnwise.transforms.criteria.base import CRITERIA
from turnwise.transforms.decisions.calibration.labels import (
    CriterionKey,
    JudgedScore,
    Ruler,
    judged_scores,
    last_revisions,
    outcome_of,
)
from turnwise.transforms.scoring.evaluate import STATUS

_CONVERSATIONS = "conversations"


def run_rulers(names: Collection[str]) -> dict[str, Ruler]:
    """Returns criterion -> what it measures with; criteria that are not known here are left out."""
    rulers = {
        name: Ruler(scale=kind.scale, passes_from=kind.gate == "at_least")
        for name in names
        if (kind := CRITERIA.get(name)) is not None
    }
    return rulers | {STATUS: Ruler(scale=(0.0, 1.0), has_values=False)}


def run_scores(
    run: RunDirectory, criteria: Collection[str], rulers: Mapping[str, Ruler]
) -> list[JudgedScore]:
    """Returns the scores of some criteria in a run, and the verdicts if they are wanted.

    Raises:
        ConfigError: A file cannot be read, or its content is broken.
    """
    scores = judged_scores(_wanted(run, criteria), rulers)
    return [*scores, *_verdicts(run)] if STATUS in criteria else scores


def _wanted(run: RunDirectory, criteria: Collection[str]) -> Iterator[ScoreRow]:
    return (row for row in run.scores() if row["criterion"] in criteria)


def _verdicts(run: RunDirectory) -> Iterator[JudgedScore]:
    """Yields the verdicts; without the table of conversations, those of the results."""
    if run.has(_CONVERSATIONS):
        for row in last_revisions(run.rows(_CONVERSATIONS)):
            language = [f"language:{row['language']}"] if row["language"] else []
            yield _verdict(row, row["verdict"], (*row["tags"], *language))
    else:
        for row in run.rows("results"):
            yield _verdict(row, row["evaluation_status"], ())


def _verdict(row: Mapping[str, object], verdict: object, slices: tuple[str, ...]) -> JudgedScore:
    conversation, version = str(row["conversation_id"]), row.get("app_version")
    return JudgedScore(
        score_id=None,
        conversation_id=conversation,
        turn_index=None,
        key=CriterionKey(STATUS, "conversation"),
        case=str(row.get("eval_id") or conversation),
        app_version=None if version is None else str(version),
        slices=slices,
        value=None,
        passed=outcome_of(None if verdict is None else str(verdict)),
        threshold=None,
    )
