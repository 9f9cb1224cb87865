"""Results: one execution of one case in one run."""

from pydantic import Field

from turnwise.schemas.ces.conversation import AgentTransfer, CesToolCall, CesToolResponse, ConversationMessage
from turnwise.schemas.ces.evaluation import CaseContent, CesUserFact, GoldenExpectation, ScenarioExpectation
from turnwise.schemas.ces.metric_settings import EvaluationMetricsThresholds
from turnwise.schemas.ces.result import (
    AggregatedMetrics,
    CesSpanLatency,
    CesToolCallLatency,
    EvaluationErrorInfo,
    EvaluationExpectationResult,
    EvaluationOutcome,
    HallucinationResult,
    OverallToolInvocationResult,
    SemanticSimilarityResult,
    Status,
    TaskCompletionResult,
    UserGoalSatisfactionResult,
)
from turnwise.schemas.ces.run import EvaluationConfig, EvaluationPersona, GoldenRunMethod
from turnwise.schemas.jsonio import no_items
from turnwise.schemas.proto.message import (
    Bool,
    Duration,
    Float32,
    Implicit,
    Message,
    OpenEnum,
    Repeated,
    Struct,
    Text,
    Timestamp,
)


class ToolInvocationResult(Message):
    """Parameter check of one tool call."""

    PROTO = "EvaluationResult.GoldenExpectationOutcome.ToolInvocationResult"
    RANGES = (("parameter_correctness_score", 0, 1),)

    parameter_correctness_score: Float32 | None = None
    """Share of the expected parameters that the call has."""
    outcome: Implicit[EvaluationOutcome] = EvaluationOutcome(0)
    """Score against its threshold."""
    explanation: Text = ""
    """Which parameters differ."""


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
    DEPRECATED = frozenset({"semantic_similarity_result"})

    observed_tool_call: CesToolCall | None = None
    """The observed call."""
    observed_tool_response: CesToolResponse | None = None
    """The observed answer of a tool."""
    observed_agent_response: ConversationMessage | None = None
    """The observed response of the agent."""
    observed_agent_transfer: AgentTransfer | None = None
    """The observed hand-over."""
    observed_payload: Struct | None = None
    """A custom payload; never expected, always SKIPPED."""
    expectation: GoldenExpectation | None = None
    """The expectation; absent: this was observed and not expected."""
    outcome: Implicit[EvaluationOutcome] = EvaluationOutcome(0)
    """Whether the expectation is met."""
    semantic_similarity_result: SemanticSimilarityResult | None = None
    """Older form of the turn's semanticSimilarityResult."""
    tool_invocation_result: ToolInvocationResult | None = None
    """Check of the parameters of a call."""


class TurnReplayResult(Message):
    """Outcome of one turn."""

    PROTO = "EvaluationResult.GoldenResult.TurnReplayResult"
    DEPRECATED = frozenset({"tool_invocation_score"})
    RANGES = (
        ("tool_invocation_score", 0, 1),
        ("tool_ordered_invocation_score", 0, 1),
    )

    conversation: Text = ""
    """Name of the conversation; with STABLE every turn has its own."""
    expectation_outcome: Repeated[GoldenExpectationOutcome] = Field(default_factory=no_items)
    """One per expectation, and one per observation that nothing expects."""
    hallucination_result: HallucinationResult | None = None
    """Whether the claims of the turn are justified."""
    tool_invocation_score: Float32 = 0.0
    """Older form of overallToolInvocationResult; absent may mean 0."""
    tool_ordered_invocation_score: Float32 | None = None
    """Share of expected tools called in the expected order; it has no threshold."""
    turn_latency: Duration | None = None
    """Time that the turn took."""
    tool_call_latencies: Repeated[CesToolCallLatency] = Field(default_factory=no_items)
    """One per executed call."""
    semantic_similarity_result: SemanticSimilarityResult | None = None
    """Similarity of the agent's responses with the expected ones."""
    overall_tool_invocation_result: OverallToolInvocationResult | None = None
    """Share of expected tools that were called."""
    error_info: EvaluationErrorInfo | None = None
    """Error in this turn."""
    span_latencies: Repeated[CesSpanLatency] = Field(default_factory=no_items)
    """One per span of a tool, callback, guardrail or model."""


class GoldenResult(Message):
    """Outcome of a golden case."""

    PROTO = "EvaluationResult.GoldenResult"

    turn_replay_results: Repeated[TurnReplayResult] = Field(default_factory=no_items)
    """One per turn of the golden, in order."""
    evaluation_expectation_results: Repeated[EvaluationExpectationResult] = Field(default_factory=no_items)
    """One per expectation on the whole conversation."""


