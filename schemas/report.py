"""Figures of a report: tables by criterion, slice and tool, distributions, and what is missing.

None means: not known, not logged or not measured; never 0.
"""

import msgspec

from turnwise.schemas.values import JsonObject


class CriterionFigure(msgspec.Struct, frozen=True):
    """One criterion in one app version.

    Attributes:
        count: Number of scores, those without a value included.
        scored: Scores with a value.
        unscored: Scores without a value.
        errors: How often the criterion failed with an error.
        passed: Scores with the outcome PASS.
        failed: Scores with the outcome FAIL.
        mean: Mean of the values.
        share: Share of PASS in PASS and FAIL, 0..1; None: there is no outcome.
        low: Lower bound of the 95 % interval of the shown figure (`share`, or else `mean`).
        high: Upper bound of it.
        by_turn: Per 0-based turn index: the shown figure and its number of scores.
    """

    count: int
    scored: int
    unscored: int
    errors: int
    passed: int
    failed: int
    mean: float | None
    share: float | None
    low: float | None
    high: float | None
    by_turn: list[tuple[float | None, int]]


class CriterionRow(msgspec.Struct, frozen=True):
    """A row of the table of criteria.

    Attributes:
        name: Name of the criterion; `evaluation_status` counts verdicts.
        unit: Unit of its values.
        level: `conversation` or `turn`: what the figures count.
        low: Lowest possible value of the shown figure; None: open.
        high: Highest possible value; None: open.
        figures: One per version; None: it applied to nothing.
    """

    name: str
    unit: str
    level: str
    low: float | None
    high: float | None
    figures: list[CriterionFigure | None]


class SliceFigure(msgspec.Struct, frozen=True):
    """Outcomes of one criterion in one slice of one version.

    Attributes:
        passed: Conversations that pass.
        failed: Conversations that fail.
        unscored: Conversations without a value or verdict.
        difference: Pass share minus that of the version's other conversations, -1..1; None: one of the two
            groups has no outcome.
        shrunk: The difference, drawn towards the mean of its criterion by its uncertainty.
        stands_out: Whether it is found at a false discovery rate of 10 % over all slices of the version.
        detectable: Smallest difference that Fisher's exact test of so many conversations sees with a power of
            80 %; None: none can be seen, or there is no difference.
    """

    passed: int
    failed: int
    unscored: int
    difference: float | None = None
    shrunk: float | None = None
    stands_out: bool = False
    detectable: float | None = None


class Slice(msgspec.Struct, frozen=True):
    """The conversations with one property.

    Attributes:
        kind: `language`, `tag`, `tool` or `turns`.
        value: Its value.
        conversations: Number of conversations.
        figures: Criterion -> one entry per version; None: it applies to none of them.
    """

    kind: str
    value: str
    conversations: int
    figures: dict[str, list[SliceFigure | None]]


class ToolFigure(msgspec.Struct, frozen=True):
    """One tool in one version.

    Attributes:
        tool: Name of the tool.
        version: Place of the version.
        calls: Number of calls.
        errors: Calls whose response is an error.
        p50: Median of the logged seconds; None: none is logged.
        p95: 95th percentile of them.
        effects: Effect -> number of calls.
        wrong: Argument -> how often it was missing, extra or different, most frequent first.
    """

    tool: str
    version: int
    calls: int
    errors: int
    p50: float | None
    p95: float | None
    effects: dict[str, int]
    wrong: list[tuple[str, int]]


class Curve(msgspec.Struct, frozen=True):
    """Distribution of one quantity in one version.

    Attributes:
        quantity: `turn_latency`, `tokens_in`, ...
        unit: `seconds`, `tokens` or `count`.
        version: Place of the version.
        count: Number of values.
        missing: Number of turns or conversations without one.
        quantiles: Values at evenly spaced shares from 0 to 1.
    """

    quantity: str
    unit: str
    version: int
    count: int
    missing: int
    quantiles: list[float]


class Unscored(msgspec.Struct, frozen=True):
    """Scores without a value, or verdicts not reached, for one reason.

    Attributes:
        criterion: Name of the criterion.
        version: Place of the version.
        reason: The reason.
        count: Number of scores.
        examples: Places of conversations, a few.
    """

    criterion: str
    version: int
    reason: str
    count: int
    examples: list[int]


class FailureGroup(msgspec.Struct, frozen=True):
    """Failures or findings of one kind.

    Attributes:
        stage: Stage of the failure; `check`: findings, which lose nothing.
        error_type: Class of the error.
        count: Number of them.
        rows: The first of them, with their records.
    """

    stage: str
    error_type: str
    count: int
    rows: list[JsonObject]
