"""Scripts of golden cases and settings of scenario cases."""

from pydantic import Field

from turnwise.schemas.ces.conversation import (
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
from turnwise.schemas.proto.message import Message
from turnwise.schemas.values import no_items


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
    """This call must occur. args may hold $matchType directives."""
    tool_response: CesToolResponse | None = None
    """The tool must have answered this."""
    agent_response: ConversationMessage | None = None
    """The agent must say this."""
    agent_transfer: AgentTransfer | None = None
    """The agent must hand over to this agent."""
    updated_variables: Struct | None = None
    """Values that these session variables must have after the turn."""
    mock_tool_response: CesToolResponse | None = None
    """What the fake tool answers; not checked."""
    no_tool_calls: Bool | None = None
    """No tool may be called in this turn."""
    note: Text = ""
    """Label for reports."""
    skip_evaluation: Bool = False
    """Whether the expectation is not checked; its outcome is SKIPPED."""
    expectation_level_metrics_thresholds_override: ExpectationLevelMetricsThresholds | None = None
    """Threshold of the parameters of this call."""
    agent_response_semantic_similarity_metrics_config_override: SemanticSimilarityMetricsConfig | None = None
    """Switch of semantic similarity for this response."""
    agent_response_hallucination_metrics_config_override: HallucinationMetricsConfig | None = None
    """Switch of the hallucination check for this response."""
    comparison_type: Implicit[ComparisonType] = ComparisonType(0)
    """How expected and observed values are compared."""


class GoldenStep(Message):
    """One input or one check of a turn."""

    PROTO = "Evaluation.Step"
    ONEOFS = (("user_input", "agent_transfer", "expectation"),)
    NEEDS_ONE = True

    user_input: SessionInput | None = None
    """What is sent to the agent."""
    agent_transfer: AgentTransfer | None = None
    """Hands the conversation to an agent."""
    expectation: GoldenExpectation | None = None
    """What is checked in this turn."""


class GoldenTurn(Message):
    """One user turn with the expectations until the next."""

    PROTO = "Evaluation.GoldenTurn"
    REQUIRED = ("steps",)
    RANGES = (("steps", 1, None),)

    steps: Repeated[GoldenStep] = Field(default_factory=no_items)
    """Inputs and expectations, in the expected order of calls."""
    root_span: Span | None = None
    """Span with the audio of the turn."""
    turn_level_metrics_thresholds_override: TurnLevelMetricsThresholds | None = None
    """Thresholds of this turn."""
    hallucination_metric_behavior_override: Implicit[HallucinationMetricBehavior] = (
        HallucinationMetricBehavior(0)
    )
    """Whether a hallucination in this turn fails the evaluation."""


class Golden(Message):
    """The script of a golden case."""

    PROTO = "Evaluation.Golden"
    REQUIRED = ("turns",)
    RANGES = (("turns", 1, 100),)

    turns: Repeated[GoldenTurn] = Field(default_factory=no_items)
    """The turns to replay, in order."""
    evaluation_expectations: Repeated[Text] = Field(default_factory=no_items)
    """Names of the expectations on the whole conversation."""


class CesUserFact(Message):
    """A fact given to the simulated user."""

    PROTO = "Evaluation.Scenario.UserFact"
    REQUIRED = ("name", "value")

    name: Text = ""
    """What the fact is about."""
    value: Text = ""
    """Its value."""


class ToolExpectation(Message):
    """A call and its mocked answer."""

    PROTO = "Evaluation.ScenarioExpectation.ToolExpectation"
    REQUIRED = ("expected_tool_call", "mock_tool_response")

    expected_tool_call: CesToolCall | None = None
    """The call; only the given parameters are checked."""
    mock_tool_response: CesToolResponse | None = None
    """What the tool answers."""


class ScenarioExpectation(Message):
    """An expectation on a scenario's conversation."""

    PROTO = "Evaluation.ScenarioExpectation"
    ONEOFS = (("tool_expectation", "agent_response"),)

    tool_expectation: ToolExpectation | None = None
    """A call, and its answer."""
    agent_response: ConversationMessage | None = None
    """A response of the agent."""


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
    DEPRECATED = frozenset({"task_completion_behavior"})
    RANGES = (("max_turns", 0, 100),)

    task: Text = ""
    """What the simulated user wants, and what counts as success."""
    user_facts: Repeated[CesUserFact] = Field(default_factory=no_items)
    """What the simulated user knows."""
    max_turns: Int32 = 0
    """Most turns of the simulation; absent: 100."""
    rubrics: Repeated[Text] = Field(default_factory=no_items)
    """Statements that the whole conversation is scored against."""
    scenario_expectations: Repeated[ScenarioExpectation] = Field(default_factory=no_items)
    """Calls and responses that must occur somewhere."""
    variable_overrides: Struct | None = None
    """Session variables that the agent knows and the user does not."""
    task_completion_behavior: Implicit[TaskCompletionBehavior] = TaskCompletionBehavior(0)
    """Older form of userGoalBehavior."""
    user_goal_behavior: Implicit[UserGoalBehavior] = UserGoalBehavior(0)
    """Whether the goal is to be satisfied, rejected or ignored."""
    evaluation_expectations: Repeated[Text] = Field(default_factory=no_items)
    """Names of the expectations on the whole conversation."""
    scenario_execution_mode: Implicit[ScenarioExecutionMode] = ScenarioExecutionMode(0)
    """Quality or speed of the simulation."""
