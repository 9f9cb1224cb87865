"""CES: judged scores, expectations and the verdict of a conversation; AggregatedMetrics of many."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace

from turnwise.schemas.case import EvalCase
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.proto.scalars import float32, nanos_duration
from turnwise.schemas.score import Outcome, Score
from turnwise.transforms.criteria import ces
from turnwise.transforms.criteria.base import JudgedCriterion
from turnwise.transforms.matching.calls import ParameterScore, parameter_outcome
from turnwise.transforms.matching.expectations import ExpectationOutcome
from turnwise.transforms.matching.sample import MISSING_TURN, Sample, TurnPair
from turnwise.transforms.metrics.state import Sums, add_sums
from turnwise.transforms.scoring.evaluate import CriterionScores, ScoredConversation, Verdict

# The criteria that CES cases are always judged by.

CES_CRITERIA: tuple[JudgedCriterion, ...] = (
    ces.SemanticSimilarity(), ces.SemanticMatch(), ces.Hallucination(), ces.EvaluationExpectations(),
    ces.ScenarioRubrics(), ces.ScenarioExpectations(), ces.UserGoalSatisfaction(),
)  # fmt: skip
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

    def items(self, name: str) -> tuple[ces.JudgedItem, ...]:
        """Returns what a criterion judged of the conversation, item by item."""
        return ces.items_of(self.of_whole(name))

    def hallucination(self, index: int) -> Score | None:
        """Returns the hallucination score of a pair, as CES has it."""
        score = self.of_turn(ces.Hallucination.name, index)
        return None if score is None else ces.in_ces_terms(score)

    def similarity(self, sample: Sample, pair: TurnPair) -> tuple[Score, Outcome] | None:
        """Returns a golden turn's similarity and its outcome by the case's gate; None: it has no value."""
        score = self.of_turn(ces.SemanticSimilarity.name, pair.index)
        if score is None or score.value is None or sample.eval_case is None or pair.expected is None:
            return None
        passed = score.value >= ces.similarity_threshold(sample.eval_case, pair.expected)
        return score, "PASS" if passed else "FAIL"

    def golden_outcomes(self, sample: Sample, pair: TurnPair) -> list[ExpectationOutcome]:
        """Returns what became of a golden turn's expectations; what is not decided anew stays the object."""
        outcomes = sample.replay(pair).outcomes
        if not self or sample.eval_case is None:
            return outcomes
        score = self.of_turn(ces.SemanticMatch.name, pair.index)
        outcomes = _with_values(sample.eval_case, outcomes, ces.items_of(score))
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
        outcomes = _with_values(sample.eval_case, outcomes, self.items(ces.SemanticMatch.name))
        for answer in self.items(ces.ScenarioExpectations.name):
            if answer.score is not None:
                outcome: Outcome = "PASS" if answer.score else "FAIL"
                outcomes[answer.position] = replace(outcomes[answer.position], outcome=outcome)
        return outcomes

    def why(self, name: str, indices: Iterable[int] = ()) -> str:
        """Returns why something a criterion should have said is missing, in brackets; "" without a judge."""
        score_of = self.hallucination if name == ces.Hallucination.name else partial(self.of_turn, name)
        scores = [score_of(index) for index in indices] or [self.of_whole(name)]
        reasons = [score.reason for score in scores if score is not None and score.reason]
        return f" ({reasons[0]})" if reasons else ""


UNJUDGED = Judgements()


def may_have_called(pair: TurnPair) -> bool:
    """Returns whether the agent made calls in a turn, as far as is known."""
    return pair.actual is not None and bool(pair.actual.tool_calls or pair.actual.unknown_calls)


def needs_hallucination_check(pair: TurnPair) -> bool:
    """Returns whether CES computes a pair's hallucination score: it may have calls, and it is not off."""
    return may_have_called(pair) and not ces.switched_off(pair.expected)


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


def _with_values(
    case: EvalCase, outcomes: Sequence[ExpectationOutcome], values: Sequence[ces.JudgedItem]
) -> list[ExpectationOutcome]:
    """Decides the expectations whose values were compared by meaning."""
    decided = list(outcomes)
    for index, outcome in enumerate(outcomes):
        of_outcome = [value for value in values if value.position == index]
        scores = [value.score for value in of_outcome]
        known = [score for score in scores if score is not None]
        if known and outcome.parameters is not None and outcome.expectation is not None:
            before, threshold = outcome.parameters, outcome.expectation.parameter_threshold
            wrong = tuple(value.name for value in of_outcome if value.score == 0.0)
            right = sum(score == 1.0 for score in scores)
            still_open = before.unclear - right - len(wrong)
            score = ParameterScore(before.matched + right, before.total, still_open, before.wrong + wrong)
            gate = parameter_outcome(score, case.thresholds.parameter if threshold is None else threshold)
            is_gated = case.kind == "scenario" or case.step_tool_correctness_enabled
            result = gate if is_gated else outcome.outcome
            decided[index] = replace(outcome, outcome=result, parameters=score, parameter_outcome=gate)
        elif known and outcome.outcome is None and (None not in scores or 0.0 in scores):
            decided[index] = replace(outcome, outcome="PASS" if min(known) else "FAIL")
    return decided


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
    entries: list[JsonObject] = []
    for version_id, (passes, fails, sums) in sorted(versions.items()):
        total: Sums = {}
        turns: dict[int, Sums] = {}
        for (turn, kind, name), pair in sums.items():
            add_sums(total, {(None, kind, name): pair})
            if turn is not None:
                turns.setdefault(turn, {})[turn, kind, name] = pair
        message: JsonObject = {"appVersionId": version_id} if version_id else {}
        message |= _sums_message(total) | _counts(passes, fails)
        by_turn = [({"turnIndex": i} if i else {}) | _sums_message(turns[i]) for i in sorted(turns)]
        entries.append(message | ({"metricsByTurn": by_turn} if by_turn else {}))
    return {"metricsByAppVersion": entries} if entries else {}


