"""CES's evaluations: golden conversations, scenarios, and the settings of their metrics."""

from collections.abc import Sequence

from pydantic.alias_generators import to_camel

from turnwise.schemas.ces import conversation as ces
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.proto import message as proto
from turnwise.schemas.proto.message import Int32, Message, OneOf, OpenEnum, Struct, Text, WireError, field

HIGHEST_SIMILARITY = 4


class SemanticSimilarityChannel(OpenEnum):
    """Compared channel; unspecified: TEXT."""

    SEMANTIC_SIMILARITY_CHANNEL_UNSPECIFIED, TEXT, AUDIO = range(3)


class TurnLevelMetricsThresholds(
    Message, inside="EvaluationMetricsThresholds.GoldenEvaluationMetricsThresholds"
):
    """Thresholds per turn."""

    semantic_similarity_success_threshold: Int32 | None = field(
        "Lowest similarity that passes; absent: 3.", bounds=(0, HIGHEST_SIMILARITY)
    )
    overall_tool_invocation_correctness_threshold: proto.Float32 | None = field(
        "Lowest share of expected tools that passes; absent: 1.", bounds=(0, 1)
    )
    semantic_similarity_channel: SemanticSimilarityChannel = field("Whether text or audio is compared.")


class ExpectationLevelMetricsThresholds(
    Message, inside="EvaluationMetricsThresholds.GoldenEvaluationMetricsThresholds"
):
    """Threshold per tool-call expectation."""

    tool_invocation_parameter_correctness_threshold: proto.Float32 | None = field(
        "Lowest share of expected parameters that passes; absent: 1.", bounds=(0, 1)
    )


class ExtraToolCallBehavior(OpenEnum):
    """Effect of an unexpected call; unspecified: FAIL."""

    EXTRA_TOOL_CALL_BEHAVIOR_UNSPECIFIED, FAIL, ALLOW = range(3)


class ToolMatchingSettings(Message, inside="EvaluationMetricsThresholds"):
    """Matching of tool calls."""

    extra_tool_call_behavior: ExtraToolCallBehavior = field("Effect of a call that nothing expects.")


class GoldenEvaluationMetricsThresholds(Message, inside="EvaluationMetricsThresholds"):
    """Thresholds of golden cases."""

    turn_level_metrics_thresholds: TurnLevelMetricsThresholds | None = field("Per turn.")
    expectation_level_metrics_thresholds: ExpectationLevelMetricsThresholds | None = field("Per call.")
    tool_matching_settings: ToolMatchingSettings | None = field("Effect of unexpected calls.")


class HallucinationMetricBehavior(OpenEnum):
    """Whether hallucinations affect the verdict; they are always evaluated."""

    HALLUCINATION_METRIC_BEHAVIOR_UNSPECIFIED, DISABLED, ENABLED = range(3)


class EvaluationMetricsThresholds(Message):
    """Thresholds of an app; every result has a copy."""

    golden_evaluation_metrics_thresholds: GoldenEvaluationMetricsThresholds | None = field("Of goldens.")
    hallucination_metric_behavior: HallucinationMetricBehavior = field(
        "Older form of goldenHallucinationMetricBehavior.", deprecated=True
    )
    golden_hallucination_metric_behavior: HallucinationMetricBehavior = field("If one fails a golden.")
    scenario_hallucination_metric_behavior: HallucinationMetricBehavior = field("If one fails a scenario.")


class SemanticSimilarityMetricsConfig(Message, inside="EvaluationMetricsConfig"):
    """Switch of semantic similarity."""

    enable_semantic_similarity_metrics: proto.Bool = field("Whether it is computed.")


class ToolCorrectnessMetricsConfig(Message, inside="EvaluationMetricsConfig"):
    """Switch of a tool check."""

    enable_tool_correctness_metrics: proto.Bool = field("Whether it is computed.")


class GoldenMetricsConfig(Message, inside="EvaluationMetricsConfig"):
    """Metrics of golden cases."""

    semantic_similarity_metrics_config: SemanticSimilarityMetricsConfig | None = field("Semantic similarity.")
    tool_correctness_metrics_config: ToolCorrectnessMetricsConfig | None = field("Correct per turn.")
    step_tool_correctness_metrics_config: ToolCorrectnessMetricsConfig | None = field("Correct per step.")


