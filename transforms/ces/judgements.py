"""CES: judged scores, expectations and the verdict of a conversation; AggregatedMetrics of many."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace

from turnwise.schemas.case import EvalCase
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.proto.scalars import float32, nanos_duration
from turnwise.schemas.score import Outcome, Score
from turnwise.transforms.criteria.base import JudgedCriterion
from turnwise.transforms.criteria.ces import (
    EvaluationExpectations,
    Hallucination,
    JudgedItem,
    ScenarioExpectations,
    ScenarioRubrics,
    SemanticMatch,
    SemanticSimilarity,
    UserGoalSatisfaction,
    in_ces_terms,
    items_of,
    similarity_threshold,
    switched_off,
)
from turnwise.transforms.matching.calls import ParameterScore, parameter_outcome
from turnwise.transforms.matching.expectations import ExpectationOutcome
from turnwise.transforms.matching.sample import MISSING_TURN, Sample, TurnPair
from turnwise.transforms.metrics.state import Sums, add_sums
from turnwise.transforms.scoring.evaluate import CriterionScores, ScoredConversation, Verdict

# The criteria that CES cases are always judged by.

CES_CRITERIA: tuple[JudgedCriterion, ...] = (
    SemanticSimilarity(),
    SemanticMatch(),
    Hallucination(),
    EvaluationExpectations(),
    ScenarioRubrics(),
    ScenarioExpectations(),
    UserGoalSatisfaction(),
)
"""One of each, with their defaults; one of the same name in the config takes its place."""


NAMES = frozenset(criterion.name for criterion in CES_CRITERIA)
"""Names of CES's judged criteria."""


class Judgements:
    """The scores of CES's judged criteria; false if none was applied."""

    def __init__(self, scores: Iterable[CriterionScores] = ()) -> None:
        self._entries = {entry.criterion.name: entry for entry in scores if entry.criterion.name in NAMES}
        self._turns = {name: dict(entry.turns) for name, entry in self._entries.items()}

    def __bool__(self) -> bool:
        return bool(self._entries)

    def has(self, name: str) -> bool:
        """Returns whether a criterion was applied."""
        return name in self._entries

    def of_turn(self, name: str, index: int) -> Score | None:
        """Returns a criterion's score of a pair; None: it has none."""
        return self._turns.get(name, {}).get(index)

    def of_whole(self, name: str) -> Score | None:
        """Returns a criterion's score of the conversation; None: it has none."""
        entry = self._entries.get(name)
        return entry.overall if entry else None

    def items(self, name: str) -> tuple[JudgedItem, ...]:
        """Returns what a criterion judged of the conversation, item by item."""
        return items_of(self.of_whole(name))

    def hallucination(self, index: int) -> Score | None:
        """Returns the hallucination score of a pair, as CES has it."""
        score = self.of_turn(Hallucination.name, index)
        return None if score is None else in_ces_terms(score)

    def similarity(self, sample: Sample, pair: TurnPair) -> tuple[Score, Outcome] | None:
        """Returns a golden turn's similarity and its outcome by the case's gate; None: it has no value."""
        score = self.of_turn(SemanticSimilarity.name, pair.index)
        if score is None or score.value is None or sample.eval_case is None or pair.expected is None:
            return None
        passed = score.value >= similarity_threshold(sample.eval_case, pair.expected)
        return score, "PASS" if passed else "FAIL"

    def golden_outcomes(self, sample: Sample, pair: TurnPair) -> list[ExpectationOutcome]:
        """Returns what became of a golden turn's expectations; what is not decided anew stays the object."""
        outcomes = sample.replay(pair).outcomes
        if not self or sample.eval_case is None:
            return outcomes
        score = self.of_turn(SemanticMatch.name, pair.index)
        outcomes = _with_values(sample.eval_case, outcomes, items_of(score))
        similarity = self.similarity(sample, pair)
        if similarity is not None:
            for index, outcome in enumerate(outcomes):
                wanted = outcome.expectation
                if outcome.outcome is None and wanted is not None and wanted.kind == "agent_response":
                    outcomes[index] = replace(outcome, outcome=similarity[1])
        return outcomes

    def scenario_outcomes(self, sample: Sample) -> list[ExpectationOutcome]:
        """Returns what became of a scenario's expectations; what is not decided anew stays the object."""
        outcomes = list(sample.scenario_outcomes)
        if not self or sample.eval_case is None:
            return outcomes
        outcomes = _with_values(sample.eval_case, outcomes, self.items(SemanticMatch.name))
        for answer in self.items(ScenarioExpectations.name):
            if answer.score is not None:
                outcomes[answer.position] = replace(outcomes[answer.position], outcome=_outcome(answer.score))
        return outcomes

    def why(self, name: str, indices: Iterable[int] = ()) -> str:
        """Returns why something a criterion should have said is missing, in brackets; "" without a judge."""
        score_of = self.hallucination if name == Hallucination.name else partial(self.of_turn, name)
        scores = [score_of(index) for index in indices] or [self.of_whole(name)]
        reasons = [score.reason for score in scores if score is not None and score.reason]
        return f" ({reasons[0]})" if reasons else ""


