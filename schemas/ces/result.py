"""Parts of a CES result: judgements, latencies, errors and statuses."""

from pydantic import Field

from turnwise.schemas.ces.conversation import ToolsetTool
from turnwise.schemas.ces.metric_settings import HIGHEST_SIMILARITY
from turnwise.schemas.jsonio import no_items
from turnwise.schemas.proto.message import (
    AnyMessage,
    Duration,
    Float32,
    Implicit,
    Int32,
    Message,
    OpenEnum,
    Repeated,
    Text,
    Timestamp,
)


class EvaluationErrorType(OpenEnum):
    """Class of an execution error."""

    ERROR_TYPE_UNSPECIFIED = 0
    RUNTIME_FAILURE = 1
    CONVERSATION_RETRIEVAL_FAILURE = 2
    METRIC_CALCULATION_FAILURE = 3
    EVALUATION_UPDATE_FAILURE = 4
    QUOTA_EXHAUSTED = 5
    USER_SIMULATION_FAILURE = 6


class EvaluationErrorInfo(Message):
    """Why something could not be evaluated."""

    error_type: Implicit[EvaluationErrorType] = EvaluationErrorType(0)
    """Class of the error."""
    error_message: Text = ""
    """Message for developers."""
    session_id: Text = ""
    """The session that failed."""
    user_facing_error_message: Text = ""
    """Message for users."""


class EvaluationOutcome(OpenEnum):
    """Verdict on a case, an expectation or a check."""

    OUTCOME_UNSPECIFIED = 0
    PASS = 1
    FAIL = 2
    SKIPPED = 3


class SemanticSimilarityResult(Message):
    """Judgement of semantic similarity."""

    PROTO = "EvaluationResult.SemanticSimilarityResult"
    RANGES = (("score", 0, HIGHEST_SIMILARITY),)

    score: Int32 | None = None
    """4: same meaning, 0: contradiction."""
    label: Text = ""
    """Label of the score."""
    explanation: Text = ""
    """Reason of the judge."""
    outcome: Implicit[EvaluationOutcome] = EvaluationOutcome(0)
    """Score against its threshold."""


class HallucinationResult(Message):
    """Whether the agent's claims are justified by its context."""

    PROTO = "EvaluationResult.HallucinationResult"
    RANGES = (("score", -1, 1),)

    score: Int32 | None = None
    """1: justified, 0: not justified, -1: nothing to assess."""
    label: Text = ""
    """Label of the score."""
    explanation: Text = ""
    """Reason of the judge."""


class OverallToolInvocationResult(Message):
    """The tool check of a turn."""

    PROTO = "EvaluationResult.OverallToolInvocationResult"
    RANGES = (("tool_invocation_score", 0, 1),)

    tool_invocation_score: Float32 | None = None
    """Share of expected tools that were called."""
    outcome: Implicit[EvaluationOutcome] = EvaluationOutcome(0)
    """Score against its threshold."""


class CesToolCallLatency(Message):
    """One executed tool call."""

    PROTO = "EvaluationResult.ToolCallLatency"

    tool: Text = ""
    """Name of the tool."""
    display_name: Text = ""
    """Display name of the tool."""
    start_time: Timestamp | None = None
    """Start."""
    end_time: Timestamp | None = None
    """End."""
    execution_latency: Duration | None = None
    """Length of the execution."""


class SpanType(OpenEnum):
    """Kind of a span."""

    TYPE_UNSPECIFIED = 0
    TOOL = 1
    USER_CALLBACK = 2
    GUARDRAIL = 3
    LLM = 4


class CesSpanLatency(Message):
    """One span, without its children."""

    PROTO = "EvaluationResult.SpanLatency"
    ONEOFS = (("resource", "toolset", "model", "callback"),)

    resource: Text | None = None
    """Name of the tool or guardrail."""
    toolset: ToolsetTool | None = None
    """Tool of a toolset."""
    model: Text | None = None
    """Model of an LLM span."""
    callback: Text | None = None
    """The callback."""
    type: Implicit[SpanType] = SpanType(0)
    """Kind of the span."""
    display_name: Text = ""
    """Display name of the tool or guardrail."""
    start_time: Timestamp | None = None
    """Start."""
    end_time: Timestamp | None = None
    """End."""
    execution_latency: Duration | None = None
    """Length."""


class EvaluationExpectationResult(Message):
    """Verdict on one EvaluationExpectation."""

    PROTO = "EvaluationResult.EvaluationExpectationResult"

    evaluation_expectation: Text = ""
    """Name of the expectation."""
    prompt: Text = ""
    """Prompt that was used."""
    outcome: Implicit[EvaluationOutcome] = EvaluationOutcome(0)
    """Whether it is met."""
    explanation: Text = ""
    """Reason of the judge."""


