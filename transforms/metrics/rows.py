"""Scored conversations and metrics as rows."""

from collections import Counter
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple, TypeAlias

from msgspec.structs import asdict, replace

from turnwise.schemas.config import STATUS, RedactConfig
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.rows import (
    FailureRow,
    MadeScoreRow,
    MetricRow,
    MetricsByAppVersionRow,
    MetricsBySliceRow,
    MetricsByTurnRow,
    ResultRow,
    ScoreRow,
)
from turnwise.schemas.run import RunInfo
from turnwise.schemas.score import Failure, Score
from turnwise.transforms.criteria.base import CRITERIA, Criterion, JudgedCriterion
from turnwise.transforms.judging.ask import Flips
from turnwise.transforms.matching.sample import Sample
from turnwise.transforms.metrics.state import ONE, MetricsState, Tally, panel_column
from turnwise.transforms.scoring.evaluate import ScoredConversation, Verdict
from turnwise.transforms.scoring.redaction import REDACTED, redact_failure
from turnwise.transforms.statistics.tests import wilson_interval
from turnwise.transforms.text.dates import rfc3339

VersionState: TypeAlias = tuple[str, MetricsState]
"""App version ("": unknown), and the sums over its conversations."""


class RowWindow(NamedTuple):
    """The window that metrics are of.

    Attributes:
        end: Seconds since the epoch, exclusive.
        pane: `EARLY`, `ON_TIME`, `LATE` or `UNKNOWN`.
        revision: How often the window gave figures before.
    """

    start: float
    end: float
    pane: str
    revision: int


def score_rows(scored: ScoredConversation, run: RunInfo) -> list[ScoreRow]:
    """Returns one row per score: the turns of every criterion, then the conversation as a whole."""
    sample, conversation = scored.sample, scored.sample.conversation
    start = conversation.start_time
    run_id, eval_id = run.run_id, sample.eval_case.eval_id if sample.eval_case else None
    conversation_id, app_version = conversation.conversation_id, conversation.app_version
    language, tags, revision = conversation.language, sample.tags, conversation.revision
    times, spans = (
        [start] * len(sample.pairs),
        [None if not pair.actual else pair.actual.span for pair in sample.pairs],
    )
    traces = {turn.span.rpartition("/")[0] if turn.span else None for turn in conversation.turns}
    trace = traces.pop() if len(traces) == 1 else None
    for index, pair in enumerate(sample.pairs):
        if pair.actual is not None and pair.actual.timestamp is not None:
            times[index] = rfc3339(pair.actual.timestamp)
    key = conversation_key(sample)
    rows: list[ScoreRow] = []
    for entry in scored.scores:
        name = entry.criterion.name
        scores: list[tuple[int | None, Score]] = [*entry.turns]
        if entry.overall is not None:
            scores.append((None, entry.overall))
        # A key is CONVERSATION-CRITERION-TURN[.NUMBER]; scores of one turn are numbered from the second on.
        before, number = f"{key}-{criterion_key(entry.criterion, run.judge)}-", 0
        last: int | None = -1
        for turn, score in scores:
            score_id = f"{before}{_WHOLE if turn is None else turn}"
            number = number + 1 if turn == last else 0
            if number:
                score_id = f"{score_id}.{number}"
            last = turn
            # Names of columns would double the cost.
            row = MadeScoreRow(
                run_id, conversation_id, eval_id, app_version, turn, name, score.value, score.outcome,
                score.threshold, score.label, score.reason, score.explanation, score.details,
                None if score.judge is None else asdict(score.judge),
                start if turn is None else times[turn], language, tags, revision, score_id,
                trace if turn is None else spans[turn],
            )  # fmt: skip
            rows.append(row)
    return rows


# Stable keys of scores, by which labels and other runs refer to them.

_CONVERSATION_BYTES = 8
_CRITERION_BYTES = 4
_WHOLE = "all"


def conversation_key(sample: Sample) -> str:
    """Returns the first part of the keys, the same for the same conversation, app version and case."""
    conversation, case = sample.conversation, sample.eval_case
    ids = (case.eval_set_id, case.eval_id) if case else ()
    return _digest((conversation.conversation_id, conversation.app_version, *ids), _CONVERSATION_BYTES)


def criterion_key(criterion: Criterion, judge: str) -> str:
    """Returns the second part of the keys, the same for equal parameters and, if judged, an equal judge."""
    if isinstance(criterion, JudgedCriterion):
        return _judged_key(criterion.digest, judge)
    return criterion.digest


@lru_cache(maxsize=1024)
def _judged_key(criterion: str, judge: str) -> str:
    return _digest((criterion, judge), _CRITERION_BYTES)


def _digest(texts: tuple[str | None, ...], size: int) -> str:
    text = "\0".join(["" if text is None else f"={text}" for text in texts])
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size).hexdigest()