UNJUDGED = Judgements()


def may_have_called(pair: TurnPair) -> bool:
    """Returns whether the agent made calls in a turn, as far as is known."""
    return pair.actual is not None and bool(pair.actual.tool_calls or pair.actual.unknown_calls)


def needs_hallucination_check(pair: TurnPair) -> bool:
    """Returns whether CES computes a pair's hallucination score: it may have calls, and it is not off."""
    return may_have_called(pair) and not switched_off(pair.expected)


def is_clean(pair: TurnPair, judgements: Judgements) -> bool | None:
    """Returns whether nothing in a turn is a hallucination; None: not judged."""
    score = judgements.hallucination(pair.index)
    return None if score is None or score.value is None else score.value != 0.0


def hallucination_gates(sample: Sample, pair: TurnPair) -> bool:
    """Returns whether a hallucination in a golden turn fails the case."""
    if sample.eval_case is None or not needs_hallucination_check(pair):
        return False
    thresholds = pair.expected.thresholds if pair.expected else None
    of_turn = thresholds.hallucination if thresholds else None
    return (of_turn or sample.eval_case.thresholds.golden_hallucination) == "ENABLED"


def _outcome(score: float) -> Outcome:
    return "PASS" if score else "FAIL"


def _with_values(
    case: EvalCase, outcomes: Sequence[ExpectationOutcome], values: Iterable[JudgedItem]
) -> list[ExpectationOutcome]:
    """Decides the expectations whose values were compared by meaning."""
    by_place: dict[int, list[JudgedItem]] = {}
    for value in values:
        by_place.setdefault(value.position, []).append(value)
    return [
        _with_verdicts(case, outcome, by_place[index]) if index in by_place else outcome
        for index, outcome in enumerate(outcomes)
    ]


def _with_verdicts(
    case: EvalCase, outcome: ExpectationOutcome, values: Sequence[JudgedItem]
) -> ExpectationOutcome:
    scores = [value.score for value in values]
    if not any(score is not None for score in scores):
        return outcome
    if outcome.parameters is not None and outcome.expectation is not None:
        before, threshold = outcome.parameters, outcome.expectation.parameter_threshold
        wrong = tuple(value.name for value in values if value.score == 0.0)
        right = sum(value.score == 1.0 for value in values)
        still_open = before.unclear - right - len(wrong)
        parameters = ParameterScore(before.matched + right, before.total, still_open, before.wrong + wrong)
        gate = parameter_outcome(parameters, case.thresholds.parameter if threshold is None else threshold)
        is_gated = case.kind == "scenario" or case.step_tool_correctness_enabled
        result = gate if is_gated else outcome.outcome
        return replace(outcome, outcome=result, parameters=parameters, parameter_outcome=gate)
    if outcome.outcome is not None or (None in scores and 0.0 not in scores):
        return outcome
    return replace(outcome, outcome=_outcome(min(score for score in scores if score is not None)))


