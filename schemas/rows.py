"""The rows that a run writes, one class a table; their Avro schemas are derived from these classes."""

from typing import TypedDict

from turnwise.schemas.values import JsonObject


class ScoreRow(TypedDict):
    """One score. `turn_index` null: the whole conversation; `value` null: unscored, see `reason`.

    >>> import turnwise
    >>> turn = {"user": "Hi", "agent": "Hello", "expected": {"response": "Hello there"}}
    >>> log = {"conversation_id": "c1", "app_version": "v1", "turns": [turn], "tags": ["skipped:NONE"]}
    >>> result = turnwise.evaluate(log, criteria={"response_match_score": 0.5})
    >>> [(row["turn_index"], round(row["value"], 2), row["outcome"]) for row in result.scores]
    [(0, 0.67, 'PASS'), (None, 0.67, 'PASS')]
    """

    run_id: str
    conversation_id: str
    eval_id: str | None
    app_version: str | None
    turn_index: int | None
    criterion: str
    value: float | None
    outcome: str | None
    threshold: float | None
    label: str | None
    reason: str | None
    explanation: str | None
    details: JsonObject | None
    judge: JsonObject | None
    event_time: str | None
    language: str | None
    tags: list[str]
    revision: int


class ResultRow(TypedDict):
    """One evaluation result; `result` is a CES EvaluationResult in proto3 JSON.

    >>> import turnwise
    >>> turn = {"user": "Hi", "agent": "Hello", "expected": {"response": "Hello there"}}
    >>> log = {"conversation_id": "c1", "app_version": "v1", "turns": [turn], "tags": ["skipped:NONE"]}
    >>> result = turnwise.evaluate(log, criteria={"response_match_score": 0.5})
    >>> [(row["conversation_id"], row["evaluation_status"]) for row in result.results]
    [('c1', 'PASS')]
    """

    name: str
    conversation_id: str
    eval_id: str | None
    eval_set_id: str | None
    app_version: str | None
    evaluation_status: str | None
    result: JsonObject


class MetricRow(TypedDict):
    """Figures of one criterion, over turns (`level` turn) or whole conversations (`level` conversation).

    `mean_low` and `mean_high` are the mean if
    everything unscored stood at the bottom, or at the top, of the criterion's scale. `pass_rate_low` and
    `pass_rate_high` bound the pass rate with 95 % confidence (Wilson). Quantiles are of latencies only.
    A stream's rows are those of one window: `window_start` and `window_end` in RFC 3339, the end exclusive,
    `pane` `EARLY`, `ON_TIME`, `LATE` or `UNKNOWN`, and `revision`, which counts how often the window gave
    figures, from 0. All four are null in a batch.
    """

    run_id: str
    app_version: str | None
    criterion: str
    level: str
    unit: str
    count: int
    scored: int
    unscored: int
    errors: int
    mean: float | None
    mean_low: float | None
    mean_high: float | None
    stddev: float | None
    pass_count: int
    fail_count: int
    pass_rate: float | None
    pass_rate_low: float | None
    pass_rate_high: float | None
    p50: float | None
    p90: float | None
    p99: float | None
    window_start: str | None
    window_end: str | None
    pane: str | None
    revision: int | None


class MetricsByAppVersionRow(MetricRow):
    """One criterion over an app version; the row of the criterion `evaluation_status` counts verdicts.

    `conversations` and `turns` are those of the version, the same in all of its rows. `sampled_out` are the
    conversations that a judge was not asked about because of a sample rate. `repeats` holds
    pass^k and pass@k over the runs of each case with 95 % intervals (Wilson, over the cases).

    >>> import turnwise
    >>> turn = {"user": "Hi", "agent": "Hello", "expected": {"response": "Hello there"}}
    >>> log = {"conversation_id": "c1", "app_version": "v1", "turns": [turn], "tags": ["skipped:NONE"]}
    >>> result = turnwise.evaluate(log, criteria={"response_match_score": 0.5})
    >>> [(row["criterion"], row["level"], row["pass_rate"]) for row in result.metrics_by_app_version[:2]]
    [('evaluation_status', 'conversation', 1.0), ('response_match_score', 'turn', 1.0)]
    """

    conversations: int
    turns: int
    sampled_out: int
    repeats: JsonObject | None


class MetricsByTurnRow(MetricRow):
    """One criterion over one 0-based turn index of an app version.

    >>> import turnwise
    >>> turn = {"user": "Hi", "agent": "Hello", "expected": {"response": "Hello there"}}
    >>> log = {"conversation_id": "c1", "app_version": "v1", "turns": [turn], "tags": ["skipped:NONE"]}
    >>> result = turnwise.evaluate(log, criteria={"response_match_score": 0.5})
    >>> [(row["turn_index"], row["criterion"], row["count"]) for row in result.metrics_by_turn]
    [(0, 'response_match_score', 1)]
    """

    turn_index: int


class MetricsBySliceRow(MetricRow):
    """One criterion over one slice of an app version: the turns with a label, and their conversations.

    `conversations` and `turns` are those of the slice, the same in all of its rows; `share_of_turns` is the
    share of the version's turns that are in it.

    >>> import turnwise
    >>> turn = {"user": "Hi", "agent": "Hello", "expected": {"response": "Hello there"}}
    >>> log = {"conversation_id": "c1", "app_version": "v1", "turns": [turn], "tags": ["skipped:NONE"]}
    >>> result = turnwise.evaluate(log, criteria={"response_match_score": 0.5})
    >>> [(row["slice"], row["criterion"], row["count"]) for row in result.metrics_by_slice[:1]]
    [('skipped:NONE', 'evaluation_status', 1)]
    """

    slice: str
    conversations: int
    turns: int
    share_of_turns: float


class FailureRow(TypedDict):
    """One thing that could not be read, parsed, matched or scored.

    >>> import turnwise
    >>> result = turnwise.evaluate({"conversation_id": "c1", "turns": []})
    >>> [(row["stage"], row["message"]) for row in result.failures]
    [('parse', 'conversation c1 has no turn')]
    """

    run_id: str
    stage: str
    error_type: str
    message: str
    source: str | None
    position: int | None
    record: str | None
    conversation_id: str | None
    criterion: str | None
    app_version: str | None
    turn_index: int | None


TABLES: dict[str, type] = {
    "scores": ScoreRow,
    "results": ResultRow,
    "metrics_by_app_version": MetricsByAppVersionRow,
    "metrics_by_turn": MetricsByTurnRow,
    "metrics_by_slice": MetricsBySliceRow,
    "failures": FailureRow,
}
"""Table name (and file prefix) -> its row class."""
