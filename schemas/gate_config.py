"""The `gate` section of the config file: the rules by which a run passes or fails."""

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

STATUS = "evaluation_status"
_Share = Annotated[float, Field(ge=0, le=1, strict=True)]
_Number = Annotated[float, Field(strict=True)]


class _Rule(BaseModel):
    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True, allow_inf_nan=False)


class BoundRule(_Rule):
    """A bound on a pass rate or a mean over conversations.

    Attributes:
        rule: `bound`.
        criterion: A criterion of the config, or `evaluation_status`.
        measure: `pass_rate`: share of PASS in the outcomes, 0..1; `mean`: mean of the values.
        side: What is held against the bound: the `lower` or `upper` bound of the 95 % interval, or the
            `estimate`.
        at_least: Lowest value that passes.
        at_most: Highest value that passes.
    """

    rule: Literal["bound"]
    criterion: str = Field(min_length=1)
    measure: Literal["pass_rate", "mean"] = "pass_rate"
    side: Literal["lower", "upper", "estimate"]
    at_least: _Number | None = None
    at_most: _Number | None = None

    @model_validator(mode="after")
    def _check(self) -> "BoundRule":
        bounds = [bound for bound in (self.at_least, self.at_most) if bound is not None]
        if len(bounds) != 1:
            raise ValueError("needs at_least or at_most, and not both")
        if self.measure == "pass_rate" and not 0 <= bounds[0] <= 1:
            raise ValueError("at_least, at_most: a pass_rate lies between 0 and 1")
        return self


class NotWorseRule(_Rule):
    """The run is not worse than a baseline by more than a margin.

    It passes if the whole interval of the difference lies above the margin, and fails if it lies below.

    Attributes:
        rule: `not_worse`.
        margin: Largest loss that does not matter, as a share of the criterion's scale, 0..1; 0.02 of a pass
            rate are 2 points.
        criterion: A criterion, or `evaluation_status`; None: each of the `primary` ones.
    """

    rule: Literal["not_worse"]
    margin: _Share
    criterion: str | None = Field(default=None, min_length=1)


class DestructiveRule(_Rule):
    """No conversation has a destructive call that was not expected.

    Attributes:
        rule: `no_destructive_calls`.
    """

    rule: Literal["no_destructive_calls"]


class CoverageRule(_Rule):
    """At least a share of everything was decided.

    What was lost counts as not decided: records and conversations that failed, eval cases that could not be
    read or have no recording.

    Attributes:
        rule: `coverage`.
        at_least: The share, 0..1.
        criterion: A criterion of the config, or `evaluation_status`.
    """

    rule: Literal["coverage"]
    at_least: _Share
    criterion: str = Field(default=STATUS, min_length=1)


class AllPassRule(_Rule):
    """Every conversation of the run passes a criterion: none fails, and none is undecided.

    It is applied to the run as a whole. What was lost leaves it undecided: records and conversations that
    failed (unless `--max_failure_ratio` of the run allows it), eval cases that could not be read or have no
    recording.

    Attributes:
        rule: `all_pass`.
        criterion: A criterion of the config with a threshold, or `evaluation_status`.
    """

    rule: Literal["all_pass"]
    criterion: str = Field(default=STATUS, min_length=1)


GateRule = Annotated[
    BoundRule | NotWorseRule | DestructiveRule | CoverageRule | AllPassRule, Field(discriminator="rule")
]
GATE_RULES = (BoundRule, NotWorseRule, DestructiveRule, CoverageRule, AllPassRule)
"""The kinds of rules."""


class GateConfig(BaseModel):
    """The rules; all of them must pass.

    Attributes:
        primary: The criteria that decide a comparison with the baseline.
        rules: The rules; empty: there is no gate.
    """

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)

    primary: tuple[Annotated[str, Field(min_length=1)], ...] = Field(default=(STATUS,), min_length=1)
    rules: tuple[GateRule, ...] = ()

    def with_all_pass(self, criteria: Iterable[str]) -> "GateConfig":
        """Returns these rules, and for each of the criteria that all conversations pass it."""
        own = (AllPassRule(rule="all_pass", criterion=name) for name in criteria)
        return self.model_copy(update={"rules": tuple(dict.fromkeys((*self.rules, *own)))})
