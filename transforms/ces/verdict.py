"""The verdict on a conversation that is held against a CES case."""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from turnwise.schemas.case import EvalCase
from turnwise.schemas.conversation import ToolCall, ToolResponse, Turn
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.proto.scalars import float32
from turnwise.schemas.score import Score
from turnwise.transforms.ces import messages
from turnwise.transforms.ces.judgements import (
    UNJUDGED,
    Judgements,
    hallucination_gates,
    needs_hallucination_check,
)
from turnwise.transforms.ces.messages import add_spans
from turnwise.transforms.criteria.answers import GroundingScore
from turnwise.transforms.criteria.ces_conversations import (
    EvaluationExpectations,
    JudgedRubric,
    ScenarioExpectations,
    UserGoalSatisfaction,
)
from turnwise.transforms.criteria.ces_turns import (
    HALLUCINATION_LABELS,
    Hallucination,
    SemanticMatch,
    SemanticSimilarity,
    no_claim,
    switched_off,
)
from turnwise.transforms.criteria.citations import is_score
from turnwise.transforms.matching.expectations import ExpectationOutcome, responses_by_call, turn_texts
from turnwise.transforms.matching.sample import MISSING_TURN, Sample, TurnPair
from turnwise.transforms.scoring.evaluate import ScoredConversation, Verdict
from turnwise.transforms.text.cleaning import contains_quote


def ces_verdict(scored: ScoredConversation) -> Verdict:
    """Decides a conversation that is held against a golden or a scenario of CES."""
    case = scored.sample.eval_case
    decide = golden_verdict if case is None or case.kind == "golden" else scenario_verdict
    return decide(scored.sample, Judgements(scored.scores))


def golden_verdict(sample: Sample, judgements: Judgements = UNJUDGED) -> Verdict:
    """Decides a golden case: FAIL if any check failed; PASS if all passed; undecided where a judgement lacks.

    Checks: every expectation outcome (SKIPPED does not count), every turn's tool score and similarity,
    hallucinations where they count, extra calls, and the statements about the whole conversation.
    """
    pairs = [pair for pair in sample.pairs if pair.expected is not None or pair.label]
    if not pairs:
        return Verdict(None, ("the golden has no turns",))
    outcomes = [judgements.golden_outcomes(sample, pair) for pair in pairs]
    is_short = any(pair.label == MISSING_TURN for pair in pairs)
    if (
        is_short
        or any(map(_failed, outcomes))
        or any(_turn_failed(sample, pair, judgements) for pair in pairs)
    ):
        return Verdict("FAIL")
    if _statement_failed(judgements):
        return Verdict("FAIL")
    open_turns = [pair.index for pair, found in zip(pairs, outcomes, strict=True) if _is_open(found)]
    reasons = [*_open_meaning(judgements, open_turns), *_open_statements(sample, judgements)]
    unchecked = [
        pair.index
        for pair in pairs
        if hallucination_gates(sample, pair) and _justified(judgements, pair) is None
    ]
    if unchecked:
        reasons.append("hallucination needs a judge" + judgements.why(Hallucination.name, unchecked))
    if reasons:
        return Verdict(None, tuple(reasons))
    is_checked = any(o.outcome == "PASS" for found in outcomes for o in found) or any(
        judgements.similarity(sample, pair) or hallucination_gates(sample, pair) for pair in pairs
    )
    stated = sample.eval_case.evaluation_expectations if sample.eval_case else ()
    return Verdict("PASS") if is_checked or stated else Verdict(None, ("the golden checks nothing",))


def _turn_failed(sample: Sample, pair: TurnPair, judgements: Judgements) -> bool:
    similarity = judgements.similarity(sample, pair)
    return (
        sample.replay(pair).tool_outcome == "FAIL"
        or (similarity is not None and similarity[1] == "FAIL")
        or (hallucination_gates(sample, pair) and _justified(judgements, pair) is False)
    )


def _justified(judgements: Judgements, pair: TurnPair) -> bool | None:
    """Returns whether nothing in a turn is a hallucination; None: not judged."""
    score = judgements.hallucination(pair.index)
    return None if score is None or score.value is None else score.value != 0.0


def _is_open(outcomes: Iterable[ExpectationOutcome]) -> bool:
    return any(outcome.outcome is None for outcome in outcomes)


def _open_meaning(judgements: Judgements, turns: Sequence[int]) -> Iterator[str]:
    if turns:
        why = judgements.why(SemanticSimilarity.name, turns) or judgements.why(SemanticMatch.name, turns)
        yield f"{len(turns)} turns need a judge to compare meaning{why}"


def _statement_failed(judgements: Judgements) -> bool:
    return any(statement.score == 0.0 for statement in judgements.statements())


