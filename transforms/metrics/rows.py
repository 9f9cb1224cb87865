"""Metrics and failures as rows."""

from collections import Counter
from typing import NamedTuple, TypeAlias

from msgspec.structs import replace

from turnwise.schemas.config import STATUS, RedactConfig
from turnwise.schemas.rows import (
    FailureRow,
    MetricRow,
    MetricsByAppVersionRow,
    MetricsBySliceRow,
    MetricsByTurnRow,
)
from turnwise.schemas.score import Failure
from turnwise.transforms.criteria.base import CRITERIA
from turnwise.transforms.judging.ask import Flips
from turnwise.transforms.metrics.state import ONE, MetricsState, Tally, panel_column
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
    entry: VersionState, run_id: str, window: RowWindow | None, criterion: str, level: str, tally: Tally
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
