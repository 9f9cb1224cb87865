"""The verdict on one conversation: PASS, FAIL, or none with its reasons."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from turnwise.schemas.case import EvalCase
from turnwise.schemas.grounded import FAILED
from turnwise.schemas.score import Outcome
from turnwise.transforms.ces.judgements import Judgements, needs_hallucination_check
from turnwise.transforms.criteria.ces_expectations import EvaluationExpectations, ScenarioExpectations
from turnwise.transforms.criteria.ces_hallucination import Hallucination
from turnwise.transforms.criteria.ces_scenario import UserGoalSatisfaction
from turnwise.transforms.criteria.ces_similarity import SemanticSimilarity
from turnwise.transforms.criteria.ces_values import SemanticMatch
from turnwise.transforms.matching.ending import broke_off, end_text, end_unclear
from turnwise.transforms.matching.expectations import ExpectationOutcome
from turnwise.transforms.matching.sample import MISSING_TURN, Sample, TurnPair, unanswered_state
from turnwise.transforms.scoring.conversation import CriterionScores, ScoredConversation
from turnwise.transforms.scoring.gaps import gap_reasons

STATUS = "evaluation_status"
"""Stands in the place of a criterion's name where verdicts are counted."""
UNJUDGED = Judgements()
_SHOWN = 5


class Verdict(NamedTuple):
    """PASS or FAIL; None: not decided, for `reasons`."""

    status: Outcome | None
    reasons: tuple[str, ...] = ()


def conversation_verdict(scored: ScoredConversation) -> Verdict:
    """Decides a scored conversation: a CES case by CES's rules, everything else by the criteria's gates.

    One that the agent's failure or a limit ended fails, whatever its scores, and so does one with a failed
    answer. It is not decided while an answer is not finished, and if something other than the agent ended it.
    Where calls or words may be missing in the log, or it ended in a way that is not known, it does not pass.
    """
    conversation = scored.sample.conversation
    if broke_off(conversation):
        return Verdict("FAIL", (end_text(conversation),))
    if scored.sample.unanswered:
        return _unanswered(scored.sample.unanswered)
    if conversation.ended == "environment_error":
        return Verdict(None, (end_text(conversation),))
    verdict = _decided(scored)
    doubts = gap_reasons(scored.sample)[:_SHOWN]
    if end_unclear(conversation):
        doubts = [end_text(conversation), *doubts]
    if not doubts or verdict.status == "FAIL":
        return verdict
    return Verdict(None, tuple(dict.fromkeys((*doubts, *verdict.reasons))))


def _unanswered(pairs: Sequence[TurnPair]) -> Verdict:
    failed = any(unanswered_state(pair) == FAILED for pair in pairs)
    return Verdict("FAIL" if failed else None, tuple(map(_why_unanswered, pairs[:_SHOWN])))


def _decided(scored: ScoredConversation) -> Verdict:
    case = scored.sample.eval_case
    if case is None or case.dialect != "ces":
        return criteria_verdict(scored.scores)
    judgements = Judgements(scored.scores)
    decide = golden_verdict if case.kind == "golden" else scenario_verdict
    return decide(scored.sample, judgements)


def _why_unanswered(pair: TurnPair) -> str:
    return f"turn {pair.index}: the state of its answer is {unanswered_state(pair)}"


def criteria_verdict(scores: Sequence[CriterionScores]) -> Verdict:
    """FAIL if a gate was missed; PASS if all that apply were scored and passed; else undecided."""
    gated = [result for result in scores if result.criterion.threshold is not None]
    overalls = [result.overall for result in gated if result.overall is not None]
    if any(score.outcome == "FAIL" for score in overalls):
        return Verdict("FAIL")
    reasons = [_why_undecided(result) for result in gated if _is_undecided(result)]
    if reasons:
        return Verdict(None, tuple(reasons))
    return Verdict("PASS") if overalls else Verdict(None, ("no criterion with a threshold applies",))


def _is_undecided(result: CriterionScores) -> bool:
    return bool(result.errors) or (result.overall is not None and result.overall.outcome is None)


def _why_undecided(result: CriterionScores) -> str:
    if result.errors:
        return f"{result.criterion.name}: raised an error"
    return f"{result.criterion.name}: {(result.overall and result.overall.reason) or 'unscored'}"


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
        if _hallucination_gates(sample, pair) and _justified(judgements, pair) is None
    ]
    if unchecked:
        reasons.append("hallucination needs a judge" + judgements.why(Hallucination.name, unchecked))
    if reasons:
        return Verdict(None, tuple(reasons))
    is_checked = any(o.outcome == "PASS" for found in outcomes for o in found) or any(
        judgements.similarity(sample, pair) or _hallucination_gates(sample, pair) for pair in pairs
    )
    stated = sample.eval_case.evaluation_expectations if sample.eval_case else ()
    return Verdict("PASS") if is_checked or stated else Verdict(None, ("the golden checks nothing",))


def _turn_failed(sample: Sample, pair: TurnPair, judgements: Judgements) -> bool:
    similarity = judgements.similarity(sample, pair)
    return (
        sample.replay(pair).tool_outcome == "FAIL"
        or (similarity is not None and similarity[1] == "FAIL")
        or (_hallucination_gates(sample, pair) and _justified(judgements, pair) is False)
    )


def _hallucination_gates(sample: Sample, pair: TurnPair) -> bool:
    if sample.eval_case is None or not needs_hallucination_check(pair):
        return False
    thresholds = pair.expected.thresholds if pair.expected else None
    own = thresholds.hallucination if thresholds else None
    return (own or sample.eval_case.thresholds.golden_hallucination) == "ENABLED"


def _justified(judgements: Judgements, pair: TurnPair) -> bool | None:
    """Tells whether nothing in a turn is a hallucination; None: not judged."""
    score = judgements.hallucination(pair.index)
    return None if score is None or score.value is None else score.value != 0.0


def _is_open(outcomes: Iterable[ExpectationOutcome]) -> bool:
    return any(outcome.outcome is None for outcome in outcomes)


def _open_meaning(judgements: Judgements, turns: Sequence[int]) -> Iterator[str]:
    if turns:
        why = judgements.why(SemanticSimilarity.name, turns) or judgements.why(SemanticMatch.name, turns)
        yield f"{len(turns)} turns need a judge to compare meaning{why}"


def _statement_failed(judgements: Judgements) -> bool:
    return any(item["score"] == 0.0 for item in judgements.items(EvaluationExpectations.name, "expectations"))


def _open_statements(sample: Sample, judgements: Judgements) -> Iterator[str]:
    stated = len(sample.eval_case.evaluation_expectations) if sample.eval_case else 0
    judged = judgements.items(EvaluationExpectations.name, "expectations")
    missing = stated - sum(item["score"] is not None for item in judged)
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
    if sample.eval_case and _wants_goal(sample.eval_case) and (goal is None or goal.outcome is None):
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


def _wants_goal(case: EvalCase) -> bool:
    return case.user_goal_enabled and case.user_goal != "IGNORED"


def _failed(outcomes: Iterable[ExpectationOutcome]) -> bool:
    return any(outcome.outcome == "FAIL" for outcome in outcomes)
