"""A criterion as one model judges by it."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias

from turnwise.schemas.score import JudgeUse, Score
from turnwise.schemas.values import JsonObject
from turnwise.transforms.criteria.base import JudgedCriterion
from turnwise.transforms.judging.ask import Ask, JudgeModelOptions, known_sum
from turnwise.transforms.judging.flips import Flips
from turnwise.transforms.scoring.joint.asking import Recorder
from turnwise.transforms.scoring.joint.verdicts import JudgeVerdict, verdict_of

Run: TypeAlias = Callable[[JudgedCriterion, Ask], Coroutine[Any, Any, Score | None]]
"""Scores one turn, or one conversation, by a criterion and a judge."""
UNDECIDED = "gives no verdict"


@dataclass(frozen=True, slots=True)
class Member:
    """What one model said.

    Attributes:
        model: The model as the config names it.
        score: Its score; None: nothing applies.
        verdict: Its verdict; None: it has none.
        recorded: What it was asked, and its answers.
    """

    model: str
    score: Score | None
    verdict: JudgeVerdict | None
    recorded: Recorder

    @property
    def reason(self) -> str:
        """Why it has no verdict."""
        return (self.score.reason if self.score else None) or UNDECIDED

    def detail(self) -> JsonObject:
        """Returns what the details of a score say of it."""
        score = self.score
        return {
            "model": self.model,
            "verdict": self.verdict,
            "value": score.value if score else None,
            "reason": None if self.verdict else self.reason,
            "explanation": score.explanation if score else None,
            **self.recorded.usage(),
        }


async def ask_members(
    criterion: JudgedCriterion, options: Sequence[JudgeModelOptions], run: Run, ask: Ask
) -> list[Member]:
    """Asks several models at once.

    Raises:
        BaseException: What the criterion raised for one of them.
    """
    recorders = [Recorder(ask) for _ in options]
    asked = (
        caught(run(criterion.asking(own), recorder)) for own, recorder in zip(options, recorders, strict=True)
    )
    found = await asyncio.gather(*asked, return_exceptions=True)
    members = []
    for own, recorder, score in zip(options, recorders, found, strict=True):
        if isinstance(score, BaseException):
            raise score
        members.append(Member(own.judge_model or "", score, verdict_of(criterion, score), recorder))
    return members


async def caught(question: Coroutine[Any, Any, Score | None]) -> Score | SystemExit | None:
    """Returns a SystemExit in place of raising it: raised in a task it ends the event loop."""
    try:
        return await question
    except SystemExit as error:
        return error


def joint_use(model: str, members: Sequence[Member]) -> JudgeUse | None:
    """Returns the usage of several models for one score; None: a criterion that states none.

    Verdicts flip between the votes of one model; those of all models are added up.
    """
    uses = [member.score.judge for member in members if member.score and member.score.judge]
    if not uses:
        return None
    return JudgeUse(
        model=model,
        prompt_version=uses[0].prompt_version,
        samples=sum(use.samples for use in uses),
        tokens_in=known_sum([use.tokens_in for use in uses]),
        tokens_out=known_sum([use.tokens_out for use in uses]),
        cached=sum(use.cached for use in uses),
        **reduce(Flips.plus, [Flips(use.voted, use.flipped) for use in uses])._asdict(),
    )