def _counts(passes: int, fails: int) -> JsonObject:
    return {name: n for name, n in (("passCount", passes), ("failCount", fails)) if n}


_FIELDS = {
    "tool": "toolMetrics",
    "semantic": "semanticSimilarityMetrics",
    "hallucination": "hallucinationMetrics",
    "tool_latency": "toolCallLatencyMetrics",
    "turn_latency": "turnLatencyMetrics",
}


def _sums_message(sums: Sums) -> JsonObject:
    fields: dict[str, list[JsonObject]] = {}
    for (_, kind, tool), (first, second) in sorted(sums.items(), key=lambda entry: entry[0][2]):
        message: JsonObject = {"tool": tool} if kind in ("tool", "tool_latency") else {}
        if kind == "tool":
            message |= _counts(first, second)
        elif kind.endswith("latency"):
            message["averageLatency"] = nanos_duration(second // first)
        elif second:
            message["score"] = float32(second / first)
        fields.setdefault(_FIELDS[kind], []).append(message)
    return fields


# The verdict on a conversation that is held against a CES case.


def ces_verdict(scored: ScoredConversation) -> Verdict:
    """Decides a conversation that is held against a golden or a scenario of CES.

    FAIL if a check failed; PASS if all passed; none where a judgement lacks or nothing is checked. Checks:
    every outcome of an expectation (SKIPPED does not count) and extra calls; of a golden every turn's tool
    score and similarity, of a scenario the user goal; hallucinations where they count; and the statements
    about the whole conversation.
    """
    sample, case, judgements = scored.sample, scored.sample.eval_case, Judgements(scored.scores)
    turns = [pair for pair in sample.pairs if pair.expected is not None or pair.label]
    if case is None or (case.kind == "golden" and not turns):
        return Verdict(None, ("the golden has no turns",))
    results: list[Outcome | None] = []
    reasons = []
    if case.kind == "golden":
        open_turns = []
        for pair in turns:
            outcomes = [outcome.outcome for outcome in judgements.golden_outcomes(sample, pair)]
            similarity = judgements.similarity(sample, pair)
            results += [*outcomes, sample.replay(pair).tool_outcome, similarity[1] if similarity else None]
            results += ["FAIL"] if pair.label == MISSING_TURN else []
            open_turns += [pair.index] if None in outcomes else []
        if open_turns:
            why = judgements.why(ces.SemanticSimilarity.name, open_turns)
            why = why or judgements.why(ces.SemanticMatch.name, open_turns)
            need = "1 turn needs" if len(open_turns) == 1 else f"{len(open_turns)} turns need"
            reasons.append(f"{need} a judge to compare meaning{why}")
        gated = [pair for pair in turns if hallucination_gates(sample, pair)]
    else:
        results += [outcome.outcome for outcome in judgements.scenario_outcomes(sample)]
        if None in results:
            reasons.append("expectations need a judge" + judgements.why(ces.ScenarioExpectations.name))
        goal = judgements.of_whole(ces.UserGoalSatisfaction.name)
        results.append(goal.outcome if goal else None)
        if results[-1] is None and case.user_goal_enabled and case.user_goal != "IGNORED":
            reasons.append("the user goal needs a judge" + judgements.why(ces.UserGoalSatisfaction.name))
        counts = case.thresholds.scenario_hallucination == "ENABLED"
        gated = [pair for pair in sample.pairs if counts and needs_hallucination_check(pair)]
    clean = {pair.index: is_clean(pair, judgements) for pair in gated}
    statements = [statement.score for statement in judgements.items(ces.EvaluationExpectations.name)]
    if "FAIL" in results or False in clean.values() or 0.0 in statements:
        return Verdict("FAIL")
    stated = len(case.evaluation_expectations)
    missing = stated - sum(score is not None for score in statements)
    if missing:
        need = "expectation needs" if missing == 1 else "expectations need"
        reasons.append(
            f"{missing} evaluation {need} a judge{judgements.why(ces.EvaluationExpectations.name)}"
        )
    if unchecked := [index for index, verdict in clean.items() if verdict is None]:
        reasons.append("hallucination needs a judge" + judgements.why(ces.Hallucination.name, unchecked))
    if not (reasons or stated or gated or "PASS" in results):
        reasons.append(f"the {case.kind} checks nothing")
    return Verdict(None, tuple(reasons)) if reasons else Verdict("PASS")
