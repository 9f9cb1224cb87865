"""Results: one execution of one case in one run, its parts, and the figures of many."""

from turnwise.schemas.ces import conversation as ces
from turnwise.schemas.ces import evaluation
from turnwise.schemas.proto import message as proto
from turnwise.schemas.proto.message import Int32, Message, OneOf, OpenEnum, Struct, Text, field


class EvaluationErrorType(OpenEnum):
    """Class of an execution error."""

    (ERROR_TYPE_UNSPECIFIED, RUNTIME_FAILURE, CONVERSATION_RETRIEVAL_FAILURE, METRIC_CALCULATION_FAILURE,
     EVALUATION_UPDATE_FAILURE, QUOTA_EXHAUSTED, USER_SIMULATION_FAILURE) = range(7)  # fmt: skip


class EvaluationErrorInfo(Message):
    """Why something could not be evaluated."""

    error_type: EvaluationErrorType = field("Class of the error.")
    error_message: Text = field("Message for developers.")
    session_id: Text = field("The session that failed.")
    user_facing_error_message: Text = field("Message for users.")


class EvaluationOutcome(OpenEnum):
    """Verdict on a case, an expectation or a check."""

    OUTCOME_UNSPECIFIED, PASS, FAIL, SKIPPED = range(4)


class SemanticSimilarityResult(Message, inside="EvaluationResult"):
    """Judgement of semantic similarity."""

    score: Int32 | None = field("4: same meaning, 0: contrary.", bounds=(0, evaluation.HIGHEST_SIMILARITY))
    label: Text = field("Label of the score.")
    explanation: Text = field("Reason of the judge.")
    outcome: EvaluationOutcome = field("Score against its threshold.")


class HallucinationResult(Message, inside="EvaluationResult"):
    """Whether the agent's claims are justified by its context."""

    score: Int32 | None = field("1: justified, 0: not justified, -1: nothing to assess.", bounds=(-1, 1))
    label: Text = field("Label of the score.")
    explanation: Text = field("Reason of the judge.")


class OverallToolInvocationResult(Message, inside="EvaluationResult"):
    """The tool check of a turn."""

    tool_invocation_score: proto.Float32 | None = field("Share of expected tools called.", bounds=(0, 1))
    outcome: EvaluationOutcome = field("Score against its threshold.")


class CesToolCallLatency(Message, proto="EvaluationResult.ToolCallLatency"):
    """One executed tool call."""

    tool: Text = field("Name of the tool.")
    display_name: Text = field("Display name of the tool.")
    start_time: proto.Timestamp | None = field("Start.")
    end_time: proto.Timestamp | None = field("End.")
    execution_latency: proto.Duration | None = field("Length of the execution.")


class SpanType(OpenEnum):
    """Kind of a span."""

    TYPE_UNSPECIFIED, TOOL, USER_CALLBACK, GUARDRAIL, LLM = range(5)


class CesSpanLatency(Message, proto="EvaluationResult.SpanLatency"):
    """One span, without its children."""

    resource: OneOf[Text] = field("Name of the tool or guardrail.")
    toolset: OneOf[ces.ToolsetTool] = field("Tool of a toolset.")
    model: OneOf[Text] = field("Model of an LLM span.")
    callback: OneOf[Text] = field("The callback.")
    type: SpanType = field("Kind of the span.")
    display_name: Text = field("Display name of the tool or guardrail.")
    start_time: proto.Timestamp | None = field("Start.")
    end_time: proto.Timestamp | None = field("End.")
    execution_latency: proto.Duration | None = field("Length.")


class EvaluationExpectationResult(Message, inside="EvaluationResult"):
    """Verdict on one EvaluationExpectation."""

    evaluation_expectation: Text = field("Name of the expectation.")
    prompt: Text = field("Prompt that was used.")
    outcome: EvaluationOutcome = field("Whether it is met.")
    explanation: Text = field("Reason of the judge.")


class UserGoalSatisfactionResult(Message, inside="EvaluationResult"):
    """Whether the simulated user got what it wanted."""

    score: Int32 | None = field("1: satisfied, 0: not satisfied, -1: the goal is too vague.", bounds=(-1, 1))
    label: Text = field("Label of the score.")
    explanation: Text = field("Reason of the judge.")


