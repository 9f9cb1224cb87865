"""One CES EvaluationResult for every scored conversation: a typed value, its sums and its JSON."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Literal

import msgspec

from turnwise.schemas.ces.names import evaluation_id
from turnwise.schemas.conversation import ToolCall
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.proto.scalars import nanos_duration
from turnwise.schemas.run import RunInfo
from turnwise.schemas.score import Outcome, Score
from turnwise.transforms.ces import messages
from turnwise.transforms.ces.judgements import NAMES, UNJUDGED, Judgements, hallucination_gates
from turnwise.transforms.ces.messages import add_spans, latency_parts, nanos
from turnwise.transforms.ces.verdict import (
    ScenarioSummary,
    engine_scores,
    hallucination_results,
    judged_hallucination,
    scenario_message,
    scenario_result,
)
from turnwise.transforms.criteria.base import Criterion, calls_text, why_unpaired, words_text
from turnwise.transforms.criteria.ces_conversations import Statement
from turnwise.transforms.criteria.ces_turns import unjustified_text
from turnwise.transforms.criteria.expectations_met import not_met
from turnwise.transforms.matching.expectations import ExpectationOutcome, TurnReplay
from turnwise.transforms.matching.sample import Sample, TurnPair
from turnwise.transforms.metrics.state import SumPart
from turnwise.transforms.scoring.evaluate import ScoredConversation, Verdict

_PLACES: dict[Outcome | None, tuple[int, int]] = {"PASS": (1, 0), "FAIL": (0, 1)}


class TurnResult(msgspec.Struct):
    """Result of one pair of turns of a golden case.

    Attributes:
        pair: The golden and the recorded turn.
        replay: What was measured; None: nothing is expected of the turn.
        outcomes: One per expectation, then unexpected observations; judgements included.
        similarity: A judge's score of the turn's answer, and its outcome.
        hallucination: A judge's or the engine's score, without a value where a judge gave none; None: the
            turn is not checked.
        unmet: What fails the turn of a failed case, in words; "": nothing, or not stated.
    """

    pair: TurnPair
    replay: TurnReplay | None
    outcomes: Sequence[ExpectationOutcome]
    similarity: tuple[Score, Outcome] | None = None
    hallucination: Score | None = None
    unmet: str = ""


class ConversationResult(msgspec.Struct):
    """Result of a conversation.

    Attributes:
        scored: The conversation and its scores.
        verdict: Its verdict.
        name: Deterministic name of the result.
        state: RUNNING: an answer is not finished; ERROR: something other than the agent ended it.
        turns: Of a golden case, one per pair of turns; None: it is none, or is not COMPLETED.
        scenario: Of everything else; None: it is a golden case, or is not COMPLETED.
        engine: What an answer engine's own scores give of each turn of a scenario.
        statements: The judged evaluation expectations.
        failed: Criteria of the config by which the conversation fails.
    """

    scored: ScoredConversation
    verdict: Verdict
    name: str
    state: Literal["COMPLETED", "RUNNING", "ERROR"] = "COMPLETED"
    turns: list[TurnResult] | None = None
    scenario: ScenarioSummary | None = None
    engine: Sequence[Score | None] = ()
    statements: Sequence[Statement] = ()
    failed: Sequence[tuple[Criterion, Score]] = ()

    def parts(self) -> list[SumPart]:
        """Returns what the result adds to the sums behind AggregatedMetrics; nothing if not COMPLETED."""
        if self.turns is not None:
            of_turns: list[SumPart] = []
            for turn in self.turns:
                of_turns += _turn_parts(turn)
            return of_turns
        if self.scenario is None:
            return []
        spans = [span for turn in self.scored.sample.conversation.turns for span in turn.spans]
        parts = latency_parts(None, spans) if spans else []
        for index, score in enumerate(self.scenario.hallucinations or self.engine):
            parts += _score_parts(index, "hallucination", score)
        return parts


def evaluation_result(scored: ScoredConversation, verdict: Verdict) -> ConversationResult:
    """Returns the result of a scored conversation."""
    sample, case = scored.sample, scored.sample.eval_case
    result = ConversationResult(scored, verdict, result_name(sample))
    if verdict.status is None and sample.unanswered:
        result.state = "RUNNING"
        return result
    if sample.conversation.ended == "environment_error":
        result.state = "ERROR"
        return result
    is_judged = False
    for entry in scored.scores:
        is_judged = is_judged or entry.criterion.name in NAMES
    judgements = Judgements(scored.scores) if is_judged else UNJUDGED
    if is_judged:
        result.statements = judgements.statements()
    if verdict.status == "FAIL" and (case is None or case.dialect != "ces"):
        result.failed = _failed_gates(scored)
    if case is None or case.kind == "scenario":
        result.scenario = scenario_result(sample, judgements)
        result.engine = engine_scores(scored) if sample.has_answers else ()
        return result
    result.turns = []
    for pair in sample.pairs:
        replay = sample.replay(pair) if pair.expected is not None or pair.label else None
        result.turns.append(TurnResult(pair, replay, replay.outcomes if replay else ()))
    if is_judged or sample.has_answers or (verdict.status == "FAIL" and case.dialect == "ces"):
        _complete_turns(result.turns, result, judgements)
    return result


def _complete_turns(turns: Sequence[TurnResult], result: ConversationResult, judgements: Judgements) -> None:
    """Adds judgements, the scores of an answer engine, and why a failed CES case fails."""
    sample = result.scored.sample
    if judgements:
        for turn in turns:
            _add_judgements(turn, sample, judgements)
    for turn, score in zip(turns, engine_scores(result.scored), strict=False):
        turn.hallucination = turn.hallucination or score
    if result.verdict.status == "FAIL" and sample.eval_case and sample.eval_case.dialect == "ces":
        for turn in turns:
            turn.unmet = _unmet(turn, sample, judgements)


def _add_judgements(turn: TurnResult, sample: Sample, judgements: Judgements) -> None:
    if turn.replay:
        turn.outcomes = judgements.golden_outcomes(sample, turn.pair)
    turn.similarity = judgements.similarity(sample, turn.pair)
    turn.hallucination = judged_hallucination(turn.pair, judgements)


def _failed_gates(scored: ScoredConversation) -> list[tuple[Criterion, Score]]:
    return [
        (entry.criterion, entry.overall)
        for entry in scored.scores
        if entry.overall is not None
        and entry.overall.outcome == "FAIL"
        and entry.criterion.threshold is not None
    ]


def _unmet(turn: TurnResult, sample: Sample, judgements: Judgements) -> str:
    """Returns what fails a turn; one that stands alone says so already."""
    failed = [outcome for outcome in turn.outcomes if outcome.outcome == "FAIL"]
    if turn.pair.label:
        return ""
    extra = [outcome.observed for outcome in failed if outcome.expectation is None]
    calls = [observed for observed in extra if isinstance(observed, ToolCall)]
    unexpected = [f"Not expected: {calls_text(calls)}."] if calls else []
    unexpected += [f"Answer not expected: {words_text(said)}." for said in extra if isinstance(said, str)]
    score = judgements.hallucination(turn.pair.index)
    if score is not None and score.value == 0.0 and hallucination_gates(sample, turn.pair):
        unexpected.append(unjustified_text(score))
    return " ".join(text for text in (not_met(failed), *unexpected) if text)


def _turn_parts(turn: TurnResult) -> list[SumPart]:
    index, actual = turn.pair.index, turn.pair.actual
    parts: list[SumPart] = []
    for outcome in turn.outcomes:
        expectation = outcome.expectation
        call = outcome.observed if expectation is None else expectation.tool_call
        if isinstance(call, ToolCall) and (place := _PLACES.get(outcome.outcome)) is not None:
            parts.append(((index, "tool", call.resource or call.name or ""), *place))
    if turn.similarity is not None:
        parts += _score_parts(index, "semantic", turn.similarity[0])
    if turn.hallucination is not None:
        parts += _score_parts(index, "hallucination", turn.hallucination)
    if actual is not None:
        if actual.spans:
            parts += latency_parts(index, actual.spans)
        if actual.latency_ms is not None:
            parts.append(((index, "turn_latency", ""), 1, nanos(actual.latency_ms / 1000)))
    return parts


def _score_parts(index: int, kind: str, score: Score | None) -> list[SumPart]:
    if score is None or score.value is None or score.value < 0:
        return []
    return [((index, kind, ""), 1, int(score.value))]


def result_name(sample: Sample) -> str:
    """Returns a conversation's deterministic result name, `.../evaluations/{case}/results/{result}`."""
    case = sample.eval_case
    eval_id = case.eval_id if case else "-"
    if case and case.eval_set_id:
        eval_id = evaluation_id(eval_id, case.eval_set_id)
    parent = eval_id if "/evaluations/" in eval_id else f"evaluations/{eval_id}"
    digest = sha256(f"{eval_id}\0{sample.conversation.conversation_id}".encode("utf-8", "replace"))
    return f"{parent}/results/r-{digest.hexdigest()[:24]}"


