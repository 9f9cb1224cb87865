"""The verdict on one conversation: PASS, FAIL, or none with its reasons."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from schemas.case import EvalCase
from schemas.conversation import ExpectedTurn
from schemas.score import Outcome
from transforms.conversation_case import MISSING_TURN, ConversationCase
from transforms.expectations import ExpectationOutcome
from transforms.replay import TurnReplay
from transforms.scoring import CriterionScores, ScoredConversation


class Verdict(NamedTuple):
    """PASS or FAIL; None: not decided, for `reasons`."""

    status: Outcome | None
    reasons: tuple[str, ...] = ()


def conversation_verdict(scored: ScoredConversation) -> Verdict:
    """Decides a scored conversation: a CES case by CES's rules, everything else by the criteria's gates."""
    case = scored.case.case
    if case is None or case.dialect != "ces":
        return criteria_verdict(scored.scores)
    return golden_verdict(scored.case) if case.kind == "golden" else scenario_verdict(scored.case)


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


def golden_verdict(case: ConversationCase) -> Verdict:
    """Decides a golden case: FAIL if any check failed; PASS if all passed; undecided where a judge is needed.

    Checks: every expectation outcome (SKIPPED does not count), every turn's tool score, the comparisons of
    meaning, extra calls, and the statements about the whole conversation.
    """
    replays = [case.replay(pair) for pair in case.pairs if pair.expected is not None or pair.label]
    outcomes = [outcome for replay in replays for outcome in replay.outcomes]
    if not replays:
        return Verdict(None, ("the golden has no turns",))
    is_short = any(pair.label == MISSING_TURN for pair in case.pairs)
    if is_short or _failed(outcomes) or any(replay.tool_outcome == "FAIL" for replay in replays):
        return Verdict("FAIL")
    reasons = _golden_open(case, replays)
    return Verdict(None, reasons) if reasons else Verdict("PASS")


def _golden_open(case: ConversationCase, replays: Iterable[TurnReplay]) -> tuple[str, ...]:
    turns = sum(any(outcome.outcome is None for outcome in replay.outcomes) for replay in replays)
    reasons = [f"{turns} turns need a judge to compare meaning"] if turns else []
    if case.case and case.case.evaluation_expectations:
        reasons.append(f"{len(case.case.evaluation_expectations)} evaluation expectations need a judge")
    if case.case and any(_hallucination_counts(case.case, turn) for turn in case.case.turns):
        reasons.append("hallucination needs a judge")
    return tuple(reasons)


def _hallucination_counts(case: EvalCase, turn: ExpectedTurn) -> bool:
    own = turn.thresholds.hallucination if turn.thresholds else None
    return (own or case.thresholds.golden_hallucination) == "ENABLED"


def scenario_verdict(case: ConversationCase) -> Verdict:
    """Decides a scenario: FAIL if an expectation was missed; the user goal and the rest need a judge."""
    if _failed(case.scenario_outcomes):
        return Verdict("FAIL")
    reasons = ["expectations need a judge"] if any(o.outcome is None for o in case.scenario_outcomes) else []
    if case.case and case.case.user_goal != "IGNORED":
        reasons.append("the user goal needs a judge")
    if case.case and case.case.evaluation_expectations:
        reasons.append(f"{len(case.case.evaluation_expectations)} evaluation expectations need a judge")
    if case.case and case.case.thresholds.scenario_hallucination == "ENABLED":
        reasons.append("hallucination needs a judge")
    return Verdict(None, tuple(reasons)) if reasons else Verdict("PASS")


def _failed(outcomes: Iterable[ExpectationOutcome]) -> bool:
    return any(outcome.outcome == "FAIL" for outcome in outcomes)
