"""Builds the scenarioResult of a conversation."""

from collections.abc import Sequence

from msgspec import Struct

from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import ToolCall, ToolResponse
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.proto.scalars import float32
from turnwise.schemas.score import Score
from turnwise.transforms.ces import messages
from turnwise.transforms.ces.hallucinations import judged_hallucination
from turnwise.transforms.ces.judgements import Judgements
from turnwise.transforms.ces.spans import add_spans
from turnwise.transforms.criteria.ces.items import JudgedRubric
from turnwise.transforms.matching.expectations import ExpectationOutcome, responses_by_call, turn_texts
from turnwise.transforms.matching.sample import Sample, TurnPair
from turnwise.transforms.text.cleaning import contains_quote


class ScenarioSummary(Struct):
    """Result of a scenario, or of a conversation without a case.

    Attributes:
        sample: What was scored.
        outcomes: One per expectation of the scenario, judgements included.
        said: The agent's message that met an expectation in a judge's opinion, by the expectation's place.
        rubrics: The judged rubrics; empty: none was judged.
        hallucinations: A judge's scores, one a turn; empty: none was asked.
        goal: What a judge said of the user goal.
        completed: CES's composite: expectations met, no hallucination, goal satisfied; None: unknown.
    """

    sample: Sample
    outcomes: Sequence[ExpectationOutcome]
    said: dict[int, str]
    rubrics: Sequence[JudgedRubric] = ()
    hallucinations: Sequence[Score | None] = ()
    goal: Score | None = None
    completed: bool | None = None


def scenario_result(sample: Sample, judgements: Judgements) -> ScenarioSummary:
    """Returns the result of a scenario from its measurements and judgements."""
    if not judgements:
        return ScenarioSummary(sample, sample.scenario_outcomes, {})
    outcomes = judgements.scenario_outcomes(sample)
    hallucinations = [judged_hallucination(pair, judgements) for pair in sample.pairs]
    return ScenarioSummary(
        sample,
        outcomes,
        _said(sample, outcomes, judgements),
        judgements.rubrics(),
        hallucinations if any(score is not None for score in hallucinations) else (),
        judgements.user_goal(),
        _task_completed(sample, judgements, outcomes),
    )


def _said(sample: Sample, outcomes: Sequence[ExpectationOutcome], judgements: Judgements) -> dict[int, str]:
    """Returns the agent's messages that the quotes of met expectations are from."""
    texts = [text for turn in sample.conversation.turns for text in turn_texts(turn)]
    said = {}
    for answer in judgements.answers():
        quote = answer.quote
        if outcomes[answer.place].outcome == "PASS" and quote:
            said[answer.place] = next((text for text in texts if contains_quote(quote, text)), None)
    return {place: text for place, text in said.items() if text is not None}


def _task_completed(
    sample: Sample, judgements: Judgements, outcomes: Sequence[ExpectationOutcome]
) -> bool | None:
    if sample.eval_case is None or sample.eval_case.kind != "scenario":
        return None
    statuses = [outcome.outcome for outcome in outcomes]
    parts = [None if status is None else status != "FAIL" for status in statuses]
    goal = judgements.user_goal()
    parts.append(None if goal is None or goal.value is None else goal.value == 1.0)
    parts += [_is_clean(pair, judgements) for pair in sample.pairs]
    return False if False in parts else None if None in parts else True


def _is_clean(pair: TurnPair, judgements: Judgements) -> bool | None:
    if pair.actual is None or not (pair.actual.tool_calls or pair.actual.unknown_calls):
        return True
    score = judgements.hallucination(pair.index)
    return None if score is None or score.value is None else score.value != 0.0


def scenario_message(scenario: ScenarioSummary, statements: Sequence[JsonObject]) -> JsonObject:
    """Returns the ScenarioResult message; `statements` are its EvaluationExpectationResults."""
    sample = scenario.sample
    message: JsonObject = {"conversation": sample.conversation.conversation_id}
    if sample.eval_case is not None:
        _add_case(message, sample.eval_case)
        _add_expectations(message, scenario)
    spans = [span for turn in sample.conversation.turns for span in turn.spans]
    if spans:
        add_spans(message, spans)
    if statements:
        message["evaluationExpectationResults"] = [*statements]
    _add_satisfied(message, scenario.outcomes)
    if scenario.rubrics:
        message["rubricOutcomes"] = [_rubric(item) for item in scenario.rubrics]
    if scenario.hallucinations:
        message["hallucinationResult"] = hallucination_results(scenario.hallucinations)
    if scenario.goal is not None and scenario.goal.value is not None:
        message["userGoalSatisfactionResult"] = messages.judgement(scenario.goal)
    if scenario.completed is not None:
        message["taskCompleted"] = scenario.completed
    return message


def hallucination_results(scores: Sequence[Score | None]) -> list[JsonObject]:
    """Returns HallucinationResults, one a turn; an empty one of a turn that is not checked."""
    return [{} if score is None else messages.judgement(score) for score in scores]


def _add_case(message: JsonObject, case: EvalCase) -> None:
    if case.task:
        message["task"] = case.task
    if case.user_facts:
        message["userFacts"] = [{"name": fact.name, "value": fact.value} for fact in case.user_facts]
    if case.rubrics:
        message["rubricOutcomes"] = [{"rubric": rubric.text} for rubric in case.rubrics]


def _add_expectations(message: JsonObject, scenario: ScenarioSummary) -> None:
    if not scenario.outcomes:
        return
    responses = responses_by_call(scenario.sample.conversation)
    found = [_outcome(outcome, responses) for outcome in scenario.outcomes]
    for place, text in scenario.said.items():
        found[place]["observedAgentResponse"] = messages.agent_message(text)
    message["expectationOutcomes"] = found
    _add_satisfied(message, scenario.sample.scenario_outcomes)


def _add_satisfied(message: JsonObject, outcomes: Sequence[ExpectationOutcome]) -> None:
    statuses = [outcome.outcome for outcome in outcomes]
    if "FAIL" in statuses or (statuses and None not in statuses):
        message["allExpectationsSatisfied"] = "FAIL" not in statuses


def _outcome(outcome: ExpectationOutcome, responses: dict[int, ToolResponse]) -> JsonObject:
    message: JsonObject = {}
    if outcome.expectation is not None:
        message["expectation"] = messages.scenario_expectation(outcome.expectation)
    if isinstance(outcome.observed, ToolCall):
        message["observedToolCall"] = {"toolCall": messages.tool_call(outcome.observed)}
        response = responses.get(id(outcome.observed))
        if response is not None:
            message["observedToolCall"]["toolResponse"] = messages.tool_response(response)
    elif outcome.observed_as == "text":
        message["observedAgentResponse"] = messages.agent_message(str(outcome.observed))
    if outcome.outcome:
        message["outcome"] = outcome.outcome
    return message


def _rubric(rubric: JudgedRubric) -> JsonObject:
    message: JsonObject = {"rubric": rubric.rubric}
    if rubric.score is not None:
        message["score"] = float32(rubric.score)
    return message | ({"scoreExplanation": rubric.reason} if rubric.reason else {})
