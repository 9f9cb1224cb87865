"""One CES EvaluationResult for every scored conversation, in canonical proto3 JSON."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256

from turnwise.schemas.case import CaseThresholds, EvalCase
from turnwise.schemas.ces.names import evaluation_id
from turnwise.schemas.conversation import TimedSpan, ToolCall, ToolResponse
from turnwise.schemas.proto.scalars import float32
from turnwise.schemas.values import JsonObject
from turnwise.transforms.ces import messages as wire
from turnwise.transforms.ces.failed_turns import with_failed_turns
from turnwise.transforms.ces.grounded_results import with_grounding
from turnwise.transforms.ces.judged_results import with_judgements
from turnwise.transforms.ces.judgements import Judgements
from turnwise.transforms.ces.plain_turns import plain_turn
from turnwise.transforms.criteria.base import Criterion
from turnwise.transforms.criteria.reasons import why_unpaired
from turnwise.transforms.matching.expectations import ExpectationOutcome
from turnwise.transforms.matching.replay import TurnReplay
from turnwise.transforms.matching.sample import Sample, TurnPair
from turnwise.transforms.matching.scenario import responses_by_call
from turnwise.transforms.scoring.conversation import ScoredConversation
from turnwise.transforms.scoring.verdict import Verdict

_OBSERVED = {
    "tool_call": ("observedToolCall", wire.tool_call),
    "tool_response": ("observedToolResponse", wire.tool_response),
    "text": ("observedAgentResponse", wire.agent_message),
    "agent": ("observedAgentTransfer", lambda agent: {"targetAgent": agent}),
    "payload": ("observedPayload", lambda payload: payload),
}


@dataclass(frozen=True, slots=True)
class RunInfo:
    """The run that results and rows belong to.

    Attributes:
        run_id: Its id.
        create_time: When it started, RFC 3339 in UTC.
        slices: What its metrics are told apart by (`turnwise.transforms.metrics.slices`).
    """

    run_id: str
    create_time: str
    slices: tuple[str, ...] = ()


def result_name(sample: Sample) -> str:
    """Returns a conversation's deterministic result name, `.../evaluations/{case}/results/{result}`."""
    eval_id = (
        evaluation_id(sample.eval_case.eval_id, sample.eval_case.eval_set_id) if sample.eval_case else "-"
    )
    parent = eval_id if "/evaluations/" in eval_id else f"evaluations/{eval_id}"
    digest = sha256(f"{eval_id}\0{sample.conversation.conversation_id}".encode("utf-8", "replace"))
    return f"{parent}/results/r-{digest.hexdigest()[:24]}"


def evaluation_result(scored: ScoredConversation, verdict: Verdict, run: RunInfo) -> JsonObject:
    """Returns the EvaluationResult of a scored conversation."""
    case, conversation = scored.sample.eval_case, scored.sample.conversation
    result: JsonObject = {
        "name": result_name(scored.sample),
        "displayName": _display_name(scored.sample),
        "createTime": run.create_time,
        "evaluationRun": f"evaluationRuns/{run.run_id}",
        "executionState": "COMPLETED",
        "goldenRunMethod": "NAIVE",
    }
    if conversation.app_version:
        result["appVersion"] = conversation.app_version
    if verdict.status:
        result["evaluationStatus"] = verdict.status
    elif scored.sample.unanswered:
        return result | {"executionState": "RUNNING"}
    result |= _error(scored.sample, verdict)
    if conversation.ended == "environment_error":
        return result | {"executionState": "ERROR"}
    if case is None or case.kind == "scenario":
        result["scenarioResult"] = _scenario_result(scored.sample)
    else:
        result["goldenResult"] = {
            "turnReplayResults": [_turn_result(scored.sample, p) for p in scored.sample.pairs]
        }
    if case is not None and case.dialect == "ces":
        result["evaluationMetricsThresholds"] = _thresholds(case.thresholds)
    judgements = Judgements(scored.scores)
    if judgements:
        result = with_judgements(result, scored.sample, judgements, _expectation_outcome)
    if verdict.status == "FAIL":
        result = _with_reasons(result, scored, judgements)
    return with_grounding(result, scored)


def _error(sample: Sample, verdict: Verdict) -> JsonObject:
    """Returns why a conversation failed although it has no result of its own, or why it is not decided."""
    if not verdict.reasons:
        return {}
    info = {"errorMessage": "; ".join(verdict.reasons), "sessionId": sample.conversation.conversation_id}
    if verdict.status is None:
        info["errorMessage"] = "not decided: " + info["errorMessage"]
    if sample.conversation.ended != "environment_error":
        info["errorType"] = "METRIC_CALCULATION_FAILURE" if verdict.status is None else "RUNTIME_FAILURE"
    return {"errorInfo": info}


def _display_name(sample: Sample) -> str:
    """Returns a name for people: of the case, of the run where it has several, and of the conversation."""
    golden, conversation = sample.eval_case, sample.conversation
    display = (golden.display_name or golden.eval_id) if golden else conversation.conversation_id
    trial = conversation.meta.get("trial")
    run = "" if trial is None or sample.run_of is None else f", trial {trial}"
    return f"{display} result{run} - {conversation.conversation_id}"


def _with_reasons(result: JsonObject, scored: ScoredConversation, judgements: Judgements) -> JsonObject:
    """Returns a failed conversation's result with what it failed by."""
    case = scored.sample.eval_case
    if case is None or case.dialect != "ces":
        _add_failed_gates(result.get("goldenResult") or result["scenarioResult"], scored)
        return result
    return with_failed_turns(result, scored.sample, judgements) if "goldenResult" in result else result