def result_row(sample: Sample, verdict: Verdict, message: JsonObject, digest: str | None) -> ResultRow:
    """Returns the row of an evaluation result, which holds its message and the digest of its case."""
    case, conversation = sample.eval_case, sample.conversation
    return {
        "name": message["name"],
        "conversation_id": conversation.conversation_id,
        "eval_id": case.eval_id if case else None,
        "eval_set_id": case.eval_set_id if case else None,
        "case_etag": case.etag if case else None,
        "case_digest": digest,
        "app_version": conversation.app_version,
        "verdict": verdict.status,
        "result": message,
    }


_FAILURE_FIELDS = tuple(name for name in FailureRow.__annotations__ if name != "run_id")


def failure_rows(
    failure: Failure, run_id: str, redact: RedactConfig | None = None, counts: Counter[str] | None = None
) -> list[FailureRow]:
    """Returns the one row of a failure, with markers if anything is redacted; adds how many by kind."""
    if redact is not None:
        failure = replace(failure)
        for kind, number in redact_failure(failure, redact).items():
            if counts is not None:
                counts[f"{REDACTED}{kind}"] += number
    row = {"run_id": run_id, **{name: getattr(failure, name) for name in _FAILURE_FIELDS}}
    return [row]  # type: ignore[list-item]


def version_rows(
    entry: VersionState, run_id: str, window: RowWindow | None = None
) -> list[MetricsByAppVersionRow]:
    """Returns an app version's ("": unknown) row of verdicts, then one per criterion and level."""
    state = entry[1]
    return [
        {
            **row,
            "conversations": state.conversations,
            "turns": state.turns,
            "sampled_out": state.sampled_out[row["criterion"]],
            "repeats": state.repeats.figures(row["criterion"]) if row["level"] == "conversation" else None,
            "panel": panel_column(state.panels, row["criterion"], row["level"]),
        }
        for row in _criterion_rows(entry, run_id, window)
    ]


def _criterion_rows(entry: VersionState, run_id: str, window: RowWindow | None) -> list[MetricRow]:
    """Returns the row of verdicts, then one per criterion and level."""
    rows = [_metric_row(entry, run_id, window, STATUS, "conversation", status_tally(entry[1]))]
    for (name, is_whole), tally in sorted(entry[1].criterion_tallies().items(), key=lambda item: item[0]):
        level = "conversation" if is_whole else "turn"
        rows.append(_metric_row(entry, run_id, window, name, level, tally))
    return rows


def slice_rows(entry: VersionState, run_id: str, window: RowWindow | None = None) -> list[MetricsBySliceRow]:
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
        for row in _criterion_rows((version, state), run_id, window)
    ]


def turn_rows(entry: VersionState, run_id: str, window: RowWindow | None = None) -> list[MetricsByTurnRow]:
    """Returns an app version's ("": unknown) rows per turn index and criterion."""
    turns = [(turn, name, tally) for (name, turn), tally in entry[1].tallies.items() if turn is not None]
    return [
        {**_metric_row(entry, run_id, window, name, "turn", tally), "turn_index": turn}
        for turn, name, tally in sorted(turns, key=lambda item: item[:2])
    ]


def status_tally(state: MetricsState) -> Tally:
    """Returns the verdicts as sums: PASS counts 1, FAIL 0, a conversation without a verdict has no score.

    One that sampling left out counts as neither.
    """
    decided = state.passes + state.fails
    return Tally(
        scored=decided,
        no_score=state.conversations - decided - state.sampled_out[STATUS],
        total=state.passes * ONE,
        squares=state.passes * ONE**2,
        passes=state.passes,
        fails=state.fails,
    )


def _metric_row(
    entry: VersionState,
    run_id: str,
    window: RowWindow | None,
    criterion: str,
    level: str,
    tally: Tally,
) -> MetricRow:
    version, state = entry
    kind = CRITERIA.get(criterion)
    scale = kind.scale if kind else (0.0, 1.0) if criterion == STATUS else None
    gated = tally.passes + tally.fails
    # Cases are independent, their recordings are not.
    trials = state.units.independent(gated)
    interval = wilson_interval(tally.passes * trials / gated, trials) if gated else None
    flips = Flips(tally.voted, tally.flipped if tally.voted else None)
    return {
        "run_id": run_id,
        "app_version": version or None,
        "criterion": criterion,
        "level": level,
        "unit": kind.unit if kind else "score",
        "count": tally.scored + tally.no_score,
        "scored": tally.scored,
        "no_score": tally.no_score,
        "errors": tally.errors,
        "mean": tally.mean,
        "mean_low": tally.mean_if_missing(scale[0]) if scale else None,
        "mean_high": tally.mean_if_missing(scale[1]) if scale else None,
        "stddev": tally.stddev,
        "pass_count": tally.passes,
        "fail_count": tally.fails,
        "pass_rate": tally.passes / gated if gated else None,
        "pass_rate_low": interval.low if interval else None,
        "pass_rate_high": interval.high if interval else None,
        "p50": tally.quantile(0.5),
        "p90": tally.quantile(0.9),
        "p99": tally.quantile(0.99),
        "voted": tally.voted,
        "flipped": flips.flipped,
        "flip_rate": flips.rate,
        "window_start": rfc3339(window.start) if window else None,
        "window_end": rfc3339(window.end) if window else None,
        "pane": window.pane if window else None,
        "revision": window.revision if window else None,
    }