class UserGoalMetMetricsConfig(Message, inside="EvaluationMetricsConfig"):
    """Switch of user goal satisfaction."""

    enable_user_goal_met_metrics: proto.Bool = field("Whether it is computed.")


class ExpectationsMetMetricsConfig(Message, inside="EvaluationMetricsConfig"):
    """Switch of scenario expectations."""

    enable_expectations_met_metrics: proto.Bool = field("Whether it is computed.")


class ScenarioMetricsConfig(Message, inside="EvaluationMetricsConfig"):
    """Metrics of scenario cases."""

    user_goal_met_metrics_config: UserGoalMetMetricsConfig | None = field("Satisfaction of the user's goal.")
    expectations_met_metrics_config: ExpectationsMetMetricsConfig | None = field("Scenario expectations.")


class EvaluationMetricsConfig(Message):
    """Switches of metrics; an absent message means the default."""

    golden_metrics_config: GoldenMetricsConfig | None = field("Metrics of goldens.")
    scenario_metrics_config: ScenarioMetricsConfig | None = field("Metrics of scenarios.")


class HallucinationMetricsConfig(Message, inside="EvaluationMetricsConfig"):
    """Switch of the hallucination check of one response."""

    enable_hallucination_metrics: proto.Bool = field("Whether it is computed.")


class ComparisonType(OpenEnum):
    """Comparison of expected and observed values; unspecified: SEMANTIC_SIMILARITY."""

    COMPARISON_TYPE_UNSPECIFIED, EQUALS, CONTAINS, SEMANTIC_SIMILARITY = range(4)


class GoldenExpectation(Message, inside="Evaluation"):
    """One checkable requirement."""

    tool_call: OneOf[ces.CesToolCall] = field("This call must occur. args may hold $matchType directives.")
    tool_response: OneOf[ces.CesToolResponse] = field("The tool must have answered this.")
    agent_response: OneOf[ces.ConversationMessage] = field("The agent must say this.")
    agent_transfer: OneOf[ces.AgentTransfer] = field("The agent must hand over to this agent.")
    updated_variables: OneOf[Struct] = field("Values that these session variables must have after the turn.")
    mock_tool_response: OneOf[ces.CesToolResponse] = field("What the fake tool answers; not checked.")
    no_tool_calls: OneOf[proto.Bool] = field("No tool may be called in this turn.")
    note: Text = field("Label for reports.")
    skip_evaluation: proto.Bool = field("Whether the expectation is not checked; its outcome is SKIPPED.")
    expectation_level_metrics_thresholds_override: ExpectationLevelMetricsThresholds | None = field(
        "Threshold of the parameters of this call."
    )
    agent_response_semantic_similarity_metrics_config_override: SemanticSimilarityMetricsConfig | None = (
        field("Switch of semantic similarity for this response.")
    )
    agent_response_hallucination_metrics_config_override: HallucinationMetricsConfig | None = field(
        "Switch of the hallucination check for this response."
    )
    comparison_type: ComparisonType = field("How expected and observed values are compared.")


class GoldenStep(Message, proto="Evaluation.Step"):
    """One input or one check of a turn."""

    NEEDS_ONE = True

    user_input: OneOf[ces.SessionInput] = field("What is sent to the agent.")
    agent_transfer: OneOf[ces.AgentTransfer] = field("Hands the conversation to an agent.")
    expectation: OneOf[GoldenExpectation] = field("What is checked in this turn.")


class GoldenTurn(Message, inside="Evaluation"):
    """One user turn with the expectations until the next."""

    steps: list[GoldenStep] = field(
        "Inputs and expectations, in the expected order of calls.", required=True, bounds=(1, None)
    )
    root_span: ces.Span | None = field("Span with the audio of the turn.")
    turn_level_metrics_thresholds_override: TurnLevelMetricsThresholds | None = field("Those of this turn.")
    hallucination_metric_behavior_override: HallucinationMetricBehavior = field(
        "Whether a hallucination in this turn fails the evaluation."
    )


