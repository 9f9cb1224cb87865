"""Answers that state how sure the judge is."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from msgspec.structs import replace
from pydantic import BaseModel, Field, create_model

from turnwise.transforms.judging.ask import Ask, JudgeSample, Question, R

_NAME = "confidence"
_WORDS = (
    "Last, state in `confidence` how sure you are of your verdict, from 0 to 100: of a hundred answers with "
    "this figure, so many are right. Where there are several verdicts, state it for the least certain one."
)


class Confident:
    """Asks a judge that is to state its confidence with every answer.

    The prompt's version then ends with `+confidence`, so that its replies are cached apart.
    """

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    async def __call__(self, question: Question[R], samples: range) -> list[JudgeSample[R]]:
        """Asks; see Ask. An answer without a confidence is unusable.

        Answers of a plugin that have a confidence of their own stay as they are.
        """
        if _NAME in question.reply_model.model_fields:
            return await self._ask(question, samples)
        prompt = question.prompt
        stated = replace(
            prompt,
            version=confident_version(prompt.version, [question.reply_model]),
            instructions=f"{prompt.instructions}\n\n{_WORDS}",
        )
        asked = replace(question, prompt=stated, reply_model=with_confidence(question.reply_model))
        return await self._ask(asked, samples)


def confident_version(version: str, reply_models: Iterable[type[BaseModel]]) -> str:
    """Returns the version of a prompt that asks for the confidence; of answers with their own, as it is."""
    is_asked = any(_NAME not in reply_model.model_fields for reply_model in reply_models)
    return f"{version}+{_NAME}" if is_asked else version


@lru_cache(maxsize=256)
def with_confidence(reply_model: type[R]) -> type[R]:
    """Returns a schema with the field `confidence`, 0 to 100, at its end."""
    about = Field(ge=0, le=100, description="How sure the verdict is, from 0 to 100.")
    return create_model(reply_model.__name__, __base__=reply_model, confidence=(int, about))


def least_confidence(samples: Sequence[JudgeSample[Any]]) -> float | None:
    """Returns the least confidence that the usable answers state; None: they state none."""
    stated = [_stated(sample.reply) for sample in samples if sample.reply is not None]
    known = [number for number in stated if number is not None]
    return min(known) if known and len(known) == len(stated) else None


def _stated(reply: BaseModel) -> float | None:
    number = getattr(reply, _NAME, None)
    return number if isinstance(number, int | float) else None