# CES's AggregatedMetrics, made of the sums of evaluation results.
#
# The rules are those of the CES evaluation API where it states them: per app version id and per 0-based turn
# index; plain means over turns, not means of means; a hallucination score of -1 is left out; latencies are
# means in nanoseconds, truncated. Only results that completed count.
#
# Kinds of sums: `tool` counts (PASS, FAIL) of a tool; `semantic`, `hallucination`, `tool_latency` and
# `turn_latency` are (count, total), latencies in nanoseconds.


class VersionSums(NamedTuple):
    """Everything AggregatedMetrics says about one app version."""

    passes: int
    fails: int
    sums: Sums


def aggregated_metrics(versions: Mapping[str, VersionSums]) -> JsonObject:
    """Returns the AggregatedMetrics message; `versions` is keyed by version id ("": the draft)."""
    entries = [_version_message(version_id, *sums) for version_id, sums in sorted(versions.items())]
    return {"metricsByAppVersion": entries} if entries else {}


def _version_message(version_id: str, passes: int, fails: int, sums: Sums) -> JsonObject:
    total: Sums = {}
    turns: dict[int, Sums] = {}
    for (turn, kind, name), pair in sums.items():
        add_sums(total, {(None, kind, name): pair})
        if turn is not None:
            turns.setdefault(turn, {})[turn, kind, name] = pair
    message: JsonObject = {"appVersionId": version_id} if version_id else {}
    message |= _sums_message(total)
    message |= {name: n for name, n in (("passCount", passes), ("failCount", fails)) if n}
    by_turn = [
        ({"turnIndex": index} if index else {}) | _sums_message(turn) for index, turn in sorted(turns.items())
    ]
    return message | ({"metricsByTurn": by_turn} if by_turn else {})


def _sums_message(sums: Sums) -> JsonObject:
    parts: dict[str, list[JsonObject]] = {}
    for (_, kind, tool), pair in sorted(sums.items(), key=lambda entry: entry[0][2]):
        name, message = _entry(kind, tool, *pair)
        parts.setdefault(name, []).append(message)
    return parts


