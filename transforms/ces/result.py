"""One CES EvaluationResult for every scored conversation, as canonical proto3 JSON."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from typing import Any

from turnwise.schemas.case import CaseThresholds, EvalCase
from turnwise.schemas.ces.names import evaluation_id
from turnwise.schemas.conversation import (
    Expectation,
    ExpectedTurn,
    GroundedAnswer,
    TimedSpan,
    ToolCall,
    ToolResponse,
    Turn,
    turn_name,
)
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.proto.scalars import duration_nanos, float32, nanos_duration, read_timestamp
from turnwise.schemas.run import RunInfo
from turnwise.schemas.score import Outcome, Score
from turnwise.transforms.ces.judgements import (
    NAMES,
    UNJUDGED,
    Judgements,
    hallucination_gates,
    is_clean,
    may_have_called,
)
from turnwise.transforms.criteria import ces
from turnwise.transforms.criteria.answers import GroundingScore
from turnwise.transforms.criteria.base import calls_text, why_unpaired, words_text
from turnwise.transforms.criteria.citations import is_score
from turnwise.transforms.criteria.expectations_met import not_met
from turnwise.transforms.matching.calls import ParameterScore, answered_calls, tool_identity
from turnwise.transforms.matching.expectations import ExpectationOutcome, turn_texts
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
        text, info = "; ".join(verdict.reasons), {"sessionId": sample.conversation.conversation_id}
        message["errorInfo"] = {"errorMessage": text if verdict.status else f"no verdict: {text}", **info}
        if state != "ERROR":
            kind = "RUNTIME_FAILURE" if verdict.status else "METRIC_CALCULATION_FAILURE"
            message["errorInfo"]["errorType"] = kind
    if state != "COMPLETED":
        return message
    judgements = _judgements(scored)
    if case is None or case.kind == "scenario":
        message["scenarioResult"] = _scenario_result(scored, verdict, judgements or UNJUDGED)
    else:
        message["goldenResult"] = _golden_result(scored, verdict, judgements)
    if case is not None and case.dialect == "ces":
        message["evaluationMetricsThresholds"] = case_thresholds(case.thresholds)
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


def _display_name(sample: Sample) -> str:
    """Returns a name for people: of the case, its trial where it has several, version and conversation."""
    golden, conversation = sample.eval_case, sample.conversation
    display = (golden.display_name or golden.eval_id) if golden else conversation.conversation_id
    trial = conversation.meta.get("trial")
    run = "" if trial is None or sample.run_of is None else f", trial {trial}"
    version = conversation.app_version
    measured = f" ({version.rsplit('/', 1)[-1]})" if version else ""
    return f"{display} result{run}{measured} - {conversation.conversation_id}"


def _judgements(scored: ScoredConversation) -> Judgements | None:
    """Returns what judges said; None: none was asked, as of most conversations."""
    for entry in scored.scores:
        if entry.criterion.name in NAMES:
            return Judgements(scored.scores)
    return None


def _failed_gates(scored: ScoredConversation, verdict: Verdict) -> list[JsonObject]:
    """Returns EvaluationExpectationResults: criteria of the config that fail, which no CES case decides."""
    case = scored.sample.eval_case
    if verdict.status != "FAIL" or (case is not None and case.dialect == "ces"):
        return []
    gates: list[JsonObject] = []
    for entry in scored.scores:
        criterion, score = entry.criterion, entry.overall
        if score is not None and score.outcome == "FAIL" and criterion.threshold is not None:
            bound = "at least" if criterion.gate == "at_least" else "at most"
            prompt = f"{criterion.name}: {bound} {criterion.threshold:g}"
            gates.append({"prompt": prompt, "outcome": "FAIL", "explanation": score.explanation or ""})
    return gates


def _statements(judgements: Judgements) -> list[JsonObject]:
    """Returns the EvaluationExpectationResults of the evaluation expectations."""
    results: list[JsonObject] = []
    for statement in judgements.items(ces.EvaluationExpectations.name):
        message: JsonObject = {}
        if statement.name != statement.prompt:
            message["evaluationExpectation"] = statement.name
        if statement.prompt:
            message["prompt"] = statement.prompt
        if statement.score is not None:
            message["outcome"] = "PASS" if statement.score else "FAIL"
        results.append(message | ({"explanation": statement.reason} if statement.reason else {}))
    return results


# The goldenResult of a conversation.


def _golden_result(scored: ScoredConversation, verdict: Verdict, judgements: Judgements | None) -> JsonObject:
    sample, case, turns = scored.sample, scored.sample.eval_case, []
    engine = engine_scores(scored) if sample.has_answers else ()
    conversation_id = sample.conversation.conversation_id
    plain = None if case is None or case.dialect == "ces" or judgements or sample.has_gaps else case
    for number, pair in enumerate(sample.pairs):
        message: JsonObject = {"conversation": conversation_id}
        expected, actual = pair.expected, pair.actual
        paired = sample.calls(pair) if plain and expected and not expected.expectations else None
        if plain and expected and actual and paired and paired.are_equal:
            _add_equal(message, plain, expected, actual, paired.made)
        elif expected is not None or pair.label:
            replay = sample.replay(pair)
            outcomes = judgements.golden_outcomes(sample, pair) if judgements else replay.outcomes
            if outcomes:
                message["expectationOutcome"] = golden_outcomes(outcomes)
            if replay.tool_score is not None and not replay.is_partial:
                ordered = replay.ordered_score or 0.0
                message |= tool_scores(replay.tool_score, ordered, replay.tool_outcome)
        if pair.label:
            message["errorInfo"] = {"errorMessage": why_unpaired(pair)}
        if actual is not None and actual.latency_ms is not None:
            message["turnLatency"] = nanos_duration(round(actual.latency_ms / 1000 * 1e9))
        if actual is not None and actual.spans:
            add_spans(message, actual.spans)
        if judgements or engine:
            similarity = judgements.similarity(sample, pair) if judgements else None
            if similarity is not None:
                score, outcome = similarity
                more = {"label": ces.SIMILARITY_LABELS[int(score.value or 0)], "outcome": outcome}
                message["semanticSimilarityResult"] = judgement(score) | more
            # What a judge says of a turn goes before an answer engine's own scores.
            hallucination = judged_hallucination(pair, judgements) if judgements else None
            hallucination = hallucination or (engine[number] if engine else None)
            if hallucination is not None:
                message["hallucinationResult"] = judgement(hallucination)
        turns.append(message)
    result: JsonObject = {"turnReplayResults": turns}
    if verdict.status == "FAIL":
        for index, text in unmet_turns(scored, verdict):
            name = turn_name(sample.pairs[index].index).capitalize()
            turns[index]["errorInfo"] = {"errorMessage": f"{name}: {text}"}
    if judgements or verdict.status == "FAIL":
        statements = [*(_statements(judgements) if judgements else ()), *_failed_gates(scored, verdict)]
        if statements:
            result["evaluationExpectationResults"] = statements
    return result


def _add_equal(
    message: JsonObject, case: EvalCase, expected: ExpectedTurn, actual: Turn, made: Sequence[ToolCall]
) -> None:
    """Adds what most turns are, as `replay_turn` has it: the calls are the expected ones, in order.

    No CES form is stated, no judge was asked, and the log has no gap. A share of 1 reaches every gate.
    """
    outcomes: list[JsonObject] = []
    for index, want in enumerate(expected.tool_calls or ()):
        outcomes.append({
            "expectation": {"toolCall": tool_call(want)}, "observedToolCall": tool_call(made[index]),
            "toolInvocationResult": _met_result(len(want.args or ())), "outcome": "PASS",
        })  # fmt: skip
    share = tool_scores(1.0, 1.0, "PASS" if case.tool_correctness_enabled else None) if outcomes else {}
    if wanted := expected.response:
        outcome: JsonObject = {"expectation": {"agentResponse": agent_message(wanted)}}
        texts = actual.agent_messages or ([actual.agent] if actual.agent else [])
        if texts:
            outcome["observedAgentResponse"] = agent_message(wanted if wanted in texts else texts[0])
        if wanted in texts or not (texts and case.similarity_enabled):
            failed = "FAIL" if case.similarity_enabled else "SKIPPED"
            outcome["outcome"] = "PASS" if wanted in texts else failed
        outcomes.append(outcome)
    if actual.payloads:
        outcomes += [{"observedPayload": payload, "outcome": "SKIPPED"} for payload in actual.payloads]
    if outcomes:
        message["expectationOutcome"] = outcomes
        message |= share


def unmet_turns(scored: ScoredConversation, verdict: Verdict) -> Iterator[tuple[int, str]]:
    """Yields the place of each turn that fails a conversation held against a golden of CES, and why.

    A turn that stands alone says so already.
    """
    sample, case = scored.sample, scored.sample.eval_case
    if verdict.status != "FAIL" or case is None or case.dialect != "ces" or case.kind == "scenario":
        return
    judgements = _judgements(scored) or UNJUDGED
    for index, pair in enumerate(sample.pairs):
        if pair.label:
            continue
        outcomes = [] if pair.expected is None else judgements.golden_outcomes(sample, pair)
        failed = [outcome for outcome in outcomes if outcome.outcome == "FAIL"]
        extra = [outcome.observed for outcome in failed if outcome.expectation is None]
        calls = [observed for observed in extra if isinstance(observed, ToolCall)]
        texts = [not_met(failed), f"Not expected: {calls_text(calls)}." if calls else ""]
        texts += [f"Answer not expected: {words_text(words)}." for words in extra if isinstance(words, str)]
        score = judgements.hallucination(pair.index)
        if score is not None and score.value == 0.0 and hallucination_gates(sample, pair):
            texts.append(ces.unjustified_text(score))
        if any(texts):
            yield index, " ".join(filter(None, texts))


# The scenarioResult of a conversation.


def _scenario_result(scored: ScoredConversation, verdict: Verdict, judgements: Judgements) -> JsonObject:
    """Returns the ScenarioResult of a scenario, or of a conversation without a case."""
    sample, case = scored.sample, scored.sample.eval_case
    outcomes = judgements.scenario_outcomes(sample)
    message: JsonObject = {"conversation": sample.conversation.conversation_id}
    if case is not None:
        if case.task:
            message["task"] = case.task
        if case.user_facts:
            message["userFacts"] = [{"name": fact.name, "value": fact.value} for fact in case.user_facts]
        if case.rubrics:
            message["rubricOutcomes"] = [{"rubric": rubric.text} for rubric in case.rubrics]
        if outcomes:
            message["expectationOutcomes"] = _scenario_outcomes(sample, outcomes, judgements)
            _add_satisfied(message, sample.scenario_outcomes)
    spans = [span for turn in sample.conversation.turns for span in turn.spans]
    if spans:
        add_spans(message, spans)
    statements = _statements(judgements)
    if statements:
        message["evaluationExpectationResults"] = statements
    _add_satisfied(message, outcomes)
    if judgements:
        _add_scenario_judgements(message, sample, judgements, outcomes)
    failed = _failed_gates(scored, verdict)
    if failed:
        message["evaluationExpectationResults"] = [*statements, *failed]
    engine = engine_scores(scored) if sample.has_answers else ()
    if engine and "hallucinationResult" not in message:
        message["hallucinationResult"] = list(map(judgement, engine))
    return message


def _add_scenario_judgements(
    message: JsonObject, sample: Sample, judgements: Judgements, outcomes: Sequence[ExpectationOutcome]
) -> None:
    rubrics = judgements.items(ces.ScenarioRubrics.name)
    goal = judgements.of_whole(ces.UserGoalSatisfaction.name)
    if rubrics:
        message["rubricOutcomes"] = [
            {"rubric": rubric.name}
            | ({} if rubric.score is None else {"score": float32(rubric.score)})
            | ({"scoreExplanation": rubric.reason} if rubric.reason else {})
            for rubric in rubrics
        ]
    hallucinations = [judged_hallucination(pair, judgements) for pair in sample.pairs]
    if any(score is not None for score in hallucinations):
        message["hallucinationResult"] = list(map(judgement, hallucinations))
    if goal is not None and goal.value is not None:
        message["userGoalSatisfactionResult"] = judgement(goal)
    if sample.eval_case is None or sample.eval_case.kind != "scenario":
        return
    statuses = [outcome.outcome for outcome in outcomes]
    parts = [None if status is None else status != "FAIL" for status in statuses]
    parts.append(None if goal is None or goal.value is None else goal.value == 1.0)
    parts += [is_clean(pair, judgements) for pair in sample.pairs if may_have_called(pair)]
    if False in parts or None not in parts:
        message["taskCompleted"] = False not in parts


def _scenario_outcomes(
    sample: Sample, outcomes: Sequence[ExpectationOutcome], judgements: Judgements
) -> list[JsonObject]:
    """Returns the ScenarioExpectationOutcomes, with the agent's messages that quotes of met ones are from."""
    turns, shown = sample.conversation.turns, list[JsonObject]()
    responses = {id(call): response for turn in turns for call, response in answered_calls(turn)}
    for outcome in outcomes:
        message: JsonObject = {}
        if outcome.expectation is not None:
            message["expectation"] = scenario_expectation(outcome.expectation)
        if outcome.observed_as is not None:
            key, convert = _OBSERVED[outcome.observed_as]
            message[key] = convert(outcome.observed)
        if isinstance(outcome.observed, ToolCall):
            response = responses.get(id(outcome.observed))
            message["observedToolCall"] = {"toolCall": message["observedToolCall"]}
            if response is not None:
                message["observedToolCall"]["toolResponse"] = tool_response(response)
        shown.append(message | ({"outcome": outcome.outcome} if outcome.outcome else {}))
    texts = [text for turn in turns for text in turn_texts(turn)]
    for answer in judgements.items(ces.ScenarioExpectations.name):
        if outcomes[answer.position].outcome == "PASS" and answer.quote:
            text = next((text for text in texts if contains_quote(answer.quote, text)), None)
            if text is not None:
                shown[answer.position]["observedAgentResponse"] = agent_message(text)
    return shown


