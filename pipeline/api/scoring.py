"""Scores samples; the questions of several to the judge are in flight together."""

import asyncio
from collections import deque
from collections.abc import Iterable
from typing import Protocol

from turnwise.schemas.score import RAISED
from turnwise.transforms.judging.ask import Ask
from turnwise.transforms.matching.sample import Sample
from turnwise.transforms.scoring.evaluate import ScoredConversation, judge_conversation, score_selected
from turnwise.transforms.scoring.selection import Selection


class Receiver(Protocol):
    """Receives scored conversations and failed samples."""

    def add(self, scored: ScoredConversation) -> None:
        """Receives a scored conversation."""

    def lose(self, sample: Sample, error: BaseException) -> None:
        """Receives a sample whose scoring raised an exception."""


async def score_all(
    samples: Iterable[Sample], selection: Selection, ask: Ask, most: int, receiver: Receiver
) -> None:
    """Scores samples and passes them on in order.

    Args:
        samples: What is scored.
        selection: By which criteria.
        ask: Asks the judge.
        most: Samples that wait for the judge at the same time.
        receiver: Takes the scored conversations.

    Raises:
        AuthenticationError: The judge's credentials are refused.
    """
    waiting: deque[tuple[ScoredConversation, asyncio.Task[None]]] = deque()

    async def hand_over() -> None:
        await waiting[0][1]
        receiver.add(waiting.popleft()[0])

    try:
        for sample in samples:
            try:
                scored, asked = score_selected(sample, selection)
            except RAISED as error:
                receiver.lose(sample, error)
                continue
            waiting.append((scored, asyncio.create_task(judge_conversation(scored, asked, ask))))
            await asyncio.sleep(0)
            while waiting and (len(waiting) > most or waiting[0][1].done()):
                await hand_over()
        while waiting:
            await hand_over()
    finally:
        tasks = [task for _, task in waiting]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
