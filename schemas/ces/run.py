"""Evaluation runs of CES: their settings, parts and states."""

from pydantic import Field

from turnwise.schemas.ces.conversation import ToolsetTool
from turnwise.schemas.ces.result import EvaluationErrorInfo, Status
from turnwise.schemas.jsonio import no_items
from turnwise.schemas.proto.message import (
    Bool,
    Double,
    Duration,
    Implicit,
    Int32,
    Map,
    Message,
    OpenEnum,
    Repeated,
    Struct,
    Text,
    Timestamp,
)


class EvaluationType(OpenEnum):
    """Kind of the cases of a run."""

    EVALUATION_TYPE_UNSPECIFIED = 0
    GOLDEN = 1
    SCENARIO = 2
    MIXED = 3


class EvaluationRunState(OpenEnum):
    """How a run stands."""

    EVALUATION_RUN_STATE_UNSPECIFIED = 0
    QUEUED = 5
    RUNNING = 1
    COMPLETED = 2
    ERROR = 3
    CANCELLED = 4


class RunProgress(Message):
    """Counts of the results of a run."""

    PROTO = "EvaluationRun.Progress"

    total_count: Int32 = 0
    """All."""
    failed_count: Int32 = 0
    """Completed with FAIL."""
    error_count: Int32 = 0
    """Broken off."""
    completed_count: Int32 = 0
    """Completed."""
    passed_count: Int32 = 0
    """Completed with PASS."""
    cancelled_count: Int32 = 0
    """Cancelled."""


class EvaluationRunSummary(Message):
    """Counts of one case of a run."""

    PROTO = "EvaluationRun.EvaluationRunSummary"

    passed_count: Int32 = 0
    """Results with PASS."""
    failed_count: Int32 = 0
    """Results with FAIL."""
    error_count: Int32 = 0
    """Results that broke off."""


class LatencyMetrics(Message):
    """Quantiles of latencies."""

    PROTO = "LatencyReport.LatencyMetrics"

    p50_latency: Duration | None = None
    """Median."""
    p90_latency: Duration | None = None
    """90th percentile."""
    p99_latency: Duration | None = None
    """99th percentile."""
    call_count: Int32 = 0
    """Number of calls."""


class ToolLatency(Message):
    """Latencies of a tool."""

    PROTO = "LatencyReport.ToolLatency"
    ONEOFS = (("tool", "toolset_tool"),)

    tool: Text | None = None
    """Name of a tool of the app."""
    toolset_tool: ToolsetTool | None = None
    """Tool of a toolset."""
    tool_display_name: Text = ""
    """Its name for people."""
    latency_metrics: LatencyMetrics | None = None
    """Its figures."""


class CallbackLatency(Message):
    """Latencies of a stage of callbacks."""

    PROTO = "LatencyReport.CallbackLatency"

    stage: Text = ""
    """The stage."""
    latency_metrics: LatencyMetrics | None = None
    """Its figures."""


class GuardrailLatency(Message):
    """Latencies of a guardrail."""

    PROTO = "LatencyReport.GuardrailLatency"

    guardrail: Text = ""
    """Name of the guardrail."""
    guardrail_display_name: Text = ""
    """Its name for people."""
    latency_metrics: LatencyMetrics | None = None
    """Its figures."""


class LlmCallLatency(Message):
    """Latencies of a model."""

    PROTO = "LatencyReport.LlmCallLatency"

    model: Text = ""
    """Name of the model."""
    latency_metrics: LatencyMetrics | None = None
    """Its figures."""


class LatencyReport(Message):
    """Latencies of a run."""

    tool_latencies: Repeated[ToolLatency] = Field(default_factory=no_items)
    """By tool."""
    callback_latencies: Repeated[CallbackLatency] = Field(default_factory=no_items)
    """By stage."""
    guardrail_latencies: Repeated[GuardrailLatency] = Field(default_factory=no_items)
    """By guardrail."""
    llm_call_latencies: Repeated[LlmCallLatency] = Field(default_factory=no_items)
    """By model."""
    session_count: Int32 = 0
    """Number of sessions."""


