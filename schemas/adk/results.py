"""google-adk's logs: eval results and stored sessions.

Read them with `turnwise.schemas.adk.read_log`.
"""

from enum import IntEnum

from pydantic import Field

from turnwise.schemas.adk import AdkModel, Content, Invocation, UsageMetadata
from turnwise.schemas.values import JsonObject, JsonValue, no_items


class EvalStatus(IntEnum):
    """A status; result files store its number."""

    PASSED = 1
    FAILED = 2
    NOT_EVALUATED = 3
    INFORMATIONAL = 4


class RubricScore(AdkModel):
    """A judge's answer to one rubric."""

    rubric_id: str
    rationale: str | None = None
    score: float | None = None


class EvalMetricResultDetails(AdkModel):
    """Figures behind a metric's score."""

    rubric_scores: list[RubricScore] | None = None
    token_usage_details: JsonObject | None = None
    duration_details: JsonObject | None = None


class EvalMetricResult(AdkModel):
    """One metric of an invocation or of a case."""

    metric_name: str = ""
    threshold: float | None = None
    criterion: JsonObject | None = None
    custom_function_path: str | None = None
    score: float | None = None
    eval_status: EvalStatus = EvalStatus.NOT_EVALUATED
    details: EvalMetricResultDetails | None = None


class EvalMetricResultPerInvocation(AdkModel):
    """A recorded and an expected turn with their metrics."""

    actual_invocation: Invocation
    expected_invocation: Invocation | None = None
    eval_metric_results: list[EvalMetricResult] = Field(default_factory=no_items)


class EventCompaction(AdkModel):
    """A compaction of the events in a time range, in seconds since the epoch."""

    start_timestamp: float | None = None
    end_timestamp: float | None = None


class EventActions(AdkModel):
    """Actions of an event."""

    skip_summarization: bool | None = None
    escalate: bool | None = None
    end_of_agent: bool | None = None
    state_delta: JsonObject = Field(default_factory=dict)
    transfer_to_agent: str | None = None
    rewind_before_invocation_id: str | None = None
    compaction: EventCompaction | None = None


class AdkEvent(AdkModel):
    """One stored event of a session; `timestamp` is in seconds since the epoch.

    Attributes:
        error_code: Error of the model or agent; codes vary by model.
        interrupted: The user interrupted the agent.
        turn_complete: False: the model did not finish its turn.
    """

    invocation_id: str = ""
    author: str = ""
    content: Content | None = None
    actions: EventActions = Field(default_factory=EventActions)
    partial: bool | None = None
    long_running_tool_ids: list[str] | None = None
    grounding_metadata: JsonObject | None = None
    usage_metadata: UsageMetadata | None = None
    model_version: str | None = None
    timestamp: float | None = None
    error_code: JsonValue = None
    error_message: JsonValue = None
    finish_reason: JsonValue = None
    interrupted: bool | None = None
    turn_complete: bool | None = None


class AdkSession(AdkModel):
    """A stored session."""

    id: str
    app_name: str | None = None
    user_id: str | None = None
    state: JsonObject = Field(default_factory=dict)
    events: list[AdkEvent] = Field(default_factory=no_items)


class EvalCaseResult(AdkModel):
    """Result of one run of an eval case.

    Attributes:
        session_details: The session; only its `state` is read.
    """

    eval_set_id: str = ""
    eval_id: str = ""
    final_eval_status: EvalStatus = EvalStatus.NOT_EVALUATED
    overall_eval_metric_results: list[EvalMetricResult] = Field(default_factory=no_items)
    eval_metric_result_per_invocation: list[EvalMetricResultPerInvocation] = Field(default_factory=no_items)
    session_id: str | None = None
    session_details: JsonValue = None
    user_id: str | None = None


class EvalSetResult(AdkModel):
    """A file of results."""

    eval_set_result_id: str = ""
    eval_set_result_name: str | None = None
    eval_set_id: str = ""
    eval_case_results: list[EvalCaseResult] = Field(default_factory=no_items)
    creation_timestamp: float | None = None