def _open_statements(sample: Sample, judgements: Judgements) -> Iterator[str]:
    stated = len(sample.eval_case.evaluation_expectations) if sample.eval_case else 0
    missing = stated - sum(statement.score is not None for statement in judgements.statements())
    if missing:
        yield f"{missing} evaluation expectations need a judge{judgements.why(EvaluationExpectations.name)}"


def scenario_verdict(sample: Sample, judgements: Judgements = UNJUDGED) -> Verdict:
    """Decides a scenario by its expectations, the user goal, hallucinations if they count, and statements."""
    outcomes = judgements.scenario_outcomes(sample)
    goal = judgements.user_goal()
    gates = sample.eval_case is not None and sample.eval_case.thresholds.scenario_hallucination == "ENABLED"
    checked = [pair for pair in sample.pairs if gates and needs_hallucination_check(pair)]
    justified = {pair.index: _justified(judgements, pair) for pair in checked}
    if _failed(outcomes) or _statement_failed(judgements) or False in justified.values():
        return Verdict("FAIL")
    if goal is not None and goal.outcome == "FAIL":
        return Verdict("FAIL")
    reasons = []
    if _is_open(outcomes):
        reasons.append("expectations need a judge" + judgements.why(ScenarioExpectations.name))
    if sample.eval_case and _has_goal(sample.eval_case) and (goal is None or goal.outcome is None):
        reasons.append("the user goal needs a judge" + judgements.why(UserGoalSatisfaction.name))
    reasons += _open_statements(sample, judgements)
    unchecked = [index for index, verdict in justified.items() if verdict is None]
    if unchecked:
        reasons.append("hallucination needs a judge" + judgements.why(Hallucination.name, unchecked))
    if reasons:
        return Verdict(None, tuple(reasons))
    stated = sample.eval_case.evaluation_expectations if sample.eval_case else ()
    is_checked = any(o.outcome == "PASS" for o in outcomes) or (goal is not None and goal.outcome == "PASS")
    if is_checked or stated or checked:
        return Verdict("PASS")
    return Verdict(None, ("the scenario checks nothing",))


def _has_goal(case: EvalCase) -> bool:
    return case.user_goal_enabled and case.user_goal != "IGNORED"


def _failed(outcomes: Iterable[ExpectationOutcome]) -> bool:
    return any(outcome.outcome == "FAIL" for outcome in outcomes)


# Builds the scenarioResult of a conversation.


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


# Hallucination scores of the turns of a result: a judge's, or an answer engine's own.


def judged_hallucination(pair: TurnPair, judgements: Judgements) -> Score | None:
    """Returns a judge's score of a turn, without a value where it gave none; None: it is not checked."""
    if not judgements.has(Hallucination.name) or pair.actual is None or switched_off(pair.expected):
        return None
    score = judgements.hallucination(pair.index)
    if score is None:
        return Score(None) if pair.actual.tool_calls else no_claim("No tool call in this turn.")
    return score


def engine_scores(scored: ScoredConversation) -> Sequence[Score | None]:
    """Returns the scores that an engine's own figures give, one a turn; empty: none.

    That needs a threshold of `grounding_score` and a turn with an engine's answer.
    """
    turns = [pair.actual for pair in scored.sample.pairs]
    if not any(turn is not None and turn.grounded is not None for turn in turns):
        return ()
    criterion = next((e.criterion for e in scored.scores if isinstance(e.criterion, GroundingScore)), None)
    if criterion is None or criterion.threshold is None:
        return ()
    own = criterion.claim_threshold
    least = criterion.threshold if own is None else own
    return [justification(t, least) if t and t.grounded and t.grounded.is_evaluable else None for t in turns]


def justification(turn: Turn, least: float) -> Score:
    """Returns CES's hallucination score of an engine's answer: 1 justified, 0 not justified, -1 no claim.

    An answer is justified if all its claims reach the threshold; without scored claims, if the answer does.
    """
    answer = turn.grounded
    if answer is None:
        return no_claim("The turn is no engine's answer.")
    if answer.skipped_reasons:
        return no_claim(answer.skipped_text)
    claims = [(i, claim) for i, claim in enumerate(answer.claims) if claim.needs_support]
    if answer.claims and not claims:
        return no_claim("No claim needs support.")
    scores = [(f"claim {i}", c.score) for i, c in claims if c.score is not None and is_score(c.score)]
    if not scores and answer.grounding_score is not None and is_score(answer.grounding_score):
        scores = [("the answer", answer.grounding_score)]
    if not scores:
        return no_claim("The engine gives no score.")
    weak = [f"{name} scores {score:g}" for name, score in scores if score < least]
    explanation = f"Below {least:g}: {', '.join(weak[:10])}." if weak else f"All scores reach {least:g}."
    return Score(float(not weak), label=HALLUCINATION_LABELS[int(not weak)], explanation=explanation)