def result_message(result: ConversationResult, run: RunInfo) -> JsonObject:
    """Returns the EvaluationResult message, in canonical proto3 JSON."""
    sample, verdict = result.scored.sample, result.verdict
    message: JsonObject = {
        "name": result.name,
        "displayName": _display_name(sample),
        "createTime": run.create_time,
        "evaluationRun": f"evaluationRuns/{run.run_id}",
        "executionState": result.state,
        "goldenRunMethod": "NAIVE",
    }
    if sample.conversation.app_version:
        message["appVersion"] = sample.conversation.app_version
    if verdict.status:
        message["evaluationStatus"] = verdict.status
    if verdict.reasons and result.state != "RUNNING":
        message["errorInfo"] = _error(sample, verdict)
    if result.state != "COMPLETED":
        return message
    _add_own(message, result)
    if sample.eval_case is not None and sample.eval_case.dialect == "ces":
        message["evaluationMetricsThresholds"] = messages.case_thresholds(sample.eval_case.thresholds)
    return message


def _add_own(message: JsonObject, result: ConversationResult) -> None:
    """Adds the `goldenResult` or the `scenarioResult`."""
    statements: list[JsonObject] = []
    for item in result.statements:
        statements.append(messages.statement_result(item))
    own: JsonObject
    if result.scenario is None:
        turns: list[JsonObject] = []
        for turn in result.turns or ():
            turns.append(_turn_message(turn, result))
        own = {"turnReplayResults": turns}
        if statements:
            own["evaluationExpectationResults"] = statements
        message["goldenResult"] = own
    else:
        own = message["scenarioResult"] = scenario_message(result.scenario, statements)
    if result.failed:
        found = [messages.failed_gate(criterion, score) for criterion, score in result.failed]
        own["evaluationExpectationResults"] = [*statements, *found]
    if result.engine and "hallucinationResult" not in own:
        own["hallucinationResult"] = hallucination_results(result.engine)


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


def _turn_message(turn: TurnResult, result: ConversationResult) -> JsonObject:
    pair, replay, actual = turn.pair, turn.replay, turn.pair.actual
    message: JsonObject = {"conversation": result.scored.sample.conversation.conversation_id}
    if turn.outcomes:
        message["expectationOutcome"] = messages.golden_outcomes(turn.outcomes)
    if replay is not None and replay.tool_score is not None and not replay.is_partial:
        ordered = replay.ordered_score or 0.0
        message |= messages.tool_scores(replay.tool_score, ordered, replay.tool_outcome)
    if pair.label:
        message["errorInfo"] = {"errorMessage": why_unpaired(pair)}
    if actual is not None and actual.latency_ms is not None:
        message["turnLatency"] = nanos_duration(nanos(actual.latency_ms / 1000))
    if actual is not None and actual.spans:
        add_spans(message, actual.spans)
    if turn.similarity is not None:
        message["semanticSimilarityResult"] = messages.similarity(*turn.similarity)
    if turn.hallucination is not None:
        message["hallucinationResult"] = messages.judgement(turn.hallucination)
    if turn.unmet:
        message["errorInfo"] = {"errorMessage": f"Turn {pair.index}: {turn.unmet}"}
    return message
