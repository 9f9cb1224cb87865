"""One CES EvaluationResult for every scored conversation, as canonical proto3 JSON."""

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256

from turnwise.schemas.case import EvalCase
from turnwise.schemas.ces.names import evaluation_id
from turnwise.schemas.conversation import ToolCall, ToolResponse, Turn
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.proto.scalars import duration_nanos, float32, nanos_duration
from turnwise.schemas.run import RunInfo
from turnwise.schemas.score import Score
from turnwise.transforms.ces import messages
from turnwise.transforms.ces.judgements import NAMES, UNJUDGED, Judgements, hallucination_gates
from turnwise.transforms.ces.messages import add_spans, nanos
from turnwise.transforms.criteria.answers import GroundingScore
from turnwise.transforms.criteria.base import calls_text, why_unpaired, words_text
from turnwise.transforms.criteria.ces_conversations import JudgedRubric
from turnwise.transforms.criteria.ces_turns import (
    HALLUCINATION_LABELS,
    Hallucination,
    no_claim,
    switched_off,
    unjustified_text,
)
from turnwise.transforms.criteria.citations import is_score
from turnwise.transforms.criteria.expectations_met import not_met
from turnwise.transforms.matching.expectations import ExpectationOutcome, responses_by_call, turn_texts
from turnwise.transforms.matching.sample import Sample, TurnPair
from turnwise.transforms.metrics.state import SumPart
from turnwise.transforms.scoring.evaluate import ScoredConversation, Verdict
from turnwise.transforms.text.cleaning import contains_quote


def evaluation_result(scored: ScoredConversation, verdict: Verdict, run: RunInfo) -> JsonObject:
    """Returns the EvaluationResult of a scored conversation.

    RUNNING: an answer is not finished. ERROR: something other than the agent ended it. Both hold no result.
    """
    sample, case, state = scored.sample, scored.sample.eval_case, "COMPLETED"
    if verdict.status is None and sample.unanswered:
        state = "RUNNING"
    elif sample.conversation.ended == "environment_error":
        state = "ERROR"
    message: JsonObject = {
        "name": result_name(sample),
        "displayName": _display_name(sample),
        "createTime": run.create_time,
        "evaluationRun": f"evaluationRuns/{run.run_id}",
        "executionState": state,
        "goldenRunMethod": "NAIVE",
    }
    if sample.conversation.app_version:
        message["appVersion"] = sample.conversation.app_version
    if verdict.status:
        message["evaluationStatus"] = verdict.status
    if verdict.reasons and state != "RUNNING":
        message["errorInfo"] = _error(sample, verdict)
    if state != "COMPLETED":
        return message
    judgements = _judgements(scored)
    if case is None or case.kind == "scenario":
        message["scenarioResult"] = _scenario_result(scored, verdict, judgements)
    else:
        message["goldenResult"] = _golden_result(scored, verdict, judgements)
    if case is not None and case.dialect == "ces":
        message["evaluationMetricsThresholds"] = messages.case_thresholds(case.thresholds)
    return message


def result_name(sample: Sample) -> str:
    """Returns a conversation's deterministic result name, `.../evaluations/{case}/results/{result}`."""
    case = sample.eval_case
    eval_id = case.eval_id if case else "-"
    if case and case.eval_set_id:
        eval_id = evaluation_id(eval_id, case.eval_set_id)
    parent = eval_id if "/evaluations/" in eval_id else f"evaluations/{eval_id}"
    digest = sha256(f"{eval_id}\0{sample.conversation.conversation_id}".encode("utf-8", "replace"))
    return f"{parent}/results/r-{digest.hexdigest()[:24]}"


def _error(sample: Sample, verdict: Verdict) -> JsonObject:
    """Returns why a conversation failed although it has no result of its own, or why it is not decided."""
    info = {"errorMessage": "; ".join(verdict.reasons), "sessionId": sample.conversation.conversation_id}
    if verdict.status is None:
        info["errorMessage"] = "not decided: " + info["errorMessage"]
    if sample.conversation.ended != "environment_error":
        info["errorType"] = "METRIC_CALCULATION_FAILURE" if verdict.status is None else "RUNTIME_FAILURE"
    return info