class TaskCompletionResult(UserGoalSatisfactionResult, inside="EvaluationResult"):
    """Older form of the user goal's result."""

    score: Int32 | None = field("1: completed, 0: not completed, -1: the goal is undefined.", bounds=(-1, 1))


class Status(Message):
    """An error of an API."""

    code: Int32 = field("Code of google.rpc.Code.")
    message: Text = field("Message for developers.")
    details: list[proto.AnyMessage] = field("Further details.")


class ToolMetrics(Message, inside="AggregatedMetrics"):
    """Counts of one tool."""

    tool: Text = field("Name of the tool.")
    pass_count: Int32 = field("Expected calls that passed.")
    fail_count: Int32 = field("Expected calls that failed.")


class SemanticSimilarityMetrics(Message, inside="AggregatedMetrics"):
    """Mean semantic similarity."""

    score: proto.Float32 = field("Mean score.", bounds=(0, evaluation.HIGHEST_SIMILARITY))


class HallucinationMetrics(Message, inside="AggregatedMetrics"):
    """Mean hallucination score."""

    score: proto.Float32 = field("Mean score; 1: all is justified.", bounds=(0, 1))


class ToolCallLatencyMetrics(Message, inside="AggregatedMetrics"):
    """Mean latency of one tool."""

    tool: Text = field("Name of the tool.")
    average_latency: proto.Duration | None = field("Mean latency of its calls.")


class TurnLatencyMetrics(Message, inside="AggregatedMetrics"):
    """Mean latency of turns."""

    average_latency: proto.Duration | None = field("Mean latency.")


class MetricsByTurn(Message, inside="AggregatedMetrics"):
    """Figures of one turn index."""

    turn_index: Int32 = field("Index of the turn, from 0.")
    tool_metrics: list[ToolMetrics] = field("By tool.")
    semantic_similarity_metrics: list[SemanticSimilarityMetrics] = field("Semantic similarity; one entry.")
    hallucination_metrics: list[HallucinationMetrics] = field("Hallucination; one entry.")
    tool_call_latency_metrics: list[ToolCallLatencyMetrics] = field("Latency by tool.")
    turn_latency_metrics: list[TurnLatencyMetrics] = field("Latency of turns; one entry.")


class MetricsByAppVersion(Message, inside="AggregatedMetrics"):
    """Figures of one app version."""

    app_version_id: Text = field("Last part of the version's name.")
    tool_metrics: list[ToolMetrics] = field("By tool.")
    semantic_similarity_metrics: list[SemanticSimilarityMetrics] = field("Semantic similarity; one entry.")
    hallucination_metrics: list[HallucinationMetrics] = field("Hallucination; one entry.")
    tool_call_latency_metrics: list[ToolCallLatencyMetrics] = field("Latency by tool.")
    turn_latency_metrics: list[TurnLatencyMetrics] = field("Latency of turns; one entry.")
    pass_count: Int32 = field("Results that passed.")
    fail_count: Int32 = field("Results that failed.")
    metrics_by_turn: list[MetricsByTurn] = field("The same by index of the turn.")


class AggregatedMetrics(Message):
    """Figures of a case or a dataset over all their runs."""

    metrics_by_app_version: list[MetricsByAppVersion] = field("One entry per app version that has results.")


class AudioEncoding(OpenEnum):
    """Encoding of audio samples."""

    AUDIO_ENCODING_UNSPECIFIED, LINEAR16, MULAW, ALAW = range(4)


class OutputAudioConfig(Message):
    """Audio that the agent's side produces."""

    audio_encoding: AudioEncoding = field("Encoding.")
    sample_rate_hertz: Int32 = field("Samples per second.")


class InputAudioConfig(OutputAudioConfig):
    """Audio that the user's side sends."""

    noise_suppression_level: Text = field("`low`, `moderate`, `high` or `very_high`.")


class EvaluationChannel(OpenEnum):
    """Channel of a run."""

    EVALUATION_CHANNEL_UNSPECIFIED, TEXT, AUDIO = range(3)


class EvaluationToolCallBehaviour(OpenEnum):
    """Whether a run calls real tools; unspecified: REAL."""

    EVALUATION_TOOL_CALL_BEHAVIOUR_UNSPECIFIED, REAL, FAKE = range(3)


class EvaluationConfig(Message):
    """Settings of a run."""

    input_audio_config: InputAudioConfig | None = field("Audio of the user's side.", deprecated=True)
    output_audio_config: OutputAudioConfig | None = field("Audio of the agent's side.", deprecated=True)
    evaluation_channel: EvaluationChannel = field("Text or audio.")
    tool_call_behaviour: EvaluationToolCallBehaviour = field("Whether real tools are called.")