def _entry(kind: str, tool: str, first: int, second: int) -> tuple[str, JsonObject]:
    if kind == "tool":
        counts = {name: n for name, n in (("passCount", first), ("failCount", second)) if n}
        return "toolMetrics", {"tool": tool, **counts}
    if kind == "semantic" or kind == "hallucination":
        name = "semanticSimilarityMetrics" if kind == "semantic" else "hallucinationMetrics"
        return name, {"score": float32(second / first)} if second else {}
    latency: JsonObject = {"averageLatency": nanos_duration(second // first)}
    if kind == "tool_latency":
        return "toolCallLatencyMetrics", {"tool": tool, **latency}
    return "turnLatencyMetrics", latency


# The verdict on a conversation that is held against a CES case.


def ces_verdict(scored: ScoredConversation) -> Verdict:
    """Decides a conversation that is held against a golden or a scenario of CES."""
    case = scored.sample.eval_case
    decide = golden_verdict if case is None or case.kind == "golden" else scenario_verdict
    return decide(scored.sample, Judgements(scored.scores))


def golden_verdict(sample: Sample, judgements: Judgements) -> Verdict:
    """Decides a golden case: FAIL if a check failed; PASS if all passed; none where a judgement lacks.

    Checks: every expectation outcome (SKIPPED does not count), every turn's tool score and similarity,
    hallucinations where they count, extra calls, and the statements about the whole conversation.
    """
    pairs = [pair for pair in sample.pairs if pair.expected is not None or pair.label]
    if not pairs:
        return Verdict(None, ("the golden has no turns",))
    outcomes = [judgements.golden_outcomes(sample, pair) for pair in pairs]
    is_short = any(pair.label == MISSING_TURN for pair in pairs)
    have_failed = any(map(_failed, outcomes)) or any(_turn_failed(sample, pair, judgements) for pair in pairs)
    if is_short or have_failed or _statement_failed(judgements):
        return Verdict("FAIL")
    open_turns = [pair.index for pair, of_turn in zip(pairs, outcomes, strict=True) if _is_open(of_turn)]
    reasons = []
    if open_turns:
        names = (SemanticSimilarity.name, SemanticMatch.name)
        why = judgements.why(names[0], open_turns) or judgements.why(names[1], open_turns)
        turns = "1 turn needs" if len(open_turns) == 1 else f"{len(open_turns)} turns need"
        reasons.append(f"{turns} a judge to compare meaning{why}")
    unchecked = [
        pair.index
        for pair in pairs
        if hallucination_gates(sample, pair) and is_clean(pair, judgements) is None
    ]
    is_checked = any(o.outcome == "PASS" for of_turn in outcomes for o in of_turn) or any(
        judgements.similarity(sample, pair) or hallucination_gates(sample, pair) for pair in pairs
    )
    return _not_failed(sample, judgements, reasons, unchecked, is_checked)


def _turn_failed(sample: Sample, pair: TurnPair, judgements: Judgements) -> bool:
    similarity = judgements.similarity(sample, pair)
    return (
        sample.replay(pair).tool_outcome == "FAIL"
        or (similarity is not None and similarity[1] == "FAIL")
        or (hallucination_gates(sample, pair) and is_clean(pair, judgements) is False)
    )


def _is_open(outcomes: Iterable[ExpectationOutcome]) -> bool:
    return any(outcome.outcome is None for outcome in outcomes)


def _statement_failed(judgements: Judgements) -> bool:
    return any(statement.score == 0.0 for statement in judgements.items(EvaluationExpectations.name))


def _not_failed(
    sample: Sample, judgements: Judgements, reasons: list[str], unchecked: Sequence[int], is_checked: bool
) -> Verdict:
    """Returns PASS, or no verdict for these reasons, missing judgements, and where nothing was checked."""
    case = sample.eval_case
    stated = len(case.evaluation_expectations) if case else 0
    judged = judgements.items(EvaluationExpectations.name)
    missing = stated - sum(statement.score is not None for statement in judged)
    if missing:
        need = "expectation needs" if missing == 1 else "expectations need"
        reasons.append(f"{missing} evaluation {need} a judge{judgements.why(EvaluationExpectations.name)}")
    if unchecked:
        reasons.append("hallucination needs a judge" + judgements.why(Hallucination.name, unchecked))
    if not (reasons or is_checked or stated):
        reasons.append(f"the {case.kind if case else 'golden'} checks nothing")
    return Verdict(None, tuple(reasons)) if reasons else Verdict("PASS")


def scenario_verdict(sample: Sample, judgements: Judgements) -> Verdict:
    """Decides a scenario by its expectations, the user goal, hallucinations if they count, and statements."""
    outcomes = judgements.scenario_outcomes(sample)
    goal = judgements.of_whole(UserGoalSatisfaction.name)
    gates = sample.eval_case is not None and sample.eval_case.thresholds.scenario_hallucination == "ENABLED"
    checked = [pair for pair in sample.pairs if gates and needs_hallucination_check(pair)]
    justified = {pair.index: is_clean(pair, judgements) for pair in checked}
    has_goal_failed = goal is not None and goal.outcome == "FAIL"
    if has_goal_failed or _failed(outcomes) or _statement_failed(judgements) or False in justified.values():
        return Verdict("FAIL")
    reasons = []
    if _is_open(outcomes):
        reasons.append("expectations need a judge" + judgements.why(ScenarioExpectations.name))
    case = sample.eval_case
    has_goal = case is not None and case.user_goal_enabled and case.user_goal != "IGNORED"
    if has_goal and (goal is None or goal.outcome is None):
        reasons.append("the user goal needs a judge" + judgements.why(UserGoalSatisfaction.name))
    unchecked = [index for index, verdict in justified.items() if verdict is None]
    has_passed = any(o.outcome == "PASS" for o in outcomes) or (goal is not None and goal.outcome == "PASS")
    return _not_failed(sample, judgements, reasons, unchecked, has_passed or bool(checked))


def _failed(outcomes: Iterable[ExpectationOutcome]) -> bool:
    return any(outcome.outcome == "FAIL" for outcome in outcomes)
