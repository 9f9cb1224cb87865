"""Asks the questions of a check, or estimates what that costs."""

import asyncio
import os
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from turnwise.pipeline.batch.process import Interrupted, interrupted_by_signal
from turnwise.pipeline.io.terminal import complain
from turnwise.schemas.calibration import CheckCost
from turnwise.schemas.config import TokenPrices
from turnwise.transforms.judging.ask import Ask
from turnwise.transforms.judging.backends.base import AuthenticationError
from turnwise.transforms.judging.limits import JudgeUsage, total_cost
from turnwise.transforms.judging.routes import JUDGING
from turnwise.transforms.judging.setup import WAITING, JudgeSettings, JudgeWorker
from turnwise.transforms.tools.judge_check import CheckedQuestion, VotedQuestion, vote_on


def estimated_cost(questions: Sequence[CheckedQuestion], judge: JudgeSettings, number: int) -> CheckCost:
    """Returns what the votes would cost; replies that are in the cache cost nothing."""
    return vote_on_all(questions, replace(judge, only_estimates=True), number)[1]


def vote_on_all(
    questions: Sequence[CheckedQuestion], judge: JudgeSettings, number: int
) -> tuple[list[VotedQuestion], CheckCost]:
    """Asks every question so many times in each of its forms, within the limits of the judge.

    Raises:
        ConfigError: The judge cannot be made, or its credentials are refused.
        Interrupted: A signal ended it; replies that were in flight are in the cache.
    """
    worker = JudgeWorker(judge, os.environ)
    try:
        with interrupted_by_signal():
            voted = _answered(worker, questions, number)
    except Interrupted as signal:
        raise Interrupted(signal.number, kept="") from None
    return voted, _cost(worker.counts.take(), judge.config.prices)


def _answered(worker: JudgeWorker, questions: Sequence[CheckedQuestion], number: int) -> list[VotedQuestion]:
    try:
        return worker.submit(_all(questions, worker.ask, number)).result()
    except AuthenticationError:
        worker.close()  # what is in flight is refused, too: nobody is told to wait for it
        raise
    finally:
        if JUDGING.asking:
            complain(WAITING)
        worker.close()


async def _all(questions: Sequence[CheckedQuestion], ask: Ask, number: int) -> list[VotedQuestion]:
    votes = await asyncio.gather(*(vote_on(each, ask, number) for each in questions))
    return [VotedQuestion(each, own) for each, own in zip(questions, votes, strict=True)]


def _cost(usage: Mapping[str, JudgeUsage], prices: Mapping[str, TokenPrices]) -> CheckCost:
    is_counted = not any(own.uncounted for own in usage.values())
    return CheckCost(
        calls=sum(own.calls for own in usage.values()),
        tokens_in=sum(own.tokens_in for own in usage.values()) if is_counted else None,
        tokens_out=sum(own.tokens_out for own in usage.values()) if is_counted else None,
        cost=total_cost(usage, prices),
    )
