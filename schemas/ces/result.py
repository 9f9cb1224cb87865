"""Results: one execution of one case in one run, its parts, and the figures of many."""

from pydantic import Field

from turnwise.schemas.ces.conversation import (
    AgentTransfer,
    CesToolCall,
    CesToolResponse,
    ConversationMessage,
    ToolsetTool,
)
from turnwise.schemas.ces.evaluation import CaseContent, CesUserFact, GoldenExpectation, ScenarioExpectation
from turnwise.schemas.ces.metric_settings import HIGHEST_SIMILARITY, EvaluationMetricsThresholds
from turnwise.schemas.jsonio import no_items
from turnwise.schemas.proto.message import (
    AnyMessage,
    Bool,
    Double,
    Duration,
    Float32,
    Implicit,
    Int32,
    Message,
    OpenEnum,
    Repeated,
    Struct,
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


class AudioEncoding(OpenEnum):
    """Encoding of audio samples."""

    AUDIO_ENCODING_UNSPECIFIED = 0
    LINEAR16 = 1
    MULAW = 2
    ALAW = 3


class InputAudioConfig(Message):
    """Audio that the user's side sends."""

    audio_encoding: Implicit[AudioEncoding] = AudioEncoding(0)
    """Encoding."""
    sample_rate_hertz: Int32 = 0
    """Samples per second."""
    noise_suppression_level: Text = ""
    """`low`, `moderate`, `high` or `very_high`."""


class OutputAudioConfig(Message):
    """Audio that the agent's side produces."""

    audio_encoding: Implicit[AudioEncoding] = AudioEncoding(0)
    """Encoding."""
    sample_rate_hertz: Int32 = 0
    """Samples per second."""


class EvaluationChannel(OpenEnum):
    """Channel of a run."""

    EVALUATION_CHANNEL_UNSPECIFIED = 0
    TEXT = 1
    AUDIO = 2


class EvaluationToolCallBehaviour(OpenEnum):
    """Whether a run calls real tools; unspecified: REAL."""

    EVALUATION_TOOL_CALL_BEHAVIOUR_UNSPECIFIED = 0
    REAL = 1
    FAKE = 2


class EvaluationConfig(Message):
    """Settings of a run."""

    DEPRECATED = frozenset({"input_audio_config", "output_audio_config"})

    input_audio_config: InputAudioConfig | None = None
    """Audio of the user's side."""
    output_audio_config: OutputAudioConfig | None = None
    """Audio of the agent's side."""
    evaluation_channel: Implicit[EvaluationChannel] = EvaluationChannel(0)
    """Text or audio."""
    tool_call_behaviour: Implicit[EvaluationToolCallBehaviour] = EvaluationToolCallBehaviour(0)
    """Whether real tools are called."""


class GoldenRunMethod(OpenEnum):
    """Replay method of a golden; unspecified: STABLE."""

    GOLDEN_RUN_METHOD_UNSPECIFIED = 0
    STABLE = 1
    NAIVE = 2


class BackgroundEnvironment(OpenEnum):
    """Background noise; 1 and 2 do not exist."""

    BACKGROUND_ENVIRONMENT_UNSPECIFIED = 0
    CALL_CENTER = 3
    TRAFFIC = 4
    KIDS_NOISE = 5
    CAFE = 6


class SpeechConfig(Message):
    """Voice of a persona."""

    PROTO = "EvaluationPersona.SpeechConfig"

    speaking_rate: Double = 0.0
    """Speed; 1 is normal."""
    environment: Implicit[BackgroundEnvironment] = BackgroundEnvironment(0)
    """Background noise."""
    voice_id: Text = ""
    """Id of the voice."""


class EvaluationPersona(Message):
    """A simulated user."""

    name: Text = ""
    """Name of the persona."""
    description: Text = ""
    """Free text."""
    display_name: Text = ""
    """Name for people."""
    personality: Text = ""
    """How the persona behaves."""
    speech_config: SpeechConfig | None = None
    """Voice."""


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
