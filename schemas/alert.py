"""Alerts on the metrics of a stream."""

from dataclasses import dataclass

from turnwise.schemas.alert_config import Level, Measure


@dataclass(frozen=True, slots=True)
class Alert:
    """A rule that holds for one window of an app version.

    Attributes:
        name: Unique for a rule, window and app version.
        rule: Name of the rule.
        window_start: RFC 3339.
        window_end: RFC 3339, exclusive.
        app_version: None: unknown.
        criterion: Criterion of the metric.
        level: Level of the scores, conversations or turns.
        measure: Name of the metric.
        value: Value of the metric.
        count: Number of scores behind the value.
        kind: `below`, `above` or `drop`.
        threshold: Exceeded bound; for a drop, the significance.
        baseline_value: Value in the windows before; None: no drop.
        baseline_count: Number of scores behind the baseline; None: no drop.
        p_value: Of a one-sided test that the window is no worse than its baseline, valid however often it is
            made; None: no drop.
        message: The alert as one sentence.
    """

    name: str
    rule: str
    window_start: str
    window_end: str
    app_version: str | None
    criterion: str
    level: Level
    measure: Measure
    value: float
    count: int
    kind: str
    threshold: float
    baseline_value: float | None
    baseline_count: int | None
    p_value: float | None
    message: str
