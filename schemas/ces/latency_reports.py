"""Latency percentiles of a run."""

from pydantic import Field

from turnwise.schemas.ces.conversations import ToolsetTool
from turnwise.schemas.proto.fields import Duration, Int32, Repeated, Text
from turnwise.schemas.proto.json import Message


class LatencyMetrics(Message):
    """Percentiles."""

    PROTO = "LatencyReport.LatencyMetrics"

    p50_latency: Duration | None = None
    p90_latency: Duration | None = None
    p99_latency: Duration | None = None
    call_count: Int32 = 0


class ToolLatency(Message):
    """Latency of one tool."""

    PROTO = "LatencyReport.ToolLatency"
    ONEOFS = (("tool", "toolset_tool"),)

    tool: Text | None = None
    toolset_tool: ToolsetTool | None = None
    tool_display_name: Text = ""
    latency_metrics: LatencyMetrics | None = None


class CallbackLatency(Message):
    """Latency of one callback stage."""

    PROTO = "LatencyReport.CallbackLatency"

    stage: Text = ""
    latency_metrics: LatencyMetrics | None = None


class GuardrailLatency(Message):
    """Latency of one guardrail."""

    PROTO = "LatencyReport.GuardrailLatency"

    guardrail: Text = ""
    guardrail_display_name: Text = ""
    latency_metrics: LatencyMetrics | None = None


class LlmCallLatency(Message):
    """Latency of one model."""

    PROTO = "LatencyReport.LlmCallLatency"

    model: Text = ""
    latency_metrics: LatencyMetrics | None = None


class LatencyReport(Message):
    """Latency percentiles of a run."""

    tool_latencies: Repeated[ToolLatency] = Field(default_factory=list)
    callback_latencies: Repeated[CallbackLatency] = Field(default_factory=list)
    guardrail_latencies: Repeated[GuardrailLatency] = Field(default_factory=list)
    llm_call_latencies: Repeated[LlmCallLatency] = Field(default_factory=list)
    session_count: Int32 = 0