def _add_satisfied(message: JsonObject, outcomes: Sequence[ExpectationOutcome]) -> None:
    statuses = [outcome.outcome for outcome in outcomes]
    if "FAIL" in statuses or (statuses and None not in statuses):
        message["allExpectationsSatisfied"] = "FAIL" not in statuses


# Hallucination scores of the turns of a result: a judge's, or an answer engine's own.


def judged_hallucination(pair: TurnPair, judgements: Judgements) -> Score | None:
    """Returns a judge's score of a turn, without a value where it gave none; None: it is not checked."""
    if not judgements.has(ces.Hallucination.name) or pair.actual is None or ces.switched_off(pair.expected):
        return None
    score = judgements.hallucination(pair.index)
    if score is None:
        return Score(None) if pair.actual.tool_calls else ces.no_claim("No tool call in this turn.")
    return score


def engine_scores(scored: ScoredConversation) -> Sequence[Score | None]:
    """Returns the scores that an engine's own figures give, one a turn; empty: none.

    That needs a threshold of `grounding_score`.
    """
    criterion = next((e.criterion for e in scored.scores if isinstance(e.criterion, GroundingScore)), None)
    if criterion is None or criterion.threshold is None:
        return ()
    of_claims = criterion.claim_threshold
    least = criterion.threshold if of_claims is None else of_claims
    answers = [pair.actual.grounded if pair.actual else None for pair in scored.sample.pairs]
    return [justification(answer, least) if answer and answer.is_evaluable else None for answer in answers]


