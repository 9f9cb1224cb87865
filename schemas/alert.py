"""Rules for alerts on the metrics of a stream, and the alerts."""

from typing import Literal

from msgspec import Struct
from pydantic import BaseModel, ConfigDict, Field, model_validator

ScoreLevel = Literal["conversation", "turn"]
Measure = Literal["mean", "pass_rate", "unscored_rate", "p50", "p90", "p99", "count"]
RATES = ("pass_rate", "unscored_rate")


class Drop(BaseModel):
    """A significant drop against earlier windows; tested whenever a window gives figures.

    Attributes:
        baseline: Number of earlier non-empty windows of the same app version that form the baseline.
        significance: Highest probability that any window of an app version raises the alert although nothing
            changes, however often windows are looked at; between 0 and 1, exclusive.
    """

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True, allow_inf_nan=False)

    baseline: int = Field(default=1, ge=1, le=1000)
    significance: float = Field(default=0.05, gt=0, lt=1)


class AlertRule(BaseModel):
    """A condition under which a window of an app version raises an alert.

    Attributes:
        name: Unique name.
        criterion: A criterion of the config, or `evaluation_status`.
        level: Scores of whole conversations or of turns; None: conversations if there are any.
        app_version: Glob of app versions; `*` also matches an unknown one.
        measure: Tested metric. `pass_rate`: share of passes among passes and fails; `unscored_rate`: share of
            unscored among all; `p50`, `p90`, `p99`: quantiles of latencies, in seconds; `count`: number of
            scores, including unscored ones.
        below: Alert if the measure is below this; for `count`, tested at the end of the window.
        above: Alert if the measure is above this.
        drop: Alert if `mean` or `pass_rate` is significantly worse than in the windows before.
        min_count: Minimum number of values in the window and its baseline; not with `count`.
    """

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True, allow_inf_nan=False)

    name: str = Field(min_length=1, max_length=200)
    criterion: str
    level: ScoreLevel | None = None
    app_version: str = Field(default="*", min_length=1)
    measure: Measure
    below: float | None = None
    above: float | None = None
    drop: Drop | None = None
    min_count: int = Field(default=20, ge=1)

    @model_validator(mode="after")
    def _check(self) -> "AlertRule":
        bounds = [bound for bound in (self.below, self.above) if bound is not None]
        if not bounds and self.drop is None:
            raise ValueError("needs below, above or drop")
        if self.drop is not None and self.measure not in ("mean", "pass_rate"):
            raise ValueError(f"drop: a test is known for mean and pass_rate, not for {self.measure}")
        if self.measure in RATES and not all(0 <= bound <= 1 for bound in bounds):
            raise ValueError(f"below, above: a {self.measure} lies between 0 and 1")
        if self.measure == "count" and "min_count" in self.model_fields_set:
            raise ValueError("min_count: does not go with count")
        return self


class Alert(Struct, frozen=True):
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
    level: ScoreLevel
    measure: Measure
    value: float
    count: int
    kind: str
    threshold: float
    baseline_value: float | None
    baseline_count: int | None
    p_value: float | None
    message: str
