"""The verdict on one conversation: PASS, FAIL, or none with its reasons."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from turnwise.schemas.conversation import FAILED
from turnwise.schemas.score import Outcome
from turnwise.transforms.matching.sample import (
    TurnPair,
    broke_off,
    end_text,
    end_unclear,
    unanswered_end,
    unanswered_state,
)
from turnwise.transforms.scoring.evaluate import CriterionScores, ScoredConversation
from turnwise.transforms.scoring.gaps import gap_reasons

STATUS = "evaluation_status"
"""Stands in the place of a criterion's name where verdicts are counted."""
_SHOWN = 5


class Verdict(NamedTuple):
    """PASS or FAIL; None: not decided, for `reasons`."""

    status: Outcome | None
    reasons: tuple[str, ...] = ()


Rules = Mapping[str, Callable[[ScoredConversation], Verdict]]
"""Dialect of an eval case -> what decides the conversations that are held against such a case."""


def conversation_verdict(scored: ScoredConversation, rules: Rules) -> Verdict:
    """Decides a scored conversation: by the rules of its case's dialect, or else by the criteria's gates.

    One that the agent's failure or a limit ended fails, whatever its scores, and so does one with a failed
    answer. It is not decided while an answer is not finished, and if something other than the agent ended it.
    Where calls or words may be missing in the log, or it ended in a way that is not known, it does not pass;
    nor does it where its last turn has no answer and the log does not say how it ended. One that sampling
    left out has no verdict, whatever is known of it: the others are a fair sample then.
    """
    if STATUS in scored.sampled_out:
        names = ", ".join(name for name in scored.sampled_out if name != STATUS)
        return Verdict(None, (f"sampled out: {names}",))
    sample, conversation = scored.sample, scored.sample.conversation
    case = sample.eval_case
    decide = rules.get(case.dialect, _by_gates) if case is not None else _by_gates
    if sample.is_whole and conversation.ended is None and conversation.ended_detail is None:
        return decide(scored)
    if broke_off(conversation):
        return Verdict("FAIL", (end_text(conversation),))
    if sample.unanswered:
        return _unanswered(sample.unanswered)
    if conversation.ended == "environment_error":
        return Verdict(None, (end_text(conversation),))
    verdict = decide(scored)
    gates = [result.criterion for result in scored.scores if result.criterion.threshold is not None]
    doubts = gap_reasons(sample, all(gate.as_adk for gate in gates))[:_SHOWN]
    if end_unclear(conversation):
        doubts = [end_text(conversation), *doubts]
    silence = unanswered_end(sample)
    if silence is not None:
        doubts = [silence, *doubts]
    if not doubts or verdict.status == "FAIL":
        return verdict
    return Verdict(None, tuple(dict.fromkeys((*doubts, *verdict.reasons))))


def _unanswered(pairs: Sequence[TurnPair]) -> Verdict:
    failed = any(unanswered_state(pair) == FAILED for pair in pairs)
    return Verdict("FAIL" if failed else None, tuple(map(_why_unanswered, pairs[:_SHOWN])))


def _by_gates(scored: ScoredConversation) -> Verdict:
    return criteria_verdict(scored.scores)


def _why_unanswered(pair: TurnPair) -> str:
    return f"turn {pair.index}: the state of its answer is {unanswered_state(pair)}"


def criteria_verdict(scores: Sequence[CriterionScores]) -> Verdict:
    """FAIL if a gate was missed; PASS if all that apply were scored and passed; else undecided."""
    outcomes: set[Outcome | None] = set()
    reasons: list[str] = []
    for result in scores:
        if result.criterion.threshold is None:
            continue
        if result.overall is not None:
            outcomes.add(result.overall.outcome)
        if result.errors or (result.overall is not None and result.overall.outcome is None):
            reasons.append(_why_undecided(result))
    if "FAIL" in outcomes:
        return Verdict("FAIL")
    if reasons:
        return Verdict(None, tuple(reasons))
    if "PASS" in outcomes:
        return Verdict("PASS")
    return Verdict(None, ("no criterion with a threshold applies",))


def _why_undecided(result: CriterionScores) -> str:
    if result.errors:
        return f"{result.criterion.name}: raised an error"
    return f"{result.criterion.name}: {(result.overall and result.overall.reason) or 'unscored'}"