def justification(answer: GroundedAnswer, least: float) -> Score:
    """Returns CES's hallucination score of an engine's answer: 1 justified, 0 not justified, -1 no claim.

    An answer is justified if all its claims reach the threshold; without scored claims, if the answer does.
    """
    if answer.skipped_reasons:
        return ces.no_claim(answer.skipped_text)
    claims = [(i, claim) for i, claim in enumerate(answer.claims) if claim.needs_support]
    if answer.claims and not claims:
        return ces.no_claim("No claim needs support.")
    scores = [(f"claim {i}", c.score) for i, c in claims if c.score is not None and is_score(c.score)]
    if not scores and answer.grounding_score is not None and is_score(answer.grounding_score):
        scores = [("the answer", answer.grounding_score)]
    if not scores:
        return ces.no_claim("The engine gives no score.")
    weak = [f"{name} scores {score:g}" for name, score in scores if score < least]
    explanation = f"Below {least:g}: {', '.join(weak[:10])}." if weak else f"All scores reach {least:g}."
    return Score(float(not weak), label=ces.HALLUCINATION_LABELS[int(not weak)], explanation=explanation)


# Parts of results: canonical parts and golden turns as CES messages.


def tool_reference(name: str | None, resource: str | None) -> JsonObject:
    """Returns the member of the tool_identifier union: `toolsetTool` for a tool of a toolset, else `tool`."""
    if not resource:
        return {"tool": name or ""}
    toolset, _, tool_id = resource.partition("/tools/")
    if "/toolsets/" in toolset:
        return {"toolsetTool": {"toolset": toolset, "toolId": tool_id}}
    return {"tool": resource}