class PersonaRunConfig(Message):
    """Runs with a persona."""

    persona: Text = ""
    """Name of the persona."""
    task_count: Int32 = 0
    """Number of tasks."""


class OptimizationStatus(OpenEnum):
    """How a report on losses stands."""

    OPTIMIZATION_STATUS_UNSPECIFIED = 0
    RUNNING = 1
    COMPLETED = 2
    ERROR = 3


class OptimizationConfig(Message):
    """A report on the losses of a run."""

    generate_loss_report: Bool = False
    """Whether it is made."""
    assistant_session: Text = ""
    """Session that made it."""
    report_summary: Text = ""
    """Its summary."""
    should_suggest_fix: Bool = False
    """Whether a fix is to be suggested."""
    status: Implicit[OptimizationStatus] = OptimizationStatus(0)
    """How it stands."""
    error_message: Text = ""
    """Why it failed."""
    loss_report: Struct | None = None
    """The report."""


# Settings of runs, and simulated users.


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


class ScenarioExecutionMode(OpenEnum):
    """Mode of a simulation; unspecified: QUALITY_OPTIMIZED."""

    SCENARIO_EXECUTION_MODE_UNSPECIFIED = 0
    QUALITY_OPTIMIZED = 1
    SPEED_OPTIMIZED = 2


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


# Evaluation runs.


class EvaluationRun(Message):
    """One execution of many cases."""

    DEPRECATED = frozenset({"error"})

    name: Text = ""
    """`.../evaluationRuns/{run}`."""
    display_name: Text = ""
    """Name for people."""
    evaluation_results: Repeated[Text] = Field(default_factory=no_items)
    """Names of its results."""
    create_time: Timestamp | None = None
    """Start."""
    initiated_by: Text = ""
    """Who started it."""
    app_version: Text = ""
    """App version that was tested."""
    app_version_display_name: Text = ""
    """Its name for people."""
    changelog: Text = ""
    """Entry of the changelog, for the draft."""
    changelog_create_time: Timestamp | None = None
    """Its time."""
    evaluations: Repeated[Text] = Field(default_factory=no_items)
    """Names of the cases."""
    evaluation_dataset: Text = ""
    """Name of the dataset."""
    evaluation_type: Implicit[EvaluationType] = EvaluationType(0)
    """Kind of the cases."""
    state: Implicit[EvaluationRunState] = EvaluationRunState(0)
    """How it stands."""
    progress: RunProgress | None = None
    """Counts of results."""
    config: EvaluationConfig | None = None
    """Settings."""
    error: Status | None = None
    """Why it failed; older form of error_info."""
    error_info: EvaluationErrorInfo | None = None
    """Why it failed."""
    evaluation_run_summaries: Map[EvaluationRunSummary] = Field(default_factory=dict)
    """Name of a case -> its counts."""
    latency_report: LatencyReport | None = None
    """Latencies, if requested."""
    run_count: Int32 = 0
    """How often each case was run."""
    persona_run_configs: Repeated[PersonaRunConfig] = Field(default_factory=no_items)
    """Runs by persona."""
    optimization_config: OptimizationConfig | None = None
    """The report on losses."""
    scheduled_evaluation_run: Text = ""
    """Schedule that started it."""
    golden_run_method: Implicit[GoldenRunMethod] = GoldenRunMethod(0)
    """How goldens were replayed."""
    operation: Text = ""
    """Name of the operation."""


class GetEvaluationRunRequest(Message):
    """Read a run."""

    REQUIRED = ("name",)

    name: Text = ""
    """Name of the run."""


class ListEvaluationRunsResponse(Message):
    """A page of runs."""

    evaluation_runs: Repeated[EvaluationRun] = Field(default_factory=no_items)
    """The runs."""
    next_page_token: Text = ""
    """pageToken of the next page; absent: this is the last."""
