"""Scored conversations and metrics as rows."""

from collections.abc import Iterator
from dataclasses import asdict

from schemas.failure import Failure
from schemas.proto_scalars import nanos_timestamp
from schemas.rows import (
    FailureRow,
    MetricRow,
    MetricsByAppVersionRow,
    MetricsBySliceRow,
    MetricsByTurnRow,
    ResultRow,
    ScoreRow,
)
from schemas.score import Score
from schemas.values import JsonObject
from transforms.conversation_case import ConversationCase
from transforms.criteria import CRITERIA
from transforms.metrics import MetricsState
from transforms.scoring import ScoredConversation
from transforms.statistics import Tally, wilson_interval

STATUS = "evaluation_status"
# As seconds, the year 5138; as milliseconds, March 1973.
_FIRST_MILLISECONDS = 1e11


def score_rows(scored: ScoredConversation, run_id: str) -> Iterator[ScoreRow]:
    """Yields one row per score: the turns of every criterion, then the conversation as a whole."""
    times, start, base = (
        _turn_times(scored.case),
        scored.case.conversation.start_time,
        _base_row(scored.case, run_id),
    )
    for entry in scored.scores:
        name = entry.criterion.name
        for turn, score in entry.turns:
            yield _score_row(base, name, turn, score, times[turn])
        if entry.overall is not None:
            yield _score_row(base, name, None, entry.overall, start)


def _turn_times(case: ConversationCase) -> list[str | None]:
    start = case.conversation.start_time
    return [
        start if p.actual is None or p.actual.timestamp is None else _rfc3339(p.actual.timestamp)
        for p in case.pairs
    ]


def _rfc3339(timestamp: str | float) -> str | None:
    """Returns the log's text as it is, or its seconds (or milliseconds) since the epoch as a text."""
    if isinstance(timestamp, str):
        return timestamp
    seconds = timestamp / 1000 if abs(timestamp) >= _FIRST_MILLISECONDS else timestamp
    try:
        return nanos_timestamp(round(seconds * 1e9)) if abs(seconds) < _FIRST_MILLISECONDS else None
    except ValueError:
        return None


def _base_row(case: ConversationCase, run_id: str) -> ScoreRow:
    """Returns what all rows of a conversation share, in the order of the columns."""
    conversation = case.conversation
    return {
        "run_id": run_id,
        "conversation_id": conversation.conversation_id,
        "eval_id": case.case.eval_id if case.case else None,
        "app_version": conversation.app_version,
        "turn_index": None,
        "criterion": "",
        "value": None,
        "outcome": None,
        "threshold": None,
        "label": None,
        "reason": None,
        "explanation": None,
        "details": None,
        "judge": None,
        "event_time": None,
        "language": conversation.language,
        "tags": conversation.tags,
        "revision": conversation.revision,
    }


def _score_row(base: ScoreRow, criterion: str, turn: int | None, score: Score, time: str | None) -> ScoreRow:
    return {
        **base,
        "turn_index": turn,
        "criterion": criterion,
        "value": score.value,
        "outcome": score.outcome,
        "threshold": score.threshold,
        "label": score.label,
        "reason": score.reason,
        "explanation": score.explanation,
        "details": score.details,
        "judge": None if score.judge is None else asdict(score.judge),
        "event_time": time,
    }


def result_row(scored: ScoredConversation, result: JsonObject) -> ResultRow:
    """Returns the row of an evaluation result."""
    case, conversation = scored.case.case, scored.case.conversation
    return {
        "name": result["name"],
        "conversation_id": conversation.conversation_id,
        "eval_id": case.eval_id if case else None,
        "app_version": conversation.app_version,
        "evaluation_status": result.get("evaluationStatus"),
        "result": result,
    }


def failure_rows(failure: Failure, run_id: str) -> list[FailureRow]:
    """Returns the one row of a failure."""
    return [{"run_id": run_id, **asdict(failure)}]  # type: ignore[typeddict-item]


def version_rows(entry: tuple[str, MetricsState], run_id: str) -> list[MetricsByAppVersionRow]:
    """Returns an app version's ("": unknown) row of verdicts, then one per criterion and level."""
    version, state = entry
    sizes = {"conversations": state.conversations, "turns": state.turns}
    return [
        {**row, **sizes, "sampled_out": state.sampled_out[row["criterion"]]}  # type: ignore[typeddict-item]
        for row in _criterion_rows(version, state, run_id)
    ]


def _criterion_rows(version: str, state: MetricsState, run_id: str) -> list[MetricRow]:
    """Returns the row of verdicts, then one per criterion and level."""
    rows = [_metric_row(run_id, version, STATUS, "conversation", _status_tally(state))]
    for (criterion, is_whole), tally in sorted(state.criterion_tallies().items(), key=lambda item: item[0]):
        rows.append(_metric_row(run_id, version, criterion, "conversation" if is_whole else "turn", tally))
    return rows


def slice_rows(entry: tuple[str, MetricsState], run_id: str) -> list[MetricsBySliceRow]:
    """Returns an app version's ("": unknown) rows per slice: of verdicts, then per criterion and level."""
    version, whole = entry
    return [
        {
            **row,
            "slice": name,
            "conversations": state.conversations,
            "turns": state.turns,
            "share_of_turns": state.turns / whole.turns if whole.turns else 0.0,
        }
        for name, state in sorted(whole.slices.items())
        for row in _criterion_rows(version, state, run_id)
    ]


def turn_rows(entry: tuple[str, MetricsState], run_id: str) -> list[MetricsByTurnRow]:
    """Returns an app version's ("": unknown) rows per turn index and criterion."""
    version, state = entry
    turns = [(turn, name, tally) for (name, turn), tally in state.tallies.items() if turn is not None]
    return [
        {**_metric_row(run_id, version, name, "turn", tally), "turn_index": turn}
        for turn, name, tally in sorted(turns, key=lambda item: item[:2])
    ]


def _status_tally(state: MetricsState) -> Tally:
    decided = state.passes + state.fails
    return Tally(
        scored=decided,
        unscored=state.conversations - decided,
        total=float(state.passes),
        squares=float(state.passes),
        passes=state.passes,
        fails=state.fails,
    )


def _metric_row(run_id: str, app_version: str, criterion: str, level: str, tally: Tally) -> MetricRow:
    kind = CRITERIA.get(criterion)
    scale = kind.scale if kind else (0.0, 1.0)
    gated = tally.passes + tally.fails
    interval = wilson_interval(tally.passes, gated)
    return {
        "run_id": run_id,
        "app_version": app_version or None,
        "criterion": criterion,
        "level": level,
        "unit": kind.unit if kind else "score",
        "count": tally.scored + tally.unscored,
        "scored": tally.scored,
        "unscored": tally.unscored,
        "errors": tally.errors,
        "mean": tally.mean,
        "mean_low": tally.mean_if_unscored(scale[0]) if scale else None,
        "mean_high": tally.mean_if_unscored(scale[1]) if scale else None,
        "stddev": tally.stddev,
        "pass_count": tally.passes,
        "fail_count": tally.fails,
        "pass_rate": tally.passes / gated if gated else None,
        "pass_rate_low": interval.low if interval else None,
        "pass_rate_high": interval.high if interval else None,
        "p50": tally.quantile(0.5),
        "p90": tally.quantile(0.9),
        "p99": tally.quantile(0.99),
    }
