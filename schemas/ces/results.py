"""Results: one execution of one case in one run."""

from pydantic import Field

from turnwise.schemas.ces.case_parts import CesUserFact, GoldenExpectation, ScenarioExpectation
from turnwise.schemas.ces.conversations import (
    AgentTransfer,
    CesToolCall,
    CesToolResponse,
    ConversationMessage,
)
from turnwise.schemas.ces.metric_settings import EvaluationMetricsThresholds
from turnwise.schemas.ces.result_parts import (
    CesSpanLatency,
    CesToolCallLatency,
    EvaluationErrorInfo,
    EvaluationExpectationResult,
    EvaluationOutcome,
    HallucinationResult,
    OverallToolInvocationResult,
    SemanticSimilarityResult,
    TaskCompletionResult,
    UserGoalSatisfactionResult,
)
from turnwise.schemas.ces.run_settings import EvaluationConfig, EvaluationPersona, GoldenRunMethod
from turnwise.schemas.ces.status import Status
from turnwise.schemas.proto.fields import (
    Bool,
    Duration,
    Float32,
    Implicit,
    OpenEnum,
    Repeated,
    Struct,
    Text,
    Timestamp,
)
from turnwise.schemas.proto.json import Message


class ToolInvocationResult(Message):
    """Parameter check of one tool call."""

    PROTO = "EvaluationResult.GoldenExpectationOutcome.ToolInvocationResult"

    parameter_correctness_score: Float32 | None = None
    """0..1, share of the expected parameters that the call has."""
    outcome: Implicit[EvaluationOutcome] = EvaluationOutcome(0)
    explanation: Text = ""


class GoldenExpectationOutcome(Message):
    """Outcome of one expectation and the observed value."""

    PROTO = "EvaluationResult.GoldenExpectationOutcome"
    ONEOFS = (
        (
            "observed_tool_call",
            "observed_tool_response",
            "observed_agent_response",
            "observed_agent_transfer",
            "observed_payload",
        ),
    )

    observed_tool_call: CesToolCall | None = None
    observed_tool_response: CesToolResponse | None = None
    observed_agent_response: ConversationMessage | None = None
    observed_agent_transfer: AgentTransfer | None = None
    observed_payload: Struct | None = None
    """A custom payload; never expected, always SKIPPED."""
    expectation: GoldenExpectation | None = None
    outcome: Implicit[EvaluationOutcome] = EvaluationOutcome(0)
    semantic_similarity_result: SemanticSimilarityResult | None = None
    """Superseded by the turn's."""
    tool_invocation_result: ToolInvocationResult | None = None


class TurnReplayResult(Message):
    """Outcome of one turn."""

    PROTO = "EvaluationResult.GoldenResult.TurnReplayResult"

    conversation: Text = ""
    """Separate for every turn with GoldenRunMethod STABLE."""
    expectation_outcome: Repeated[GoldenExpectationOutcome] = Field(default_factory=list)
    """One per expectation; more, without `expectation`, for what was observed and not expected."""
    hallucination_result: HallucinationResult | None = None
    tool_invocation_score: Float32 = 0.0
    """Superseded by `overall_tool_invocation_result`; 0 and absent are not distinguishable."""
    tool_ordered_invocation_score: Float32 | None = None
    """Share of expected tools called in the expected order; it has no threshold."""
    turn_latency: Duration | None = None
    tool_call_latencies: Repeated[CesToolCallLatency] = Field(default_factory=list)
    semantic_similarity_result: SemanticSimilarityResult | None = None
    overall_tool_invocation_result: OverallToolInvocationResult | None = None
    error_info: EvaluationErrorInfo | None = None
    span_latencies: Repeated[CesSpanLatency] = Field(default_factory=list)


class GoldenResult(Message):
    """Outcome of a golden case."""

    PROTO = "EvaluationResult.GoldenResult"

    turn_replay_results: Repeated[TurnReplayResult] = Field(default_factory=list)
    evaluation_expectation_results: Repeated[EvaluationExpectationResult] = Field(default_factory=list)


class ObservedToolCall(Message):
    """A call with its answer."""

    PROTO = "EvaluationResult.ScenarioExpectationOutcome.ObservedToolCall"

    tool_call: CesToolCall | None = None
    tool_response: CesToolResponse | None = None


class ScenarioExpectationOutcome(Message):
    """Outcome of one scenario expectation."""

    PROTO = "EvaluationResult.ScenarioExpectationOutcome"
    ONEOFS = (("observed_tool_call", "observed_agent_response"),)

    observed_tool_call: ObservedToolCall | None = None
    observed_agent_response: ConversationMessage | None = None
    expectation: ScenarioExpectation | None = None
    outcome: Implicit[EvaluationOutcome] = EvaluationOutcome(0)


class ScenarioRubricOutcome(Message):
    """Score for one rubric."""

    PROTO = "EvaluationResult.ScenarioRubricOutcome"

    rubric: Text = ""
    score: Float32 | None = None
    score_explanation: Text = ""


class ScenarioResult(Message):
    """Outcome of a scenario case."""

    PROTO = "EvaluationResult.ScenarioResult"

    conversation: Text = ""
    task: Text = ""
    user_facts: Repeated[CesUserFact] = Field(default_factory=list)
    expectation_outcomes: Repeated[ScenarioExpectationOutcome] = Field(default_factory=list)
    rubric_outcomes: Repeated[ScenarioRubricOutcome] = Field(default_factory=list)
    hallucination_result: Repeated[HallucinationResult] = Field(default_factory=list)
    """One per turn."""
    task_completion_result: TaskCompletionResult | None = None
    """Superseded by `user_goal_satisfaction_result`."""
    tool_call_latencies: Repeated[CesToolCallLatency] = Field(default_factory=list)
    user_goal_satisfaction_result: UserGoalSatisfactionResult | None = None
    all_expectations_satisfied: Bool | None = None
    task_completed: Bool | None = None
    span_latencies: Repeated[CesSpanLatency] = Field(default_factory=list)
    evaluation_expectation_results: Repeated[EvaluationExpectationResult] = Field(default_factory=list)


class ExecutionState(OpenEnum):
    """Life cycle of a result."""

    EXECUTION_STATE_UNSPECIFIED = 0
    RUNNING = 1
    COMPLETED = 2
    ERROR = 3
    CANCELLED = 4
    QUEUED = 5


class EvaluationResult(Message):
    """One execution of one case in one run; its result is there only when it is COMPLETED."""

    ONEOFS = (("golden_result", "scenario_result"),)

    golden_result: GoldenResult | None = None
    scenario_result: ScenarioResult | None = None
    name: Text = ""
    display_name: Text = ""
    create_time: Timestamp | None = None
    evaluation_status: Implicit[EvaluationOutcome] = EvaluationOutcome(0)
    """Set only when COMPLETED."""
    evaluation_run: Text = ""
    persona: EvaluationPersona | None = None
    error_info: EvaluationErrorInfo | None = None
    error: Status | None = None
    """Older form of `error_info`."""
    initiated_by: Text = ""
    app_version: Text = ""
    """Absent for the draft."""
    app_version_display_name: Text = ""
    changelog: Text = ""
    changelog_create_time: Timestamp | None = None
    execution_state: Implicit[ExecutionState] = ExecutionState(0)
    evaluation_metrics_thresholds: EvaluationMetricsThresholds | None = None
    config: EvaluationConfig | None = None
    golden_run_method: Implicit[GoldenRunMethod] = GoldenRunMethod(0)
