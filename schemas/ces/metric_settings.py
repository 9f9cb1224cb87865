"""Settings of CES's metrics, and what sessions take and give."""

from turnwise.schemas.ces.conversation import (
    Blob,
    CesToolCall,
    CesToolResponse,
    ConversationMessage,
    Image,
    Span,
)
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
    field,
)

HIGHEST_SIMILARITY = 4


class SemanticSimilarityChannel(OpenEnum):
    """Compared channel; unspecified: TEXT."""

    SEMANTIC_SIMILARITY_CHANNEL_UNSPECIFIED = 0
    TEXT = 1
    AUDIO = 2


class TurnLevelMetricsThresholds(
    Message, proto="EvaluationMetricsThresholds.GoldenEvaluationMetricsThresholds.TurnLevelMetricsThresholds"
):
    """Thresholds per turn."""

    RANGES = (
        ("semantic_similarity_success_threshold", 0, HIGHEST_SIMILARITY),
        ("overall_tool_invocation_correctness_threshold", 0, 1),
    )

    semantic_similarity_success_threshold: Int32 | None = field("Lowest similarity that passes; absent: 3.")
    overall_tool_invocation_correctness_threshold: Float32 | None = field(
        "Lowest share of expected tools that passes; absent: 1."
    )
    semantic_similarity_channel: Implicit[SemanticSimilarityChannel] = field(
        "Whether text or audio is compared."
    )


class ExpectationLevelMetricsThresholds(
    Message,
    proto="EvaluationMetricsThresholds.GoldenEvaluationMetricsThresholds.ExpectationLevelMetricsThresholds",
):
    """Threshold per tool-call expectation."""

    RANGES = (("tool_invocation_parameter_correctness_threshold", 0, 1),)

    tool_invocation_parameter_correctness_threshold: Float32 | None = field(
        "Lowest share of expected parameters that passes; absent: 1."
    )


class ExtraToolCallBehavior(OpenEnum):
    """Effect of an unexpected call; unspecified: FAIL."""

    EXTRA_TOOL_CALL_BEHAVIOR_UNSPECIFIED = 0
    FAIL = 1
    ALLOW = 2


class ToolMatchingSettings(Message, proto="EvaluationMetricsThresholds.ToolMatchingSettings"):
    """Matching of tool calls."""

    extra_tool_call_behavior: Implicit[ExtraToolCallBehavior] = field(
        "Effect of a call that nothing expects."
    )


class GoldenEvaluationMetricsThresholds(
    Message, proto="EvaluationMetricsThresholds.GoldenEvaluationMetricsThresholds"
):
    """Thresholds of golden cases."""

    turn_level_metrics_thresholds: TurnLevelMetricsThresholds | None = field("Per turn.")
    expectation_level_metrics_thresholds: ExpectationLevelMetricsThresholds | None = field(
        "Per expected call."
    )
    tool_matching_settings: ToolMatchingSettings | None = field("Effect of unexpected calls.")


class HallucinationMetricBehavior(OpenEnum):
    """Whether hallucinations affect the verdict; they are always evaluated."""

    HALLUCINATION_METRIC_BEHAVIOR_UNSPECIFIED = 0
    DISABLED = 1
    ENABLED = 2


class EvaluationMetricsThresholds(Message):
    """Thresholds of an app; every result has a copy."""

    DEPRECATED = frozenset({"hallucination_metric_behavior"})

    golden_evaluation_metrics_thresholds: GoldenEvaluationMetricsThresholds | None = field(
        "Thresholds of goldens."
    )
    hallucination_metric_behavior: Implicit[HallucinationMetricBehavior] = field(
        "Older form of goldenHallucinationMetricBehavior."
    )
    golden_hallucination_metric_behavior: Implicit[HallucinationMetricBehavior] = field(
        "Whether a hallucination fails a golden."
    )
    scenario_hallucination_metric_behavior: Implicit[HallucinationMetricBehavior] = field(
        "Whether a hallucination fails a scenario."
    )


class SemanticSimilarityMetricsConfig(
    Message, proto="EvaluationMetricsConfig.SemanticSimilarityMetricsConfig"
):
    """Switch of semantic similarity."""

    enable_semantic_similarity_metrics: Bool = field("Whether it is computed.")


class ToolCorrectnessMetricsConfig(Message, proto="EvaluationMetricsConfig.ToolCorrectnessMetricsConfig"):
    """Switch of a tool check."""

    enable_tool_correctness_metrics: Bool = field("Whether it is computed.")


