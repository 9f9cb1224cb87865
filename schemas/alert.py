"""What an alert says."""

from dataclasses import dataclass

from turnwise.schemas.alert_config import Level, Measure


@dataclass(frozen=True, slots=True)
class Alert:
    """A rule that holds for one window of an app version.

    Attributes:
        name: Deterministic: the same rule, window and app version have the same one.
        rule: Name of the rule.
        window_start: RFC 3339.
        window_end: RFC 3339, exclusive.
        app_version: None: unknown.
        criterion: What was measured.
        level: Whether of whole conversations or of turns.
        measure: Which figure.
        value: The figure.
        count: How many values it is made of.
        kind: `below`, `above` or `drop`.
        threshold: Bound that was passed; of a drop, the significance.
        baseline_value: The figure in the windows before; None: no drop.
        baseline_count: How many values that is made of; None: no drop.
        p_value: Of a one-sided test that the window is no worse than its baseline; None: no drop.
        message: All of it in words.
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