def tool_call(call: ToolCall) -> JsonObject:
    """Returns a ToolCall."""
    message: JsonObject = {"tool": call.name or ""}
    if call.resource:
        message = tool_reference(call.name, call.resource)
    if call.id:
        message["id"] = call.id
    if call.display_name:
        message["displayName"] = call.display_name
    if call.args is not None:
        message["args"] = call.args
    return message


def tool_response(response: ToolResponse) -> JsonObject:
    """Returns a ToolResponse; an answer that is no object stands under `output`."""
    message = tool_reference(response.name, response.resource)
    if response.id:
        message["id"] = response.id
    if response.display_name:
        message["displayName"] = response.display_name
    answer = response.response
    message["response"] = answer if isinstance(answer, dict) else {"output": answer}
    return message


def agent_message(text: str) -> JsonObject:
    """Returns a Message of the agent."""
    return {"role": "agent", "chunks": [{"text": text}]}


def golden_expectation(expectation: Expectation) -> JsonObject:
    """Returns a GoldenExpectation: the one that was read, or one made for a case of another format."""
    if expectation.wire is not None:
        return expectation.wire
    if expectation.tool_call is not None:
        return {"toolCall": tool_call(expectation.tool_call)}
    return {"agentResponse": agent_message(expectation.text or "")}


