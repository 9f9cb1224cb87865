"""Judgements, latencies and errors inside a result."""

from turnwise.schemas.ces.conversations import ToolsetTool
from turnwise.schemas.proto.fields import Duration, Float32, Implicit, Int32, OpenEnum, Text, Timestamp
from turnwise.schemas.proto.json import Message


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
    error_message: Text = ""
    session_id: Text = ""
    user_facing_error_message: Text = ""


class EvaluationOutcome(OpenEnum):
    """Verdict on a case, an expectation or a check."""

    OUTCOME_UNSPECIFIED = 0
    PASS = 1
    FAIL = 2
    SKIPPED = 3


class SemanticSimilarityResult(Message):
    """Judgement of semantic similarity."""

    PROTO = "EvaluationResult.SemanticSimilarityResult"

    score: Int32 | None = None
    """0..4."""
    label: Text = ""
    explanation: Text = ""
    outcome: Implicit[EvaluationOutcome] = EvaluationOutcome(0)


class HallucinationResult(Message):
    """Whether the agent's claims are justified by its context."""

    PROTO = "EvaluationResult.HallucinationResult"

    score: Int32 | None = None
    """1 justified, 0 not justified, -1 nothing to assess."""
    label: Text = ""
    explanation: Text = ""


class OverallToolInvocationResult(Message):
    """The tool check of a turn."""

    PROTO = "EvaluationResult.OverallToolInvocationResult"

    tool_invocation_score: Float32 | None = None
    """0..1, share of expected tools that were called."""
    outcome: Implicit[EvaluationOutcome] = EvaluationOutcome(0)


class CesToolCallLatency(Message):
    """One executed tool call."""

    PROTO = "EvaluationResult.ToolCallLatency"

    tool: Text = ""
    display_name: Text = ""
    start_time: Timestamp | None = None
    end_time: Timestamp | None = None
    execution_latency: Duration | None = None


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
    toolset: ToolsetTool | None = None
    model: Text | None = None
    callback: Text | None = None
    type: Implicit[SpanType] = SpanType(0)
    display_name: Text = ""
    start_time: Timestamp | None = None
    end_time: Timestamp | None = None
    execution_latency: Duration | None = None


class EvaluationExpectationResult(Message):
    """Verdict on one EvaluationExpectation."""

    PROTO = "EvaluationResult.EvaluationExpectationResult"

    evaluation_expectation: Text = ""
    prompt: Text = ""
    outcome: Implicit[EvaluationOutcome] = EvaluationOutcome(0)
    explanation: Text = ""


class UserGoalSatisfactionResult(Message):
    """Whether the simulated user got what it wanted."""

    PROTO = "EvaluationResult.UserGoalSatisfactionResult"

    score: Int32 | None = None
    """1 satisfied, 0 not satisfied, -1 the goal is too vague."""
    label: Text = ""
    explanation: Text = ""


class TaskCompletionResult(Message):
    """Older form of the user goal's result."""

    PROTO = "EvaluationResult.TaskCompletionResult"

    score: Int32 | None = None
    """1 completed, 0 not completed, -1 the goal is undefined."""
    label: Text = ""
    explanation: Text = ""
