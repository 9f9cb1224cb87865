"""Parts of evaluation runs."""

from pydantic import Field

from turnwise.schemas.ces.conversation import ToolsetTool
from turnwise.schemas.proto.fields import Bool, Duration, Implicit, Int32, OpenEnum, Repeated, Struct, Text
from turnwise.schemas.proto.message import Message
from turnwise.schemas.values import no_items


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