class GoldenRunMethod(OpenEnum):
    """Replay method of a golden; unspecified: STABLE."""

    GOLDEN_RUN_METHOD_UNSPECIFIED, STABLE, NAIVE = range(3)


class BackgroundEnvironment(OpenEnum):
    """Background noise; 1 and 2 do not exist."""

    BACKGROUND_ENVIRONMENT_UNSPECIFIED = 0
    CALL_CENTER = 3
    TRAFFIC = 4
    KIDS_NOISE = 5
    CAFE = 6


class SpeechConfig(Message, inside="EvaluationPersona"):
    """Voice of a persona."""

    speaking_rate: proto.Double = field("Speed; 1 is normal.")
    environment: BackgroundEnvironment = field("Background noise.")
    voice_id: Text = field("Id of the voice.")


class EvaluationPersona(Message):
    """A simulated user."""

    name: Text = field("Name of the persona.")
    description: Text = field("Free text.")
    display_name: Text = field("Name for people.")
    personality: Text = field("How the persona behaves.")
    speech_config: SpeechConfig | None = field("Voice.")


class ToolInvocationResult(Message, inside="EvaluationResult.GoldenExpectationOutcome"):
    """Parameter check of one tool call."""

    parameter_correctness_score: proto.Float32 | None = field(
        "Share of the expected parameters that the call has.", bounds=(0, 1)
    )
    outcome: EvaluationOutcome = field("Score against its threshold.")
    explanation: Text = field("Which parameters differ.")


class GoldenExpectationOutcome(Message, inside="EvaluationResult"):
    """Outcome of one expectation and the observed value."""

    observed_tool_call: OneOf[ces.CesToolCall] = field("The observed call.")
    observed_tool_response: OneOf[ces.CesToolResponse] = field("The observed answer of a tool.")
    observed_agent_response: OneOf[ces.ConversationMessage] = field("The observed response of the agent.")
    observed_agent_transfer: OneOf[ces.AgentTransfer] = field("The observed hand-over.")
    observed_payload: OneOf[Struct] = field("A custom payload; never expected, always SKIPPED.")
    expectation: evaluation.GoldenExpectation | None = field("Absent: this was observed and not expected.")
    outcome: EvaluationOutcome = field("Whether the expectation is met.")
    semantic_similarity_result: SemanticSimilarityResult | None = field(
        "Older form of the turn's semanticSimilarityResult.", deprecated=True
    )
    tool_invocation_result: ToolInvocationResult | None = field("Check of the parameters of a call.")


class TurnReplayResult(Message, inside="EvaluationResult.GoldenResult"):
    """Outcome of one turn."""

    conversation: Text = field("Name of the conversation; with STABLE every turn has its own.")
    expectation_outcome: list[GoldenExpectationOutcome] = field(
        "One per expectation, and one per observation that nothing expects."
    )
    hallucination_result: HallucinationResult | None = field("Whether the claims of the turn are justified.")
    tool_invocation_score: proto.Float32 = field(
        "Older form of overallToolInvocationResult; absent may mean 0.", deprecated=True, bounds=(0, 1)
    )
    tool_ordered_invocation_score: proto.Float32 | None = field(
        "Share of expected tools called in the expected order; it has no threshold.", bounds=(0, 1)
    )
    turn_latency: proto.Duration | None = field("Time that the turn took.")
    tool_call_latencies: list[CesToolCallLatency] = field("One per executed call.")
    semantic_similarity_result: SemanticSimilarityResult | None = field(
        "Similarity of the agent's responses with the expected ones."
    )
    overall_tool_invocation_result: OverallToolInvocationResult | None = field("Share of expected tools.")
    error_info: EvaluationErrorInfo | None = field("Error in this turn.")
    span_latencies: list[CesSpanLatency] = field("One per span of a tool, callback, guardrail or model.")


class GoldenResult(Message, inside="EvaluationResult"):
    """Outcome of a golden case."""

    turn_replay_results: list[TurnReplayResult] = field("One per turn of the golden, in order.")
    evaluation_expectation_results: list[EvaluationExpectationResult] = field(
        "One per expectation on the whole conversation."
    )


