"""The `alerts` section of the config file: what is said about the windows of a stream."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

Level = Literal["conversation", "turn"]
Measure = Literal["mean", "pass_rate", "unscored_rate", "p50", "p90", "p99", "count"]
RATES = ("pass_rate", "unscored_rate")


class Drop(BaseModel):
    """Worse than the windows before; tested when a window is at its end, and when something comes late.

    Attributes:
        baseline: How many windows before that hold anything, of the same app version, count as one baseline.
        significance: Highest p-value of a one-sided test that is still called worse, above 0 and below 1.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    baseline: int = Field(default=1, ge=1, le=1000)
    significance: float = Field(default=0.05, gt=0, lt=1)


class AlertRule(BaseModel):
    """When something is said about an app version's window.

    Attributes:
        name: Its name; no two rules have the same.
        criterion: A criterion of the config, or `evaluation_status`.
        level: Scores of whole conversations or of turns; None: of whole conversations where there are any.
        app_version: Glob of app versions; `*` matches one that is unknown, too.
        measure: What is looked at. `pass_rate`: passes of all that passed or failed; `unscored_rate`:
            unscored of all; `p50`, `p90`, `p99`: of latencies, in seconds; `count`: scores, unscored too.
        below: Said if the measure is below this; of `count`, when the window is at its end.
        above: Said if the measure is above this.
        drop: Said if `mean` or `pass_rate` is significantly worse than in the windows before.
        min_count: Nothing is said about fewer values, in the window or its baseline; not with `count`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    name: str = Field(min_length=1, max_length=200)
    criterion: str
    level: Level | None = None
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