def _display_name(sample: Sample) -> str:
    """Returns a name for people: of the case, of the run where it has several, and of the conversation."""
    golden, conversation = sample.eval_case, sample.conversation
    display = (golden.display_name or golden.eval_id) if golden else conversation.conversation_id
    trial = conversation.meta.get("trial")
    run = "" if trial is None or sample.run_of is None else f", trial {trial}"
    return f"{display} result{run} - {conversation.conversation_id}"


def _judgements(scored: ScoredConversation) -> Judgements | None:
    """Returns what judges said; None: none was asked."""
    return next((Judgements(scored.scores) for own in scored.scores if own.criterion.name in NAMES), None)


def _failed_gates(scored: ScoredConversation, verdict: Verdict) -> list[JsonObject]:
    """Returns the criteria of the config by which a conversation fails that no CES case decides."""
    case = scored.sample.eval_case
    if verdict.status != "FAIL" or (case is not None and case.dialect == "ces"):
        return []
    return [
        messages.failed_gate(entry.criterion, entry.overall)
        for entry in scored.scores
        if entry.overall is not None
        and entry.overall.outcome == "FAIL"
        and entry.criterion.threshold is not None
    ]


def _statements(judgements: Judgements | None) -> list[JsonObject]:
    return [messages.statement_result(item) for item in judgements.statements()] if judgements else []


# The goldenResult of a conversation.


def _golden_result(scored: ScoredConversation, verdict: Verdict, judgements: Judgements | None) -> JsonObject:
    sample = scored.sample
    engine = engine_scores(scored) if sample.has_answers else ()
    conversation_id = sample.conversation.conversation_id
    turns = []
    for place, pair in enumerate(sample.pairs):
        message: JsonObject = {"conversation": conversation_id}
        if pair.expected is not None or pair.label:
            replay = sample.replay(pair)
            outcomes = judgements.golden_outcomes(sample, pair) if judgements else replay.outcomes
            if outcomes:
                message["expectationOutcome"] = [messages.golden_outcome(outcome) for outcome in outcomes]
            if replay.tool_score is not None and not replay.is_partial:
                ordered = replay.ordered_score or 0.0
                message |= messages.tool_scores(replay.tool_score, ordered, replay.tool_outcome)
        _add_measured(message, pair)
        if judgements or engine:
            _add_judged(message, sample, pair, judgements, engine[place] if place < len(engine) else None)
        turns.append(message)
    for index, text in unmet_turns(scored, verdict) if verdict.status == "FAIL" else ():
        turns[index]["errorInfo"] = {"errorMessage": f"Turn {sample.pairs[index].index}: {text}"}
    own: JsonObject = {"turnReplayResults": turns}
    statements = [*_statements(judgements), *_failed_gates(scored, verdict)]
    return own | ({"evaluationExpectationResults": statements} if statements else {})


def _add_measured(message: JsonObject, pair: TurnPair) -> None:
    actual = pair.actual
    if pair.label:
        message["errorInfo"] = {"errorMessage": why_unpaired(pair)}
    if actual is not None and actual.latency_ms is not None:
        message["turnLatency"] = nanos_duration(nanos(actual.latency_ms / 1000))
    if actual is not None and actual.spans:
        add_spans(message, actual.spans)


def _add_judged(
    message: JsonObject, sample: Sample, pair: TurnPair, judgements: Judgements | None, engine: Score | None
) -> None:
    """Adds what a judge says of a turn, or else what an answer engine's own scores say."""
    similarity = judgements.similarity(sample, pair) if judgements else None
    if similarity is not None:
        message["semanticSimilarityResult"] = messages.similarity(*similarity)
    hallucination = (judged_hallucination(pair, judgements) if judgements else None) or engine
    if hallucination is not None:
        message["hallucinationResult"] = messages.judgement(hallucination)


