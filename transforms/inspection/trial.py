"""Tries every criterion on a conversation: as it is, with a judge, and with eval cases."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from turnwise.schemas.case import EvalCase, UserFact
from turnwise.schemas.conversation import Conversation, Expectation, Record, Rubric
from turnwise.schemas.inspection import Applies
from turnwise.schemas.jsonio import JsonObject
from turnwise.transforms.criteria.base import CRITERIA, Criterion, JudgedCriterion, MeasuredCriterion
from turnwise.transforms.judging.ask import NO_JUDGE, JudgeSample, Question, R
from turnwise.transforms.matching.sample import Sample, inline_case, recorded_case
from turnwise.transforms.scoring.evaluate import (
    CriterionScores,
    ScoredConversation,
    judge_conversation,
    open_pairs,
    score_conversation,
)

ORDER: tuple[Applies, ...] = ("scored", "judge", "cases", "no")
"""What a criterion needs, the least first."""
_NOTHING = "the logs hold nothing that it measures"
_STATEMENT = "The agent helps."
_RUBRIC_TYPES = ("FINAL_RESPONSE_QUALITY", "TOOL_USE_QUALITY", "TRAJECTORY_QUALITY")


class Trial(NamedTuple):
    """What a criterion needs to score a conversation.

    Attributes:
        why: Why it is not scored; None: it is, or a judge would be asked.
    """

    applies: Applies
    why: str | None = None


class _AskedJudge:
    """A judge that only notes that it was asked."""

    def __init__(self) -> None:
        self.was_asked = False

    async def __call__(self, question: Question[R], samples: range) -> list[JudgeSample[R]]:
        """Returns no usable answer."""
        self.was_asked = True
        return [JudgeSample(None, NO_JUDGE)] * len(samples)


def all_criteria(configured: Sequence[Criterion] = ()) -> list[Criterion]:
    """Returns every criterion of the registry: as it is configured, or else with its defaults.

    A criterion that cannot be without fields of its own, and is not configured, is left out.
    """
    named = {criterion.name: criterion for criterion in configured}
    found = []
    for name in sorted({*CRITERIA, *named}):
        try:
            found.append(named[name] if name in named else CRITERIA[name]())
        except ValueError:
            continue
    return found


def try_criteria(
    conversation: Conversation, record: Record, criteria: Sequence[Criterion], with_cases: bool
) -> dict[str, Trial]:
    """Returns what each criterion needs to score a conversation.

    Args:
        conversation: The conversation; what its own record expects is its eval case.
        record: The record it was read from.
        criteria: The criteria.
        with_cases: Whether those that do not apply are tried with supposed eval cases, too.
    """
    sample = Sample(conversation, inline_case(conversation), record)
    trials = asyncio.run(_trials(sample, criteria))
    for case in supposed_cases(conversation) if with_cases else ():
        left = [criterion for criterion in criteria if trials[criterion.name].applies == "no"]
        supposed = asyncio.run(_trials(Sample(conversation, case, record), left))
        for name, trial in supposed.items():
            if trial.applies != "no":
                trials[name] = Trial("cases", trials[name].why)
    return trials


async def _trials(sample: Sample, criteria: Sequence[Criterion]) -> dict[str, Trial]:
    measured = [c for c in criteria if isinstance(c, MeasuredCriterion)]
    scores = score_conversation(sample, measured).scores
    found = {each.criterion.name: _trial(each, bool(open_pairs(each))) for each in scores}
    for criterion in criteria:
        if isinstance(criterion, JudgedCriterion):
            judge, scored = _AskedJudge(), ScoredConversation(sample, [], [])
            await judge_conversation(scored, [criterion], judge)
            found[criterion.name] = _trial(scored.scores[0], judge.was_asked)
    return found


def _trial(scores: CriterionScores, was_asked: bool) -> Trial:
    given = [score for _, score in scores.turns] + ([scores.overall] if scores.overall else [])
    if any(score.value is not None for score in given):
        return Trial("scored")
    if was_asked:
        return Trial("judge")
    reason = next((score.reason for score in given if score.reason), None)
    if scores.errors:
        reason = "it raised an error"
    return Trial("no", reason or _needed(scores.criterion))


def _needed(criterion: Criterion) -> str:
    return f"needs {criterion.needs}" if criterion.needs else _NOTHING


def supposed_cases(conversation: Conversation) -> Iterator[EvalCase]:
    """Yields eval cases of every kind that the conversation might be held against: it would meet them all."""
    golden = recorded_case(conversation)
    golden.rubrics = [Rubric(rubric_id=kind, text=_STATEMENT, type=kind) for kind in _RUBRIC_TYPES]
    calls = [call for turn in golden.turns for call in turn.tool_calls or ()]
    golden.actions, golden.final_session_state = calls, dict(conversation.state) or {"key": "value"}
    golden.outputs = [turn.response for turn in golden.turns if turn.response][-1:]
    yield golden
    ces = recorded_case(conversation)
    ces.dialect, ces.evaluation_expectations = "ces", [_STATEMENT]
    for turn in ces.turns:
        turn.expectations = [Expectation(kind="tool_call", tool_call=call) for call in turn.tool_calls or ()]
        if turn.response:
            turn.expectations.append(Expectation(kind="agent_response", text=turn.response))
    directive: JsonObject = {"$matchType": "semantic", "$matchValue": _STATEMENT}
    for expectation in (e for turn in ces.turns for e in turn.expectations if e.tool_call is not None):
        if expectation.tool_call is not None and expectation.tool_call.args:
            expectation.tool_call.args = dict.fromkeys(expectation.tool_call.args, directive)
    yield ces
    yield EvalCase(
        eval_id=golden.eval_id,
        kind="scenario",
        dialect="ces",
        task=_STATEMENT,
        user_facts=[UserFact(name="name", value="value")],
        rubrics=list(golden.rubrics),
        expectations=[Expectation(kind="agent_response", text=_STATEMENT, comparison="CONTAINS")],
        evaluation_expectations=[_STATEMENT],
        user_behaviors=[_STATEMENT],
    )
