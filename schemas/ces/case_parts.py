"""Scripts of golden cases and settings of scenario cases."""

from pydantic import Field

from turnwise.schemas.ces.conversations import (
    AgentTransfer,
    CesToolCall,
    CesToolResponse,
    ConversationMessage,
    Span,
)
from turnwise.schemas.ces.metric_settings import (
    ExpectationLevelMetricsThresholds,
    HallucinationMetricBehavior,
    HallucinationMetricsConfig,
    SemanticSimilarityMetricsConfig,
    TurnLevelMetricsThresholds,
)
from turnwise.schemas.ces.run_settings import ScenarioExecutionMode
from turnwise.schemas.ces.sessions import SessionInput
from turnwise.schemas.proto.fields import Bool, Implicit, Int32, OpenEnum, Repeated, Struct, Text
from turnwise.schemas.proto.json import Message


class ComparisonType(OpenEnum):
    """Comparison of expected and observed values; unspecified: SEMANTIC_SIMILARITY."""

    COMPARISON_TYPE_UNSPECIFIED = 0
    EQUALS = 1
    CONTAINS = 2
    SEMANTIC_SIMILARITY = 3


class GoldenExpectation(Message):
    """One checkable requirement."""

    PROTO = "Evaluation.GoldenExpectation"
    ONEOFS = (
        (
            "tool_call",
            "tool_response",
            "agent_response",
            "agent_transfer",
            "updated_variables",
            "mock_tool_response",
            "no_tool_calls",
        ),
    )

    tool_call: CesToolCall | None = None
    """Its arguments may hold `$matchType` directives."""
    tool_response: CesToolResponse | None = None
    agent_response: ConversationMessage | None = None
    agent_transfer: AgentTransfer | None = None
    updated_variables: Struct | None = None
    mock_tool_response: CesToolResponse | None = None
    """Not a check: the response of the fake tool."""
    no_tool_calls: Bool | None = None
    note: Text = ""
    skip_evaluation: Bool = False
    """The outcome is SKIPPED."""
    expectation_level_metrics_thresholds_override: ExpectationLevelMetricsThresholds | None = None
    agent_response_semantic_similarity_metrics_config_override: SemanticSimilarityMetricsConfig | None = None
    agent_response_hallucination_metrics_config_override: HallucinationMetricsConfig | None = None
    comparison_type: Implicit[ComparisonType] = ComparisonType(0)


class GoldenStep(Message):
    """One input or one check of a turn."""

    PROTO = "Evaluation.Step"
    ONEOFS = (("user_input", "agent_transfer", "expectation"),)

    user_input: SessionInput | None = None
    agent_transfer: AgentTransfer | None = None
    expectation: GoldenExpectation | None = None


class GoldenTurn(Message):
    """One user turn with the expectations until the next."""

    PROTO = "Evaluation.GoldenTurn"

    steps: Repeated[GoldenStep] = Field(default_factory=list)
    root_span: Span | None = None
    turn_level_metrics_thresholds_override: TurnLevelMetricsThresholds | None = None
    hallucination_metric_behavior_override: Implicit[HallucinationMetricBehavior] = (
        HallucinationMetricBehavior(0)
    )


class Golden(Message):
    """The script of a golden case."""

    PROTO = "Evaluation.Golden"

    turns: Repeated[GoldenTurn] = Field(default_factory=list)
    evaluation_expectations: Repeated[Text] = Field(default_factory=list)


class CesUserFact(Message):
    """A fact given to the simulated user."""

    PROTO = "Evaluation.Scenario.UserFact"

    name: Text = ""
    value: Text = ""


class ToolExpectation(Message):
    """A call and its mocked answer."""

    PROTO = "Evaluation.ScenarioExpectation.ToolExpectation"

    expected_tool_call: CesToolCall | None = None
    mock_tool_response: CesToolResponse | None = None


class ScenarioExpectation(Message):
    """An expectation on a scenario's conversation."""

    PROTO = "Evaluation.ScenarioExpectation"
    ONEOFS = (("tool_expectation", "agent_response"),)

    tool_expectation: ToolExpectation | None = None
    agent_response: ConversationMessage | None = None


class TaskCompletionBehavior(OpenEnum):
    """Older form of UserGoalBehavior."""

    TASK_COMPLETION_BEHAVIOR_UNSPECIFIED = 0
    TASK_SATISFIED = 1
    TASK_REJECTED = 2


class UserGoalBehavior(OpenEnum):
    """Expected outcome of the user's goal; unspecified: USER_GOAL_SATISFIED."""

    USER_GOAL_BEHAVIOR_UNSPECIFIED = 0
    USER_GOAL_SATISFIED = 1
    USER_GOAL_REJECTED = 2
    USER_GOAL_IGNORED = 3


class Scenario(Message):
    """The setting of a simulated conversation."""

    PROTO = "Evaluation.Scenario"

    task: Text = ""
    user_facts: Repeated[CesUserFact] = Field(default_factory=list)
    max_turns: Int32 = 0
    """At most 100, which is also the default."""
    rubrics: Repeated[Text] = Field(default_factory=list)
    """Statements the whole conversation is scored against."""
    scenario_expectations: Repeated[ScenarioExpectation] = Field(default_factory=list)
    variable_overrides: Struct | None = None
    """Known to the agent, not to the user."""
    task_completion_behavior: Implicit[TaskCompletionBehavior] = TaskCompletionBehavior(0)
    """Superseded by `user_goal_behavior`."""
    user_goal_behavior: Implicit[UserGoalBehavior] = UserGoalBehavior(0)
    evaluation_expectations: Repeated[Text] = Field(default_factory=list)
    scenario_execution_mode: Implicit[ScenarioExecutionMode] = ScenarioExecutionMode(0)
