"""The judged parts of a CES EvaluationResult, in canonical proto3 JSON."""

from collections.abc import Callable

from turnwise.schemas.proto.scalars import float32
from turnwise.schemas.score import Score
from turnwise.schemas.values import JsonObject
from turnwise.transforms.ces import messages as wire
from turnwise.transforms.ces.judgements import Judgements
from turnwise.transforms.criteria.ces.expectations import EvaluationExpectations
from turnwise.transforms.criteria.ces.hallucination import Hallucination, no_claim, switched_off
from turnwise.transforms.criteria.ces.scenario import ScenarioRubrics
from turnwise.transforms.criteria.ces.similarity import LABELS
from turnwise.transforms.matching.expectations import ExpectationOutcome, turn_texts
from turnwise.transforms.matching.sample import Sample, TurnPair
from turnwise.transforms.text.quotes import is_in

Render = Callable[[ExpectationOutcome], JsonObject]


def with_judgements(result: JsonObject, sample: Sample, judgements: Judgements, render: Render) -> JsonObject:
    """Returns an evaluation result completed by what the judges said.

    Args:
        result: The result of what needs no judge; it is not changed.
        sample: What was judged.
        judgements: What the judges said.
        render: Returns the GoldenExpectationOutcome of an expectation.
    """
    if "goldenResult" in result:
        return {**result, "goldenResult": _golden(result["goldenResult"], sample, judgements, render)}
    return {**result, "scenarioResult": _scenario(result["scenarioResult"], sample, judgements)}


def _golden(golden: JsonObject, sample: Sample, judgements: Judgements, render: Render) -> JsonObject:
    turns = [
        _turn(turn, sample, pair, judgements, render)
        for turn, pair in zip(golden["turnReplayResults"], sample.pairs, strict=True)
    ]
    return {"turnReplayResults": turns, **_statements(judgements)}


def _turn(
    turn: JsonObject, sample: Sample, pair: TurnPair, judgements: Judgements, render: Render
) -> JsonObject:
    judged = dict(turn)
    if "expectationOutcome" in turn:
        before, after = sample.replay(pair).outcomes, judgements.golden_outcomes(sample, pair)
        judged["expectationOutcome"] = [
            message if new is old else render(new)
            for message, old, new in zip(turn["expectationOutcome"], before, after, strict=True)
        ]
    similarity = judgements.similarity(sample, pair)
    if similarity is not None:
        score, outcome = similarity
        judged["semanticSimilarityResult"] = {
            "score": int(score.value or 0),
            "label": LABELS[int(score.value or 0)],
            **_explained(score),
            "outcome": outcome,
        }
    hallucination = _hallucination(pair, judgements)
    if hallucination is not None:
        judged["hallucinationResult"] = hallucination
    return judged


def _hallucination(pair: TurnPair, judgements: Judgements) -> JsonObject | None:
    """Returns a HallucinationResult; without a score where the judge gave none."""
    if not judgements.has(Hallucination.name) or pair.actual is None or switched_off(pair.expected):
        return None
    score = judgements.hallucination(pair.index)
    if score is None:
        score = Score(None) if pair.actual.tool_calls else no_claim("No tool call in this turn.")
    return _labelled(score)


def _labelled(score: Score) -> JsonObject:
    if score.value is None:
        return {"explanation": f"not judged: {score.reason or 'an error'}"}
    return {"score": int(score.value), "label": score.label, **_explained(score)}


def _explained(score: Score) -> JsonObject:
    return {"explanation": score.explanation} if score.explanation else {}


def _statements(judgements: Judgements) -> JsonObject:
    items = judgements.items(EvaluationExpectations.name, "expectations")
    return {"evaluationExpectationResults": [_statement(item) for item in items]} if items else {}


def _statement(item: JsonObject) -> JsonObject:
    message: JsonObject = {}
    if item["expectation"] != item["prompt"]:
        message["evaluationExpectation"] = item["expectation"]
    if item["prompt"]:
        message["prompt"] = item["prompt"]
    if item["score"] is not None:
        message["outcome"] = "PASS" if item["score"] else "FAIL"
    return message | ({"explanation": item["reason"]} if item["reason"] else {})


def _scenario(scenario: JsonObject, sample: Sample, judgements: Judgements) -> JsonObject:
    judged = {**scenario, **_statements(judgements)}
    outcomes = judgements.scenario_outcomes(sample)
    if outcomes:
        _add_outcomes(judged, sample, outcomes, judgements)
    rubrics = judgements.items(ScenarioRubrics.name, "rubrics")
    if rubrics:
        judged["rubricOutcomes"] = [_rubric(item) for item in rubrics]
    checks = [_hallucination(pair, judgements) for pair in sample.pairs]
    if any(check is not None for check in checks):
        judged["hallucinationResult"] = [check or {} for check in checks]
    goal = judgements.user_goal()
    if goal is not None and goal.value is not None:
        judged["userGoalSatisfactionResult"] = _labelled(goal)
    completed = _task_completed(sample, judgements, outcomes)
    if completed is not None:
        judged["taskCompleted"] = completed
    return judged


def _add_outcomes(
    judged: JsonObject, sample: Sample, outcomes: list[ExpectationOutcome], judgements: Judgements
) -> None:
    answers = {item["place"]: item for item in judgements.items("scenario_expectations", "answers")}
    messages = [dict(message) for message in judged["expectationOutcomes"]]
    for place, (message, outcome) in enumerate(zip(messages, outcomes, strict=True)):
        if outcome.outcome is not None:
            message["outcome"] = outcome.outcome
        said = (
            _saying(sample, answers[place]["quote"])
            if place in answers and outcome.outcome == "PASS"
            else None
        )
        if said is not None:
            message["observedAgentResponse"] = wire.agent_message(said)
    judged["expectationOutcomes"] = messages
    statuses = [outcome.outcome for outcome in outcomes]
    if "FAIL" in statuses or None not in statuses:
        judged["allExpectationsSatisfied"] = "FAIL" not in statuses


def _saying(sample: Sample, quote: str | None) -> str | None:
    """Returns the agent's message that a quote is from."""
    texts = (text for turn in sample.conversation.turns for text in turn_texts(turn))
    return next((text for text in texts if quote and is_in(quote, text)), None)


def _rubric(item: JsonObject) -> JsonObject:
    message: JsonObject = {"rubric": item["rubric"]}
    if item["score"] is not None:
        message["score"] = float32(item["score"])
    return message | ({"scoreExplanation": item["reason"]} if item["reason"] else {})


def _task_completed(
    sample: Sample, judgements: Judgements, outcomes: list[ExpectationOutcome]
) -> bool | None:
    """Returns CES's composite: expectations met, no hallucination, goal satisfied; None: not all is known."""
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
