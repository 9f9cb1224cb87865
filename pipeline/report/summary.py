"""The text about a finished run."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from turnwise.pipeline.report.counts import RunCounts
from turnwise.pipeline.report.joint import joint_text
from turnwise.pipeline.report.judge import UsageByModel, judge_text
from turnwise.pipeline.report.reading import reading_text
from turnwise.pipeline.report.terminal import (
    balance_text,
    custom_text,
    guesses_text,
    idle_text,
    version_table,
)
from turnwise.pipeline.settings.run import RunSettings
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.rows import MetricsByAppVersionRow


class Figures(NamedTuple):
    """Figures of a run beside its metrics.

    Attributes:
        counts: Numbers of what was read, scored and lost.
        usage: Usage of judges.
        guesses: The tools whose effect was guessed.
        unread: Incomplete ends of a stream's input that were not read, one line each.
        to_read: The conversations to read first, in order; None: not chosen.
        difference: Lines about the difference between versions; "": nothing is compared.
        workers: How many records each worker read; None: not counted.
        joint: What panels and cascades did, as in `judge` of `run.json`; None: not stated.
        problems: Why it failed that its counts do not show, one line each, such as rows not stored.
    """

    counts: RunCounts
    usage: UsageByModel
    guesses: JsonObject
    unread: Sequence[str] = ()
    to_read: Sequence[Mapping[str, object]] | None = None
    difference: str = ""
    workers: Mapping[str, int] | None = None
    problems: Sequence[str] = ()
    joint: JsonObject | None = None


def summary_text(settings: RunSettings, figures: Figures, rows: Sequence[MetricsByAppVersionRow]) -> str:
    """Returns the table of app versions, what became of every record, and what the judge did.

    Args:
        settings: What the run was asked to do.
        figures: What it did.
        rows: Rows of `metrics_by_app_version` over the whole run.
    """
    counts = figures.counts
    parts = [
        version_table(rows, settings.criteria_names, counts["failures_by_version"])
        if rows
        else "no conversation was scored",
        figures.difference,
        reading_text(figures.to_read or ()),
        f"\n{balance_text(counts)}",
        judge_text(settings, figures.usage, rows),
        joint_text(figures.joint or {}),
        idle_text(settings.criteria, rows) if rows else "",
        custom_text(settings.criteria),
        guesses_text(figures.guesses) if figures.guesses else "",
    ]
    return "\n".join(part for part in parts if part)
