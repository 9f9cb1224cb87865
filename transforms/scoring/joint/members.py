"""A criterion as one model judges by it."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from turnwise.schemas.jsonio import JsonObject
from turnwise.schemas.score import JudgeUse, Score
from turnwise.transforms.criteria.base import JudgedCriterion
from turnwise.transforms.judging.ask import Ask, JudgeModelOptions
from turnwise.transforms.judging.vote import sum_uses
from turnwise.transforms.scoring.joint.verdicts import JudgeVerdict, verdict_of
from turnwise.transforms.scoring.panels import Recorder

Run: TypeAlias = Callable[[JudgedCriterion, Ask], Coroutine[Any, Any, Score | None]]
"""Scores one turn, or one conversation, by a criterion and a judge."""
UNDECIDED = "gives no verdict"


class Member(Struct, frozen=True):
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
    """Returns the usage of several models for one score, under one name; None: none is stated."""
    use = sum_uses([member.score.judge for member in members if member.score])
    return use and replace(use, model=model)
