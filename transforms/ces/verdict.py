"""The verdict on a conversation that is held against a CES case."""

from collections.abc import Iterable, Iterator

from turnwise.transforms.ces.judgements import (
    UNJUDGED,
    Judgements,
    hallucination_gates,
    is_clean,
    needs_hallucination_check,
)
from turnwise.transforms.criteria.ces_conversations import (
    EvaluationExpectations,
    ScenarioExpectations,
    UserGoalSatisfaction,
)
from turnwise.transforms.criteria.ces_turns import Hallucination, SemanticMatch, SemanticSimilarity
from turnwise.transforms.matching.expectations import ExpectationOutcome
from turnwise.transforms.matching.sample import MISSING_TURN, Sample, TurnPair
from turnwise.transforms.scoring.evaluate import ScoredConversation, Verdict


def ces_verdict(scored: ScoredConversation) -> Verdict:
    """Decides a conversation that is held against a golden or a scenario of CES."""
    case = scored.sample.eval_case
    decide = golden_verdict if case is None or case.kind == "golden" else scenario_verdict
    return decide(scored.sample, Judgements(scored.scores))


def golden_verdict(sample: Sample, judgements: Judgements = UNJUDGED) -> Verdict:
    """Decides a golden case: FAIL if a check failed; PASS if all passed; none where a judgement lacks.

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
    open_turns = [pair.index for pair, of_turn in zip(pairs, outcomes, strict=True) if _is_open(of_turn)]
    reasons = []
    if open_turns:
        names = (SemanticSimilarity.name, SemanticMatch.name)
        why = judgements.why(names[0], open_turns) or judgements.why(names[1], open_turns)
        reasons.append(f"{len(open_turns)} turns need a judge to compare meaning{why}")
    reasons += _open_statements(sample, judgements)
    unchecked = [
        pair.index
        for pair in pairs
        if hallucination_gates(sample, pair) and is_clean(pair, judgements) is None
    ]
    if unchecked:
        reasons.append("hallucination needs a judge" + judgements.why(Hallucination.name, unchecked))
    if reasons:
        return Verdict(None, tuple(reasons))
    is_checked = any(o.outcome == "PASS" for of_turn in outcomes for o in of_turn) or any(
        judgements.similarity(sample, pair) or hallucination_gates(sample, pair) for pair in pairs
    )
    stated = sample.eval_case.evaluation_expectations if sample.eval_case else ()
    return Verdict("PASS") if is_checked or stated else Verdict(None, ("the golden checks nothing",))


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
    justified = {pair.index: is_clean(pair, judgements) for pair in checked}
    if _failed(outcomes) or _statement_failed(judgements) or False in justified.values():
        return Verdict("FAIL")
    if goal is not None and goal.outcome == "FAIL":
        return Verdict("FAIL")
    reasons = []
    if _is_open(outcomes):
        reasons.append("expectations need a judge" + judgements.why(ScenarioExpectations.name))
    case = sample.eval_case
    has_goal = case is not None and case.user_goal_enabled and case.user_goal != "IGNORED"
    if has_goal and (goal is None or goal.outcome is None):
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


def _failed(outcomes: Iterable[ExpectationOutcome]) -> bool:
    return any(outcome.outcome == "FAIL" for outcome in outcomes)
