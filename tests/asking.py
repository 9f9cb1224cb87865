"""Asks a judge many questions, in this process or in one of its own, as the workers of a run do."""

import asyncio
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from tests.forked import Fork
from turnwise.transforms.judging.ask import Ask, JudgeModelOptions, JudgeSample, Prompt, Question
from turnwise.transforms.judging.setup import JudgeSettings, JudgeWorker


class Verdict(BaseModel):  # the answer to each question; a docstring would be in its schema
    model_config = ConfigDict(extra="forbid")

    quote: str
    verdict: Literal["valid", "invalid"]


async def _ask_about(ask: Ask, numbers: Iterable[object]) -> list[JudgeSample[Verdict]]:
    async def one(number: object) -> JudgeSample[Verdict]:
        prompt = Prompt("test/1", "Judge.", f"evidence {number}")
        (sample,) = await ask(Question(prompt, Verdict, JudgeModelOptions()), range(1))
        return sample

    return await asyncio.gather(*(one(number) for number in numbers))


def ask_about(worker: JudgeWorker, numbers: Iterable[object]) -> list[JudgeSample[Verdict]]:
    """Asks one question a number, all at once, and ends the bundle."""
    samples = worker.submit(_ask_about(worker.ask, numbers)).result()
    worker.rest()
    return samples


def _begin(_: Sequence[int], settings: JudgeSettings, key: str, first: int, last: int, told: str) -> None:
    worker = JudgeWorker(settings, {"GOOGLE_API_KEY": key})
    samples = ask_about(worker, range(first, last))
    worker.close()
    usable = [sample.reply is not None for sample in samples]
    cached = [sample.is_cached for sample in samples]
    Path(told).write_text(json.dumps({"usable": sum(usable), "cached": sum(cached)}), encoding="utf-8")


@contextmanager
def another_process(settings: JudgeSettings, key: str, asked: range, told: Path) -> Iterator[Fork]:
    """Starts a process that asks the questions of a range; it is killed in the end."""
    given = (settings, key, asked.start, asked.stop, str(told))
    process = Fork(_begin, given)
    try:
        yield process
    finally:
        process.kill()
        process.join()