def scenario_expectation(expectation: Expectation) -> JsonObject:
    """Returns a ScenarioExpectation; but for calls, it is made as a GoldenExpectation is."""
    if expectation.wire is None and expectation.tool_call is not None:
        return {"toolExpectation": {"expectedToolCall": tool_call(expectation.tool_call)}}
    return golden_expectation(expectation)


_OBSERVED: dict[str, tuple[str, Any]] = {
    "tool_call": ("observedToolCall", tool_call),
    "tool_response": ("observedToolResponse", tool_response),
    "text": ("observedAgentResponse", agent_message),
    "agent": ("observedAgentTransfer", lambda agent: {"targetAgent": agent}),
    "payload": ("observedPayload", lambda payload: payload),
}


def golden_outcomes(outcomes: Sequence[ExpectationOutcome]) -> list[JsonObject]:
    """Returns GoldenExpectationOutcomes."""
    messages: list[JsonObject] = []
    for outcome in outcomes:
        message: JsonObject = {}
        expectation, parameters, observed_as = outcome.expectation, outcome.parameters, outcome.observed_as
        if expectation is not None:
            message["expectation"] = golden_expectation(expectation)
        if observed_as is not None:
            key, convert = _OBSERVED[observed_as]
            message[key] = convert(outcome.observed)
        if parameters is not None:
            result = _parameter_result(parameters, outcome.parameter_outcome, observed_as is not None)
            if observed_as is not None and expectation is not None and expectation.wire is None:
                # The order of the keys is that of results written so far.
                message["toolInvocationResult"] = result
        if outcome.outcome:
            message["outcome"] = outcome.outcome
        if parameters is not None:
            message["toolInvocationResult"] = result
        messages.append(message)
    return messages


@lru_cache(maxsize=4096)
def _parameter_result(parameters: ParameterScore, outcome: Outcome | None, was_called: bool) -> JsonObject:
    message: JsonObject = {}
    if parameters.value is not None:
        message["parameterCorrectnessScore"] = float32(parameters.value)
    if outcome:
        message["outcome"] = outcome
    text = "No parameters found" if was_called else "The tool was not called"
    if was_called and parameters.total:
        text = f"{parameters.matched} of {parameters.total} parameters match"
        text += f", {parameters.unclear} need a judge" if parameters.unclear else ""
        text += f"; wrong or missing: {', '.join(parameters.wrong)}" if parameters.wrong else ""
    return message | {"explanation": f"{text}."}


# The ToolInvocationResult of a call whose parameters, so many, all match.
_met_result = lru_cache(1024)(lambda count: _parameter_result(ParameterScore(count, count), "PASS", True))


@lru_cache(maxsize=4096)
def tool_scores(share: float, ordered: float, outcome: Outcome | None) -> JsonObject:
    """Returns the fields of a TurnReplayResult about its tools: shares called, and called in order."""
    overall: JsonObject = {"toolInvocationScore": float32(share)}
    if outcome:
        overall["outcome"] = outcome
    return {"toolOrderedInvocationScore": float32(ordered), "overallToolInvocationResult": overall}


def judgement(score: Score | None) -> JsonObject:
    """Returns a HallucinationResult or UserGoalSatisfactionResult; an empty one of what is not checked."""
    if score is None:
        return {}
    if score.value is None:
        return {"explanation": f"not judged: {score.reason or 'an error'}"}
    message: JsonObject = {"score": int(score.value), "label": score.label}
    return message | ({"explanation": score.explanation} if score.explanation else {})