class UserGoalSatisfactionResult(Message):
    """Whether the simulated user got what it wanted."""

    PROTO = "EvaluationResult.UserGoalSatisfactionResult"
    RANGES = (("score", -1, 1),)

    score: Int32 | None = None
    """1: satisfied, 0: not satisfied, -1: the goal is too vague."""
    label: Text = ""
    """Label of the score."""
    explanation: Text = ""
    """Reason of the judge."""


class TaskCompletionResult(Message):
    """Older form of the user goal's result."""

    PROTO = "EvaluationResult.TaskCompletionResult"
    RANGES = (("score", -1, 1),)

    score: Int32 | None = None
    """1: completed, 0: not completed, -1: the goal is undefined."""
    label: Text = ""
    """Label of the score."""
    explanation: Text = ""
    """Reason of the judge."""


class Status(Message):
    """An error of an API."""

    PACKAGE = "google.rpc"

    code: Int32 = 0
    """Code of google.rpc.Code."""
    message: Text = ""
    """Message for developers."""
    details: Repeated[AnyMessage] = Field(default_factory=no_items)
    """Further details."""


class ToolMetrics(Message):
    """Counts of one tool."""

    PROTO = "AggregatedMetrics.ToolMetrics"

    tool: Text = ""
    """Name of the tool."""
    pass_count: Int32 = 0
    """Expected calls that passed."""
    fail_count: Int32 = 0
    """Expected calls that failed."""


class SemanticSimilarityMetrics(Message):
    """Mean semantic similarity."""

    PROTO = "AggregatedMetrics.SemanticSimilarityMetrics"
    RANGES = (("score", 0, HIGHEST_SIMILARITY),)

    score: Float32 = 0.0
    """Mean score."""


class HallucinationMetrics(Message):
    """Mean hallucination score."""

    PROTO = "AggregatedMetrics.HallucinationMetrics"
    RANGES = (("score", 0, 1),)

    score: Float32 = 0.0
    """Mean score; 1: all is justified."""


class ToolCallLatencyMetrics(Message):
    """Mean latency of one tool."""

    PROTO = "AggregatedMetrics.ToolCallLatencyMetrics"

    tool: Text = ""
    """Name of the tool."""
    average_latency: Duration | None = None
    """Mean latency of its calls."""


class TurnLatencyMetrics(Message):
    """Mean latency of turns."""

    PROTO = "AggregatedMetrics.TurnLatencyMetrics"

    average_latency: Duration | None = None
    """Mean latency."""


class MetricsByTurn(Message):
    """Figures of one turn index."""

    PROTO = "AggregatedMetrics.MetricsByTurn"

    turn_index: Int32 = 0
    """Index of the turn, from 0."""
    tool_metrics: Repeated[ToolMetrics] = Field(default_factory=no_items)
    """By tool."""
    semantic_similarity_metrics: Repeated[SemanticSimilarityMetrics] = Field(default_factory=no_items)
    """Semantic similarity; one entry."""
    hallucination_metrics: Repeated[HallucinationMetrics] = Field(default_factory=no_items)
    """Hallucination; one entry."""
    tool_call_latency_metrics: Repeated[ToolCallLatencyMetrics] = Field(default_factory=no_items)
    """Latency by tool."""
    turn_latency_metrics: Repeated[TurnLatencyMetrics] = Field(default_factory=no_items)
    """Latency of turns; one entry."""


class MetricsByAppVersion(Message):
    """Figures of one app version."""

    PROTO = "AggregatedMetrics.MetricsByAppVersion"

    app_version_id: Text = ""
    """Last part of the version's name."""
    tool_metrics: Repeated[ToolMetrics] = Field(default_factory=no_items)
    """By tool."""
    semantic_similarity_metrics: Repeated[SemanticSimilarityMetrics] = Field(default_factory=no_items)
    """Semantic similarity; one entry."""
    hallucination_metrics: Repeated[HallucinationMetrics] = Field(default_factory=no_items)
    """Hallucination; one entry."""
    tool_call_latency_metrics: Repeated[ToolCallLatencyMetrics] = Field(default_factory=no_items)
    """Latency by tool."""
    turn_latency_metrics: Repeated[TurnLatencyMetrics] = Field(default_factory=no_items)
    """Latency of turns; one entry."""
    pass_count: Int32 = 0
    """Results that passed."""
    fail_count: Int32 = 0
    """Results that failed."""
    metrics_by_turn: Repeated[MetricsByTurn] = Field(default_factory=no_items)
    """The same by index of the turn."""


class AggregatedMetrics(Message):
    """Figures of a case or a dataset over all their runs."""

    metrics_by_app_version: Repeated[MetricsByAppVersion] = Field(default_factory=no_items)
    """One entry per app version that has results."""
