"""Makes of the rows of a run what a gate is applied to."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from turnwise.pipeline.gating.lost import lost_names
from turnwise.schemas.calibration import Calibration
from turnwise.schemas.comparison import Comparison
from turnwise.schemas.rows import ConversationRow, FailureRow, ScoreRow
from turnwise.transforms.decisions.comparison.collect import (
    ComparedConversation,
    Summary,
    add_errors,
    collect,
    raised_errors,
)
from turnwise.transforms.decisions.gate.measured import (
    NO_BASELINE,
    BaselineState,
    GatedVersion,
    unrecorded_cases,
)
from turnwise.transforms.review.problems import latest_revisions


def gated_versions(
    scores: Iterable[ScoreRow],
    rows: Iterable[ConversationRow],
    failures: Sequence[FailureRow],
    comparisons: Mapping[str | None, Comparison] | None = None,
    baseline: BaselineState = NO_BASELINE,
    calibration: Calibration | None = None,
) -> list[GatedVersion]:
    """Returns the app versions of a run.

    Args:
        scores: Its score rows, those of one conversation in a row.
        rows: Its rows of conversations.
        failures: Its failures.
        comparisons: App version -> its comparison with the baseline; None: there is no baseline.
        baseline: The baseline itself.
        calibration: What human labels say of the run; None: it has no labels.
    """
    latest = latest_revisions([{**row, "transcript": None} for row in rows])
    unrecorded = unrecorded_cases(latest, lost_names(failures))
    conversations = collect(scores, [_summary(row) for row in latest])
    add_errors(conversations, raised_errors(failures))
    by_version: defaultdict[str | None, list[ComparedConversation]] = defaultdict(list)
    for one in conversations:
        by_version[one.app_version].append(one)
    return [
        GatedVersion(
            version,
            by_version[version],
            [row for row in latest if row["app_version"] == version],
            (comparisons or {}).get(version),
            baseline,
            calibration,
            unrecorded.get(version, ()),
        )
        for version in sorted(by_version, key=lambda name: name or "")
    ]


def _summary(row: ConversationRow) -> Summary:
    return Summary(
        conversation_id=row["conversation_id"],
        app_version=row["app_version"],
        verdict=row["verdict"],
        reason=row["reason"] or row["why"],
        eval_id=row["eval_id"],
        task=row["task"],
        case_digest=row["case_digest"] or "",
        language=row["language"],
        tags=row["tags"],
        revision=row["revision"],
        sampled_out=row.get("sampled_out") or (),
    )


def conversation_rows(versions: Sequence[GatedVersion]) -> list[ConversationRow]:
    """Returns the rows of all versions."""
    return [row for version in versions for row in version.rows]
