"""Limits of CES eval cases that the wire format does not state: ranges of thresholds, and what is needed."""

from turnwise.schemas.ces.case_parts import Golden, GoldenStep, GoldenTurn, Scenario
from turnwise.schemas.ces.cases import Evaluation
from turnwise.schemas.ces.metric_settings import (
    EvaluationMetricsThresholds,
    ExpectationLevelMetricsThresholds,
    TurnLevelMetricsThresholds,
)
from turnwise.schemas.proto.json import WireError

HIGHEST_SIMILARITY = 4


def check_evaluation(evaluation: Evaluation) -> None:
    """Raises WireError if a case could not be held against anything, or has a gate that is off its scale."""
    check_thresholds(evaluation.evaluation_metrics_threshold_override)
    if evaluation.golden is not None:
        _check_golden(evaluation.golden)
    if evaluation.scenario is not None:
        _check_scenario(evaluation.scenario)


def check_thresholds(thresholds: EvaluationMetricsThresholds | None) -> None:
    """Raises WireError if a threshold is off its scale."""
    golden = thresholds.golden_evaluation_metrics_thresholds if thresholds else None
    if golden is not None:
        _check_turn_level(golden.turn_level_metrics_thresholds)
        _check_expectation_level(golden.expectation_level_metrics_thresholds)


def _check_turn_level(thresholds: TurnLevelMetricsThresholds | None) -> None:
    if thresholds is None:
        return
    similarity = thresholds.semantic_similarity_success_threshold
    tools = thresholds.overall_tool_invocation_correctness_threshold
    _check_range("semanticSimilaritySuccessThreshold", similarity, HIGHEST_SIMILARITY)
    _check_range("overallToolInvocationCorrectnessThreshold", tools, 1)


def _check_expectation_level(thresholds: ExpectationLevelMetricsThresholds | None) -> None:
    if thresholds is not None:
        gate = thresholds.tool_invocation_parameter_correctness_threshold
        _check_range("toolInvocationParameterCorrectnessThreshold", gate, 1)


def _check_range(name: str, value: float | None, highest: int) -> None:
    if value is not None and not 0 <= value <= highest:
        raise WireError(f"{name}: {value:g} does not lie between 0 and {highest}")


def _check_golden(golden: Golden) -> None:
    if not golden.turns:
        raise WireError("Evaluation.golden.turns: at least one turn is needed")
    for i, turn in enumerate(golden.turns):
        _check_turn(turn, f"Evaluation.golden.turns[{i}]")


def _check_turn(turn: GoldenTurn, path: str) -> None:
    _check_turn_level(turn.turn_level_metrics_thresholds_override)
    if not turn.steps:
        raise WireError(f"{path}.steps: at least one step is needed")
    for i, step in enumerate(turn.steps):
        if all(getattr(step, name) is None for name in GoldenStep.ONEOFS[0]):
            raise WireError(f"{path}.steps[{i}]: is empty; userInput, agentTransfer or expectation is needed")
        if step.expectation is not None:
            _check_expectation_level(step.expectation.expectation_level_metrics_thresholds_override)


def _check_scenario(scenario: Scenario) -> None:
    if not scenario.task.strip() and not any(rubric.strip() for rubric in scenario.rubrics):
        raise WireError("Evaluation.scenario: a task or rubrics are needed")