def unmet_turns(scored: ScoredConversation, verdict: Verdict) -> Iterator[tuple[int, str]]:
    """Yields the place of each turn that fails a conversation held against a golden of CES, and why.

    A turn that stands alone says so already.
    """
    sample, case = scored.sample, scored.sample.eval_case
    if verdict.status != "FAIL" or case is None or case.dialect != "ces" or case.kind == "scenario":
        return
    judgements = _judgements(scored)
    for place, pair in enumerate(sample.pairs):
        text = "" if pair.label else _unmet(sample, pair, judgements)
        if text:
            yield place, text


def _unmet(sample: Sample, pair: TurnPair, judgements: Judgements | None) -> str:
    outcomes: Sequence[ExpectationOutcome] = ()
    if pair.expected is not None:
        outcomes = (judgements or UNJUDGED).golden_outcomes(sample, pair)
    failed = [outcome for outcome in outcomes if outcome.outcome == "FAIL"]
    extra = [outcome.observed for outcome in failed if outcome.expectation is None]
    calls = [observed for observed in extra if isinstance(observed, ToolCall)]
    unexpected = [f"Not expected: {calls_text(calls)}."] if calls else []
    unexpected += [f"Answer not expected: {words_text(said)}." for said in extra if isinstance(said, str)]
    score = judgements.hallucination(pair.index) if judgements else None
    if score is not None and score.value == 0.0 and hallucination_gates(sample, pair):
        unexpected.append(unjustified_text(score))
    return " ".join(text for text in (not_met(failed), *unexpected) if text)


# The scenarioResult of a conversation.


def _scenario_result(
    scored: ScoredConversation, verdict: Verdict, judgements: Judgements | None
) -> JsonObject:
    """Returns the ScenarioResult of a scenario, or of a conversation without a case."""
    sample = scored.sample
    outcomes = judgements.scenario_outcomes(sample) if judgements else sample.scenario_outcomes
    message: JsonObject = {"conversation": sample.conversation.conversation_id}
    if sample.eval_case is not None:
        _add_case(message, sample.eval_case)
        if outcomes:
            message["expectationOutcomes"] = _scenario_outcomes(sample, outcomes, judgements)
            _add_satisfied(message, sample.scenario_outcomes)
    spans = [span for turn in sample.conversation.turns for span in turn.spans]
    if spans:
        add_spans(message, spans)
    statements, failed = _statements(judgements), _failed_gates(scored, verdict)
    if statements:
        message["evaluationExpectationResults"] = statements
    _add_satisfied(message, outcomes)
    if judgements:
        _add_scenario_judgements(message, sample, judgements, outcomes)
    if failed:
        message["evaluationExpectationResults"] = [*statements, *failed]
    engine = engine_scores(scored) if sample.has_answers else ()
    if engine and "hallucinationResult" not in message:
        message["hallucinationResult"] = _hallucination_results(engine)
    return message


def _add_scenario_judgements(
    message: JsonObject, sample: Sample, judgements: Judgements, outcomes: Sequence[ExpectationOutcome]
) -> None:
    rubrics, goal = judgements.rubrics(), judgements.user_goal()
    if rubrics:
        message["rubricOutcomes"] = [_rubric(item) for item in rubrics]
    hallucinations = [judged_hallucination(pair, judgements) for pair in sample.pairs]
    if any(score is not None for score in hallucinations):
        message["hallucinationResult"] = _hallucination_results(hallucinations)
    if goal is not None and goal.value is not None:
        message["userGoalSatisfactionResult"] = messages.judgement(goal)
    completed = _task_completed(sample, judgements, outcomes)
    if completed is not None:
        message["taskCompleted"] = completed