class Golden(Message, inside="Evaluation"):
    """The script of a golden case."""

    turns: list[GoldenTurn] = field("The turns to replay, in order.", required=True, bounds=(1, 100))
    evaluation_expectations: list[Text] = field("Names of the expectations on the whole conversation.")


class CesUserFact(Message, proto="Evaluation.Scenario.UserFact"):
    """A fact given to the simulated user."""

    name: Text = field("What the fact is about.", required=True)
    value: Text = field("Its value.", required=True)


class ToolExpectation(Message, inside="Evaluation.ScenarioExpectation"):
    """A call and its mocked answer."""

    expected_tool_call: ces.CesToolCall | None = field("The call; given parameters count.", required=True)
    mock_tool_response: ces.CesToolResponse | None = field("What the tool answers.", required=True)


class ScenarioExpectation(Message, inside="Evaluation"):
    """An expectation on a scenario's conversation."""

    tool_expectation: OneOf[ToolExpectation] = field("A call, and its answer.")
    agent_response: OneOf[ces.ConversationMessage] = field("A response of the agent.")


class TaskCompletionBehavior(OpenEnum):
    """Older form of UserGoalBehavior."""

    TASK_COMPLETION_BEHAVIOR_UNSPECIFIED, TASK_SATISFIED, TASK_REJECTED = range(3)


class UserGoalBehavior(OpenEnum):
    """Expected outcome of the user's goal; unspecified: USER_GOAL_SATISFIED."""

    USER_GOAL_BEHAVIOR_UNSPECIFIED, USER_GOAL_SATISFIED, USER_GOAL_REJECTED, USER_GOAL_IGNORED = range(4)


class ScenarioExecutionMode(OpenEnum):
    """Mode of a simulation; unspecified: QUALITY_OPTIMIZED."""

    SCENARIO_EXECUTION_MODE_UNSPECIFIED, QUALITY_OPTIMIZED, SPEED_OPTIMIZED = range(3)


class Scenario(Message, inside="Evaluation"):
    """The setting of a simulated conversation."""

    task: Text = field("What the simulated user wants, and what counts as success.")
    user_facts: list[CesUserFact] = field("What the simulated user knows.")
    max_turns: Int32 = field("Most turns of the simulation; absent: 100.", bounds=(0, 100))
    rubrics: list[Text] = field("Statements that the whole conversation is scored against.")
    scenario_expectations: list[ScenarioExpectation] = field("Calls and responses that must occur somewhere.")
    variable_overrides: Struct | None = field("Session variables that the agent knows and the user does not.")
    task_completion_behavior: TaskCompletionBehavior = field("Older userGoalBehavior.", deprecated=True)
    user_goal_behavior: UserGoalBehavior = field("Whether the goal is to be satisfied, rejected or ignored.")
    evaluation_expectations: list[Text] = field("Names of the expectations on the whole conversation.")
    scenario_execution_mode: ScenarioExecutionMode = field("Quality or speed of the simulation.")


class CaseContent(Message):
    """An evaluation without what is computed of its results."""

    NEEDS_ONE = True
    IDENTIFIER = "name"

    golden: OneOf[Golden] = field("A script of user inputs and of what is expected after each.")
    scenario: OneOf[Scenario] = field("A task that a simulated user pursues.")
    name: Text = field("projects/P/locations/L/apps/A/evaluations/E. It never changes.")
    display_name: Text = field("Name for people, unique in the app.", required=True)
    description: Text = field("Free text.")
    tags: list[Text] = field("Labels to select evaluations by.", bounds=(0, 100))
    evaluation_datasets: list[Text] = field("Names of the datasets that hold it.", output_only=True)
    create_time: proto.Timestamp | None = field("When it was created.", output_only=True)
    created_by: Text = field("Who created it.", output_only=True)
    update_time: proto.Timestamp | None = field("When it was last changed.", output_only=True)
    last_updated_by: Text = field("Who last changed it.", output_only=True)
    evaluation_runs: list[Text] = field("Names of the runs that have a result of it.", output_only=True)
    etag: Text = field("Version of the content. An update with an older one is refused.", output_only=True)
    invalid: proto.Bool = field("Whether it refers to a deleted tool, toolset or agent.", output_only=True)
    evaluation_metrics_threshold_override: EvaluationMetricsThresholds | None = field(
        "Thresholds of this evaluation in place of the app's."
    )
    evaluation_metrics_config_override: EvaluationMetricsConfig | None = field(
        "Metrics of this evaluation in place of the app's."
    )


