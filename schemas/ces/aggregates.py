"""Averages and counts over many results."""

from pydantic import Field

from turnwise.schemas.proto.fields import Duration, Float32, Int32, Repeated, Text
from turnwise.schemas.proto.json import Message


class ToolMetrics(Message):
    """Counts of one tool."""

    PROTO = "AggregatedMetrics.ToolMetrics"

    tool: Text = ""
    pass_count: Int32 = 0
    fail_count: Int32 = 0


class SemanticSimilarityMetrics(Message):
    """Mean semantic similarity."""

    PROTO = "AggregatedMetrics.SemanticSimilarityMetrics"

    score: Float32 = 0.0
    """0..4."""


class HallucinationMetrics(Message):
    """Mean hallucination score."""

    PROTO = "AggregatedMetrics.HallucinationMetrics"

    score: Float32 = 0.0
    """0..1."""


class ToolCallLatencyMetrics(Message):
    """Mean latency of one tool."""

    PROTO = "AggregatedMetrics.ToolCallLatencyMetrics"

    tool: Text = ""
    average_latency: Duration | None = None


class TurnLatencyMetrics(Message):
    """Mean latency of turns."""

    PROTO = "AggregatedMetrics.TurnLatencyMetrics"

    average_latency: Duration | None = None


class MetricsByTurn(Message):
    """Figures of one turn index."""

    PROTO = "AggregatedMetrics.MetricsByTurn"

    turn_index: Int32 = 0
    """0-based."""
    tool_metrics: Repeated[ToolMetrics] = Field(default_factory=list)
    semantic_similarity_metrics: Repeated[SemanticSimilarityMetrics] = Field(default_factory=list)
    hallucination_metrics: Repeated[HallucinationMetrics] = Field(default_factory=list)
    tool_call_latency_metrics: Repeated[ToolCallLatencyMetrics] = Field(default_factory=list)
    turn_latency_metrics: Repeated[TurnLatencyMetrics] = Field(default_factory=list)


class MetricsByAppVersion(Message):
    """Figures of one app version."""

    PROTO = "AggregatedMetrics.MetricsByAppVersion"

    app_version_id: Text = ""
    """Last segment of the version's name."""
    tool_metrics: Repeated[ToolMetrics] = Field(default_factory=list)
    semantic_similarity_metrics: Repeated[SemanticSimilarityMetrics] = Field(default_factory=list)
    hallucination_metrics: Repeated[HallucinationMetrics] = Field(default_factory=list)
    tool_call_latency_metrics: Repeated[ToolCallLatencyMetrics] = Field(default_factory=list)
    turn_latency_metrics: Repeated[TurnLatencyMetrics] = Field(default_factory=list)
    pass_count: Int32 = 0
    fail_count: Int32 = 0
    metrics_by_turn: Repeated[MetricsByTurn] = Field(default_factory=list)


class AggregatedMetrics(Message):
    """Figures of a case or a dataset over all their runs."""

    metrics_by_app_version: Repeated[MetricsByAppVersion] = Field(default_factory=list)