def _scenario_outcomes(
    sample: Sample, outcomes: Sequence[ExpectationOutcome], judgements: Judgements | None
) -> list[JsonObject]:
    """Returns the ScenarioExpectationOutcomes, with the agent's messages that quotes of met ones are from."""
    responses = responses_by_call(sample.conversation)
    shown = [_outcome(outcome, responses) for outcome in outcomes]
    texts = [text for turn in sample.conversation.turns for text in turn_texts(turn)]
    for answer in judgements.answers() if judgements else ():
        if outcomes[answer.place].outcome == "PASS" and answer.quote:
            text = next((text for text in texts if contains_quote(answer.quote, text)), None)
            if text is not None:
                shown[answer.place]["observedAgentResponse"] = messages.agent_message(text)
    return shown


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


def _hallucination_results(scores: Sequence[Score | None]) -> list[JsonObject]:
    """Returns HallucinationResults, one a turn; an empty one of a turn that is not checked."""
    return [{} if score is None else messages.judgement(score) for score in scores]


def _add_case(message: JsonObject, case: EvalCase) -> None:
    if case.task:
        message["task"] = case.task
    if case.user_facts:
        message["userFacts"] = [{"name": fact.name, "value": fact.value} for fact in case.user_facts]
    if case.rubrics:
        message["rubricOutcomes"] = [{"rubric": rubric.text} for rubric in case.rubrics]


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


# What an EvaluationResult adds to the sums.

_PLACES = {"PASS": (1, 0), "FAIL": (0, 1)}


def result_parts(result: JsonObject) -> list[SumPart]:
    """Returns what one EvaluationResult (canonical JSON) adds; nothing if it did not complete."""
    if result.get("executionState") != "COMPLETED":
        return []
    if "goldenResult" in result:
        turns = result["goldenResult"].get("turnReplayResults", ())
        return [part for index, turn in enumerate(turns) for part in _turn_parts(index, turn)]
    return list(_scenario_parts(result.get("scenarioResult", {})))


def _turn_parts(index: int, turn: JsonObject) -> list[SumPart]:
    parts: list[SumPart] = []
    for outcome in turn.get("expectationOutcome", ()):
        place = _PLACES.get(outcome.get("outcome"))
        if place is not None:
            expectation = outcome.get("expectation")
            call = outcome.get("observedToolCall") if expectation is None else expectation.get("toolCall")
            if call is not None:
                parts.append(((index, "tool", _tool_name(call)), place[0], place[1]))
    if "semanticSimilarityResult" in turn:
        parts += _score_parts(index, "semantic", turn["semanticSimilarityResult"])
    if "hallucinationResult" in turn:
        parts += _score_parts(index, "hallucination", turn["hallucinationResult"])
    if "toolCallLatencies" in turn:
        parts += _latency_parts(index, turn["toolCallLatencies"])
    if "turnLatency" in turn:
        parts.append(((index, "turn_latency", ""), 1, duration_nanos(turn["turnLatency"])))
    return parts


def _scenario_parts(scenario: JsonObject) -> Iterator[SumPart]:
    yield from _latency_parts(None, scenario.get("toolCallLatencies", ()))
    for index, judged in enumerate(scenario.get("hallucinationResult", ())):
        yield from _score_parts(index, "hallucination", judged)


def _tool_name(call: JsonObject) -> str:
    toolset = call.get("toolsetTool")
    if toolset is None:
        return str(call.get("tool", ""))
    return f"{toolset.get('toolset', '')}/tools/{toolset.get('toolId', '')}"


def _score_parts(turn: int, kind: str, judged: JsonObject) -> tuple[SumPart, ...]:
    if judged.get("score", -1) < 0:
        return ()
    return (((turn, kind, ""), 1, judged["score"]),)


def _latency_parts(turn: int | None, latencies: Iterable[JsonObject]) -> list[SumPart]:
    return [
        (
            (turn, "tool_latency", latency.get("tool", "")),
            1,
            duration_nanos(latency.get("executionLatency", "0s")),
        )
        for latency in latencies
    ]