class CaseToScore(CaseContent, proto="Evaluation"):
    """A case as it is read for scoring: its results are not."""

    aggregated_metrics: JsonObject | None = field("AggregatedMetrics in JSON.")
    last_completed_result: JsonObject | None = field("An EvaluationResult in JSON.")
    last_ten_results: list[JsonObject] = field("EvaluationResults in JSON.")


def check_evaluation(evaluation: CaseContent) -> None:
    """Raises WireError if a case has no checkable content or a threshold outside its range."""
    golden, scenario = evaluation.golden, evaluation.scenario
    check_thresholds(evaluation.evaluation_metrics_threshold_override)
    if golden is not None:
        if not golden.turns:
            raise WireError("Evaluation.golden.turns: at least one turn is needed")
        _check_texts(golden.evaluation_expectations, "Evaluation.golden.evaluationExpectations")
        for i, turn in enumerate(golden.turns):
            _check_turn(turn, f"Evaluation.golden.turns[{i}]")
    if scenario is not None:
        if not scenario.task.strip() and not any(rubric.strip() for rubric in scenario.rubrics):
            raise WireError("Evaluation.scenario: a task or rubrics are needed")
        _check_texts(scenario.rubrics, "Evaluation.scenario.rubrics")
        _check_texts(scenario.evaluation_expectations, "Evaluation.scenario.evaluationExpectations")


def check_thresholds(thresholds: EvaluationMetricsThresholds | None) -> None:
    """Raises WireError if a threshold is outside its range."""
    golden = thresholds.golden_evaluation_metrics_thresholds if thresholds else None
    if golden is not None:
        _check_ranges(golden.turn_level_metrics_thresholds)
        _check_ranges(golden.expectation_level_metrics_thresholds)


def _check_ranges(message: Message | None) -> None:
    for name, declared in message.FIELDS.items() if message is not None else ():
        value, (low, high) = getattr(message, name), declared.bounds
        if value is not None and high is not None and not low <= value <= high:
            raise WireError(f"{to_camel(name)}: {value:g} does not lie between {low} and {high}")


def _check_turn(turn: GoldenTurn, path: str) -> None:
    _check_ranges(turn.turn_level_metrics_thresholds_override)
    if not turn.steps:
        raise WireError(f"{path}.steps: at least one step is needed")
    for i, step in enumerate(turn.steps):
        expectation, where = step.expectation, f"{path}.steps[{i}]"
        if all(getattr(step, name) is None for name in GoldenStep.ONEOF):
            raise WireError(f"{where}: is empty; userInput, agentTransfer or expectation is needed")
        if expectation is None:
            continue
        call, answer = expectation.tool_call, expectation.agent_response
        if call is not None and not (call.tool or call.toolset_tool or call.display_name):
            raise WireError(f"{where}.expectation.toolCall: the tool is needed")
        if expectation.updated_variables is not None and not expectation.updated_variables:
            raise WireError(f"{where}.expectation.updatedVariables: at least one variable is needed")
        if answer is not None and not any(map(_has_content, answer.chunks)):
            raise WireError(f"{where}.expectation.agentResponse: a chunk that is not empty is needed")
        _check_ranges(expectation.expectation_level_metrics_thresholds_override)


def _has_content(chunk: ces.Chunk) -> bool:
    """Returns whether a chunk has content other than blank text."""
    stated = [text for text in (chunk.text, chunk.transcript) if text is not None]
    return any(text.strip() for text in stated) if stated else bool(chunk.to_value())


def _check_texts(texts: Sequence[str], path: str) -> None:
    for i, text in enumerate(texts):
        if not text.strip():
            raise WireError(f"{path}[{i}]: is empty")