class ObservedToolCall(Message, inside="EvaluationResult.ScenarioExpectationOutcome"):
    """A call with its answer."""

    tool_call: ces.CesToolCall | None = field("The call.")
    tool_response: ces.CesToolResponse | None = field("Its answer.")


class ScenarioExpectationOutcome(Message, inside="EvaluationResult"):
    """Outcome of one scenario expectation."""

    observed_tool_call: OneOf[ObservedToolCall] = field("The observed call, with its answer.")
    observed_agent_response: OneOf[ces.ConversationMessage] = field("The observed response.")
    expectation: evaluation.ScenarioExpectation | None = field("The expectation.")
    outcome: EvaluationOutcome = field("Whether it is met.")


class ScenarioRubricOutcome(Message, inside="EvaluationResult"):
    """Score for one rubric."""

    rubric: Text = field("The rubric.")
    score: proto.Float32 | None = field("Score of the rubric.")
    score_explanation: Text = field("Reason of the judge.")


class ScenarioResult(Message, inside="EvaluationResult"):
    """Outcome of a scenario case."""

    conversation: Text = field("Name of the simulated conversation.")
    task: Text = field("The task at the time of the run.")
    user_facts: list[evaluation.CesUserFact] = field("The facts at the time of the run.")
    expectation_outcomes: list[ScenarioExpectationOutcome] = field("One per expectation of the scenario.")
    rubric_outcomes: list[ScenarioRubricOutcome] = field("One per rubric.")
    hallucination_result: list[HallucinationResult] = field("One per turn.")
    task_completion_result: TaskCompletionResult | None = field(
        "Older form of userGoalSatisfactionResult.", deprecated=True
    )
    tool_call_latencies: list[CesToolCallLatency] = field("One per executed call.")
    user_goal_satisfaction_result: UserGoalSatisfactionResult | None = field("If the user got what it asked.")
    all_expectations_satisfied: proto.Bool | None = field("Whether every expectation of the scenario is met.")
    task_completed: proto.Bool | None = field("Whether all is met without a hallucination.")
    span_latencies: list[CesSpanLatency] = field("One per span of a tool, callback, guardrail or model.")
    evaluation_expectation_results: list[EvaluationExpectationResult] = field(
        "One per expectation on the whole conversation."
    )


class ExecutionState(OpenEnum):
    """Life cycle of a result."""

    EXECUTION_STATE_UNSPECIFIED, RUNNING, COMPLETED, ERROR, CANCELLED, QUEUED = range(6)


class EvaluationResult(Message):
    """One execution of one case in one run; its result is there only when it is COMPLETED."""

    golden_result: OneOf[GoldenResult] = field("Outcome of a golden.")
    scenario_result: OneOf[ScenarioResult] = field("Outcome of a scenario.")
    name: Text = field("projects/P/locations/L/apps/A/evaluations/E/results/R.")
    display_name: Text = field("Name for people.")
    create_time: proto.Timestamp | None = field("When it was created.")
    evaluation_status: EvaluationOutcome = field("Verdict on the whole evaluation; only if COMPLETED.")
    evaluation_run: Text = field("Name of the run.")
    persona: EvaluationPersona | None = field("The simulated user.")
    error_info: EvaluationErrorInfo | None = field("Why it could not be evaluated.")
    error: Status | None = field("Older form of errorInfo.", deprecated=True)
    initiated_by: Text = field("Who started the run.")
    app_version: Text = field("Name of the app version; absent: the draft.")
    app_version_display_name: Text = field("Its display name.")
    changelog: Text = field("Changelog entry of the draft.")
    changelog_create_time: proto.Timestamp | None = field("Time of that entry.")
    execution_state: ExecutionState = field("How far the execution is.")
    evaluation_metrics_thresholds: evaluation.EvaluationMetricsThresholds | None = field("Those applied.")
    config: EvaluationConfig | None = field("Settings that applied.")
    golden_run_method: GoldenRunMethod = field("How the golden was replayed.")


class Evaluation(evaluation.CaseContent):
    """A test case of an app: a golden (a script) or a scenario (a task for a simulated user)."""

    aggregated_metrics: AggregatedMetrics | None = field(
        "Averages and counts over all its results, by app version.", output_only=True
    )
    last_completed_result: EvaluationResult | None = field("The newest completed result.", output_only=True)
    last_ten_results: list[EvaluationResult] = field("The ten newest; only if requested.", output_only=True)
