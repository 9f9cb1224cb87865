"""Settings of CES's metrics, and what sessions take and give."""

from pydantic import Field

from turnwise.schemas.ces.conversation import (
    Blob,
    CesToolCall,
    CesToolResponse,
    ConversationMessage,
    Image,
    Span,
)
from turnwise.schemas.jsonio import no_items
from turnwise.schemas.proto.message import (
    AnyMessage,
    Bool,
    Bytes,
    Float32,
    Implicit,
    Int32,
    Message,
    OpenEnum,
    Repeated,
    Struct,
    Text,
)

HIGHEST_SIMILARITY = 4


class SemanticSimilarityChannel(OpenEnum):
    """Compared channel; unspecified: TEXT."""

    SEMANTIC_SIMILARITY_CHANNEL_UNSPECIFIED = 0
    TEXT = 1
    AUDIO = 2


class TurnLevelMetricsThresholds(Message):
    """Thresholds per turn."""

    PROTO = "EvaluationMetricsThresholds.GoldenEvaluationMetricsThresholds.TurnLevelMetricsThresholds"
    RANGES = (
        ("semantic_similarity_success_threshold", 0, HIGHEST_SIMILARITY),
        ("overall_tool_invocation_correctness_threshold", 0, 1),
    )

    semantic_similarity_success_threshold: Int32 | None = None
    """Lowest similarity that passes; absent: 3."""
    overall_tool_invocation_correctness_threshold: Float32 | None = None
    """Lowest share of expected tools that passes; absent: 1."""
    semantic_similarity_channel: Implicit[SemanticSimilarityChannel] = SemanticSimilarityChannel(0)
    """Whether text or audio is compared."""


class ExpectationLevelMetricsThresholds(Message):
    """Threshold per tool-call expectation."""

    PROTO = "EvaluationMetricsThresholds.GoldenEvaluationMetricsThresholds.ExpectationLevelMetricsThresholds"
    RANGES = (("tool_invocation_parameter_correctness_threshold", 0, 1),)

    tool_invocation_parameter_correctness_threshold: Float32 | None = None
    """Lowest share of expected parameters that passes; absent: 1."""


class ExtraToolCallBehavior(OpenEnum):
    """Effect of an unexpected call; unspecified: FAIL."""

    EXTRA_TOOL_CALL_BEHAVIOR_UNSPECIFIED = 0
    FAIL = 1
    ALLOW = 2


class ToolMatchingSettings(Message):
    """Matching of tool calls."""

    PROTO = "EvaluationMetricsThresholds.ToolMatchingSettings"

    extra_tool_call_behavior: Implicit[ExtraToolCallBehavior] = ExtraToolCallBehavior(0)
    """Effect of a call that nothing expects."""


class GoldenEvaluationMetricsThresholds(Message):
    """Thresholds of golden cases."""

    PROTO = "EvaluationMetricsThresholds.GoldenEvaluationMetricsThresholds"

    turn_level_metrics_thresholds: TurnLevelMetricsThresholds | None = None
    """Per turn."""
    expectation_level_metrics_thresholds: ExpectationLevelMetricsThresholds | None = None
    """Per expected call."""
    tool_matching_settings: ToolMatchingSettings | None = None
    """Effect of unexpected calls."""


class HallucinationMetricBehavior(OpenEnum):
    """Whether hallucinations affect the verdict; they are always evaluated."""

    HALLUCINATION_METRIC_BEHAVIOR_UNSPECIFIED = 0
    DISABLED = 1
    ENABLED = 2


class EvaluationMetricsThresholds(Message):
    """Thresholds of an app; every result has a copy."""

    DEPRECATED = frozenset({"hallucination_metric_behavior"})

    golden_evaluation_metrics_thresholds: GoldenEvaluationMetricsThresholds | None = None
    """Thresholds of goldens."""
    hallucination_metric_behavior: Implicit[HallucinationMetricBehavior] = HallucinationMetricBehavior(0)
    """Older form of goldenHallucinationMetricBehavior."""
    golden_hallucination_metric_behavior: Implicit[HallucinationMetricBehavior] = HallucinationMetricBehavior(
        0
    )
    """Whether a hallucination fails a golden."""
    scenario_hallucination_metric_behavior: Implicit[HallucinationMetricBehavior] = (
        HallucinationMetricBehavior(0)
    )
    """Whether a hallucination fails a scenario."""


class SemanticSimilarityMetricsConfig(Message):
    """Switch of semantic similarity."""

    PROTO = "EvaluationMetricsConfig.SemanticSimilarityMetricsConfig"

    enable_semantic_similarity_metrics: Bool = False
    """Whether it is computed."""


class ToolCorrectnessMetricsConfig(Message):
    """Switch of a tool check."""

    PROTO = "EvaluationMetricsConfig.ToolCorrectnessMetricsConfig"

    enable_tool_correctness_metrics: Bool = False
    """Whether it is computed."""