class GoldenMetricsConfig(Message, proto="EvaluationMetricsConfig.GoldenMetricsConfig"):
    """Metrics of golden cases."""

    semantic_similarity_metrics_config: SemanticSimilarityMetricsConfig | None = field("Semantic similarity.")
    tool_correctness_metrics_config: ToolCorrectnessMetricsConfig | None = field(
        "Correctness of calls per turn."
    )
    step_tool_correctness_metrics_config: ToolCorrectnessMetricsConfig | None = field(
        "Correctness of calls per step."
    )


class UserGoalMetMetricsConfig(Message, proto="EvaluationMetricsConfig.UserGoalMetMetricsConfig"):
    """Switch of user goal satisfaction."""

    enable_user_goal_met_metrics: Bool = field("Whether it is computed.")


class ExpectationsMetMetricsConfig(Message, proto="EvaluationMetricsConfig.ExpectationsMetMetricsConfig"):
    """Switch of scenario expectations."""

    enable_expectations_met_metrics: Bool = field("Whether it is computed.")


class ScenarioMetricsConfig(Message, proto="EvaluationMetricsConfig.ScenarioMetricsConfig"):
    """Metrics of scenario cases."""

    user_goal_met_metrics_config: UserGoalMetMetricsConfig | None = field("Satisfaction of the user's goal.")
    expectations_met_metrics_config: ExpectationsMetMetricsConfig | None = field("Scenario expectations.")


class EvaluationMetricsConfig(Message):
    """Switches of metrics; an absent message means the default."""

    golden_metrics_config: GoldenMetricsConfig | None = field("Metrics of goldens.")
    scenario_metrics_config: ScenarioMetricsConfig | None = field("Metrics of scenarios.")


class HallucinationMetricsConfig(Message, proto="EvaluationMetricsConfig.HallucinationMetricsConfig"):
    """Switch of the hallucination check of one response."""

    enable_hallucination_metrics: Bool = field("Whether it is computed.")


class ToolResponses(Message):
    """Answers of client-side tools."""

    tool_responses: Repeated[CesToolResponse] = field("The answers.")


class SessionEvent(Message, proto="Event"):
    """An event."""

    REQUIRED = ("event",)

    event: Text = field("Name of the event.")


class SessionInput(Message):
    """An input of a user or a client."""

    ONEOFS = (("text", "dtmf", "audio", "tool_responses", "image", "blob", "variables", "event"),)

    text: Text | None = field("Text.")
    dtmf: Text | None = field("Telephone digits.")
    audio: Bytes | None = field("Audio bytes.")
    tool_responses: ToolResponses | None = field("Answers of the client's tools.")
    image: Image | None = field("Image.")
    blob: Blob | None = field("Binary data.")
    variables: Struct | None = field("Session variables.")
    event: SessionEvent | None = field("Named event.")
    will_continue: Bool = field("Whether it is a fragment of a longer input.")


class ToolCalls(Message):
    """Calls for tools of the client."""

    tool_calls: Repeated[CesToolCall] = field()


class CitedChunk(Message, proto="Citations.CitedChunk"):
    """A source of an agent's text."""

    uri: Text = field()
    title: Text = field()
    text: Text = field()
    requires_attribution: Bool = field()


class Citations(Message):
    """Sources of an agent's text."""

    cited_chunks: Repeated[CitedChunk] = field()


class WebSearchQuery(Message):
    """A suggested search."""

    query: Text = field()
    uri: Text = field()


class GoogleSearchSuggestions(Message):
    """Search suggestions to be shown with an answer."""

    htmls: Repeated[Text] = field()
    web_search_queries: Repeated[WebSearchQuery] = field()


class EndSession(Message):
    """End of the session; the metadata holds the reason."""

    metadata: Struct | None = field()


class DiagnosticInfo(Message, proto="SessionOutput.DiagnosticInfo"):
    """Messages and trace of a turn."""

    messages: Repeated[ConversationMessage] = field()
    root_span: Span | None = field()


class SessionOutput(Message):
    """One output of a session."""

    ONEOFS = (
        ("text", "audio", "tool_calls", "citations", "google_search_suggestions", "end_session", "payload"),
    )

    text: Text | None = field()
    audio: Bytes | None = field()
    tool_calls: ToolCalls | None = field()
    citations: Citations | None = field()
    google_search_suggestions: GoogleSearchSuggestions | None = field()
    end_session: EndSession | None = field()
    payload: Struct | None = field()
    turn_index: Int32 = field("1-based.")
    turn_completed: Bool = field()
    diagnostic_info: DiagnosticInfo | None = field()
    context: Repeated[AnyMessage] = field()
