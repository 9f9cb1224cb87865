"""Collects the judged scores of CES's criteria of one conversation, and decides its expectations by them."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace

from turnwise.schemas.case import EvalCase
from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.proto.scalars import float32, nanos_duration
from turnwise.schemas.score import Outcome, Score
from turnwise.transforms.criteria.base import JudgedCriterion
from turnwise.transforms.criteria.ces_conversations import (
    EvaluationExpectations,
    JudgedItem,
    ScenarioExpectations,
    ScenarioRubrics,
    UserGoalSatisfaction,
    items_of,
)
from turnwise.transforms.criteria.ces_turns import (
    Hallucination,
    SemanticMatch,
    SemanticSimilarity,
    in_ces_terms,
    similarity_threshold,
    switched_off,
)
from turnwise.transforms.matching.calls import ParameterScore, parameter_outcome
from turnwise.transforms.matching.expectations import ExpectationOutcome
from turnwise.transforms.matching.sample import Sample, TurnPair
from turnwise.transforms.metrics.state import Sums, add_sums
from turnwise.transforms.scoring.evaluate import CriterionScores

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

    def statements(self) -> tuple[JudgedItem, ...]:
        """Returns the judged evaluation expectations."""
        return items_of(self.of_whole(EvaluationExpectations.name))

    def answers(self) -> tuple[JudgedItem, ...]:
        """Returns the judged answers of a scenario."""
        return items_of(self.of_whole(ScenarioExpectations.name))

    def rubrics(self) -> tuple[JudgedItem, ...]:
        """Returns the judged rubrics of a scenario."""
        return items_of(self.of_whole(ScenarioRubrics.name))

    def hallucination(self, index: int) -> Score | None:
        """Returns the hallucination score of a pair, as CES has it."""
        score = self.of_turn(Hallucination.name, index)
        return None if score is None else in_ces_terms(score)

    def user_goal(self) -> Score | None:
        """Returns the score of the user goal."""
        return self.of_whole(UserGoalSatisfaction.name)

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
        values = items_of(self.of_whole(SemanticMatch.name))
        outcomes = _with_values(sample.eval_case, outcomes, values)
        for answer in self.answers():
            if answer.score is not None:
                outcomes[answer.place] = replace(outcomes[answer.place], outcome=_outcome(answer.score))
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
        by_place.setdefault(value.place, []).append(value)
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
