"""Validates CES eval cases beyond the wire format: ranges of thresholds and required values."""

from collections.abc import Sequence

from pydantic.alias_generators import to_camel

from turnwise.schemas.ces.case_content import CaseContent
from turnwise.schemas.ces.conversation import Chunk
from turnwise.schemas.ces.evaluation import Golden, GoldenExpectation, GoldenStep, GoldenTurn, Scenario
from turnwise.schemas.ces.metric_settings import EvaluationMetricsThresholds
from turnwise.schemas.proto.message import Message, WireError


def check_evaluation(evaluation: CaseContent) -> None:
    """Raises WireError if a case has no checkable content or a threshold outside its range."""
    check_thresholds(evaluation.evaluation_metrics_threshold_override)
    if evaluation.golden is not None:
        _check_golden(evaluation.golden)
    if evaluation.scenario is not None:
        _check_scenario(evaluation.scenario)


def check_thresholds(thresholds: EvaluationMetricsThresholds | None) -> None:
    """Raises WireError if a threshold is outside its range."""
    golden = thresholds.golden_evaluation_metrics_thresholds if thresholds else None
    if golden is not None:
        _check_ranges(golden.turn_level_metrics_thresholds)
        _check_ranges(golden.expectation_level_metrics_thresholds)


def _check_ranges(message: Message | None) -> None:
    for field, low, high in () if message is None else message.RANGES:
        value = getattr(message, field)
        if value is not None and high is not None and not low <= value <= high:
            raise WireError(f"{to_camel(field)}: {value:g} does not lie between {low} and {high}")


def _check_golden(golden: Golden) -> None:
    if not golden.turns:
        raise WireError("Evaluation.golden.turns: at least one turn is needed")
    _check_texts(golden.evaluation_expectations, "Evaluation.golden.evaluationExpectations")
    for i, turn in enumerate(golden.turns):
        _check_turn(turn, f"Evaluation.golden.turns[{i}]")


def _check_turn(turn: GoldenTurn, path: str) -> None:
    _check_ranges(turn.turn_level_metrics_thresholds_override)
    if not turn.steps:
        raise WireError(f"{path}.steps: at least one step is needed")
    for i, step in enumerate(turn.steps):
        if all(getattr(step, name) is None for name in GoldenStep.ONEOFS[0]):
            raise WireError(f"{path}.steps[{i}]: is empty; userInput, agentTransfer or expectation is needed")
        if step.expectation is not None:
            _check_condition(step.expectation, f"{path}.steps[{i}].expectation")
            _check_ranges(step.expectation.expectation_level_metrics_thresholds_override)


def _check_condition(expectation: GoldenExpectation, path: str) -> None:
    call, said = expectation.tool_call, expectation.agent_response
    if call is not None and not (call.tool or call.toolset_tool or call.display_name):
        raise WireError(f"{path}.toolCall: the tool is needed")
    if expectation.updated_variables is not None and not expectation.updated_variables:
        raise WireError(f"{path}.updatedVariables: at least one variable is needed")
    if said is not None and not any(map(_has_content, said.chunks)):
        raise WireError(f"{path}.agentResponse: a chunk that is not empty is needed")


def _has_content(chunk: Chunk) -> bool:
    """Returns whether a chunk has content other than blank text."""
    words = (chunk.text, chunk.transcript)
    stated = [text for text in words if text is not None]
    return any(text.strip() for text in stated) if stated else bool(chunk.to_value())


def _check_texts(texts: Sequence[str], path: str) -> None:
    for i, text in enumerate(texts):
        if not text.strip():
            raise WireError(f"{path}[{i}]: is empty")


def _check_scenario(scenario: Scenario) -> None:
    if not scenario.task.strip() and not any(rubric.strip() for rubric in scenario.rubrics):
        raise WireError("Evaluation.scenario: a task or rubrics are needed")
    _check_texts(scenario.rubrics, "Evaluation.scenario.rubrics")
    _check_texts(scenario.evaluation_expectations, "Evaluation.scenario.evaluationExpectations")
