"""CES evaluations as canonical eval cases."""

from typing import Any, Literal

import msgspec

from turnwise.schemas import case as canonical
from turnwise.schemas.ces.evaluation import (
    CaseContent,
    CaseToScore,
    Golden,
    GoldenExpectation,
    GoldenTurn,
    Scenario,
    ScenarioExpectation,
    check_evaluation,
)
from turnwise.schemas.ces.metric_settings import (
    EvaluationMetricsThresholds,
    ExtraToolCallBehavior,
    HallucinationMetricBehavior,
    SessionInput,
)
from turnwise.schemas.config import CesConfig
from turnwise.schemas.conversation import Expectation, ExpectedTurn, Rubric, TurnThresholds
from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.formats.ces_conversations import message_text, tool_call, tool_response
from turnwise.transforms.matching.calls import check_directives

Behavior = Literal["ENABLED", "DISABLED"]
_BEHAVIORS: dict[int, Behavior] = {1: "DISABLED", 2: "ENABLED"}
_GOALS: dict[int, Literal["SATISFIED", "REJECTED", "IGNORED"]] = {2: "REJECTED", 3: "IGNORED"}
_COMPARISONS: dict[int, Literal["EQUALS", "CONTAINS"]] = {1: "EQUALS", 2: "CONTAINS"}


def eval_case(data: bytes, config: CesConfig) -> canonical.EvalCase:
    """Converts a CES Evaluation; read strictly.

    Raises:
        WireError: It is no Evaluation.
        ValueError: It is neither a golden nor a scenario, or has no name to refer to it by.
    """
    message = CaseToScore.from_json(data)
    check_evaluation(message)
    eval_id = message.name or message.display_name
    if not eval_id:
        raise ValueError("Evaluation: it has neither a name nor a displayName")
    case = canonical.EvalCase(
        eval_id=eval_id,
        dialect="ces",
        display_name=message.display_name or None,
        tags=message.tags,
        thresholds=_thresholds(message, config),
        etag=message.etag or None,
    )
    if message.golden is not None:
        _add_golden(case, message.golden)
    elif message.scenario is not None:
        _add_scenario(case, message.scenario)
    else:
        raise ValueError("Evaluation: neither golden nor scenario is set")
    _add_switches(case, message)
    return case


def _thresholds(message: CaseContent, config: CesConfig) -> canonical.CaseThresholds:
    """Merges the thresholds of the app (config) and of the case, field by field; the case's win."""
    thresholds = canonical.CaseThresholds(unexpected_response=config.unexpected_response)
    app = EvaluationMetricsThresholds.from_value(config.evaluation_metrics_thresholds)
    for level in (app, message.evaluation_metrics_threshold_override):
        if level is not None:
            thresholds = msgspec.structs.replace(thresholds, **_stated(level))
    return thresholds


def _stated(level: EvaluationMetricsThresholds) -> JsonObject:
    """Returns the thresholds that one level states, by their names in `CaseThresholds`."""
    golden = level.golden_evaluation_metrics_thresholds
    turn = golden.turn_level_metrics_thresholds if golden else None
    call = golden.expectation_level_metrics_thresholds if golden else None
    matching = golden.tool_matching_settings if golden else None
    golden_behavior = level.golden_hallucination_metric_behavior or level.hallucination_metric_behavior
    stated: JsonObject = {
        "semantic_similarity": turn.semantic_similarity_success_threshold if turn else None,
        "tool_invocation": turn.overall_tool_invocation_correctness_threshold if turn else None,
        "parameter": call.tool_invocation_parameter_correctness_threshold if call else None,
        "golden_hallucination": _BEHAVIORS.get(golden_behavior),
        "scenario_hallucination": _BEHAVIORS.get(level.scenario_hallucination_metric_behavior),
    }
    if matching and matching.extra_tool_call_behavior:
        allowed = matching.extra_tool_call_behavior == ExtraToolCallBehavior.ALLOW
        stated["extra_tool_calls"] = "ALLOW" if allowed else "FAIL"
    return {name: value for name, value in stated.items() if value is not None}


def _add_switches(case: canonical.EvalCase, message: CaseContent) -> None:
    config = message.evaluation_metrics_config_override
    scenario = config.scenario_metrics_config if config else None
    goal = scenario.user_goal_met_metrics_config if scenario else None
    case.user_goal_enabled = goal is None or goal.enable_user_goal_met_metrics
    golden = config.golden_metrics_config if config else None
    if golden is None:
        return
    similarity, tools = golden.semantic_similarity_metrics_config, golden.tool_correctness_metrics_config
    steps = golden.step_tool_correctness_metrics_config
    case.similarity_enabled = similarity is None or similarity.enable_semantic_similarity_metrics
    case.tool_correctness_enabled = tools is None or tools.enable_tool_correctness_metrics
    case.step_tool_correctness_enabled = steps is None or steps.enable_tool_correctness_metrics