class ObservedToolCall(Message):
    """A call with its answer."""

    PROTO = "EvaluationResult.ScenarioExpectationOutcome.ObservedToolCall"

    tool_call: CesToolCall | None = None
    """The call."""
    tool_response: CesToolResponse | None = None
    """Its answer."""


class ScenarioExpectationOutcome(Message):
    """Outcome of one scenario expectation."""

    PROTO = "EvaluationResult.ScenarioExpectationOutcome"
    ONEOFS = (("observed_tool_call", "observed_agent_response"),)

    observed_tool_call: ObservedToolCall | None = None
    """The observed call, with its answer."""
    observed_agent_response: ConversationMessage | None = None
    """The observed response."""
    expectation: ScenarioExpectation | None = None
    """The expectation."""
    outcome: Implicit[EvaluationOutcome] = EvaluationOutcome(0)
    """Whether it is met."""


class ScenarioRubricOutcome(Message):
    """Score for one rubric."""

    PROTO = "EvaluationResult.ScenarioRubricOutcome"

    rubric: Text = ""
    """The rubric."""
    score: Float32 | None = None
    """Score of the rubric."""
    score_explanation: Text = ""
    """Reason of the judge."""


class ScenarioResult(Message):
    """Outcome of a scenario case."""

    PROTO = "EvaluationResult.ScenarioResult"
    DEPRECATED = frozenset({"task_completion_result"})

    conversation: Text = ""
    """Name of the simulated conversation."""
    task: Text = ""
    """The task at the time of the run."""
    user_facts: Repeated[CesUserFact] = Field(default_factory=no_items)
    """The facts at the time of the run."""
    expectation_outcomes: Repeated[ScenarioExpectationOutcome] = Field(default_factory=no_items)
    """One per expectation of the scenario."""
    rubric_outcomes: Repeated[ScenarioRubricOutcome] = Field(default_factory=no_items)
    """One per rubric."""
    hallucination_result: Repeated[HallucinationResult] = Field(default_factory=no_items)
    """One per turn."""
    task_completion_result: TaskCompletionResult | None = None
    """Older form of userGoalSatisfactionResult."""
    tool_call_latencies: Repeated[CesToolCallLatency] = Field(default_factory=no_items)
    """One per executed call."""
    user_goal_satisfaction_result: UserGoalSatisfactionResult | None = None
    """Whether the user got what it wanted."""
    all_expectations_satisfied: Bool | None = None
    """Whether every expectation of the scenario is met."""
    task_completed: Bool | None = None
    """Whether goal and expectations are met without a hallucination."""
    span_latencies: Repeated[CesSpanLatency] = Field(default_factory=no_items)
    """One per span of a tool, callback, guardrail or model."""
    evaluation_expectation_results: Repeated[EvaluationExpectationResult] = Field(default_factory=no_items)
    """One per expectation on the whole conversation."""


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
    DEPRECATED = frozenset({"error"})

    golden_result: GoldenResult | None = None
    """Outcome of a golden."""
    scenario_result: ScenarioResult | None = None
    """Outcome of a scenario."""
    name: Text = ""
    """projects/P/locations/L/apps/A/evaluations/E/results/R."""
    display_name: Text = ""
    """Name for people."""
    create_time: Timestamp | None = None
    """When it was created."""
    evaluation_status: Implicit[EvaluationOutcome] = EvaluationOutcome(0)
    """Verdict on the whole evaluation; only if COMPLETED."""
    evaluation_run: Text = ""
    """Name of the run."""
    persona: EvaluationPersona | None = None
    """The simulated user."""
    error_info: EvaluationErrorInfo | None = None
    """Why it could not be evaluated."""
    error: Status | None = None
    """Older form of errorInfo."""
    initiated_by: Text = ""
    """Who started the run."""
    app_version: Text = ""
    """Name of the app version; absent: the draft."""
    app_version_display_name: Text = ""
    """Its display name."""
    changelog: Text = ""
    """Changelog entry of the draft."""
    changelog_create_time: Timestamp | None = None
    """Time of that entry."""
    execution_state: Implicit[ExecutionState] = ExecutionState(0)
    """How far the execution is."""
    evaluation_metrics_thresholds: EvaluationMetricsThresholds | None = None
    """Thresholds that applied."""
    config: EvaluationConfig | None = None
    """Settings that applied."""
    golden_run_method: Implicit[GoldenRunMethod] = GoldenRunMethod(0)
    """How the golden was replayed."""


class Evaluation(CaseContent):
    """A test case of an app: a golden (a script) or a scenario (a task for a simulated user)."""

    aggregated_metrics: AggregatedMetrics | None = None
    """Averages and counts over all its results, by app version."""
    last_completed_result: EvaluationResult | None = None
    """The newest completed result."""
    last_ten_results: Repeated[EvaluationResult] = Field(default_factory=no_items)
    """The ten newest results; only if requested."""