def _add_failed_gates(result: JsonObject, scored: ScoredConversation) -> None:
    """Adds why a conversation fails that the config's criteria decide: each failed gate as an expectation."""
    failed: list[JsonObject] = [
        {
            "prompt": _gate_text(entry.criterion),
            "outcome": "FAIL",
            "explanation": (entry.overall and entry.overall.explanation) or "",
        }
        for entry in scored.scores
        if entry.overall is not None
        and entry.overall.outcome == "FAIL"
        and entry.criterion.threshold is not None
    ]
    if failed:
        key = "evaluationExpectationResults"
        result[key] = [*result.get(key, ()), *failed]


def _gate_text(criterion: Criterion) -> str:
    bound = "at least" if criterion.gate == "at_least" else "at most"
    return f"{criterion.name}: {bound} {criterion.threshold:g}"


@lru_cache(maxsize=1024)
def _thresholds(thresholds: CaseThresholds) -> JsonObject:
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


def _turn_result(sample: Sample, pair: TurnPair) -> JsonObject:
    result: JsonObject = {"conversation": sample.conversation.conversation_id}
    if pair.expected is not None or pair.label:
        plain = (
            plain_turn(sample.eval_case, pair.expected, pair.actual)
            if sample.eval_case and pair.expected and pair.actual
            else None
        )
        result |= _replay_part(sample.replay(pair)) if plain is None else plain
    if pair.label:
        result["errorInfo"] = {"errorMessage": why_unpaired(pair)}
    if pair.actual is not None:
        if pair.actual.latency_ms is not None:
            result["turnLatency"] = wire.duration(pair.actual.latency_ms / 1000)
        if pair.actual.spans:
            _add_spans(result, pair.actual.spans)
    return result


def _add_spans(result: JsonObject, spans: Sequence[TimedSpan]) -> None:
    calls = [wire.tool_call_latency(span) for span in spans if span.type == "TOOL"]
    if calls:
        result["toolCallLatencies"] = calls
    result["spanLatencies"] = [wire.span_latency(span) for span in spans]


def _replay_part(replay: TurnReplay) -> JsonObject:
    result: JsonObject = {}
    if replay.outcomes:
        result["expectationOutcome"] = [_expectation_outcome(outcome) for outcome in replay.outcomes]
    is_known = not replay.is_partial
    if is_known and replay.tool_score is not None and replay.ordered_score is not None:
        result["toolOrderedInvocationScore"] = float32(replay.ordered_score)
        overall: JsonObject = {"toolInvocationScore": float32(replay.tool_score)}
        if replay.tool_outcome:
            overall["outcome"] = replay.tool_outcome
        result["overallToolInvocationResult"] = overall
    return result


def _expectation_outcome(outcome: ExpectationOutcome) -> JsonObject:
    message: JsonObject = {}
    if outcome.expectation is not None:
        message["expectation"] = wire.golden_expectation(outcome.expectation)
    if outcome.observed_as is not None:
        key, convert = _OBSERVED[outcome.observed_as]
        message[key] = convert(outcome.observed)  # type: ignore[operator]
    if outcome.outcome:
        message["outcome"] = outcome.outcome
    if outcome.parameters is not None:
        message["toolInvocationResult"] = wire.parameter_result(
            outcome.parameters, outcome.parameter_outcome, outcome.observed is not None
        )
    return message


def _scenario_result(sample: Sample) -> JsonObject:
    spans = [span for turn in sample.conversation.turns for span in turn.spans]
    result: JsonObject = {"conversation": sample.conversation.conversation_id}
    if sample.eval_case is not None:
        _add_scenario(result, sample.eval_case)
        _add_expectations(result, sample)
    if spans:
        _add_spans(result, spans)
    return result


def _add_scenario(result: JsonObject, case: EvalCase) -> None:
    if case.task:
        result["task"] = case.task
    if case.user_facts:
        result["userFacts"] = [{"name": fact.name, "value": fact.value} for fact in case.user_facts]
    if case.rubrics:
        result["rubricOutcomes"] = [{"rubric": rubric.text} for rubric in case.rubrics]


def _add_expectations(result: JsonObject, sample: Sample) -> None:
    statuses = [outcome.outcome for outcome in sample.scenario_outcomes]
    if not statuses:
        return
    responses = responses_by_call(sample.conversation)
    result["expectationOutcomes"] = [_scenario_outcome(o, responses) for o in sample.scenario_outcomes]
    if "FAIL" in statuses or None not in statuses:
        result["allExpectationsSatisfied"] = "FAIL" not in statuses


def _scenario_outcome(outcome: ExpectationOutcome, responses: dict[int, ToolResponse]) -> JsonObject:
    message: JsonObject = {}
    if outcome.expectation is not None:
        message["expectation"] = wire.scenario_expectation(outcome.expectation)
    if isinstance(outcome.observed, ToolCall):
        message["observedToolCall"] = {"toolCall": wire.tool_call(outcome.observed)}
        response = responses.get(id(outcome.observed))
        if response is not None:
            message["observedToolCall"]["toolResponse"] = wire.tool_response(response)
    elif outcome.observed_as == "text":
        message["observedAgentResponse"] = wire.agent_message(str(outcome.observed))
    if outcome.outcome:
        message["outcome"] = outcome.outcome
    return message