class GoldenMetricsConfig(Message):
    """Metrics of golden cases."""

    PROTO = "EvaluationMetricsConfig.GoldenMetricsConfig"

    semantic_similarity_metrics_config: SemanticSimilarityMetricsConfig | None = None
    """Semantic similarity."""
    tool_correctness_metrics_config: ToolCorrectnessMetricsConfig | None = None
    """Correctness of calls per turn."""
    step_tool_correctness_metrics_config: ToolCorrectnessMetricsConfig | None = None
    """Correctness of calls per step."""


class UserGoalMetMetricsConfig(Message):
    """Switch of user goal satisfaction."""

    PROTO = "EvaluationMetricsConfig.UserGoalMetMetricsConfig"

    enable_user_goal_met_metrics: Bool = False
    """Whether it is computed."""


class ExpectationsMetMetricsConfig(Message):
    """Switch of scenario expectations."""

    PROTO = "EvaluationMetricsConfig.ExpectationsMetMetricsConfig"

    enable_expectations_met_metrics: Bool = False
    """Whether it is computed."""


class ScenarioMetricsConfig(Message):
    """Metrics of scenario cases."""

    PROTO = "EvaluationMetricsConfig.ScenarioMetricsConfig"

    user_goal_met_metrics_config: UserGoalMetMetricsConfig | None = None
    """Satisfaction of the user's goal."""
    expectations_met_metrics_config: ExpectationsMetMetricsConfig | None = None
    """Scenario expectations."""


class EvaluationMetricsConfig(Message):
    """Switches of metrics; an absent message means the default."""

    golden_metrics_config: GoldenMetricsConfig | None = None
    """Metrics of goldens."""
    scenario_metrics_config: ScenarioMetricsConfig | None = None
    """Metrics of scenarios."""


class HallucinationMetricsConfig(Message):
    """Switch of the hallucination check of one response."""

    PROTO = "EvaluationMetricsConfig.HallucinationMetricsConfig"

    enable_hallucination_metrics: Bool = False
    """Whether it is computed."""


# Inputs and outputs of sessions.


class ToolResponses(Message):
    """Answers of client-side tools."""

    tool_responses: Repeated[CesToolResponse] = Field(default_factory=no_items)
    """The answers."""


class SessionEvent(Message):
    """An event."""

    PROTO = "Event"
    REQUIRED = ("event",)

    event: Text = ""
    """Name of the event."""


class SessionInput(Message):
    """An input of a user or a client."""

    ONEOFS = (("text", "dtmf", "audio", "tool_responses", "image", "blob", "variables", "event"),)

    text: Text | None = None
    """Text."""
    dtmf: Text | None = None
    """Telephone digits."""
    audio: Bytes | None = None
    """Audio bytes."""
    tool_responses: ToolResponses | None = None
    """Answers of the client's tools."""
    image: Image | None = None
    """Image."""
    blob: Blob | None = None
    """Binary data."""
    variables: Struct | None = None
    """Session variables."""
    event: SessionEvent | None = None
    """Named event."""
    will_continue: Bool = False
    """Whether it is a fragment of a longer input."""


class ToolCalls(Message):
    """Calls for tools of the client."""

    tool_calls: Repeated[CesToolCall] = Field(default_factory=no_items)


class CitedChunk(Message):
    """A source of an agent's text."""

    PROTO = "Citations.CitedChunk"

    uri: Text = ""
    title: Text = ""
    text: Text = ""
    requires_attribution: Bool = False


class Citations(Message):
    """Sources of an agent's text."""

    cited_chunks: Repeated[CitedChunk] = Field(default_factory=no_items)


class WebSearchQuery(Message):
    """A suggested search."""

    query: Text = ""
    uri: Text = ""


class GoogleSearchSuggestions(Message):
    """Search suggestions to be shown with an answer."""

    htmls: Repeated[Text] = Field(default_factory=no_items)
    web_search_queries: Repeated[WebSearchQuery] = Field(default_factory=no_items)


class EndSession(Message):
    """End of the session; the metadata holds the reason."""

    metadata: Struct | None = None


class DiagnosticInfo(Message):
    """Messages and trace of a turn."""

    PROTO = "SessionOutput.DiagnosticInfo"

    messages: Repeated[ConversationMessage] = Field(default_factory=no_items)
    root_span: Span | None = None


class SessionOutput(Message):
    """One output of a session."""

    ONEOFS = (
        ("text", "audio", "tool_calls", "citations", "google_search_suggestions", "end_session", "payload"),
    )

    text: Text | None = None
    audio: Bytes | None = None
    tool_calls: ToolCalls | None = None
    citations: Citations | None = None
    google_search_suggestions: GoogleSearchSuggestions | None = None
    end_session: EndSession | None = None
    payload: Struct | None = None
    turn_index: Int32 = 0
    """1-based."""
    turn_completed: Bool = False
    diagnostic_info: DiagnosticInfo | None = None
    context: Repeated[AnyMessage] = Field(default_factory=no_items)