@lru_cache(maxsize=1024)
def case_thresholds(thresholds: CaseThresholds) -> JsonObject:
    """Returns an EvaluationMetricsThresholds."""
    return {
        "goldenEvaluationMetricsThresholds": {
            "turnLevelMetricsThresholds": {
                "semanticSimilaritySuccessThreshold": thresholds.semantic_similarity,
                "overallToolInvocationCorrectnessThreshold": float32(thresholds.tool_invocation),
            },
            "expectationLevelMetricsThresholds": {
                "toolInvocationParameterCorrectnessThreshold": float32(thresholds.parameter)
            },
            "toolMatchingSettings": {"extraToolCallBehavior": thresholds.extra_tool_calls},
        },
        "goldenHallucinationMetricBehavior": thresholds.golden_hallucination,
        "scenarioHallucinationMetricBehavior": thresholds.scenario_hallucination,
    }


# Timed steps of a turn: latencies as CES messages, and what they add to the sums.


def add_spans(message: JsonObject, spans: Sequence[TimedSpan]) -> None:
    """Adds `toolCallLatencies` and `spanLatencies` to a message."""
    calls = [{"tool": tool_identity(span), **_span_times(span)} for span in spans if span.type == "TOOL"]
    if calls:
        message["toolCallLatencies"] = calls
    message["spanLatencies"] = [_span_latency(span) for span in spans]


def _span_times(span: TimedSpan) -> JsonObject:
    """Returns the fields that ToolCallLatency and SpanLatency share."""
    message: JsonObject = {"executionLatency": nanos_duration(round(span.seconds * 1e9))}
    if span.name:
        message["displayName"] = span.name
    for name, text in (("startTime", span.start_time), ("endTime", span.end_time)):
        with suppress(ValueError):  # the log's text may be no time
            if text:
                message[name] = read_timestamp(text)
    return message


def _span_latency(span: TimedSpan) -> JsonObject:
    """Returns a SpanLatency; its identifier follows from its type."""
    message = {"type": span.type, **_span_times(span)}
    identifier, key = tool_identity(span), {"LLM": "model", "USER_CALLBACK": "callback"}.get(span.type)
    if key is not None:
        message.pop("displayName", None)
        message[key] = identifier
    elif span.type == "TOOL" and "/toolsets/" in identifier:
        message["toolset"] = tool_reference(None, identifier)["toolsetTool"]
    else:
        message["resource"] = identifier
    return message


# What an EvaluationResult adds to the sums.


def result_parts(result: JsonObject) -> list[SumPart]:
    """Returns what one EvaluationResult (canonical JSON) adds; nothing if it did not complete."""
    parts: list[SumPart] = []
    if result.get("executionState") != "COMPLETED":
        return parts
    if "goldenResult" not in result:
        scenario = result.get("scenarioResult", {})
        _add_latencies(parts, None, scenario)
        for index, judged in enumerate(scenario.get("hallucinationResult", ())):
            if judged.get("score", -1) >= 0:
                parts.append(((index, "hallucination", ""), 1, judged["score"]))
        return parts
    for index, turn in enumerate(result["goldenResult"].get("turnReplayResults", ())):
        for outcome in turn.get("expectationOutcome", ()):
            expectation, state = outcome.get("expectation"), outcome.get("outcome")
            call = outcome.get("observedToolCall") if expectation is None else expectation.get("toolCall")
            if call is None or (state != "PASS" and state != "FAIL"):
                continue
            tool, toolset = str(call.get("tool", "")), call.get("toolsetTool")
            if toolset is not None:
                tool = f"{toolset.get('toolset', '')}/tools/{toolset.get('toolId', '')}"
            parts.append(((index, "tool", tool), 1, 0) if state == "PASS" else ((index, "tool", tool), 0, 1))
        for kind, key in (("semantic", "semanticSimilarityResult"), ("hallucination", "hallucinationResult")):
            if key in turn and turn[key].get("score", -1) >= 0:
                parts.append(((index, kind, ""), 1, turn[key]["score"]))
        if "toolCallLatencies" in turn:
            _add_latencies(parts, index, turn)
        if "turnLatency" in turn:
            parts.append(((index, "turn_latency", ""), 1, duration_nanos(turn["turnLatency"])))
    return parts


def _add_latencies(parts: list[SumPart], turn: int | None, message: JsonObject) -> None:
    for step in message.get("toolCallLatencies", ()):
        nanos = duration_nanos(step.get("executionLatency", "0s"))
        parts.append(((turn, "tool_latency", step.get("tool", "")), 1, nanos))