def _add_golden(case: canonical.EvalCase, golden: Golden) -> None:
    case.turns = [_golden_turn(turn) for turn in golden.turns]
    case.evaluation_expectations = golden.evaluation_expectations


def _golden_turn(message: GoldenTurn) -> ExpectedTurn:
    expectations = [_expectation(step.expectation) for step in message.steps if step.expectation is not None]
    inputs = [_input_text(step.user_input) for step in message.steps if step.user_input is not None]
    said = [text for text in inputs if text]
    checked = [expectation for expectation in expectations if not expectation.skip]
    texts = [e.text for e in checked if e.text and e.comparison != "CONTAINS"]
    return ExpectedTurn(
        user="\n".join(said) if said else None,
        response="\n".join(texts) or None,
        tool_calls=[e.tool_call for e in checked if e.tool_call is not None],
        scripted_transfers=[
            step.agent_transfer.target_agent for step in message.steps if step.agent_transfer
        ],
        expectations=expectations,
        thresholds=_turn_thresholds(message),
    )


def _turn_thresholds(message: GoldenTurn) -> TurnThresholds | None:
    own, behavior = (
        message.turn_level_metrics_thresholds_override,
        message.hallucination_metric_behavior_override,
    )
    if own is None and behavior == HallucinationMetricBehavior(0):
        return None
    return TurnThresholds(
        semantic_similarity=own.semantic_similarity_success_threshold if own else None,
        tool_invocation=own.overall_tool_invocation_correctness_threshold if own else None,
        hallucination=_BEHAVIORS.get(behavior),
    )


def _input_text(message: SessionInput) -> str | None:
    if message.event is not None:
        return f"<event>{message.event.event}</event>"
    return message.text or message.dtmf


def _expectation(message: GoldenExpectation) -> Expectation:
    similarity = message.agent_response_semantic_similarity_metrics_config_override
    switched_off = similarity is not None and not similarity.enable_semantic_similarity_metrics
    gate = message.expectation_level_metrics_thresholds_override
    comparison = _COMPARISONS.get(message.comparison_type)
    expectation = Expectation(
        kind=_expectation_kind(message),
        comparison=comparison or "SEMANTIC_SIMILARITY",
        skip=message.skip_evaluation
        or (switched_off and comparison is None)
        or message.no_tool_calls is False,
        parameter_threshold=gate.tool_invocation_parameter_correctness_threshold if gate else None,
        variables=message.updated_variables,
        wire=message.to_value(),
    )
    if message.tool_call is not None:
        expectation.tool_call = tool_call(message.tool_call)
        check_directives(expectation.tool_call.args or {})
    check_directives(message.updated_variables or {})
    if message.tool_response is not None:
        expectation.tool_response = tool_response(message.tool_response)
        check_directives({"response": expectation.tool_response.response})
    if message.agent_response is not None:
        expectation.text = message_text(message.agent_response)
    if message.agent_transfer is not None:
        expectation.target_agent = message.agent_transfer.target_agent
    return expectation


def _expectation_kind(message: GoldenExpectation) -> Any:
    """Returns the kind, which is the name of the field that is set."""
    for kind in GoldenExpectation.ONEOFS[0]:
        if getattr(message, kind) is not None:
            return kind
    raise ValueError("Evaluation.golden: an expectation sets no condition")


def _add_scenario(case: canonical.EvalCase, scenario: Scenario) -> None:
    case.kind = "scenario"
    case.task = scenario.task or None
    case.user_facts = [canonical.UserFact(name=fact.name, value=fact.value) for fact in scenario.user_facts]
    case.rubrics = [Rubric(rubric_id=str(i), text=text) for i, text in enumerate(scenario.rubrics)]
    case.expectations = [_scenario_expectation(message) for message in scenario.scenario_expectations]
    case.evaluation_expectations = scenario.evaluation_expectations
    rejected = scenario.task_completion_behavior == 2 and not scenario.user_goal_behavior
    case.user_goal = "REJECTED" if rejected else _GOALS.get(scenario.user_goal_behavior, "SATISFIED")


def _scenario_expectation(message: ScenarioExpectation) -> Expectation:
    tool = message.tool_expectation
    if tool is not None and tool.expected_tool_call is not None:
        call = tool_call(tool.expected_tool_call)
        check_directives(call.args or {})
        return Expectation(kind="tool_call", tool_call=call, wire=message.to_value())
    if message.agent_response is not None:
        text = message_text(message.agent_response)
        return Expectation(kind="agent_response", text=text, comparison="CONTAINS", wire=message.to_value())
    raise ValueError("Evaluation.scenario: an expectation names neither a tool call nor an agent response")
