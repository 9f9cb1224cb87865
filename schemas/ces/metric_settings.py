"""Thresholds of outcomes, and switches of metrics."""

from turnwise.schemas.proto.fields import Bool, Float32, Implicit, Int32, OpenEnum
from turnwise.schemas.proto.json import Message


class SemanticSimilarityChannel(OpenEnum):
    """Compared channel; unspecified: TEXT."""

    SEMANTIC_SIMILARITY_CHANNEL_UNSPECIFIED = 0
    TEXT = 1
    AUDIO = 2


class TurnLevelMetricsThresholds(Message):
    """Thresholds per turn."""

    PROTO = "EvaluationMetricsThresholds.GoldenEvaluationMetricsThresholds.TurnLevelMetricsThresholds"

    semantic_similarity_success_threshold: Int32 | None = None
    """0..4; absent: 3."""
    overall_tool_invocation_correctness_threshold: Float32 | None = None
    """0..1; absent: 1."""
    semantic_similarity_channel: Implicit[SemanticSimilarityChannel] = SemanticSimilarityChannel(0)


class ExpectationLevelMetricsThresholds(Message):
    """Threshold per tool-call expectation."""

    PROTO = "EvaluationMetricsThresholds.GoldenEvaluationMetricsThresholds.ExpectationLevelMetricsThresholds"

    tool_invocation_parameter_correctness_threshold: Float32 | None = None
    """0..1; absent: 1."""


class ExtraToolCallBehavior(OpenEnum):
    """Effect of an unexpected call; unspecified: FAIL."""

    EXTRA_TOOL_CALL_BEHAVIOR_UNSPECIFIED = 0
    FAIL = 1
    ALLOW = 2


class ToolMatchingSettings(Message):
    """Matching of tool calls."""

    PROTO = "EvaluationMetricsThresholds.ToolMatchingSettings"

    extra_tool_call_behavior: Implicit[ExtraToolCallBehavior] = ExtraToolCallBehavior(0)


class GoldenEvaluationMetricsThresholds(Message):
    """Thresholds of golden cases."""

    PROTO = "EvaluationMetricsThresholds.GoldenEvaluationMetricsThresholds"

    turn_level_metrics_thresholds: TurnLevelMetricsThresholds | None = None
    expectation_level_metrics_thresholds: ExpectationLevelMetricsThresholds | None = None
    tool_matching_settings: ToolMatchingSettings | None = None


class HallucinationMetricBehavior(OpenEnum):
    """Whether hallucinations affect the verdict; they are always evaluated."""

    HALLUCINATION_METRIC_BEHAVIOR_UNSPECIFIED = 0
    DISABLED = 1
    ENABLED = 2


class EvaluationMetricsThresholds(Message):
    """Thresholds of an app; every result has a copy."""

    golden_evaluation_metrics_thresholds: GoldenEvaluationMetricsThresholds | None = None
    hallucination_metric_behavior: Implicit[HallucinationMetricBehavior] = HallucinationMetricBehavior(0)
    """Older; golden cases only."""
    golden_hallucination_metric_behavior: Implicit[HallucinationMetricBehavior] = HallucinationMetricBehavior(
        0
    )
    scenario_hallucination_metric_behavior: Implicit[HallucinationMetricBehavior] = (
        HallucinationMetricBehavior(0)
    )


class SemanticSimilarityMetricsConfig(Message):
    """Switch of semantic similarity."""

    PROTO = "EvaluationMetricsConfig.SemanticSimilarityMetricsConfig"

    enable_semantic_similarity_metrics: Bool = False


class ToolCorrectnessMetricsConfig(Message):
    """Switch of a tool check."""

    PROTO = "EvaluationMetricsConfig.ToolCorrectnessMetricsConfig"

    enable_tool_correctness_metrics: Bool = False


class GoldenMetricsConfig(Message):
    """Metrics of golden cases."""

    PROTO = "EvaluationMetricsConfig.GoldenMetricsConfig"

    semantic_similarity_metrics_config: SemanticSimilarityMetricsConfig | None = None
    tool_correctness_metrics_config: ToolCorrectnessMetricsConfig | None = None
    step_tool_correctness_metrics_config: ToolCorrectnessMetricsConfig | None = None


class UserGoalMetMetricsConfig(Message):
    """Switch of user goal satisfaction."""

    PROTO = "EvaluationMetricsConfig.UserGoalMetMetricsConfig"

    enable_user_goal_met_metrics: Bool = False


class ExpectationsMetMetricsConfig(Message):
    """Switch of scenario expectations."""

    PROTO = "EvaluationMetricsConfig.ExpectationsMetMetricsConfig"

    enable_expectations_met_metrics: Bool = False


class ScenarioMetricsConfig(Message):
    """Metrics of scenario cases."""

    PROTO = "EvaluationMetricsConfig.ScenarioMetricsConfig"

    user_goal_met_metrics_config: UserGoalMetMetricsConfig | None = None
    expectations_met_metrics_config: ExpectationsMetMetricsConfig | None = None


class EvaluationMetricsConfig(Message):
    """Switches of metrics; an absent message means the default."""

    golden_metrics_config: GoldenMetricsConfig | None = None
    scenario_metrics_config: ScenarioMetricsConfig | None = None


class HallucinationMetricsConfig(Message):
    """Switch of the hallucination check of one response."""

    PROTO = "EvaluationMetricsConfig.HallucinationMetricsConfig"

    enable_hallucination_metrics: Bool = False
