"""Averages and counts over many results."""

from pydantic import Field

from turnwise.schemas.ces.metric_settings import HIGHEST_SIMILARITY
from turnwise.schemas.proto.fields import Duration, Float32, Int32, Repeated, Text
from turnwise.schemas.proto.message import Message
from turnwise.schemas.values import no_items


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
