"""The rows that a run writes, one class a table; their Avro schemas are derived from these classes."""

from typing import TypedDict

from turnwise.schemas.conversation_row import ConversationRow
from turnwise.schemas.values import JsonObject


class ScoreRow(TypedDict):
    """One score of a turn or of a whole conversation.

    Attributes:
        run_id: Id of the run.
        conversation_id: Id of the conversation.
        eval_id: Id of the eval case; null: there is none.
        app_version: Version of the agent; null: the log does not state it.
        turn_index: 0-based turn; null: the whole conversation.
        criterion: Name of the criterion.
        value: The score, on the scale of the criterion; null: unscored.
        outcome: PASS or FAIL by the threshold; null: unscored, or no threshold.
        threshold: The applied threshold; null: there is none.
        label: A short result (`MISSING_TURN`), or the measured item (a tool, a model).
        reason: Why there is no value or no outcome.
        explanation: Why the score fails: what was expected, and what was said or called instead.
        details: Evidence of the criterion, in a form of its own.
        judge: Usage of the judge: `model`, `prompt_version`, `samples`, `tokens_in`, `tokens_out`, `cached`,
            `voted`, `flipped` (verdicts with two votes or more, and those whose votes differ); null: the
            score was measured, or no judge was asked.
        event_time: Time of the turn or, without it, start of the conversation, in RFC 3339.
        language: Language of the conversation (BCP 47).
        tags: Tags of the conversation and of its case.
        revision: In a stream, the revision of the conversation; the row with the highest one counts.
        score_id: Key of the score: the same in every run for the same conversation, app version, case, turn
            and criterion with the same parameters (and, if judged, the same judge). Rows of a conversation
            have different ones; its revisions have the same, and so do several recordings in one run with the
            same conversation id, app version and case.

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
    score_id: str


class ResultRow(TypedDict):
    """One evaluation result of a conversation.

    Attributes:
        name: Resource name of the result.
        conversation_id: Id of the conversation.
        eval_id: Id of the eval case; null: there is none.
        eval_set_id: Id of the eval set of the case.
        case_etag: Etag of the case, such as a store states; null: none is stated.
        case_digest: Digest of what its eval case, or the record itself, expects, as in `conversations-*`.
        app_version: Version of the agent; null: the log does not state it.
        evaluation_status: The verdict, PASS or FAIL; null: not decided.
        result: A CES EvaluationResult in proto3 JSON.

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
    case_etag: str | None
    case_digest: str | None
    app_version: str | None
    evaluation_status: str | None
    result: JsonObject


class MetricRow(TypedDict):
    """Figures of one criterion over turns or whole conversations.

    Attributes:
        run_id: Id of the run.
        app_version: Version of the agent; null: the logs do not state it.
        criterion: Name of the criterion. `evaluation_status` counts the verdicts; its PASS is 1, its FAIL 0.
        level: `turn`, or `conversation`: scores of whole conversations.
        unit: Unit of the values: `score`, `seconds` or `count`.
        count: Number of scores, those without a value included.
        scored: Scores with a value.
        unscored: Scores without a value.
        errors: How often the criterion failed with an error.
        mean: Mean of the values.
        mean_low: Mean if everything unscored had the lowest value of the scale; null: it has none.
        mean_high: Mean if everything unscored had the highest value of the scale; null: it has none.
        stddev: Sample standard deviation; null: fewer than two values.
        pass_count: Scores with the outcome PASS.
        fail_count: Scores with the outcome FAIL.
        pass_rate: Share of PASS in all outcomes, 0 to 1; null: there is no outcome.
        pass_rate_low: Lower bound of the 95 % Wilson interval of the pass rate; a case counts once,
            however often it was recorded.
        pass_rate_high: Upper bound of that interval.
        p50: Median, of latencies only. Quantiles are within 0.1 % of the value.
        p90: 90th percentile, of latencies only.
        p99: 99th percentile, of latencies only.
        voted: Verdicts of a judge with two votes or more: of a rubric, a sentence, an aspect or an answer.
        flipped: Those of them whose votes are not all the same; null: no verdict has two votes.
        flip_rate: Their share, 0 to 1; null: no verdict has two votes.
        window_start: In a stream, start of the window in RFC 3339; null in a batch, as in the next three.
        window_end: End of the window, exclusive.
        pane: `EARLY`, `ON_TIME`, `LATE` or `UNKNOWN`.
        revision: How many rows the window had before, from 0; the row with the highest one counts.
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
    voted: int
    flipped: int | None
    flip_rate: float | None
    window_start: str | None
    window_end: str | None
    pane: str | None
    revision: int | None


class MetricsByAppVersionRow(MetricRow):
    """One criterion over an app version; the row of the criterion `evaluation_status` counts verdicts.

    Attributes:
        conversations: Conversations of the version, the same in all of its rows.
        turns: Their recorded turns.
        sampled_out: Conversations that the judge was not asked about because of a sample rate.
        repeats: pass^k and pass@k over the runs of each case, with 95 % Wilson intervals over the cases, in
            `cases`, `runs`, `pass_hat_k`, `pass_at_k`; null for turns, and where no case was decided.
        panel: What a panel of judges did: `questions`, `decided`, `agreement`, `alpha`; null: there was none.

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
    panel: JsonObject | None


class MetricsByTurnRow(MetricRow):
    """One criterion over one turn index of an app version.

    Attributes:
        turn_index: 0-based turn.

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

    Attributes:
        slice: Name of the slice (`skipped:NO_RELEVANT_CONTENT`, `language:ko`).
        conversations: Conversations with a turn in the slice, the same in all of its rows.
        turns: Turns in the slice.
        share_of_turns: Their share of the version's turns, 0 to 1.

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
    """One failure, or one finding.

    Attributes:
        run_id: Id of the run.
        stage: `read`, `parse`, `parse_case`, `assemble`, `match`, `score`, `alert` or `write`; `check`: a
            finding.
        error_type: Class of the error, or kind of the finding.
        message: Description in one line.
        source: File or address of the record.
        position: 1-based line or index in the file; 0: the file as a whole.
        record: Text of the record, its first 64 KiB.
        conversation_id: Id of the conversation, if known.
        criterion: Criterion that failed with an error (stage `score` only).
        app_version: Version of the agent, if known.
        turn_index: 0-based turn (stages `score` and `check` only); null: the whole conversation.

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
    "conversations": ConversationRow,
    "metrics_by_app_version": MetricsByAppVersionRow,
    "metrics_by_turn": MetricsByTurnRow,
    "metrics_by_slice": MetricsBySliceRow,
    "failures": FailureRow,
}
"""Table name (and file prefix) -> its row class."""
